//! What a running tool reports, and how it ends (T3-T5, H1, H6).

use crate::config::Limits;
use crate::host_input::Question;
use crate::message::Part;
use crate::problem::clean;
use crate::text::Text;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Longest text of a tool's fault, in encoded bytes.
pub const MAX_FAULT_TEXT: u64 = 4 * 1024;

/// What a running tool reports. 32 bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolItem {
    /// The tool's code is about to be entered.
    Started,
    /// Progress for people; the model never sees it.
    Progress(Text),
    /// A question to the host; the answer comes as [`Output::Deliver`](crate::Output) (H1).
    Ask(Box<Ask>),
    /// A question is not waited for any more, by the asker's own number for it.
    Withdraw(u64),
    /// Other tools are offered from the next step on.
    Visibility(Box<ToolVisibility>),
    /// The end.
    Done(ToolEnd),
}

/// How a tool's code ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolEnd {
    /// It returned.
    Output(ToolOutput),
    /// Its infrastructure failed (T3).
    Failed(Box<ToolFault>),
    /// It panicked (T4).
    Panicked,
    /// It returned with a question: it is called again with the answer (H6).
    Ask(Box<ToolAsk>),
}

/// A question that a running tool waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The asker's own number for it; the delivery repeats it.
    pub ticket: u64,
    /// The question.
    pub question: Arc<Question>,
}

/// A question with which a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAsk {
    /// The question.
    pub question: Arc<Question>,
    /// What the tool wants back with the answer, at most as large as its output. It stands in the value of a suspended
    /// run: nothing secret belongs there.
    pub state: Text,
}

/// Which tools the model is offered from the next step on. Names that no tool has are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolVisibility {
    /// Names of tools that it gets to see.
    pub show: Vec<Text>,
    /// Names of tools that it does not get to see any more.
    pub hide: Vec<Text>,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Text and images for the model.
    pub content: Arc<[Part]>,
    /// Whether the tool reports an error.
    pub is_error: bool,
}

impl ToolOutput {
    /// A successful result of one text.
    pub fn text(text: impl Into<Text>) -> Self {
        Self { content: [Part::Text(text.into())].into(), is_error: false }
    }

    /// A result that tells the model what went wrong.
    pub fn error(text: impl Into<Text>) -> Self {
        Self { content: [Part::Text(text.into())].into(), is_error: true }
    }

    /// A successful result of several parts: text and images.
    pub fn parts(content: impl Into<Arc<[Part]>>) -> Self {
        Self { content: content.into(), is_error: false }
    }
}

/// A failure of a tool's infrastructure (T3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFault {
    /// Cleaned text, at most [`MAX_FAULT_TEXT`] encoded bytes.
    pub message: Text,
    /// Whether it is certain that the tool did nothing more.
    pub certainty: Certainty,
    /// Whether the model may try again.
    pub retryable: bool,
}

/// What is known about the effects of a failed tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The failure is final: no effect is under way.
    Definitive,
    /// The effect may have happened or may still happen.
    Uncertain,
}

impl ToolFault {
    /// An uncertain failure that is not worth another try; the text is cleaned and cut.
    pub fn new(message: &str) -> Self {
        Self { message: clean(message, MAX_FAULT_TEXT), certainty: Certainty::Uncertain, retryable: false }
    }

    /// Marks the failure as definitive.
    #[must_use]
    pub fn definitive(mut self) -> Self {
        self.certainty = Certainty::Definitive;
        self
    }

    /// Marks the failure as worth another try.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

/// Why an output cannot be taken at all (T5).
pub(crate) fn refuse(output: &ToolOutput, limits: &Limits) -> Option<String> {
    if output.content.len() > limits.parts {
        let count = output.content.len();
        return Some(format!("the tool returned {count} parts, more than {}", limits.parts));
    }
    output.content.iter().find_map(|part| match part {
        Part::Text(_) => None,
        Part::Image(image) if image.data.len() <= limits.image_bytes => None,
        Part::Image(image) => Some(format!(
            "the tool returned an image of {} bytes, more than {}",
            image.data.len(),
            limits.image_bytes
        )),
        Part::ToolCall(_) | Part::ToolResult(_) | Part::Context(_) => {
            Some(String::from("the tool returned a part that is neither text nor image"))
        }
    })
}
