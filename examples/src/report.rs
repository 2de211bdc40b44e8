//! What is told about a run when it is over: outcome, usage of each physical request, revision.

use crate::screen::{Style, printable};
use runloom_core::event::Event;
use runloom_core::id::OpId;
use runloom_core::outcome::{Outcome, RunResult};
use runloom_core::usage::Usage;
use std::io::{self, Write};

/// The physical requests of a run, as its events tell of them.
#[derive(Debug, Default)]
pub struct Report {
    requests: Vec<Request>,
}

#[derive(Debug, PartialEq)]
struct Request {
    op: OpId,
    step: u32,
    attempt: u32,
    number: u32,
    /// Absent if the provider reported none.
    usage: Option<Usage>,
}

impl Report {
    /// Takes note of an event.
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::ModelStarted(started) => self.requests.push(Request {
                op: started.op,
                step: started.step,
                attempt: started.attempt,
                number: 1,
                usage: None,
            }),
            Event::RequestRetry { .. } => self.repeat(),
            Event::UsageUpdated(update) => {
                let is_it = |r: &&mut Request| r.op == update.op && r.number == update.request;
                if let Some(request) = self.requests.iter_mut().find(is_it) {
                    request.usage = Some(update.usage);
                }
            }
            _ => {}
        }
    }

    /// The open attempt makes one more request.
    fn repeat(&mut self) {
        if let Some(&Request { op, step, attempt, number, .. }) = self.requests.last() {
            self.requests.push(Request { op, step, attempt, number: number + 1, usage: None });
        }
    }

    /// Writes the report.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn write(&self, outcome: &Outcome, style: Style, out: &mut impl Write) -> io::Result<()> {
        let mut line = |label: &str, text: &str| {
            let label = style.dim(&format!("{label:<10}"));
            let text = printable(text);
            let mut lines = text.lines();
            writeln!(out, "{label}{}", lines.next().unwrap_or_default())?;
            // Empty lines stay empty.
            lines.try_for_each(|line| match line {
                "" => writeln!(out),
                line => writeln!(out, "{:10}{line}", ""),
            })
        };
        match &outcome.result {
            RunResult::Completed(answer) => {
                line("outcome", &format!("completed: {}", answer.stop_reason.as_str()))?;
                line("answer", &answer.text)?;
            }
            RunResult::Cancelled(cause) => line("outcome", &format!("cancelled: {}", cause.as_str()))?,
            RunResult::Failed(error) => line("outcome", &format!("failed: {error} [{}]", error.code()))?,
            _ => line("outcome", "of a kind that this program does not know")?,
        }
        for request in &self.requests {
            line("usage", &request.describe())?;
        }
        line("billed", &tokens(&outcome.billed))?;
        line("revision", &outcome.revision.to_string())?;
        out.flush()
    }
}

impl Request {
    fn describe(&self) -> String {
        let usage = self.usage.as_ref().map_or("nothing reported".to_owned(), tokens);
        let repeated = if self.number > 1 { format!(", request {}", self.number) } else { String::new() };
        format!("step {}, attempt {}{repeated}: {usage}", self.step, self.attempt)
    }
}

/// The tokens in words; what a provider did not say is left out.
fn tokens(usage: &Usage) -> String {
    let parts = [
        (usage.input_tokens, "in"),
        (usage.cache_read_tokens.filter(|n| *n > 0), "of it from cache"),
        (usage.cache_write_tokens.filter(|n| *n > 0), "of it into cache"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens.filter(|n| *n > 0), "of it reasoning"),
    ];
    let said: Vec<_> = parts.iter().filter_map(|(n, what)| n.map(|n| format!("{n} {what}"))).collect();
    if said.is_empty() { "nothing reported".to_owned() } else { said.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runloom_core::event::{ModelStarted, UsageUpdated};
    use runloom_core::model::ProblemKind;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn each_physical_request_has_its_line() {
        let mut report = Report::default();
        let started = |op, attempt| {
            Event::ModelStarted(Arc::new(ModelStarted { op: OpId(op), step: 1, attempt, model: "m".into() }))
        };
        let usage =
            |op, request, usage| Event::UsageUpdated(Arc::new(UsageUpdated { op: OpId(op), request, usage }));
        let retry = Event::RequestRetry { kind: ProblemKind::Connection, delay: Duration::ZERO };
        for event in [
            started(1, 1),
            started(2, 2),
            retry,
            usage(2, 2, Usage::new(5, 1)),
            usage(2, 2, Usage::new(5, 7)),
        ] {
            report.note(&event);
        }
        let lines: Vec<_> = report.requests.iter().map(Request::describe).collect();
        assert_eq!(
            lines,
            [
                "step 1, attempt 1: nothing reported",
                "step 1, attempt 2: nothing reported",
                "step 1, attempt 2, request 2: 5 in, 7 out"
            ]
        );
    }

    #[test]
    fn tokens_in_words() {
        let mut usage = Usage::new(9, 4);
        usage.cache_read_tokens = Some(3);
        usage.reasoning_tokens = Some(0);
        assert_eq!(tokens(&usage), "9 in, 3 of it from cache, 4 out");
        assert_eq!(tokens(&Usage::default()), "nothing reported");
    }
}
