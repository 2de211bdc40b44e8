//! What the request builders write for one conversation that has everything in it (M2, M7, M9).

use crate::expect;
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{CallRef, MessageId};
use runloom_core::message::{
    Image, ImageData, Message, MessageBounds, Part, ProviderContext, Role, ToolCall, ToolResult, ToolStatus,
};
use runloom_core::model::{ModelParameters, ModelRequest, ModelSpec, ToolChoice};
use runloom_core::problem::ProblemKind;
use runloom_core::provider::dialect::Dialect;
use runloom_core::provider::openai_chat::OpenAiChat;
use runloom_core::provider::{Codec, Secret, anthropic::Anthropic};
use runloom_core::tool::ToolSpec;
use runloom_tests::providers::Wire;
use serde_json::Value;
use std::sync::Arc;

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

fn image(data: ImageData) -> Part {
    Part::Image(Arc::new(Image { media_type: "image/png".into(), data }))
}

fn call(step: u32, ordinal: u32, id: &str, arguments: &str) -> Part {
    let call = CallRef { step, ordinal };
    Part::ToolCall(Arc::new(ToolCall {
        call,
        id: id.into(),
        name: "dig".into(),
        arguments: arguments.into(),
    }))
}

fn result(step: u32, ordinal: u32, id: &str, status: ToolStatus, content: Vec<Part>) -> Part {
    let call = CallRef { step, ordinal };
    let content = content.into();
    Part::ToolResult(Arc::new(ToolResult { call, id: id.into(), name: "dig".into(), status, content }))
}

fn context(model: &str, kind: &str, payload: &str) -> Part {
    let (model, kind, payload) = (model.into(), kind.into(), Arc::from(payload));
    Part::Context(Arc::new(ProviderContext { model, kind, payload }))
}

/// A conversation in which ids come again, arguments are broken, and everything else happens that may.
fn conversation() -> Vec<(Role, Vec<Part>)> {
    let thinking = "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"c2ln\"}";
    let details = "[{\"type\":\"reasoning.text\",\"text\":\"hm\",\"signature\":\"c2ln\"}]";
    vec![
        (
            Role::User,
            vec![text("Dig \"all\" beds.\n"), image(ImageData::Bytes(Arc::from(*b"png"))), text(" ")],
        ),
        (Role::User, vec![image(ImageData::Url("https://example.org/bed.png".into()))]),
        (
            Role::Assistant,
            vec![
                context("garden-1", "anthropic.thinking", thinking),
                context("garden-1", "openai_chat.reasoning_details", details),
                context("garden-1", "openai_chat.reasoning_content", "h\"m"),
                context("garden-0", "anthropic.thinking", "{\"other\":\"model\"}"),
                context("garden-1", "anthropic.broken", "{"),
                text("I dig."),
                call(1, 0, "call_0", "{\"bed\": 1.50,\n \"deep\":true}"),
                call(1, 1, "functions.dig:1", ""),
                call(1, 2, "call_2", "{\"bed\":"),
            ],
        ),
        (
            Role::Tool,
            vec![
                result(1, 0, "call_0", ToolStatus::Success, vec![text("done"), text("and raked")]),
                result(
                    1,
                    1,
                    "functions.dig:1",
                    ToolStatus::Success,
                    vec![image(ImageData::Bytes(Arc::from(*b"pixels")))],
                ),
                result(1, 2, "call_2", ToolStatus::InvalidArguments, vec![]),
            ],
        ),
        (Role::User, vec![text("Go on.")]),
        (Role::Assistant, vec![text(" \n"), call(2, 0, "call_0", "null")]),
        (Role::Tool, vec![result(2, 0, "call_0", ToolStatus::Success, vec![text("")])]),
        (Role::AbortedAssistant, vec![text("I was about to"), call(3, 0, "call_0", "[1]")]),
        (
            Role::Tool,
            vec![result(3, 0, "call_0", ToolStatus::InterruptedNotStarted, vec![text("interrupted")])],
        ),
        (Role::Assistant, vec![context("garden-0", "anthropic.thinking", "{}")]),
        (Role::User, vec![text("And now?")]),
    ]
}

fn history(messages: usize) -> History {
    let bounds = MessageBounds { parts: 99, text: 1 << 20, image: 1 << 20 };
    let message = |(n, (role, parts)): (usize, (Role, Vec<Part>))| {
        Message::new(MessageId::new(format!("m{n}")).unwrap(), role, parts, &bounds).unwrap()
    };
    let all = conversation().into_iter().take(messages).enumerate().map(message);
    History::from_messages(HistoryBounds::default(), all).unwrap()
}

fn request(history: History) -> ModelRequest {
    let mut parameters = ModelParameters::default();
    parameters.max_output_tokens = Some(900);
    parameters.temperature = Some(0.25);
    parameters.stop = vec!["END".into(), "".into()];
    parameters.reasoning_effort = Some("low".into());
    parameters.thinking_budget = Some(1_024);
    parameters.tool_choice = ToolChoice::Required;
    parameters.parallel_tool_calls = Some(false);
    parameters.extra = Some("{\"temperature\": 1,\"metadata\":{\"bed\": [1]}}".into());
    let spec = ModelSpec::new("garden-1").system("You are a gardener.").parameters(parameters);
    let dig = ToolSpec::new("dig", "Digs a bed.", "{\"type\":\"object\",\"properties\":{}}").unwrap();
    let rake = ToolSpec::new("rake", "", "{ \"type\": \"object\" }").unwrap();
    ModelRequest::new(spec, history, [Arc::new(dig), Arc::new(rake)])
}

fn codecs() -> Vec<(String, Wire)> {
    let mut codecs = vec![("anthropic".to_owned(), Wire::Anthropic(Anthropic::new()))];
    for name in Dialect::NAMES {
        codecs.push((name.to_owned(), Wire::Chat(OpenAiChat::new(Dialect::named(name).unwrap()))));
    }
    codecs
}

// proves: M4, M9
#[test]
fn the_whole_conversation_is_written_as_expected() {
    for (name, wire) in codecs() {
        let body = wire.encode(&request(history(usize::MAX))).unwrap();
        let json: Value = serde_json::from_slice(&body).unwrap();
        expect(
            &format!("request__{name}.json"),
            &format!("{}\n", serde_json::to_string_pretty(&json).unwrap()),
        );
    }
}

// proves: M2
#[test]
fn equal_requests_have_equal_bytes_and_longer_ones_begin_like_shorter_ones() {
    for (name, wire) in codecs() {
        let messages = |count: usize| {
            let request = request(history(count));
            let body = wire.encode(&request).unwrap();
            assert_eq!(body, wire.encode(&request).unwrap(), "{name}");
            let text = String::from_utf8(body).unwrap();
            let start = text.find("\"messages\":[").unwrap();
            let end = text.rfind(",\"metadata\"").or(text.rfind(",\"temperature\"")).unwrap();
            let end = text[..end].rfind(",\"temperature\"").unwrap_or(end);
            text[start..end].trim_end_matches(['}', ']']).to_owned()
        };
        let mut shorter = messages(1);
        // A history stands still only where no call waits for its result.
        for count in [2, 4, 5, 7, 9, 10, 11] {
            let longer = messages(count);
            assert!(longer.starts_with(&shorter), "{name} at {count}:\n{shorter}\n{longer}");
            shorter = longer;
        }
    }
}

/// Ids of the calls and of the results, in their order.
fn ids(value: &Value, calls: &mut Vec<String>, results: &mut Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match value {
        Value::Object(object) => {
            for name in ["tool_use_id", "tool_call_id"] {
                results.extend(object.get(name).map(text));
            }
            if object.contains_key("function") || object.get("type") == Some(&"tool_use".into()) {
                calls.extend(object.get("id").map(text));
            }
            object.values().for_each(|value| ids(value, calls, results));
        }
        Value::Array(items) => items.iter().for_each(|value| ids(value, calls, results)),
        _ => {}
    }
}

// proves: M7
#[test]
fn ids_are_unique_and_results_find_their_calls() {
    for (name, wire) in codecs() {
        let body = wire.encode(&request(history(usize::MAX))).unwrap();
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        ids(&serde_json::from_slice(&body).unwrap(), &mut calls, &mut results);
        assert_eq!(calls, results, "{name}");
        assert_eq!(calls.len(), 5, "{name}");
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), 5, "{name}");
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    for (name, wire) in codecs() {
        let refused = |request: &ModelRequest| {
            assert_eq!(wire.encode(request).unwrap_err().kind, ProblemKind::InvalidRequest, "{name}");
        };
        refused(&request(History::default()));
        for extra in ["", "[]", "{\"a\":", "{\"stream\":false}", "{\"messages\":[]}"] {
            let mut parameters = ModelParameters::default();
            parameters.extra = Some(extra.into());
            refused(&ModelRequest::new(ModelSpec::new("m").parameters(parameters), history(1), []));
        }
        let mut parameters = ModelParameters::default();
        parameters.temperature = Some(f64::INFINITY);
        refused(&ModelRequest::new(ModelSpec::new("m").parameters(parameters), history(1), []));
    }
}

// proves: M5
#[test]
fn keys_stand_in_one_secret_header() {
    let key = Secret::new("canary-key");
    let headers = |codec: &dyn Fn(Option<&Secret>) -> Vec<runloom_core::provider::Header>| {
        let all = codec(Some(&key));
        let secret: Vec<_> = all.iter().filter(|header| header.is_secret()).collect();
        assert_eq!(secret.len(), 1);
        assert!(!format!("{all:?}").contains("canary"));
        assert!(codec(None).iter().all(|header| !header.is_secret()));
        format!("{}: {}", secret[0].name(), secret[0].value())
    };
    assert_eq!(headers(&|key| Anthropic::new().headers(key)), "x-api-key: canary-key");
    assert_eq!(headers(&|key| Anthropic::new().bearer().headers(key)), "authorization: Bearer canary-key");
    assert_eq!(headers(&|key| OpenAiChat::default().headers(key)), "authorization: Bearer canary-key");
    let azure = OpenAiChat::new(Dialect::named("azure").unwrap());
    assert_eq!(headers(&|key| azure.headers(key)), "api-key: canary-key");
    let beta = Anthropic::new().beta("a").beta("b");
    assert!(beta.headers(None).iter().any(|h| h.name() == "anthropic-beta" && h.value() == "a,b"));
    assert_eq!((Anthropic::new().path(), azure.path()), ("/v1/messages", "/chat/completions"));
}

// proves: B7
#[test]
fn boundary_input_is_framed_text_of_the_users_side() {
    let bounds = MessageBounds { parts: 9, text: 1 << 20, image: 1 << 20 };
    let picture = image(ImageData::Url("https://example.org/pond.png".into()));
    let parts = vec![text("The pond is full."), picture];
    let messages = [(Role::User, vec![text("Hello.")]), (Role::Boundary, parts)];
    let message = |(n, (role, parts)): (usize, (Role, Vec<Part>))| {
        Message::new(MessageId::new(format!("m{n}")).unwrap(), role, parts, &bounds).unwrap()
    };
    let all = messages.into_iter().enumerate().map(message);
    let history = History::from_messages(HistoryBounds::default(), all).unwrap();
    for (name, wire) in codecs() {
        let body = wire.encode(&request(history.clone())).unwrap();
        let json: Value = serde_json::from_slice(&body).unwrap();
        let said = json["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(said["role"], "user", "{name}");
        let said = said.to_string();
        let frame = said.find("not from the user").unwrap_or_else(|| panic!("{name}: no frame in {said}"));
        assert!(frame < said.find("The pond is full.").unwrap(), "{name}: {said}");
    }
}
