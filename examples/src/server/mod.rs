//! The embedded server: HTTP on a loopback port, answering in a provider's exact format from recordings.
//!
//! It refuses the first request as overloaded, then plays: a new conversation gets text and two tool calls, results of
//! calls get an answer that is built from them, a later turn gets a text about the conversation. It runs in threads of
//! its own and ends with the process, or when its [`Server`] is dropped.

mod conversation;
mod request;
mod script;

use request::Request;
use script::{Body, Reply, Script};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Most connections at a time; further ones are closed.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take to send or to take in the next bytes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause after each event of a stream, as if a model had to think of the next words.
const PAUSE: Duration = Duration::from_millis(30);

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    connections: AtomicUsize,
    script: Script,
}

impl Server {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Errors
    ///
    /// If the system gives no port or no thread.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("server".into()).spawn(move || accept(&listener, &theirs))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    /// The root of its URLs, without a slash at the end.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // A connection ends the accepting thread's wait.
        let reached = TcpStream::connect_timeout(&self.address, Duration::from_secs(1)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| reached) {
            let _ = thread.join();
        }
    }
}

/// One of the connections that are counted.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else {
            // Such as too many open files, which may pass.
            std::thread::sleep(PAUSE);
            continue;
        };
        let before = shared.connections.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(Arc::clone(shared));
        if before < MAX_CONNECTIONS {
            // Without a thread the connection is closed, which its client sees.
            let _ = std::thread::Builder::new().name("connection".into()).spawn(move || {
                // A client that is gone has its reasons.
                let _ = serve(stream, &counted.0);
            });
        }
    }
}

/// Answers one request and closes the connection.
fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let Reply { status, retry_after, body } = match Request::read(&mut stream)? {
        Ok(request) => shared.script.reply(&request),
        Err(refused) => refused,
    };
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    if let Some(seconds) = retry_after {
        head += &format!("retry-after: {seconds}\r\n");
    }
    match body {
        Body::Json(json) => {
            let json = json.to_string();
            let length = json.len();
            head += &format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n{json}");
            stream.write_all(head.as_bytes())
        }
        Body::Events(events) => {
            head += "content-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes())?;
            play(&events, &mut stream, || {
                std::thread::sleep(PAUSE);
                !shared.stopped.load(Ordering::SeqCst)
            })
        }
    }
}

/// Sends each event in two chunks, so that readers see borders in odd places, and asks after each whether to go on.
fn play(events: &str, stream: &mut impl Write, go_on: impl Fn() -> bool) -> io::Result<()> {
    for event in events.split_inclusive("\n\n") {
        let (first, second) = event.as_bytes().split_at(event.len() / 2);
        for piece in [first, second] {
            if !piece.is_empty() {
                write!(stream, "{:x}\r\n", piece.len())?;
                stream.write_all(piece)?;
                stream.write_all(b"\r\n")?;
            }
        }
        if !go_on() {
            return Ok(());
        }
    }
    stream.write_all(b"0\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn post(server: &Server, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    #[test]
    fn the_first_request_is_refused_and_the_second_is_not() {
        let server = Server::start().unwrap();
        let body = r#"{"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
        let first = post(&server, "/v1/messages", body);
        assert!(first.starts_with("HTTP/1.1 529") && first.contains("\r\nretry-after: 1\r\n"), "{first}");
        let second = post(&server, "/v1/messages", body);
        assert!(second.starts_with("HTTP/1.1 200") && second.contains("text/event-stream"), "{second}");
        assert!(second.ends_with("\r\n0\r\n\r\n"), "{second}");
    }

    #[test]
    fn what_is_no_request_gets_an_answer_too() {
        let server = Server::start().unwrap();
        assert!(post(&server, "/nowhere", "{}").starts_with("HTTP/1.1 404"));
        assert!(post(&server, "/v1/messages", "{").starts_with("HTTP/1.1 400"));
        let address = server.address;
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn chunks_put_together_are_the_recording() {
        let mut sent = Vec::new();
        play("data: é\n\ndata: b\n\n", &mut sent, || true).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&sent).replace("\r\n", "|"),
            "5|data:|5| é\n\n|4|data|5|: b\n\n|0||"
        );
        let mut cut = Vec::new();
        play("data: a\n\ndata: b\n\n", &mut cut, || false).unwrap();
        assert!(cut.len() < sent.len());
    }
}
