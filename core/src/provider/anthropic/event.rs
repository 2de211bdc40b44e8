//! What an event of a Messages stream looks like on the wire.

use crate::provider::read::{Num, Str};
use crate::usage::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Usage in the provider's terms; later reports override field by field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) input: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) thinking: Option<u64>,
}

impl Counts {
    /// Takes over what a later report says.
    pub(super) fn take(&mut self, wire: &WireUsage) {
        let newer = |old: &mut Option<u64>, new: Num| *old = new.0.or(*old);
        newer(&mut self.input, wire.input_tokens);
        newer(&mut self.cache_write, wire.cache_creation_input_tokens);
        newer(&mut self.cache_read, wire.cache_read_input_tokens);
        newer(&mut self.output, wire.output_tokens);
        newer(&mut self.thinking, wire.output_tokens_details.thinking_tokens);
    }

    /// The provider's `input_tokens` leave the cache out; ours are all of the input.
    pub(super) fn usage(&self) -> Usage {
        let cached = self.cache_write.unwrap_or(0).saturating_add(self.cache_read.unwrap_or(0));
        Usage {
            input_tokens: self.input.map(|input| input.saturating_add(cached)),
            output_tokens: self.output,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            reasoning_tokens: self.thinking,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Str<'a>,
    #[serde(default)]
    pub(super) index: Num,
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) delta: Option<WireDelta<'a>>,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireDelta<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Str<'a>,
    #[serde(borrow, default)]
    pub(super) text: Str<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Str<'a>,
    #[serde(borrow, default)]
    pub(super) signature: Str<'a>,
    #[serde(borrow, default)]
    pub(super) partial_json: Str<'a>,
    #[serde(borrow, default)]
    pub(super) content: Str<'a>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Str<'a>,
    #[serde(borrow, default)]
    pub(super) stop_details: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    input_tokens: Num,
    cache_creation_input_tokens: Num,
    cache_read_input_tokens: Num,
    output_tokens: Num,
    output_tokens_details: WireDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireDetails {
    thinking_tokens: Num,
}

#[derive(Deserialize)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow, default)]
    pub(super) id: Str<'a>,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
}
