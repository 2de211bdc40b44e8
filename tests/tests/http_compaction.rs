//! Histories that a provider shortens itself, over a client that plays what it is told (K1, K4, K6, M5, M9).

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests and their helpers")]

use futures_lite::future::block_on;
use futures_lite::stream::{self, Iter};
use runloom::core::provider::anthropic::Anthropic;
use runloom::core::provider::openai_chat::OpenAiChat;
use runloom::http::{
    Endpoint, HttpClient, HttpError, HttpHeaders, HttpModel, HttpRequest, HttpResponse, LocalHttpClient,
    LocalHttpModel,
};
use runloom::{
    CompactError, CompactionPolicy, Config, Engine, Event, Host, Local, ManualTimer, MessageBounds,
    MessageId, ModelSpec, Part, Role, Seq, Session, Shared, Usage,
};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const KEY: &str = "sesame-canary-key";
const SUMMARY: &str = include_str!("../fixtures/providers/anthropic__summary-on-demand.sse");
const ANSWER: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Lilies.\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const LONG: &str = "a long text that takes some tokens, so that there is something to gain when it goes away";

type Body = Iter<std::vec::IntoIter<Result<Vec<u8>, HttpError>>>;

/// Answers with these statuses and bodies, one after the other.
#[derive(Clone)]
struct Played {
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Played {
    fn new(answers: impl IntoIterator<Item = (u16, String)>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), seen: Arc::default() }
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse<Body> {
        let mut seen: Value = serde_json::from_slice(&request.body).unwrap();
        seen["beta"] = json!(request.headers.get("anthropic-beta"));
        self.seen.lock().unwrap().push(seen);
        let (status, body) = self.answers.lock().unwrap().pop_front().expect("no more requests");
        let pieces: Vec<_> = body.into_bytes().chunks(50).map(|piece| Ok(piece.to_vec())).collect();
        HttpResponse::new(status, HttpHeaders::new(), stream::iter(pieces))
    }
}

impl HttpClient for Played {
    type Body = Body;
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<Body>, HttpError> {
        Ok(self.answer(&request))
    }
}

/// The same for one thread.
struct LocalPlayed(Played);

impl LocalHttpClient for LocalPlayed {
    type Body = Body;
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse<Body>, HttpError> {
        Ok(self.0.answer(&request))
    }
}

fn old() -> impl Iterator<Item = runloom::Message> {
    (0..6).map(|at: usize| {
        let bounds = MessageBounds { parts: 9, text: 9_000, image: 0 };
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let id = MessageId::new(format!("old-{at}").as_str()).unwrap();
        let parts = vec![Part::Text(format!("{at} {LONG}").as_str().into())];
        runloom::Message::new(id, role, parts, &bounds).unwrap()
    })
}

fn config() -> Config {
    Config::default().compaction(CompactionPolicy::after_messages(5).keep_messages(2)).unwrap()
}

fn endpoint() -> Endpoint {
    Endpoint::new("https://api.example/").key(KEY)
}

fn session(codec: Anthropic, client: &Played) -> Session<Shared, ManualTimer> {
    let model = HttpModel::new(codec, client.clone(), endpoint());
    let host = Host::shared().model(ModelSpec::new("some-model"), model).compact_natively().build().unwrap();
    let session = Engine::builder(host, ManualTimer::new()).config(config()).build().session().unwrap();
    session.append(old()).unwrap();
    session
}

// proves: K1, M9, R5
#[test]
fn a_providers_own_summary_stands_in_the_place_of_the_older_messages_from_then_on() {
    let client = Played::new([SUMMARY, ANSWER, SUMMARY, ANSWER].map(|body| (200, body.to_owned())));
    let session = session(Anthropic::new().compaction(), &client);
    let (_run, driver) = session.start("What comes next?").unwrap();
    let outcome = block_on(driver);
    assert_eq!(outcome.answer().unwrap().text, "Lilies.");
    assert_eq!((outcome.billed.input_tokens, outcome.billed.output_tokens), (Some(1_148), Some(29)));
    let said = |message: &runloom::Message| match message.parts() {
        [Part::Context(_), Part::Text(words)] => words.as_str().to_owned(),
        parts => format!("{parts:?}"),
    };
    assert_eq!(said(outcome.history.get(0).unwrap()), "The pond is dug; lilies come next.");
    let (_run, driver) = session.start("And then?").unwrap();
    block_on(driver);
    let seen = client.seen.lock().unwrap();
    assert!(seen.iter().all(|body| body["beta"] == "compact-2026-09-04"));
    assert_eq!(seen[0]["compaction"], json!({"type": "summarize"}));
    assert_eq!(seen[0]["messages"].as_array().unwrap().len(), 5);
    let block = json!({
        "type": "compaction", "content": "The pond is dug; lilies come next.", "signature": "c2lnbmVk",
    });
    assert_eq!(seen[1].get("compaction"), None);
    assert_eq!(seen[1]["messages"][0]["content"][0], block);
    assert!(seen[1]["messages"][0]["content"][1]["text"].as_str().unwrap().starts_with("5 a long"));
    assert_eq!(seen[1]["messages"].as_array().unwrap().len(), 2);
    // The next summary is made of the one before and what came since, and stands alone then.
    assert_eq!(seen[2]["compaction"], json!({"type": "summarize"}));
    assert_eq!(seen[2]["messages"][0]["content"][0], block);
    assert_eq!(seen[3]["messages"].to_string().matches("signature").count(), 1);
    assert_eq!(seen[3]["messages"][0]["content"][0], block);
}

// proves: K4, M5
#[test]
fn a_summary_that_does_not_come_is_a_failed_compaction_and_what_it_cost_is_billed() {
    let cut = SUMMARY.replace("\"stop_reason\":\"compaction\"", "\"stop_reason\":\"max_tokens\"");
    let none = SUMMARY.replace("\"type\":\"compaction\",\"content\"", "\"type\":\"other\",\"content\"");
    let refused = format!(r#"{{"error":{{"type":"invalid_request_error","message":"no {KEY}"}}}}"#);
    let spent = Usage::new(1_145, 27);
    let cases = [
        (200, cut, "the summary ended early: length", spent.output_tokens),
        (200, none, "the provider has shortened nothing: compaction", spent.output_tokens),
        (200, String::new(), "ended before", None),
        (400, refused, "no [redacted]", None),
    ];
    for (status, body, why, output) in cases {
        let client = Played::new([(status, body), (200, ANSWER.into())]);
        let session = session(Anthropic::new().compaction(), &client);
        let (run, driver) = session.start("What comes next?").unwrap();
        let outcome = block_on(driver);
        let failed = |event: &Event| match event {
            Event::CompactionFailed(failed) => Some((failed.error.to_string(), failed.usage.output_tokens)),
            _ => None,
        };
        let events = run.handle().events_after(Seq(0), 99);
        let (error, cost) = events.iter().find_map(|envelope| failed(&envelope.event)).expect(why);
        assert!(error.contains(why), "{error}");
        assert_eq!((cost, outcome.history.len()), (output, 8), "{why}");
        assert!(!format!("{events:?}").contains("canary"));
    }
}

// proves: K4, K6
#[test]
fn a_codec_without_such_a_request_sends_none() {
    let client = Played::new([]);
    let failed = block_on(session(Anthropic::new(), &client).compact()).unwrap_err();
    assert_eq!(failed.to_string(), "the compactor failed: the model has no compaction of its own");
    let model = HttpModel::new(OpenAiChat::default(), client.clone(), endpoint());
    let host = Host::shared().model(ModelSpec::new("m"), model).compact_natively().build().unwrap();
    let session = Engine::builder(host, ManualTimer::new()).config(config()).build().session().unwrap();
    session.append(old()).unwrap();
    assert!(matches!(block_on(session.compact()), Err(CompactError::Failed { .. })));
    assert!(client.seen.lock().unwrap().is_empty());
}

// proves: K6, X2
#[test]
fn by_hand_and_on_one_thread_it_is_the_same_request() {
    let client = Played::new([(200, SUMMARY.into())]);
    let model = LocalHttpModel::new(Anthropic::new().compaction(), LocalPlayed(client.clone()), endpoint());
    let host =
        Host::<Local>::local().model(ModelSpec::new("some-model"), model).compact_natively().build().unwrap();
    let session = Engine::builder(host, ManualTimer::new()).config(config()).build().session().unwrap();
    session.append(old()).unwrap();
    let done = block_on(session.compact()).unwrap();
    assert_eq!((done.replaced, done.messages, done.usage.output_tokens), (4, 3, Some(27)));
    assert_eq!(client.seen.lock().unwrap()[0]["messages"].as_array().unwrap().len(), 4);
}
