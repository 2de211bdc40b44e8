//! What a Chat Completions chunk looks like on the wire, compatible servers' deviations included.

use crate::model::{CallDelta, ModelItem};
use crate::provider::read::{List, Num, Str, absent, skip};
use crate::text::Text;
use crate::usage::Usage;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: List<Choice<'a>>,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
    #[serde(default)]
    pub(super) x_groq: Option<XGroq>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct XGroq {
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub(super) index: Num,
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Str<'a>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: List<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_calls: List<WireCall<'a>>,
    #[serde(borrow, default)]
    pub(super) annotations: List<Annotation<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireCall<'a> {
    #[serde(default)]
    pub(super) index: Num,
    #[serde(borrow, default)]
    pub(super) id: Str<'a>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    name: Str<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Annotation<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Str<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Num,
    completion_tokens: Num,
    prompt_cache_hit_tokens: Num,
    reasoning_tokens: Num,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Num,
    cache_write_tokens: Num,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Num,
}

impl WireUsage {
    /// The report in the project's terms.
    pub(super) fn usage(&self) -> Usage {
        let prompt = self.prompt_tokens_details.as_ref();
        let completion = self.completion_tokens_details.as_ref();
        Usage {
            input_tokens: self.prompt_tokens.0,
            output_tokens: self.completion_tokens.0,
            cache_read_tokens: prompt.and_then(|d| d.cached_tokens.0).or(self.prompt_cache_hit_tokens.0),
            cache_write_tokens: prompt.and_then(|d| d.cache_write_tokens.0),
            reasoning_tokens: completion.and_then(|d| d.reasoning_tokens.0).or(self.reasoning_tokens.0),
        }
    }
}

/// `content`: a text, or a list of parts of which some are thinking; anything else is absent.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) thinking: String,
}

#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow, default)]
    text: Str<'a>,
    #[serde(borrow, default)]
    thinking: Thinking<'a>,
}

#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Thinking<'a>(#[serde(borrow)] Content<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content { text: Cow::Borrowed(text), thinking: String::new() })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content { text: Cow::Owned(String::from(text)), thinking: String::new() })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut content = Content::default();
                while let Some(part) = seq.next_element::<ContentPart<'de>>()? {
                    content.text.to_mut().push_str(part.text.get().unwrap_or_default());
                    content.thinking.push_str(&part.thinking.0.text);
                }
                Ok(content)
            }
            absent! { visit_unit(), visit_bool(b: bool), visit_u64(n: u64), visit_i64(n: i64), visit_f64(n: f64), }
            skip!(map);
        }
        deserializer.deserialize_any(Read)
    }
}

/// A piece of a call as the assembler takes it; `None` if there is nothing in it.
pub(super) fn call_delta(call: &WireCall<'_>) -> Option<ModelItem> {
    let text = |text: &Str<'_>| text.get().map(Text::new);
    let function = call.function.as_ref();
    let delta = CallDelta {
        index: call.index.index(),
        id: text(&call.id),
        name: function.and_then(|function| text(&function.name)),
        arguments: function.and_then(|function| function.arguments).map(arguments).unwrap_or_default(),
    };
    let empty = delta.id.is_none() && delta.name.is_none() && delta.arguments.is_empty();
    (!empty).then(|| ModelItem::CallDelta(Box::new(delta)))
}

/// Arguments are a text that holds JSON; some servers send the object itself.
fn arguments(json: &RawValue) -> Text {
    match json.get() {
        text if text.starts_with('"') => {
            let text = serde_json::from_str::<Str<'_>>(text).ok().and_then(|text| text.0);
            Text::new(text.as_deref().unwrap_or_default())
        }
        object if object.starts_with('{') => Text::new(object),
        _ => Text::EMPTY,
    }
}
