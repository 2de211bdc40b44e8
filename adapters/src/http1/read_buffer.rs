//! Bytes that were received and not yet read.

use super::connection::Connection;
use super::network::Network;
use std::io;
use std::task::{Context, Poll, ready};

/// How much one read may take in, and by how much the buffer grows.
pub(super) const READ_BYTES: usize = 16 * 1024;

/// A buffer that is filled from a connection and consumed from the front.
#[derive(Default)]
pub(super) struct ReadBuffer {
    storage: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    pub(super) fn filled(&self) -> &[u8] {
        &self.storage[self.start..self.end]
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// Reads at most [`READ_BYTES`] more, with no more than `limit` bytes unread; `Ok(0)` is the peer's end.
    ///
    /// The caller sees to it that fewer than `limit` bytes are unread.
    pub(super) fn poll_fill<N: Network>(
        &mut self,
        connection: &mut Connection<N>,
        cx: &mut Context<'_>,
        limit: usize,
    ) -> Poll<io::Result<usize>> {
        debug_assert!(self.filled().len() < limit, "a full buffer would read nothing and look like the end");
        self.storage.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.storage.len() {
            self.storage.resize(self.end + READ_BYTES, 0);
        }
        let until = (self.end + READ_BYTES).min(limit).min(self.storage.len());
        let read = ready!(connection.poll_read(cx, &mut self.storage[self.end..until]))?;
        self.end += read;
        Poll::Ready(Ok(read))
    }
}
