//! Where ids of messages, calls and invocations come from: by default from the run's id and a count, so that equal runs
//! have equal ids.

use crate::core::agui::{Message, RunAgentInput};
use std::collections::BTreeSet;

/// What a new id is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EntityKind {
    /// A message: of text, of reasoning, a tool's result, an activity.
    Message,
    /// A tool call.
    ToolCall,
    /// An invocation of a subagent.
    Subagent,
}

/// A source of ids. A function from a kind to a text is one too.
///
/// Ids of messages must be unique in their thread, the others in their run.
pub trait IdSource: Send {
    /// The next id for something of this kind.
    fn next_id(&mut self, kind: EntityKind) -> String;
}

impl<F: FnMut(EntityKind) -> String + Send> IdSource for F {
    fn next_id(&mut self, kind: EntityKind) -> String {
        self(kind)
    }
}

/// `{run}-msg-1`, `{run}-call-1`, `{run}-sub-1` and so on, without those that the input holds already.
pub(super) struct Numbered {
    run: String,
    taken: BTreeSet<String>,
    last: [u64; 3],
}

impl Numbered {
    pub(super) fn new(input: &RunAgentInput) -> Self {
        let run = if input.run_id.is_empty() { "run" } else { &input.run_id };
        let ids = input.messages.iter().flat_map(ids_of);
        // A run's id is used once on its thread, so that this is empty but for a run that is made again.
        let taken = ids.filter(|id| id.starts_with(run)).map(str::to_owned).collect();
        Self { run: run.to_owned(), taken, last: [0; 3] }
    }
}

impl IdSource for Numbered {
    fn next_id(&mut self, kind: EntityKind) -> String {
        let (at, name) = match kind {
            EntityKind::Message => (0, "msg"),
            EntityKind::ToolCall => (1, "call"),
            EntityKind::Subagent => (2, "sub"),
        };
        loop {
            self.last[at] += 1;
            let id = format!("{}-{name}-{}", self.run, self.last[at]);
            if !self.taken.contains(&id) {
                return id;
            }
        }
    }
}

/// The ids that a message brings: its own, and those of its calls.
fn ids_of(message: &Message) -> impl Iterator<Item = &str> {
    let (own, calls) = match message {
        Message::Developer(message) => (&message.id, None),
        Message::System(message) => (&message.id, None),
        Message::Assistant(message) => (&message.id, Some(&message.tool_calls)),
        Message::User(message) => (&message.id, None),
        Message::Tool(message) => (&message.id, None),
        Message::Activity(message) => (&message.id, None),
        Message::Reasoning(message) => (&message.id, None),
    };
    std::iter::once(own.as_str()).chain(calls.into_iter().flatten().map(|call| call.id.as_str()))
}
