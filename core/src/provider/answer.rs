//! One HTTP answer as it comes in: whatever its status, its bytes become model items.

use super::{Codec, Decode, Secret, mask};
use crate::model::{ModelItem, ModelRequest, Problem, ProblemKind};
use crate::text::Text;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Most bytes of a failed answer's body that are read; the answer ends there.
pub const MAX_ERROR_BODY: usize = 64 * 1024;

/// An answer to one request, from its head to its end.
///
/// Feed it the body as it arrives and say how the body ended; take what [`Answer::feed`], [`Answer::finish`] and
/// [`Answer::fail`] append. A status from 200 to 299 is decoded as a stream; any other becomes one
/// [`ModelItem::Failed`] with a typed [`Problem`], read from status, header and body. Nothing is appended after `Done`
/// or `Failed`. Secrets, which a server may repeat in what it says about them, are masked in every problem (M5).
pub struct Answer<C: Codec> {
    codec: Arc<C>,
    secrets: Arc<[Secret]>,
    state: State<C::Decoder>,
}

enum State<D> {
    Stream(D),
    Error(Box<Refusal>),
    Ended,
}

/// What a server says that does not answer.
struct Refusal {
    status: u16,
    headers: Vec<(Text, Text)>,
    now_unix: Option<u64>,
    body: Vec<u8>,
}

/// The head of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Status code.
    pub status: u16,
    /// Names and values of the header's fields.
    pub headers: &'a [(&'a str, &'a str)],
    /// Wall time in Unix seconds, which dates in `Retry-After` are measured against.
    pub now_unix: Option<u64>,
}

impl<C: Codec> Answer<C> {
    /// The answer to `request` that begins with `head`. `secrets` are what the request was authorized with.
    pub fn new(codec: Arc<C>, request: &ModelRequest, secrets: Arc<[Secret]>, head: Head<'_>) -> Self {
        let state = if (200..300).contains(&head.status) {
            State::Stream(codec.decoder(request))
        } else {
            let headers = head.headers.iter().map(|(name, value)| (Text::new(name), Text::new(value)));
            State::Error(Box::new(Refusal {
                status: head.status,
                headers: headers.collect(),
                now_unix: head.now_unix,
                body: Vec::new(),
            }))
        };
        Self { codec, secrets, state }
    }

    /// Whether `Done` or `Failed` has been appended: the connection may be closed.
    pub fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Takes in a piece of the body.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelItem>) {
        let before = out.len();
        match &mut self.state {
            State::Stream(decoder) => decoder.feed(bytes, out),
            State::Error(refusal) => {
                let room = MAX_ERROR_BODY.saturating_sub(refusal.body.len());
                refusal.body.extend(bytes.iter().take(room));
                if bytes.len() >= room {
                    self.refuse(out);
                } else {
                    out.push(ModelItem::Alive);
                }
            }
            State::Ended => {}
        }
        self.seal(before, out);
    }

    /// The body ended cleanly.
    pub fn finish(&mut self, out: &mut Vec<ModelItem>) {
        let before = out.len();
        match &mut self.state {
            State::Stream(decoder) => decoder.finish(out),
            State::Error(_) => self.refuse(out),
            State::Ended => {}
        }
        self.seal(before, out);
    }

    /// The body broke off with `problem`. What a failed answer has told until then counts more.
    pub fn fail(&mut self, problem: Problem, out: &mut Vec<ModelItem>) {
        let before = out.len();
        match &self.state {
            State::Stream(_) => out.push(ModelItem::Failed(Box::new(problem))),
            State::Error(_) => self.refuse(out),
            State::Ended => {}
        }
        self.seal(before, out);
    }

    fn refuse(&mut self, out: &mut Vec<ModelItem>) {
        if let State::Error(refusal) = &self.state {
            let headers: Vec<(&str, &str)> =
                refusal.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let problem = self.codec.error(refusal.status, &headers, &refusal.body, refusal.now_unix);
            out.push(ModelItem::Failed(Box::new(problem)));
        }
    }

    /// Masks the secrets in a problem and notes the end.
    fn seal(&mut self, before: usize, out: &mut [ModelItem]) {
        for item in out.iter_mut().skip(before) {
            match item {
                ModelItem::Failed(problem) => {
                    mask(problem, &self.secrets);
                    self.state = State::Ended;
                }
                ModelItem::Done(_) => self.state = State::Ended,
                ModelItem::Text(_)
                | ModelItem::Refusal(_)
                | ModelItem::Reasoning(_)
                | ModelItem::ReasoningSummary(_)
                | ModelItem::CallDelta(_)
                | ModelItem::Call(_)
                | ModelItem::CallEnd(_)
                | ModelItem::Usage(_)
                | ModelItem::GenerationTokens(_)
                | ModelItem::Context(_)
                | ModelItem::Steering(_)
                | ModelItem::Activity(_)
                | ModelItem::Alive => {}
            }
        }
    }
}

/// A problem of the connection itself, with `secrets` masked; for requests that never got an answer.
pub fn connection_problem(message: &str, secrets: &[Secret]) -> Problem {
    let mut problem = Problem::new(ProblemKind::Connection, message);
    mask(&mut problem, secrets);
    problem
}

impl<C: Codec> core::fmt::Debug for Answer<C> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Answer").field("ended", &self.is_ended()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::model::ModelSpec;
    use crate::provider::anthropic::Anthropic;
    use alloc::format;
    use alloc::vec;

    fn answer(status: u16) -> Answer<Anthropic> {
        let request = ModelRequest::new(ModelSpec::new("m"), History::default(), []);
        let secrets = Arc::from([Secret::new("sesame-canary")]);
        let head = Head { status, headers: &[("retry-after", "7")], now_unix: None };
        Answer::new(Arc::new(Anthropic::new()), &request, secrets, head)
    }

    fn problem(items: &[ModelItem]) -> &Problem {
        let Some(ModelItem::Failed(problem)) = items.last() else { panic!("{items:?}") };
        problem
    }

    const BODY: &[u8] = br#"{"error":{"type":"overloaded_error","message":"busy, sesame-canary"}}"#;

    #[test]
    fn a_refusal_is_one_problem_without_the_key_however_its_body_ends() {
        let broken = || Problem::new(ProblemKind::Connection, "lost");
        for end in 0..2 {
            let (mut answer, mut items) = (answer(529), Vec::new());
            BODY.chunks(9).for_each(|piece| answer.feed(piece, &mut items));
            assert!(items.iter().all(|item| *item == ModelItem::Alive) && !answer.is_ended());
            if end == 0 {
                answer.finish(&mut items)
            } else {
                answer.fail(broken(), &mut items)
            }
            assert_eq!(problem(&items).kind, ProblemKind::Overloaded);
            assert_eq!(problem(&items).message, "busy, [redacted]");
            assert_eq!(problem(&items).retry_after, Some(core::time::Duration::from_secs(7)));
            let count = items.len();
            answer.feed(b"x", &mut items);
            answer.finish(&mut items);
            answer.fail(broken(), &mut items);
            assert_eq!((items.len(), answer.is_ended()), (count, true));
        }
    }

    #[test]
    fn an_endless_refusal_ends_at_its_bound() {
        let (mut answer, mut items) = (answer(500), Vec::new());
        answer.feed(&vec![b' '; MAX_ERROR_BODY - 1], &mut items);
        assert!(!answer.is_ended());
        answer.feed(b"  ", &mut items);
        assert_eq!(problem(&items).kind, ProblemKind::Server);
        assert!(answer.is_ended());
    }

    #[test]
    fn a_stream_that_breaks_off_hides_the_key_too() {
        let (mut answer, mut items) = (answer(200), Vec::new());
        answer.fail(Problem::new(ProblemKind::Truncated, "cut at sesame-canary"), &mut items);
        assert_eq!(problem(&items).message, "cut at [redacted]");
        assert!(!format!("{answer:?}").contains("sesame"));
    }
}
