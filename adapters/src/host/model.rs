//! Models, as hosts implement them.

use super::{CompactionContext, Steering};
use crate::CancellationToken;
use crate::core::compaction::{Compaction, CompactionFault, CompactionRequest};
use crate::core::model::{ModelItem, ModelRequest, Problem};
use futures_core::Stream;
use std::future::Future;
use std::sync::Arc;

/// What a model says that has no compaction of its own.
pub(crate) const NOT_NATIVE: &str = "the model has no compaction of its own";

/// What a model gets beside its request.
#[derive(Clone, Debug)]
pub struct ModelContext {
    token: CancellationToken,
    steering: Steering,
}

impl ModelContext {
    /// A context with this token; for models that are driven by hand.
    pub fn new(token: CancellationToken) -> Self {
        Self { token, steering: Steering::default() }
    }

    /// With the place where claimed inputs arrive.
    pub(crate) fn with_steering(mut self, steering: Steering) -> Self {
        self.steering = steering;
        self
    }

    /// Where inputs arrive that the attempt has claimed, if the model can be steered during its turn (H4).
    pub fn steering(&self) -> &Steering {
        &self.steering
    }

    /// The run's token: cancelled with the run (C1). A model whose future or stream is dropped was abandoned; it has
    /// to end what it started itself then (C11).
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }
}

/// A model whose futures and streams may stay on one thread.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Model`], which brings this trait along.
pub trait LocalModel: 'static {
    /// What an attempt yields: a strict union of items (M3). It ends with `Done` or `Failed`; a stream that ends
    /// without either counts as failed, truncated. Nothing is read after the end.
    type Stream: Stream<Item = ModelItem> + 'static;

    /// Makes one attempt: one logical request. Retries are the engine's; deadlines too.
    ///
    /// Dropping the future or the stream abandons the attempt. A panic in either, or in their drops, fails the
    /// attempt and not the run's driver.
    ///
    /// # Errors
    ///
    /// A [`Problem`] if no response began. The engine decides by its kind whether to try again (R2, R3).
    fn open(
        &self,
        request: Arc<ModelRequest>,
        cx: ModelContext,
    ) -> impl Future<Output = Result<Self::Stream, Problem>>;

    /// Has the provider shorten the older part of a history, for hosts built with
    /// [`compact_natively`](crate::HostBuilder::compact_natively). What it requires back goes into the replacement as
    /// [`Part::Context`](crate::Part::Context) of a message of the assistant.
    ///
    /// # Errors
    ///
    /// A [`CompactionFault`]; a model that cannot do it says so, as this does.
    fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> impl Future<Output = Result<Compaction, CompactionFault>> {
        let _ = (request, cx);
        async { Err(CompactionFault::new(NOT_NATIVE)) }
    }
}

/// A model whose futures and streams may move between threads. The contract is that of [`LocalModel`], which every
/// implementor is too.
///
/// ```
/// use futures_lite::stream::{self, Iter};
/// use runloom::{Completion, Finish, Model, ModelContext, ModelItem, ModelRequest, Problem};
/// use std::sync::Arc;
///
/// struct Parrot;
///
/// impl Model for Parrot {
///     type Stream = Iter<std::vec::IntoIter<ModelItem>>;
///
///     async fn open(&self, request: Arc<ModelRequest>, _: ModelContext) -> Result<Self::Stream, Problem> {
///         let said = request.history.last().map_or(0, |message| message.parts().len());
///         let done = Completion::new(Some(Finish::Stop), "stop");
///         let items = vec![ModelItem::Text(format!("{said} parts").into()), ModelItem::Done(Box::new(done))];
///         Ok(stream::iter(items))
///     }
/// }
/// ```
pub trait Model: Send + Sync + 'static {
    /// What an attempt yields; see [`LocalModel::Stream`].
    type Stream: Stream<Item = ModelItem> + Send + 'static;

    /// Makes one attempt; see [`LocalModel::open`].
    ///
    /// # Errors
    ///
    /// A [`Problem`] if no response began.
    fn open(
        &self,
        request: Arc<ModelRequest>,
        cx: ModelContext,
    ) -> impl Future<Output = Result<Self::Stream, Problem>> + Send;

    /// Has the provider shorten the older part of a history; see [`LocalModel::compact`].
    ///
    /// # Errors
    ///
    /// As there.
    fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> impl Future<Output = Result<Compaction, CompactionFault>> + Send {
        let _ = (request, cx);
        async { Err(CompactionFault::new(NOT_NATIVE)) }
    }
}

impl<M: Model> LocalModel for M {
    type Stream = M::Stream;

    fn open(
        &self,
        request: Arc<ModelRequest>,
        cx: ModelContext,
    ) -> impl Future<Output = Result<Self::Stream, Problem>> {
        Model::open(self, request, cx)
    }

    fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> impl Future<Output = Result<Compaction, CompactionFault>> {
        Model::compact(self, request, cx)
    }
}

/// A model made of a function; see [`model_fn`].
#[derive(Clone, Copy, Debug)]
pub struct ModelFn<F>(F);

/// A model made of a function that may stay on one thread; see [`local_model_fn`].
#[derive(Clone, Copy, Debug)]
pub struct LocalModelFn<F>(F);

/// A [`Model`] made of a function from request and context to a stream: for both flavours of host.
pub fn model_fn<F, Fut, S>(open: F) -> ModelFn<F>
where
    F: Fn(Arc<ModelRequest>, ModelContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S, Problem>> + Send,
    S: Stream<Item = ModelItem> + Send + 'static,
{
    ModelFn(open)
}

/// A [`LocalModel`] made of a function from request and context to a stream: for local hosts.
pub fn local_model_fn<F, Fut, S>(open: F) -> LocalModelFn<F>
where
    F: Fn(Arc<ModelRequest>, ModelContext) -> Fut + 'static,
    Fut: Future<Output = Result<S, Problem>>,
    S: Stream<Item = ModelItem> + 'static,
{
    LocalModelFn(open)
}

impl<F, Fut, S> Model for ModelFn<F>
where
    F: Fn(Arc<ModelRequest>, ModelContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<S, Problem>> + Send,
    S: Stream<Item = ModelItem> + Send + 'static,
{
    type Stream = S;

    async fn open(&self, request: Arc<ModelRequest>, cx: ModelContext) -> Result<S, Problem> {
        (self.0)(request, cx).await
    }
}

impl<F, Fut, S> LocalModel for LocalModelFn<F>
where
    F: Fn(Arc<ModelRequest>, ModelContext) -> Fut + 'static,
    Fut: Future<Output = Result<S, Problem>>,
    S: Stream<Item = ModelItem> + 'static,
{
    type Stream = S;

    async fn open(&self, request: Arc<ModelRequest>, cx: ModelContext) -> Result<S, Problem> {
        (self.0)(request, cx).await
    }
}
