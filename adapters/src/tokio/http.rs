//! The HTTP/1.1 client of [`http1`](crate::http1) on tokio's sockets.
//!
//! Its futures are polled in a runtime whose IO is enabled; elsewhere they fail as
//! [`InvalidConfiguration`](HttpError::InvalidConfiguration).
//!
//! ```no_run
//! use runloom::http::{HttpClient, HttpMethod, HttpRequest};
//! use runloom::tokio::http::TokioHttpClient;
//!
//! # async fn example() -> Result<(), runloom::http::HttpError> {
//! let client = TokioHttpClient::builder().environment()?.build()?;
//! let response = client.send(HttpRequest::new(HttpMethod::Get, "https://api.example.com/v1/models")).await?;
//! println!("{}", response.status);
//! # Ok(())
//! # }
//! ```

use super::NoRuntime;
use crate::http::{HttpError, HttpErrorText};
use crate::http1::network::{Wire, first, sealed};
use crate::http1::{Http1Body, Http1Client, Http1ClientBuilder, Network};
use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use ::tokio::net::{TcpStream, lookup_host};
use ::tokio::runtime::Handle;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// An HTTP client that runs in tokio's runtimes.
pub type TokioHttpClient = Http1Client<TokioNetwork>;
/// Configures a [`TokioHttpClient`].
pub type TokioHttpClientBuilder = Http1ClientBuilder<TokioNetwork>;
/// The body of a response to a [`TokioHttpClient`].
pub type TokioHttpBody = Http1Body<TokioNetwork>;

/// Sockets and names by tokio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokioNetwork {}

impl sealed::Sealed for TokioNetwork {}

impl Network for TokioNetwork {
    type Plain = Socket<TcpStream>;
    type Secure = Socket<TlsStream<TcpStream>>;

    async fn connect(host: &str, port: u16) -> Result<Self::Plain, HttpError> {
        if Handle::try_current().is_err() {
            return Err(HttpError::InvalidConfiguration(HttpErrorText::new(NoRuntime)));
        }
        let addresses = lookup_host((host, port)).await;
        first((host, port), addresses, async |address| {
            let stream = TcpStream::connect(address).await?;
            // Without it a small request may wait for an acknowledgement. A socket that refuses works all the same.
            let _ = stream.set_nodelay(true);
            Ok(Socket(stream))
        })
        .await
    }

    async fn secure(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        stream: Self::Plain,
    ) -> io::Result<Self::Secure> {
        TlsConnector::from(config).connect(name, stream.0).await.map(Socket)
    }
}

/// A stream of tokio's traits.
#[doc(hidden)]
#[derive(Debug)]
pub struct Socket<S>(S);

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Wire for Socket<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut into = ReadBuf::new(into);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut into))?;
        Poll::Ready(Ok(into.filled().len()))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
}
