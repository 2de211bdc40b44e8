//! What a scenario says before its run starts: limits, deadlines, tools, history.

use crate::people;
use crate::words::{Words, number, span};
use runloom_core::compaction::CompactionPolicy;
use runloom_core::config::{Config, Deadlines, Limits, RetryPolicy};
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{MessageId, Revision, RunId, SessionId};
use runloom_core::input::{Answerers, Reader, Start};
use runloom_core::message::{Message, MessageBounds, Part, Role};
use runloom_core::model::ModelSpec;
use runloom_core::tool::{ApprovalPolicy, ToolSpec};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Setup {
    limits: Limits,
    deadlines: Deadlines,
    retry: RetryPolicy,
    pointer: Option<String>,
    facts: Vec<String>,
    least_log: bool,
    tools: Vec<Arc<ToolSpec>>,
    bounds: HistoryBounds,
    history: Vec<(Role, String)>,
    revision: u64,
    reader: Reader,
    cancelled: bool,
    /// The policy of the compactor that there is.
    compaction: Option<CompactionPolicy>,
    boundaries: bool,
    answerers: Answerers,
    suspends: bool,
    observers: u32,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self {
            limits: Limits::default(),
            deadlines: Deadlines::default(),
            retry: RetryPolicy::default(),
            pointer: None,
            facts: Vec::new(),
            least_log: false,
            tools: Vec::new(),
            bounds: HistoryBounds::default(),
            history: Vec::new(),
            revision: 0,
            reader: Reader::Primary,
            cancelled: false,
            compaction: None,
            boundaries: false,
            answerers: Answerers::default(),
            suspends: false,
            observers: 0,
        }
    }

    /// Takes the line if it belongs here.
    pub(crate) fn takes(&mut self, line: &str) -> bool {
        let mut words = Words::new(line);
        match words.next() {
            "limits" => self.limits(&mut words),
            "least_log" => self.least_log = true,
            "deadlines" => self.deadlines(&mut words),
            "retry" => self.retry(&mut words),
            "compaction" => self.compaction = Some(crate::additions::policy(&mut words)),
            "boundaries" => self.boundaries = true,
            "pointer" => self.pointer = Some(words.text()),
            "facts" => self.facts.push(words.text()),
            "tool_spec" => self.tools.push(Arc::new(tool(&mut words))),
            "history_bounds" => {
                while let Some((name, value)) = words.pair() {
                    match name {
                        "messages" => self.bounds.messages = count(value),
                        _ => self.bounds.bytes = number(value),
                    }
                }
            }
            "history" => {
                let role = if words.next() == "assistant" { Role::Assistant } else { Role::User };
                self.history.push((role, words.text()));
            }
            "revision" => self.revision = number(words.next()),
            "unattended" => self.reader = Reader::Unattended,
            "cancelled" => self.cancelled = true,
            "suspends" => self.suspends = true,
            "observers" => self.observers = small(words.next()),
            "answerers" => self.answerers = answerers(&mut words),
            _ => return false,
        }
        true
    }

    fn limits(&mut self, words: &mut Words<'_>) {
        let limits = &mut self.limits;
        while let Some((name, value)) = words.pair() {
            match name {
                "event_capacity" => limits.event_capacity = count(value),
                "event_capacity_bytes" => limits.event_capacity_bytes = number(value),
                "log_events" => limits.log_events = count(value),
                "payload_bytes" => limits.payload_bytes = number(value),
                "response_bytes" => limits.response_bytes = number(value),
                "argument_bytes" => limits.argument_bytes = number(value),
                "calls" => limits.calls = count(value),
                "parts" => limits.parts = count(value),
                "input_bytes" => limits.input_bytes = number(value),
                "image_bytes" => limits.image_bytes = count(value),
                "delta_bytes" => limits.delta_bytes = number(value),
                "tool_output_bytes" => limits.tool_output_bytes = number(value),
                "progress_bytes" => limits.progress_bytes = number(value),
                "error_bytes" => limits.error_bytes = number(value),
                "facts" => limits.facts = small(value),
                "fact_bytes" => limits.fact_bytes = number(value),
                "parallel_tools" => limits.parallel_tools = count(value),
                "steps" => limits.steps = small(value),
                "preparations" => limits.preparations = count(value),
                "open_questions" => limits.open_questions = count(value),
                "question_bytes" => limits.question_bytes = number(value),
                "answer_bytes" => limits.answer_bytes = number(value),
                "approvals" => limits.approvals = count(value),
                "steers" => limits.steers = count(value),
                "steer_bytes" => limits.steer_bytes = number(value),
                "boundary_bytes" => limits.boundary_bytes = number(value),
                "late" => limits.late = count(value),
                other => panic!("there is no limit {other:?}"),
            }
        }
    }

    fn deadlines(&mut self, words: &mut Words<'_>) {
        let deadlines = &mut self.deadlines;
        while let Some((name, value)) = words.pair() {
            let value = (value != "none").then(|| span(value));
            match name {
                "first_item" => deadlines.first_item = value,
                "idle" => deadlines.idle = value,
                "attempt" => deadlines.attempt = value,
                "model_call" => deadlines.model_call = value,
                "tool" => deadlines.tool = value,
                "host_input" => deadlines.host_input = value,
                "compaction" => deadlines.compaction = value,
                "finalization" => deadlines.finalization = value,
                "run" => deadlines.run = value,
                other => panic!("there is no deadline {other:?}"),
            }
        }
    }

    fn retry(&mut self, words: &mut Words<'_>) {
        let retry = &mut self.retry;
        while let Some((name, value)) = words.pair() {
            match name {
                "attempts" => retry.attempts = small(value),
                "first_wait" => retry.first_wait = span(value),
                "hint_cap" => retry.hint_cap = span(value),
                "give_up_hint" => retry.give_up_hint = span(value),
                "malformed" => retry.malformed = small(value),
                "invalid_turns" => retry.invalid_turns = small(value),
                other => panic!("there is no {other:?} in a retry policy"),
            }
        }
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        let mut limits = self.limits.clone();
        if self.least_log {
            let roomy = Config::new(limits.clone()).expect("limits that fit together");
            (limits.log_events, limits.log_bytes) = (roomy.min_log_events(), roomy.min_log_bytes());
        }
        let config = Config::new(limits).expect("limits that fit together");
        let config = config.deadlines(self.deadlines).and_then(|config| config.retry(self.retry));
        let mut config = config.expect("valid deadlines and retries");
        if let Some(policy) = self.compaction {
            config = config.compaction(policy).expect("a valid policy");
        }
        if let Some(pointer) = &self.pointer {
            config = config.limits_pointer(pointer);
        }
        Arc::new(config.fact_namespaces(self.facts.iter().map(String::as_str)))
    }

    pub(crate) fn run_id() -> RunId {
        RunId::new("run").expect("an id")
    }

    pub(crate) fn start(&self, text: String) -> Start {
        let mut history = History::new(self.bounds);
        let free = MessageBounds { parts: 8, text: u64::MAX, image: usize::MAX };
        for (at, (role, text)) in self.history.iter().enumerate() {
            let id = MessageId::new(format!("before.{at}")).expect("an id");
            let parts = vec![Part::Text(text.into())];
            let message = Message::new(id, *role, parts, &free).expect("a message");
            history.push(message).expect("a history");
        }
        let session = SessionId::new("session").expect("an id");
        let input = vec![Part::Text(text.into())];
        Start::new(session, Revision(self.revision), history, input, Arc::new(ModelSpec::new("model")))
            .tools(self.tools.clone())
            .reader(self.reader)
            .cancelled(self.cancelled)
            .boundaries(self.boundaries)
            .compacts(self.compaction.is_some())
            .answerers(self.answerers)
            .suspends(self.suspends)
            .observers(self.observers)
    }
}

/// Who may answer: any of `handle` and `responder`, or `nobody`.
pub(crate) fn answerers(words: &mut Words<'_>) -> Answerers {
    let mut answerers = Answerers { handle: false, responder: false };
    while !words.is_empty() {
        match words.next() {
            "handle" => answerers.handle = true,
            "responder" => answerers.responder = true,
            "nobody" => {}
            other => panic!("{other:?} answers nothing"),
        }
    }
    answerers
}

/// `NAME`, then what it touches as [`people::access`] reads it (exclusive without a word), `deadline=SPAN`, a policy
/// (`approval`, `ask`, `deny=REASON`), `fatal`, `prepares`, `client`, `hidden`.
fn tool(words: &mut Words<'_>) -> ToolSpec {
    let mut spec = ToolSpec::new(words.next(), "a tool", "{}").expect("a tool's name");
    while !words.is_empty() {
        if let Some(access) = people::access(words) {
            spec = spec.access(access);
            continue;
        }
        let word = words.next();
        spec = match word.split_once('=').unwrap_or((word, "")) {
            ("deadline", value) => spec.deadline(span(value)),
            ("approval", _) => spec.needs_approval(),
            ("ask", _) => spec.approval(ApprovalPolicy::Ask),
            ("deny", reason) => spec.approval(ApprovalPolicy::Deny { reason: reason.into() }),
            ("fatal", _) => spec.fatal(),
            ("prepares", _) => spec.prepares(),
            ("client", _) => spec.client(),
            ("hidden", _) => spec.hidden(),
            (other, _) => panic!("a tool has no {other:?}"),
        };
    }
    spec
}

fn count(word: &str) -> usize {
    usize::try_from(number(word)).expect("a number that fits")
}

fn small(word: &str) -> u32 {
    u32::try_from(number(word)).expect("a number that fits")
}
