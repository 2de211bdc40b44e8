//! Each rule of the verifier: streams that keep it, streams that break it, and that these are taken once the rule is
//! switched off.

use crate::streams::{events, verdict};
use runloom_core::agui::{Event, Mode, Rule, RunAgentInput, RunOutcome, Verifier};

/// Streams, and what a consumer and a producer say of them.
const STREAMS: &[(&str, &str, &str)] = &[
    // Runs.
    ("start; finish", "ok", "ok"),
    ("error", "ok", "ok"),
    ("", "truncated@0", "truncated@0"),
    ("start; text m; /text m", "truncated@3", "truncated@3"),
    ("start; start; finish", "duplicate-run-started@1", "duplicate-run-started@1"),
    ("raw; start; finish", "not-started@0", "not-started@0"),
    ("text~ m delta=x; start; finish", "not-started@0", "not-started@0"),
    ("start; start run=q; finish", "duplicate-run-started@1", "duplicate-run-started@1"),
    ("start; finish; raw", "run-ended@2", "run-ended@2"),
    ("start; error; finish", "run-ended@2", "run-ended@2"),
    ("start; error; error", "run-ended@2", "run-ended@2"),
    ("start; finish; error", "ok", "run-ended@2"),
    ("start; finish; start run=q; finish run=q", "ok", "run-ended@2"),
    ("start; text m; error; start run=q; finish run=q", "ok", "run-ended@3"),
    ("error; start; finish", "ok", "run-ended@1"),
    ("start; finish run=q", "run-identity@1", "run-identity@1"),
    ("start; finish thread=u", "run-identity@1", "run-identity@1"),
    ("start; finish; start thread=u run=q", "run-identity@2", "run-ended@2"),
    // Messages.
    ("start; text m; say m; /text m; finish", "ok", "ok"),
    ("start; text m; /text m; text m; say m; /text m; finish", "ok", "ok"),
    ("start; say m", "not-open@1", "not-open@1"),
    ("start; text m; /text m; say m", "not-open@3", "not-open@3"),
    ("start; /text m", "not-open@1", "not-open@1"),
    ("start; text m; text m", "duplicate-start@2", "duplicate-start@2"),
    ("start; text m; finish", "open-at-finish@2", "open-at-finish@2"),
    ("start; text m role=user; /text m; text m role=user; /text m; finish", "ok", "ok"),
    ("start; text m role=user; /text m; text m; /text m; finish", "ok", "opener-mismatch@3"),
    ("start; text m name=Ann; /text m; text m name=Bob; /text m; finish", "ok", "opener-mismatch@3"),
    // Calls.
    ("start; call c; args c; /call c; result c as=n; finish", "ok", "ok"),
    ("start; args c", "not-open@1", "not-open@1"),
    ("start; /call c", "not-open@1", "not-open@1"),
    ("start; call c; call c", "duplicate-start@2", "duplicate-start@2"),
    ("start; call c; finish", "open-at-finish@2", "open-at-finish@2"),
    ("start; result c as=n; finish", "ok", "unknown-id@1"),
    ("start; call c; result c as=n; /call c; finish", "ok", "out-of-order@2"),
    ("start; call c; /call c; call c tool=g; /call c; finish", "ok", "opener-mismatch@3"),
    ("start; call c in=m; /call c; call c in=n; /call c; finish", "ok", "opener-mismatch@3"),
    (
        "start; messages messages=[{\"id\":\"m\",\"role\":\"assistant\",\"toolCalls\":[{\"id\":\"c\",\"type\":\"function\",\
      \"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}]; result c as=n; finish",
        "ok",
        "ok",
    ),
    ("start; call c; /call c; finish; start run=q; result c as=n; finish run=q", "ok", "run-ended@4"),
    // Pending calls.
    (
        "start; call b; /call b; call a; /call a; finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[\"b\",\"a\"]}",
        "ok",
        "ok",
    ),
    (
        "start; call b; /call b; call a; /call a; finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[\"a\",\"b\"]}",
        "ok",
        "pending-tool-calls@5",
    ),
    (
        "start; call a; /call a; result a as=n; finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[\"a\"]}",
        "ok",
        "pending-tool-calls@4",
    ),
    (
        "start; call a; /call a; finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[]}",
        "ok",
        "pending-tool-calls@3",
    ),
    // Steps.
    ("start; step s; step s by=a; /step s by=a; /step s; step s; /step s; finish", "ok", "ok"),
    ("start; step s; step s", "duplicate-start@2", "duplicate-start@2"),
    ("start; /step s", "not-open@1", "not-open@1"),
    ("start; step s; /step s by=a", "not-open@2", "not-open@2"),
    ("start; step s by=a; finish", "open-at-finish@2", "open-at-finish@2"),
    // Reasoning.
    ("start; span x; reason x; think x; /reason x; /span x; finish", "ok", "ok"),
    ("start; think x", "not-open@1", "not-open@1"),
    ("start; span x; think x", "not-open@2", "not-open@2"),
    ("start; reason x; /span x", "not-open@2", "not-open@2"),
    ("start; span x; span x", "duplicate-start@2", "duplicate-start@2"),
    ("start; reason x; reason x", "duplicate-start@2", "duplicate-start@2"),
    ("start; span x; finish", "open-at-finish@2", "open-at-finish@2"),
    ("start; reason x; finish", "open-at-finish@2", "open-at-finish@2"),
    // Subagents.
    ("start; sub a; sub b parentSubagentRunId=a; /sub b; sub! a; finish", "ok", "ok"),
    ("start; sub a; sub a", "duplicate-start@2", "duplicate-start@2"),
    ("start; sub a; /sub a; sub a", "duplicate-start@3", "duplicate-start@3"),
    ("start; /sub a", "not-open@1", "not-open@1"),
    ("start; sub a; /sub a; sub! a", "not-open@3", "not-open@3"),
    ("start; sub a; finish", "open-at-finish@2", "open-at-finish@2"),
    ("start; sub b parentSubagentRunId=a; /sub b; finish", "ok", "unknown-id@1"),
    ("start; sub a; /sub a; finish; start run=q; sub a; /sub a; finish run=q", "ok", "run-ended@4"),
    // Owners.
    ("start; text m by=a; say m; say m by=a; /text m; finish", "ok", "ok"),
    ("start; text m by=a; say m by=b", "owner-mismatch@2", "owner-mismatch@2"),
    ("start; text m; say m by=b", "owner-mismatch@2", "owner-mismatch@2"),
    ("start; text m by=a; /text m by=b", "owner-mismatch@2", "owner-mismatch@2"),
    ("start; text m by=a; /text m; text m by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; text m by=a; text m by=b", "duplicate-start@2", "duplicate-start@2"),
    ("start; text m by=a; /text m; call c in=m; args c by=b", "owner-mismatch@4", "owner-mismatch@4"),
    ("start; text m by=a; /text m; call c in=m by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; call c by=a; /call c; call c by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; span x by=a; reason x by=b", "owner-mismatch@2", "owner-mismatch@2"),
    ("start; reason x by=a; /reason x; span x by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; activity v by=a; amend v patch=[] by=b", "owner-mismatch@2", "owner-mismatch@2"),
    ("start; activity v by=a; activity v by=b; amend v patch=[] by=b; finish", "ok", "ok"),
    (
        "start; activity v by=a; activity v by=b replace=false; amend v patch=[] by=b",
        "owner-mismatch@3",
        "owner-mismatch@3",
    ),
    ("start; text m by=a; /text m; seal m by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; call c by=a; /call c; seal c subtype=tool-call by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; seal m by=b; amend v patch=[] by=b; finish", "ok", "ok"),
    // Chunks.
    ("start; text~ m delta=a; text~ delta=b; text~ m delta=c; finish", "ok", "ok"),
    ("start; text~ delta=a", "chunk@1", "chunk@1"),
    ("start; reason~ delta=a", "chunk@1", "chunk@1"),
    ("start; call~ c delta=a", "chunk@1", "chunk@1"),
    ("start; call~ tool=f delta=a", "chunk@1", "chunk@1"),
    ("start; text~ m role=user; text~ role=assistant", "chunk@2", "chunk@2"),
    ("start; text~ m; text~ role=user", "chunk@2", "chunk@2"),
    ("start; text~ m name=Ann; text~ name=Bob", "chunk@2", "chunk@2"),
    ("start; call~ c tool=f; call~ tool=g", "chunk@2", "chunk@2"),
    ("start; call~ c tool=f in=m; call~ in=n", "chunk@2", "chunk@2"),
    ("start; call~ c tool=f in=m; call~ c tool=f in=m delta=x; finish", "ok", "ok"),
    ("start; text~ m; custom; text~ delta=b", "chunk@3", "chunk@3"),
    ("start; text~ m; step s; text~ delta=b", "chunk@3", "chunk@3"),
    ("start; text~ m; state snapshot=1; text~ delta=b", "chunk@3", "chunk@3"),
    ("start; text~ m; messages messages=[]; text~ delta=b", "chunk@3", "chunk@3"),
    ("start; text~ m; call~ c tool=f; text~ delta=b", "chunk@3", "chunk@3"),
    ("start; text~ m; raw; activity v; seal m; sub a; text~ delta=b; /sub a; finish", "ok", "ok"),
    ("start; text~ m; custom by=a; text~ delta=b; finish", "ok", "ok"),
    ("start; text~ m by=a; text~ n by=b; text~ delta=c", "chunk@3", "chunk@3"),
    ("start; text~ m by=a; text~ n by=b; text~ p; text~ delta=c; finish", "ok", "ok"),
    ("start; text~ m by=a; call~ c tool=f by=b; text~ delta=c; finish", "ok", "ok"),
    ("start; sub a; text~ m by=a; /sub a; text~ delta=b", "chunk@4", "chunk@4"),
    ("start; text~ m by=a; text~ m by=b", "owner-mismatch@2", "owner-mismatch@2"),
    ("start; text~ m by=a; custom by=a; text~ m by=b", "owner-mismatch@3", "owner-mismatch@3"),
    ("start; text m; text~ m delta=b", "duplicate-start@2", "duplicate-start@2"),
    ("start; text m; text~ delta=b", "chunk@2", "chunk@2"),
    ("start; text~ m; say m", "not-open@2", "not-open@2"),
    ("start; text~ m; /text m", "not-open@2", "not-open@2"),
    ("start; text~ m; text m; say m; /text m; finish", "ok", "ok"),
    ("start; call~ c tool=f; result c as=n; finish", "ok", "ok"),
    ("start; call~ c tool=f by=a; result c as=n; finish", "ok", "ok"),
    (
        "start; messages messages=[{\"role\":\"user\",\"id\":\"u\",\"content\":\"hi\"}]; text u; /text u; finish",
        "ok",
        "opener-mismatch@2",
    ),
    // Outcomes.
    (
        "start; finish outcome={\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"i\",\"reason\":\"a\"},{\"id\":\"j\",\"reason\":\"a\"}]}",
        "ok",
        "ok",
    ),
    (
        "start; finish outcome={\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"i\",\"reason\":\"a\"},{\"id\":\"i\",\"reason\":\"b\"}]}",
        "duplicate-interrupt@1",
        "duplicate-interrupt@1",
    ),
    ("start; finish outcome={\"type\":\"interrupt\",\"interrupts\":[]}", "malformed@1", "malformed@1"),
    ("start; text m; finish outcome={\"type\":\"cancelled\"}", "open-at-finish@2", "open-at-finish@2"),
    ("start; say m delta=4", "malformed@1", "malformed@1"),
];

// proves: V3, V4, V11
#[test]
fn every_stream_has_its_verdict_in_both_modes() {
    for (stream, consumer, producer) in STREAMS {
        assert_eq!(verdict(stream, Mode::Stream), *consumer, "a consumer of {stream}");
        assert_eq!(verdict(stream, Mode::SingleRun), *producer, "a producer of {stream}");
    }
}

/// What the verifier says with a rule switched off, of the events themselves and of their end.
fn without(rule: Rule, stream: &str, mode: Mode) -> Option<Rule> {
    let mut verifier = Verifier::new(mode).without(rule);
    for event in events(stream) {
        if let Err(error) = verifier.observe(&event) {
            return Some(error.rule);
        }
    }
    verifier.finish().err().map(|error| error.rule)
}

/// The mutation table: for each rule a stream of the table above breaks it, and nothing else notices once it is off.
// proves: V3
#[test]
fn each_rule_that_is_switched_off_is_missed() {
    for rule in Rule::ALL.iter().copied().filter(|rule| !matches!(rule, Rule::Malformed | Rule::TooMany)) {
        let breaks =
            |(_, _, producer): &&(&str, &str, &str)| producer.split('@').next() == Some(rule.as_str());
        let streams: Vec<&str> = STREAMS.iter().filter(breaks).map(|(stream, ..)| *stream).collect();
        assert!(!streams.is_empty(), "no stream breaks {rule}");
        for stream in streams {
            let found = without(rule, stream, Mode::SingleRun);
            assert_ne!(found, Some(rule), "{stream}: {rule} is still judged");
        }
        let missed = STREAMS.iter().filter(breaks).any(|(stream, ..)| {
            // Streams that stop at their offence are truncated; that is not what they are about.
            matches!(without(rule, stream, Mode::SingleRun), None | Some(Rule::Truncated))
        });
        assert!(missed, "{rule}: something else rejects every stream that breaks it");
    }
}

/// The two rules that no order of well-formed events breaks: an event that only a producer's code can make, and a bound.
// proves: V3
#[test]
fn the_rules_of_values_and_bounds_can_be_switched_off_too() {
    let mut finish = events("finish").remove(0);
    if let Event::RunFinished(finish) = &mut finish {
        finish.outcome = Some(RunOutcome::Interrupt(Vec::new()));
    }
    let started = || {
        let mut verifier = Verifier::new(Mode::SingleRun).most_ids(1);
        verifier.observe(&events("start")[0]).unwrap();
        verifier
    };
    assert_eq!(started().observe(&finish).map_err(|error| error.rule), Err(Rule::Malformed));
    assert_eq!(started().without(Rule::Malformed).observe(&finish), Ok(()));

    let far = |at: i64| {
        let mut start = events("start").remove(0);
        start.base_mut().timestamp = Some(at);
        start
    };
    let judge_start = |at: i64| Verifier::new(Mode::Stream).observe(&far(at)).map_err(|error| error.rule);
    for at in [(1 << 53) - 1, -(1 << 53) + 1] {
        assert_eq!(judge_start(at), Ok(()), "{at}");
    }
    for at in [1 << 53, -(1 << 53), i64::MAX, i64::MIN] {
        assert_eq!(judge_start(at), Err(Rule::Malformed), "{at}");
        assert_eq!(Verifier::new(Mode::Stream).without(Rule::Malformed).observe(&far(at)), Ok(()));
    }

    let two = events("text m; text n");
    let judge = |mut verifier: Verifier| {
        two.iter().find_map(|event| verifier.observe(event).err()).map(|error| error.rule)
    };
    assert_eq!(judge(started()), Some(Rule::TooMany));
    assert_eq!(judge(started().without(Rule::TooMany)), None);
}

// proves: V3
#[test]
fn a_rejected_event_changes_nothing() {
    for mode in [Mode::SingleRun, Mode::Stream] {
        for (stream, ..) in STREAMS.iter().filter(|(_, _, producer)| !producer.starts_with("malformed")) {
            let mut verifier = Verifier::new(mode);
            for event in events(stream) {
                let before = format!("{verifier:?}");
                let Err(error) = verifier.observe(&event) else { continue };
                assert_eq!(format!("{verifier:?}"), before, "{stream}: {error}");
                assert_eq!(verifier.observe(&event), Err(error), "{stream}: again");
            }
        }
    }
}

// proves: V11
#[test]
fn what_binds_producers_only_is_a_warning_for_consumers() {
    for (stream, at, rule) in [
        ("start; result c as=n; finish", 1, Rule::UnknownId),
        ("start; call c; result c as=n; /call c; finish", 2, Rule::OutOfOrder),
        ("start; text m role=user; /text m; text m; /text m; finish", 3, Rule::OpenerMismatch),
        (
            "start; finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[\"a\"]}",
            1,
            Rule::PendingToolCalls,
        ),
    ] {
        let mut verifier = Verifier::new(Mode::Stream);
        for (n, event) in events(stream).iter().enumerate() {
            assert_eq!(verifier.observe(event), Ok(()), "{stream}");
            let warned = verifier.warning().map(|warning| warning.rule);
            assert_eq!(warned, (n == at).then_some(rule), "{stream}: event {n}");
        }
    }
}

// proves: V3
#[test]
fn what_the_input_holds_is_known() {
    let text = r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"assistant","subagentRunId":"a","toolCalls":
        [{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"id":"u","role":"user","content":"hi"}]}"#;
    let input: RunAgentInput = runloom_core::agui::wire::decode(text).unwrap().value.unwrap();
    let judge = |stream: &str| {
        let mut verifier = Verifier::new(Mode::SingleRun);
        verifier.know(&input);
        events(stream).iter().find_map(|event| verifier.observe(event).err()).map(|error| error.rule)
    };
    assert_eq!(judge("start; result c as=n; finish"), None);
    assert_eq!(judge("start; text m by=b"), Some(Rule::OwnerMismatch));
    assert_eq!(judge("start; text u by=b"), Some(Rule::OwnerMismatch));
    // What a person said is not continued as the model's words.
    assert_eq!(judge("start; text u"), Some(Rule::OpenerMismatch));
    assert_eq!(judge("start; text~ u delta=x"), Some(Rule::OpenerMismatch));
    assert_eq!(judge("start; text u role=user; /text u; finish"), None);
    assert_eq!(judge("start run=q"), Some(Rule::RunIdentity));
    assert_eq!(judge("start thread=u"), Some(Rule::RunIdentity));
    // A call that the input asked for is not one of this run's pending calls.
    assert_eq!(judge("start; finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[]}"), None);

    // A context that begins in the middle of its run has started it.
    let mut started = Verifier::new(Mode::SingleRun);
    started.start(&RunAgentInput::new("t", "r"));
    assert_eq!(started.observe(&events("start")[0]).unwrap_err().rule, Rule::DuplicateRunStarted);
    assert_eq!(started.observe(&events("finish")[0]), Ok(()));
}

// bounds: AG-UI ids
#[test]
fn ids_are_bounded() {
    for opens in ["text m", "call c", "reason x", "span x", "activity v", "step s", "sub a", "text~ m"] {
        for (most, fits) in [(1, false), (2, true), (3, true)] {
            let mut verifier = Verifier::new(Mode::Stream).most_ids(most);
            let stream = events(&format!("start; text first; {opens}"));
            let (last, before) = stream.split_last().unwrap();
            before.iter().for_each(|event| verifier.observe(event).unwrap());
            let found = verifier.observe(last);
            assert_eq!(found.is_ok(), fits, "{opens} with {most}: {found:?}");
            if let Err(error) = found {
                assert_eq!(error.rule, Rule::TooMany);
            }
        }
    }
}

// proves: V8
#[test]
fn what_is_open_can_be_closed_in_the_order_that_is_given() {
    let stream =
        "start; sub a; step s; step u by=a; text m by=a; call c in=m; call b; reason x by=a; span y; sub z";
    let mut verifier = Verifier::new(Mode::SingleRun);
    events(stream).iter().for_each(|event| verifier.observe(event).unwrap());
    let closing: Vec<_> =
        verifier.open_items().into_iter().map(|item| item.closing_event("stopped", "CANCELLED")).collect();
    let ids: Vec<_> = closing.iter().map(|event| event.event_type().as_str()).collect();
    assert_eq!(
        ids,
        [
            "TOOL_CALL_END",
            "TOOL_CALL_END",
            "REASONING_MESSAGE_END",
            "TEXT_MESSAGE_END",
            "REASONING_END",
            "STEP_FINISHED",
            "STEP_FINISHED",
            "SUBAGENT_ERROR",
            "SUBAGENT_ERROR",
        ]
    );
    closing.iter().for_each(|event| verifier.observe(event).unwrap());
    assert!(verifier.open_items().is_empty());
    assert_eq!(verifier.pending_tool_calls(), ["c", "b"]);
    verifier.observe(&events("finish outcome={\"type\":\"cancelled\"}")[0]).unwrap();
}

#[test]
fn every_rule_has_a_name_and_a_sentence() {
    let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
    assert!(Rule::ALL.iter().all(|rule| rule.describe().len() > 10 && rule.to_string() == rule.as_str()));
}
