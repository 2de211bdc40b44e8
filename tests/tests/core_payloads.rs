//! The payload bound, which no recorded event may pass because each value that it carries has a lower one.
#![allow(clippy::unwrap_used)]

use runloom_core::config::{Config, ConfigError};
use runloom_core::event::EventKind;
use runloom_core::history::History;
use runloom_core::id::{OpId, Revision, RunId, SessionId};
use runloom_core::input::Start;
use runloom_core::json::Len;
use runloom_core::message::Part;
use runloom_core::model::{Completion, FinalCall, Finish, ModelItem, ModelSpec};
use runloom_core::time::Time;
use runloom_core::tool::{ToolEnd, ToolItem, ToolOutput, ToolSpec};
use runloom_core::{Input, Outbox, Run};
use std::sync::Arc;

fn payload(event: &runloom_core::event::Event) -> u64 {
    let mut len = Len::default();
    event.write_payload(&mut len);
    len.0
}

fn start(run: &mut Run, out: &mut Outbox) {
    let spec = Arc::new(ToolSpec::new("t".repeat(64), "", "{}").unwrap());
    let session = SessionId::new("\"".repeat(128)).unwrap();
    let model = Arc::new(ModelSpec::new("\\".repeat(500)));
    let input = vec![Part::Text("go".into())];
    let start = Start::new(session, Revision(0), History::default(), input, model).tools([spec]);
    let _ = run.step(Time::ZERO, Input::Start(Box::new(start)), out).unwrap();
}

fn step(run: &mut Run, out: &mut Outbox, input: Input) {
    let _ = run.step(Time::MAX, input, out).unwrap();
}

// bounds: payload
#[test]
fn the_builder_refuses_a_payload_bound_that_a_value_could_pass() {
    let with = |payload| Config::with(|limits| limits.payload_bytes = payload);
    let Err(ConfigError::TooSmall { what: "payload bytes", least, .. }) = with(1) else { panic!() };
    assert!(with(least).is_ok());
    assert_eq!(
        with(least - 1),
        Err(ConfigError::TooSmall { what: "payload bytes", least, observed: least - 1 })
    );
}

// proves: L1
// bounds: payload; payload of the outcome; closing event
#[test]
fn the_largest_values_stay_within_the_payload_bounds() {
    let config = Arc::new(Config::default());
    let limits = config.limits().clone();
    // Every character is escaped, every id as long as it can be.
    let mut run = Run::new(RunId::new("\"".repeat(128)).unwrap(), Arc::clone(&config));
    let mut out = Outbox::new();
    start(&mut run, &mut out);
    let id = "\"".repeat(128);
    let members = "{\"a\":\"".len() + "\"}".len();
    let quotes = usize::try_from(limits.argument_bytes).unwrap() / 2 - 2 * members;
    let arguments = format!("{{\"a\":\"{}\"}}", "x".repeat(2 * quotes));
    let call = FinalCall { id: Some(id.into()), name: "t".repeat(64).into(), arguments: arguments.into() };
    step(&mut run, &mut out, Input::Model { op: OpId(1), item: ModelItem::Call(Box::new(call)) });
    let done = Completion::new(Some(Finish::ToolCalls), "\\".repeat(9_000));
    step(&mut run, &mut out, Input::Model { op: OpId(1), item: ModelItem::Done(Box::new(done)) });
    step(&mut run, &mut out, Input::Tool { op: OpId(2), item: ToolItem::Started });
    let progress = ToolItem::Progress("\u{1}".repeat(9_000).into());
    step(&mut run, &mut out, Input::Tool { op: OpId(2), item: progress });
    let parts: Vec<Part> = (0..limits.parts).map(|_| Part::Text("\u{1}".repeat(500).into())).collect();
    let end = ToolEnd::Output(ToolOutput::parts(parts));
    step(&mut run, &mut out, Input::Tool { op: OpId(2), item: ToolItem::Done(end) });
    let text = "\u{1}".repeat(usize::try_from(limits.response_bytes).unwrap() / 6);
    step(&mut run, &mut out, Input::Model { op: OpId(3), item: ModelItem::Text(text.into()) });
    let done = Completion::new(Some(Finish::Stop), "");
    step(&mut run, &mut out, Input::Model { op: OpId(3), item: ModelItem::Done(Box::new(done)) });

    let mut largest = 0;
    for envelope in run.log().iter() {
        let bytes = payload(&envelope.event);
        match envelope.event.kind() {
            EventKind::RunCompleted => {
                assert!(
                    bytes > limits.response_bytes - 8 && bytes <= limits.response_bytes + 4_096,
                    "{bytes}"
                );
            }
            kind => assert!(bytes <= limits.payload_bytes, "{}: {bytes}", kind.as_str()),
        }
        largest = largest.max(if envelope.event.is_terminal() { 0 } else { bytes });
    }
    assert!(largest > limits.argument_bytes, "{largest}");
}
