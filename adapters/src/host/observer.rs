//! Required observers, as hosts implement them: who must have made events durable before the run goes on (L5).

use crate::core::observe::{ObserveRequest, ObserverFault};
use std::future::Future;
use std::sync::Arc;

/// A required observer whose futures may stay on one thread.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Observer`], which brings this trait along. What need not
/// be asked reads along as a [`BestEffort`](crate::BestEffort).
pub trait LocalObserver: 'static {
    /// Accepts the events of one request. Success means that all of them are durable.
    ///
    /// An observer is asked for one request of a run at a time; runs of other sessions may ask it meanwhile. It gets each
    /// event of a run once and in order, and it gets as many at a time as were recorded while it or another observer was
    /// busy: one transaction can hold them all. Until it and those behind it have answered, the run begins nothing and
    /// takes nothing in; commands and a cancel go on. Dropping the future means that the run has ended and waits no
    /// longer: whether the events became durable is the observer's own affair then.
    ///
    /// It may call the run that it observes, whose locks are free.
    ///
    /// # Errors
    ///
    /// An [`ObserverFault`] says how far the observer came. The run fails as
    /// [`RunError::Observer`](crate::RunError::Observer), or, if it has ended already, tells so in
    /// [`Outcome::durability`](crate::Outcome). A panic counts as a fault with nothing accepted.
    fn observe(&self, request: Arc<ObserveRequest>) -> impl Future<Output = Result<(), ObserverFault>>;
}

/// A required observer whose futures may move between threads. The contract is that of [`LocalObserver`], which every
/// implementor is too.
pub trait Observer: Send + Sync + 'static {
    /// Accepts the events of one request; see [`LocalObserver::observe`].
    ///
    /// # Errors
    ///
    /// As there.
    fn observe(&self, request: Arc<ObserveRequest>)
    -> impl Future<Output = Result<(), ObserverFault>> + Send;
}

impl<O: Observer> LocalObserver for O {
    fn observe(&self, request: Arc<ObserveRequest>) -> impl Future<Output = Result<(), ObserverFault>> {
        Observer::observe(self, request)
    }
}

/// An observer made of a function; see [`observer_fn`].
#[derive(Clone, Copy, Debug)]
pub struct ObserverFn<F>(F);

/// An observer made of a function that may stay on one thread; see [`local_observer_fn`].
#[derive(Clone, Copy, Debug)]
pub struct LocalObserverFn<F>(F);

/// An [`Observer`] made of a function: for both flavours of host.
///
/// ```
/// use runloom::{Host, ModelSpec, observer_fn, testing::ScriptedModel};
/// use std::sync::{Arc, Mutex};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let kept = Arc::new(Mutex::new(Vec::new()));
/// let store = Arc::clone(&kept);
/// let observer = observer_fn(move |request| {
///     let lines: Vec<String> = request.events.iter().map(|event| event.to_json(&request.run)).collect();
///     let store = Arc::clone(&store);
///     async move {
///         store.lock().map_err(|_| request.refuse("the store is broken"))?.extend(lines);
///         Ok(())
///     }
/// });
/// let host = Host::shared().model(ModelSpec::new("m"), ScriptedModel::new(["hi".into()])).observer(observer).build()?;
/// # let session = runloom::Engine::new(host, runloom::ManualTimer::new()).session()?;
/// # let (mut run, driver) = session.start("hello")?;
/// # let drain = async { while run.events().next().await.is_some() {} };
/// # let (outcome, ()) = futures_lite::future::block_on(futures_lite::future::zip(driver, drain));
/// # assert_eq!(outcome.durability, None);
/// # assert_eq!(kept.lock().unwrap().len() as u64, outcome.last_seq.0);
/// # Ok(())
/// # }
/// ```
pub fn observer_fn<F, Fut>(observe: F) -> ObserverFn<F>
where
    F: Fn(Arc<ObserveRequest>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), ObserverFault>> + Send,
{
    ObserverFn(observe)
}

/// A [`LocalObserver`] made of a function: for local hosts.
pub fn local_observer_fn<F, Fut>(observe: F) -> LocalObserverFn<F>
where
    F: Fn(Arc<ObserveRequest>) -> Fut + 'static,
    Fut: Future<Output = Result<(), ObserverFault>>,
{
    LocalObserverFn(observe)
}

impl<F, Fut> Observer for ObserverFn<F>
where
    F: Fn(Arc<ObserveRequest>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), ObserverFault>> + Send,
{
    async fn observe(&self, request: Arc<ObserveRequest>) -> Result<(), ObserverFault> {
        (self.0)(request).await
    }
}

impl<F, Fut> LocalObserver for LocalObserverFn<F>
where
    F: Fn(Arc<ObserveRequest>) -> Fut + 'static,
    Fut: Future<Output = Result<(), ObserverFault>>,
{
    async fn observe(&self, request: Arc<ObserveRequest>) -> Result<(), ObserverFault> {
        (self.0)(request).await
    }
}
