//! Questions that a tool asks: questionnaires, and free values of a declared shape (H1).

use super::answer::{AnswerError, HostAnswer};
use super::shape::{Shape, ShapeError};
use crate::id::RequestId;
use crate::json::{Len, Object, Out};
use crate::text::Text;
use alloc::vec::Vec;
use core::time::Duration;

/// Most prompts of a questionnaire, and most choices of a prompt.
pub const MAX_PROMPTS: usize = 64;

/// A question, with how long it may stand open and what holds if nobody answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// The request's id; made by the engine when absent.
    pub id: Option<RequestId>,
    /// What is asked.
    pub form: Form,
    /// How long it may stand open; the run's default applies when absent.
    pub timeout: Option<Duration>,
    /// The answer that holds when the time is up; without one the asker gets an error.
    pub fallback: Option<HostAnswer>,
    /// Whether the answer is kept out of events, such as a password.
    pub secret: bool,
}

/// The form of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Prompts with choices.
    Questionnaire(Questionnaire),
    /// A JSON value.
    Value {
        /// What is asked, for people.
        prompt: Text,
        /// What a valid answer looks like.
        shape: Shape,
    },
}

/// Several prompts that are answered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questionnaire {
    /// What it is about.
    pub title: Text,
    /// The prompts, in order; ids are unique.
    pub prompts: Vec<Prompt>,
}

/// One prompt of a questionnaire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prompt {
    /// Names it in the answer.
    pub id: Text,
    /// The text for people.
    pub text: Text,
    /// What may be chosen; values are unique. With none, the answer is free text.
    pub choices: Vec<Choice>,
    /// Whether several may be chosen.
    pub several: bool,
    /// Whether free text is taken beside the choices.
    pub other: bool,
    /// Whether it must be answered.
    pub required: bool,
}

/// One choice of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Stands in the answer.
    pub value: Text,
    /// The text for people; may be empty.
    pub label: Text,
}

/// Why a question cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// It takes more bytes than a question may.
    #[error("a question of {observed} bytes is larger than {limit}")]
    TooLarge {
        /// The bound, in encoded bytes.
        limit: u64,
        /// What was found.
        observed: u64,
    },
    /// A questionnaire without prompts, or with too many.
    #[error("a questionnaire has 1 to {MAX_PROMPTS} prompts, not {0}")]
    Prompts(usize),
    /// A prompt with too many choices, by its place.
    #[error("prompt {0} has more than {MAX_PROMPTS} choices")]
    Choices(usize),
    /// A prompt without an id, or with that of an earlier one, by its place.
    #[error("the id of prompt {0} is empty or was used before")]
    PromptId(usize),
    /// A choice without a value, or with that of an earlier one, by the prompt's place.
    #[error("a choice of prompt {0} is empty or stands there twice")]
    ChoiceValue(usize),
    /// The shape is not one.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The fallback is no valid answer.
    #[error("the fallback is not valid: {0}")]
    Fallback(AnswerError),
    /// A timeout of zero: nobody could answer.
    #[error("the timeout must not be zero")]
    Timeout,
    /// What a tool wants kept until the answer comes is too large.
    #[error("a state of {observed} bytes is larger than {limit}")]
    State {
        /// The bound, in encoded bytes.
        limit: u64,
        /// What was found.
        observed: u64,
    },
}

impl Question {
    /// A question of this form, without timeout and fallback.
    pub fn new(form: Form) -> Self {
        Self { id: None, form, timeout: None, fallback: None, secret: false }
    }

    /// Asks for a JSON value of this shape.
    pub fn value(prompt: impl Into<Text>, shape: Shape) -> Self {
        Self::new(Form::Value { prompt: prompt.into(), shape })
    }

    /// Asks several prompts at once.
    pub fn questionnaire(title: impl Into<Text>, prompts: impl Into<Vec<Prompt>>) -> Self {
        Self::new(Form::Questionnaire(Questionnaire { title: title.into(), prompts: prompts.into() }))
    }

    /// With an id of the tool's own, which it must not use again while its batch runs.
    #[must_use]
    pub fn id(mut self, id: RequestId) -> Self {
        self.id = Some(id);
        self
    }

    /// Open for so long at most.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// With an answer that holds when the time is up.
    #[must_use]
    pub fn fallback(mut self, fallback: HostAnswer) -> Self {
        self.fallback = Some(fallback);
        self
    }

    /// Keeps the answer out of events.
    #[must_use]
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Checks the question against its bound in encoded bytes.
    ///
    /// # Errors
    ///
    /// [`QuestionError`] says what is wrong and where.
    pub fn check(&self, question_bytes: u64, answer_bytes: u64) -> Result<(), QuestionError> {
        if self.timeout.is_some_and(|span| crate::time::micros(span) == 0) {
            return Err(QuestionError::Timeout);
        }
        let mut len = Len::default();
        self.form.write(&mut len);
        if len.0 > question_bytes {
            return Err(QuestionError::TooLarge { limit: question_bytes, observed: len.0 });
        }
        match &self.form {
            Form::Questionnaire(questionnaire) => questionnaire.check()?,
            Form::Value { shape, .. } => shape.check_declaration()?,
        }
        match &self.fallback {
            Some(fallback) => {
                fallback.check_question(&self.form, answer_bytes).map_err(QuestionError::Fallback)
            }
            None => Ok(()),
        }
    }
}

impl Questionnaire {
    fn check(&self) -> Result<(), QuestionError> {
        if !(1..=MAX_PROMPTS).contains(&self.prompts.len()) {
            return Err(QuestionError::Prompts(self.prompts.len()));
        }
        for (at, prompt) in self.prompts.iter().enumerate() {
            let earlier = self.prompts.iter().take(at);
            if prompt.id.is_empty() || earlier.clone().any(|other| other.id == prompt.id) {
                return Err(QuestionError::PromptId(at));
            }
            if prompt.choices.len() > MAX_PROMPTS {
                return Err(QuestionError::Choices(at));
            }
            for (place, choice) in prompt.choices.iter().enumerate() {
                let mut earlier = prompt.choices.iter().take(place);
                if choice.value.is_empty() || earlier.any(|other| other.value == choice.value) {
                    return Err(QuestionError::ChoiceValue(at));
                }
            }
        }
        Ok(())
    }
}

impl Prompt {
    /// A required prompt with one answer in free text.
    pub fn new(id: impl Into<Text>, text: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            choices: Vec::new(),
            several: false,
            other: false,
            required: true,
        }
    }

    /// With these choices: `(value, label)`.
    #[must_use]
    pub fn choices<'a>(mut self, choices: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let choice = |(value, label)| Choice { value: Text::new(value), label: Text::new(label) };
        self.choices = choices.into_iter().map(choice).collect();
        self
    }

    /// Lets several be chosen.
    #[must_use]
    pub fn several(mut self) -> Self {
        self.several = true;
        self
    }

    /// Takes free text beside the choices.
    #[must_use]
    pub fn other(mut self) -> Self {
        self.other = true;
        self
    }

    /// May be left unanswered.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }
}

impl Form {
    /// Writes the form as one canonical JSON object.
    pub(crate) fn write<O: Out>(&self, out: &mut O) {
        let mut o = Object::begin(out);
        match self {
            Self::Questionnaire(questionnaire) => {
                o.array("prompts", questionnaire.prompts.iter(), |out, prompt| prompt.write(out));
                o.str("title", &questionnaire.title);
            }
            Self::Value { prompt, shape } => {
                o.str("prompt", prompt);
                shape.write_schema(o.key("schema"));
            }
        }
        o.end();
    }
}

impl Prompt {
    fn write<O: Out>(&self, out: &mut O) {
        let mut o = Object::begin(out);
        o.array("choices", self.choices.iter(), |out, choice| {
            let mut o = Object::begin(out);
            o.str("label", &choice.label).str("value", &choice.value);
            o.end();
        });
        o.str("id", &self.id)
            .bool("other", self.other)
            .bool("required", self.required)
            .bool("several", self.several)
            .str("text", &self.text);
        o.end();
    }
}
