//! A connection with or without TLS, and the kinds of its failures.

use crate::http::{HttpError, HttpErrorText};
use async_net::TcpStream;
use futures_lite::{AsyncRead, AsyncWrite};
use futures_rustls::client::TlsStream;
use futures_rustls::rustls;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The bytes between the client and its peer. Dropping it closes the socket.
pub(super) enum Connection {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Connection {
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, from),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, from),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
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
