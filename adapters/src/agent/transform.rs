//! What stands between an agent and its stream.

use crate::core::agui::Event;
use crate::panics::caught;
use std::fmt;

/// Changes events on their way out: adds, drops, replaces them.
///
/// It sees every event of the run in order, and what it puts out is verified as if the agent had emitted it (V3). It
/// cannot lose the run's start and end: where what it makes of one lacks an event of that type, or breaks the order, the
/// original goes out, and so where it makes a cancelled run look like another; what it adds behind an end is dropped. A
/// panic in one fails the run, and all of them are left out from there on.
///
/// A function from an event and the place for what becomes of it is a transformer too:
///
/// ```
/// use runloom::agui::{Event, server::Transformer};
///
/// let mut quiet = |event: Event, out: &mut Vec<Event>| {
///     if !matches!(event, Event::Custom(_)) {
///         out.push(event);
///     }
/// };
/// let mut out = Vec::new();
/// quiet.transform(Event::custom("acme.tick", 1), &mut out);
/// assert!(out.is_empty());
/// ```
pub trait Transformer: Send {
    /// Takes one event and appends what becomes of it.
    fn transform(&mut self, event: Event, out: &mut Vec<Event>);
}

impl<F: FnMut(Event, &mut Vec<Event>) + Send> Transformer for F {
    fn transform(&mut self, event: Event, out: &mut Vec<Event>) {
        self(event, out);
    }
}

/// Transformers in order: each takes what the one before it put out.
#[derive(Default)]
pub(super) struct Chain {
    links: Vec<Box<dyn Transformer>>,
    /// One of them panicked.
    broken: bool,
}

impl Chain {
    pub(super) fn push(&mut self, link: Box<dyn Transformer>) {
        self.links.push(link);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether one of them panicked, so that none is asked any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// What becomes of an event. A panic goes to the caller, who is inside of the agent.
    pub(super) fn apply(&mut self, event: Event) -> Vec<Event> {
        if self.is_empty() {
            return vec![event];
        }
        let (mut events, mut out) = (vec![event], Vec::new());
        let mut links = std::mem::take(&mut self.links);
        self.broken = true;
        for link in &mut links {
            for event in events.drain(..) {
                link.transform(event, &mut out);
            }
            std::mem::swap(&mut events, &mut out);
        }
        // Not reached by a panic: what is half-way through an event is not asked again.
        (self.links, self.broken) = (links, false);
        events
    }

    /// As [`Chain::apply`], where a panic must not get out: the event is then left as it is.
    pub(super) fn apply_caught(&mut self, event: Event) -> Vec<Event> {
        if self.is_empty() {
            return vec![event];
        }
        let kept = event.clone();
        caught(|| self.apply(event)).unwrap_or_else(|| vec![kept])
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chain").field(&self.links.len()).finish()
    }
}
