//! An agent that asks another agent, which has a model, a tool and a log of its own; both models follow scripts.

use futures_lite::future::{block_on, zip};
use runloom::smol::SmolTimer;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Config, Engine, Host, Limits, ModelSpec, Shared, SubAgent, SubAgentCall, SubAgentUpdate, ToolOutput,
    ToolSpec, sleep, tool_fn,
};
use runloom_examples::screen::complain;
use runloom_examples::show::Shown;
use std::error::Error;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Lines of the logs of agents that were asked.
type Logs = Arc<Mutex<Vec<String>>>;

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        complain(format_args!("sub_agent: {error}"));
        ExitCode::FAILURE
    })
}

/// The agent that is asked: it may take four steps and has one tool.
fn librarian() -> Result<Engine<Shared, SmolTimer>, Box<dyn Error>> {
    let schema = r#"{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}"#;
    let find = tool_fn(ToolSpec::new("find", "Finds a book.", schema)?, |arguments, cx| async move {
        cx.progress("walking along the shelves").await;
        sleep(SmolTimer::new(), Duration::from_millis(300)).await;
        match arguments["title"].as_str() {
            Some(title) => Ok(ToolOutput::text(format!("{title} stands on shelf 7"))),
            None => Ok(ToolOutput::error("title must be a text")),
        }
    });
    let model = ScriptedModel::new([
        Attempt::new().text("I look for it.").call("find", r#"{"title":"Moby-Dick"}"#),
        "It stands on shelf 7.".into(),
    ]);
    let host = Host::shared().model(ModelSpec::new("small"), model).tool(find).build()?;
    let mut limits = Limits::default();
    limits.steps = 4;
    Ok(Engine::builder(host, SmolTimer::new()).config(Config::new(limits)?).build())
}

fn keep(logs: &Logs, call: &SubAgentCall, update: SubAgentUpdate) {
    if let SubAgentUpdate::Ended { log, .. } = update {
        let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.push(format!(
            "{} of {}, asked by call {} of {}",
            call.run, call.session, call.call, call.parent
        ));
        logs.extend(
            log.iter().map(|envelope| format!("  {} {}", envelope.seq, envelope.event.kind().as_str())),
        );
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let (librarian, logs) = (librarian()?, Logs::default());
    let kept = Arc::clone(&logs);
    let ask = SubAgent::new("ask_librarian", "Knows where books are.", librarian.clone())?
        .observe(move |call, update| keep(&kept, call, update))
        .declared(|spec| spec.deadline(Duration::from_secs(30)));
    let model = ScriptedModel::new([
        Attempt::new()
            .text("I ask the librarian.")
            .call("ask_librarian", r#"{"task":"Where is Moby-Dick?"}"#),
        "Moby-Dick is on shelf 7.".into(),
    ]);
    let host = Host::shared().model(ModelSpec::new("large"), model).tool(ask).build()?;
    let session = Engine::new(host, SmolTimer::new()).session()?;
    let (mut run, driver) = session.start("Where is Moby-Dick?")?;
    let mut shown = Shown::new(false);
    let showing = async {
        let id = run.id().clone();
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            shown.show(&id, &envelope)?;
        }
        Ok::<_, std::io::Error>(())
    };
    let (outcome, showing) = block_on(zip(driver, showing));
    showing?;
    let code = shown.end(&outcome)?;
    println!("\nlogs of agents that were asked (runs that still go on: {})", librarian.runs());
    for line in logs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("{line}");
    }
    Ok(code)
}
