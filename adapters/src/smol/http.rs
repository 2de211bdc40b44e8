//! The HTTP/1.1 client of [`http1`](crate::http1) on `async-net`, with no runtime beneath it.
//!
//! ```no_run
//! use runloom::http::{HttpClient, HttpMethod, HttpRequest};
//! use runloom::smol::http::SmolHttpClient;
//!
//! # async fn example() -> Result<(), runloom::http::HttpError> {
//! let client = SmolHttpClient::builder().environment()?.build()?;
//! let mut request = HttpRequest::new(HttpMethod::Post, "https://api.example.com/v1/messages");
//! request.headers.append("content-type", "application/json")?;
//! request.body = b"{}".to_vec();
//! let response = client.send(request).await?;
//! println!("{}", response.status);
//! # Ok(())
//! # }
//! ```

use crate::http::HttpError;
use crate::http1::network::{Wire, first, sealed};
use crate::http1::{Http1Body, Http1Client, Http1ClientBuilder, Network};
use async_net::TcpStream;
use futures_lite::{AsyncRead, AsyncWrite};
use futures_rustls::TlsConnector;
use futures_rustls::client::TlsStream;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// An HTTP client that runs on any executor.
pub type SmolHttpClient = Http1Client<SmolNetwork>;
/// Configures a [`SmolHttpClient`].
pub type SmolHttpClientBuilder = Http1ClientBuilder<SmolNetwork>;
/// The body of a response to a [`SmolHttpClient`].
pub type SmolHttpBody = Http1Body<SmolNetwork>;

/// Sockets and names by `async-net`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmolNetwork {}

impl sealed::Sealed for SmolNetwork {}

impl Network for SmolNetwork {
    type Plain = Socket<TcpStream>;
    type Secure = Socket<TlsStream<TcpStream>>;

    async fn connect(host: &str, port: u16) -> Result<Self::Plain, HttpError> {
        let addresses = async_net::resolve((host, port)).await;
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

/// A stream of smol's traits.
#[doc(hidden)]
#[derive(Debug)]
pub struct Socket<S>(S);

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Wire for Socket<S> {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
}
