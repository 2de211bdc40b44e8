//! Approvers, as hosts implement them: who says whether a call may run (T2).

use crate::CancellationToken;
use crate::core::id::RunId;
use crate::core::text::Text;
use crate::core::tool::AuthorizeRequest;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// What an approver gets beside the request.
#[derive(Clone, Debug)]
pub struct ApprovalContext {
    pub(super) token: CancellationToken,
    pub(super) run: RunId,
}

impl ApprovalContext {
    /// The run's token: cancelled with the run (C1).
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }
}

/// An approver's answer. It holds for exactly the call, tool and arguments that were asked about (T2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Run the call.
    Allow,
    /// Do not; the model is told why.
    Deny {
        /// Text for the model.
        reason: Text,
    },
    /// Ask people: the run opens a request (H1), unless an equal call was consented to and that is remembered.
    Ask {
        /// Why, for people; may be empty.
        reason: Text,
        /// How long their answer may take; the run's default applies when absent.
        timeout: Option<Duration>,
    },
}

impl Approval {
    /// A denial for this reason.
    pub fn deny(reason: impl Into<Text>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Has people asked, for this reason.
    pub fn ask(reason: impl Into<Text>) -> Self {
        Self::Ask { reason: reason.into(), timeout: None }
    }
}

/// An approver whose futures may stay on one thread.
///
/// Implement it where nothing is `Send`. Elsewhere implement [`Approver`], which brings this trait along.
pub trait LocalApprover: 'static {
    /// Decides about one call of a tool that needs approval. The run waits; other calls go on. A panic counts as a
    /// denial. Dropping the future means that the answer is not needed any more.
    fn decide(&self, request: Arc<AuthorizeRequest>, cx: ApprovalContext) -> impl Future<Output = Approval>;
}

/// An approver whose futures may move between threads. The contract is that of [`LocalApprover`], which every
/// implementor is too.
pub trait Approver: Send + Sync + 'static {
    /// Decides about one call; see [`LocalApprover::decide`].
    fn decide(
        &self,
        request: Arc<AuthorizeRequest>,
        cx: ApprovalContext,
    ) -> impl Future<Output = Approval> + Send;
}

impl<A: Approver> LocalApprover for A {
    fn decide(&self, request: Arc<AuthorizeRequest>, cx: ApprovalContext) -> impl Future<Output = Approval> {
        Approver::decide(self, request, cx)
    }
}

/// An approver made of a function; see [`approver_fn`].
#[derive(Clone, Copy, Debug)]
pub struct ApproverFn<F>(F);

/// An approver made of a function that may stay on one thread; see [`local_approver_fn`].
#[derive(Clone, Copy, Debug)]
pub struct LocalApproverFn<F>(F);

/// An [`Approver`] made of a function: for both flavours of host.
pub fn approver_fn<F, Fut>(decide: F) -> ApproverFn<F>
where
    F: Fn(Arc<AuthorizeRequest>, ApprovalContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Approval> + Send,
{
    ApproverFn(decide)
}

/// A [`LocalApprover`] made of a function: for local hosts.
pub fn local_approver_fn<F, Fut>(decide: F) -> LocalApproverFn<F>
where
    F: Fn(Arc<AuthorizeRequest>, ApprovalContext) -> Fut + 'static,
    Fut: Future<Output = Approval>,
{
    LocalApproverFn(decide)
}

impl<F, Fut> Approver for ApproverFn<F>
where
    F: Fn(Arc<AuthorizeRequest>, ApprovalContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Approval> + Send,
{
    async fn decide(&self, request: Arc<AuthorizeRequest>, cx: ApprovalContext) -> Approval {
        (self.0)(request, cx).await
    }
}

impl<F, Fut> LocalApprover for LocalApproverFn<F>
where
    F: Fn(Arc<AuthorizeRequest>, ApprovalContext) -> Fut + 'static,
    Fut: Future<Output = Approval>,
{
    async fn decide(&self, request: Arc<AuthorizeRequest>, cx: ApprovalContext) -> Approval {
        (self.0)(request, cx).await
    }
}
