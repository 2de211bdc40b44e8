//! No secret of a request or of the configuration shows itself.

use super::{Client, fetch, get, post, send};
use crate::log_capture::Capture;
use crate::server::answer;
use runloom::http::{HttpError, HttpHeaders, HttpUrl};
use std::fmt::Debug;

const CANARY: &str = "canary";

/// Fails if the text shows the canary, plain or as basic authentication would carry it.
#[track_caller]
fn assert_clean(text: &str) {
    for secret in [CANARY, "Y2FuYXJ5", "NhbmFye", "jYW5hcn"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[track_caller]
fn assert_clean_debug(value: &impl Debug) {
    assert_clean(&format!("{value:?} {value:#?}"));
}

#[track_caller]
fn assert_clean_error(error: &HttpError) {
    assert_clean(&format!("{error} {error:?} {error:#?}"));
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        assert_clean(&format!("{error} {error:?}"));
        source = error.source();
    }
}

fn headers() -> HttpHeaders {
    let mut headers = HttpHeaders::new();
    headers.append("x-api-key", "sk-canary-0123").unwrap();
    headers.append("authorization", "Bearer sk-canary-0123").unwrap();
    headers.append("content-type", "text/plain").unwrap();
    headers
}

#[test]
fn values_do_not_show_secrets() {
    let mut request =
        post("https://sk-canary-1:sk-canary-2@host.example/path?key=sk-canary-3#canary", "sk-canary-4");
    request.headers = headers();
    assert_clean_debug(&request);
    let shown = format!("{request:?}");
    assert!(shown.contains("https://host.example/path") && shown.contains("text/plain"), "{shown}");
    assert_clean(&format!("{} {}", HttpUrl::from("http://c@nary:canary@[x"), HttpUrl::from("canary")));

    let builder = Client::builder().proxy("http://canary:sk-canary-5@proxy.example:3128").unwrap();
    assert_clean_debug(&builder);
    let client = builder.build().unwrap();
    assert_clean_debug(&client);
    assert!(format!("{client:?}").contains("proxy.example:3128"));
}

#[test]
fn configuration_errors_do_not_repeat_secrets() {
    for url in
        ["socks5://canary:canary@host", "http://canary:canary@ho st", "http://canary:canary@host:canary"]
    {
        assert_clean_error(&Client::builder().proxy(url).unwrap_err());
    }
    assert_clean_error(&Client::builder().trust_also(b"canary").unwrap_err());
    assert_clean_error(&HttpHeaders::new().append("canary", "canary\n").unwrap_err());
    assert_clean_error(&HttpHeaders::new().append("canary canary", "canary").unwrap_err());
}

#[test]
fn request_errors_do_not_repeat_secrets() {
    let client = Client::new().unwrap();
    for url in [
        "canary",
        "canary://canary:canary@host/",
        "http://canary:canary@host:canary/",
        "http://canary:canary@127.0.0.1:1/?canary",
        "https://canary:canary@127.0.0.1:1/?canary",
        "http://canary:canary@no-such-host.invalid/?canary",
        "http://canary:canary@host/can ary",
        "http://canary:canary@host/\u{e9}canary",
    ] {
        let mut request = post(url, "canary");
        request.headers = headers();
        assert_clean_error(&send(&client, request).unwrap_err());
    }
    let mut request = get("http://127.0.0.1:1/");
    request.headers.append("content-length", "canary").unwrap();
    assert_clean_error(&send(&client, request).unwrap_err());
}

#[test]
fn response_errors_do_not_repeat_what_the_server_sent() {
    for response in [
        "canary\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncanary\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: canary\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ncanary\r\n",
    ] {
        let server = answer(response);
        assert_clean_error(&fetch(&Client::new().unwrap(), get(server.url("/"))).unwrap_err());
        server.end();
    }
    let server = answer("HTTP/1.1 200 OK\r\nSet-Cookie: canary\r\nContent-Length: 6\r\n\r\ncanary");
    let response = send(&Client::new().unwrap(), get(server.url("/"))).unwrap();
    assert_eq!(response.headers.get("set-cookie"), Some("canary"));
    assert_clean_debug(&response);
    server.end();
}

#[test]
fn nothing_of_a_request_reaches_the_log_crate() {
    let capture = Capture::begin();
    let proxy = answer("HTTP/1.1 200 OK\r\nX-Logged: marker-of-the-response\r\nContent-Length: 0\r\n\r\n");
    let url = format!("http://zebra-user:zebra-password@127.0.0.1:{}", proxy.port);
    let client = Client::builder().proxy(&url).unwrap().build().unwrap();
    let mut request = post("http://u:zebra-url@origin.invalid/zebra-path?key=zebra-query", "zebra-body");
    request.headers.append("x-api-key", "zebra-key").unwrap();
    fetch(&client, request).unwrap();
    assert!(proxy.end().contains("zebra-key"));
    let logged = capture.end();
    assert!(logged.contains("marker-of-the-response"), "the log is not seen at all: {logged}");
    assert!(!logged.contains("zebra"), "{logged}");
}
