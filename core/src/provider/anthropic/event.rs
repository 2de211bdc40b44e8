//! What an event of a Messages stream looks like on the wire.

use crate::provider::read::{List, Members, Num, Str};
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
    /// Of the summaries that were made, which the other counts leave out.
    summaries: Option<Usage>,
}

impl Counts {
    /// Takes over what a later report says.
    pub(super) fn take(&mut self, wire: &WireUsage<'_>) {
        let newer = |old: &mut Option<u64>, new: Num| *old = new.0.or(*old);
        newer(&mut self.input, wire.input_tokens);
        newer(&mut self.cache_write, wire.cache_creation_input_tokens);
        newer(&mut self.cache_read, wire.cache_read_input_tokens);
        newer(&mut self.output, wire.output_tokens);
        newer(&mut self.thinking, wire.output_tokens_details.thinking_tokens);
        self.summaries = wire.iterations.and_then(|calls| summaries(calls.get())).or(self.summaries);
    }

    /// The provider's `input_tokens` leave the cache out; ours are all of the input. Where a summary was all that was asked
    /// for, it is what the request took; beside an answer the counts are the answer's, by which contexts are measured.
    pub(super) fn usage(&self) -> Usage {
        let own = Usage {
            input_tokens: with_cache(self.input, self.cache_write, self.cache_read),
            output_tokens: self.output,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
            reasoning_tokens: self.thinking,
        };
        let answered = self.input.unwrap_or(0) > 0 || self.output.unwrap_or(0) > 0;
        self.summaries.filter(|_| !answered).unwrap_or(own)
    }
}

fn sum(mut usage: Usage, other: Usage) -> Usage {
    usage.add(&other);
    usage
}

/// Tokens of the summaries among the calls of an answer; `None` if there are none.
fn summaries(calls: &str) -> Option<Usage> {
    let calls: List<&RawValue> = serde_json::from_str(calls).ok()?;
    let calls = calls.0.into_iter().filter_map(|call| Members::read(call.get()));
    let summaries = calls.filter(|call| call.text("type").is_some_and(|kind| kind == "compaction"));
    let usage = |call: Members<'_>| {
        let count = |name: &str| call.get(name).and_then(|json| serde_json::from_str::<Num>(json).ok()?.0);
        let (written, read) = (count("cache_creation_input_tokens"), count("cache_read_input_tokens"));
        Usage {
            input_tokens: with_cache(count("input_tokens"), written, read),
            output_tokens: count("output_tokens"),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: None,
        }
    };
    summaries.map(usage).reduce(sum)
}

fn with_cache(input: Option<u64>, written: Option<u64>, read: Option<u64>) -> Option<u64> {
    let cached = written.unwrap_or(0).saturating_add(read.unwrap_or(0));
    input.map(|input| input.saturating_add(cached))
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
    #[serde(borrow, default)]
    pub(super) usage: Option<WireUsage<'a>>,
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
pub(super) struct WireUsage<'a> {
    input_tokens: Num,
    cache_creation_input_tokens: Num,
    cache_read_input_tokens: Num,
    output_tokens: Num,
    output_tokens_details: WireDetails,
    /// The calls that the answer took, one by one.
    #[serde(borrow)]
    iterations: Option<&'a RawValue>,
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
    #[serde(borrow, default)]
    pub(super) usage: Option<WireUsage<'a>>,
}
