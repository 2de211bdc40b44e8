//! Asks people in the terminal: a line of standard input is the answer to what was asked last.

use crate::screen::{one_line, printable};
use runloom::{Form, HostAnswer, HostRequest, Refusal, RequestKind, RespondError, RunControl, ToolOutput};
use std::io::{self, BufRead, Write};

/// Most characters of a value in a prompt.
const VALUE: usize = 200;

/// Asks about one request until there is an answer that the run takes, and gives it. At the end of the input the request
/// is dismissed: silence is no consent.
///
/// # Errors
///
/// Those of standard input and output.
pub fn ask(control: &RunControl, request: &HostRequest) -> io::Result<()> {
    loop {
        let answer = match line(&prompt(request))? {
            Some(line) => read(request, line.trim()),
            None => HostAnswer::Refused(Refusal::Dismissed),
        };
        match control.respond(&request.id, answer) {
            Err(RespondError::Invalid { error, .. }) => println!("  that is no answer: {error}"),
            // Taken, or not needed any more: the run may have ended meanwhile.
            _ => return Ok(()),
        }
    }
}

fn prompt(request: &HostRequest) -> String {
    let call = &request.call;
    let what = format!("{} {}", call.name, one_line(call.arguments_json(), VALUE));
    match &request.kind {
        RequestKind::Approval { reason, .. } => {
            let reason = if reason.is_empty() { String::new() } else { format!(" ({})", printable(reason)) };
            format!("{what}{reason}\n  may it run? [y]es, [a]lways, [n]o REASON, [e]dit JSON: ")
        }
        RequestKind::Question(question) => match &question.form {
            Form::Value { prompt, .. } => format!("{what}\n  {}: ", printable(prompt)),
            _ => format!("{what}\n  answer: "),
        },
        _ => format!("{what}\n  its result: "),
    }
}

/// What a line means as an answer to `request`.
fn read(request: &HostRequest, line: &str) -> HostAnswer {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match (&request.kind, word) {
        (RequestKind::Approval { .. }, "y" | "yes") => HostAnswer::allow(),
        (RequestKind::Approval { .. }, "a" | "always") => HostAnswer::allow_always(),
        (RequestKind::Approval { .. }, "e" | "edit") => HostAnswer::allow_with(rest.trim()),
        (RequestKind::Approval { .. }, "n" | "no") => HostAnswer::deny(rest.trim()),
        (RequestKind::Approval { .. }, _) => HostAnswer::deny(format!("the person said: {line}")),
        // A text of JSON.
        (RequestKind::Question(_), _) => HostAnswer::value(serde_json::Value::from(line).to_string()),
        _ => HostAnswer::Result(ToolOutput::text(line)),
    }
}

/// Prints `prompt` and reads a line; `None` at the end of the input.
fn line(prompt: &str) -> io::Result<Option<String>> {
    let mut out = io::stdout();
    write!(out, "\n{prompt}")?;
    out.flush()?;
    let mut line = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut line)?;
    if read == 0 {
        writeln!(out, "(no answer)")?;
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    writeln!(out)?;
    Ok(Some(line))
}
