//! What comes of the work that a run asks for, and when.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;
use runloom_core::Input;
use runloom_core::id::OpId;
use runloom_core::model::ModelItem;
use runloom_core::output::Work;
use runloom_core::text::Text;
use runloom_core::time::Time;
use runloom_core::tool::ToolItem;

/// What the model yields in each attempt, and what each tool does when it is called: items, each after a wait that counts
/// from the one before. It is a queue of timed inputs, and neither reads a clock nor waits.
#[derive(Clone, Debug, Default)]
pub struct Script {
    attempts: VecDeque<Vec<(Duration, ModelItem)>>,
    tools: BTreeMap<Text, Vec<(Duration, ToolItem)>>,
    due: BTreeMap<(Time, u64), (OpId, Input)>,
    order: u64,
}

impl Script {
    /// A script in which nothing happens.
    pub fn new() -> Self {
        Self::default()
    }

    /// With what the model does in its next attempt.
    #[must_use]
    pub fn attempt(mut self, items: impl IntoIterator<Item = (Duration, ModelItem)>) -> Self {
        self.attempts.push_back(items.into_iter().collect());
        self
    }

    /// With what a tool does, after its code was entered at once.
    #[must_use]
    pub fn tool(mut self, name: &str, items: impl IntoIterator<Item = (Duration, ToolItem)>) -> Self {
        self.tools.insert(name.into(), items.into_iter().collect());
        self
    }

    /// Plans what comes of `work`.
    pub fn begin(&mut self, now: Time, op: OpId, work: &Work) {
        let mut inputs = Vec::new();
        match work {
            Work::Model(_) => {
                let items = self.attempts.pop_front().unwrap_or_default();
                inputs.extend(items.into_iter().map(|(wait, item)| (wait, Input::Model { op, item })));
            }
            Work::Tool(invocation) => {
                let items = self.tools.get(&invocation.call.name).cloned().unwrap_or_default();
                inputs.push((Duration::ZERO, Input::Tool { op, item: ToolItem::Started }));
                inputs.extend(items.into_iter().map(|(wait, item)| (wait, Input::Tool { op, item })));
            }
            _ => {}
        }
        let mut at = now;
        for (wait, input) in inputs {
            at = at.after(wait);
            self.order += 1;
            self.due.insert((at, self.order), (op, input));
        }
    }

    /// Forgets what would come of `op`.
    pub fn abandon(&mut self, op: OpId) {
        self.due.retain(|_, (of, _)| *of != op);
    }

    /// When the next input comes.
    pub fn next(&self) -> Option<Time> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// An input that has come by `now`, the oldest first; with no room, none of a model and no tool that starts.
    pub fn take(&mut self, now: Time, room: bool) -> Option<Input> {
        let takes = |input: &Input| {
            room || matches!(input, Input::Tool { item: ToolItem::Progress(_) | ToolItem::Done(_), .. })
        };
        let found = self.due.range(..=(now, u64::MAX)).find(|(_, (_, input))| takes(input));
        let key = found.map(|(key, _)| *key)?;
        self.due.remove(&key).map(|(_, input)| input)
    }
}
