//! How servers that are compatible with OpenAI's Chat Completions differ from it, as rows of one table.

use crate::text::Text;

pub use crate::provider::wire::IdRule;

/// How a server's Chat Completions differ. Start from a row, then change what your server does otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// The row's name.
    pub name: Text,
    /// How the key is sent.
    pub auth: Auth,
    /// The member for the output limit.
    pub max_tokens: MaxTokens,
    /// Whether usage must be asked for (`stream_options.include_usage`).
    pub include_usage: bool,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// How reasoning effort and budget are written.
    pub reasoning: ReasoningRequest,
    /// What of a reply's reasoning the server wants back.
    pub echo: ReasoningEcho,
    /// Which ids of calls it takes.
    pub ids: IdRule,
    /// Its word for "call at least one tool".
    pub required: Text,
    /// Whether images are taken; where not, a text says that one was left out.
    pub images: bool,
    /// Whether an assistant message that only calls tools has the content `""` instead of `null`.
    pub empty_content: bool,
    /// Whether a user message may not follow tool results directly; an assistant message is put between them.
    pub bridge: bool,
    /// Whether `reasoning_details` without a `reasoning` text beside them are shown as reasoning.
    pub show_details: bool,
}

/// How the key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `api-key: KEY`.
    ApiKey,
}

/// The member for the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxTokens {
    /// `max_completion_tokens`; reasoning models of OpenAI refuse the older one.
    MaxCompletionTokens,
    /// `max_tokens`; most compatible servers know no other.
    MaxTokens,
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemRole {
    /// `developer`.
    Developer,
    /// `system`.
    System,
}

/// How reasoning effort and budget are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningRequest {
    /// `reasoning_effort`; a budget cannot be said.
    Effort,
    /// `reasoning: {effort, max_tokens}`.
    Object,
}

/// What of a reply's reasoning the server wants back with later requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningEcho {
    /// Nothing.
    None,
    /// `reasoning_content` of each message with calls; empty where it is not known.
    Content,
    /// `reasoning_details`, as they came.
    Details,
}

impl Dialect {
    const BASE: Self = Self {
        name: Text::EMPTY,
        auth: Auth::Bearer,
        max_tokens: MaxTokens::MaxTokens,
        include_usage: true,
        system_role: SystemRole::System,
        reasoning: ReasoningRequest::Effort,
        echo: ReasoningEcho::None,
        ids: IdRule::AtMost(40),
        required: Text::EMPTY,
        images: true,
        empty_content: false,
        bridge: false,
        show_details: false,
    };

    fn base(name: &str) -> Self {
        Self { name: name.into(), required: "required".into(), ..Self::BASE }
    }

    /// Names of all rows, as [`Dialect::named`] takes them.
    pub const NAMES: [&'static str; 11] = [
        "openai",
        "azure",
        "compatible",
        "openrouter",
        "deepseek",
        "mistral",
        "groq",
        "vllm",
        "ollama",
        "llamacpp",
        "snowflake",
    ];

    /// The row of this name; `None` if there is none.
    ///
    /// `compatible` is for servers that have no row: it uses only what nearly all of them know.
    pub fn named(name: &str) -> Option<Self> {
        let base = Self::base(name);
        Some(match name {
            "openai" => Self::openai(),
            "azure" => Self { auth: Auth::ApiKey, max_tokens: MaxTokens::MaxCompletionTokens, ..base },
            "compatible" | "vllm" | "ollama" | "llamacpp" => base,
            "openrouter" => Self {
                // Usage comes unasked.
                include_usage: false,
                reasoning: ReasoningRequest::Object,
                echo: ReasoningEcho::Details,
                ..base
            },
            // Thinking models refuse a history whose calls lack their reasoning; no model takes images.
            "deepseek" => Self { echo: ReasoningEcho::Content, images: false, empty_content: true, ..base },
            // Ids of any other form are refused (code 3280), and so is a user message after tool results (3230).
            "mistral" => Self {
                include_usage: false,
                ids: IdRule::Exactly(9),
                required: "any".into(),
                empty_content: true,
                bridge: true,
                ..base
            },
            "groq" => Self { max_tokens: MaxTokens::MaxCompletionTokens, ..base },
            "snowflake" => Self { max_tokens: MaxTokens::MaxCompletionTokens, show_details: true, ..base },
            _ => return None,
        })
    }

    /// OpenAI itself.
    pub fn openai() -> Self {
        Self {
            max_tokens: MaxTokens::MaxCompletionTokens,
            system_role: SystemRole::Developer,
            ..Self::base("openai")
        }
    }

    /// Any compatible server without a row of its own.
    pub fn compatible() -> Self {
        Self::base("compatible")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_row() {
        for name in Dialect::NAMES {
            assert_eq!(Dialect::named(name).unwrap().name, name);
        }
        assert_eq!(Dialect::named("openai").unwrap(), Dialect::openai());
        assert_eq!(Dialect::named("compatible").unwrap(), Dialect::compatible());
        assert_eq!(Dialect::named("x"), None);
    }
}
