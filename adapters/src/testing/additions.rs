//! What people and the host add in a world, and what a compactor makes.

use super::world::World;
use crate::core::boundary::BoundaryAnswer;
use crate::core::compaction::{Compaction, CompactionFault};
use crate::core::id::{CommandId, SteerId};
use crate::core::input::{Input, Retract, SteerInput};
use crate::core::message::Part;
use std::time::Duration;

impl World {
    /// With a source of boundary inputs that answers its next question with this text after a while; without a word on
    /// a question it has nothing.
    #[must_use]
    pub fn tells(mut self, wait: Duration, text: &str) -> Self {
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::Text(text.into())] };
        self.scripts.boundaries.push((wait, BoundaryAnswer::Input(parts)));
        self
    }

    /// With a source of boundary inputs that is gone after a while, instead of an answer.
    #[must_use]
    pub fn source_goes(mut self, wait: Duration) -> Self {
        self.scripts.boundaries.push((wait, BoundaryAnswer::Lost));
        self
    }

    /// With a compactor that answers its next request with this after a while; without a word on a request it fails.
    #[must_use]
    pub fn compacts(mut self, wait: Duration, result: Result<Compaction, CompactionFault>) -> Self {
        self.scripts.compactions.push((wait, result));
        self
    }

    /// People add this input at this time, under this id.
    #[must_use]
    pub fn steer_at(self, at: Duration, id: &str, text: &str) -> Self {
        let command = CommandId(self.planned.len() as u64 + 1);
        let id = Some(SteerId::new(id).expect("an id"));
        let parts = vec![Part::Text(text.into())];
        self.at(at, Input::Steer(Box::new(SteerInput { command, id, parts })))
    }

    /// People take the input of this id back at this time.
    #[must_use]
    pub fn retract_at(self, at: Duration, id: &str) -> Self {
        let command = CommandId(self.planned.len() as u64 + 1);
        let id = SteerId::new(id).expect("an id");
        self.at(at, Input::Retract(Box::new(Retract { command, id })))
    }
}
