//! Two processes and one run: the first puts it aside in a file and ends, the second asks people and completes it.
//!
//! Without options the program starts itself twice; `--suspend FILE` and `--resume FILE` are the two halves.

use futures_lite::future::{block_on, zip};
use runloom::smol::SmolTimer;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, ApprovalPolicy, Engine, Host, HostAnswer, ModelSpec, Outcome, Question, Run, RunOptions, Shape,
    Shared, Snapshot, Tool, ToolFault, ToolOutput, ToolReturn, ToolSpec, ToolSpecError, tool_fn,
};
use runloom_examples::asker;
use runloom_examples::screen::complain;
use runloom_examples::show::Shown;
use std::error::Error;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let done = match args.as_slice() {
        [] => both(),
        [half, file] if half == "--suspend" => suspend(Path::new(file)),
        [half, file] if half == "--resume" => resume(Path::new(file)),
        _ => Err("usage: suspend_resume [--suspend FILE | --resume FILE]".into()),
    };
    done.unwrap_or_else(|error| {
        complain(format_args!("suspend_resume: {error}"));
        ExitCode::FAILURE
    })
}

/// Runs one half after the other, each in a process of its own.
fn both() -> Result<ExitCode, Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("runloom-suspended-{}.json", std::process::id()));
    let half = |name: &str| Command::new(std::env::current_exe()?).arg(name).arg(&file).status();
    let halves = half("--suspend").and_then(|first| Ok((first, half("--resume")?)));
    // What the run holds is its user's business: it does not stay behind.
    let _ = std::fs::remove_file(&file);
    let (first, second) = halves?;
    let well = first.success() && second.success();
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn spec(name: &str, about: &str) -> Result<ToolSpec, ToolSpecError> {
    Ok(ToolSpec::new(name, about, r#"{"type":"object"}"#)?.access(Access::Shared))
}

/// Says what there is; it has its result before the run is put aside, and never runs again.
fn stock() -> Result<impl Tool, ToolSpecError> {
    Ok(tool_fn(spec("stock", "Tells the stock.")?, |_, _| async {
        println!("             (process {} looks at the stock)", std::process::id());
        Ok(ToolOutput::text("12 boxes"))
    }))
}

/// Acts only with consent.
fn order() -> Result<impl Tool, ToolSpecError> {
    let spec = spec("order", "Orders boxes.")?.approval(ApprovalPolicy::Ask);
    Ok(tool_fn(spec, |arguments, _| async move { Ok(ToolOutput::text(format!("ordered {arguments}"))) }))
}

/// Returns with a question, and is called again with the answer, by whichever process that is.
fn label() -> Result<impl Tool, ToolSpecError> {
    Ok(tool_fn(spec("label", "Prints a label.")?, |_, cx| async move {
        let Some(resumed) = cx.resumed() else {
            let question = Question::value("what is to stand on the label?", Shape::Text);
            return Ok::<_, ToolFault>(ToolReturn::ask(question, "size A5"));
        };
        Ok(match &resumed.answer {
            Ok(HostAnswer::Value(text)) => ToolOutput::text(format!("{text} in {}", resumed.state)),
            Ok(_) => ToolOutput::error("that is no text"),
            Err(error) => ToolOutput::error(format!("no label: {error}")),
        }
        .into())
    }))
}

fn engine(model: ScriptedModel) -> Result<Engine<Shared, SmolTimer>, Box<dyn Error>> {
    let host = Host::shared().model(ModelSpec::new("scripted"), model);
    let host = host.tool(stock()?).tool(order()?).tool(label()?).build()?;
    Ok(Engine::new(host, SmolTimer::new()))
}

fn suspend(file: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let batch = Attempt::new().text("I need three things.").call("stock", "{}");
    let batch = batch.call("order", r#"{"boxes":30}"#).call("label", "{}");
    let session = engine(ScriptedModel::new([batch]))?.session()?;
    let (run, driver) = session.start_with("Fill up the stock.", RunOptions::new().suspend_when_waiting())?;
    let (outcome, shown) = block_on(zip(driver, show(run)));
    drop(shown?);
    // The run is part of the session that it was put aside in.
    let json = session.snapshot().to_json();
    if session.suspended().is_none() {
        return Err(format!("the run was not put aside: {:?}", outcome.result).into());
    }
    std::fs::write(file, &json)?;
    println!("\nprocess {} ends; session and run are {} bytes of JSON\n", std::process::id(), json.len());
    Ok(ExitCode::SUCCESS)
}

fn resume(file: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let snapshot = Snapshot::from_json(&std::fs::read_to_string(file)?)?;
    let engine = engine(ScriptedModel::new(["All is taken care of.".into()]))?;
    let session = engine.restore(&snapshot)?;
    let value = session.suspended().ok_or("no run was put aside")?;
    let (run, driver) = session.resume(value)?;
    println!("process {} goes on", std::process::id());
    for request in run.requests() {
        asker::ask(&run.control(), &request)?;
    }
    let (outcome, shown) = block_on(zip(driver, show(run)));
    end(shown?, &outcome)
}

fn end(shown: Shown, outcome: &Outcome) -> Result<ExitCode, Box<dyn Error>> {
    Ok(shown.end(outcome)?)
}

/// Shows the run's events.
async fn show(mut run: Run) -> io::Result<Shown> {
    let mut shown = Shown::new(false);
    let id = run.id().clone();
    let mut events = run.events();
    while let Some(envelope) = events.next().await {
        shown.show(&id, &envelope)?;
    }
    Ok(shown)
}
