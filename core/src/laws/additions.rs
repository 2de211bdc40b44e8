//! What people and the host add while a run is under way: nothing accepted is lost (H5, B4).

use super::{Found, found};
use crate::boundary::BoundaryAnswer;
use crate::id::SteerId;
use crate::input::Input;
use crate::message::Part;
use crate::outcome::Outcome;
use crate::output::{Output, Reply};
use crate::steer::{RetractReply, Steer};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The content of an input that adds something.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Nothing,
    Steer(Vec<Part>),
    Retract(SteerId),
    Boundary(Vec<Part>),
}

impl Said {
    pub(super) fn of(input: &Input) -> Self {
        if let Input::Steer(steer) = input {
            Self::Steer(steer.parts.clone())
        } else if let Input::Retract(retract) = input {
            Self::Retract(retract.id.clone())
        } else if let Input::Boundary { answer: BoundaryAnswer::Input(parts), .. } = input {
            Self::Boundary(parts.clone())
        } else {
            Self::Nothing
        }
    }
}

/// What was accepted and where it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Additions {
    /// Accepted and not applied, in order.
    waiting: Vec<(SteerId, Arc<[Part]>)>,
    /// Applied since the last commit.
    uncommitted: Vec<(SteerId, Arc<[Part]>)>,
    /// Boundary input that is about to be committed.
    pub(super) boundary: Option<Vec<Part>>,
}

impl Additions {
    /// An input that was accepted, as its reply says.
    pub(super) fn said(&mut self, said: Said, outputs: &[Output]) {
        let reply = |output: &Output| {
            if let Output::Reply { reply, .. } = output { Some(reply.clone()) } else { None }
        };
        let reply = outputs.iter().find_map(reply);
        match (said, reply) {
            (Said::Steer(parts), Some(Reply::Steer(Ok(id)))) => self.waiting.push((id, parts.into())),
            (Said::Retract(id), Some(Reply::Retract(RetractReply::Retracted))) => {
                self.waiting.retain(|(other, _)| *other != id);
            }
            (Said::Boundary(parts), Some(Reply::Boundary(Ok(true)))) => self.boundary = Some(parts),
            _ => {}
        }
    }

    /// An input crosses into history: what it says.
    pub(super) fn applied(&mut self, id: &SteerId) -> Result<Arc<[Part]>, Found> {
        match self.waiting.iter().position(|(other, _)| other == id) {
            Some(at) => {
                let entry = self.waiting.remove(at);
                self.uncommitted.push(entry.clone());
                Ok(entry.1)
            }
            None => Err(("H3", format!("{id:?} is applied, which does not wait"))),
        }
    }

    /// What an earlier part of the run has applied and not committed.
    pub(super) fn resumed(&mut self, uncommitted: impl Iterator<Item = Steer>) {
        self.uncommitted = uncommitted.map(|steer| (steer.id, steer.parts)).collect();
    }

    pub(super) fn committed(&mut self) {
        self.uncommitted.clear();
    }

    /// What was accepted is applied or returned (H5).
    pub(super) fn ended(&self, outcome: &Outcome, committed: bool) -> Result<(), Found> {
        let lost = if committed { &[][..] } else { &self.uncommitted[..] };
        let expected = lost.iter().chain(&self.waiting);
        let returned = outcome.unapplied.iter().map(|steer| (&steer.id, &steer.parts));
        if returned.eq(expected.map(|(id, parts)| (id, parts))) {
            Ok(())
        } else {
            Err(found("H5", "the outcome does not return what was accepted and not applied"))
        }
    }
}
