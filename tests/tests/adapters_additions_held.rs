//! Commands that come while a run's reader has fallen behind: what the model has said meanwhile waits, and is not lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests and their helpers")]

use futures_lite::future::{block_on, poll_once, zip};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Config, Driver, Engine, Host, HostTransport, Limits, ManualTimer, ModelSpec, Part, RetractReply, Run,
    Seq, Shared, SteerId,
};

type TestDriver = Driver<ManualTimer, HostTransport<Shared>>;

/// A run whose stream is full, and whose driver holds items of its model that have not had their turn.
fn full(pieces: usize) -> (Run, TestDriver) {
    let model = ScriptedModel::new([Attempt::new().texts("x", pieces), "again".into()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().unwrap();
    // An event takes more bytes than the piece of text in it, so that more is taken in than can be recorded.
    let mut limits = Limits::default();
    limits.event_capacity_bytes = 1_000;
    let engine = Engine::builder(host, ManualTimer::new()).config(Config::new(limits).unwrap()).build();
    let (run, mut driver) = engine.session().unwrap().start("hello").unwrap();
    assert!(block_on(poll_once(&mut driver)).is_none());
    (run, driver)
}

/// Reads the run to its end: how long the text of each message of its history is.
fn read(mut run: Run, driver: TestDriver) -> Vec<usize> {
    let reading = async {
        while run.events().next().await.is_some() {}
        run
    };
    let (outcome, _run) = block_on(zip(driver, reading));
    let text = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
    outcome.history.iter().map(|message| message.parts().iter().map(text).sum()).collect()
}

fn recorded(run: &Run) -> usize {
    run.handle().events_after(Seq(0), usize::MAX).len()
}

// proves: H3, E13
#[test]
fn a_steer_while_the_stream_is_full_loses_nothing_of_what_the_model_says() {
    let (run, driver) = full(40);
    let before = recorded(&run);
    run.steer("more").unwrap();
    // What was taken in goes on waiting for the reader.
    assert_eq!(recorded(&run), before);
    assert_eq!(read(run, driver), [5, 40, 4, 5]);
}

// proves: H3, E13
#[test]
fn a_retraction_while_the_stream_is_full_loses_nothing_of_what_the_model_says() {
    let (run, driver) = full(40);
    let before = recorded(&run);
    assert_eq!(run.retract(&SteerId::new("none").unwrap()), RetractReply::NotFound);
    assert_eq!(recorded(&run), before);
    assert_eq!(read(run, driver), [5, 40]);
}
