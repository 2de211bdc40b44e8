//! Asks in the terminal before tools run: several requests at once, consent that is remembered, a reason for the model,
//! other arguments. The model follows a script; with closed input everything is refused.

use futures_lite::future::{block_on, zip};
use runloom::smol::SmolTimer;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Approval, ApprovalPolicy, Engine, Event, Host, ModelSpec, Run, Tool, ToolOutput, ToolSpec,
    ToolSpecError, approver_fn, tool_fn,
};
use runloom_examples::asker;
use runloom_examples::screen::complain;
use runloom_examples::show::Shown;
use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        complain(format_args!("approve: {error}"));
        ExitCode::FAILURE
    })
}

/// A tool that only says what it would do.
fn pretends(name: &str, policy: ApprovalPolicy) -> Result<impl Tool + use<>, ToolSpecError> {
    let spec = ToolSpec::new(name, "Pretends to act.", r#"{"type":"object"}"#)?;
    let did = format!("{name} with ");
    Ok(tool_fn(spec.access(Access::Shared).approval(policy), move |arguments, _| {
        let text = format!("{did}{arguments}");
        async move { Ok(ToolOutput::text(text)) }
    }))
}

fn script() -> ScriptedModel {
    ScriptedModel::new([
        Attempt::new()
            .text("I clean up, pay the bill and write a mail.")
            .call("delete", r#"{"path":"old/notes.txt"}"#)
            .call("pay", r#"{"amount":40}"#)
            .call("pay", r#"{"amount":4000}"#)
            .call("mail", r#"{"to":"all@example.com","text":"Done."}"#),
        Attempt::new().text("Once more.").call("delete", r#"{"path":"old/notes.txt"}"#),
        "That is all.".into(),
    ])
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    // People always decide about `delete` and `mail`; about `pay` the program decides where it can.
    let approver = approver_fn(|request, _| async move {
        let amount = serde_json::from_str::<serde_json::Value>(request.call.arguments_json());
        match amount.ok().and_then(|arguments| arguments["amount"].as_i64()) {
            Some(amount) if amount < 100 => Approval::Allow,
            Some(_) => Approval::ask("more than 100"),
            None => Approval::deny("without an amount"),
        }
    });
    let host = Host::shared()
        .model(ModelSpec::new("scripted"), script())
        .tool(pretends("delete", ApprovalPolicy::Ask)?)
        .tool(pretends("pay", ApprovalPolicy::Decide)?)
        .tool(pretends("mail", ApprovalPolicy::Ask)?)
        .approver(approver)
        .build()?;
    let session = Engine::new(host, SmolTimer::new()).session()?;
    let (run, driver) = session.start("Clean up, please.")?;

    // Reading a line blocks: it has a thread of its own, and the run goes on beside it.
    let (requests, asked) = channel();
    let control = run.control();
    let asking = std::thread::spawn(move || -> io::Result<()> {
        asked.into_iter().try_for_each(|request: Arc<_>| asker::ask(&control, &request))
    });
    let (outcome, shown) = block_on(zip(driver, show(run, requests)));
    let shown = shown?;
    asking.join().map_err(|_| "asking panicked")??;
    Ok(shown.end(&outcome)?)
}

/// Shows the run's events, and hands on what is asked.
async fn show(mut run: Run, requests: Sender<Arc<runloom::HostRequest>>) -> io::Result<Shown> {
    let mut shown = Shown::new(false);
    let id = run.id().clone();
    let mut events = run.events();
    while let Some(envelope) = events.next().await {
        shown.show(&id, &envelope)?;
        if let Event::HostInputRequested(request) = &envelope.event {
            // The other end is gone only if standard input is broken; then the requests stay open and the run is
            // cancelled with its handle.
            if requests.send(Arc::clone(request)).is_err() {
                break;
            }
        }
    }
    Ok(shown)
}
