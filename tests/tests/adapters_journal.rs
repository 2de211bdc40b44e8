//! The journal of a run that an engine drives: taken out while it runs, it replays, and rebuilds a run that was cut off.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests and their helpers")]

use futures_lite::future::block_on;
use runloom::core::input::{Answerers, Reader, Recover};
use runloom::core::journal::{JournalBounds, recover, replay};
use runloom::core::{Outbox, Output};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Access, Driver, Engine, Event, History, Host, HostTransport, Journal, ManualTimer, ModelSpec, Revision,
    Run, RunOptions, SessionId, Shared, Time, ToolOutput, ToolSpec, ToolStatus, Work, tool_fn,
};
use runloom_tests::bare::Task;
use std::future::pending;

type Own = (Run, Task<Driver<ManualTimer, HostTransport<Shared>>>);

fn engine() -> Engine<Shared, ManualTimer> {
    let spec = |name: &str| ToolSpec::new(name, "", "{}").unwrap().access(Access::Shared);
    let host = Host::shared()
        .model(
            ModelSpec::new("m"),
            ScriptedModel::new([
                Attempt::new().call("quick", "{}").call("stuck", "{}"),
                Attempt::answer("done"),
            ]),
        )
        .tool(tool_fn(spec("quick"), |_, _| async { Ok(ToolOutput::text("quickly")) }))
        .tool(tool_fn(spec("stuck"), |_, _| async { pending::<Result<ToolOutput, _>>().await }))
        .build()
        .unwrap();
    let timer = ManualTimer::new();
    timer.set(Time::from_secs(5));
    Engine::new(host, timer)
}

fn start(engine: &Engine<Shared, ManualTimer>, journal: &Journal) -> Own {
    let session = engine.restore(SessionId::new("s").unwrap(), Revision(0), History::default()).unwrap();
    let options = RunOptions::new().unattended().journal(journal.clone());
    let (run, driver) = session.start_with("go", options).unwrap();
    (run, Task::new(driver))
}

// proves: L7, H7
#[test]
fn a_journal_that_is_taken_out_rebuilds_the_run_that_was_lost() {
    let (engine, journal) = (engine(), Journal::new(1 << 20));
    let (run, mut driver) = start(&engine, &journal);
    driver.run();
    // The process is gone: nothing of the run is left but what was taken out of its journal.
    let text = journal.take().unwrap();
    assert!(!format!("{journal:?}").contains("quickly"));
    drop((run, driver));

    let bounds = JournalBounds::default();
    let replayed = replay(text.as_bytes(), &bounds).unwrap();
    assert!(replayed.run.outcome().is_none());
    let mut recovered = recover(text.as_bytes(), &bounds).unwrap();
    let since = recovered.run.log().last_seq();
    let mut out = Outbox::new();
    let next = recovered.go_on(Recover::new(Reader::Unattended, Answerers::default()), &mut out).unwrap();
    assert!(next.live);
    let lost = recovered.run.log().after(since).filter_map(|envelope| match &envelope.event {
        Event::ToolFinished(result) => Some((result.name.to_string(), result.status)),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [("stuck".to_owned(), ToolStatus::InterruptedOutcomeUnknown)]);
    let begun = std::iter::from_fn(|| out.pop())
        .filter(|output| matches!(output, Output::Begin { work: Work::Model(_), .. }));
    assert_eq!(begun.count(), 1, "the model is told");
    let whole = text + &recovered.recorder.take();
    assert!(replay(whole.as_bytes(), &bounds).is_ok());
}

// proves: L7
#[test]
fn whoever_waits_for_lines_gets_them_all_and_then_the_end() {
    let (engine, journal) = (engine(), Journal::new(1 << 20));
    let (run, mut driver) = start(&engine, &journal);
    let mut reader = Task::new(Box::pin({
        let journal = journal.clone();
        async move {
            let mut text = String::new();
            while let Some(lines) = journal.next().await.unwrap() {
                assert!(lines.ends_with('\n'));
                text.push_str(&lines);
            }
            text
        }
    }));
    driver.run();
    reader.run();
    run.cancel();
    driver.run();
    assert!(reader.run(), "the reader still waits");
    let text = reader.output().unwrap();
    let replayed = replay(text.as_bytes(), &JournalBounds::default()).unwrap();
    let outcome = block_on(run.outcome());
    assert_eq!(replayed.run.outcome().unwrap().result, outcome.result);
    assert_eq!(block_on(journal.next()), Ok(None));
}

// proves: L7
#[test]
fn a_journal_that_nobody_takes_ends_and_the_run_goes_on() {
    let journal = Journal::new(900);
    let engine = engine();
    let (run, mut driver) = start(&engine, &journal);
    driver.run();
    run.cancel();
    driver.run();
    assert!(run.handle().try_outcome().is_some());
    // What was taken in before is still whole lines.
    let before = journal.take().unwrap_or_default();
    assert!(before.len() <= 900 && (before.is_empty() || before.ends_with('\n')));
    let full = journal.take().unwrap_err();
    assert!(full.limit == 900 && full.observed > 900, "{full}");
    assert_eq!(block_on(journal.next()), Err(full));
}
