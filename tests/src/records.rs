//! Logs as text, and that what was written is read as it was.

use runloom_core::event::Envelope;
use runloom_core::id::RunId;
use runloom_core::record::{RecordBounds, RecordedLog};

/// The events as a recorded log.
pub fn to_jsonl<'a>(run: &RunId, events: impl IntoIterator<Item = &'a Envelope>) -> String {
    events.into_iter().map(|envelope| envelope.to_json(run) + "\n").collect()
}

/// Writes the events, reads them back and writes them again (L6).
///
/// # Errors
///
/// What is refused, or the first line that comes back otherwise.
pub fn round_trip<'a>(
    run: &RunId,
    events: impl IntoIterator<Item = &'a Envelope> + Clone,
) -> Result<RecordedLog, String> {
    let text = to_jsonl(run, events.clone());
    let log =
        RecordedLog::read(text.as_bytes(), &RecordBounds::default()).map_err(|error| error.to_string())?;
    let again = log.to_jsonl();
    if again != text {
        let differs = text.lines().zip(again.lines()).find(|(a, b)| a != b);
        return Err(format!("it comes back otherwise: {differs:?}"));
    }
    for (envelope, event) in events.into_iter().zip(log.events()) {
        if (envelope.seq, envelope.at, envelope.event.kind()) != (event.seq, event.at, event.kind) {
            return Err(format!("{envelope:?} came back as {event:?}"));
        }
    }
    Ok(log)
}
