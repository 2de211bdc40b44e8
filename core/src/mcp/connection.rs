//! One client's side of a connection, without IO.

use super::content;
use super::error::McpError;
use super::limits::McpLimits;
use super::line::McpLine;
use super::message::{Message, Nonsense, decode};
use super::progress::McpProgress;
use super::tools::McpToolList;
use super::version::McpServerInfo;
use super::write::{McpClientInfo, Writer};
use crate::provider::Secret;
use crate::text::Text;
use crate::tool::ToolOutput;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Names a request of the client within its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct McpRequest(u64);

/// What came of what the server said.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum McpEvent {
    /// The handshake is over: requests may be made.
    Ready,
    /// A call goes on.
    Progress(McpRequest, McpProgress),
    /// The end of [`McpConnection::list_tools`].
    Listed(McpRequest, Result<McpToolList, McpError>),
    /// The end of [`McpConnection::call_tool`].
    Called(McpRequest, Result<ToolOutput, McpError>),
    /// The server has other tools than before.
    ToolsChanged,
    /// The connection is over; every request that was open has had its end before this.
    Closed(McpError),
}

/// What a server said that meant nothing: nobody waits for it, and nothing else suffers from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpIgnored {
    /// Lines and messages that are not the protocol's, such as logs of a server that prints where it should not.
    pub malformed: u64,
    /// Answers to requests that were cancelled, or answered before.
    pub late: u64,
    /// Answers to requests that were never made.
    pub unknown: u64,
    /// Reports about calls that are not open.
    pub progress: u64,
    /// Requests of the server that got no answer because too many waited for theirs.
    pub unanswered: u64,
    /// What the last malformed one was.
    pub last: Option<&'static str>,
}

/// The client's side of one connection to an MCP server: a state machine without IO and without time.
///
/// What the server sends goes into [`receive`](Self::receive); what is to be sent comes out of
/// [`next_line`](Self::next_line), what happened out of [`next_event`](Self::next_event). Both are to be emptied after
/// every other call. A new connection has the first line of its handshake ready.
///
/// Each request has exactly one end: its event, or [`cancel`](Self::cancel). Whatever the server sends is an event, an
/// error of the request that it answers, or counted in [`ignored`](Self::ignored); nothing panics, and what is held is
/// bounded by [`McpLimits`]. Requests of the server are answered: `ping` as it should be, all others with "method not
/// found".
///
/// ```
/// use runloom_core::mcp::{McpConnection, McpEvent, McpLine};
///
/// let mut connection = McpConnection::new(Default::default(), Default::default());
/// assert!(connection.next_line().is_some_and(|line| line.contains("\"initialize\"")));
/// let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#;
/// connection.receive(McpLine::Text(answer.into()));
/// assert_eq!(connection.next_event(), Some(McpEvent::Ready));
/// assert!(connection.server().is_some_and(|server| server.tools));
/// ```
#[derive(Debug)]
pub struct McpConnection {
    info: McpClientInfo,
    limits: McpLimits,
    phase: Phase,
    last_id: u64,
    pending: BTreeMap<u64, Pending>,
    outgoing: VecDeque<Outgoing>,
    answers: usize,
    events: VecDeque<McpEvent>,
    ignored: McpIgnored,
    secrets: Vec<Secret>,
}

#[derive(Debug)]
enum Phase {
    /// The handshake was offered with this request.
    Greeting(u64),
    /// The server refused the handshake, and was asked with this request whether it goes without.
    Asking(u64, McpError),
    Ready(Arc<McpServerInfo>),
    Closed(McpError),
}

#[derive(Debug)]
enum Pending {
    /// A page of a list, whose first page was the request of this number.
    List {
        first: u64,
        pages: usize,
        list: McpToolList,
    },
    Call,
}

#[derive(Debug)]
enum Outgoing {
    Request(u64, String),
    Answer(String),
    Note(String),
}

impl McpConnection {
    /// A connection whose handshake is to be sent.
    pub fn new(info: McpClientInfo, limits: McpLimits) -> Self {
        let mut connection = Self {
            info,
            limits,
            phase: Phase::Greeting(1),
            last_id: 1,
            pending: BTreeMap::new(),
            outgoing: VecDeque::new(),
            answers: 0,
            events: VecDeque::new(),
            ignored: McpIgnored::default(),
            secrets: Vec::new(),
        };
        let line = connection.writer().initialize(1);
        connection.outgoing.push_back(Outgoing::Request(1, line));
        connection
    }

    /// Masks these in every error, such as what the server was given to authorize itself or others by (M5).
    #[must_use]
    pub fn secrets(mut self, secrets: Vec<Secret>) -> Self {
        self.secrets = secrets;
        self
    }

    /// What the server says about itself, once the handshake is over.
    pub fn server(&self) -> Option<&Arc<McpServerInfo>> {
        match &self.phase {
            Phase::Ready(server) => Some(server),
            Phase::Greeting(_) | Phase::Asking(..) | Phase::Closed(_) => None,
        }
    }

    /// Its bounds.
    pub fn limits(&self) -> &McpLimits {
        &self.limits
    }

    /// What was ignored until now.
    pub fn ignored(&self) -> &McpIgnored {
        &self.ignored
    }

    /// How many requests are open.
    pub fn open_requests(&self) -> usize {
        self.pending.len()
    }

    /// The next line to be sent, without its end.
    pub fn next_line(&mut self) -> Option<String> {
        Some(match self.outgoing.pop_front()? {
            Outgoing::Answer(line) => {
                self.answers = self.answers.saturating_sub(1);
                line
            }
            Outgoing::Request(_, line) | Outgoing::Note(line) => line,
        })
    }

    /// The next thing that happened.
    pub fn next_event(&mut self) -> Option<McpEvent> {
        self.events.pop_front()
    }

    /// Asks for all tools, page by page. Ends with [`McpEvent::Listed`].
    ///
    /// # Errors
    ///
    /// [`McpError::NotReady`], [`McpError::Closed`] or [`McpError::TooManyRequests`]; nothing is sent then.
    pub fn list_tools(&mut self) -> Result<McpRequest, McpError> {
        self.admit()?;
        let id = self.new_id();
        let line = self.writer().list_tools(id, None);
        let pending = Pending::List { first: id, pages: 1, list: McpToolList::default() };
        self.open(id, pending, line);
        Ok(McpRequest(id))
    }

    /// Calls a tool by the server's name for it, with arguments that are the text of a JSON object. Ends with
    /// [`McpEvent::Called`]; before that come its reports if `progress` asks for them.
    ///
    /// # Errors
    ///
    /// As [`list_tools`](Self::list_tools); [`McpError::Arguments`] if the arguments are something else.
    pub fn call_tool(&mut self, name: &str, arguments: &str, progress: bool) -> Result<McpRequest, McpError> {
        self.admit()?;
        let arguments = arguments.trim();
        if !arguments.starts_with('{') || crate::read_json::check(arguments).is_err() {
            return Err(McpError::Arguments);
        }
        let id = self.new_id();
        let line = self.writer().call_tool(id, name, arguments, progress);
        self.open(id, Pending::Call, line);
        Ok(McpRequest(id))
    }

    /// Gives up a request: it has no event any more. The server is told, unless the request was not sent yet and so
    /// never is. Whether the request was open.
    pub fn cancel(&mut self, request: McpRequest, reason: &str) -> bool {
        let found = self.pending.iter().find(|(id, pending)| match pending {
            Pending::List { first, .. } => *first == request.0,
            Pending::Call => **id == request.0,
        });
        let Some(id) = found.map(|(id, _)| *id) else { return false };
        self.pending.remove(&id);
        let unsent = |outgoing: &Outgoing| matches!(outgoing, Outgoing::Request(unsent, _) if *unsent == id);
        match self.outgoing.iter().position(unsent) {
            Some(at) => drop(self.outgoing.remove(at)),
            None => self.outgoing.push_back(Outgoing::Note(Writer::cancelled(id, reason))),
        }
        true
    }

    /// Takes in a line from the server.
    pub fn receive(&mut self, line: McpLine) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        match line {
            McpLine::Text(text) => match decode(&text) {
                Ok(messages) => messages.into_iter().for_each(|message| match message {
                    Ok(message) => self.message(message),
                    Err(nonsense) => self.malformed(nonsense),
                }),
                Err(nonsense) => self.malformed(nonsense),
            },
            McpLine::TooLong { bytes, id: Some(id) } => {
                let error = McpError::LineTooLong { limit: self.limits.line_bytes, observed: bytes };
                self.response(id, Err(error));
            }
            McpLine::Failed { id, error } => self.response(id, Err(error)),
            McpLine::TooLong { id: None, .. } => self.malformed(Nonsense("too long, and answers no request")),
        }
    }

    /// The connection ended: every open request fails with `error`, then comes [`McpEvent::Closed`]. Later calls do
    /// nothing.
    pub fn close(&mut self, error: McpError) {
        if matches!(self.phase, Phase::Closed(_)) {
            return;
        }
        let error = error.masked(&self.secrets);
        self.phase = Phase::Closed(error.clone());
        self.outgoing.clear();
        self.answers = 0;
        for (id, pending) in core::mem::take(&mut self.pending) {
            self.events.push_back(match pending {
                Pending::List { first, .. } => McpEvent::Listed(McpRequest(first), Err(error.clone())),
                Pending::Call => McpEvent::Called(McpRequest(id), Err(error.clone())),
            });
        }
        self.events.push_back(McpEvent::Closed(error));
    }

    fn writer(&self) -> Writer<'_> {
        Writer { info: &self.info, version: self.server().map(|server| server.protocol) }
    }

    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn admit(&self) -> Result<(), McpError> {
        match &self.phase {
            Phase::Closed(error) => Err(error.clone()),
            Phase::Greeting(_) | Phase::Asking(..) => Err(McpError::NotReady),
            Phase::Ready(_) if self.pending.len() >= self.limits.requests => {
                Err(McpError::TooManyRequests { limit: self.limits.requests })
            }
            Phase::Ready(_) => Ok(()),
        }
    }

    fn open(&mut self, id: u64, pending: Pending, line: String) {
        self.pending.insert(id, pending);
        self.outgoing.push_back(Outgoing::Request(id, line));
    }

    fn malformed(&mut self, nonsense: Nonsense) {
        self.ignored.malformed += 1;
        self.ignored.last = Some(nonsense.0);
    }

    fn message(&mut self, message: Message<'_>) {
        match message {
            Message::Response { id, result } => self.response(id, result),
            Message::Request { id, method } => self.answer(id, &method),
            Message::Notification { method, params } => self.notification(&method, params),
            Message::Complaint(error) => match self.phase {
                // There is one request that it can be about.
                Phase::Greeting(id) | Phase::Asking(id, _) => self.response(id, Err(error)),
                Phase::Ready(_) | Phase::Closed(_) => self.malformed(Nonsense("an error about no request")),
            },
        }
    }

    fn answer(&mut self, id: &str, method: &Text) {
        if self.answers >= self.limits.answers {
            self.ignored.unanswered += 1;
            return;
        }
        self.answers += 1;
        self.outgoing.push_back(Outgoing::Answer(Writer::answer(id, *method == "ping")));
    }

    fn notification(&mut self, method: &Text, params: Option<&str>) {
        match method.as_str() {
            "notifications/progress" => match params.and_then(McpProgress::read) {
                Some((token, report)) if matches!(self.pending.get(&token), Some(Pending::Call)) => {
                    self.events.push_back(McpEvent::Progress(McpRequest(token), report));
                }
                Some(_) => self.ignored.progress += 1,
                None => self.malformed(Nonsense("a report of progress that says nothing")),
            },
            "notifications/tools/list_changed" => self.events.push_back(McpEvent::ToolsChanged),
            // What others mean is for clients that asked for it.
            _ => {}
        }
    }

    fn response(&mut self, id: u64, result: Result<&str, McpError>) {
        let result = result.map_err(|error| error.masked(&self.secrets));
        match &self.phase {
            Phase::Greeting(asked) if *asked == id => return self.greeted(result),
            Phase::Asking(asked, refusal) if *asked == id => {
                let refusal = refusal.clone();
                return self.told(result, refusal);
            }
            Phase::Greeting(_) | Phase::Asking(..) | Phase::Ready(_) | Phase::Closed(_) => {}
        }
        match self.pending.remove(&id) {
            Some(Pending::Call) => {
                let output = result.and_then(complete).and_then(content::output);
                self.events.push_back(McpEvent::Called(McpRequest(id), output));
            }
            Some(Pending::List { first, pages, list }) => self.listed(first, pages, list, result),
            None if id > self.last_id || id == 0 => self.ignored.unknown += 1,
            None => self.ignored.late += 1,
        }
    }

    fn listed(&mut self, first: u64, pages: usize, mut list: McpToolList, result: Result<&str, McpError>) {
        let next = result.and_then(complete).and_then(|result| list.page(result, &self.limits));
        let end = match next {
            Ok(None) => Ok(list),
            Ok(Some(_)) if pages >= self.limits.pages => {
                Err(McpError::TooManyTools { tools: self.limits.tools, pages: self.limits.pages })
            }
            Ok(Some(cursor)) => {
                let id = self.new_id();
                let line = self.writer().list_tools(id, Some(&cursor));
                return self.open(id, Pending::List { first, pages: pages + 1, list }, line);
            }
            Err(error) => Err(error),
        };
        self.events.push_back(McpEvent::Listed(McpRequest(first), end));
    }

    fn greeted(&mut self, result: Result<&str, McpError>) {
        match result.and_then(McpServerInfo::of_handshake) {
            Ok(server) => {
                self.ready(server);
                self.outgoing.push_back(Outgoing::Note(Writer::initialized()));
            }
            Err(refusal @ McpError::Server { .. }) => {
                let id = self.new_id();
                let line = self.writer().discover(id);
                self.outgoing.push_back(Outgoing::Request(id, line));
                self.phase = Phase::Asking(id, refusal);
            }
            Err(error) => self.close(error),
        }
    }

    /// The answer of a server that knows no handshake; if it is none either, the first refusal says more.
    fn told(&mut self, result: Result<&str, McpError>, refusal: McpError) {
        match result.and_then(McpServerInfo::of_discovery) {
            Ok(server) => self.ready(server),
            Err(error @ McpError::Version(_)) => self.close(error),
            Err(_) => self.close(refusal),
        }
    }

    fn ready(&mut self, server: McpServerInfo) {
        self.phase = Phase::Ready(Arc::new(server));
        self.events.push_back(McpEvent::Ready);
    }
}

/// A result that is one: since the version without a handshake it may also be a question.
fn complete(result: &str) -> Result<&str, McpError> {
    let members = crate::provider::read::Members::read(result);
    match members.as_ref().and_then(|members| members.text("resultType")).as_deref() {
        None | Some("complete") => Ok(result),
        Some("input_required") => Err(McpError::InputRequired),
        Some(_) => Err(McpError::malformed("its result is of an unknown type")),
    }
}
