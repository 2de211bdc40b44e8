//! Driving the codecs in tests: by the name of a provider, with bytes cut in any way.

use runloom::testing::Random;
use runloom_core::history::History;
use runloom_core::model::{ModelItem, ModelRequest, ModelSpec, Problem};
use runloom_core::provider::anthropic::Anthropic;
use runloom_core::provider::dialect::Dialect;
use runloom_core::provider::openai_chat::OpenAiChat;
use runloom_core::provider::summary::{Summary, summarize};
use runloom_core::provider::{Codec, Decode};
use runloom_core::tool::ToolSpec;
use std::sync::Arc;

/// A codec of one of the wire formats.
#[derive(Clone, Debug)]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic(Anthropic),
    /// OpenAI Chat Completions in some dialect.
    Chat(OpenAiChat),
}

/// A test over one decoder type: called with a maker of fresh decoders.
pub trait WithDecoder {
    /// What the test finds.
    type Found;
    /// Runs the test.
    fn run<D: Decode + Clone + PartialEq>(self, fresh: impl Fn() -> D) -> Self::Found;
}

impl Wire {
    /// The codec for a stream of `provider` (`anthropic`, `openai-chat`, `openai-compat`); the first word of `name` picks
    /// the dialect of a compatible server. `None` for other providers.
    pub fn of(provider: &str, name: &str) -> Option<Self> {
        let word = name.split('-').next().unwrap_or_default();
        match provider {
            "anthropic" => Some(Self::Anthropic(Anthropic::new())),
            "openai-chat" => Some(Self::Chat(OpenAiChat::default())),
            "openai-compat" => {
                let dialect = Dialect::named(word).unwrap_or_else(Dialect::compatible);
                Some(Self::Chat(OpenAiChat::new(dialect)))
            }
            _ => None,
        }
    }

    /// Runs a test over this codec's decoder.
    pub fn with<T: WithDecoder>(&self, test: T) -> T::Found {
        let none: [Arc<ToolSpec>; 0] = [];
        let request = ModelRequest::new(ModelSpec::new("some-model"), History::default(), none);
        match self {
            Self::Anthropic(codec) => test.run(|| codec.decoder(&request)),
            Self::Chat(codec) => test.run(|| codec.decoder(&request)),
        }
    }

    /// What comes out of a body given in these pieces.
    pub fn summary(&self, pieces: &[&[u8]]) -> Summary {
        struct Summarize<'a>(&'a [&'a [u8]]);
        impl WithDecoder for Summarize<'_> {
            type Found = Summary;
            fn run<D: Decode + Clone + PartialEq>(self, fresh: impl Fn() -> D) -> Summary {
                summarize(fresh(), self.0.iter().copied())
            }
        }
        self.with(Summarize(pieces))
    }

    /// The items of a body given in these pieces, signs of life left out.
    pub fn items(&self, pieces: &[&[u8]]) -> Vec<ModelItem> {
        struct Collect<'a>(&'a [&'a [u8]]);
        impl WithDecoder for Collect<'_> {
            type Found = Vec<ModelItem>;
            fn run<D: Decode + Clone + PartialEq>(self, fresh: impl Fn() -> D) -> Vec<ModelItem> {
                decode(fresh(), self.0.iter().copied())
            }
        }
        self.with(Collect(pieces))
    }

    /// The body of a request.
    pub fn encode(&self, request: &ModelRequest) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Anthropic(codec) => codec.encode(request),
            Self::Chat(codec) => codec.encode(request),
        }
    }

    /// What a failed answer means.
    pub fn error(&self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Problem {
        match self {
            Self::Anthropic(codec) => codec.error(status, headers, body, None),
            Self::Chat(codec) => codec.error(status, headers, body, None),
        }
    }
}

/// Feeds `pieces` and the end to `decoder`; signs of life are left out.
pub fn decode<'a, D: Decode>(mut decoder: D, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelItem> {
    let mut items = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut items);
    }
    decoder.finish(&mut items);
    items.retain(|item| *item != ModelItem::Alive);
    items
}

/// A repeatable place below `bound`; zero if there is none.
pub fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap_or_default()
}

/// What happens to the splits of a body.
#[derive(Clone, Copy, Debug)]
pub struct Splits<'a> {
    /// The body.
    pub body: &'a [u8],
    /// Up to so many bytes, every split in two is tried as a whole; beyond, a sample, and up to 32 KiB every split between
    /// two checkpoints. A body of any size is also given byte by byte.
    pub all_up_to: usize,
    /// Seed of the sample.
    pub seed: u64,
}

/// How far apart the checkpoints lie between which every split is tried.
const GRID: usize = 192;
/// Whole splits that are tried of a larger body.
const SAMPLE: usize = 24;
/// Up to so many bytes every byte is a split.
const EVERY_BYTE: usize = 32 << 10;

impl WithDecoder for Splits<'_> {
    /// How many splits were tried, or the first that came out otherwise.
    type Found = Result<usize, String>;

    fn run<D: Decode + Clone + PartialEq>(self, fresh: impl Fn() -> D) -> Self::Found {
        let body = self.body;
        let whole = decode(fresh(), [body]);
        if decode(fresh(), body.chunks(1)) != whole {
            return Err("byte by byte".into());
        }
        let mut tried = 1;
        let mut random = Random::new(self.seed);
        let all = body.len() <= self.all_up_to;
        let count = if all { body.len() } else { SAMPLE };
        for n in 0..count {
            let at = if all { n } else { below(&mut random, body.len()) };
            let (a, b) = body.split_at(at);
            if decode(fresh(), [a, b]) != whole {
                return Err(format!("split at {at}"));
            }
        }
        tried += count;
        if !all && body.len() <= EVERY_BYTE {
            tried += between_checkpoints(body, fresh())?;
        }
        Ok(tried)
    }
}

/// Tries a split at every byte, each between two checkpoints: what comes out there and the decoder's state at the
/// second must be what they are without it. Equal states go on equally, so that the rest need not be read again.
fn between_checkpoints<D: Decode + Clone + PartialEq>(body: &[u8], start: D) -> Result<usize, String> {
    let mut before = start;
    for (at, piece) in body.chunks(GRID).enumerate() {
        let mut after = before.clone();
        let expected = feed(&mut after, [piece]);
        for split in 0..piece.len() {
            let mut decoder = before.clone();
            let (a, b) = piece.split_at(split);
            if feed(&mut decoder, [a, b]) != expected || decoder != after {
                return Err(format!("split at {} from a checkpoint", at * GRID + split));
            }
        }
        before = after;
    }
    Ok(body.len())
}

fn feed<D: Decode, const N: usize>(decoder: &mut D, pieces: [&[u8]; N]) -> Vec<ModelItem> {
    let mut items = Vec::new();
    for piece in pieces {
        decoder.feed(piece, &mut items);
    }
    items.retain(|item| *item != ModelItem::Alive);
    items
}
