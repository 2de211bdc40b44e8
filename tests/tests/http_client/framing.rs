//! How the end of a response is found, and what is refused.

use super::{block_on, fetch, get, plain, post, send};
use crate::server::{answer, is_closed, read_request, serve};
use futures_lite::StreamExt;
use futures_lite::future::poll_once;
use runloom::http::{HttpClient, HttpError, HttpMethod, HttpRequest};
use std::io::Write;
use std::sync::mpsc;

fn outcome(response: impl Into<Vec<u8>>) -> Result<(u16, Vec<u8>), HttpError> {
    let server = answer(response);
    let result = fetch(&plain(), get(server.url("/")));
    server.end();
    result
}

#[test]
fn content_length() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and what does not belong to it";
    assert_eq!(outcome(response).unwrap(), (200, b"hello".to_vec()));
}

#[test]
fn large_body_comes_in_bounded_pieces() {
    let body: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    response.extend(&body);
    assert!(outcome(response).unwrap() == (200, body));
}

#[test]
fn close_delimited() {
    assert_eq!(outcome("HTTP/1.1 200 OK\r\n\r\nto the end").unwrap(), (200, b"to the end".to_vec()));
    assert_eq!(outcome("HTTP/1.0 200 OK\r\n\r\nto the end").unwrap(), (200, b"to the end".to_vec()));
}

#[test]
fn statuses_without_a_body() {
    for head in
        ["204 No Content\r\n", "304 Not Modified\r\nContent-Length: 9\r\n", "200 OK\r\nContent-Length: 0\r\n"]
    {
        let (_, body) = outcome(format!("HTTP/1.1 {head}\r\n")).unwrap();
        assert_eq!(body, b"", "{head}");
    }
    let server = answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let request = HttpRequest::new(HttpMethod::Head, server.url("/"));
    assert_eq!(fetch(&plain(), request).unwrap(), (200, Vec::new()));
    assert!(server.end().starts_with("HEAD / HTTP/1.1\r\n"));
}

#[test]
fn error_status_and_redirect_are_responses() {
    let server = answer("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nslow");
    let response = send(&plain(), get(server.url("/"))).unwrap();
    assert_eq!(response.headers.get("Retry-After"), Some("7"));
    assert_eq!(super::read(response).unwrap(), (429, b"slow".to_vec()));
    server.end();

    let redirect =
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 4\r\n\r\nelse";
    assert_eq!(outcome(redirect).unwrap(), (307, b"else".to_vec()));
}

#[test]
fn interim_responses_are_skipped() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let with_field = "HTTP/1.1 100 Continue\r\nX-Field: 1\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(outcome(format!("{interim}{with_field}{last}")).unwrap(), (200, b"ok".to_vec()));
    let endless = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10_000);
    assert!(matches!(outcome(endless), Err(HttpError::HeadTooLarge(_))));
}

#[test]
fn chunked_body_split_at_every_byte() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let response = format!("{head}3;name=x\r\nabc\r\nA\r\n\r\n01234567\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n");
    for split in 0..=response.len() {
        let (first, second) = (response[..split].to_owned(), response[split..].to_owned());
        let server = serve(move |mut stream| {
            read_request(&mut stream);
            stream.write_all(first.as_bytes()).unwrap();
            // Time for the client to take the first part by itself; both ways must give the same body.
            std::thread::sleep(std::time::Duration::from_millis(2));
            stream.write_all(second.as_bytes()).unwrap();
        });
        let body = fetch(&plain(), get(server.url("/"))).unwrap();
        assert_eq!(body, (200, b"abc\r\n01234567!".to_vec()), "split at {split}");
        server.end();
    }
}

#[test]
fn chunked_body_byte_by_byte() {
    let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let server = serve(move |mut stream| {
        read_request(&mut stream);
        for byte in response.bytes() {
            stream.write_all(&[byte]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    assert_eq!(fetch(&plain(), get(server.url("/"))).unwrap(), (200, b"hello".to_vec()));
    server.end();
}

#[test]
fn every_truncation_is_closed() {
    let sized = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n";
    for response in [sized, chunked] {
        for length in 0..response.len() {
            let result = outcome(&response.as_bytes()[..length]);
            assert!(matches!(result, Err(HttpError::Closed(_))), "{length} of {response:?}: {result:?}");
        }
        assert_eq!(outcome(response).unwrap(), (200, b"hello".to_vec()));
    }
}

#[test]
fn what_is_not_http_is_a_protocol_violation() {
    for response in [
        "garbage\r\n\r\n",
        "SSH-2.0-OpenSSH_9\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    ] {
        let result = outcome(response);
        assert!(matches!(result, Err(HttpError::Protocol(_))), "{response:?}: {result:?}");
    }
}

#[test]
fn any_byte_in_a_field_is_taken_or_refused() {
    for byte in 0..=u8::MAX {
        let response =
            [&b"HTTP/1.1 200 OK\r\nX-Field: a"[..], &[byte], b"b\r\nContent-Length: 0\r\n\r\n"].concat();
        let server = answer(response);
        match send(&plain(), get(server.url("/"))) {
            Ok(response) => {
                let value = response.headers.get("x-field").unwrap();
                assert!(value == format!("a{}b", char::from(byte)) || byte == b'\n', "{byte}: {value:?}");
            }
            Err(error) => assert!(matches!(error, HttpError::Protocol(_)), "{byte}: {error}"),
        }
        server.end();
    }
}

#[test]
fn heads_are_bounded() {
    let head_of = |bytes: usize| {
        let frame = "HTTP/1.1 204 No Content\r\nX-Long: \r\n\r\n".len();
        format!("HTTP/1.1 204 No Content\r\nX-Long: {}\r\n\r\n", "x".repeat(bytes - frame))
    };
    const BOUND: usize = 64 * 1024;
    assert_eq!(outcome(head_of(BOUND - 1)).unwrap().0, 204);
    assert_eq!(outcome(head_of(BOUND)).unwrap().0, 204);
    assert!(matches!(outcome(head_of(BOUND + 1)), Err(HttpError::HeadTooLarge(_))));

    let fields = |count: usize| format!("HTTP/1.1 204 No Content\r\n{}\r\n", "X: y\r\n".repeat(count));
    assert_eq!(outcome(fields(128)).unwrap().0, 204);
    assert!(matches!(outcome(fields(129)), Err(HttpError::HeadTooLarge(_))));
}

#[test]
fn chunk_framing_is_bounded() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let endless_size = format!("{head}{}", "0".repeat(200_000));
    let endless_trailers = format!("{head}0\r\n{}", "Trailer: x\r\n".repeat(20_000));
    for response in [endless_size, endless_trailers] {
        assert!(matches!(outcome(response), Err(HttpError::Protocol(_))));
    }
}

#[test]
fn an_early_answer_ends_the_sending() {
    for close in [true, false] {
        let (done, wait) = mpsc::channel::<()>();
        let server = serve(move |mut stream| {
            // The request's body, larger than what sockets hold, is never read.
            stream.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig").unwrap();
            if close {
                stream.shutdown(std::net::Shutdown::Write).unwrap();
            }
            let _ = wait.recv_timeout(std::time::Duration::from_secs(10));
        });
        let request = post(server.url("/"), vec![b'x'; 32 << 20]);
        assert_eq!(fetch(&plain(), request).unwrap(), (413, b"big".to_vec()));
        done.send(()).unwrap();
        server.end();
    }
}

#[test]
fn dropping_the_body_closes_the_connection() {
    let server = serve(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").unwrap();
        is_closed(&mut stream)
    });
    let mut response = send(&plain(), get(server.url("/"))).unwrap();
    assert_eq!(block_on(response.body.next()).unwrap().unwrap(), b"hello");
    drop(response);
    assert!(server.end());
}

#[test]
fn dropping_the_request_closes_the_connection() {
    let (arrived, wait) = mpsc::channel();
    let server = serve(move |mut stream| {
        read_request(&mut stream);
        arrived.send(()).unwrap();
        is_closed(&mut stream)
    });
    let client = plain();
    let request = get(server.url("/"));
    let mut sending = Box::pin(client.send(request));
    block_on(async {
        while wait.try_recv().is_err() {
            assert!(poll_once(&mut sending).await.is_none());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    drop(sending);
    assert!(server.end());
}

#[test]
fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = send(&plain(), get(format!("http://127.0.0.1:{port}/"))).unwrap_err();
    assert!(matches!(error, HttpError::Connect(_)), "{error}");
    let error = send(&plain(), get("http://no-such-host.invalid/")).unwrap_err();
    assert!(matches!(error, HttpError::Resolve(_)), "{error}");
}
