//! A compaction by hand (K6).

use crate::CancellationToken;
use crate::core::compaction::{
    Compaction, CompactionError, CompactionFault, CompactionRequest, Trigger, cut, replaced, unread,
};
use crate::core::config::Limits;
use crate::core::history::History;
use crate::core::id::{MessageId, Revision};
use crate::core::message::MessageBounds;
use crate::core::usage::Usage;
use crate::engine::EngineShutdown;
use crate::host::{CompactionContext, Flavour, PANICKED};
use crate::panics::caught;
use crate::session::{Session, SessionShared, grown};
use crate::sync::Arc;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// What a compaction by hand has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The session's revision with the replacement in it.
    pub revision: Revision,
    /// How many messages were replaced.
    pub replaced: usize,
    /// How many messages the history has.
    pub messages: usize,
    /// Tokens that the compactor took.
    pub usage: Usage,
}

/// Why a compaction by hand did nothing; the history is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The engine was shut down, before or while it went on.
    #[error(transparent)]
    EngineShutdown(#[from] EngineShutdown),
    /// A run or another operation has the session (S2).
    #[error("the session is busy")]
    Busy,
    /// The host has no compactor.
    #[error("the host has no compactor")]
    NoCompactor,
    /// The revision is the last that JSON can carry.
    #[error("the session's revision cannot grow any more")]
    RevisionFull,
    /// Nothing is old enough to be replaced.
    #[error("nothing in the history is old enough to be replaced")]
    NothingToReplace,
    /// The compactor failed, or its replacement is not good (K4).
    #[error("{error}")]
    Failed {
        /// What went wrong; a compactor's own text is cleaned and held to the bound of error texts (M5).
        error: CompactionError,
        /// Tokens that it took nevertheless; they are billed (R5).
        usage: Usage,
    },
}

/// Gives a session free again, and takes the compaction out of the engine's books.
struct Held<'a, F: Flavour, T> {
    session: &'a Session<F, T>,
    key: u64,
}

impl<F: Flavour, T> Drop for Held<'_, F, T> {
    fn drop(&mut self) {
        self.session.engine.registry.manual_ends(self.key);
        self.session.shared.release();
    }
}

/// What is to be shortened, and what the session knew before.
struct Plan {
    history: History,
    request: CompactionRequest,
    /// The revision that it would have.
    revision: Revision,
}

pub(crate) async fn compact<F: Flavour, T>(session: &Session<F, T>) -> Result<Compacted, CompactError> {
    let engine = &session.engine;
    engine.registry.check_open()?;
    let Some(compactor) = engine.host.compactor() else { return Err(CompactError::NoCompactor) };
    let history = session.shared.reserve().ok_or(CompactError::Busy)?.history;
    let token = CancellationToken::new();
    let held = match engine.registry.manual_begins(token.clone()) {
        Ok(key) => Held { session, key },
        Err(shutdown) => {
            session.shared.release();
            return Err(shutdown.into());
        }
    };
    let plan = plan(session, history)?;
    let cx = CompactionContext { token: token.clone() };
    let mut work = caught(|| F::call(&compactor, (Arc::new(plan.request.clone()), cx)));
    let working = poll_fn(|cx| match &mut work {
        Some(future) => match caught(|| Pin::new(future).poll(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(result)) => Poll::Ready(Some(result)),
            None => Poll::Ready(None),
        },
        None => Poll::Ready(None),
    });
    let limits = engine.config.limits();
    let result = token.until_cancelled(working).await;
    let compaction = match result {
        None => return Err(EngineShutdown.into()),
        Some(None) => return Err(failed(&CompactionFault::new(PANICKED), limits)),
        Some(Some(Err(fault))) => return Err(failed(&fault, limits)),
        Some(Some(Ok(compaction))) => compaction,
    };
    let done = install(&session.shared, &plan, &compaction, limits)
        .map_err(|error| CompactError::Failed { error, usage: compaction.usage })?;
    drop(held);
    Ok(done)
}

fn failed(fault: &CompactionFault, limits: &Limits) -> CompactError {
    CompactError::Failed { error: CompactionError::of(fault, limits.error_bytes), usage: fault.usage }
}

fn plan<F: Flavour, T>(session: &Session<F, T>, history: History) -> Result<Plan, CompactError> {
    let engine = &session.engine;
    let policy = engine.config.compaction_policy();
    let revision = grown(session.shared.revision()).ok_or(CompactError::RevisionFull)?;
    let kept = policy.keep_tokens.unwrap_or(history.estimated_tokens() / 2);
    let cut = cut(&history, policy, unread(&history), kept).ok_or(CompactError::NothingToReplace)?;
    let (id, model) = (session.shared.id.clone(), Arc::clone(engine.host.model_spec()));
    let request = CompactionRequest::new(id, Trigger::Manual, model, history.clone(), cut)
        .tools(engine.host.tools().iter().filter(|spec| !spec.hidden).cloned().collect())
        .most_bytes(engine.config.limits().response_bytes);
    Ok(Plan { history, request, revision })
}

fn install(
    session: &SessionShared,
    plan: &Plan,
    compaction: &Compaction,
    limits: &Limits,
) -> Result<Compacted, CompactionError> {
    let bounds =
        MessageBounds { parts: limits.parts, text: limits.response_bytes, image: limits.image_bytes };
    let revision = plan.revision;
    let mut count = 0;
    let history = replaced(&plan.history, plan.request.cut, compaction, &bounds, || {
        count += 1;
        MessageId::of_compaction(revision, count)
    })?;
    let (messages, replaced) = (history.len(), plan.request.cut);
    let revision = session.install_compaction(history);
    Ok(Compacted { revision, replaced, messages, usage: compaction.usage })
}
