//! Responders, as hosts implement them: a program that answers requests (H2).

use crate::CancellationToken;
use crate::core::host_input::{HostAnswer, HostRequest};
use crate::core::id::RunId;
use std::future::Future;
use std::sync::Arc;

/// What a responder gets beside the request.
#[derive(Clone, Debug)]
pub struct ResponderContext {
    pub(super) token: CancellationToken,
    pub(super) run: RunId,
}

impl ResponderContext {
    /// The run's token: cancelled with the run (C1).
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }
}

/// A responder whose futures may stay on one thread.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Responder`], which brings this trait along.
pub trait LocalResponder: 'static {
    /// Answers one request: an approval, a tool's question, or a call that the client executes. The run's handle may
    /// answer it too; the first valid answer counts, and this future is dropped when it is not needed any more.
    ///
    /// `None`, an answer that is not valid and a panic leave the request to whoever holds the handle; if nobody does, it
    /// fails as [`AskError::NoResponder`](crate::core::host_input::AskError::NoResponder). After a suspension the
    /// responder of the engine that resumes the run is handed what stands open.
    fn respond(
        &self,
        request: Arc<HostRequest>,
        cx: ResponderContext,
    ) -> impl Future<Output = Option<HostAnswer>>;
}

/// A responder whose futures may move between threads. The contract is that of [`LocalResponder`], which every
/// implementor is too.
pub trait Responder: Send + Sync + 'static {
    /// Answers one request; see [`LocalResponder::respond`].
    fn respond(
        &self,
        request: Arc<HostRequest>,
        cx: ResponderContext,
    ) -> impl Future<Output = Option<HostAnswer>> + Send;
}

impl<R: Responder> LocalResponder for R {
    fn respond(
        &self,
        request: Arc<HostRequest>,
        cx: ResponderContext,
    ) -> impl Future<Output = Option<HostAnswer>> {
        Responder::respond(self, request, cx)
    }
}

/// A responder made of a function; see [`responder_fn`].
#[derive(Clone, Copy, Debug)]
pub struct ResponderFn<F>(F);

/// A responder made of a function that may stay on one thread; see [`local_responder_fn`].
#[derive(Clone, Copy, Debug)]
pub struct LocalResponderFn<F>(F);

/// A [`Responder`] made of a function: for both flavours of host.
pub fn responder_fn<F, Fut>(respond: F) -> ResponderFn<F>
where
    F: Fn(Arc<HostRequest>, ResponderContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<HostAnswer>> + Send,
{
    ResponderFn(respond)
}

/// A [`LocalResponder`] made of a function: for local hosts.
pub fn local_responder_fn<F, Fut>(respond: F) -> LocalResponderFn<F>
where
    F: Fn(Arc<HostRequest>, ResponderContext) -> Fut + 'static,
    Fut: Future<Output = Option<HostAnswer>>,
{
    LocalResponderFn(respond)
}

impl<F, Fut> Responder for ResponderFn<F>
where
    F: Fn(Arc<HostRequest>, ResponderContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<HostAnswer>> + Send,
{
    async fn respond(&self, request: Arc<HostRequest>, cx: ResponderContext) -> Option<HostAnswer> {
        (self.0)(request, cx).await
    }
}

impl<F, Fut> LocalResponder for LocalResponderFn<F>
where
    F: Fn(Arc<HostRequest>, ResponderContext) -> Fut + 'static,
    Fut: Future<Output = Option<HostAnswer>>,
{
    async fn respond(&self, request: Arc<HostRequest>, cx: ResponderContext) -> Option<HostAnswer> {
        (self.0)(request, cx).await
    }
}
