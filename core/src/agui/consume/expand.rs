//! Expanding chunks into starts, contents and ends (V11).

use crate::agui::Event;
use crate::agui::event::{
    Base, ReasoningMessageContent, ReasoningMessageStart, TextMessageContent, TextMessageStart, ToolCallArgs,
    ToolCallStart,
};
use crate::agui::lanes::{Chunk, Item, Kind, Lanes, Plan, ends};
use crate::agui::verify::Rule;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// Why a chunk cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk breaks rule `{rule}`: {what}")]
pub struct ExpandError {
    /// The rule.
    pub rule: Rule,
    /// What is wrong.
    pub what: &'static str,
    /// The id that it is about.
    pub id: Option<String>,
}

/// Turns chunks into the events that they stand for, and passes all others through.
///
/// An event that ends an item which chunks were putting together comes after that item's end. Memory is one item for the
/// run's own agent and each subagent that sends chunks.
#[derive(Clone, Debug, Default)]
pub struct Expander {
    lanes: Lanes,
}

impl Expander {
    /// An expander at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends what the event stands for.
    ///
    /// # Errors
    ///
    /// [`ExpandError`] for a chunk that continues nothing or contradicts what it continues; nothing changes then.
    pub fn expand(&mut self, event: Event, out: &mut Vec<Event>) -> Result<(), ExpandError> {
        let Some(chunk) = Chunk::of(&event) else {
            if !self.lanes.is_empty() {
                out.extend(self.lanes.end(ends(&event)).into_iter().map(end));
            }
            out.push(event);
            return Ok(());
        };
        let plan = self.lanes.plan(chunk);
        let plan = plan.map_err(|fault| ExpandError { rule: fault.rule, what: fault.what, id: fault.id })?;
        let (id, owner, continues) = match plan {
            Plan::Open => (chunk.id.unwrap_or_default().to_owned(), chunk.tag.map(str::to_owned), false),
            Plan::Continue { id, lane } => (id.to_owned(), lane.map(str::to_owned), true),
        };
        if !continues {
            out.extend(self.lanes.open(chunk).map(end));
        }
        pieces(event, id, owner, continues, out);
        Ok(())
    }
}

/// The end of an item.
fn end((owner, item): (Option<String>, Item)) -> Event {
    let mut event = match item.kind {
        Kind::Text => Event::text_message_end(item.id),
        Kind::Call => Event::tool_call_end(item.id),
        Kind::Reasoning => Event::reasoning_message_end(item.id),
    };
    if let Some(place) = event.subagent_run_id_mut() {
        *place = owner;
    }
    event
}

/// What a chunk carries goes to the first event that is made from it; its time is not that event's.
fn carried(base: Base) -> Base {
    Base { timestamp: None, ..base }
}

fn pieces(event: Event, id: String, owner: Option<String>, continues: bool, out: &mut Vec<Event>) {
    let (mut start, delta, kind) = if let Event::TextMessageChunk(chunk) = event {
        let (message_id, role, name) = (id.clone(), chunk.role, chunk.name);
        let base = carried(chunk.base);
        let start = TextMessageStart { message_id, role, name, subagent_run_id: owner.clone(), base };
        (Event::from(start), chunk.delta, Kind::Text)
    } else if let Event::ToolCallChunk(chunk) = event {
        let start = ToolCallStart {
            tool_call_id: id.clone(),
            tool_call_name: chunk.tool_call_name.unwrap_or_default(),
            parent_message_id: chunk.parent_message_id,
            subagent_run_id: owner.clone(),
            base: carried(chunk.base),
        };
        (Event::from(start), chunk.delta, Kind::Call)
    } else if let Event::ReasoningMessageChunk(chunk) = event {
        let start = ReasoningMessageStart {
            message_id: id.clone(),
            subagent_run_id: owner.clone(),
            base: carried(chunk.base),
            ..ReasoningMessageStart::default()
        };
        (Event::from(start), chunk.delta, Kind::Reasoning)
    } else {
        return out.push(event);
    };
    let base = if continues {
        core::mem::take(start.base_mut())
    } else {
        out.push(start);
        Base::default()
    };
    // A chunk without text still brings what it carries to the item.
    if delta.is_none() && base == Base::default() {
        return;
    }
    let (delta, subagent_run_id) = (delta.unwrap_or_default(), owner);
    out.push(match kind {
        Kind::Text => TextMessageContent { message_id: id, delta, subagent_run_id, base }.into(),
        Kind::Call => ToolCallArgs { tool_call_id: id, delta, subagent_run_id, base }.into(),
        Kind::Reasoning => ReasoningMessageContent { message_id: id, delta, subagent_run_id, base }.into(),
    });
}
