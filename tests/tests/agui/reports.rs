//! Public reports of bugs in programs that speak the protocol, by their ids, and what happens here instead.

use crate::consumer::{folded, told};
use crate::streams::{events, lines, verdict};
use runloom_core::agui::consume::{Consumer, End};
use runloom_core::agui::verify::OpenItem;
use runloom_core::agui::{Event, Mode, Rule, Verifier, compact};
use serde_json::json;

fn after(stream: &str) -> Verifier {
    let mut verifier = Verifier::new(Mode::SingleRun);
    events(stream).iter().for_each(|event| verifier.observe(event).unwrap());
    verifier
}

fn closing(verifier: &Verifier) -> Vec<String> {
    let close = |item: OpenItem| item.closing_event("stopped", "CANCELLED").encode();
    verifier.open_items().into_iter().map(close).collect()
}

// AGUI-01: a second terminal after RUN_ERROR.
// proves: V3, V4
#[test]
fn agui_01_nothing_follows_a_failure() {
    let mut verifier = after("start; call c; /call c; error");
    for line in ["finish", "error", "text m", "result c as=n", "raw"] {
        assert_eq!(verifier.observe(&events(line)[0]).unwrap_err().rule, Rule::RunEnded, "{line}");
    }
}

// AGUI-02: a run that finishes while calls are open.
// proves: V3
#[test]
fn agui_02_open_calls_are_closed_in_call_order_and_once() {
    let mut verifier = after("start; step s; text m; call a; call b; call c; /call a; result a as=n");
    assert_eq!(verifier.observe(&events("finish")[0]).unwrap_err().rule, Rule::OpenAtFinish);
    let close = closing(&verifier);
    assert_eq!(
        close,
        [
            r#"{"type":"TOOL_CALL_END","toolCallId":"b"}"#,
            r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
            r#"{"type":"STEP_FINISHED","stepName":"s"}"#,
        ]
    );
    close.iter().for_each(|line| verifier.observe(&Event::decode(line).unwrap().value.unwrap()).unwrap());
    assert!(closing(&verifier).is_empty());
    verifier.observe(&events("finish")[0]).unwrap();
}

// AGUI-03: a replayed thread whose middle run failed.
// proves: V11
#[test]
fn agui_03_a_thread_with_a_failed_run_is_replayed_whole() {
    let thread = "start run=r1; text a; /text a; finish run=r1; start run=r2; text b; error; \
                  start run=r3; text c; say c; /text c; finish run=r3";
    assert_eq!(verdict(thread, Mode::Stream), "ok");
    let mut consumer = Consumer::new();
    let mut delivered = 0;
    lines(thread).iter().for_each(|line| consumer.line(line.as_bytes(), &mut |_| delivered += 1).unwrap());
    let folded = consumer.finish();
    assert_eq!((delivered, folded.events, folded.thread.messages().len()), (12, 12, 3));
    assert!(matches!(folded.end, End::Finished(_)));
    assert_eq!(verdict("start run=r1; start run=r2", Mode::Stream), "duplicate-run-started@1");
}

// AGUI-04: compaction that moves open groups behind the terminal. A property over random streams holds the rest.
// proves: V11
#[test]
fn agui_04_compaction_moves_nothing() {
    let log = events("start; call c; args c delta={; args c delta=\"q; error; start run=r2; finish run=r2");
    let short = compact(log);
    let kinds: Vec<&str> = short.iter().map(|event| event.event_type().as_str()).collect();
    assert_eq!(
        kinds,
        ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"]
    );
    let mut verifier = Verifier::new(Mode::Stream);
    short.iter().for_each(|event| verifier.observe(event).unwrap());
    assert_eq!(verifier.finish(), Ok(()));
    assert_eq!(short[2].encode(), r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"q"}"#);
}

// AGUI-08: a stop that looks like a failure. The driver's part is shown with the agents.
// proves: V8
#[test]
fn agui_08_a_stop_closes_from_the_inside_and_ends_as_cancelled() {
    let mut verifier = after("start; step s1; text m1; say m1 delta=half");
    let close = closing(&verifier);
    assert_eq!(
        close,
        [r#"{"type":"TEXT_MESSAGE_END","messageId":"m1"}"#, r#"{"type":"STEP_FINISHED","stepName":"s1"}"#]
    );
    close.iter().for_each(|line| verifier.observe(&Event::decode(line).unwrap().value.unwrap()).unwrap());
    verifier.observe(&events("finish outcome={\"type\":\"cancelled\"}")[0]).unwrap();
    let told = told(
        "start; step s1; text m1; say m1 delta=half; /text m1; /step s1; finish outcome={\"type\":\"cancelled\"}",
        None,
    );
    assert_eq!(
        (&told["run"], &told["messages"][0]["content"]),
        (&json!({"type": "cancelled"}), &json!("half"))
    );
}

// AGUI-10: a snapshot that knows a result under another id moves it behind the answer.
// proves: V11
#[test]
fn agui_10_a_snapshot_of_what_was_folded_changes_nothing() {
    let run = "start; text u role=user; /text u; call c; /call c; result c as=n; text m; say m; /text m";
    let messages = told(&format!("{run}; finish"), None)["messages"].clone();
    let again =
        told(&format!("{run}; messages messages={}; finish", messages.to_string().replace(' ', "")), None);
    assert_eq!(again["messages"], messages);
    // The protocol's rule for an id that nobody has seen stands: such a message comes last.
    let other = messages.to_string().replace("\"n\"", "\"other\"");
    let moved = told(&format!("{run}; messages messages={other}; finish"), None);
    let ids: Vec<_> = moved["messages"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, ["u", "c", "m", "other"]);
}

// Peer defect: a verifier that is not told of the input rejects the answer to a call of an interrupted run.
// proves: V3
#[test]
fn a_resumed_run_may_answer_a_call_of_the_input() {
    let text = r#"{"threadId":"t","runId":"r","resume":[{"interruptId":"i","status":"resolved"}],"messages":[{"id":"m",
        "role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#;
    let input = runloom_core::agui::wire::decode(text).unwrap().value.unwrap();
    let mut verifier = Verifier::new(Mode::SingleRun);
    verifier.know(&input);
    events("start; result c as=n; finish").iter().for_each(|event| verifier.observe(event).unwrap());
}

// Peer defect: a chunk that is rejected closes the message that it names.
// proves: V3
#[test]
fn a_rejected_chunk_closes_nothing() {
    let mut verifier = after("start; text m by=a");
    for line in ["text~ m by=b delta=x", "text~ m delta=x", "text~ delta=x"] {
        verifier.observe(&events(line)[0]).unwrap_err();
    }
    events("say m; /text m; finish").iter().for_each(|event| verifier.observe(event).unwrap());
}

// Peer defect: a truncated or empty body is reported as a success.
// proves: V11
#[test]
fn a_body_that_is_empty_or_cut_is_no_success() {
    for stream in ["", "start", "start; text m; /text m", "start; finish; start run=q"] {
        assert_eq!(folded(stream, None).unwrap().end, End::Truncated, "{stream}");
        assert!(verdict(stream, Mode::Stream).starts_with("truncated@"), "{stream}");
    }
}

// Peer defect: what the outcome says goes unchecked.
// proves: V3
#[test]
fn what_a_producer_says_at_the_end_is_checked() {
    for (end, rule) in [
        ("finish run=q", "run-identity@1"),
        ("finish thread=u", "run-identity@1"),
        ("finish outcome={\"type\":\"success\",\"pendingToolCallIds\":[\"x\"]}", "pending-tool-calls@1"),
        (
            "finish outcome={\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"i\",\"reason\":\"r\"},{\"id\":\"i\",\"reason\":\"r\"}]}",
            "duplicate-interrupt@1",
        ),
    ] {
        assert_eq!(verdict(&format!("start; {end}"), Mode::SingleRun), rule);
    }
}

// Peer defect: cost that grows with what is open.
#[test]
fn continuing_costs_the_same_with_much_open() {
    let mut verifier = after("start");
    for n in 0..10_000 {
        verifier.observe(&events(&format!("text m{n} by=s{n}"))[0]).unwrap();
    }
    // Ten thousand lanes of chunks beside them.
    for n in 0..10_000 {
        verifier.observe(&events(&format!("text~ c{n} by=l{n}"))[0]).unwrap();
    }
    let say = events("say m5000; custom; text~ c5000 delta=x");
    let started = cpu_time::ThreadTime::now();
    for _ in 0..10_000 {
        say.iter().for_each(|event| verifier.observe(event).unwrap());
    }
    // A walk over all of them would take minutes.
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
