//! Calls that come in pieces (M7, M8).

use runloom::core::history::History;
use runloom::core::model::CallDelta;
use runloom::testing::{Attempt, Report, ScriptedTool, World};
use runloom::{Finish, ModelItem, Part, ToolStatus};
use runloom_core::event::Event;
use runloom_tests::providers::Wire;

fn piece(index: Option<u32>, id: &str, name: &str, arguments: &str) -> ModelItem {
    let text = |text: &str| (!text.is_empty()).then(|| text.into());
    ModelItem::CallDelta(Box::new(CallDelta {
        index,
        id: text(id),
        name: text(name),
        arguments: arguments.into(),
    }))
}

/// A run whose first response is these items, and whose tools all say `ok`.
fn run(items: impl IntoIterator<Item = ModelItem>, tools: &[&str]) -> Report {
    let attempt = items.into_iter().fold(Attempt::new(), Attempt::item);
    let world = World::new().model(attempt.finish(Finish::ToolCalls)).model("done");
    tools.iter().fold(world, |world, tool| world.tool(&ScriptedTool::new(tool).output("ok"))).run()
}

/// The calls that were proposed: name and arguments.
fn calls(report: &Report) -> Vec<(String, String)> {
    let call = |event: &Event| match event {
        Event::ToolProposed(call) => Some((call.name.to_string(), call.arguments_json().to_owned())),
        _ => None,
    };
    report.events.iter().filter_map(|envelope| call(&envelope.event)).collect()
}

fn statuses(history: &History) -> Vec<ToolStatus> {
    history.iter().flat_map(|message| message.results()).map(|result| result.status).collect()
}

fn named(calls: &[(&str, &str)]) -> Vec<(String, String)> {
    calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect()
}

// ASM-01: two calls at one index are two calls.
// proves: M7
#[test]
fn asm_01_a_new_id_at_a_used_index_is_another_call() {
    let items = [piece(Some(0), "a", "read", "{\"p\":1}"), piece(Some(0), "b", "read", "{\"p\":2}")];
    let report = run(items, &["read"]);
    assert_eq!(calls(&report), named(&[("read", "{\"p\":1}"), ("read", "{\"p\":2}")]));
    assert_eq!(statuses(&report.outcome().unwrap().history), [ToolStatus::Success; 2]);
}

// ASM-03: pieces with neither index nor id belong to the newest call.
// proves: M7
#[test]
fn asm_03_a_piece_without_a_mark_continues_the_newest_call() {
    let nothing = |text: &str| piece(None, "", "", text);
    let items = [
        piece(None, "a", "market", ""),
        nothing("{\"q\""),
        nothing(":\"x\"}"),
        piece(None, "b", "signal", ""),
        nothing("{\"q\""),
        nothing(":\"y\"}"),
    ];
    let report = run(items, &["market", "signal"]);
    assert_eq!(calls(&report), named(&[("market", "{\"q\":\"x\"}"), ("signal", "{\"q\":\"y\"}")]));
}

// ASM-04: a call in the chunk that carries the finish is a call.
// proves: M7, M8
#[test]
fn asm_04_a_call_beside_the_finish_counts() {
    let chunk = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"weather","arguments":"{\"city\":\"X\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let items = Wire::of("openai-chat", "one").unwrap().items(&[body.as_bytes()]);
    let world = World::new().model(items.into_iter().fold(Attempt::new(), Attempt::item));
    let report = world.model("done").tool(&ScriptedTool::new("weather")).run();
    assert_eq!(calls(&report), named(&[("weather", "{\"city\":\"X\"}")]));
    assert_eq!(report.answer(), Some("done"));
}

// ASM-05: a later call does not take the place of an earlier one.
// proves: M7
#[test]
fn asm_05_each_block_is_a_call_of_its_own() {
    let items = [
        piece(Some(0), "a", "first", ""),
        piece(Some(0), "", "", "{}"),
        ModelItem::CallEnd(0),
        piece(Some(1), "b", "second", ""),
        piece(Some(1), "", "", "{\"n\":2}"),
    ];
    let report = run(items, &["first", "second"]);
    assert_eq!(calls(&report), named(&[("first", "{}"), ("second", "{\"n\":2}")]));
    assert_eq!(statuses(&report.outcome().unwrap().history), [ToolStatus::Success; 2]);
}

// ASM-07: what does not parse is neither run nor asked about.
// proves: M7, T2
#[test]
fn asm_07_broken_arguments_are_not_run() {
    let gated = ScriptedTool::new("write").declared(|spec| spec.approval(runloom::ApprovalPolicy::Ask));
    let broken = Attempt::new().item(piece(Some(0), "c", "write", "{\"path\":\"a\",\"text\":\"x"));
    let world = World::new().model(broken.finish(Finish::ToolCalls)).model("sorry").tool(&gated);
    let report = world.run();
    let kinds = report.kinds();
    assert!(!kinds.contains(&"tool.started") && !kinds.contains(&"host_input.requested"), "{kinds:?}");
    assert_eq!(statuses(&report.outcome().unwrap().history), [ToolStatus::InvalidArguments]);
}

// ASM-08: one id for every call of every turn: all results survive, and are told apart on the wire.
// proves: M7, M4
#[test]
fn asm_08_an_id_that_comes_again_loses_no_result() {
    let mut world = World::new();
    for turn in 0..4 {
        let same = piece(Some(0), "same", "count", &format!("{{\"turn\":{turn}}}"));
        world = world.model(Attempt::new().item(same).finish(Finish::ToolCalls));
    }
    let report = world.model("done").tool(&ScriptedTool::new("count").output("ok")).run();
    let history = &report.outcome().unwrap().history;
    let arguments: Vec<_> = calls(&report).into_iter().map(|(_, arguments)| arguments).collect();
    assert_eq!(arguments, (0..4).map(|turn| format!("{{\"turn\":{turn}}}")).collect::<Vec<_>>());
    let results: Vec<_> = history.iter().flat_map(|message| message.results()).collect();
    assert_eq!(results.len(), 4);
    let places: std::collections::BTreeSet<_> = results.iter().map(|result| result.call).collect();
    assert_eq!(places.len(), 4, "each call has an identity of the engine's own");
}

// HIST-02: a call that the output limit cuts does not run and is answered; the run ends with that reason (decision 5).
// proves: M8, M4
#[test]
fn hist_02_a_call_that_was_cut_is_answered() {
    let cut = Attempt::new().item(piece(Some(0), "t", "edit", "{\"path\":\"a\",\"text\":\"fn m"));
    let report = World::new().model(cut.finish(Finish::Length)).tool(&ScriptedTool::new("edit")).run();
    let outcome = report.outcome().unwrap();
    assert_eq!(outcome.answer().unwrap().stop_reason, runloom::StopReason::MaxTokens);
    assert_eq!(outcome.history.open_calls(), 0);
    assert!(!report.kinds().contains(&"tool.started"));
}

// HIST-03: reasoning alone is not kept.
// proves: C4, M9
#[test]
fn hist_03_reasoning_without_what_follows_is_dropped() {
    let thinking = Attempt::new().item(ModelItem::Reasoning("hm".into())).hang();
    let cancelled = World::new().model(thinking).cancel_at(std::time::Duration::from_secs(1)).run();
    let history = &cancelled.outcome().unwrap().history;
    assert_eq!(history.len(), 1, "the user's message only");
}

// HIST-04: the request of the next step is that of this one, then the turn, then its results.
// proves: M2, M4
#[test]
fn hist_04_a_request_extends_the_one_before() {
    use runloom::core::output::{Output, Work};
    let report = run([piece(Some(0), "t", "look", "{}")], &["look"]);
    let request = |output: &Output| match output {
        Output::Begin { work: Work::Model(request), .. } => Some(std::sync::Arc::clone(request)),
        _ => None,
    };
    let requests: Vec<_> = report.outputs.iter().filter_map(|(_, output)| request(output)).collect();
    let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!((first.history.len(), second.history.len()), (1, 3));
    let all: Vec<_> = second.history.iter().collect();
    assert!(first.history.iter().zip(&all).all(|(one, other)| one == *other));
    assert!(matches!(all[1].parts().first(), Some(Part::ToolCall(_))));
    assert_eq!(all[2].results().count(), 1);
}
