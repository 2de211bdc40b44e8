//! Requests, and all of what comes back.

use super::{Body, Client, block_on};
use futures_lite::StreamExt;
use runloom::http::{HttpClient, HttpError, HttpMethod, HttpRequest, HttpResponse};

pub(crate) fn get(url: impl Into<String>) -> HttpRequest {
    HttpRequest::new(HttpMethod::Get, url.into())
}

pub(crate) fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> HttpRequest {
    HttpRequest { body: body.into(), ..HttpRequest::new(HttpMethod::Post, url.into()) }
}

pub(crate) fn send(client: &Client, request: HttpRequest) -> Result<HttpResponse<Body>, HttpError> {
    block_on(client.send(request))
}

/// Status and whole body of a response, each piece within its bounds.
pub(crate) fn read(response: HttpResponse<Body>) -> Result<(u16, Vec<u8>), HttpError> {
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

pub(crate) fn fetch(client: &Client, request: HttpRequest) -> Result<(u16, Vec<u8>), HttpError> {
    read(send(client, request)?)
}

pub(crate) fn plain() -> Client {
    Client::new().unwrap()
}
