//! A connection with or without TLS, and the kinds of its failures.

use super::network::{Network, Wire};
use crate::http::{HttpError, HttpErrorText};
use std::io;
use std::task::{Context, Poll};

/// The bytes between the client and its peer. Dropping it closes the socket.
pub(super) enum Connection<N: Network> {
    Plain(N::Plain),
    Secure(Box<N::Secure>),
}

impl<N: Network> Connection<N> {
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_read(cx, into),
            Self::Secure(stream) => stream.poll_read(cx, into),
        }
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_write(cx, from),
            Self::Secure(stream) => stream.poll_write(cx, from),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => stream.poll_flush(cx),
            Self::Secure(stream) => stream.poll_flush(cx),
        }
    }
}

/// A failure while a response was awaited or read.
pub(super) fn lost(error: &io::Error) -> HttpError {
    match tls_cause(error) {
        Some(cause) => HttpError::Tls(HttpErrorText::new(cause)),
        None => HttpError::Closed(HttpErrorText::new(error)),
    }
}

/// What the TLS library said, if the failure is its own and not the socket's.
pub(super) fn tls_cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
