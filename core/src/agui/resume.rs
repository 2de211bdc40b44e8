//! Interrupts and their answers, and what a consumer sends.

use super::input::RunAgentInput;
use super::message::Message;
use super::outcome::{Interrupt, ResumeEntry, ResumeStatus};
use super::version::{PROTOCOL_VERSION, Version};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

/// Why answers do not cover the interrupts of a thread's latest interrupted run (V10).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// An interrupt has no answer. Silence is never consent.
    #[error("interrupt {id:?} has no answer")]
    Uncovered {
        /// The interrupt.
        id: String,
    },
    /// An answer is for no interrupt of that run.
    #[error("the answer to {id:?} is for no open interrupt")]
    Unknown {
        /// The interrupt that it names.
        id: String,
    },
    /// Two answers are for one interrupt.
    #[error("interrupt {id:?} has two answers")]
    Twice {
        /// The interrupt.
        id: String,
    },
    /// An interrupt that has expired can only be given up.
    #[error("interrupt {id:?} has expired and can only be cancelled")]
    Expired {
        /// The interrupt.
        id: String,
    },
}

/// Checks, before anything is sent, that each interrupt has exactly one answer. `expired` judges an interrupt by the host's
/// clock.
///
/// # Errors
///
/// [`ResumeError`] names the first interrupt, in their order, that is not answered as it must be, else the first answer
/// that answers none.
pub fn check_resume(
    interrupts: &[Interrupt],
    resume: &[ResumeEntry],
    expired: impl Fn(&Interrupt) -> bool,
) -> Result<(), ResumeError> {
    let mut answers: BTreeMap<&str, &ResumeEntry> = BTreeMap::new();
    for answer in resume {
        if answers.insert(&answer.interrupt_id, answer).is_some() {
            return Err(ResumeError::Twice { id: answer.interrupt_id.clone() });
        }
    }
    for interrupt in interrupts {
        let id = || interrupt.id.clone();
        match answers.remove(interrupt.id.as_str()) {
            None => return Err(ResumeError::Uncovered { id: id() }),
            Some(answer) if answer.status == ResumeStatus::Resolved && expired(interrupt) => {
                return Err(ResumeError::Expired { id: id() });
            }
            Some(_) => {}
        }
    }
    let unknown = resume.iter().find(|answer| answers.contains_key(answer.interrupt_id.as_str()));
    unknown.map_or(Ok(()), |answer| Err(ResumeError::Unknown { id: answer.interrupt_id.clone() }))
}

impl ResumeEntry {
    /// An answer.
    pub fn resolved(interrupt: impl Into<String>, payload: Option<Value>) -> Self {
        let metadata = None;
        Self { interrupt_id: interrupt.into(), status: ResumeStatus::Resolved, payload, metadata }
    }

    /// A question that is given up.
    pub fn cancelled(interrupt: impl Into<String>) -> Self {
        let (payload, metadata) = (None, None);
        Self { interrupt_id: interrupt.into(), status: ResumeStatus::Cancelled, payload, metadata }
    }
}

impl RunAgentInput {
    /// The input as a consumer sends it: without activities, which never leave it, without whole values that are null, and
    /// with this version declared, unless the peer is known to be from before versions.
    #[must_use]
    pub fn outgoing(mut self, peer: Option<Version>) -> Self {
        self.messages.retain(|message| !matches!(message, Message::Activity(_)));
        let given = |value: &Value| !value.is_null();
        self.state = self.state.filter(given);
        self.forwarded_props = self.forwarded_props.filter(given);
        let knows = peer.is_none_or(|peer| peer >= Version::V1_0);
        self.protocol_version = knows.then(|| PROTOCOL_VERSION.to_string());
        self
    }

    /// Calls of the history that no message answers, in their order: a thread that goes on answers each.
    pub fn unanswered_calls(&self) -> Vec<&str> {
        let answered: alloc::collections::BTreeSet<&str> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) => Some(result.tool_call_id.as_str()),
                Message::Developer(_)
                | Message::System(_)
                | Message::Assistant(_)
                | Message::User(_)
                | Message::Activity(_)
                | Message::Reasoning(_) => None,
            })
            .collect();
        let calls = self.messages.iter().filter_map(|message| match message {
            Message::Assistant(assistant) => Some(&assistant.tool_calls),
            Message::Developer(_)
            | Message::System(_)
            | Message::User(_)
            | Message::Tool(_)
            | Message::Activity(_)
            | Message::Reasoning(_) => None,
        });
        calls.flatten().map(|call| call.id.as_str()).filter(|id| !answered.contains(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agui::wire::decode;
    use alloc::vec;

    fn interrupt(id: &str) -> Interrupt {
        Interrupt { id: id.into(), reason: "approval".into(), ..Interrupt::default() }
    }

    // proves: V10
    #[test]
    fn every_interrupt_needs_one_answer() {
        let asked = [interrupt("a"), interrupt("b")];
        let check = |resume: &[ResumeEntry]| check_resume(&asked, resume, |it| it.id == "b");
        let (a, b) = (ResumeEntry::resolved("a", None), ResumeEntry::cancelled("b"));
        assert_eq!(check(&[b.clone(), a.clone()]), Ok(()));
        assert_eq!(check(&[]), Err(ResumeError::Uncovered { id: "a".into() }));
        assert_eq!(check(core::slice::from_ref(&a)), Err(ResumeError::Uncovered { id: "b".into() }));
        let late = ResumeEntry::resolved("b", Some(true.into()));
        assert_eq!(check(&[a.clone(), late]), Err(ResumeError::Expired { id: "b".into() }));
        assert_eq!(check(&[a.clone(), a.clone(), b.clone()]), Err(ResumeError::Twice { id: "a".into() }));
        let other = ResumeEntry::cancelled("c");
        assert_eq!(check(&[a, b, other]), Err(ResumeError::Unknown { id: "c".into() }));
        assert_eq!(check_resume(&[], &[], |_| true), Ok(()));
    }

    #[test]
    fn what_is_sent_declares_the_version_and_holds_no_activity() {
        let text = r#"{"threadId":"t","runId":"r","state":{},"messages":[{"id":"v","role":"activity","activityType":"a",
            "content":{}},{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f",
            "arguments":""}},{"id":"d","type":"function","function":{"name":"f","arguments":""}}]},
            {"id":"n","role":"tool","toolCallId":"c","content":""}]}"#;
        let mut input: RunAgentInput = decode(text).unwrap().value.unwrap();
        assert_eq!(input.unanswered_calls(), vec!["d"]);
        input.forwarded_props = Some(Value::Null);
        let sent = input.clone().outgoing(None);
        assert_eq!((sent.messages.len(), sent.protocol_version.as_deref()), (2, Some("1.1")));
        assert_eq!(sent.forwarded_props, None);
        let old = Version::parse("0.0.57");
        assert_eq!(input.clone().outgoing(old).protocol_version, None);
        assert!(input.outgoing(Some(Version::V1_0)).declares_1_0());
    }
}
