//! Observers that panic, call back, or end the run that they observe.

use crate::stage::*;
use futures_lite::future::block_on;
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    CancelReply, DurabilityReason, EventKind, ObserveRequest, RunControl, RunError, RunResult, Seq,
    observer_fn,
};
use std::sync::{Arc, Mutex, OnceLock};

fn model() -> ScriptedModel {
    ScriptedModel::new([Attempt::new().text("one")])
}

// proves: L5, X5
#[test]
fn a_panic_fails_the_run_with_a_fixed_text() {
    let observer = observer_fn(|request: Arc<ObserveRequest>| async move {
        if request.events.iter().any(|envelope| envelope.event.kind() == EventKind::TextDelta) {
            panic!("boom SECRET");
        }
        Ok(())
    });
    let (outcome, kinds) = played(&session(host(model()).observer(observer)));
    let RunResult::Failed(error) = &outcome.result else { panic!("{:?}", outcome.result) };
    let RunError::Observer { observer: 0, seq, message } = &**error else { panic!("{error:?}") };
    assert_eq!((*seq, message.as_str()), (Seq(4), "the observer panicked"));
    assert_eq!(kinds.last(), Some(&"run.failed"));
    assert_eq!(outcome.durability, None, "what came then had no delta in it");
    // Before its future is there.
    let observer = observer_fn(|_: Arc<ObserveRequest>| -> std::future::Ready<_> { panic!("boom SECRET") });
    let (outcome, _) = played(&session(host(model()).observer(observer)));
    assert!(matches!(&outcome.result, RunResult::Failed(error) if error.code() == "observer_failed"));
    let lost = outcome.durability.clone().expect("it panics again");
    assert!(matches!(lost.reason, DurabilityReason::Refused(_)), "{lost:?}");
    assert!(!lost.to_string().contains("SECRET"));
}

// proves: L5, X5
#[test]
fn an_observer_may_call_the_run_that_it_observes() {
    let control: Arc<OnceLock<RunControl>> = Arc::default();
    let replies = Arc::new(Mutex::new(Vec::new()));
    let (own, noted) = (Arc::clone(&control), Arc::clone(&replies));
    let observer = observer_fn(move |request: Arc<ObserveRequest>| {
        let (own, noted) = (Arc::clone(&own), Arc::clone(&noted));
        async move {
            let control = own.get().expect("it is set");
            let delta = request.events.iter().any(|e| e.event.kind() == EventKind::TextDelta);
            if delta {
                control.steer("more").unwrap();
                noted.lock().unwrap().push(control.cancel());
            }
            assert!(control.requests().is_empty());
            Ok(())
        }
    });
    let session = session(host(model()).observer(observer));
    let (run, driver) = session.start("hello").unwrap();
    assert!(control.set(run.control()).is_ok());
    let (outcome, kinds) = driven(run, driver);
    assert_eq!(*replies.lock().unwrap(), [CancelReply::Cancelled]);
    assert!(matches!(outcome.result, RunResult::Cancelled(_)));
    let more = runloom::Part::Text("more".into());
    let applied = outcome.history.iter().filter(|message| message.parts().contains(&more)).count();
    assert_eq!(outcome.unapplied.len() + applied, 1);
    assert_eq!((kinds.last(), outcome.durability.clone()), (Some(&"run.cancelled"), None));
}

// proves: L5, X5
#[test]
fn an_observer_may_drop_the_handle_of_its_run() {
    let handle: Arc<Mutex<Option<runloom::Run>>> = Arc::default();
    let own = Arc::clone(&handle);
    let observer = observer_fn(move |_| {
        let run = own.lock().unwrap().take();
        async move {
            drop(run);
            Ok(())
        }
    });
    let session = session(host(model()).observer(observer));
    let (run, driver) = session.start("hello").unwrap();
    *handle.lock().unwrap() = Some(run);
    let outcome = block_on(driver);
    assert!(matches!(outcome.result, RunResult::Cancelled(_)));
    let lost = outcome.durability.clone().expect("nobody was waited for");
    assert_eq!((lost.seq, lost.reason), (Seq(1), DurabilityReason::Abandoned));
}
