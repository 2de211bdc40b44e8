//! Requests for a summary that a provider makes itself, and those that carry one (K1, M2, M9).

use runloom_core::compaction::{CompactionRequest, Trigger};
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{MessageId, SessionId};
use runloom_core::message::{Message, MessageBounds, Part, ProviderContext, Role};
use runloom_core::model::{ModelParameters, ModelRequest, ModelSpec, ToolChoice};
use runloom_core::provider::Codec;
use runloom_core::provider::anthropic::{Anthropic, COMPACTION_BETA};
use runloom_core::provider::dialect::Dialect;
use runloom_core::provider::openai_chat::OpenAiChat;
use runloom_core::tool::ToolSpec;
use serde_json::{Value, json};
use std::sync::Arc;

const BLOCK: &str = r#"{"type":"compaction","content":"They dug a pond.","signature":"c2lnbmVk"}"#;

fn history(messages: Vec<(Role, Vec<Part>)>) -> History {
    let bounds = MessageBounds { parts: 9, text: 9_000, image: 0 };
    let message = |(at, (role, parts)): (usize, (Role, Vec<Part>))| {
        Message::new(MessageId::new(format!("m{at}")).unwrap(), role, parts, &bounds).unwrap()
    };
    History::from_messages(HistoryBounds::default(), messages.into_iter().enumerate().map(message)).unwrap()
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

fn spec(name: &str) -> ModelSpec {
    let mut parameters = ModelParameters::default();
    parameters.max_output_tokens = Some(200);
    parameters.stop = vec!["END".into()];
    parameters.tool_choice = ToolChoice::Required;
    parameters.thinking_budget = Some(2_000);
    ModelSpec::new(name).system("You are a gardener.").parameters(parameters)
}

/// A talk whose first two messages are to be replaced.
fn asked() -> CompactionRequest {
    let talk = [(Role::User, "dig"), (Role::Assistant, "dug"), (Role::User, "and now?")];
    let talk = history(talk.map(|(role, said)| (role, vec![text(said)])).into());
    let (session, model) = (SessionId::new("s").unwrap(), Arc::new(spec("garden-1")));
    let tools = [Arc::new(ToolSpec::new("dig", "Digs.", r#"{"type":"object"}"#).unwrap())];
    CompactionRequest::new(session, Trigger::Manual, model, talk, 2).tools(tools.into())
}

fn read(body: Vec<u8>) -> Value {
    serde_json::from_slice(&body).unwrap()
}

// proves: K1, M2
#[test]
fn a_request_for_a_summary_holds_the_older_messages_and_nothing_that_the_api_refuses_there() {
    let request = asked().head_request();
    let codec = Anthropic::new().beta("other").compaction();
    let body = codec.encode_compaction(&request).unwrap().unwrap();
    assert_eq!(codec.encode_compaction(&request).unwrap().unwrap(), body);
    let expected = json!({
        "model": "garden-1",
        "max_tokens": 10_192,
        "stream": true,
        "compaction": {"type": "summarize"},
        "thinking": {"type": "enabled", "budget_tokens": 2_000},
        "system": "You are a gardener.",
        "tools": [{"name": "dig", "description": "Digs.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "dig"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "dug"}]},
        ],
    });
    assert_eq!(read(body), expected);
    // The same conversation's other requests are as ever, but for the beta.
    let answer = read(codec.encode(&request).unwrap());
    assert_eq!(answer, read(Anthropic::new().encode(&request).unwrap()));
    assert_eq!((&answer["max_tokens"], &answer["tool_choice"]), (&json!(200), &json!({"type": "any"})));
    let beta = codec.headers(None).into_iter().find(|header| header.name() == "anthropic-beta").unwrap();
    assert_eq!(beta.value(), format!("other,{COMPACTION_BETA}"));
    // Codecs that were not told to, and those whose provider has nothing of the kind, have no such request.
    assert!(Anthropic::new().encode_compaction(&request).is_none());
    assert!(OpenAiChat::new(Dialect::compatible()).encode_compaction(&request).is_none());
}

/// The messages of a request of `model` in a conversation that begins with the block of `garden-1`.
fn messages(codec: &Anthropic, model: &str) -> Value {
    let kind = "anthropic.compaction".into();
    let block = Arc::new(ProviderContext { model: "garden-1".into(), kind, payload: BLOCK.into() });
    let (context, words) = codec.adopt(&block).unwrap();
    let talk = history(vec![
        (Role::Assistant, vec![Part::Context(context), Part::Text(words)]),
        (Role::Assistant, vec![text("kept")]),
        (Role::User, vec![text("and now?")]),
    ]);
    let request = ModelRequest::new(ModelSpec::new(model), talk, []);
    read(codec.encode(&request).unwrap())["messages"].clone()
}

// proves: M9
#[test]
fn a_summary_goes_first_and_as_it_came_to_the_model_that_made_it_and_in_words_to_others() {
    let codec = Anthropic::new().compaction();
    let block: Value = serde_json::from_str(BLOCK).unwrap();
    let words = json!({"type": "text", "text": "They dug a pond."});
    let expected = |first: &Value| {
        json!([
            {"role": "assistant", "content": [first, {"type": "text", "text": "kept"}]},
            {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
        ])
    };
    assert_eq!(messages(&codec, "garden-1"), expected(&block));
    assert_eq!(messages(&codec, "garden-2"), expected(&words));
    // Without the beta feature the API would refuse the block.
    assert_eq!(messages(&Anthropic::new(), "garden-1"), expected(&words));
}

// proves: M9
#[test]
fn a_block_that_came_with_an_answer_stays_in_its_place_beside_the_answer() {
    let kind = "anthropic.compaction".into();
    let block = Arc::new(ProviderContext { model: "garden-1".into(), kind, payload: BLOCK.into() });
    let talk = history(vec![
        (Role::User, vec![text("dig")]),
        (Role::Assistant, vec![Part::Context(block), text("dug")]),
        (Role::User, vec![text("and now?")]),
    ]);
    let request = ModelRequest::new(ModelSpec::new("garden-1"), talk, []);
    let body = read(Anthropic::new().compaction().encode(&request).unwrap());
    let block: Value = serde_json::from_str(BLOCK).unwrap();
    assert_eq!(body["messages"][1]["content"], json!([block, {"type": "text", "text": "dug"}]));
}
