//! What the server sees of a request.

use super::{Body, Client, fetch, get, plain, post, send};
use crate::server::answer;
use runloom::http::{HttpClient, HttpError, HttpMethod, HttpRequest, LocalHttpClient};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[test]
fn head_and_body_as_given() {
    let server = answer(OK);
    let mut request = post(server.url("/v1/messages?beta=true"), "{\"a\":1}");
    request.headers.append("Content-Type", "application/json").unwrap();
    request.headers.append("X-Api-Key", "key").unwrap();
    request.headers.append("X-Many", "one").unwrap();
    request.headers.append("X-Many", "two").unwrap();
    request.headers.append("User-Agent", "mine/1").unwrap();
    let port = server.port;
    fetch(&plain(), request).unwrap();
    let expected = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\
         content-length: 7\r\ncontent-type: application/json\r\nx-api-key: key\r\nx-many: one\r\nx-many: two\r\n\
         user-agent: mine/1\r\n\r\n{{\"a\":1}}"
    );
    assert_eq!(server.end(), expected);
}

#[test]
fn lengths_are_announced_where_a_body_is_expected() {
    for (method, body, announced) in [
        (HttpMethod::Get, "", None),
        (HttpMethod::Get, "x", Some("1")),
        (HttpMethod::Delete, "", None),
        (HttpMethod::Delete, "xy", Some("2")),
        (HttpMethod::Post, "", Some("0")),
        (HttpMethod::Put, "", Some("0")),
        (HttpMethod::Patch, "xyz", Some("3")),
    ] {
        let server = answer(OK);
        let mut request = HttpRequest::new(method, server.url("/"));
        request.body = body.into();
        fetch(&plain(), request).unwrap();
        let seen = server.end();
        let length = seen.lines().find_map(|line| line.strip_prefix("content-length: "));
        assert_eq!(length, announced, "{method:?} {body:?}");
        assert!(seen.ends_with(&format!("\r\n\r\n{body}")), "{seen:?}");
    }
}

#[test]
fn large_body_arrives_whole() {
    let body: String = (0..400_000).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
    let server = answer(OK);
    fetch(&plain(), post(server.url("/"), body.clone())).unwrap();
    assert!(server.end().ends_with(&format!("\r\n\r\n{body}")));
}

#[test]
fn user_and_password_become_basic_authentication() {
    let server = answer(OK);
    fetch(&plain(), get(format!("http://us%65r:p%40ss@127.0.0.1:{}/", server.port))).unwrap();
    assert!(server.end().contains("\r\nauthorization: Basic dXNlcjpwQHNz\r\n"));

    let server = answer(OK);
    let mut request = get(format!("http://user:pass@127.0.0.1:{}/", server.port));
    request.headers.append("authorization", "Bearer mine").unwrap();
    fetch(&plain(), request).unwrap();
    let seen = server.end();
    assert!(seen.contains("\r\nauthorization: Bearer mine\r\n") && !seen.contains("Basic"), "{seen}");
}

#[test]
fn requests_that_cannot_be_sent_open_no_connection() {
    // Nobody listens at this port; connecting would be another kind of error.
    for name in ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect", "Proxy-Authorization"]
    {
        let mut request = get("http://127.0.0.1:1/");
        request.headers.append(name, "1").unwrap();
        let error = send(&plain(), request).unwrap_err();
        assert!(matches!(error, HttpError::InvalidRequest(_)), "{name}: {error}");
    }
    let mut request = HttpRequest::new(HttpMethod::Head, "http://127.0.0.1:1/");
    request.body = b"x".to_vec();
    assert!(matches!(send(&plain(), request), Err(HttpError::InvalidRequest(_))));
    assert!(matches!(send(&plain(), get("ftp://127.0.0.1:1/")), Err(HttpError::InvalidUrl(_))));
}

#[test]
fn the_client_is_of_both_kinds_and_its_parts_are_send() {
    fn both<C: HttpClient + LocalHttpClient + Clone + Send + Sync + 'static>() {}
    fn is_send<T: Send>(_: &T) {}
    fn body<T: Send + Unpin + 'static>() {}
    both::<Client>();
    body::<Body>();
    let client = plain();
    is_send(&HttpClient::send(&client, get("http://127.0.0.1:1/")));
}
