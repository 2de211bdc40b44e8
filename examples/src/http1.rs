//! One HTTP/1.1 exchange over a blocking socket; the framing is `ureq-proto`'s, which does no IO itself.

use crate::endpoint::BaseUrl;
use runloom_core::provider::Header;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use ureq_proto::BodyMode;
use ureq_proto::client::state::{RecvBody, RecvResponse};
use ureq_proto::client::{Call, RecvResponseResult, SendRequestResult};
use ureq_proto::http::{HeaderMap, Request};

/// How long a connection or a write may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of a response's head, and of framing between two bytes of its body.
const MAX_PENDING: usize = 64 * 1024;

/// A request that was sent and whose response is coming in.
pub struct Exchange {
    stream: TcpStream,
    state: State,
    /// What was received and not decoded yet.
    received: Vec<u8>,
}

enum State {
    Head(Call<RecvResponse>),
    Body(Call<RecvBody>),
    End,
}

/// What came of waiting.
#[derive(Debug)]
pub enum Received {
    /// The time is over.
    Nothing,
    /// The head of the response.
    Head {
        /// The status code.
        status: u16,
        /// The header fields.
        headers: HeaderMap,
    },
    /// A piece of the body.
    Body(Vec<u8>),
    /// The end of the body; nothing follows.
    End,
}

impl Exchange {
    /// Connects and sends a POST request; waits for the connection but not for a response.
    ///
    /// # Errors
    ///
    /// If there is no connection, or the request cannot be written as HTTP.
    pub fn post(base: &BaseUrl, path: &str, headers: &[Header], body: &[u8]) -> io::Result<Self> {
        let uri = format!("{}{path}", base.as_str());
        let mut request =
            Request::post(uri).header("connection", "close").header("content-length", body.len());
        for header in headers {
            request = request.header(header.name(), header.value());
        }
        let (head, call) = encode(request.body(()).map_err(io::Error::other)?, body.len())?;
        let mut stream = connect(base)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&head)?;
        stream.write_all(body)?;
        Ok(Self { stream, state: State::Head(call), received: Vec::new() })
    }

    /// Waits at most so long for what comes next.
    ///
    /// # Errors
    ///
    /// If the connection ends before the response does, or what comes is not HTTP.
    pub fn wait(&mut self, most: Duration) -> io::Result<Received> {
        let until = Instant::now() + most;
        loop {
            if let Some(received) = self.decode()? {
                return Ok(received);
            }
            if self.received.len() > MAX_PENDING {
                return Err(io::Error::other("the response's framing is too large"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Received::Nothing);
            }
            self.stream.set_read_timeout(Some(left))?;
            let mut piece = [0; 8 * 1024];
            match self.stream.read(&mut piece) {
                Ok(0) => return self.closed(),
                Ok(read) => self.received.extend_from_slice(&piece[..read]),
                Err(error) if is_timeout(&error) => return Ok(Received::Nothing),
                Err(error) => return Err(error),
            }
        }
    }

    /// What the received bytes mean, if they mean something already.
    fn decode(&mut self) -> io::Result<Option<Received>> {
        match std::mem::replace(&mut self.state, State::End) {
            State::End => Ok(Some(Received::End)),
            State::Head(mut call) => {
                let (used, response) = call.try_response(&self.received, false).map_err(io::Error::other)?;
                self.received.drain(..used);
                let Some(response) = response else {
                    self.state = State::Head(call);
                    return Ok(None);
                };
                if let Some(RecvResponseResult::RecvBody(body)) = call.proceed() {
                    self.state = State::Body(body);
                }
                let (head, ()) = response.into_parts();
                Ok(Some(Received::Head { status: head.status.as_u16(), headers: head.headers }))
            }
            State::Body(mut call) => {
                let mut piece = vec![0; self.received.len()];
                let written = self.decode_body(&mut call, &mut piece)?;
                if written > 0 {
                    piece.truncate(written);
                    self.state = State::Body(call);
                    return Ok(Some(Received::Body(piece)));
                }
                if call.can_proceed() && call.body_mode() != BodyMode::CloseDelimited {
                    return Ok(Some(Received::End));
                }
                self.state = State::Body(call);
                Ok(None)
            }
        }
    }

    /// Decodes until there are bytes of the body or more must be received.
    fn decode_body(&mut self, call: &mut Call<RecvBody>, piece: &mut [u8]) -> io::Result<usize> {
        loop {
            let (used, written) = call.read(&self.received, piece).map_err(io::Error::other)?;
            self.received.drain(..used);
            if written > 0 || used == 0 {
                return Ok(written);
            }
        }
    }

    /// The server has closed: the end of a body that is not delimited otherwise.
    fn closed(&mut self) -> io::Result<Received> {
        match std::mem::replace(&mut self.state, State::End) {
            State::Body(call) if call.body_mode() == BodyMode::CloseDelimited || call.is_ended_chunked() => {
                Ok(Received::End)
            }
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The bytes of the head, and the codec in the state that awaits the response.
fn encode(request: Request<()>, body_bytes: usize) -> io::Result<(Vec<u8>, Call<RecvResponse>)> {
    let mut call = Call::new(request).map_err(io::Error::other)?.proceed();
    let mut head = vec![0; MAX_PENDING];
    let used = call.write(&mut head).map_err(io::Error::other)?;
    head.truncate(used);
    let incomplete = || io::Error::other("the head of the request is too large");
    match call.proceed().map_err(io::Error::other)? {
        Some(SendRequestResult::SendBody(mut call)) => {
            call.consume_direct_write(body_bytes).map_err(io::Error::other)?;
            Ok((head, call.proceed().ok_or_else(incomplete)?))
        }
        Some(SendRequestResult::RecvResponse(call)) => Ok((head, call)),
        _ => Err(incomplete()),
    }
}

/// Tries all addresses of the host, one after the other.
fn connect(base: &BaseUrl) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (base.host(), base.uri().port_u16().unwrap_or(80)).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_timeout(error: &io::Error) -> bool {
    // Systems differ in what they call it.
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What comes of a response of these bytes, body pieces put together.
    fn received(bytes: &'static [u8]) -> (Option<u16>, Vec<u8>, bool) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = BaseUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![];
            let mut piece = [0; 1024];
            while !request.ends_with(b"{\"x\":1}") {
                let read = stream.read(&mut piece).unwrap();
                request.extend_from_slice(&piece[..read]);
            }
            for half in bytes.chunks(7) {
                stream.write_all(half).unwrap();
                stream.flush().unwrap();
            }
            String::from_utf8(request).unwrap()
        });
        let mut exchange = Exchange::post(&base, "/p", &[Header::new("x-a", "b")], b"{\"x\":1}").unwrap();
        let (mut status, mut body) = (None, vec![]);
        let ended = loop {
            match exchange.wait(PATIENCE) {
                Ok(Received::Head { status: code, .. }) => status = Some(code),
                Ok(Received::Body(piece)) => body.extend(piece),
                Ok(Received::End) => break true,
                Ok(Received::Nothing) => panic!("nothing came"),
                Err(_) => break false,
            }
        };
        let request = server.join().unwrap();
        assert!(request.starts_with("POST /p HTTP/1.1\r\n") && request.contains("x-a: b\r\n"), "{request}");
        (status, body, ended)
    }

    #[test]
    fn bodies_end_as_they_say() {
        let ok = |text: &[u8], ended| (Some(200), text.to_vec(), ended);
        let chunked =
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        assert_eq!(received(chunked), ok(b"abcde", true));
        let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
        assert_eq!(received(cut), ok(b"abc", false));
        assert_eq!(received(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"), ok(b"abc", true));
        assert_eq!(received(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc"), ok(b"abc", false));
        assert_eq!(received(b"HTTP/1.1 200 OK\r\n\r\nabc"), ok(b"abc", true));
        assert_eq!(received(b"HTTP/1.1 529 X\r\ncontent-length: 0\r\n\r\n"), (Some(529), vec![], true));
        assert_eq!(received(b""), (None, vec![], false));
    }

    #[test]
    fn waiting_has_an_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = BaseUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let mut exchange = Exchange::post(&base, "/", &[], b"").unwrap();
        assert!(matches!(exchange.wait(Duration::from_millis(10)), Ok(Received::Nothing)));
    }
}
