//! Reading what a model answers to a request for a summary: bounded, and with all that it cost (K4, R5).

use super::{Compaction, CompactionFault};
use crate::json::encoded_len;
use crate::message::{Part, ProviderContext, Role};
use crate::model::{Activity, Completion, Finish, ModelItem};
use crate::text::Text;
use crate::usage::Usage;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Takes in the items of a model's answer until one of them ends it.
///
/// It keeps at most the bytes that it was made with; an answer that is longer is a failure, and its stream is to be
/// dropped. Reasoning and calls are passed over: who was asked for a summary has nothing to call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryReader {
    most: u64,
    kept: u64,
    text: String,
    contexts: Vec<Arc<ProviderContext>>,
    /// Of the physical requests that are over.
    settled: Usage,
    /// Of the one under way.
    request: Usage,
}

/// A whole answer to a request for a summary.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summarized {
    /// What the model said.
    pub text: String,
    /// What its provider requires back.
    pub contexts: Vec<Arc<ProviderContext>>,
    /// The end, in the provider's words.
    pub finish: Text,
    /// Tokens of all its physical requests (R5).
    pub usage: Usage,
}

impl SummaryReader {
    /// A reader that keeps at most `most` encoded bytes of text, and of what the provider requires back.
    pub fn new(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    /// Takes an item in; the end, if it is one, or if there is more than is kept.
    ///
    /// # Errors
    ///
    /// A [`CompactionFault`] with all tokens that were reported: the model has failed, its answer was cut or refused, or
    /// it is too large.
    pub fn take(&mut self, item: ModelItem) -> Option<Result<Summarized, CompactionFault>> {
        match item {
            ModelItem::Text(text) => {
                self.kept = self.kept.saturating_add(encoded_len(&text));
                if self.kept <= self.most {
                    self.text.push_str(&text);
                }
            }
            ModelItem::Context(context) => {
                // One without content takes a place too.
                self.kept = self.kept.saturating_add(context.payload.len().max(1) as u64);
                if self.kept <= self.most {
                    self.contexts.push(context);
                }
            }
            ModelItem::Usage(usage) => self.request.replace(&usage),
            ModelItem::Activity(activity) => {
                if let Activity::RequestRetry { .. } = *activity {
                    self.settle();
                }
            }
            ModelItem::Done(done) => return Some(self.done(*done)),
            ModelItem::Failed(problem) => return Some(Err(self.fault(problem.message))),
            ModelItem::Refusal(_)
            | ModelItem::Reasoning(_)
            | ModelItem::ReasoningSummary(_)
            | ModelItem::CallDelta(_)
            | ModelItem::Call(_)
            | ModelItem::CallEnd(_)
            | ModelItem::GenerationTokens(_)
            | ModelItem::Steering(_)
            | ModelItem::Alive => {}
        }
        let most = self.most;
        (self.kept > most).then(|| Err(self.fault(format!("the summary is larger than {most} bytes"))))
    }

    /// The stream has ended before the answer did.
    pub fn cut(mut self) -> CompactionFault {
        self.fault("the stream of the summary ended before the summary did")
    }

    /// A repeated physical request begins: what the one before it cost is added to it (R5).
    fn settle(&mut self) {
        self.settled.add(&core::mem::take(&mut self.request));
    }

    fn fault(&mut self, message: impl Into<Text>) -> CompactionFault {
        self.settle();
        CompactionFault::new(message).usage(self.settled)
    }

    fn done(&mut self, done: Completion) -> Result<Summarized, CompactionFault> {
        if let Some(finish @ (Finish::Length | Finish::Error | Finish::Refusal | Finish::ContentFilter)) =
            done.finish
        {
            return Err(self.fault(format!("the summary ended early: {}", finish.as_str())));
        }
        self.settle();
        Ok(Summarized {
            text: core::mem::take(&mut self.text),
            contexts: core::mem::take(&mut self.contexts),
            finish: done.raw,
            usage: self.settled,
        })
    }
}

impl Summarized {
    /// One message of the user's side with the model's text under `heading`.
    ///
    /// # Errors
    ///
    /// A [`CompactionFault`] if the model has said nothing.
    pub fn under(self, heading: &str) -> Result<Compaction, CompactionFault> {
        let said = self.text.trim();
        if said.is_empty() {
            return Err(CompactionFault::new("the model's summary is empty").usage(self.usage));
        }
        Ok(Compaction::summary(format!("{heading}\n{said}")).usage(self.usage))
    }

    /// One message of the assistant with what the provider wants to get in the place of the older messages, and with
    /// the same in words, for people and for models that cannot read it. `adopt` finds both in a context of the answer.
    ///
    /// # Errors
    ///
    /// A [`CompactionFault`] if there is nothing of the kind: the provider has not shortened anything.
    pub fn adopted(
        self,
        adopt: impl FnMut(&Arc<ProviderContext>) -> Option<(Arc<ProviderContext>, Text)>,
    ) -> Result<Compaction, CompactionFault> {
        let Some((context, words)) = self.contexts.iter().find_map(adopt) else {
            let message = format!("the provider has shortened nothing: {}", self.finish);
            return Err(CompactionFault::new(message).usage(self.usage));
        };
        let mut parts = vec![Part::Context(context)];
        if !words.trim().is_empty() {
            parts.push(Part::Text(words));
        }
        Ok(Compaction::of([(Role::Assistant, parts)]).usage(self.usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Problem, ProblemKind};
    use alloc::boxed::Box;
    use alloc::string::ToString;
    use core::time::Duration;

    fn usage(input: u64, output: u64) -> ModelItem {
        ModelItem::Usage(Box::new(Usage::new(input, output)))
    }

    fn retry() -> ModelItem {
        let delay = Duration::ZERO;
        ModelItem::Activity(Box::new(Activity::RequestRetry { kind: ProblemKind::Server, delay }))
    }

    fn done(finish: Finish) -> ModelItem {
        ModelItem::Done(Box::new(Completion::new(Some(finish), finish.as_str())))
    }

    /// The end of an answer of these items.
    fn read(most: u64, items: impl IntoIterator<Item = ModelItem>) -> Result<Summarized, CompactionFault> {
        let mut reader = SummaryReader::new(most);
        let end = items.into_iter().find_map(|item| reader.take(item));
        end.unwrap_or_else(|| Err(reader.cut()))
    }

    // proves: R5
    #[test]
    fn reports_replace_within_a_request_and_repeated_requests_add() {
        let requests = || [usage(90, 1), retry(), usage(50, 1), usage(50, 7)];
        let whole = read(99, requests().into_iter().chain([ModelItem::Text("s".into()), done(Finish::Stop)]));
        assert_eq!(whole.unwrap().usage, Usage::new(140, 8));
        let ends = [
            vec![done(Finish::Length)],
            vec![ModelItem::Failed(Box::new(Problem::new(ProblemKind::Server, "no")))],
            vec![ModelItem::Text("x".repeat(100).as_str().into())],
            vec![],
        ];
        for end in ends {
            let fault = read(99, requests().into_iter().chain(end)).unwrap_err();
            assert_eq!(fault.usage, Usage::new(140, 8), "{}", fault.message);
        }
    }

    // proves: K4
    // bounds: summary
    #[test]
    fn what_is_kept_of_an_answer_is_bounded() {
        for (bytes, fits) in [(9, true), (10, true), (11, false)] {
            let pieces = (0..bytes).map(|_| ModelItem::Text("x".into()));
            let end = read(10, pieces.chain([done(Finish::Stop)]));
            match end {
                Ok(whole) => assert!(fits && whole.text.len() == bytes),
                Err(fault) => assert!(!fits && fault.message == "the summary is larger than 10 bytes"),
            }
        }
        let context = |len: usize| {
            let payload = "x".repeat(len).as_str().into();
            let context = ProviderContext { model: "m".into(), kind: "k".into(), payload };
            ModelItem::Context(Arc::new(context))
        };
        assert!(read(10, [context(5), context(5), done(Finish::Stop)]).is_ok());
        assert!(read(10, [context(5), context(6), done(Finish::Stop)]).is_err());
        // What has no content takes a place, so that not any number of it is kept.
        assert!(read(10, (0..10).map(|_| context(0)).chain([done(Finish::Stop)])).is_ok());
        assert!(read(10, (0..11).map(|_| context(0)).chain([done(Finish::Stop)])).is_err());
        // What is escaped counts as it is written.
        assert!(read(10, [ModelItem::Text("\"".repeat(6).as_str().into())]).is_err());
    }

    // proves: K4
    #[test]
    fn a_provider_that_shortens_nothing_has_failed_and_says_how_it_ended() {
        let whole =
            || read(99, [ModelItem::Text("hello".into()), usage(3, 4), done(Finish::ToolCalls)]).unwrap();
        let fault = whole().adopted(|_| None).unwrap_err();
        assert_eq!(fault.message.to_string(), "the provider has shortened nothing: tool_calls");
        assert_eq!(fault.usage, Usage::new(3, 4));
        let done = whole().under("Before:").unwrap();
        assert_eq!(done, Compaction::summary("Before:\nhello").usage(Usage::new(3, 4)));
    }
}
