//! Answers, and whether they fit what was asked (H2).

use super::question::{Form, Prompt, Questionnaire};
use super::{HostRequest, RequestKind};
use crate::config::{Limits, RESULT_PART};
use crate::json::{Len, Object, Out, string};
use crate::message::Part;
use crate::text::Text;
use crate::tool::ToolOutput;
use alloc::sync::Arc;
use core::fmt;

/// An answer to a [`HostRequest`].
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostAnswer {
    /// To an approval: the call may run.
    Allow {
        /// Whether an equal call, by name and arguments, needs no further consent in this session.
        remember: bool,
        /// Other arguments to run it with: the text of a JSON object.
        arguments: Option<Text>,
    },
    /// To an approval: the call may not run; the model is told why.
    Deny {
        /// Text for the model.
        reason: Text,
    },
    /// To a questionnaire: the values that were chosen, by the prompt's id.
    Choices(Arc<[(Text, Arc<[Text]>)]>),
    /// To a question for a value: JSON text.
    Value(Text),
    /// To a call that the client executes: its result.
    Result(ToolOutput),
    /// To any request: whoever was asked does not want to answer.
    Refused(Refusal),
}

impl fmt::Debug for HostAnswer {
    /// What people have written is left out: an answer may be a secret (M5).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow { remember, arguments } => {
                let edited = arguments.is_some();
                f.debug_struct("Allow").field("remember", remember).field("edited", &edited).finish()
            }
            Self::Deny { reason } => f.debug_struct("Deny").field("reason", reason).finish(),
            Self::Choices(answers) => {
                f.debug_list().entries(answers.iter().map(|(id, values)| (id, values.len()))).finish()
            }
            Self::Value(text) => write!(f, "Value({} bytes)", text.len()),
            Self::Result(output) => write!(f, "Result({} parts)", output.content.len()),
            Self::Refused(refusal) => f.debug_tuple("Refused").field(refusal).finish(),
        }
    }
}

/// How a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// On purpose.
    Declined,
    /// Without a decision, such as a dialog that was closed.
    Dismissed,
}

impl Refusal {
    /// The refusal's stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declined => "declined",
            Self::Dismissed => "dismissed",
        }
    }
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// An answer of another kind than the request.
    #[error("a request of kind {expected} does not take an answer of kind {found}")]
    Kind {
        /// The request's kind.
        expected: &'static str,
        /// The answer's kind.
        found: &'static str,
    },
    /// It takes more bytes than an answer may; each further part of a result counts 192 beside its text.
    #[error("an answer of {observed} bytes is larger than {limit}")]
    TooLarge {
        /// The bound, in encoded bytes.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// It is not JSON, and what is wrong with it.
    #[error("it is not JSON: {0}")]
    NotJson(Text),
    /// A value of another shape than the one that was asked for.
    #[error("at {at:?} {expected} is expected")]
    Shape {
        /// JSON Pointer of the value.
        at: Text,
        /// What belongs there.
        expected: &'static str,
    },
    /// A member or a prompt that must be answered is not there.
    #[error("{0:?} is missing")]
    Missing(Text),
    /// A member, a prompt or a choice that was not asked for; not named where the question is secret.
    #[error("{0:?} was not asked for")]
    Unexpected(Text),
    /// A prompt or a choice that stands there twice; not named where the question is secret.
    #[error("{0:?} stands there twice")]
    Twice(Text),
    /// Several choices where one is asked for.
    #[error("{0:?} takes one choice")]
    OnlyOne(Text),
    /// Other arguments than were asked about cannot be remembered for equal calls.
    #[error("edited arguments cannot be remembered")]
    EditRemembered,
    /// The edited arguments are not the text of a JSON object.
    #[error("the edited arguments are not a JSON object")]
    Arguments,
    /// The result holds a part that is neither text nor image, too many parts, or an image above its bound.
    #[error("the result cannot be taken: {0}")]
    Result(Text),
}

impl AnswerError {
    /// The error about an answer to a secret question: without the words of the answer (M5).
    fn masked(self) -> Self {
        let masked = || Text::new("(secret)");
        match self {
            Self::Unexpected(_) => Self::Unexpected(masked()),
            Self::Twice(_) => Self::Twice(masked()),
            Self::Kind { .. }
            | Self::TooLarge { .. }
            | Self::NotJson(_)
            | Self::Shape { .. }
            | Self::Missing(_)
            | Self::OnlyOne(_)
            | Self::EditRemembered
            | Self::Arguments
            | Self::Result(_) => self,
        }
    }
}

impl HostAnswer {
    /// Consent to a call.
    pub const fn allow() -> Self {
        Self::Allow { remember: false, arguments: None }
    }

    /// Consent to a call and to all equal ones of the session.
    pub const fn allow_always() -> Self {
        Self::Allow { remember: true, arguments: None }
    }

    /// Consent to a call with other arguments: the text of a JSON object.
    pub fn allow_with(arguments: impl Into<Text>) -> Self {
        Self::Allow { remember: false, arguments: Some(arguments.into()) }
    }

    /// No consent, for this reason.
    pub fn deny(reason: impl Into<Text>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// A JSON value, as text.
    pub fn value(json: impl Into<Text>) -> Self {
        Self::Value(json.into())
    }

    /// Choices by the prompt's id.
    pub fn choices<'a, V: IntoIterator<Item = &'a str>>(
        answers: impl IntoIterator<Item = (&'a str, V)>,
    ) -> Self {
        let answer =
            |(id, values): (&'a str, V)| (Text::new(id), values.into_iter().map(Text::new).collect());
        Self::Choices(answers.into_iter().map(answer).collect())
    }

    /// What was chosen for the prompt `id`.
    pub fn chosen(&self, id: &str) -> Option<&[Text]> {
        match self {
            Self::Choices(answers) => {
                answers.iter().find(|(known, _)| **known == *id).map(|(_, values)| &**values)
            }
            Self::Allow { .. } | Self::Deny { .. } | Self::Value(_) | Self::Result(_) | Self::Refused(_) => {
                None
            }
        }
    }

    /// The answer's kind, as errors print it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Allow { .. } => "allow",
            Self::Deny { .. } => "deny",
            Self::Choices(_) => "choices",
            Self::Value(_) => "value",
            Self::Result(_) => "result",
            Self::Refused(_) => "refused",
        }
    }

    /// Whether it answers `request` (H2).
    ///
    /// # Errors
    ///
    /// [`AnswerError`] says what is wrong and where.
    pub fn check(&self, request: &HostRequest, limits: &Limits) -> Result<(), AnswerError> {
        match &request.kind {
            RequestKind::Approval { .. } => self.check_approval(limits),
            RequestKind::Question(question) => {
                let checked = self.check_question(&question.form, limits.answer_bytes);
                if question.secret { checked.map_err(AnswerError::masked) } else { checked }
            }
            RequestKind::Call => self.check_result(limits),
        }
    }

    fn wrong_kind(&self, expected: &'static str) -> AnswerError {
        AnswerError::Kind { expected, found: self.kind() }
    }

    fn bounded(&self, limit: u64) -> Result<(), AnswerError> {
        let mut len = Len::default();
        self.write(&mut len);
        if len.0 > limit { Err(AnswerError::TooLarge { limit, observed: len.0 }) } else { Ok(()) }
    }

    fn check_approval(&self, limits: &Limits) -> Result<(), AnswerError> {
        match self {
            Self::Deny { .. } | Self::Refused(_) | Self::Allow { arguments: None, .. } => {}
            Self::Allow { remember: true, arguments: Some(_) } => return Err(AnswerError::EditRemembered),
            Self::Allow { arguments: Some(arguments), .. } => {
                if crate::json::encoded_len(arguments) > limits.argument_bytes {
                    let observed = crate::json::encoded_len(arguments);
                    return Err(AnswerError::TooLarge { limit: limits.argument_bytes, observed });
                }
                let object =
                    arguments.trim_start().starts_with('{') && crate::read_json::check(arguments).is_ok();
                if !object {
                    return Err(AnswerError::Arguments);
                }
            }
            Self::Choices(_) | Self::Value(_) | Self::Result(_) => return Err(self.wrong_kind("approval")),
        }
        self.bounded(limits.answer_bytes)
    }

    pub(super) fn check_question(&self, form: &Form, answer_bytes: u64) -> Result<(), AnswerError> {
        self.bounded(answer_bytes)?;
        match (self, form) {
            (Self::Refused(_), _) => Ok(()),
            (Self::Choices(answers), Form::Questionnaire(asked)) => check_choices(answers, asked),
            (Self::Value(text), Form::Value { shape, .. }) => shape.check(text),
            (Self::Allow { .. } | Self::Deny { .. } | Self::Result(_), _)
            | (Self::Choices(_), Form::Value { .. })
            | (Self::Value(_), Form::Questionnaire(_)) => Err(self.wrong_kind("question")),
        }
    }

    fn check_result(&self, limits: &Limits) -> Result<(), AnswerError> {
        match self {
            Self::Refused(_) => Ok(()),
            Self::Result(output) => {
                if let Some(refusal) = crate::tool::refuse(output, limits) {
                    return Err(AnswerError::Result(Text::new(&refusal)));
                }
                let text: u64 = output.content.iter().map(text_len).sum();
                // An event has room for one part beside its text (L1).
                let parts = (output.content.len() as u64).saturating_sub(1);
                let observed = text.saturating_add(parts.saturating_mul(RESULT_PART));
                let limit = limits.answer_bytes;
                if observed > limit { Err(AnswerError::TooLarge { limit, observed }) } else { Ok(()) }
            }
            Self::Allow { .. } | Self::Deny { .. } | Self::Choices(_) | Self::Value(_) => {
                Err(self.wrong_kind("call"))
            }
        }
    }

    /// Writes the answer as one canonical JSON object, the content of a call's result excepted: that stands in the
    /// call's own end.
    pub(crate) fn write<O: Out>(&self, out: &mut O) {
        let mut o = Object::begin(out);
        match self {
            Self::Allow { remember, arguments } => {
                o.opt_str("arguments", arguments.as_deref()).str("decision", "allow");
                o.bool("remember", *remember);
            }
            Self::Deny { reason } => {
                o.str("decision", "deny").str("reason", reason);
            }
            Self::Choices(answers) => {
                o.array("choices", answers.iter(), |out, (id, values)| {
                    let mut o = Object::begin(out);
                    o.str("id", id).array("values", values.iter(), string);
                    o.end();
                });
            }
            Self::Value(text) => {
                o.str("value", text);
            }
            Self::Result(output) => {
                o.bool("is_error", output.is_error);
            }
            Self::Refused(refusal) => {
                o.str("refused", refusal.as_str());
            }
        }
        o.end();
    }
}

fn text_len(part: &Part) -> u64 {
    match part {
        Part::Text(text) => crate::json::encoded_len(text),
        Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => 0,
    }
}

fn check_choices(answers: &[(Text, Arc<[Text]>)], asked: &Questionnaire) -> Result<(), AnswerError> {
    for (at, (id, values)) in answers.iter().enumerate() {
        let Some(prompt) = asked.prompts.iter().find(|prompt| prompt.id == *id) else {
            return Err(AnswerError::Unexpected(id.clone()));
        };
        if answers.iter().take(at).any(|(other, _)| other == id) {
            return Err(AnswerError::Twice(id.clone()));
        }
        check_values(prompt, values)?;
    }
    let answered =
        |prompt: &Prompt| answers.iter().any(|(id, values)| *id == prompt.id && !values.is_empty());
    match asked.prompts.iter().find(|prompt| prompt.required && !answered(prompt)) {
        Some(prompt) => Err(AnswerError::Missing(prompt.id.clone())),
        None => Ok(()),
    }
}

fn check_values(prompt: &Prompt, values: &[Text]) -> Result<(), AnswerError> {
    if values.len() > 1 && !prompt.several {
        return Err(AnswerError::OnlyOne(prompt.id.clone()));
    }
    for (at, value) in values.iter().enumerate() {
        if values.iter().take(at).any(|other| other == value) {
            return Err(AnswerError::Twice(value.clone()));
        }
        let free = prompt.choices.is_empty() || prompt.other;
        if !free && !prompt.choices.iter().any(|choice| choice.value == *value) {
            return Err(AnswerError::Unexpected(value.clone()));
        }
    }
    Ok(())
}
