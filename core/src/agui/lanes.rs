//! Chunk lanes: which item a chunk opens or continues, and what ends one.
//!
//! The run's own agent and each subagent have a lane, in which at most one item is being put together from chunks.
//! Lanes go by the tag that an event carries. A plan changes nothing; what follows from it cannot fail.

use super::event::{Event, TextRole};
use super::verify::Rule;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// What streams in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Text,
    Call,
    Reasoning,
}

/// What an item was opened as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Opener {
    pub(crate) role: TextRole,
    /// The speaker's name, or the tool's.
    pub(crate) name: Option<String>,
    pub(crate) parent: Option<String>,
}

/// What an event says about the item that it opens or continues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said<'a> {
    pub(crate) role: Option<TextRole>,
    pub(crate) name: Option<&'a str>,
    pub(crate) parent: Option<&'a str>,
}

impl Opener {
    pub(crate) fn of(said: Said<'_>) -> Self {
        let (name, parent) = (said.name.map(str::to_owned), said.parent.map(str::to_owned));
        Self { role: said.role.unwrap_or_default(), name, parent }
    }

    /// The member in which `said` contradicts this; one that is absent contradicts nothing.
    pub(crate) fn contradicted(&self, said: Said<'_>) -> Option<&'static str> {
        let differs = |said: Option<&str>, is: &Option<String>| said.is_some() && said != is.as_deref();
        if said.role.is_some_and(|role| role != self.role) {
            Some("role")
        } else if differs(said.name, &self.name) {
            Some("name")
        } else if differs(said.parent, &self.parent) {
            Some("parentMessageId")
        } else {
            None
        }
    }
}

/// A chunk, whatever it is a chunk of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) kind: Kind,
    pub(crate) id: Option<&'a str>,
    pub(crate) tag: Option<&'a str>,
    pub(crate) said: Said<'a>,
}

impl<'a> Chunk<'a> {
    /// The event as a chunk, if it is one.
    pub(crate) fn of(event: &'a Event) -> Option<Self> {
        if let Event::TextMessageChunk(chunk) = event {
            let said = Said { role: chunk.role, name: chunk.name.as_deref(), parent: None };
            let (id, tag) = (chunk.message_id.as_deref(), chunk.subagent_run_id.as_deref());
            return Some(Self { kind: Kind::Text, id, tag, said });
        }
        if let Event::ToolCallChunk(chunk) = event {
            let (name, parent) = (chunk.tool_call_name.as_deref(), chunk.parent_message_id.as_deref());
            let (id, tag) = (chunk.tool_call_id.as_deref(), chunk.subagent_run_id.as_deref());
            return Some(Self { kind: Kind::Call, id, tag, said: Said { role: None, name, parent } });
        }
        if let Event::ReasoningMessageChunk(chunk) = event {
            let (id, tag) = (chunk.message_id.as_deref(), chunk.subagent_run_id.as_deref());
            return Some(Self { kind: Kind::Reasoning, id, tag, said: Said::default() });
        }
        None
    }
}

/// An item that is being put together from chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) opener: Opener,
}

/// What a chunk does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plan<'a> {
    /// Opens an item in the lane of its tag, closing the one that is there.
    Open,
    /// Continues the item of a lane.
    Continue { id: &'a str, lane: Option<&'a str> },
}

/// Why a chunk does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    pub(crate) what: &'static str,
    pub(crate) id: Option<String>,
}

fn fault<T>(rule: Rule, what: &'static str, id: Option<&str>) -> Result<T, Fault> {
    Err(Fault { rule, what, id: id.map(str::to_owned) })
}

/// Which lanes an event ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends<'a> {
    Nothing,
    /// The lane of this tag, and the item of this kind and id wherever it is.
    Lane(Option<&'a str>, Option<(Kind, &'a str)>),
    All,
}

/// What an event that is no chunk ends.
pub(crate) fn ends(event: &Event) -> Ends<'_> {
    let lane = Ends::Lane;
    let tag = event.subagent_run_id();
    match event {
        Event::TextMessageStart(e) => lane(tag, Some((Kind::Text, &e.message_id))),
        Event::TextMessageContent(e) => lane(tag, Some((Kind::Text, &e.message_id))),
        Event::TextMessageEnd(e) => lane(tag, Some((Kind::Text, &e.message_id))),
        Event::ToolCallStart(e) => lane(tag, Some((Kind::Call, &e.tool_call_id))),
        Event::ToolCallArgs(e) => lane(tag, Some((Kind::Call, &e.tool_call_id))),
        Event::ToolCallEnd(e) => lane(tag, Some((Kind::Call, &e.tool_call_id))),
        Event::ToolCallResult(e) => lane(tag, Some((Kind::Call, &e.tool_call_id))),
        Event::ReasoningMessageStart(e) => lane(tag, Some((Kind::Reasoning, &e.message_id))),
        Event::ReasoningMessageContent(e) => lane(tag, Some((Kind::Reasoning, &e.message_id))),
        Event::ReasoningMessageEnd(e) => lane(tag, Some((Kind::Reasoning, &e.message_id))),
        Event::StateSnapshot(_)
        | Event::StateDelta(_)
        | Event::StepStarted(_)
        | Event::StepFinished(_)
        | Event::Custom(_)
        | Event::ReasoningStart(_)
        | Event::ReasoningEnd(_) => lane(tag, None),
        Event::SubagentFinished(e) => lane(Some(&e.subagent_run_id), None),
        Event::SubagentError(e) => lane(Some(&e.subagent_run_id), None),
        Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_) | Event::MessagesSnapshot(_) => {
            Ends::All
        }
        // They stand aside. Chunks are planned instead.
        Event::Raw(_)
        | Event::ActivitySnapshot(_)
        | Event::ActivityDelta(_)
        | Event::ReasoningEncryptedValue(_)
        | Event::SubagentStarted(_)
        | Event::TextMessageChunk(_)
        | Event::ToolCallChunk(_)
        | Event::ReasoningMessageChunk(_) => Ends::Nothing,
    }
}

/// The lanes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lanes {
    parent: Option<Item>,
    subagents: BTreeMap<String, Item>,
    /// The lane of each item, so that finding one by its id does not walk the lanes.
    places: BTreeMap<Kind, BTreeMap<String, Option<String>>>,
}

impl Lanes {
    pub(crate) fn is_empty(&self) -> bool {
        self.parent.is_none() && self.subagents.is_empty()
    }

    fn item(&self, lane: Option<&str>) -> Option<&Item> {
        match lane {
            None => self.parent.as_ref(),
            Some(tag) => self.subagents.get(tag),
        }
    }

    /// The lane in which an item is being put together.
    fn place(&self, kind: Kind, id: &str) -> Option<Option<&str>> {
        self.places.get(&kind)?.get(id).map(Option::as_deref)
    }

    /// Finds out what a chunk does.
    pub(crate) fn plan<'a>(&'a self, chunk: Chunk<'a>) -> Result<Plan<'a>, Fault> {
        let lane = self.lane_of(chunk)?;
        let item = self.item(lane).filter(|item| item.kind == chunk.kind);
        match (chunk.id, item) {
            (None, None) => fault(Rule::Chunk, "a first chunk needs an id", None),
            (None, Some(item)) => self.continues(lane, item, chunk),
            (Some(id), Some(item)) if item.id == id => self.continues(lane, item, chunk),
            (Some(id), _) => {
                if self.place(chunk.kind, id).is_some() {
                    return fault(Rule::OwnerMismatch, "the item is another owner's", Some(id));
                }
                if chunk.kind == Kind::Call && chunk.said.name.is_none() {
                    return fault(Rule::Chunk, "a call's first chunk needs the tool's name", Some(id));
                }
                Ok(Plan::Open)
            }
        }
    }

    /// The lane of a chunk: its tag's, else that of its item, else the run's own agent's, else the only one.
    fn lane_of<'a>(&'a self, chunk: Chunk<'a>) -> Result<Option<&'a str>, Fault> {
        if chunk.tag.is_some() {
            return Ok(chunk.tag);
        }
        if let Some(id) = chunk.id {
            return Ok(self.place(chunk.kind, id).unwrap_or(None));
        }
        if self.parent.as_ref().is_some_and(|item| item.kind == chunk.kind) {
            return Ok(None);
        }
        // The run's own agent has none of this kind, so that each of these is a subagent's.
        let mut places = self.places.get(&chunk.kind).into_iter().flat_map(BTreeMap::values);
        match (places.next(), places.next()) {
            (Some(lane), None) => Ok(lane.as_deref()),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => {
                fault(Rule::Chunk, "several items are open, and the chunk names none", None)
            }
        }
    }

    fn continues<'a>(
        &'a self,
        lane: Option<&'a str>,
        item: &'a Item,
        chunk: Chunk<'a>,
    ) -> Result<Plan<'a>, Fault> {
        match item.opener.contradicted(chunk.said) {
            Some("role") => {
                fault(Rule::Chunk, "the chunk says another role than the first one", Some(&item.id))
            }
            Some("name") => {
                fault(Rule::Chunk, "the chunk says another name than the first one", Some(&item.id))
            }
            Some(_) => fault(Rule::Chunk, "the chunk says another parent than the first one", Some(&item.id)),
            None => Ok(Plan::Continue { id: &item.id, lane }),
        }
    }

    /// Takes the items out that an event ends: the run's own agent's first, then by tag.
    pub(crate) fn end(&mut self, ends: Ends<'_>) -> Vec<(Option<String>, Item)> {
        let mut ended = Vec::new();
        match ends {
            Ends::Nothing => {}
            Ends::Lane(tag, named) => {
                let place =
                    named.and_then(|(kind, id)| self.place(kind, id)).map(|lane| lane.map(str::to_owned));
                ended.extend(self.take(tag));
                if let Some(lane) = place {
                    ended.extend(self.take(lane.as_deref()));
                }
            }
            Ends::All => {
                ended.extend(self.parent.take().map(|item| (None, item)));
                ended.extend(
                    core::mem::take(&mut self.subagents).into_iter().map(|(tag, item)| (Some(tag), item)),
                );
                *self = Self::default();
            }
        }
        ended
    }

    fn take(&mut self, lane: Option<&str>) -> Option<(Option<String>, Item)> {
        let (tag, item) = match lane {
            None => (None, self.parent.take()?),
            Some(tag) => {
                let (tag, item) = self.subagents.remove_entry(tag)?;
                (Some(tag), item)
            }
        };
        if let Some(places) = self.places.get_mut(&item.kind) {
            places.remove(&item.id);
        }
        Some((tag, item))
    }

    /// Puts an item into a lane, and returns the one that it ends.
    pub(crate) fn open(&mut self, chunk: Chunk<'_>) -> Option<(Option<String>, Item)> {
        let (lane, id) = (chunk.tag, chunk.id.unwrap_or_default());
        let ended = self.take(lane);
        let item = Item { kind: chunk.kind, id: id.to_owned(), opener: Opener::of(chunk.said) };
        self.places.entry(chunk.kind).or_default().insert(id.to_owned(), lane.map(str::to_owned));
        match lane {
            None => self.parent = Some(item),
            Some(tag) => {
                self.subagents.insert(tag.to_owned(), item);
            }
        }
        ended
    }
}
