//! What carries lines to a server and back.

use crate::core::mcp::{McpError, McpLine};
use crate::core::provider::Secret;
use std::task::{Context, Poll};

/// Carries lines to one server and back. Nothing here needs `Send`: clients, calls and tools are `Send` exactly when
/// their transport is.
///
/// It is polled by one task at a time and under no lock. A waker that it is given stays good for the next poll too: it
/// wakes whoever needs the connection. Dropping the transport ends the connection, and what it has started itself (C11).
/// After an error it is dropped and not polled again; a panic counts as one.
///
/// A [`LineBuffer`](super::LineBuffer) makes lines of bytes within the bound of
/// [`McpLimits::line_bytes`](super::McpLimits::line_bytes).
pub trait McpTransport {
    /// What the server was given, or knows, that nobody is to see: masked in every error (M5). Asked once, at first.
    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }

    /// Sends a line, which holds no line feed and gets its end here. After `Pending` the next call brings the same line
    /// and goes on with it.
    ///
    /// # Errors
    ///
    /// [`McpError::Closed`] if nothing can be sent any more.
    fn poll_send(&mut self, cx: &mut Context<'_>, line: &str) -> Poll<Result<(), McpError>>;

    /// The next line from the server. Ready many times in a row it may starve the task's other work: the client asks for
    /// a bounded number of lines in one poll.
    ///
    /// # Errors
    ///
    /// [`McpError::Closed`] at the end of what the server sends, and if it cannot be read.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<McpLine, McpError>>;
}
