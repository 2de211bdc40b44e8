//! Requests by way of a proxy.

use super::tls::{Authority, secure_answer};
use super::{Client, fetch, get, post, send};
use crate::server::{answer, read_request, serve};
use runloom::http::HttpError;
use std::io::{Read, Write};
use std::net::TcpStream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn by_way_of(proxy: &str) -> Client {
    Client::builder().proxy(proxy).unwrap().build().unwrap()
}

#[test]
fn http_requests_are_forwarded_in_absolute_form() {
    let proxy = answer(OK);
    let client = by_way_of(&format!("http://user:p%40ss@127.0.0.1:{}", proxy.port));
    let request = post("http://origin.invalid:8080/path?query=1", "body");
    assert_eq!(fetch(&client, request).unwrap(), (200, b"ok".to_vec()));
    let seen = proxy.end();
    assert!(seen.starts_with(
        "POST http://origin.invalid:8080/path?query=1 HTTP/1.1\r\nhost: origin.invalid:8080\r\n"
    ));
    assert!(seen.contains("\r\nproxy-authorization: Basic dXNlcjpwQHNz\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\nbody"), "{seen}");
}

#[test]
fn https_requests_go_through_a_tunnel() {
    let authority = Authority::new();
    let origin = secure_answer(&authority, OK);
    let origin_port = origin.port;
    let proxy = serve(move |mut client| {
        let seen = read_request(&mut client);
        let origin = TcpStream::connect(("127.0.0.1", origin_port)).unwrap();
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        pass_bytes(client, origin);
        seen
    });
    let client = Client::builder()
        .trust_also(authority.pem().as_bytes())
        .unwrap()
        .proxy_for_https(&format!("http://user:pass@127.0.0.1:{}", proxy.port))
        .unwrap()
        .build()
        .unwrap();
    let mut request = get(format!("https://localhost:{origin_port}/path"));
    request.headers.append("x-api-key", "for the origin").unwrap();
    assert_eq!(fetch(&client, request).unwrap(), (200, b"ok".to_vec()));
    let seen = proxy.end();
    let place = format!("localhost:{origin_port}");
    let expected = format!(
        "CONNECT {place} HTTP/1.1\r\nhost: {place}\r\nproxy-authorization: Basic dXNlcjpwYXNz\r\n\r\n"
    );
    assert_eq!(seen, expected);
    let seen = origin.end();
    assert!(seen.starts_with("GET /path HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("x-api-key: for the origin") && !seen.contains("proxy-authorization"), "{seen}");
}

/// Passes bytes both ways until either side ends.
fn pass_bytes(client: TcpStream, origin: TcpStream) {
    let (mut from_client, mut to_origin) = (client.try_clone().unwrap(), origin.try_clone().unwrap());
    let up = std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_origin));
    let (mut client, mut origin) = (client, origin);
    let _ = std::io::copy(&mut origin, &mut client);
    let _ = client.shutdown(std::net::Shutdown::Both);
    let _ = up.join().unwrap();
}

#[test]
fn a_tunnel_that_fails_is_a_proxy_failure() {
    for answered in [
        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.invalid/\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nbytes before the handshake",
        "garbage\r\n\r\n",
        "",
    ] {
        let proxy = answer(answered);
        let client = by_way_of(&format!("http://127.0.0.1:{}", proxy.port));
        let error = send(&client, get("https://origin.invalid/")).unwrap_err();
        assert!(matches!(error, HttpError::Proxy(_)), "{answered:?}: {error}");
        proxy.end();
    }
}

#[test]
fn a_proxy_that_is_not_there_is_a_proxy_failure() {
    let client = by_way_of("http://127.0.0.1:1");
    for url in ["http://origin.invalid/", "https://origin.invalid/"] {
        let error = send(&client, get(url)).unwrap_err();
        assert!(matches!(error, HttpError::Proxy(_)), "{error}");
    }
}

#[test]
fn hosts_of_no_proxy_are_reached_directly() {
    let origin = answer(OK);
    let client = Client::builder()
        .proxy("http://127.0.0.1:1")
        .unwrap()
        .no_proxy("example.com, 127.0.0.1")
        .build()
        .unwrap();
    assert_eq!(fetch(&client, get(origin.url("/direct"))).unwrap().0, 200);
    assert!(origin.end().starts_with("GET /direct HTTP/1.1\r\n"));
    let error = send(&client, get("http://127.0.0.2/")).unwrap_err();
    assert!(matches!(error, HttpError::Proxy(_)), "{error}");
}

#[test]
fn the_environment_is_read_when_asked_for() {
    let proxy = answer(OK);
    let url = format!("http://127.0.0.1:{}", proxy.port);
    let variable = |name: &str| match name {
        "HTTP_PROXY" => Some(url.clone()),
        "NO_PROXY" => Some("direct.invalid".to_owned()),
        _ => None,
    };
    let client = Client::builder().environment_from(variable).unwrap().build().unwrap();
    let error = send(&client, get("http://direct.invalid/")).unwrap_err();
    assert!(matches!(error, HttpError::Resolve(_)), "{error}");
    assert_eq!(fetch(&client, get("http://origin.invalid/")).unwrap().0, 200);
    assert!(proxy.end().starts_with("GET http://origin.invalid/ HTTP/1.1\r\n"));
}

#[test]
fn a_proxy_may_close_the_origin_in_the_middle() {
    let proxy = serve(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read(&mut [0]);
    });
    let client = by_way_of(&format!("http://127.0.0.1:{}", proxy.port));
    let error = fetch(&client, get("http://origin.invalid/")).unwrap_err();
    assert!(matches!(error, HttpError::Closed(_)), "{error}");
    proxy.end();
}
