//! What an agent's run asks, the calling run asks on: nobody else could answer it (H1).

use crate::core::host_input::{
    AskError, HostAnswer, HostRequest, Prompt, Question, Refusal, RequestKind, RespondError, Shape,
};
use crate::core::id::RequestId;
use crate::core::text::prefix;
use crate::core::tool::ToolOutput;
use crate::host::{Asking, ToolContext};
use crate::run::Run;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes of a call's arguments that people get to see in a question about it.
const SHOWN: usize = 2 * 1024;

/// The open requests of an agent's run, each with the question that stands for it.
#[derive(Default)]
pub(super) struct Asked {
    open: Vec<(Arc<HostRequest>, Asking)>,
}

impl Asked {
    /// Asks on.
    pub(super) fn ask(&mut self, request: &Arc<HostRequest>, cx: &ToolContext) {
        self.open.push((Arc::clone(request), cx.ask(question(request))));
    }

    /// The request is over: its question is taken back.
    pub(super) fn over(&mut self, request: &RequestId) {
        self.open.retain(|(open, _)| open.id != *request);
    }

    /// Hands over the answers that have come; whether there was one.
    pub(super) fn poll(&mut self, run: &Run, cx: &mut Context<'_>) -> bool {
        let before = self.open.len();
        self.open.retain_mut(|(request, asking)| match Pin::new(asking).poll(cx) {
            Poll::Pending => true,
            Poll::Ready(answer) => {
                // Whoever answered the request meanwhile was first.
                if let Err(RespondError::Invalid { .. }) =
                    run.respond(&request.id, translated(request, answer))
                {
                    // The agent's engine has narrower bounds, and the question was asked: no other answer will come.
                    let _ = run.respond(&request.id, HostAnswer::Refused(Refusal::Dismissed));
                }
                false
            }
        });
        self.open.len() < before
    }
}

fn shown(request: &HostRequest) -> String {
    let arguments = request.call.arguments_json();
    let shown = prefix(arguments, SHOWN);
    let more = if shown.len() < arguments.len() { " (cut)" } else { "" };
    format!("{} {shown}{more}", request.call.name)
}

/// What stands for a request in the calling run.
fn question(request: &HostRequest) -> Question {
    match &request.kind {
        RequestKind::Question(question) => {
            let mut own = (**question).clone();
            // The agent's run keeps its own time and its own ids.
            (own.id, own.timeout, own.fallback) = (None, None, None);
            own
        }
        RequestKind::Approval { reason, .. } => {
            let text =
                if reason.is_empty() { String::from("May it?") } else { format!("May it? ({reason})") };
            let prompt = Prompt::new("decision", text).choices([("allow", "yes"), ("deny", "no")]);
            Question::questionnaire(format!("The agent wants to call {}", shown(request)), [prompt])
        }
        _ => Question::value(format!("The agent needs the result of {}", shown(request)), Shape::Any),
    }
}

/// The answer to the request by the answer to its question.
fn translated(request: &HostRequest, answer: Result<HostAnswer, AskError>) -> HostAnswer {
    match (&request.kind, answer) {
        (_, Err(AskError::Refused(refusal))) => HostAnswer::Refused(refusal),
        (_, Err(_)) => HostAnswer::Refused(Refusal::Dismissed),
        (RequestKind::Question(_), Ok(answer)) => answer,
        (RequestKind::Approval { .. }, Ok(answer)) => match answer.chosen("decision") {
            Some([choice]) if *choice == "allow" => HostAnswer::allow(),
            _ => HostAnswer::deny("a person denied it"),
        },
        (_, Ok(HostAnswer::Value(text))) => HostAnswer::Result(ToolOutput::text(text)),
        (_, Ok(_)) => HostAnswer::Refused(Refusal::Dismissed),
    }
}
