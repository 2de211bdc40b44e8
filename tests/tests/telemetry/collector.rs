//! A subscriber that keeps spans and their fields.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span and what was recorded of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) name: &'static str,
    pub(crate) parent: Option<&'static str>,
    pub(crate) closed: u32,
    fields: BTreeMap<&'static str, String>,
    handles: u32,
    events: Vec<String>,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// Spans in the order in which they were made; ids count from 1.
#[derive(Clone, Default)]
pub(crate) struct Collector {
    state: Arc<Mutex<Vec<Seen>>>,
}

impl Collector {
    pub(crate) fn spans(&self) -> Vec<Seen> {
        self.state.lock().unwrap().clone()
    }

    fn with<R>(&self, id: &Id, f: impl FnOnce(&mut Seen) -> R) -> R {
        let at = usize::try_from(id.into_u64() - 1).unwrap();
        f(&mut self.state.lock().unwrap()[at])
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "runloom" || metadata.name() == "request"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let parent = attributes.parent().map(|parent| self.with(parent, |seen| seen.name));
        let mut seen = Seen { name: attributes.metadata().name(), parent, handles: 1, ..Seen::default() };
        attributes.record(&mut seen);
        let mut state = self.state.lock().unwrap();
        state.push(seen);
        Id::from_u64(state.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.with(span, |seen| values.record(seen));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some(parent) = event.parent() {
            let mut fields = Seen::default();
            event.record(&mut fields);
            self.with(parent, |seen| seen.events.push(format!("{:?}", fields.fields)));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        self.with(id, |seen| seen.handles += 1);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.with(&id, |seen| {
            seen.handles -= 1;
            seen.closed += u32::from(seen.handles == 0);
            seen.handles == 0
        })
    }
}
