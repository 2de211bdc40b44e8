//! A run's events for people: one line each, and text as it comes.

use crate::report::Report;
use crate::screen::{Style, one_line, printable};
use runloom_core::event::{Event, ModelCompleted, ModelFailed, Position, ResetReason, StreamReset};
use runloom_core::message::{Part, ToolResult};
use runloom_core::time::Time;
use std::io::{self, Write};
use std::time::Duration;

/// Most characters of a value in a line.
const VALUE: usize = 100;
/// What stands left of text: the time and the label.
const MARGIN: usize = 24;

/// Writes a run's events as they come.
#[derive(Debug)]
pub struct Timeline<W> {
    out: W,
    style: Style,
    open: Option<Block>,
    report: Report,
}

/// Text that is coming in.
#[derive(Debug)]
struct Block {
    label: &'static str,
    at: Time,
    /// The part of the current line that is not written yet; only used if whole lines are wanted.
    line: String,
}

impl<W: Write> Timeline<W> {
    /// A timeline that writes to `out`.
    pub fn new(out: W, style: Style) -> Self {
        Self { out, style, open: None, report: Report::default() }
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn show(&mut self, at: Time, event: &Event) -> io::Result<()> {
        self.report.note(event);
        match event {
            Event::TextDelta(text) => self.text("text", at, text)?,
            Event::RefusalDelta(text) => self.text("refusal", at, text)?,
            Event::ReasoningDelta(text) | Event::ReasoningSummaryDelta(text) => {
                self.text("reasoning", at, text)?;
            }
            // The whole call follows as proposed, the whole usage in the report.
            Event::ToolCallDelta(_) | Event::UsageUpdated(_) | Event::ContextUpdated { .. } => {}
            event => {
                self.close()?;
                if let Some((label, detail)) = describe(event) {
                    self.line(at, &label, &detail)?;
                }
            }
        }
        self.out.flush()
    }

    /// Ends the timeline and hands over what was noted.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn end(mut self) -> io::Result<(W, Report)> {
        self.close()?;
        self.out.flush()?;
        Ok((self.out, self.report))
    }

    fn line(&mut self, at: Time, label: &str, detail: &str) -> io::Result<()> {
        let detail = printable(detail);
        writeln!(self.out, "{}  {label:<12}{detail}", self.time(at))
    }

    fn time(&self, at: Time) -> String {
        self.style.dim(&format!("{:>9.3}s", Duration::from_micros(at.as_micros()).as_secs_f64()))
    }

    fn text(&mut self, label: &'static str, at: Time, text: &str) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|block| block.label != label) {
            self.close()?;
        }
        if self.open.is_none() {
            self.open = Some(Block { label, at, line: String::new() });
            if self.style.live {
                let time = self.time(at);
                write!(self.out, "{time}  {label:<12}")?;
            }
        }
        let text = printable(text);
        if self.style.live {
            return write!(self.out, "{}", text.replace('\n', &format!("\n{:MARGIN$}", "")));
        }
        let mut lines = text.split('\n');
        self.extend(at, lines.next().unwrap_or_default());
        for line in lines {
            self.write_pending()?;
            self.extend(at, line);
        }
        Ok(())
    }

    /// Adds to the pending line, whose time is that of its first piece.
    fn extend(&mut self, at: Time, text: &str) {
        if let Some(block) = &mut self.open {
            if block.line.is_empty() {
                block.at = at;
            }
            block.line.push_str(text);
        }
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let Some(block) = &mut self.open else { return Ok(()) };
        let (at, label, line) = (block.at, block.label, std::mem::take(&mut block.line));
        if line.is_empty() { Ok(()) } else { self.line(at, label, &line) }
    }

    fn close(&mut self) -> io::Result<()> {
        if self.style.live && self.open.is_some() {
            writeln!(self.out)?;
        } else {
            self.write_pending()?;
        }
        self.open = None;
        Ok(())
    }
}

/// Label and detail of an event that is a line of its own.
fn describe(event: &Event) -> Option<(String, String)> {
    let (label, detail) = match event {
        Event::RunStarted(run) => (
            "run".to_owned(),
            format!("started in {} at revision {}, model {}", run.session, run.revision, run.model),
        ),
        Event::RunCompleted(answer) => {
            ("run".to_owned(), format!("completed: {}", answer.stop_reason.as_str()))
        }
        Event::RunCancelled { cause, .. } => ("run".to_owned(), format!("cancelled: {}", cause.as_str())),
        Event::RunFailed(failed) => ("run".to_owned(), format!("failed: {}", failed.error)),
        Event::StepStarted { step, estimated_context_tokens } => {
            (format!("step {step}"), format!("about {estimated_context_tokens} tokens of context"))
        }
        Event::StepCompleted { step } => (format!("step {step}"), "done".to_owned()),
        Event::StepFailed { step } => (format!("step {step}"), "failed".to_owned()),
        Event::StepCancelled { step } => (format!("step {step}"), "cancelled".to_owned()),
        Event::ModelStarted(started) => {
            (format!("attempt {}", started.attempt), "asking the model".to_owned())
        }
        Event::ModelCompleted(done) => (format!("attempt {}", done.attempt), completed(done)),
        Event::ModelFailed(failed) => (format!("attempt {}", failed.attempt), failure(failed)),
        Event::ModelCancelled { attempt, .. } => (format!("attempt {attempt}"), "cancelled".to_owned()),
        Event::StreamReset(reset) => ("reset".to_owned(), reason(reset)),
        Event::RequestRetry { kind, delay } => {
            ("retry".to_owned(), format!("{} in {:.1} s", kind.as_str(), delay.as_secs_f64()))
        }
        Event::WebSearch { detail } => ("search".to_owned(), one_line(detail, VALUE)),
        Event::HostedTool(tool) => {
            ("hosted".to_owned(), one_line(&format!("{} {}", tool.name, tool.detail), VALUE))
        }
        Event::Diagnostic(fact) => {
            ("fact".to_owned(), one_line(&format!("{} {}", fact.name, fact.value), VALUE))
        }
        Event::ToolProposed(call) => {
            let call_text = format!("{} {}", call.name, one_line(call.arguments_json(), VALUE));
            (format!("call {}", call.call), call_text)
        }
        Event::ToolStarted(call) => (format!("call {}", call.call), "started".to_owned()),
        Event::ToolUpdated(update) => {
            (format!("call {}", update.call.call), one_line(&update.progress, VALUE))
        }
        Event::ToolFinished(result) => (format!("call {}", result.call), finished(result)),
        Event::HostInputRequested(request) => {
            (format!("call {}", request.call.call), format!("waits for an answer: {}", request.kind.as_str()))
        }
        Event::HostInputAnswered(answered) => {
            let (request, source) = (&answered.request, answered.source.as_str());
            (format!("call {}", request.call.call), format!("{} answered by {source}", request.kind.as_str()))
        }
        Event::HostInputFailed(failed) => {
            (format!("call {}", failed.request.call.call), format!("has no answer: {}", failed.error))
        }
        Event::HostInputCancelled(request) => {
            (format!("call {}", request.call.call), "does not wait any more".to_owned())
        }
        Event::RunSuspended { requests, .. } => {
            ("run".to_owned(), format!("put aside with {requests} open requests"))
        }
        Event::RunRecovered { .. } => ("run".to_owned(), "goes on after its process was lost".to_owned()),
        Event::RunResumed(run) => ("run".to_owned(), format!("goes on in {}", run.session)),
        // Kinds that a later version may add.
        _ => return None,
    };
    Some((label, detail))
}

fn completed(done: &ModelCompleted) -> String {
    let finish = done.completion.finish.map_or("no reason given", |finish| finish.as_str());
    match done.metrics.time_to_first_token {
        Some(first) => format!("complete: {finish}; first token after {} ms", first.as_millis()),
        None => format!("complete: {finish}"),
    }
}

fn failure(failed: &ModelFailed) -> String {
    let status = failed.problem.status.map(|status| format!(" ({status})")).unwrap_or_default();
    format!("failed: {}{status}: {}", failed.problem.kind.as_str(), one_line(&failed.problem.message, VALUE))
}

fn reason(reset: &StreamReset) -> String {
    let void = match reset.position {
        Position::Pristine => "nothing was shown of it",
        Position::Partial => "what was shown of it is void",
    };
    match reset.reason {
        ResetReason::RetryableFailure { retry_after: Some(wait), .. } => {
            format!("{void}; the provider asks for a wait of {} s", wait.as_secs_f64())
        }
        _ => void.to_owned(),
    }
}

fn finished(result: &ToolResult) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => one_line(text, VALUE),
        _ => "[image]".to_owned(),
    };
    let content: Vec<_> = result.content.iter().map(part).collect();
    format!("{}: {}", result.status.as_str(), content.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(style: Style, events: &[Event]) -> String {
        let mut timeline = Timeline::new(Vec::new(), style);
        for (n, event) in (0..).zip(events) {
            timeline.show(Time::from_millis(n * 10), event).unwrap();
        }
        String::from_utf8(timeline.end().unwrap().0).unwrap()
    }

    fn script() -> [Event; 5] {
        [
            Event::TextDelta("a\n\nb".into()),
            Event::TextDelta("c\u{1b}[2J\nd".into()),
            Event::ReasoningDelta("hm".into()),
            Event::StepCompleted { step: 1 },
            Event::TextDelta("e".into()),
        ]
    }

    #[test]
    fn pipes_get_whole_lines() {
        let expected = "    0.000s  text        a\n    0.000s  text        bc[2J\n    0.010s  text        d\n\
                        \u{20}   0.020s  reasoning   hm\n    0.030s  step 1      done\n    0.040s  text        e\n";
        assert_eq!(shown(Style::default(), &script()), expected);
    }

    #[test]
    fn terminals_get_text_as_it_comes() {
        let margin = " ".repeat(MARGIN);
        let expected = format!(
            "    0.000s  text        a\n{margin}\n{margin}bc[2J\n{margin}d\n    0.020s  reasoning   hm\n\
             \u{20}   0.030s  step 1      done\n    0.040s  text        e\n"
        );
        assert_eq!(shown(Style { live: true, shades: false }, &script()), expected);
    }
}
