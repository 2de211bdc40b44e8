//! Agents in a build without the verifier.

use super::{LocalAgent, Result, RunContext, run_local};
use crate::core::agui::{Event, RunAgentInput, RunOutcome, Verifier};
use futures_lite::StreamExt;
use futures_lite::future::block_on;

struct Careless;

impl LocalAgent for Careless {
    type State = ();

    async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
        cx.emit(Event::text_message_content("m", "never opened"))?;
        let mut step = cx.step("s")?;
        step.emit(Event::run_finished("t", "r", None))?;
        assert!(step.emit(Event::custom("acme.late", 1)).is_err_and(|error| error.is_disconnected()));
        Ok(RunOutcome::Success)
    }
}

// proves: V5
#[test]
fn nothing_is_verified_and_a_run_still_has_one_end() {
    assert_eq!(size_of::<Verifier>(), 0);
    let events = run_local(Careless, RunAgentInput::new("t", "r"));
    let events: Vec<Event> = block_on(events.map(|event| event.unwrap()).collect());
    let types: Vec<&str> = events.iter().map(|event| event.event_type().as_str()).collect();
    assert_eq!(types, ["RUN_STARTED", "TEXT_MESSAGE_CONTENT", "STEP_STARTED", "RUN_FINISHED"]);
}
