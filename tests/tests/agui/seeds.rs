//! What seed 002 prints of a violation.

use runloom_core::agui::{Event, Mode, Rule, RunAgentInput, TextRole, Verifier};

// proves: V3
#[test]
fn a_violation_names_event_rule_and_id_and_what_is_open() {
    let mut verifier = Verifier::new(Mode::SingleRun);
    verifier.start(&RunAgentInput::new("t", "r"));
    verifier.observe(&Event::text_message_start("msg-1", TextRole::Assistant)).unwrap();
    let error = verifier.observe(&Event::text_message_content("msg-2", "hello")).unwrap_err();
    assert_eq!((error.rule, error.id.as_deref()), (Rule::NotOpen, Some("msg-2")));
    let text = "TEXT_MESSAGE_CONTENT breaks rule `not-open` (content and terminators require a matching start): \
                message \"msg-2\" is not open";
    if cfg!(debug_assertions) {
        assert_eq!(error.to_string(), format!("{text} [open: messages={{\"msg-1\"}}]"));
    } else {
        assert_eq!(error.to_string(), text);
    }
    let mut fresh = Verifier::new(Mode::SingleRun);
    fresh.start(&RunAgentInput::new("t", "r"));
    let error = fresh.observe(&Event::text_message_end("m")).unwrap_err();
    assert!(!cfg!(debug_assertions) || error.to_string().ends_with(" [nothing open]"), "{error}");
}

#[cfg(debug_assertions)]
#[test]
fn the_dump_shows_every_kind_and_is_bounded() {
    use crate::streams::events;
    let mut verifier = Verifier::new(Mode::SingleRun);
    let stream = "start; sub a; step s; step s by=a; text m; call c; reason x; span y";
    events(stream).iter().for_each(|event| verifier.observe(event).unwrap());
    let text = verifier.observe(&events("say n")[0]).unwrap_err().to_string();
    let dump = text.split(" [").nth(1).unwrap();
    assert_eq!(
        dump,
        "open: messages={\"m\"} reasoning={\"y\"} reasoning_messages={\"x\"} tool_calls={\"c\"} \
         steps={\"s\", \"s\" of \"a\"} subagents={\"a\"}]"
    );
    for n in 0..100 {
        verifier.observe(&Event::text_message_start(format!("m{n}"), TextRole::User)).unwrap();
    }
    let text = verifier.observe(&events("say n")[0]).unwrap_err().to_string();
    assert!(text.contains(" and 85 more}") && text.len() < 600, "{text}");
}
