//! What is opened and closes itself: at the end of its scope, when `?` leaves it, when the run is cancelled, when its
//! future is dropped, when something panics.
//!
//! Each borrows the context, so that what is opened inside is closed inside. Messages, reasoning and calls give state and
//! raw events only, so that no two of them overlap by accident; what has to overlap is emitted raw.

mod message;
mod reasoning;
mod step;
mod subagent;
mod tool_call;

pub use message::MessageHandle;
pub use reasoning::ReasoningHandle;
pub use step::StepGuard;
pub use subagent::SubagentHandle;
pub use tool_call::ToolCallHandle;

/// What a handle gives of its context.
macro_rules! reaches_context {
    ($handle:ident) => {
        impl<S: super::super::traits::AgentState> $handle<'_, S> {
            /// The state.
            pub fn state(&self) -> &S {
                self.cx.state()
            }

            /// The state, to be changed; see [`RunContext::state_mut`].
            pub fn state_mut(&mut self) -> &mut S {
                self.cx.state_mut()
            }

            /// Changes the state and publishes it; see [`RunContext::update_state`].
            ///
            /// # Errors
            ///
            /// As [`RunContext::update_state`].
            pub fn update_state<R>(&mut self, change: impl FnOnce(&mut S) -> R) -> Result<R> {
                self.cx.update_state(change)
            }

            /// Publishes the state; see [`RunContext::publish_state`].
            ///
            /// # Errors
            ///
            /// As [`RunContext::publish_state`].
            pub fn publish_state(&mut self) -> Result<()> {
                self.cx.publish_state()
            }

            /// Sends an event as it is; see [`RunContext::emit`].
            ///
            /// # Errors
            ///
            /// As [`RunContext::emit`].
            pub fn emit(&mut self, event: Event) -> Result<()> {
                self.cx.emit(event)
            }

            /// Waits for room in the queue; see [`RunContext::ready`].
            pub fn ready(&self) -> super::super::queue::Ready {
                self.cx.ready()
            }

            /// Whether the run was cancelled.
            pub fn is_cancelled(&self) -> bool {
                self.cx.is_cancelled()
            }

            /// The run's token.
            pub fn cancel_token(&self) -> crate::token::CancellationToken {
                self.cx.cancel_token()
            }
        }

        impl<S: super::super::traits::AgentState> std::fmt::Debug for $handle<'_, S> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($handle)).field("id", &self.id).finish_non_exhaustive()
            }
        }
    };
}

use reaches_context;

/// Puts the owner that a guard was opened under on the event that closes it, whatever is going on by then.
fn owned(mut event: crate::core::agui::Event, owner: Option<String>) -> crate::core::agui::Event {
    if let Some(place) = event.subagent_run_id_mut() {
        *place = owner;
    }
    event
}
