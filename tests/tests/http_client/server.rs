//! A blocking server of one connection, run by a script in its own thread.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

/// A server that waits for its one connection, and the value its script returns.
pub(crate) struct Server<T> {
    pub(crate) port: u16,
    thread: JoinHandle<T>,
}

impl<T> Server<T> {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// What the script returned, once it has ended.
    pub(crate) fn end(self) -> T {
        self.thread.join().unwrap()
    }
}

/// Runs the script on the first connection. Its reads and writes fail after ten seconds, so that no test hangs.
pub(crate) fn serve<T: Send + 'static>(script: impl FnOnce(TcpStream) -> T + Send + 'static) -> Server<T> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        script(stream)
    });
    Server { port, thread }
}

/// Reads one request, sends these bytes, and closes; returns the request.
pub(crate) fn answer(bytes: impl Into<Vec<u8>>) -> Server<String> {
    let bytes = bytes.into();
    serve(move |mut stream| {
        let request = read_request(&mut stream);
        // A client that has seen enough may be gone.
        let _ = stream.write_all(&bytes);
        request
    })
}

/// Reads a request's head and the body that its `content-length` announces.
pub(crate) fn read_request(stream: &mut impl Read) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap() == 0 {
            return String::from_utf8(request).unwrap();
        }
        request.push(byte[0]);
    }
    let head = String::from_utf8(request).unwrap();
    let announced = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; announced.map_or(0, |digits| digits.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

/// Whether the peer has closed: nothing more to read, or a reset.
pub(crate) fn is_closed(stream: &mut impl Read) -> bool {
    let mut rest = [0; 1024];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}
