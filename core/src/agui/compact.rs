//! Fewer events that say the same.

use super::Event;
use super::event::Base;
use super::lanes::Kind;
use alloc::string::String;
use alloc::vec::Vec;

/// Puts neighbouring pieces of one message or call together, so that a log of the result is shorter and says the same.
///
/// Only neighbours are joined, and nothing is moved: whatever verifies, or folds, does so after it as before. Pieces that
/// carry a time, metadata or a provider's event stay as they are. Linear in the events.
pub fn compact(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for mut event in events {
        if let (Some(last), Some(next)) = (out.last_mut().and_then(piece), piece(&mut event))
            && (last.kind, &*last.id, &*last.owner) == (next.kind, &*next.id, &*next.owner)
        {
            last.delta.push_str(next.delta);
            continue;
        }
        out.push(event);
    }
    out
}

/// A piece that carries nothing but its text.
struct Piece<'a> {
    kind: Kind,
    id: &'a mut String,
    owner: &'a mut Option<String>,
    delta: &'a mut String,
}

fn piece(event: &mut Event) -> Option<Piece<'_>> {
    if *event.base() != Base::default() {
        return None;
    }
    let (kind, id, owner, delta) = if let Event::TextMessageContent(e) = event {
        (Kind::Text, &mut e.message_id, &mut e.subagent_run_id, &mut e.delta)
    } else if let Event::ToolCallArgs(e) = event {
        (Kind::Call, &mut e.tool_call_id, &mut e.subagent_run_id, &mut e.delta)
    } else if let Event::ReasoningMessageContent(e) = event {
        (Kind::Reasoning, &mut e.message_id, &mut e.subagent_run_id, &mut e.delta)
    } else {
        return None;
    };
    Some(Piece { kind, id, owner, delta })
}
