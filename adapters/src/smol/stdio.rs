//! MCP servers that are programs: lines over their standard streams.

use crate::core::mcp::{LineBuffer, McpError, McpLimits, McpLine};
use crate::core::provider::Secret;
use crate::mcp::McpTransport;
use async_process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use futures_lite::{AsyncRead, AsyncWrite};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes of one read.
const PIECE: usize = 16 * 1024;
/// Most reads of one poll.
const READS: usize = 64;
/// How much of the end of the standard error is kept.
const TAIL: usize = 8 * 1024;
/// How much of it an error tells, in characters.
const TOLD: usize = 512;
/// What a program needs to be found and to start; the second is for Windows.
const INHERITED: [&str; 2] = ["PATH", "SYSTEMROOT"];

/// A program that is an MCP server, and how it is to be started.
///
/// Its environment is what is set here, and beside that only `PATH` (and `SYSTEMROOT`) of this process: keys that are
/// meant for others do not get to it. `Debug` shows neither arguments nor values.
///
/// ```no_run
/// use runloom::mcp::{McpClient, McpOptions};
/// use runloom::smol::StdioServer;
///
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// let server = StdioServer::new("node").arg("server.js").env("LOG_LEVEL", "warn").start()?;
/// let client = McpClient::connect(server, McpOptions::new().prefix("files_")).await?;
/// println!("{} tools", client.tools().await?.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct StdioServer {
    program: OsString,
    arguments: Vec<OsString>,
    environment: BTreeMap<OsString, OsString>,
    folder: Option<PathBuf>,
    limits: McpLimits,
}

impl StdioServer {
    /// This program, by its path or as it is found in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().to_owned();
        let (arguments, environment) = (Vec::new(), BTreeMap::new());
        Self { program, arguments, environment, folder: None, limits: McpLimits::default() }
    }

    /// With a further argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// With further arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// With this variable in its environment. The value is masked in what errors tell of the program's own words.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// With this variable as it is in the environment of this process, if it is there.
    pub fn inherit(self, name: impl AsRef<OsStr>) -> Self {
        match std::env::var_os(name.as_ref()) {
            Some(value) => self.env(name, value),
            None => self,
        }
    }

    /// In this folder.
    pub fn current_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// With the bound of lines of these limits.
    pub fn limits(mut self, limits: McpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts the program.
    ///
    /// # Errors
    ///
    /// Those of the system, such as that there is no program of this name.
    pub fn start(&self) -> io::Result<StdioTransport> {
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().envs(inherited).envs(&self.environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = command.spawn()?;
        let streams = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = streams else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let secrets = self.environment.values().filter_map(|value| Some(Secret::new(value.to_str()?)));
        Ok(StdioTransport {
            stdin,
            stdout,
            stderr: child.stderr.take(),
            child,
            sending: Vec::new(),
            sent: 0,
            buffer: LineBuffer::new(self.limits.line_bytes),
            lines: VecDeque::new(),
            ended: false,
            tail: VecDeque::new(),
            secrets: secrets.collect(),
        })
    }
}

impl fmt::Debug for StdioServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioServer")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// The standard streams of a running server. Dropping it kills the program, and it is reaped; what the program itself
/// has started is not known here.
///
/// What it writes to its standard error is read, so that it is never held up by it, and the end of it is told when the
/// server ends by itself.
pub struct StdioTransport {
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// `None` once it is closed.
    stderr: Option<ChildStderr>,
    child: Child,
    sending: Vec<u8>,
    sent: usize,
    buffer: LineBuffer,
    lines: VecDeque<McpLine>,
    ended: bool,
    tail: VecDeque<u8>,
    secrets: Vec<Secret>,
}

impl StdioTransport {
    /// The process id of the server.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads what has come over the standard error.
    fn listen(&mut self, cx: &mut Context<'_>) {
        let mut piece = [0; 1024];
        for _ in 0..READS {
            let Some(stderr) = &mut self.stderr else { return };
            match Pin::new(stderr).poll_read(cx, &mut piece) {
                Poll::Pending => return,
                Poll::Ready(Ok(read)) if read > 0 => {
                    self.tail.extend(piece.iter().take(read));
                    let over = self.tail.len().saturating_sub(TAIL);
                    self.tail.drain(..over);
                }
                Poll::Ready(_) => self.stderr = None,
            }
        }
        cx.waker().wake_by_ref();
    }

    fn closed(&mut self, why: &str) -> McpError {
        let mut text = why.to_owned();
        if let Ok(Some(status)) = self.child.try_status() {
            text.push_str(&format!(" ({status})"));
        }
        let said = String::from_utf8_lossy(self.tail.make_contiguous()).into_owned();
        let said = said.trim();
        if !said.is_empty() {
            let from = said.char_indices().rev().nth(TOLD - 1).map_or(0, |(at, _)| at);
            let said = said.get(from..).unwrap_or_default();
            text.push_str("; its last words: ");
            text.push_str(said);
        }
        McpError::closed(&text)
    }
}

impl McpTransport for StdioTransport {
    fn secrets(&self) -> Vec<Secret> {
        self.secrets.clone()
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, line: &str) -> Poll<Result<(), McpError>> {
        if self.sending.is_empty() {
            self.sending.extend_from_slice(line.as_bytes());
            self.sending.push(b'\n');
            self.sent = 0;
        }
        while let Some(rest) = self.sending.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.stdin).poll_write(cx, rest) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(written)) if written > 0 => self.sent += written,
                Poll::Ready(Ok(_)) => return Poll::Ready(Err(self.closed("it takes no more input"))),
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(self.closed(&format!("it cannot be written to: {error}"))));
                }
            }
        }
        match Pin::new(&mut self.stdin).poll_flush(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                self.sending.clear();
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => {
                Poll::Ready(Err(self.closed(&format!("it cannot be written to: {error}"))))
            }
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<McpLine, McpError>> {
        self.listen(cx);
        let mut piece = [0; PIECE];
        for _ in 0..READS {
            if let Some(line) = self.lines.pop_front() {
                return Poll::Ready(Ok(line));
            }
            if self.ended {
                return Poll::Ready(Err(self.closed("it closed its output")));
            }
            let mut lines = Vec::new();
            match Pin::new(&mut self.stdout).poll_read(cx, &mut piece) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => {
                    self.buffer.finish(&mut lines);
                    self.ended = true;
                    self.listen(cx);
                }
                Poll::Ready(Ok(read)) => self.buffer.feed(piece.get(..read).unwrap_or_default(), &mut lines),
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(Err(self.closed(&format!("it cannot be read from: {error}"))));
                }
            }
            self.lines.extend(lines);
        }
        // A line without end does not hold up the rest of the task.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl fmt::Debug for StdioTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioTransport").field("process", &self.id()).finish_non_exhaustive()
    }
}
