//! Summaries that the API makes on demand: what comes back, and how it is told from its other blocks (M9, K1).

use crate::message::{Message, Part, ProviderContext};
use crate::provider::read::Members;
use crate::text::Text;
use alloc::sync::Arc;

/// The kind of a block as it comes in.
const BLOCK: &str = "anthropic.compaction";
/// The kind of a block that stands in the place of the older messages. One that the API has made by itself, in the middle
/// of an answer, is a block like others.
const SUMMARY: &str = "anthropic.summary";

/// A block of the answer to a request for a summary, and its words.
pub(super) fn adopt(context: &Arc<ProviderContext>) -> Option<(Arc<ProviderContext>, Text)> {
    if context.kind != BLOCK {
        return None;
    }
    let words = Members::read(&context.payload)?.text("content").map(|words| Text::new(&words))?;
    let summary = ProviderContext { kind: Text::new(SUMMARY), ..(**context).clone() };
    Some((Arc::new(summary), words))
}

/// Whether it stands in the place of older messages.
pub(super) fn is_summary(context: &ProviderContext) -> bool {
    context.kind == SUMMARY
}

/// The summary that `message` is, if `model` has made it: then its words are not sent beside it.
pub(super) fn summary_of<'m>(message: &'m Message, model: &Text) -> Option<&'m ProviderContext> {
    message.parts().iter().find_map(|part| match part {
        Part::Context(context) if is_summary(context) && context.model == *model => Some(&**context),
        Part::Context(_) | Part::Text(_) | Part::Image(_) | Part::ToolCall(_) | Part::ToolResult(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::anthropic::CONTEXT_PREFIX;

    #[test]
    fn kinds_are_the_codecs_own() {
        assert!(BLOCK.starts_with(CONTEXT_PREFIX) && SUMMARY.starts_with(CONTEXT_PREFIX));
    }

    #[test]
    fn only_a_block_with_words_is_a_summary() {
        let context = |kind: &str, payload: &str| {
            Arc::new(ProviderContext { model: "m".into(), kind: kind.into(), payload: payload.into() })
        };
        let block = r#"{"type":"compaction","content":"they talked","signature":"s"}"#;
        let (summary, words) = adopt(&context(BLOCK, block)).unwrap();
        assert_eq!(
            (&*summary.payload, summary.kind.as_str(), words.as_str()),
            (block, SUMMARY, "they talked")
        );
        for (kind, payload) in [(SUMMARY, block), (BLOCK, r#"{"content":null}"#), (BLOCK, "x")] {
            assert_eq!(adopt(&context(kind, payload)), None, "{kind} {payload}");
        }
    }
}
