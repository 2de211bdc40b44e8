//! Hosts with observers that write down what they were asked.

use futures_lite::future::{block_on, yield_now};
use runloom::testing::ScriptedModel;
use runloom::{
    Engine, Host, HostBuilder, ManualTimer, ModelSpec, ObserveRequest, Observer, ObserverFault, Outcome, Run,
    Seq, Session, Shared, observer_fn,
};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Who saw which event, in order.
pub(crate) type Seen = Arc<Mutex<Vec<(&'static str, u64)>>>;

/// An observer that notes what it accepts; it refuses the event at `refused`, and takes a few polls for each request.
pub(crate) fn noting(name: &'static str, seen: &Seen, refused: Option<u64>) -> impl Observer {
    let seen = Arc::clone(seen);
    observer_fn(move |request: Arc<ObserveRequest>| {
        let seen = Arc::clone(&seen);
        async move {
            yield_now().await;
            for envelope in request.events.iter() {
                if Some(envelope.seq.0) == refused {
                    return Err(ObserverFault::new(Seq(envelope.seq.0 - 1), "refused"));
                }
                seen.lock().unwrap().push((name, envelope.seq.0));
            }
            yield_now().await;
            Ok(())
        }
    })
}

pub(crate) fn host(model: ScriptedModel) -> HostBuilder<Shared> {
    Host::shared().model(ModelSpec::new("m"), model)
}

pub(crate) type TestEngine = Engine<Shared, ManualTimer>;

pub(crate) fn engine(host: HostBuilder<Shared>) -> TestEngine {
    Engine::new(host.build().unwrap(), ManualTimer::new())
}

pub(crate) fn session(host: HostBuilder<Shared>) -> Session<Shared, ManualTimer> {
    engine(host).session().unwrap()
}

/// Runs once in `session`, with a reader that takes everything.
pub(crate) fn played(session: &Session<Shared, ManualTimer>) -> (Arc<Outcome>, Vec<&'static str>) {
    let (run, driver) = session.start("hello").unwrap();
    driven(run, driver)
}

/// Drives a run to its end and reads its events.
pub(crate) fn driven(
    mut run: Run,
    driver: impl Future<Output = Arc<Outcome>>,
) -> (Arc<Outcome>, Vec<&'static str>) {
    let read = async {
        let mut kinds = Vec::new();
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            kinds.push(envelope.event.kind().as_str());
        }
        kinds
    };
    block_on(futures_lite::future::zip(driver, read))
}

/// Polls `future` `times` times.
pub(crate) fn polled<F: Future + Unpin>(future: &mut F, times: usize) -> Option<F::Output> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut future = pin!(future);
    for _ in 0..times {
        if let Poll::Ready(output) = Pin::as_mut(&mut future).poll(&mut cx) {
            return Some(output);
        }
    }
    None
}

/// The numbers that `name` has noted.
pub(crate) fn of(seen: &Seen, name: &str) -> Vec<u64> {
    seen.lock().unwrap().iter().filter(|(own, _)| *own == name).map(|(_, seq)| *seq).collect()
}
