//! Opening the connection of a request.

use super::client::Shared;
use super::connection::{Connection, tls_cause};
use super::proxy::{Proxy, Route};
use super::target::Target;
use super::{encode, exchange};
use crate::http::{HttpError, HttpErrorText};
use async_net::TcpStream;
use futures_rustls::TlsConnector;
use futures_rustls::pki_types::ServerName;

/// Opens the connection over which the request to `target` is to be sent.
pub(super) async fn open(
    shared: &Shared,
    target: &Target,
    route: Route<'_>,
) -> Result<Connection, HttpError> {
    let stream = match route {
        Route::Direct => tcp(&target.host, target.port).await?,
        Route::Forward(proxy) => to_proxy(proxy).await?,
        Route::Tunnel(proxy) => tunnel(target, proxy).await?,
    };
    if target.secure { secure(&shared.tls, target, stream).await } else { Ok(Connection::Plain(stream)) }
}

/// Tries all addresses of a host, in the order in which the system gives them.
async fn tcp(host: &str, port: u16) -> Result<TcpStream, HttpError> {
    let failed = |error: std::io::Error| HttpErrorText::new(format_args!("{host} port {port}: {error}"));
    let addresses =
        async_net::resolve((host, port)).await.map_err(|error| HttpError::Resolve(failed(error)))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Without it a small request may wait for an acknowledgement. A socket that refuses works all the same.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(HttpError::Connect(failed(error))),
        None => Err(HttpError::Resolve(HttpErrorText::new(format_args!("{host} has no address")))),
    }
}

async fn to_proxy(proxy: &Proxy) -> Result<TcpStream, HttpError> {
    tcp(&proxy.host, proxy.port).await.map_err(|error| HttpError::Proxy(HttpErrorText::new(error)))
}

/// Has the proxy pass bytes to the target.
async fn tunnel(target: &Target, proxy: &Proxy) -> Result<TcpStream, HttpError> {
    let failed = |text: &dyn std::fmt::Display| HttpError::Proxy(HttpErrorText::new(text));
    let message = encode::tunnel(target, proxy)?;
    let mut connection = Connection::Plain(to_proxy(proxy).await?);
    let reply = exchange::exchange(&mut connection, message).await.map_err(|error| failed(&error))?;
    let status = reply.response.status();
    if !status.is_success() {
        return Err(failed(&format_args!("the tunnel was refused with status {}", status.as_u16())));
    }
    // The origin speaks second in TLS, so early bytes would be the proxy's.
    match connection {
        Connection::Plain(stream) if reply.buffer.filled().is_empty() => Ok(stream),
        _ => Err(failed(&"bytes came before the tunnel was used")),
    }
}

async fn secure(tls: &TlsConnector, target: &Target, stream: TcpStream) -> Result<Connection, HttpError> {
    let name = ServerName::try_from(target.host.clone())
        .map_err(|_| HttpError::InvalidUrl(HttpErrorText::new("no certificate can name this host")))?;
    match tls.connect(name, stream).await {
        Ok(stream) => Ok(Connection::Secure(Box::new(stream))),
        Err(error) => Err(match tls_cause(&error) {
            Some(cause) => HttpError::Tls(HttpErrorText::new(cause)),
            None => HttpError::Closed(HttpErrorText::new(format_args!("in the TLS handshake: {error}"))),
        }),
    }
}
