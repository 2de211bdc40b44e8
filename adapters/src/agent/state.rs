//! The state of a run, and how the reader learns of its changes.

use super::context::RunContext;
use super::error::Result;
use super::traits::AgentState;
use crate::core::agui::patch::diff;
use crate::core::agui::wire::Wire;
use crate::core::agui::{Event, RunAgentInput};
use crate::core::json::Len;
use serde_json::{Map, Value};
use std::any::TypeId;

/// Whether there is state, and whether it may have changed since it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Published {
    /// There is none.
    Stateless,
    /// What was published holds.
    Clean,
    /// It was borrowed to be changed.
    Dirty,
}

fn is_stateless<S: 'static>() -> bool {
    TypeId::of::<S>() == TypeId::of::<()>()
}

impl Published {
    pub(super) fn of<S: 'static>() -> Self {
        if is_stateless::<S>() { Self::Stateless } else { Self::Clean }
    }

    pub(super) fn is_kept(self) -> bool {
        self != Self::Stateless
    }
}

/// The state that an input begins with: absent, null and `{}` are the default.
pub(super) fn decode<S: AgentState>(input: &RunAgentInput) -> Result<S> {
    match &input.state {
        _ if is_stateless::<S>() => Ok(S::default()),
        None | Some(Value::Null) => Ok(S::default()),
        Some(Value::Object(members)) if members.is_empty() => Ok(S::default()),
        Some(state) => Ok(S::deserialize(state)?),
    }
}

fn length(event: &Event) -> u64 {
    let mut length = Len(0);
    event.write(&mut length);
    length.0
}

impl<S: AgentState> RunContext<S> {
    /// The state.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The state, to be changed. What was changed goes out before the next event, and with a successful end.
    pub fn state_mut(&mut self) -> &mut S {
        if self.published == Published::Clean {
            self.published = Published::Dirty;
        }
        &mut self.state
    }

    /// Changes the state and publishes it.
    ///
    /// # Errors
    ///
    /// As [`publish_state`](Self::publish_state); the state is changed all the same.
    pub fn update_state<R>(&mut self, change: impl FnOnce(&mut S) -> R) -> Result<R> {
        let result = change(self.state_mut());
        self.flush()?;
        Ok(result)
    }

    /// Puts another state in the place of this one and publishes it.
    ///
    /// # Errors
    ///
    /// As [`publish_state`](Self::publish_state).
    pub fn set_state(&mut self, state: S) -> Result<()> {
        *self.state_mut() = state;
        self.flush()
    }

    /// Has the reader hold this state: by `STATE_SNAPSHOT` the first time, then by `STATE_DELTA` or a snapshot, whichever
    /// is shorter; by nothing if the reader has it. Cost is linear in the state.
    ///
    /// It ends what chunks without an id could continue.
    ///
    /// # Errors
    ///
    /// [`Json`](super::Error::Json) if the state cannot be converted, and those of [`emit`](Self::emit).
    pub fn publish_state(&mut self) -> Result<()> {
        if self.published == Published::Stateless {
            return Ok(());
        }
        let state = serde_json::to_value(&self.state)?;
        let event = match &self.sink.published {
            Some(known) if *known == state => None,
            Some(known) => {
                let delta = Event::state_delta(diff(known, &state));
                let snapshot = Event::state_snapshot(state);
                Some(if length(&delta) < length(&snapshot) { delta } else { snapshot })
            }
            None => Some(Event::state_snapshot(state)),
        };
        if let Some(event) = event {
            self.sink.emit(event)?;
        }
        self.published = Published::Clean;
        Ok(())
    }

    /// Publishes what was changed.
    #[inline]
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.published == Published::Dirty { self.publish_state() } else { Ok(()) }
    }

    /// An activity's content as JSON.
    pub(super) fn content(content: &impl serde::Serialize) -> Result<Map<String, Value>> {
        match serde_json::to_value(content)? {
            Value::Object(members) => Ok(members),
            _ => Err(crate::core::agui::ProtocolError::NotAnObject.into()),
        }
    }

    /// The event that says the change in fewer bytes.
    pub(super) fn shorter(a: Event, b: Event) -> Event {
        if length(&a) < length(&b) { a } else { b }
    }
}
