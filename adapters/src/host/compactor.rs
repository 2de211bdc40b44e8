//! Compactors, as hosts implement them: what stands in the place of the older part of a history (K1-K6).

use crate::CancellationToken;
use crate::core::compaction::{Compaction, CompactionFault, CompactionRequest};
use std::future::Future;
use std::sync::Arc;

/// What stands in the place of a compactor's own words when it has panicked.
pub(crate) const PANICKED: &str = "the compactor panicked";

/// What a compactor gets beside the request.
#[derive(Clone, Debug)]
pub struct CompactionContext {
    pub(crate) token: CancellationToken,
}

impl CompactionContext {
    /// The token of the run, or of the compaction by hand: cancelled with it (C1).
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }
}

/// A compactor whose futures may stay on one thread.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Compactor`], which brings this trait along.
/// [`Summarizer`](crate::Summarizer) asks a model for a summary.
pub trait LocalCompactor: 'static {
    /// Shortens the messages of [`CompactionRequest::head`]. The run waits, for so long as
    /// [`Deadlines::compaction`](crate::Deadlines) allows; dropping the future means that nobody waits any more. A
    /// panic counts as a failure.
    ///
    /// What comes back must say something, keep calls together with their results, and be smaller than what it
    /// replaces; else the history stays as it is (K4).
    ///
    /// # Errors
    ///
    /// A [`CompactionFault`], with what it has cost.
    fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> impl Future<Output = Result<Compaction, CompactionFault>>;
}

/// A compactor whose futures may move between threads. The contract is that of [`LocalCompactor`], which every
/// implementor is too.
pub trait Compactor: Send + Sync + 'static {
    /// Shortens the older messages; see [`LocalCompactor::compact`].
    ///
    /// # Errors
    ///
    /// As there.
    fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> impl Future<Output = Result<Compaction, CompactionFault>> + Send;
}

impl<C: Compactor> LocalCompactor for C {
    fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> impl Future<Output = Result<Compaction, CompactionFault>> {
        Compactor::compact(self, request, cx)
    }
}

/// A compactor made of a function; see [`compactor_fn`].
#[derive(Clone, Copy, Debug)]
pub struct CompactorFn<F>(F);

/// A compactor made of a function that may stay on one thread; see [`local_compactor_fn`].
#[derive(Clone, Copy, Debug)]
pub struct LocalCompactorFn<F>(F);

/// A [`Compactor`] made of a function: for both flavours of host.
pub fn compactor_fn<F, Fut>(compact: F) -> CompactorFn<F>
where
    F: Fn(Arc<CompactionRequest>, CompactionContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Compaction, CompactionFault>> + Send,
{
    CompactorFn(compact)
}

/// A [`LocalCompactor`] made of a function: for local hosts.
pub fn local_compactor_fn<F, Fut>(compact: F) -> LocalCompactorFn<F>
where
    F: Fn(Arc<CompactionRequest>, CompactionContext) -> Fut + 'static,
    Fut: Future<Output = Result<Compaction, CompactionFault>>,
{
    LocalCompactorFn(compact)
}

impl<F, Fut> Compactor for CompactorFn<F>
where
    F: Fn(Arc<CompactionRequest>, CompactionContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Compaction, CompactionFault>> + Send,
{
    async fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        (self.0)(request, cx).await
    }
}

impl<F, Fut> LocalCompactor for LocalCompactorFn<F>
where
    F: Fn(Arc<CompactionRequest>, CompactionContext) -> Fut + 'static,
    Fut: Future<Output = Result<Compaction, CompactionFault>>,
{
    async fn compact(
        &self,
        request: Arc<CompactionRequest>,
        cx: CompactionContext,
    ) -> Result<Compaction, CompactionFault> {
        (self.0)(request, cx).await
    }
}
