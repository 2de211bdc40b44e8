//! Results of tool calls: what the model is told, within bounds (T3, T5, T6, E7).

use super::{Ending, Flow};
use crate::config::{Limits, MAX_NOTE};
use crate::error::RunError;
use crate::host_input::AskError;
use crate::json::{encoded_len, encoded_prefix};
use crate::message::{Part, ToolCall, ToolResult, ToolStatus};
use crate::problem::{bounded, clean};
use crate::text::Text;
use crate::tool::{Certainty, ToolEnd, ToolFault, ToolOutput, ToolSpec, refuse};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

/// A result of one text that the engine wrote.
pub(crate) fn of_text(call: &ToolCall, status: ToolStatus, text: &str) -> Arc<ToolResult> {
    result(call, status, [Part::Text(Text::new(text))].into())
}

fn result(call: &ToolCall, status: ToolStatus, content: Arc<[Part]>) -> Arc<ToolResult> {
    Arc::new(ToolResult { call: call.call, id: call.id.clone(), name: call.name.clone(), status, content })
}

/// The result of a call that the run's end cut off.
pub(crate) fn interrupted(call: &ToolCall, started: bool) -> Arc<ToolResult> {
    if started {
        let text = "interrupted: the run ended while the tool ran; what it did is not known";
        of_text(call, ToolStatus::InterruptedOutcomeUnknown, text)
    } else {
        of_text(call, ToolStatus::InterruptedNotStarted, "interrupted: the tool was not started")
    }
}

/// The result of a call whose tool was lost with its process (H7).
pub(crate) fn lost(call: &ToolCall) -> Arc<ToolResult> {
    let text = "interrupted: the process ended while the tool ran; what it did is not known, and it was not run again";
    of_text(call, ToolStatus::InterruptedOutcomeUnknown, text)
}

/// The result of a call whose tool does not exist: it lists what there is (T6).
pub(crate) fn unavailable(call: &ToolCall, tools: &[Arc<ToolSpec>], limits: &Limits) -> Arc<ToolResult> {
    let mut text = String::from("there is no tool of this name; available: ");
    if tools.is_empty() {
        text.push_str("none");
    }
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&tool.name);
        if text.len() as u64 > limits.error_bytes {
            break;
        }
    }
    of_text(call, ToolStatus::Unavailable, &bounded(&text, limits.error_bytes))
}

/// The result of a call whose arguments are not the text of a JSON object; `None` if they are.
pub(crate) fn invalid_arguments(call: &ToolCall) -> Option<Arc<ToolResult>> {
    let text = call.arguments_json();
    let problem = match crate::read_json::check(text) {
        Err(error) => format!("the arguments are not valid JSON: {error}"),
        Ok(()) if text.starts_with('{') => return None,
        Ok(()) => String::from("the arguments are JSON, but not an object"),
    };
    Some(of_text(call, ToolStatus::InvalidArguments, encoded_prefix(&problem, 256)))
}

/// The result of a refused call: the model is told why (T2).
pub(crate) fn denied(call: &ToolCall, reason: &str, limits: &Limits) -> Arc<ToolResult> {
    let text = if reason.is_empty() { String::from("denied") } else { format!("denied: {reason}") };
    of_text(call, ToolStatus::Denied, &bounded(&text, limits.error_bytes))
}

/// The result of a call whose deadline passed.
pub(crate) fn timed_out(call: &ToolCall, deadline: Duration) -> Arc<ToolResult> {
    let text = format!("the tool did not finish within {} ms", deadline.as_millis());
    of_text(call, ToolStatus::TimedOut, &text)
}

/// The result of a tool's own end.
pub(crate) fn of_end(call: &ToolCall, end: ToolEnd, limits: &Limits) -> Arc<ToolResult> {
    match end {
        ToolEnd::Output(output) => of_output(call, output, limits),
        ToolEnd::Failed(fault) => of_fault(call, &fault, limits),
        ToolEnd::Panicked => of_text(call, ToolStatus::Panicked, "the tool panicked"),
        // A question is no end of the call.
        ToolEnd::Ask(_) => of_text(call, ToolStatus::Failure, "the tool asked without being heard"),
    }
}

pub(crate) fn of_fault(call: &ToolCall, fault: &ToolFault, limits: &Limits) -> Arc<ToolResult> {
    let certainty = match fault.certainty {
        Certainty::Definitive => "it had no further effect",
        Certainty::Uncertain => "it may have had effects",
    };
    let again = if fault.retryable { "it may be tried again" } else { "trying again will not help" };
    let text = format!("the tool failed ({certainty}; {again}): {}", fault.message);
    of_text(call, ToolStatus::Failure, &bounded(&text, limits.error_bytes))
}

fn of_output(call: &ToolCall, output: ToolOutput, limits: &Limits) -> Arc<ToolResult> {
    if let Some(refusal) = refuse(&output, limits) {
        return of_text(call, ToolStatus::Failure, &refusal);
    }
    let status = if output.is_error { ToolStatus::Failure } else { ToolStatus::Success };
    let total: u64 = output.content.iter().map(text_len).sum();
    if total <= limits.tool_output_bytes {
        let content =
            if output.content.is_empty() { [Part::Text(Text::EMPTY)].into() } else { output.content };
        return result(call, status, content);
    }
    result(call, status, cut(&output.content, total, limits).into())
}

fn text_len(part: &Part) -> u64 {
    match part {
        Part::Text(text) => encoded_len(text),
        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => 0,
    }
}

/// Cuts text to the bound, its mark included; images stay (T5).
fn cut(content: &[Part], total: u64, limits: &Limits) -> Vec<Part> {
    let mark = mark(total);
    let mut left = limits.tool_output_bytes.saturating_sub(encoded_len(&mark));
    let mut kept = Vec::with_capacity(content.len() + 1);
    let mut marked = false;
    for part in content {
        match part {
            Part::Text(text) if !marked => {
                let piece = encoded_prefix(text, left);
                left -= encoded_len(piece);
                if piece.len() < text.len() {
                    kept.push(Part::Text(Text::from(format!("{piece}{mark}"))));
                    marked = true;
                } else {
                    kept.push(part.clone());
                }
            }
            Part::Text(_) => {}
            Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {
                kept.push(part.clone());
            }
        }
    }
    kept
}

fn mark(total: u64) -> String {
    format!("\n[cut: the whole output has {total} bytes]")
}

/// Progress within its bound, with a mark where it was cut; cleaned of nothing, for it is the tool's own word.
pub(crate) fn progress(text: Text, limits: &Limits) -> Text {
    let total = encoded_len(&text);
    if total <= limits.progress_bytes {
        return text;
    }
    let mark = mark(total);
    let left = limits.progress_bytes.saturating_sub(encoded_len(&mark));
    Text::from(format!("{}{mark}", encoded_prefix(&text, left)))
}

/// The end of a run whose fatal tool has failed (T3). A panic is a result like any other (T4).
pub(crate) fn fatal(tool: Text, fault: &ToolFault) -> Flow {
    Flow::End(Ending::Failed(RunError::Tool { tool, message: clean(&fault.message, 512) }))
}

/// The result of a call whose tool took too long to look at it.
pub(crate) fn not_prepared(call: &ToolCall, deadline: Duration) -> Arc<ToolResult> {
    let text = format!("the tool was not prepared within {} ms; it was not started", deadline.as_millis());
    of_text(call, ToolStatus::Failure, &text)
}

/// The result of a call that the client was to execute and did not.
pub(crate) fn not_executed(call: &ToolCall, error: &AskError) -> Arc<ToolResult> {
    of_text(call, ToolStatus::Failure, &format!("the client did not execute the call: {error}"))
}

/// The result of a call that was begun before the run was suspended, and whose tool is not there any more.
pub(crate) fn tool_is_gone(call: &ToolCall) -> Arc<ToolResult> {
    of_text(call, ToolStatus::Failure, "the tool is not available any more; what it did before is not known")
}

/// A result behind a note that the call ran with other arguments than the model's.
pub(crate) fn noted(result: Arc<ToolResult>, edited: Option<&Text>) -> Arc<ToolResult> {
    let Some(arguments) = edited else { return result };
    let shown = encoded_prefix(arguments, MAX_NOTE / 2);
    let more = if shown.len() < arguments.len() { " (cut)" } else { "" };
    let note = format!("[the call ran with arguments that a person changed to: {shown}{more}]");
    let note = Part::Text(Text::from(note));
    let content = core::iter::once(note).chain(result.content.iter().cloned()).collect();
    Arc::new(ToolResult { content, ..(*result).clone() })
}
