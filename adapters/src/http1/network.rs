//! What a client needs of a runtime: connections, and TLS over them.

use crate::http::{HttpError, HttpErrorText};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::fmt::Display;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The sockets of one runtime. Sealed: `SmolNetwork` and `TokioNetwork` are all there are.
pub trait Network: sealed::Sealed + 'static {
    #[doc(hidden)]
    type Plain: Wire;
    #[doc(hidden)]
    type Secure: Wire;

    /// Connects to one of the host's addresses.
    #[doc(hidden)]
    fn connect(host: &str, port: u16) -> impl Future<Output = Result<Self::Plain, HttpError>> + Send;

    /// The TLS handshake.
    #[doc(hidden)]
    fn secure(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        stream: Self::Plain,
    ) -> impl Future<Output = io::Result<Self::Secure>> + Send;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A stream of bytes. Dropping it closes it.
#[doc(hidden)]
pub trait Wire: Send + Unpin + 'static {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>>;
    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>>;
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// Tries all addresses of a host, in the order in which the system gives them.
pub(crate) async fn first<S, Tried: Future<Output = io::Result<S>>>(
    (host, port): (&str, u16),
    addresses: io::Result<impl IntoIterator<Item = SocketAddr>>,
    connect: impl Fn(SocketAddr) -> Tried,
) -> Result<S, HttpError> {
    let failed = |error: &dyn Display| HttpErrorText::new(format_args!("{host} port {port}: {error}"));
    let addresses = addresses.map_err(|error| HttpError::Resolve(failed(&error)))?;
    let mut last = None;
    for address in addresses {
        match connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(HttpError::Connect(failed(&error))),
        None => Err(HttpError::Resolve(HttpErrorText::new(format_args!("{host} has no address")))),
    }
}
