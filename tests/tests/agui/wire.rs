//! The types and their JSON, by values of our own.

use crate::streams::event;
use runloom_core::agui::event::{Base, RunFinished};
use runloom_core::agui::wire::{DecodeError, NoticeKind, Wire, decode, decode_bytes, encode};
use runloom_core::agui::{
    AgentCapabilities, Content, Event, EventType, Message, ResumeEntry, RunAgentInput, TokenUsage,
};
use serde_json::{Value, json};

/// At least one line for each type of event, with all members.
const FULL: [&str; 32] = [
    "text m role=user name=Ann by=a",
    "say m by=a",
    "/text m by=a",
    "text~ m role=system name=Ann delta=x by=a",
    "call c in=m by=a",
    "args c by=a",
    "/call c by=a",
    "call~ c tool=f in=m delta=x by=a",
    "result c as=n role=tool by=a",
    r#"result c as=n content=[{"type":"text","text":"t","id":"p","metadata":1},{"type":"image","source":{"type":"url","value":"u","mimeType":"image/png"}},{"type":"audio","source":{"type":"data","value":"AA==","mimeType":"audio/wav"}},{"type":"video","source":{"type":"file","value":"f","provider":"p","mimeType":"v"}},{"type":"document","source":{"type":"file","value":"f"},"metadata":"m"}]"#,
    "state snapshot=null by=a",
    r#"patch delta=[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/a","value":"left"},{"op":"replace","path":"","value":1},{"op":"move","from":"/a~0","path":"/b~1"},{"op":"copy","from":"","path":"/-"},{"op":"test","path":"/","value":[1.5]}] by=a"#,
    r#"messages messages=[{"role":"developer","id":"1","content":"c","name":"n"},{"role":"system","id":"2","content":"c"},{"role":"user","id":"3","content":[{"type":"text","text":"t"}]},{"role":"assistant","id":"4","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"},"metadata":{"k":null}}],"encryptedValue":"e","encryptedValueType":"t"},{"role":"tool","id":"5","content":"r","toolCallId":"c","error":"no"},{"role":"activity","id":"6","activityType":"a","content":{}},{"role":"reasoning","id":"7","content":"r","subagentRunId":"a","metadata":{}}]"#,
    "activity v replace=false by=a",
    "amend v patch=[] by=a",
    "raw event=null source=acme by=a",
    "custom name=acme.x value=null by=a",
    r#"start protocolVersion="1.1" parentRunId=p input={"threadId":"t","runId":"r","messages":[],"state":0,"forwardedProps":false,"tools":[{"name":"f","description":"d","parameters":{}}],"context":[{"description":"d","value":"v"}],"resume":[{"interruptId":"i","status":"resolved","payload":1},{"interruptId":"j","status":"cancelled"}]}"#,
    r#"finish result=0 outcome={"type":"success","pendingToolCallIds":["c"]} usage=[{"provider":"p","model":"m","inputTokens":9007199254740991,"outputTokens":0,"totalTokens":1,"reasoningTokens":1,"cachedInputTokens":1,"cacheWriteInputTokens":1}]"#,
    r#"finish outcome={"type":"interrupt","interrupts":[{"id":"i","reason":"r","message":"m","toolCallId":"c","responseSchema":{},"expiresAt":"z","metadata":{},"subagentRunId":"a"}]}"#,
    "error code=X usage=[{}]",
    "step s by=a",
    "/step s by=a",
    "span x by=a",
    "/span x by=a",
    "reason x by=a",
    "think x by=a",
    "/reason x by=a",
    "reason~ x delta=d by=a",
    "seal c subtype=tool-call encryptedValueType=t by=a",
    "sub a description=d parentSubagentRunId=p parentToolCallId=c parentMessageId=m",
    r#"/sub a result=1 outcome={"type":"suspended","interruptIds":["i"]}"#,
];

/// Every event with every member.
pub(crate) fn full() -> Vec<Value> {
    FULL.iter().map(|line| with_base(line)).collect()
}

/// The base members on top of a line.
fn with_base(line: &str) -> Value {
    let mut event = event(line);
    let base =
        json!({"timestamp": -9007199254740991_i64, "rawEvent": [null], "metadata": {"k": null, "ag-ui": {}}});
    event.as_object_mut().unwrap().extend(base.as_object().unwrap().clone());
    event
}

#[test]
fn every_event_with_every_member_is_read_and_written_as_it_is() {
    let mut seen: Vec<EventType> = Vec::new();
    for line in FULL.iter().chain(&[r#"sub! a message=m code=c"#]) {
        for original in [event(line), with_base(line)] {
            let decoded =
                Event::decode(&original.to_string()).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(decoded.notices.is_empty(), "{line}: {:?}", decoded.notices);
            let event = decoded.value.unwrap();
            let written: Value = serde_json::from_str(&event.encode()).unwrap();
            assert_eq!(written, original, "{line}");
            assert_eq!(event.event_type().as_str(), original["type"]);
            seen.push(event.event_type());
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, EventType::ALL);
}

/// Every place of a value where null stands for a member that the schema does not let be null.
fn each_member(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push(path.clone());
                each_member(member, &path, found);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| each_member(item, &format!("{path}/{n}"), found));
        }
        _ => {}
    }
}

/// Members that may be null, and what stands below open ones.
fn is_open(path: &str) -> bool {
    let open = [
        "/metadata/",
        "/rawEvent/",
        "/snapshot",
        "/event",
        "/responseSchema/",
        "/payload/",
        "/value",
        "/state/",
    ];
    open.iter().any(|part| path.contains(part)) || path.ends_with("/-")
}

#[test]
fn no_member_of_the_protocol_may_be_null() {
    for line in FULL {
        let original = with_base(line);
        let mut paths = Vec::new();
        each_member(&original, "", &mut paths);
        for path in paths.iter().filter(|path| !is_open(path)) {
            let mut broken = original.clone();
            *broken.pointer_mut(path).unwrap() = Value::Null;
            match Event::decode(&broken.to_string()) {
                Err(DecodeError::Malformed { path: at, .. }) => {
                    // A kind that is null makes its object malformed.
                    assert!(path.starts_with(&at), "{path} is malformed at {at}");
                }
                found => panic!("{path}: {found:?} in {broken}"),
            }
        }
    }
}

#[test]
fn what_the_schema_does_not_describe_is_taken_out_and_told() {
    for line in FULL {
        let original = with_base(line);
        let mut paths = vec![String::new()];
        each_member(&original, "", &mut paths);
        for path in paths.iter().filter(|path| !is_open(path)) {
            let mut more = original.clone();
            let Some(object) = more.pointer_mut(path).and_then(Value::as_object_mut) else { continue };
            let open = ["/content", "/metadata", "/parameters", "/forwardedProps", "/responseSchema"];
            let patch = (path.contains("/delta/") || path.contains("/patch/")) && object.contains_key("op");
            let activity = path.ends_with("/content") || open.iter().skip(1).any(|name| path.ends_with(name));
            object.insert("mood/s".into(), json!([{"deep": 1}]));
            let decoded = Event::decode(&more.to_string()).unwrap();
            let written: Value = serde_json::from_str(&decoded.value.unwrap().encode()).unwrap();
            if patch || activity {
                assert_eq!((written, decoded.notices.len()), (more, 0), "{path}");
            } else {
                assert_eq!(written, original, "{path}");
                assert_eq!(decoded.notices.len(), 1);
                assert_eq!(decoded.notices[0].path, format!("{path}/mood~1s"));
                assert_eq!(decoded.notices[0].kind, NoticeKind::UnknownMember);
            }
        }
    }
}

fn read<T: Wire>(value: Value) -> (Option<String>, Vec<String>) {
    let decoded = decode::<T>(&value.to_string()).unwrap();
    (decoded.value.as_ref().map(encode), decoded.notices.into_iter().map(|notice| notice.path).collect())
}

#[test]
fn unknown_kinds_take_away_as_little_as_they_can() {
    // In a list, the item.
    let (messages, notices) = read::<Event>(json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "1", "role": "narrator"}, {"id": "2", "role": "user", "content": [
            {"type": "hologram"}, {"type": "text", "text": "t"}, {"type": "image", "source": {"type": "dream", "value": "v"}}]}]}));
    assert_eq!(
        messages.unwrap(),
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"2","content":[{"type":"text","text":"t"}]}]}"#
    );
    assert_eq!(notices, ["/messages/0", "/messages/1/content/0", "/messages/1/content/2"]);
    // In an optional place, the member.
    let (event, notices) = read::<Event>(
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "a", "outcome": {"type": "paused"}}),
    );
    assert_eq!(event.unwrap(), r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"a"}"#);
    assert_eq!(notices, ["/outcome"]);
    // In a required place, what holds it: here the event.
    let sealed = json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "thought", "entityId": "m", "encryptedValue": "e"});
    assert_eq!(read::<Event>(sealed).0, None);
    let (input, notices) = read::<RunAgentInput>(json!({"threadId": "t", "runId": "r", "messages": [],
        "resume": [{"interruptId": "i", "status": "maybe"}, {"interruptId": "j", "status": "cancelled"}]}));
    assert!(input.unwrap().ends_with(r#""resume":[{"interruptId":"j","status":"cancelled"}]}"#));
    assert_eq!(notices, ["/resume/0"]);
    // An unknown event.
    let decoded = Event::decode(r#"{"x":[1],"type":"HOLOGRAM_STARTED"}"#).unwrap();
    assert_eq!(decoded.value, None);
    assert_eq!(decoded.notices[0].to_string(), "event of unknown type HOLOGRAM_STARTED dropped");
}

#[track_caller]
fn malformed(json: &str, at: &str) {
    match Event::decode(json) {
        Err(DecodeError::Malformed { path, .. }) => assert_eq!(path, at, "{json}"),
        found => panic!("{json}: {found:?}"),
    }
}

#[test]
fn what_is_malformed_is_told_with_its_path_and_without_its_value() {
    malformed("[]", "");
    malformed("\"TEXT\"", "");
    malformed("{}", "");
    malformed(r#"{"type":7}"#, "");
    malformed(r#"{"type":"STEP_STARTED"}"#, "/stepName");
    malformed(r#"{"type":"STEP_STARTED","stepName":"s","stepName":"s"}"#, "/stepName");
    malformed(r#"{"type":"STEP_STARTED","type":"STEP_STARTED","stepName":"s"}"#, "/type");
    malformed(r#"{"type":"STEP_STARTED","stepName":"s","timestamp":1.5}"#, "/timestamp");
    malformed(r#"{"type":"STEP_STARTED","stepName":"s","timestamp":9007199254740992}"#, "/timestamp");
    malformed(r#"{"type":"STEP_STARTED","stepName":"s","timestamp":1e300}"#, "/timestamp");
    malformed(r#"{"type":"STEP_STARTED","stepName":"s","metadata":[]}"#, "/metadata");
    malformed(r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"a"}]}"#, "/delta/0/path");
    malformed(r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/~2"}]}"#, "/delta/0/path");
    malformed(r#"{"type":"STATE_DELTA","delta":[{"path":"/a"}]}"#, "/delta/0/op");
    malformed(r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a"}]}"#, "/delta/0/value");
    malformed(
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f"}}]}]}"#,
        "/messages/0/toolCalls/0/function/arguments",
    );
    malformed(
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}"#,
        "/outcome/interrupts",
    );
    malformed(r#"{"type":"RUN_ERROR","message":"m","usage":[{"inputTokens":-1}]}"#, "/usage/0/inputTokens");
    let secret = Event::decode(r#"{"type":"STEP_STARTED","stepName":{"key":"sk-secret"}}"#).unwrap_err();
    assert!(!format!("{secret} {secret:?}").contains("secret"));
    // Whole numbers may be written with a point.
    let event =
        Event::decode(r#"{"type":"STEP_STARTED","stepName":"s","timestamp":12.0}"#).unwrap().value.unwrap();
    assert_eq!(event.base().timestamp, Some(12));
}

#[test]
fn what_is_no_json_is_told_with_its_place() {
    let deep = format!(r#"{{"type":"CUSTOM","name":"n","value":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    for (json, near) in [
        ("", 0),
        ("{\"type\":\"RAW\"", 13),
        (r#"{"type":"STEP_STARTED","stepName":"s"} x"#, 39),
        (r#"{"type":"STEP_STARTED","stepName":7,}"#, 36),
        (r#"{"type":"NEW","x":}"#, 18),
        ("{\"type\":\n\"RAW\", oops}", 16),
        (&deep, 164),
    ] {
        match Event::decode(json) {
            Err(DecodeError::NotJson { offset }) => {
                assert!(offset.abs_diff(near) <= 2, "{json}: byte {offset}, not {near}");
            }
            found => panic!("{json}: {found:?}"),
        }
    }
    let bytes = [&b"{\"type\":\"RAW\",\"event\":\""[..], b"\xff\"}"].concat();
    assert_eq!(decode_bytes::<Event>(&bytes), Err(DecodeError::NotJson { offset: 23 }));
}

#[test]
fn notices_are_bounded() {
    let members: String = (0..100).map(|n| format!(",\"x{n}\":1")).collect();
    let decoded = Event::decode(&format!(r#"{{"type":"STEP_STARTED","stepName":"s"{members}}}"#)).unwrap();
    assert_eq!((decoded.notices.len(), decoded.more), (64, 36));
    let name = "é".repeat(1000);
    let decoded = Event::decode(&format!(r#"{{"type":"{name}"}}"#)).unwrap();
    assert!(decoded.notices[0].to_string().len() < 200);
}

#[test]
fn optional_members_that_are_absent_are_left_out() {
    assert_eq!(Event::text_message_end("").encode(), r#"{"type":"TEXT_MESSAGE_END","messageId":""}"#);
    assert_eq!(encode(&RunAgentInput::new("t", "r")), r#"{"threadId":"t","runId":"r","messages":[]}"#);
    assert_eq!(encode(&TokenUsage::default()), "{}");
    assert_eq!(encode(&AgentCapabilities::default()), "{}");
    assert_eq!(encode(&Message::assistant("m", "hi")), r#"{"role":"assistant","id":"m","content":"hi"}"#);
    assert_eq!(encode(&Content::Parts(Vec::new())), "[]");
}

#[test]
fn a_null_in_an_optional_member_is_left_out_too() {
    let base = Base { raw_event: Some(Box::new(Value::Null)), ..Base::default() };
    let finished = RunFinished { result: Some(Value::Null), base, ..RunFinished::default() };
    assert_eq!(Event::from(finished).encode(), r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#);
    let mut input = RunAgentInput::new("t", "r");
    (input.state, input.forwarded_props) = (Some(Value::Null), Some(Value::Null));
    input.resume = vec![ResumeEntry::resolved("i", Some(Value::Null))];
    let written = encode(&input);
    assert!(!written.contains("null"), "{written}");
    assert!(decode::<RunAgentInput>(&written).is_ok());
    // What is required may be null, and is written.
    let snapshot = Event::state_snapshot(Value::Null).encode();
    assert_eq!(snapshot, r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#);
}

#[test]
fn capabilities_are_read_and_written() {
    let original = json!({"identity": {"name": "n", "type": "t"}, "transport": {"streaming": true, "resumable": false},
        "tools": {"supported": true, "items": [{"name": "f", "description": "d"}]}, "output": {"supportedMimeTypes": ["a/b"]},
        "state": {"memory": true}, "multiAgent": {"subagents": [{"name": "s"}]}, "reasoning": {"encrypted": true},
        "multimodal": {"input": {"pdf": true}, "output": {"audio": false}}, "execution": {"maxIterations": 3},
        "humanInTheLoop": {"approveWithEdits": true}, "custom": {"acme": null}});
    let (written, notices) = read::<AgentCapabilities>(original.clone());
    assert_eq!(serde_json::from_str::<Value>(&written.unwrap()).unwrap(), original);
    assert!(notices.is_empty());
    let (_, notices) = read::<AgentCapabilities>(json!({"state": {"mood": true}, "telepathy": {}}));
    assert_eq!(notices, ["/state/mood", "/telepathy"]);
}
