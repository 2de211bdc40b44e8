//! What the decoders share: framing, the terminal rule, unreadable streams, signs of life, counted generation tokens.

use crate::assemble::parses;
use crate::model::{ModelItem, Problem, ProblemKind};
use crate::provider::Decode;
use crate::provider::sse::{SseDecoder, SseEvent};
use crate::usage::GenerationTokens;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::ControlFlow;

/// The stream cannot be read on; says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable(pub(crate) &'static str);

/// What a decoder keeps of a response to send it back, at most, in bytes: several times what the engine accepts.
const MAX_KEPT: usize = 8 << 20;

/// Counts what a decoder keeps, so that a stream without end cannot fill the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept(usize);

impl Kept {
    /// Counts `bytes` more.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Unreadable> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 > MAX_KEPT {
            return Err(Unreadable("the response holds more opaque material than can be kept"));
        }
        Ok(())
    }
}

/// The events of one provider's stream.
pub trait Events {
    /// Appends what an event means. A terminal item, if any, comes last; no event follows it.
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelItem>) -> Result<(), Unreadable>;

    /// The response is whole: appends what was held back, and `Done`.
    fn done(&mut self, out: &mut Vec<ModelItem>);

    /// See [`Decode::finish_reason`].
    fn finish_reason(&self) -> Option<&str>;
}

/// A decoder of server-sent events that mean `E`.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamDecoder<E> {
    sse: SseDecoder,
    events: E,
    ended: bool,
    unreadable_at: Option<u64>,
}

fn is_terminal(item: Option<&ModelItem>) -> bool {
    matches!(item, Some(ModelItem::Done(_) | ModelItem::Failed(_)))
}

/// The item of a failed stream.
pub(crate) fn failed(kind: ProblemKind, message: &str) -> ModelItem {
    ModelItem::Failed(Box::new(Problem::new(kind, message)))
}

impl<E: Events> StreamDecoder<E> {
    pub(crate) fn new(events: E) -> Self {
        Self { sse: SseDecoder::default(), events, ended: false, unreadable_at: None }
    }

    fn run(
        &mut self,
        out: &mut Vec<ModelItem>,
        drive: impl FnOnce(&mut SseDecoder, &mut crate::provider::sse::SseSink<'_>),
    ) {
        let Self { sse, events, ended, unreadable_at } = self;
        let mut sink = |event: SseEvent<'_>| {
            // What was pending at the end of the body counts only if it is whole.
            if event.unterminated && !parses(event.data) && !is_done_mark(event.data) {
                return ControlFlow::Continue(());
            }
            if let Err(Unreadable(reason)) = events.event(&event, out) {
                *unreadable_at = Some(event.offset);
                out.push(failed(ProblemKind::InvalidResponse, reason));
            }
            *ended = is_terminal(out.last());
            if *ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        drive(sse, &mut sink);
    }
}

impl<E: Events> Decode for StreamDecoder<E> {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelItem>) {
        if self.ended || bytes.is_empty() {
            return;
        }
        let before = out.len();
        let mut broken = None;
        self.run(out, |sse, sink| broken = sse.feed(bytes, sink).err());
        if let Some(error) = broken.filter(|_| !self.ended) {
            self.ended = true;
            self.unreadable_at = Some(error.offset());
            out.push(failed(ProblemKind::InvalidResponse, &error.to_string()));
        }
        if out.len() == before {
            out.push(ModelItem::Alive);
        }
    }

    fn finish(&mut self, out: &mut Vec<ModelItem>) {
        if self.ended {
            return;
        }
        self.run(out, |sse, sink| sse.finish(sink));
        if let Some(at) = self.sse.is_no_stream_at().filter(|_| !self.ended) {
            self.ended = true;
            self.unreadable_at = Some(at);
            return out.push(failed(ProblemKind::InvalidResponse, "the body is no event stream"));
        }
        if !core::mem::replace(&mut self.ended, true) {
            // Some servers never send a last mark; a reason to stop is enough, and nothing less is (M8).
            match self.events.finish_reason() {
                Some(_) => self.events.done(out),
                None => out.push(failed(ProblemKind::Truncated, "the stream ended before the response did")),
            }
        }
    }

    fn finish_reason(&self) -> Option<&str> {
        self.events.finish_reason()
    }

    fn unreadable_at(&self) -> Option<u64> {
        self.unreadable_at
    }
}

/// Reads an event that must be an object: derived readers would take a list for one.
pub(crate) fn object<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Option<T> {
    if !data.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str(data).ok()
}

/// Whether an event is the `[DONE]` that ends Chat Completions streams.
pub(crate) fn is_done_mark(data: &str) -> bool {
    data.trim_start().starts_with("[DONE]")
}

/// How much reasoning of a response reached us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reasoning {
    /// Some of it as text.
    pub(crate) visible: bool,
    /// Some of it happened, or may have, without a text.
    pub(crate) hidden: bool,
}

impl Reasoning {
    /// The output tokens that fall into the measured generation time (T7): from the first visible piece on. Hidden
    /// reasoning happens before it, so that its share is taken off where the provider tells it apart.
    pub(crate) fn generation(self, output: Option<u64>, reasoning: Option<u64>) -> Option<GenerationTokens> {
        let output = output?;
        Some(match (self.visible, self.hidden, reasoning) {
            (true, false, _) => GenerationTokens::Reported(output),
            (false, _, Some(reasoning)) => GenerationTokens::Reported(output.saturating_sub(reasoning)),
            (false, false, None) => GenerationTokens::Reported(output),
            (true, true, _) | (false, true, None) => GenerationTokens::Unavailable,
        })
    }
}

#[cfg(test)]
#[allow(clippy::wildcard_enum_match_arm)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// Every event is a text; `!` ends well, `?` is unreadable.
    #[derive(Clone, Debug, PartialEq)]
    struct Plain;

    impl Events for Plain {
        fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelItem>) -> Result<(), Unreadable> {
            match event.data {
                "!" => out.push(failed(ProblemKind::Other, "end")),
                "?" => return Err(Unreadable("odd")),
                data => out.push(ModelItem::Text(data.into())),
            }
            Ok(())
        }
        fn done(&mut self, out: &mut Vec<ModelItem>) {
            out.push(failed(ProblemKind::Other, "done without a reason"));
        }
        fn finish_reason(&self) -> Option<&str> {
            None
        }
    }

    fn items(parts: &[&[u8]]) -> (Vec<String>, Option<u64>) {
        let mut decoder = StreamDecoder::new(Plain);
        let mut out = Vec::new();
        for part in parts {
            decoder.feed(part, &mut out);
        }
        decoder.finish(&mut out);
        decoder.finish(&mut out);
        decoder.feed(b"data: x\n\n", &mut out);
        let names = out.iter().map(|item| match item {
            ModelItem::Text(text) => String::from(text.as_str()),
            ModelItem::Failed(problem) => alloc::format!("failed {}", problem.message),
            ModelItem::Alive => String::from("alive"),
            _ => String::from("other"),
        });
        (names.collect(), decoder.unreadable_at())
    }

    #[test]
    fn one_terminal_item_and_nothing_after_it() {
        assert_eq!(items(&[b"data: a\n\ndata: !\n\ndata: b\n\n"]).0, ["a", "failed end"]);
        assert_eq!(
            items(&[b"data: a\n\n", b"", b":"]).0,
            ["a", "alive", "failed the stream ended before the response did"]
        );
        assert_eq!(items(&[]).0, ["failed the stream ended before the response did"]);
    }

    #[test]
    fn unreadable_streams_tell_where() {
        assert_eq!(items(&[b"data: a\n\ndata: ?\n\n"]), (["a".into(), "failed odd".into()].into(), Some(15)));
        let (names, at) = items(&[b"data: a\n\ndata: \xff\n\ndata: b\n\n"]);
        assert_eq!((names.len(), at), (2, Some(15)));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut kept = Kept::default();
        assert_eq!(kept.add(MAX_KEPT), Ok(()));
        assert!(kept.add(1).is_err() && kept.add(usize::MAX).is_err());
    }

    #[test]
    fn pending_data_counts_only_if_whole() {
        assert_eq!(
            items(&[b"data: {\"a\":1}"]).0,
            ["alive", "{\"a\":1}", "failed the stream ended before the response did"]
        );
        assert_eq!(
            items(&[b"data: {\"a\":1"]).0,
            ["alive", "failed the stream ended before the response did"]
        );
    }

    #[test]
    fn generation_tokens_never_count_what_is_not_known() {
        use GenerationTokens::{Reported, Unavailable};
        let tokens =
            |visible, hidden, output, reasoning| Reasoning { visible, hidden }.generation(output, reasoning);
        assert_eq!(tokens(false, false, None, Some(3)), None);
        assert_eq!(tokens(false, false, Some(9), None), Some(Reported(9)));
        assert_eq!(tokens(false, false, Some(9), Some(4)), Some(Reported(5)));
        assert_eq!(tokens(false, true, Some(9), Some(11)), Some(Reported(0)));
        assert_eq!(tokens(false, true, Some(9), None), Some(Unavailable));
        assert_eq!(tokens(true, false, Some(9), Some(4)), Some(Reported(9)));
        assert_eq!(tokens(true, true, Some(9), Some(4)), Some(Unavailable));
    }
}
