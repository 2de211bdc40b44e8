//! Which tools the model is offered may change between steps (T1, T6).

use crate::stage::{begun, calls, host, results, session, spec, tool};
use runloom::testing::{Attempt, ScriptedModel, ScriptedTool};
use runloom::{ToolOutput, ToolStatus, UnknownTool, tool_fn};
use runloom_tests::bare::Task;

/// The names that each request offers.
fn offered(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names = |tools: &[std::sync::Arc<runloom::ToolSpec>]| {
        tools.iter().map(|spec| spec.name.to_string()).collect()
    };
    model.seen().iter().map(|request| names(&request.tools)).collect()
}

/// A tool shows others from the next step on; the last word counts.
// proves: T1
#[test]
fn a_tool_shows_and_hides_others() {
    let opens = tool("opens", |cx| async move {
        for _ in 0..1_000 {
            cx.show_tools(["extra", "more"]).unwrap();
            cx.hide_tools(["more"]).unwrap();
            cx.hide_tools(["opens", "opens"]).unwrap();
        }
        assert_eq!(cx.show_tools(["extra", "none"]), Err(UnknownTool("none".into())));
        Ok(ToolOutput::text(""))
    });
    let model = ScriptedModel::new([calls([("opens", "{}"), ("extra", "{}")]), "done".into()]);
    let extra = ScriptedTool::new("extra").declared(runloom::ToolSpec::hidden);
    let more = ScriptedTool::new("more").declared(runloom::ToolSpec::hidden);
    let session = session(host(model.clone()).tool(opens).tool(extra).tool(more));
    let (_run, driver) = begun(&session);
    assert!(driver.output().is_some());
    assert_eq!(offered(&model), [vec!["opens"], vec!["extra"]]);
    assert_eq!(results(&session)[1].0, ToolStatus::Unavailable, "it was not on offer in that step");
}

/// The holder of the run does the same.
// proves: T1
#[test]
fn a_control_shows_and_hides_tools() {
    let model = ScriptedModel::new([calls([("a", "{}")]), calls([("a", "{}")]), "done".into()]);
    let hangs = tool_fn(spec("a"), |_, cx| async move {
        cx.ask(crate::stage::question("?")).await.unwrap();
        Ok(ToolOutput::text(""))
    });
    let session = session(host(model.clone()).tool(hangs).tool(ScriptedTool::new("b")));
    let (run, mut driver) = begun(&session);
    let control = run.control();
    assert_eq!(control.hide_tools(["b", "c"]), Err(UnknownTool("c".into())));
    control.hide_tools(["b"]).unwrap();
    run.respond(&control.requests()[0].id, runloom::HostAnswer::value("\"x\"")).unwrap();
    driver.run();
    control.show_tools(["b"]).unwrap();
    run.respond(&control.requests()[0].id, runloom::HostAnswer::value("\"x\"")).unwrap();
    assert!(driver.run());
    assert_eq!(offered(&model), [vec!["a", "b"], vec!["a"], vec!["a", "b"]]);
    control.hide_tools(["a"]).unwrap();
}

/// What one run hides the next one has: a run begins with the declarations.
// proves: T1
#[test]
fn the_next_run_begins_anew() {
    let model = ScriptedModel::new([Attempt::answer("one"), Attempt::answer("two")]);
    let session = session(host(model.clone()).tool(ScriptedTool::new("a")));
    let (run, driver) = session.start("go").unwrap();
    run.control().hide_tools(["a"]).unwrap();
    assert!(Task::new(driver).run());
    let (_run, _driver) = begun(&session);
    assert_eq!(offered(&model), [vec!["a"], vec!["a"]]);
}
