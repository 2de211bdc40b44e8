//! A whole stream that is written as one event a line, folded and told of as JSON.

use super::{Consumer, End, Folded};
use crate::agui::verify::{Rejected, Rule};
use crate::agui::wire::{Wire, write_value};
use crate::json::{self, Out};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Folds a stream of events that stand one on a line. Empty lines are no events.
///
/// # Errors
///
/// [`Rejected`] names the first event that breaks a rule. A stream that ends inside a run, or before one, breaks
/// [`Rule::Truncated`] at the number of its events: it has no outcome.
pub fn fold_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Folded, Rejected> {
    let mut consumer = Consumer::new();
    for line in lines.into_iter().filter(|line| !line.trim_ascii().is_empty()) {
        consumer.line(line, &mut |_| {})?;
    }
    let folded = consumer.finish();
    match folded.end {
        End::Finished(_) | End::Failed { .. } => Ok(folded),
        End::Truncated => {
            let detail = "the stream ends before its run does".into();
            Err(Rejected { at: folded.events, rule: Rule::Truncated, id: None, detail })
        }
    }
}

impl Folded {
    /// One JSON object: `messages`, `state`, `outcome` (whether the stream was consumed: `completed`, or `truncated`),
    /// `run` (how its last run ended: `type` is `success`, `interrupt`, `cancelled` or `error`, with what belongs to
    /// it; null for a truncated one) and `warnings` as texts.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        let mut object = json::Object::begin(&mut out);
        object.array("messages", self.thread.messages(), |out, message| message.write(out));
        write_value(object.key("state"), self.thread.state());
        let consumed = self.end != End::Truncated;
        object.str("outcome", if consumed { "completed" } else { "truncated" });
        self.end.write(object.key("run"));
        let warnings = self.warnings.list().iter().map(ToString::to_string);
        let more = Some(self.warnings.more()).filter(|more| *more > 0);
        let more = more.map(|more| alloc::format!("and {more} more"));
        object.array("warnings", warnings.chain(more), json::string);
        object.end();
        String::from_utf8(out).unwrap_or_default()
    }
}

impl End {
    fn write<O: Out>(&self, out: &mut O) {
        match self {
            Self::Finished(outcome) => outcome.write(out),
            Self::Failed { message, code } => {
                let mut object = json::Object::begin(out);
                object.str("type", "error").str("message", message).opt_str("code", code.as_deref());
                object.end();
            }
            Self::Truncated => out.push(b"null"),
        }
    }
}
