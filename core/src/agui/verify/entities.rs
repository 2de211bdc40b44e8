//! What a verifier remembers of a run: who owns what, and what is open.

use crate::agui::event::TextRole;
use crate::agui::lanes::{Opener, Said};
use crate::agui::message::Message;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

/// An invocation, or the run's own agent.
pub(super) type Owner = Option<Box<str>>;

/// Whether an event with this tag may touch what the owner has. An absent tag agrees with any owner.
pub(super) fn agrees(owner: &Owner, tag: Option<&str>) -> bool {
    tag.is_none() || tag == owner.as_deref()
}

/// A text message, or a message that was made otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) owner: Owner,
    /// When it was opened by a start.
    pub(super) open: Option<u64>,
    /// What it was opened as, or is in the input or a snapshot.
    pub(super) opener: Option<Opener>,
}

/// A span of reasoning and a reasoning message: two name spaces, but one owner for an id.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasoning {
    pub(super) owner: Owner,
    pub(super) span: Option<u64>,
    pub(super) message: Option<u64>,
}

/// A tool call.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub(super) owner: Owner,
    pub(super) open: Option<u64>,
    pub(super) opener: Option<Opener>,
    /// When this run started it first.
    pub(super) started: Option<u64>,
    pub(super) answered: bool,
}

/// An invocation that was announced.
#[derive(Clone, Debug)]
pub(super) struct Subagent {
    /// When, while it is active.
    pub(super) active: Option<u64>,
}

/// Open steps, by owner and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    own: BTreeMap<String, u64>,
    subagents: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Steps {
    pub(super) fn is_open(&self, owner: Option<&str>, name: &str) -> bool {
        let steps = match owner {
            None => Some(&self.own),
            Some(tag) => self.subagents.get(tag),
        };
        steps.is_some_and(|steps| steps.contains_key(name))
    }

    pub(super) fn open(&mut self, owner: Option<&str>, name: &str, at: u64) {
        let steps = match owner {
            None => &mut self.own,
            Some(tag) => self.subagents.entry(tag.into()).or_default(),
        };
        steps.insert(name.into(), at);
    }

    pub(super) fn close(&mut self, owner: Option<&str>, name: &str) {
        match owner {
            None => {
                self.own.remove(name);
            }
            Some(tag) => {
                if let Some(steps) = self.subagents.get_mut(tag) {
                    steps.remove(name);
                    if steps.is_empty() {
                        self.subagents.remove(tag);
                    }
                }
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Option<&str>, &str, u64)> {
        let own = self.own.iter().map(|(name, at)| (None, name.as_str(), *at));
        let theirs = self.subagents.iter().flat_map(|(tag, steps)| {
            steps.iter().map(move |(name, at)| (Some(tag.as_str()), name.as_str(), *at))
        });
        own.chain(theirs)
    }
}

/// What a message that is there already was opened as.
fn opener(role: TextRole, name: &Option<String>) -> Option<Opener> {
    Some(Opener { role, name: name.clone(), parent: None })
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Entities {
    pub(super) texts: BTreeMap<String, Text>,
    pub(super) reasoning: BTreeMap<String, Reasoning>,
    pub(super) calls: BTreeMap<String, Call>,
    pub(super) activities: BTreeMap<String, Owner>,
    pub(super) steps: Steps,
    pub(super) subagents: BTreeMap<String, Subagent>,
}

impl Entities {
    /// How many ids are remembered. Open steps count by their names.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
            + self.reasoning.len()
            + self.calls.len()
            + self.activities.len()
            + self.subagents.len()
            + self.steps.own.len()
            + self.steps.subagents.len()
    }

    /// Makes a message known. A snapshot says who owns it; an input only where nothing else has said so.
    pub(super) fn know(&mut self, message: &Message, authoritative: bool) {
        let (id, owner) = (message.id(), message.subagent_run_id());
        match message {
            Message::Activity(_) => {
                let activity = self.activities.entry(id.into());
                let fresh = matches!(activity, alloc::collections::btree_map::Entry::Vacant(_));
                let place = activity.or_default();
                if fresh || authoritative {
                    *place = owner.map(Into::into);
                }
            }
            Message::Reasoning(_) => {
                let fresh = !self.reasoning.contains_key(id);
                let place = self.reasoning.entry(id.into()).or_default();
                if fresh || authoritative {
                    place.owner = owner.map(Into::into);
                }
            }
            Message::Developer(m) => {
                self.know_text(id, owner, opener(TextRole::Developer, &m.name), authoritative);
            }
            Message::System(m) => {
                self.know_text(id, owner, opener(TextRole::System, &m.name), authoritative);
            }
            Message::User(m) => self.know_text(id, owner, opener(TextRole::User, &m.name), authoritative),
            Message::Assistant(assistant) => {
                self.know_text(id, owner, opener(TextRole::Assistant, &assistant.name), authoritative);
                for call in &assistant.tool_calls {
                    let fresh = !self.calls.contains_key(&call.id);
                    let place = self.calls.entry(call.id.clone()).or_default();
                    if fresh || authoritative {
                        place.owner = owner.map(Into::into);
                    }
                }
            }
            Message::Tool(tool) => {
                self.know_text(id, owner, None, authoritative);
                if let Some(call) = self.calls.get_mut(&tool.tool_call_id) {
                    call.answered = true;
                }
            }
        }
    }

    fn know_text(&mut self, id: &str, owner: Option<&str>, opener: Option<Opener>, authoritative: bool) {
        let fresh = !self.texts.contains_key(id);
        let place = self.texts.entry(id.into()).or_default();
        if fresh || authoritative {
            place.owner = owner.map(Into::into);
            place.opener = opener;
        }
    }

    /// The owner that a call's opener asserts: its tag, else its parent message's owner; absent if neither says.
    pub(super) fn asserted<'a>(&'a self, tag: Option<&'a str>, said: Said<'a>) -> Option<Option<&'a str>> {
        match tag {
            Some(tag) => Some(Some(tag)),
            None => {
                said.parent.and_then(|parent| self.texts.get(parent)).map(|parent| parent.owner.as_deref())
            }
        }
    }
}
