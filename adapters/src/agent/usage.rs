//! Tokens of a run, added up.

use crate::core::agui::TokenUsage;
use crate::core::agui::wire::MAX_SAFE_INTEGER;

/// The largest count that the protocol has.
const MOST: u64 = MAX_SAFE_INTEGER.unsigned_abs();

/// Adds an entry to that of its provider and model. A count that one of the two lacks is the other's: it is unknown, not
/// zero. None grows beyond what the protocol has.
pub(super) fn add(all: &mut Vec<TokenUsage>, more: TokenUsage) {
    let same = |usage: &TokenUsage| (&usage.provider, &usage.model) == (&more.provider, &more.model);
    let usage = match all.iter().position(same) {
        Some(at) => &mut all[at],
        None => {
            let (provider, model) = (more.provider.clone(), more.model.clone());
            all.push(TokenUsage { provider, model, ..TokenUsage::default() });
            let last = all.len() - 1;
            &mut all[last]
        }
    };
    let counts = [
        (&mut usage.input_tokens, more.input_tokens),
        (&mut usage.output_tokens, more.output_tokens),
        (&mut usage.total_tokens, more.total_tokens),
        (&mut usage.reasoning_tokens, more.reasoning_tokens),
        (&mut usage.cached_input_tokens, more.cached_input_tokens),
        (&mut usage.cache_write_input_tokens, more.cache_write_input_tokens),
    ];
    for (count, more) in counts {
        *count = match (*count, more) {
            (Some(count), Some(more)) => Some(count.saturating_add(more)),
            (count, more) => count.or(more),
        }
        .map(|count| count.min(MOST));
    }
}
