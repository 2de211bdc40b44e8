//! The HTTP client on smol's crates, against a server that sends exactly the bytes a test gives it.
#![allow(clippy::unwrap_used)]

mod framing;
mod proxy;
mod request;
mod secrets;
mod server;
mod tls;

use futures_lite::StreamExt;
use futures_lite::future::block_on;
use runloom::http::{HttpClient, HttpError, HttpMethod, HttpRequest, HttpResponse};
use runloom::smol::http::{SmolHttpBody, SmolHttpClient};

fn get(url: impl Into<String>) -> HttpRequest {
    HttpRequest::new(HttpMethod::Get, url.into())
}

fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> HttpRequest {
    HttpRequest { body: body.into(), ..HttpRequest::new(HttpMethod::Post, url.into()) }
}

fn send(client: &SmolHttpClient, request: HttpRequest) -> Result<HttpResponse<SmolHttpBody>, HttpError> {
    block_on(client.send(request))
}

/// Status and whole body of a response, each piece within its bounds.
fn read(response: HttpResponse<SmolHttpBody>) -> Result<(u16, Vec<u8>), HttpError> {
    let HttpResponse { status, mut body, .. } = response;
    let mut whole = Vec::new();
    while let Some(piece) = block_on(body.next()) {
        let piece = piece?;
        assert!((1..=16 * 1024).contains(&piece.len()), "{} bytes in one piece", piece.len());
        whole.extend(piece);
    }
    assert!(block_on(body.next()).is_none());
    Ok((status, whole))
}

fn fetch(client: &SmolHttpClient, request: HttpRequest) -> Result<(u16, Vec<u8>), HttpError> {
    read(send(client, request)?)
}

fn plain() -> SmolHttpClient {
    SmolHttpClient::new().unwrap()
}
