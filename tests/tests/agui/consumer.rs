//! What a consumer makes of a stream, one behaviour a case; and that each fault that is planted into it is seen.

use crate::streams::lines;
use runloom_core::agui::consume::{Consumer, Fault, Folded};
use serde_json::{Value, json};

/// A behaviour: the stream, and what is told of it afterwards.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) stream: &'static str,
    pub(crate) told: fn() -> Value,
}

pub(crate) fn folded(stream: &str, fault: Option<Fault>) -> Result<Folded, String> {
    let mut consumer = Consumer::new();
    if let Some(fault) = fault {
        consumer = consumer.plant(fault);
    }
    for line in lines(stream) {
        consumer.line(line.as_bytes(), &mut |_| {}).map_err(|error| error.to_string())?;
    }
    Ok(consumer.finish())
}

/// What a test looks at: messages, state and run as JSON; warnings as texts; calls and invocations that are left.
pub(crate) fn told(stream: &str, fault: Option<Fault>) -> Value {
    match folded(stream, fault) {
        Err(error) => json!({ "error": error }),
        Ok(folded) => {
            let mut told: Value = serde_json::from_str(&folded.to_json()).unwrap();
            told["pending"] = json!(folded.thread.pending_tool_calls());
            let subagents = folded.thread.subagents().iter();
            told["subagents"] =
                subagents.map(|it| json!([it.started.subagent_run_id, format!("{:?}", it.status)])).collect();
            told
        }
    }
}

/// Whether `found` says at least what `expected` does; lists are equally long.
fn covers(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| covers(a, b))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| covers(value, found)))
        }
        _ => expected == found,
    }
}

pub(crate) fn holds(case: &Case, fault: Option<Fault>) -> Result<(), String> {
    let (found, expected) = (told(case.stream, fault), (case.told)());
    if covers(&expected, &found) { Ok(()) } else { Err(format!("{}: {found}, not {expected}", case.name)) }
}

/// The behaviours.
pub(crate) const CASES: &[Case] = &[
    Case {
        name: "pieces make a message",
        stream: "start; text m; say m delta=a; say m delta=b; /text m; finish",
        told: || {
            json!({"messages": [{"id": "m", "role": "assistant", "content": "ab"}], "warnings": [],
            "outcome": "completed", "run": {"type": "success"}, "state": {}})
        },
    },
    Case {
        name: "a message that is opened again goes on",
        stream: "start; text m role=user; say m delta=a; /text m; text m role=user; say m delta=b; /text m; finish",
        told: || json!({"messages": [{"id": "m", "role": "user", "content": "ab"}]}),
    },
    Case {
        name: "runs of a stream share messages and state",
        stream: "start; text m; /text m; state snapshot=1; finish; start run=q; text n; /text n; finish run=q",
        told: || json!({"messages": [{"id": "m"}, {"id": "n"}], "state": 1}),
    },
    Case {
        name: "an unknown member or event is told of and left out",
        stream: "start; custom mood=fine; finish",
        told: || json!({"warnings": ["event 1: unknown member removed at /mood"], "outcome": "completed"}),
    },
    Case {
        name: "a failure after the end is a failure",
        stream: "start; finish; error code=E",
        told: || json!({"run": {"type": "error", "message": "boom", "code": "E"}, "outcome": "completed"}),
    },
    Case {
        name: "a stream that ends in a run has no outcome",
        stream: "start; text m; say m delta=half",
        told: || json!({"run": null, "outcome": "truncated", "messages": [{"content": "half"}]}),
    },
    Case {
        name: "a new run after a finished one must end too",
        stream: "start; finish; start run=q",
        told: || json!({"run": null, "outcome": "truncated"}),
    },
    Case {
        name: "a cancelled run is told of as that",
        stream: "start; finish outcome={\"type\":\"cancelled\"}",
        told: || json!({"run": {"type": "cancelled"}, "outcome": "completed", "warnings": []}),
    },
    Case {
        name: "a later version is served with a warning",
        stream: "start protocolVersion=\"1.10\"; finish",
        told: || {
            json!({"warnings":
            ["the producer declares version \"1.10\", this is 1.1; it is served all the same"]})
        },
    },
    Case {
        name: "an odd version is served with a warning, an earlier or absent one without",
        stream: "start protocolVersion=one; finish; start run=q protocolVersion=\"1.0\"; finish run=q; start; finish",
        told: || {
            json!({"warnings":
            ["the producer declares version \"one\", this is 1.1; it is served all the same"]})
        },
    },
    Case {
        name: "a patch applies whole or not at all, and says so",
        stream: "start; state snapshot={\"a\":1}; patch delta=[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2},{\"op\":\"remove\",\"path\":\"/b\"}]; finish",
        told: || {
            json!({"state": {"a": 1}, "warnings":
            ["Failed to apply state patch of event 2: operation 1 at \"/b\": there is no such place"]})
        },
    },
    Case {
        name: "a snapshot of the state replaces all of it",
        stream: "start; state snapshot={\"a\":1}; state snapshot={\"b\":2}; patch delta=[{\"op\":\"test\",\"path\":\"\",\"value\":{\"b\":2}}]; finish",
        told: || json!({"state": {"b": 2}, "warnings": []}),
    },
    Case {
        name: "the state of a subagent is the run's",
        stream: "start; state snapshot={\"n\":1} by=a; patch delta=[{\"op\":\"replace\",\"path\":\"/n\",\"value\":null}] by=b; finish",
        told: || json!({"state": {"n": null}, "warnings": []}),
    },
    Case {
        name: "a snapshot of messages replaces in place, appends, and drops",
        stream: "start; text a; /text a; text b; /text b; text c; /text c; messages messages=[{\"id\":\"d\",\"role\":\"user\",\"content\":\"D\"},{\"id\":\"c\",\"role\":\"assistant\",\"content\":\"C\"},{\"id\":\"a\",\"role\":\"assistant\",\"content\":\"A\"}]; finish",
        told: || json!({"messages": [{"id": "a", "content": "A"}, {"id": "c", "content": "C"}, {"id": "d", "content": "D"}]}),
    },
    Case {
        name: "a snapshot keeps activities and reasoning that it does not know",
        stream: "start; activity v; reason x; think x delta=hm; /reason x; text m; /text m; messages messages=[]; finish",
        told: || json!({"messages": [{"id": "v", "role": "activity"}, {"id": "x", "role": "reasoning", "content": "hm"}]}),
    },
    Case {
        name: "a snapshot that holds an activity holds them all",
        stream: "start; activity v; activity w; reason x; /reason x; messages messages=[{\"id\":\"w\",\"role\":\"activity\",\"activityType\":\"a\",\"content\":{}}]; finish",
        told: || json!({"messages": [{"id": "w", "activityType": "a"}, {"id": "x"}]}),
    },
    Case {
        name: "what a snapshot restates goes on",
        stream: "start; text m; say m delta=a; messages messages=[{\"id\":\"m\",\"role\":\"assistant\",\"content\":\"A\"}]; say m delta=b; /text m; finish",
        told: || json!({"messages": [{"id": "m", "content": "Ab"}]}),
    },
    Case {
        name: "an activity is replaced unless it says otherwise",
        stream: "start; activity v by=a content={\"n\":1}; activity v by=b activityType=other replace=false content={\"n\":2}; finish",
        told: || json!({"messages": [{"id": "v", "activityType": "plan", "content": {"n": 1}, "subagentRunId": "a"}]}),
    },
    Case {
        name: "an activity that is replaced has its new owner and its old metadata",
        stream: "start; activity v by=a metadata={\"k\":1}; activity v activityType=other content={\"n\":2} by=b; finish",
        told: || json!({"messages": [{"activityType": "other", "content": {"n": 2}, "subagentRunId": "b", "metadata": {"k": 1}}]}),
    },
    Case {
        name: "a delta amends and retypes an activity",
        stream: "start; activity v; amend v activityType=other patch=[{\"op\":\"add\",\"path\":\"/n\",\"value\":1}]; finish",
        told: || json!({"messages": [{"activityType": "other", "content": {"n": 1}}], "warnings": []}),
    },
    Case {
        name: "the content of an activity stays an object",
        stream: "start; activity v content={\"n\":1}; amend v patch=[{\"op\":\"replace\",\"path\":\"\",\"value\":7}]; finish",
        told: || {
            json!({"messages": [{"content": {"n": 1}}], "warnings":
            ["Failed to apply patch of event 2 to activity \"v\": its content stays an object"]})
        },
    },
    Case {
        name: "a delta for no activity is skipped with a warning",
        stream: "start; text m; /text m; amend m patch=[]; amend v patch=[]; finish",
        told: || {
            json!({"messages": [{"id": "m"}], "warnings":
            ["event 3: there is no activity \"m\"", "event 4: there is no activity \"v\""]})
        },
    },
    Case {
        name: "metadata is merged by key, and the last word stands",
        stream: "start; text m metadata={\"a\":[1],\"b\":1}; say m metadata={\"a\":[2]}; /text m metadata={\"c\":null}; finish",
        told: || json!({"messages": [{"metadata": {"a": [2], "b": 1, "c": null}}]}),
    },
    Case {
        name: "a call's metadata is the call's",
        stream: "start; text m; /text m; call c in=m metadata={\"a\":1}; args c delta={ metadata={\"a\":2}; /call c; finish",
        told: || json!({"messages": [{"id": "m", "toolCalls": [{"id": "c", "metadata": {"a": 2}, "function": {"name": "f", "arguments": "{"}}]}]}),
    },
    Case {
        name: "a call without a message gets one",
        stream: "start; call c by=a; /call c; call d in=n; /call d; finish",
        told: || {
            json!({"messages": [{"id": "c", "role": "assistant", "subagentRunId": "a", "toolCalls": [{"id": "c"}]},
            {"id": "n", "role": "assistant", "toolCalls": [{"id": "d"}]}]})
        },
    },
    Case {
        name: "a call that no message can hold is told of",
        stream: "start; text c role=user; /text c; call c; args c; /call c; finish",
        told: || {
            json!({"messages": [{"id": "c", "role": "user"}], "warnings": [
            "event 3: there is no message of the assistant for tool call \"c\"", "event 4: there is no tool call \"c\""]})
        },
    },
    Case {
        name: "an answer under the id of a thought is told of",
        stream: "start; reason m; think m delta=a; /reason m; text m; say m delta=b; /text m; finish",
        told: || {
            json!({"messages": [{"id": "m", "role": "reasoning", "content": "ab"}],
            "warnings": ["event 4: message \"m\" has the role reasoning, and is continued as that"]})
        },
    },
    Case {
        name: "a call that is opened again goes on",
        stream: "start; call c; args c delta=a; /call c; call c; args c delta=b; /call c; finish",
        told: || json!({"messages": [{"toolCalls": [{"id": "c", "function": {"arguments": "ab"}}]}]}),
    },
    Case {
        name: "a result is a message, and answers its call",
        stream: "start; call c; /call c; call d; /call d; result c as=n metadata={\"k\":1}; finish",
        told: || {
            json!({"messages": [{"id": "c"}, {"id": "d"}, {"id": "n", "role": "tool", "toolCallId": "c", "content": "ok", "metadata": {"k": 1}}],
            "pending": ["d"]})
        },
    },
    Case {
        name: "calls that an interrupted run leaves are pending, in call order",
        stream: "start; call d; /call d; call c; /call c; finish outcome={\"type\":\"interrupt\",\"interrupts\":[{\"id\":\"i\",\"reason\":\"r\"}]}",
        told: || json!({"pending": ["d", "c"], "run": {"type": "interrupt", "interrupts": [{"id": "i"}]}}),
    },
    Case {
        name: "a sealed value is stored with its type, and a new one replaces both",
        stream: "start; reason x; /reason x; call c; /call c; seal x encryptedValueType=t; seal c subtype=tool-call encryptedValueType=t; seal x encryptedValue=new; finish",
        told: || {
            json!({"messages": [{"id": "x", "encryptedValue": "new"},
            {"toolCalls": [{"encryptedValue": "sealed", "encryptedValueType": "t"}]}], "warnings": []})
        },
    },
    Case {
        name: "a sealed value for nobody is told of",
        stream: "start; activity v; seal v; seal c subtype=tool-call; finish",
        told: || {
            json!({"warnings": ["event 2: there is no message or call to seal a value for \"v\"",
            "event 3: there is no message or call to seal a value for \"c\""]})
        },
    },
    Case {
        name: "invocations end with their run's failure",
        stream: "start; sub a; /sub a; sub b; sub! b message=m; sub c; error",
        told: || json!({"subagents": [["a", "Finished(Success)"], ["b", "Failed { message: \"m\" }"], ["c", "Abandoned"]]}),
    },
    Case {
        name: "chunks make messages and calls, also by subagents",
        stream: "start; text~ m name=Ann role=user; text~ delta=a; text~ metadata={\"k\":1}; call~ c tool=f by=a in=q delta=x; call~ delta=y; reason~ r delta=z; finish",
        told: || {
            json!({"messages": [{"id": "m", "role": "user", "name": "Ann", "content": "a", "metadata": {"k": 1}},
            {"id": "q", "subagentRunId": "a", "toolCalls": [{"id": "c", "function": {"arguments": "xy"}}]}, {"id": "r", "role": "reasoning", "content": "z"}]})
        },
    },
    Case {
        name: "an echoed input is what the run builds on",
        stream: "start input={\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[{\"id\":\"u\",\"role\":\"user\",\"content\":\"hi\"}],\"state\":{\"n\":1}}; patch delta=[{\"op\":\"remove\",\"path\":\"/n\"}]; finish",
        told: || json!({"messages": [{"id": "u"}], "state": {}, "warnings": []}),
    },
    Case {
        name: "text is kept exactly as it comes",
        stream: "start; text m; say m delta=cafe; say m delta=\u{301}\u{200d}; say m delta=; /text m; finish",
        told: || json!({"messages": [{"content": "cafe\u{301}\u{200d}"}]}),
    },
    Case {
        name: "what binds producers only is told of",
        stream: "start; result c as=n; finish",
        told: || json!({"outcome": "completed", "messages": [{"id": "n", "role": "tool"}]}),
    },
];

// proves: V11
#[test]
fn each_behaviour_holds() {
    let failed: Vec<String> = CASES.iter().filter_map(|case| holds(case, None).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

// proves: V11
#[test]
fn after_a_rejection_everything_is_refused_and_what_came_is_kept() {
    let mut consumer = Consumer::new();
    let mut delivered = 0;
    for line in lines("start; text m; say m delta=a") {
        consumer.line(line.as_bytes(), &mut |_| delivered += 1).unwrap();
    }
    let error = consumer.line(lines("say n")[0].as_bytes(), &mut |_| delivered += 1).unwrap_err();
    assert_eq!((error.at, error.rule.as_str()), (3, "not-open"));
    for line in lines("say m; /text m; finish") {
        assert_eq!(consumer.line(line.as_bytes(), &mut |_| delivered += 1), Err(error.clone()));
    }
    assert_eq!((delivered, consumer.thread().messages()[0].text().as_str()), (3, "a"));
}

// proves: V11
#[test]
fn a_line_that_is_no_event_rejects_the_stream() {
    for line in ["", "{", "[]", "{\"type\":4}", "{\"type\":\"RUN_STARTED\",\"threadId\":null}"] {
        let mut consumer = Consumer::new();
        let error = consumer.line(line.as_bytes(), &mut |_| {}).unwrap_err();
        assert_eq!((error.at, error.rule.as_str()), (0, "malformed"), "{line}");
    }
}

// proves: V11
#[test]
fn an_item_of_chunks_ends_before_what_ends_it_is_delivered() {
    let mut consumer = Consumer::new();
    let mut delivered = Vec::new();
    for line in
        lines("start; sub a; text~ m by=a delta=x; text~ delta=y; /sub a; text~ n; call~ c tool=f; finish")
    {
        consumer.line(line.as_bytes(), &mut |event| delivered.push(event.encode())).unwrap();
    }
    let kinds: Vec<String> = delivered
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().into())
        .collect();
    assert_eq!(
        kinds.join(" "),
        "RUN_STARTED SUBAGENT_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END \
         SUBAGENT_FINISHED TEXT_MESSAGE_START TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_END RUN_FINISHED"
    );
    let owned = delivered.iter().filter(|line| line.contains("\"subagentRunId\":\"a\"")).count();
    assert_eq!(owned, 6);
}

// bounds: AG-UI stream
#[test]
fn a_stream_is_bounded() {
    let all = lines("start; finish");
    let size: usize = all.iter().map(String::len).sum();
    for (most, fits) in [(size - 1, false), (size, true), (size + 1, true)] {
        let mut consumer = Consumer::new().most_bytes(most as u64);
        let read = all.iter().try_for_each(|line| consumer.line(line.as_bytes(), &mut |_| {}));
        assert_eq!(read.is_ok(), fits);
        assert!(read.is_ok() || read.unwrap_err().rule.as_str() == "too-many");
    }
}

// bounds: AG-UI state
#[test]
fn the_state_is_bounded() {
    // An object of one member, whose name has one byte, with a null.
    let needed = 32 + 33 + 32;
    for (most, fits) in [(needed - 1, false), (needed, true), (needed + 1, true)] {
        let mut consumer = Consumer::new().most_state(most);
        for line in lines("start; patch delta=[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]; finish") {
            consumer.line(line.as_bytes(), &mut |_| {}).unwrap();
        }
        let expected = if fits { json!({"a": null}) } else { json!({}) };
        assert_eq!((consumer.thread().state(), consumer.warnings().is_empty()), (&expected, fits), "{most}");
    }
}

#[test]
fn warnings_are_bounded() {
    let mut consumer = Consumer::new();
    consumer.line(lines("start")[0].as_bytes(), &mut |_| {}).unwrap();
    let odd = lines("custom mood=fine");
    for _ in 0..1_200 {
        consumer.line(odd[0].as_bytes(), &mut |_| {}).unwrap();
    }
    assert_eq!((consumer.warnings().list().len(), consumer.warnings().more()), (1_000, 200));
    assert!(!consumer.warnings().is_empty());
    assert!(consumer.finish().to_json().contains("and 200 more"));
}
