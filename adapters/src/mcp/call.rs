//! One request under way.

use super::McpTransport;
use super::shared::{End, Got, Shared, Waiter};
use crate::core::mcp::{McpConnection, McpError, McpProgress, McpRequest, McpToolList};
use crate::core::tool::ToolOutput;
use crate::sync::Arc;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A request that is taken back when it is dropped.
pub(super) struct Request<X: McpTransport> {
    waiter: Waiter<X>,
    /// `None` once it has ended.
    request: Option<McpRequest>,
}

impl<X: McpTransport> Request<X> {
    pub(super) fn new(
        shared: &Arc<Shared<X>>,
        make: impl FnOnce(&mut McpConnection) -> Result<McpRequest, McpError>,
    ) -> Result<Self, McpError> {
        let waiter = Waiter::new(shared);
        let request = shared.with(|state| state.open(waiter.place, make))?;
        shared.wakes.due();
        Ok(Self { waiter, request: Some(request) })
    }

    /// The next thing; `None` after the end.
    fn poll_got(&mut self, cx: &mut Context<'_>) -> Poll<Option<Got>> {
        let Some(request) = self.request else { return Poll::Ready(None) };
        let got = self.waiter.poll(cx, |state| state.take(request));
        if let Poll::Ready(Got::End(_)) = &got {
            self.request = None;
        }
        got.map(Some)
    }

    /// Waits for the end of a list.
    pub(super) async fn listed(mut self) -> Result<McpToolList, McpError> {
        loop {
            match poll_fn(|cx| self.poll_got(cx)).await {
                Some(Got::Progress(_)) => {}
                Some(Got::End(End::Listed(list))) => return list,
                Some(Got::End(End::Called(_))) | None => return Err(McpError::closed("no list")),
            }
        }
    }
}

impl<X: McpTransport> Drop for Request<X> {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.waiter.shared.with(|state| state.cancel(request, "the caller gave up"));
            // Nobody else may be there to send it.
            self.waiter.shared.wakes.due();
            self.waiter.shared.drive();
        }
    }
}

/// What a call brings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum McpUpdate {
    /// It goes on.
    Progress(McpProgress),
    /// Its end.
    Done(Result<ToolOutput, McpError>),
}

/// A call under way; see [`McpClient::call`](super::McpClient::call). Await it for its output alone, or ask for one
/// [`next`](Self::next) update after the other.
///
/// Dropping it takes the call back: it is not sent if it was not yet, else the server is told, and what it still answers
/// is ignored.
#[must_use = "dropping a call takes it back"]
pub struct McpCall<X: McpTransport> {
    pub(super) request: Request<X>,
}

impl<X: McpTransport> McpCall<X> {
    /// The next update; `None` after the end.
    ///
    /// Reports come in their order. Those that nobody asks for wait; of more than
    /// [`McpLimits::progress`](super::McpLimits::progress) the newest takes the place of the one before it.
    pub async fn next(&mut self) -> Option<McpUpdate> {
        poll_fn(|cx| self.poll_update(cx)).await
    }

    fn poll_update(&mut self, cx: &mut Context<'_>) -> Poll<Option<McpUpdate>> {
        self.request.poll_got(cx).map(|got| {
            Some(match got? {
                Got::Progress(report) => McpUpdate::Progress(report),
                Got::End(End::Called(output)) => McpUpdate::Done(output),
                Got::End(End::Listed(_)) => McpUpdate::Done(Err(McpError::closed("no call"))),
            })
        })
    }
}

impl<X: McpTransport> Future for McpCall<X> {
    type Output = Result<ToolOutput, McpError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            match this.poll_update(cx) {
                Poll::Ready(Some(McpUpdate::Done(output))) => return Poll::Ready(output),
                Poll::Ready(Some(McpUpdate::Progress(_))) => {}
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<X: McpTransport> fmt::Debug for McpCall<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpCall").field("request", &self.request.request).finish_non_exhaustive()
    }
}
