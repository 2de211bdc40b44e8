//! Steering: what people add while a run is under way (H3-H5).
//!
//! ```text
//! staged -> claimed -> delivered -> applied
//!   |  ^-------/-----------/           a reset takes both back
//!   \-> retracted, or returned with the outcome
//! ```

use crate::config::Config;
use crate::id::SteerId;
use crate::message::{Message, MessageBounds, MessageError, Part, Role, check_parts};
use crate::suspend::{AppliedSteer, Suspended};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// An input that a run has accepted while it was under way. It is either applied or returned (H5).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steer {
    /// Names it in its run.
    pub id: SteerId,
    /// What it says: text and images.
    pub parts: Arc<[Part]>,
}

/// Why a steer was not accepted; nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SteerError {
    /// The run has ended or was suspended, or has not begun.
    #[error("the run takes no input any more")]
    NotAccepting,
    /// As many as may be are staged, claimed or delivered, and wait to be applied.
    #[error("{limit} inputs wait to be applied, more are not taken")]
    TooMany {
        /// The bound.
        limit: usize,
    },
    /// An input of this id waits, or was applied.
    #[error("an input of the id {0:?} is there already")]
    Duplicate(SteerId),
    /// It says nothing, or more than a bound allows.
    #[error(transparent)]
    Invalid(#[from] MessageError),
}

/// What became of a steer that was to be taken back (H3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetractReply {
    /// It is gone.
    Retracted,
    /// The model has it, or is about to get it; it will be applied, or staged again after a reset.
    Delivered,
    /// It stands in the run's history.
    AlreadyApplied,
    /// The run has no such input: it never had, or it was retracted or returned before.
    NotFound,
}

/// What a model that can be steered during its turn says about inputs (H4).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SteeringItem {
    /// It can take one more input: the oldest that is staged, or the next that comes during the attempt.
    Claim,
    /// The provider has acknowledged this input.
    Delivered(SteerId),
    /// It could not pass this input on, which is staged again.
    Released(SteerId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Staged,
    Claimed,
    Delivered,
}

#[derive(Clone, Debug)]
struct Entry {
    steer: Arc<Steer>,
    stage: Stage,
}

/// The inputs of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    /// Not applied yet, in the order in which they came.
    pending: Vec<Entry>,
    /// Applied since the last commit: an interruption returns them (C9).
    uncommitted: Vec<Arc<Steer>>,
    applied: BTreeSet<SteerId>,
    /// How many ids the engine has made.
    made: u64,
    /// How many inputs the attempt under way is ready for.
    claims: usize,
}

/// Whether there is nothing in these parts that a model could read.
pub(crate) fn says_nothing(parts: &[Part]) -> bool {
    parts.iter().all(|part| matches!(part, Part::Text(text) if text.is_empty()))
}

impl Book {
    /// The inputs of a run's next part: ids are counted on, what was applied stays known, and what is not committed of it
    /// is returned by an interruption (C9).
    pub(crate) fn resumed(value: &Suspended) -> Self {
        Self {
            made: value.steers,
            applied: value.applied.iter().map(|applied| applied.id.clone()).collect(),
            uncommitted: value.uncommitted().map(Arc::new).collect(),
            ..Self::default()
        }
    }

    /// What was applied, for a value that goes on with `tail`: the inputs that are not committed are the last of its
    /// messages from people.
    pub(crate) fn put_aside(&self, tail: &[Arc<Message>]) -> Vec<AppliedSteer> {
        let said = tail.iter().zip(0_u32..).filter(|(message, _)| message.role() == Role::User);
        let places: Vec<u32> = said.map(|(_, at)| at).collect();
        let first = places.len().saturating_sub(self.uncommitted.len());
        let open: BTreeMap<&SteerId, u32> =
            self.uncommitted.iter().map(|steer| &steer.id).zip(places.into_iter().skip(first)).collect();
        let mut applied: Vec<AppliedSteer> = self
            .applied
            .iter()
            .map(|id| AppliedSteer { id: id.clone(), at: open.get(id).copied() })
            .collect();
        applied.sort_by_key(|applied| applied.at);
        applied
    }

    /// How many ids the engine has made.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    /// Takes an input in.
    pub(crate) fn stage(
        &mut self,
        id: Option<SteerId>,
        parts: Vec<Part>,
        config: &Config,
    ) -> Result<SteerId, SteerError> {
        let limits = config.limits();
        if self.pending.len() >= limits.steers {
            return Err(SteerError::TooMany { limit: limits.steers });
        }
        if says_nothing(&parts) {
            return Err(MessageError::Empty.into());
        }
        let bounds =
            MessageBounds { parts: limits.parts, text: limits.steer_bytes, image: limits.image_bytes };
        check_parts(Role::User, &parts, &bounds)?;
        let id = match id {
            Some(id) if self.knows(&id) => return Err(SteerError::Duplicate(id)),
            Some(id) => id,
            None => self.make_id(),
        };
        let steer = Arc::new(Steer { id: id.clone(), parts: parts.into() });
        self.pending.push(Entry { steer, stage: Stage::Staged });
        Ok(id)
    }

    fn knows(&self, id: &SteerId) -> bool {
        self.applied.contains(id) || self.pending.iter().any(|entry| entry.steer.id == *id)
    }

    fn make_id(&mut self) -> SteerId {
        loop {
            self.made = self.made.saturating_add(1);
            let id = SteerId::counted(self.made);
            if !self.knows(&id) {
                return id;
            }
        }
    }

    /// Takes an input back, if it is still staged.
    pub(crate) fn retract(&mut self, id: &SteerId) -> RetractReply {
        if self.applied.contains(id) {
            return RetractReply::AlreadyApplied;
        }
        match self.pending.iter().position(|entry| entry.steer.id == *id) {
            Some(at) if self.pending.get(at).is_some_and(|entry| entry.stage == Stage::Staged) => {
                self.pending.remove(at);
                RetractReply::Retracted
            }
            Some(_) => RetractReply::Delivered,
            None => RetractReply::NotFound,
        }
    }

    /// The attempt under way can take one more input.
    pub(crate) fn claim(&mut self, config: &Config) {
        self.claims = self.claims.saturating_add(1).min(config.limits().steers);
    }

    /// The next input for the attempt under way, if it is ready for one.
    pub(crate) fn hand_over(&mut self) -> Option<Arc<Steer>> {
        let left = self.claims.checked_sub(1)?;
        let entry = self.pending.iter_mut().find(|entry| entry.stage == Stage::Staged)?;
        entry.stage = Stage::Claimed;
        self.claims = left;
        Some(Arc::clone(&entry.steer))
    }

    /// Moves a claimed input on; whether there was one of this id.
    fn move_claimed(&mut self, id: &SteerId, to: Stage) -> bool {
        let claimed = |entry: &&mut Entry| entry.steer.id == *id && entry.stage == Stage::Claimed;
        match self.pending.iter_mut().find(claimed) {
            Some(entry) => {
                entry.stage = to;
                true
            }
            None => false,
        }
    }

    /// The provider has acknowledged an input; whether that is news.
    pub(crate) fn delivered(&mut self, id: &SteerId) -> bool {
        self.move_claimed(id, Stage::Delivered)
    }

    /// An input could not be passed on.
    pub(crate) fn released(&mut self, id: &SteerId) {
        self.move_claimed(id, Stage::Staged);
    }

    /// What the attempt had taken is staged again: it is void (H4).
    pub(crate) fn reset(&mut self) {
        self.claims = 0;
        for entry in &mut self.pending {
            entry.stage = Stage::Staged;
        }
    }

    /// The attempt has ended well: what it claimed and did not deliver is staged again.
    pub(crate) fn turn_ends(&mut self) {
        self.claims = 0;
        for entry in &mut self.pending {
            if entry.stage == Stage::Claimed {
                entry.stage = Stage::Staged;
            }
        }
    }

    /// Whether an input waits that no model has seen.
    pub(crate) fn has_staged(&self) -> bool {
        self.pending.iter().any(|entry| entry.stage != Stage::Delivered)
    }

    /// How many inputs wait to be applied, and their bytes.
    pub(crate) fn room(&self) -> (usize, u64) {
        let parts = self.pending.iter().flat_map(|entry| entry.steer.parts.iter());
        (self.pending.len(), parts.map(Part::encoded_len).sum())
    }

    fn apply(&mut self, entries: impl Iterator<Item = Entry>) -> Vec<Arc<Steer>> {
        let applied: Vec<Arc<Steer>> = entries.map(|entry| entry.steer).collect();
        self.applied.extend(applied.iter().map(|steer| steer.id.clone()));
        self.uncommitted.extend(applied.iter().cloned());
        applied
    }

    /// What crosses into history before the next step: what was delivered first, then the rest, each in order.
    pub(crate) fn take_all(&mut self) -> Vec<Arc<Steer>> {
        let mut delivered = self.take_delivered();
        let rest = core::mem::take(&mut self.pending);
        delivered.extend(self.apply(rest.into_iter()));
        delivered
    }

    /// What the model has seen; the rest stays.
    pub(crate) fn take_delivered(&mut self) -> Vec<Arc<Steer>> {
        let all = core::mem::take(&mut self.pending);
        let (delivered, rest): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|entry| entry.stage == Stage::Delivered);
        self.pending = rest;
        self.apply(delivered.into_iter())
    }

    /// What was applied is committed.
    pub(crate) fn committed(&mut self) {
        self.uncommitted = Vec::new();
    }

    /// What the ended run returns (H5): all that waits, and without a commit also what was applied since the last one.
    pub(crate) fn take_unapplied(&mut self, committed: bool) -> Vec<Arc<Steer>> {
        let mut unapplied = core::mem::take(&mut self.uncommitted);
        if committed {
            unapplied.clear();
        }
        unapplied.extend(core::mem::take(&mut self.pending).into_iter().map(|entry| entry.steer));
        unapplied
    }
}

impl SteerId {
    /// The `n`-th id that the engine makes.
    fn counted(n: u64) -> Self {
        Self::trusted(format!("steer-{n}"))
    }
}
