//! Opening the connection of a request.

use super::client::Shared;
use super::connection::{Connection, tls_cause};
use super::network::Network;
use super::proxy::{Proxy, Route};
use super::target::Target;
use super::{encode, exchange};
use crate::http::{HttpError, HttpErrorText};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// Opens the connection over which the request to `target` is to be sent.
pub(super) async fn open<N: Network>(
    shared: &Shared,
    target: &Target,
    route: Route<'_>,
) -> Result<Connection<N>, HttpError> {
    let stream = match route {
        Route::Direct => N::connect(&target.host, target.port).await?,
        Route::Forward(proxy) => to_proxy::<N>(proxy).await?,
        Route::Tunnel(proxy) => tunnel::<N>(target, proxy).await?,
    };
    if target.secure { secure::<N>(&shared.tls, target, stream).await } else { Ok(Connection::Plain(stream)) }
}

async fn to_proxy<N: Network>(proxy: &Proxy) -> Result<N::Plain, HttpError> {
    N::connect(&proxy.host, proxy.port).await.map_err(|error| HttpError::Proxy(HttpErrorText::new(error)))
}

/// Has the proxy pass bytes to the target.
async fn tunnel<N: Network>(target: &Target, proxy: &Proxy) -> Result<N::Plain, HttpError> {
    let failed = |text: &dyn std::fmt::Display| HttpError::Proxy(HttpErrorText::new(text));
    let message = encode::tunnel(target, proxy)?;
    let mut connection = Connection::<N>::Plain(to_proxy::<N>(proxy).await?);
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

async fn secure<N: Network>(
    tls: &Arc<ClientConfig>,
    target: &Target,
    stream: N::Plain,
) -> Result<Connection<N>, HttpError> {
    let name = ServerName::try_from(target.host.clone())
        .map_err(|_| HttpError::InvalidUrl(HttpErrorText::new("no certificate can name this host")))?;
    match N::secure(Arc::clone(tls), name, stream).await {
        Ok(stream) => Ok(Connection::Secure(Box::new(stream))),
        Err(error) => Err(match tls_cause(&error) {
            Some(cause) => HttpError::Tls(HttpErrorText::new(cause)),
            None => HttpError::Closed(HttpErrorText::new(format_args!("in the TLS handshake: {error}"))),
        }),
    }
}
