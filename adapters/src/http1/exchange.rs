//! Sending a request and reading the head of its response, at the same time.

use super::connection::{Connection, lost};
use super::encode::Message;
use super::network::Network;
use super::read_buffer::ReadBuffer;
use crate::http::{HttpError, HttpErrorText};
use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use ureq_proto::Error;
use ureq_proto::client::{MAX_RESPONSE_HEADERS, RecvResponseResult};
use ureq_proto::http::{Response, StatusCode};
use ureq_proto::parser::try_parse_response;

/// Upper bound of a response's head in bytes, interim responses before it included.
const HEAD_BYTES: usize = 64 * 1024;

/// The head of a response, and what is needed to read its body.
pub(super) struct Reply {
    pub(super) response: Response<()>,
    pub(super) next: RecvResponseResult,
    /// What was received after the head.
    pub(super) buffer: ReadBuffer,
}

/// Sends a message and reads until a final response's head is complete.
///
/// A server may answer before it has read the whole request, and then close: reading goes on while the sending
/// waits or fails, so that its answer is seen.
pub(super) async fn exchange<N: Network>(
    connection: &mut Connection<N>,
    message: Message,
) -> Result<Reply, HttpError> {
    let Message { head, body, mut call } = message;
    let mut sending = Sending { parts: [head, body], part: 0, sent: 0, done: false };
    let mut receiving = Receiving::default();
    poll_fn(|cx| {
        sending.poll(connection, cx);
        receiving.poll(connection, cx)
    })
    .await?;
    let mut buffer = receiving.buffer;
    let (used, response) = call.try_response(buffer.filled(), false).map_err(violation)?;
    buffer.consume(used);
    let incomplete = || HttpError::Protocol(HttpErrorText::new("the head of the response is incomplete"));
    let response = response.ok_or_else(incomplete)?;
    let next = call.proceed().ok_or_else(incomplete)?;
    Ok(Reply { response, next, buffer })
}

/// What is left of a request to be sent.
struct Sending {
    parts: [Vec<u8>; 2],
    part: usize,
    sent: usize,
    done: bool,
}

impl Sending {
    /// Sends what the connection takes. A failure ends the sending only: the reading tells what became of it.
    fn poll<N: Network>(&mut self, connection: &mut Connection<N>, cx: &mut Context<'_>) {
        while !self.done {
            let unsent = self.parts.get(self.part).map(|part| &part[self.sent..]);
            let written = match unsent {
                Some([]) => {
                    (self.part, self.sent) = (self.part + 1, 0);
                    continue;
                }
                Some(unsent) => connection.poll_write(cx, unsent),
                None => connection.poll_flush(cx).map_ok(|()| 0),
            };
            match written {
                Poll::Ready(Ok(written)) if written > 0 => self.sent += written,
                Poll::Ready(Ok(_) | Err(_)) => self.done = true,
                Poll::Pending => return,
            }
        }
    }
}

#[derive(Default)]
struct Receiving {
    buffer: ReadBuffer,
    interim_bytes: usize,
}

impl Receiving {
    /// Reads until the head of a final response is complete.
    fn poll<N: Network>(
        &mut self,
        connection: &mut Connection<N>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), HttpError>> {
        loop {
            let room = HEAD_BYTES - self.interim_bytes;
            if self.buffer.filled().len() >= room {
                let text = format_args!("more than {HEAD_BYTES} bytes");
                return Poll::Ready(Err(HttpError::HeadTooLarge(HttpErrorText::new(text))));
            }
            let read = ready!(self.buffer.poll_fill(connection, cx, room)).map_err(|error| lost(&error))?;
            if read == 0 {
                let text = "before the head of the response was complete";
                return Poll::Ready(Err(HttpError::Closed(HttpErrorText::new(text))));
            }
            // A head can only become complete with the end of a line; parsing at each byte would be quadratic.
            let unread = self.buffer.filled();
            if unread[unread.len() - read..].contains(&b'\n') && self.has_final_head()? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Skips interim responses, except the last word of a connection that changes its protocol.
    fn has_final_head(&mut self) -> Result<bool, HttpError> {
        loop {
            match try_parse_response::<MAX_RESPONSE_HEADERS>(self.buffer.filled()).map_err(violation)? {
                None => return Ok(false),
                Some((used, response)) => {
                    let status = response.status();
                    if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
                        return Ok(true);
                    }
                    self.buffer.consume(used);
                    self.interim_bytes += used;
                }
            }
        }
    }
}

/// What the codec found wrong with the peer's bytes. Its words are fixed and repeat at most a status code.
pub(super) fn violation(error: Error) -> HttpError {
    match error {
        Error::HttpParseTooManyHeaders => {
            let text = format_args!("more than {MAX_RESPONSE_HEADERS} fields");
            HttpError::HeadTooLarge(HttpErrorText::new(text))
        }
        error => HttpError::Protocol(HttpErrorText::new(error)),
    }
}
