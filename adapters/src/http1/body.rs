//! The body of a response, read as it is polled.

use super::connection::{Connection, lost};
use super::exchange::{Reply, violation};
use super::network::Network;
use super::read_buffer::{READ_BYTES, ReadBuffer};
use crate::http::{HttpError, HttpErrorText};
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use ureq_proto::BodyMode;
use ureq_proto::client::state::RecvBody;
use ureq_proto::client::{Call, RecvResponseResult};

/// Upper bound of chunk framing and trailers between two bytes of a body, so that they cannot go on for ever.
const FRAMING_BYTES: usize = 64 * 1024;

/// The body of a response: pieces of 1 byte to 16 KiB, in order.
///
/// Bytes are read from the connection when the stream is polled and not before. The connection is closed when the
/// stream ends or fails, or when it is dropped.
pub struct Http1Body<N: Network> {
    /// `None` once the body has ended in whatever way.
    open: Option<Open<N>>,
}

struct Open<N: Network> {
    connection: Connection<N>,
    call: Call<RecvBody>,
    buffer: ReadBuffer,
    framing_bytes: usize,
}

impl<N: Network> Http1Body<N> {
    pub(super) fn new(connection: Connection<N>, reply: Reply) -> Self {
        let buffer = reply.buffer;
        let open = match reply.next {
            RecvResponseResult::RecvBody(call) => Some(Open { connection, call, buffer, framing_bytes: 0 }),
            RecvResponseResult::Redirect(_) | RecvResponseResult::Cleanup(_) => None,
        };
        Self { open }
    }
}

impl<N: Network> Unpin for Http1Body<N> {}

impl<N: Network> Stream for Http1Body<N> {
    type Item = Result<Vec<u8>, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(open) = &mut self.open else { return Poll::Ready(None) };
        let piece = ready!(open.poll_piece(cx)).transpose();
        if !matches!(piece, Some(Ok(_))) {
            self.open = None;
        }
        Poll::Ready(piece)
    }
}

impl<N: Network> Open<N> {
    /// The next bytes of the body, or `None` at its end.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, HttpError>> {
        loop {
            let piece = self.decode()?;
            if !piece.is_empty() {
                self.framing_bytes = 0;
                return Poll::Ready(Ok(Some(piece)));
            }
            let to_the_end = self.call.body_mode() == BodyMode::CloseDelimited;
            if !to_the_end && self.call.can_proceed() {
                return Poll::Ready(Ok(None));
            }
            if self.framing_bytes > FRAMING_BYTES || self.buffer.filled().len() >= READ_BYTES {
                let text = "too many bytes between two bytes of the body";
                return Poll::Ready(Err(HttpError::Protocol(HttpErrorText::new(text))));
            }
            let read = self.buffer.poll_fill(&mut self.connection, cx, READ_BYTES);
            if ready!(read).map_err(|error| lost(&error))? == 0 {
                // After the last chunk only trailers can be missing, and those are dropped anyway.
                let complete = to_the_end || self.call.is_ended_chunked();
                let text = "before the body was complete";
                return Poll::Ready(
                    complete.then_some(None).ok_or_else(|| HttpError::Closed(HttpErrorText::new(text))),
                );
            }
        }
    }

    /// Decodes what has been received; empty if that is only framing or nothing.
    fn decode(&mut self) -> Result<Vec<u8>, HttpError> {
        loop {
            // Decoding never makes more of it, so that a small piece takes a small allocation.
            let mut piece = vec![0; self.buffer.filled().len().min(READ_BYTES)];
            let (used, written) = self.call.read(self.buffer.filled(), &mut piece).map_err(violation)?;
            self.buffer.consume(used);
            if written > 0 {
                piece.truncate(written);
                return Ok(piece);
            }
            self.framing_bytes += used;
            if used == 0 {
                return Ok(Vec::new());
            }
        }
    }
}

impl<N: Network> fmt::Debug for Http1Body<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1Body").field("ended", &self.open.is_none()).finish()
    }
}
