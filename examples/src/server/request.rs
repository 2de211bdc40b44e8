//! One request, read within bounds.

use super::script::Reply;
use std::io::{self, Read};

/// Most bytes of a request's head.
const MAX_HEAD: usize = 32 * 1024;
/// Most bytes of a request's body.
const MAX_BODY: usize = 8 << 20;
/// Most header fields.
const MAX_FIELDS: usize = 64;

/// A request with its whole body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

struct Head {
    method: String,
    path: String,
    bytes: usize,
    body_bytes: usize,
}

impl Request {
    /// Reads a request; or tells what to reply to something that is none.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Result<Self, Reply>> {
        let mut received = Vec::new();
        let head = loop {
            match parse(&received) {
                Ok(Some(head)) => break head,
                Ok(None) if received.len() < MAX_HEAD => fill(stream, &mut received)?,
                Ok(None) => return Ok(Err(Reply::refused(431, "the head is too large"))),
                Err(reply) => return Ok(Err(reply)),
            }
        };
        if head.body_bytes > MAX_BODY {
            return Ok(Err(Reply::refused(413, "the body is too large")));
        }
        while received.len() < head.bytes + head.body_bytes {
            fill(stream, &mut received)?;
        }
        received.truncate(head.bytes + head.body_bytes);
        let body = received.split_off(head.bytes);
        Ok(Ok(Self { method: head.method, path: head.path, body }))
    }
}

fn fill(stream: &mut impl Read, received: &mut Vec<u8>) -> io::Result<()> {
    let mut piece = [0; 8 * 1024];
    match stream.read(&mut piece)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        read => {
            received.extend_from_slice(&piece[..read]);
            Ok(())
        }
    }
}

/// The head, once it is there as a whole.
fn parse(received: &[u8]) -> Result<Option<Head>, Reply> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let bytes = match request.parse(received) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(Reply::refused(400, &error.to_string())),
    };
    let mut body_bytes = 0;
    for field in &*request.headers {
        if field.name.eq_ignore_ascii_case("content-length") {
            let length = std::str::from_utf8(field.value).ok().and_then(|text| text.trim().parse().ok());
            body_bytes = length.ok_or_else(|| Reply::refused(400, "content-length is no number"))?;
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Reply::refused(411, "a body needs content-length"));
        }
    }
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    Ok(Some(Head { method: text(request.method), path: text(request.path), bytes, body_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Result<Request, u16>, io::ErrorKind> {
        let read = Request::read(&mut text.as_bytes());
        read.map(|request| request.map_err(|reply| reply.status)).map_err(|error| error.kind())
    }

    #[test]
    fn requests_end_where_they_say() {
        let request = Request { method: "POST".into(), path: "/v1".into(), body: b"{}".to_vec() };
        assert_eq!(read("POST /v1 HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}more"), Ok(Ok(request)));
        assert_eq!(
            read("POST /v1 HTTP/1.1\r\ncontent-length: 3\r\n\r\n{}"),
            Err(io::ErrorKind::UnexpectedEof)
        );
        assert_eq!(read(""), Err(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(MAX_HEAD));
        for (text, status) in [
            ("\0\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 411),
            (&long, 431),
        ] {
            assert_eq!(read(text), Ok(Err(status)));
        }
    }
}
