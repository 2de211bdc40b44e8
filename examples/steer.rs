//! Typing while it works: inputs that people add while a run is under way, one of which is taken back.
//!
//! The model and the tool follow a script, so that the program needs no key and ends by itself.

use futures_lite::future::{block_on, zip};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Config, Engine, Event, Host, ManualTimer, ModelSpec, RetractReply, ToolOutput, ToolSpec, tool_fn,
};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let model = ScriptedModel::new([
        Attempt::new().text("I read the notes first. ").call("read", r#"{"file":"notes.txt"}"#),
        Attempt::new().text("The notes are about gardens. "),
        Attempt::new().text("In one word: gardens."),
    ]);
    let schema = r#"{"type":"object","properties":{"file":{"type":"string"}}}"#;
    let read =
        tool_fn(ToolSpec::new("read", "Reads a file.", schema)?.access(Access::Shared), |_, _| async {
            Ok(ToolOutput::text("Roses, sage, a pond."))
        });
    let host = Host::shared().model(ModelSpec::new("scripted"), model.clone()).tool(read).build()?;
    // A script takes no time: with room for one unread event the run keeps the pace of the screen.
    let config = Config::with(|limits| limits.event_capacity = 1)?;
    let session = Engine::builder(host, ManualTimer::new()).config(config).build().session()?;

    let (mut run, driver) = session.start("What are my notes about?")?;
    // For the task that reads the keyboard: it borrows nothing, and its commands are answered at once.
    let keyboard = run.control();
    let screen = async {
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            match envelope.event {
                Event::TextDelta(text) => println!("model  {text}"),
                Event::ToolStarted(_) => {
                    let long = keyboard.steer("And write a page about each plant.")?;
                    println!("you    and write a page about each plant ({long})");
                    // Better not: neither model nor history has it yet.
                    assert_eq!(keyboard.retract(&long), RetractReply::Retracted);
                    println!("you    (taken back)");
                }
                Event::StepStarted { step: 2, .. } => {
                    let id = keyboard.steer("Say it in one word.")?;
                    println!("you    say it in one word ({id})");
                }
                Event::SteeringApplied(id) => println!("       {id} is in the conversation"),
                _ => {}
            }
        }
        Ok::<(), runloom::SteerError>(())
    };
    let (outcome, shown) = block_on(zip(driver, screen));
    shown?;

    // What came during the last answer caused one more step; whatever is accepted is applied or returned.
    let answer = outcome.answer().map(|answer| answer.text.as_str());
    println!("answer {}, {} returned", answer.unwrap_or("none"), outcome.unapplied.len());
    assert_eq!((answer, outcome.unapplied.len()), (Some("In one word: gardens."), 0));
    assert_eq!(model.requests(), 3);
    Ok(())
}
