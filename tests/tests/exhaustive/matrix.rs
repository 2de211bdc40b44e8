//! What the search has met: phase by kind of input by class, endings, errors, and why the rest cannot be met.

use crate::node::{Ended, Node};
use runloom_core::error::Misuse;
use runloom_core::id::OpId;
use runloom_core::input::Input;
use runloom_core::laws::Stepped;
use runloom_core::outcome::RunResult;
use runloom_core::time::Time;
use std::collections::BTreeMap;

pub(crate) const PHASES: [&str; 8] = [
    "new",
    "model, pristine",
    "model, partial",
    "backoff",
    "batch, begun",
    "batch, running",
    "batch, asking",
    "closed",
];
pub(crate) const KINDS: [&str; 9] =
    ["start", "cancel", "abort", "wake", "model", "tool", "authorized", "taken", "consumer_gone"];
pub(crate) const CLASSES: [&str; 4] = ["valid", "late", "duplicate", "misuse"];

/// Cells that nothing can fill, by the beginning of the phase's name, the kind and the class (`*`: each), with the
/// reason. A reason that explains no empty cell, or a filled one, is an error of this table.
#[rustfmt::skip]
const EMPTY: &[(&str, &str, &str, &str)] = &[
    ("*", "cancel", "misuse", "who cancels cannot know whether the run has started or ended"),
    ("*", "wake", "misuse", "a wake can come at any time"),
    ("model", "abort", "misuse", "a run that has started can be dropped at any time"),
    ("backoff", "abort", "misuse", "likewise"),
    ("batch", "abort", "misuse", "likewise"),
    ("closed", "abort", "misuse", "likewise"),
    ("model", "consumer_gone", "misuse", "a reader can go at any time after the start"),
    ("backoff", "consumer_gone", "misuse", "likewise"),
    ("batch", "consumer_gone", "misuse", "likewise"),
    ("closed", "consumer_gone", "misuse", "likewise"),
    ("new", "abort", "valid", "before the start there is nothing to abort"),
    ("new", "consumer_gone", "valid", "before the start there is no reader"),
    ("new", "taken", "valid", "before the start there is nothing to read"),
    ("new", "wake", "valid", "nothing asked for it"),
    ("new", "model", "valid", "no operation was begun"),
    ("new", "tool", "valid", "no operation was begun"),
    ("new", "authorized", "valid", "no operation was begun"),
    ("new", "*", "late", "nothing has ended"),
    ("new", "start", "duplicate", "one start is accepted"),
    ("new", "abort", "duplicate", "none is accepted"),
    ("new", "consumer_gone", "duplicate", "none is accepted"),
    ("new", "taken", "duplicate", "none is accepted"),
    ("new", "model", "duplicate", "no operation was begun"),
    ("new", "tool", "duplicate", "no operation was begun"),
    ("new", "authorized", "duplicate", "no operation was begun"),
    ("model", "start", "valid", "a run starts once"),
    ("backoff", "start", "valid", "a run starts once"),
    ("batch", "start", "valid", "a run starts once"),
    ("closed", "start", "valid", "a run starts once"),
    ("model", "start", "late", "a second start is misuse"),
    ("backoff", "start", "late", "a second start is misuse"),
    ("batch", "start", "late", "a second start is misuse"),
    ("closed", "start", "late", "a second start is misuse"),
    ("model", "start", "duplicate", "a second start is misuse"),
    ("backoff", "start", "duplicate", "a second start is misuse"),
    ("batch", "start", "duplicate", "a second start is misuse"),
    ("closed", "start", "duplicate", "a second start is misuse"),
    ("model", "cancel", "late", "the run is live"),
    ("backoff", "cancel", "late", "the run is live"),
    ("batch", "cancel", "late", "the run is live"),
    ("model", "abort", "late", "the run is live"),
    ("backoff", "abort", "late", "the run is live"),
    ("batch", "abort", "late", "the run is live"),
    ("model", "wake", "late", "the run is live"),
    ("backoff", "wake", "late", "the run is live"),
    ("batch", "wake", "late", "the run is live"),
    ("model", "taken", "late", "the run is live"),
    ("backoff", "taken", "late", "the run is live"),
    ("batch", "taken", "late", "the run is live"),
    ("model", "consumer_gone", "late", "the run is live"),
    ("backoff", "consumer_gone", "late", "the run is live"),
    ("batch", "consumer_gone", "late", "the run is live"),
    ("model", "cancel", "duplicate", "the first one ends the run"),
    ("backoff", "cancel", "duplicate", "the first one ends the run"),
    ("batch", "cancel", "duplicate", "the first one ends the run"),
    ("model", "abort", "duplicate", "the first one ends the run"),
    ("backoff", "abort", "duplicate", "the first one ends the run"),
    ("batch", "abort", "duplicate", "the first one ends the run"),
    ("model", "tool", "valid", "no tool is under way during a model call"),
    ("model", "authorized", "valid", "no approval is open during a model call"),
    ("backoff", "model", "valid", "no operation is under way during a wait"),
    ("backoff", "tool", "valid", "no operation is under way during a wait"),
    ("backoff", "authorized", "valid", "no operation is under way during a wait"),
    ("batch", "model", "valid", "the response has ended"),
    ("batch, begun", "authorized", "valid", "no approval is open"),
    ("batch, running", "authorized", "valid", "no approval is open"),
    ("closed", "cancel", "valid", "the run has ended"),
    ("closed", "abort", "valid", "the run has ended"),
    ("closed", "wake", "valid", "the run has ended"),
    ("closed", "taken", "valid", "the run has ended"),
    ("closed", "consumer_gone", "valid", "the run has ended"),
    ("closed", "model", "valid", "the run has ended"),
    ("closed", "tool", "valid", "the run has ended"),
    ("closed", "authorized", "valid", "the run has ended"),
    ("closed", "cancel", "duplicate", "counted as late"),
    ("closed", "abort", "duplicate", "counted as late"),
    ("closed", "wake", "duplicate", "counted as late"),
    ("closed", "taken", "duplicate", "counted as late"),
    ("closed", "consumer_gone", "duplicate", "counted as late"),
    ("model", "authorized", "late", "its batch is over; what a recovery abandons is tried in the batch"),
    ("backoff", "authorized", "late", "likewise"),
];

/// What a run can end as.
pub(crate) const ENDINGS: [&str; 17] = [
    "completed end_turn",
    "completed max_steps",
    "completed max_tokens",
    "completed refusal",
    "cancelled requested",
    "cancelled handle_dropped",
    "cancelled driver_dropped",
    "cancelled shutdown",
    "failed model",
    "failed model_call_deadline",
    "failed run_deadline",
    "failed invalid_arguments",
    "failed tool_failed",
    "failed consumer_gone",
    "failed driver_panicked",
    "failed interrupted",
    "failed history_full",
];

/// Endings that need a defect, and are reached by other means: see `survives_panic` in the laws.
pub(crate) const OTHER_ENDINGS: [(&str, &str); 1] =
    [("failed internal", "only after a panic of the machine; tried on a copy of the states")];

pub(crate) const MISUSES: [&str; 7] =
    ["NotStarted", "AlreadyStarted", "InvalidStart", "UnknownOp", "WrongKind", "OutOfOrder", "TakenAhead"];

/// Misuse that needs a defect, and is reached by other means.
pub(crate) const OTHER_MISUSES: [(&str, &str); 1] =
    [("Poisoned", "only after a panic of the machine; tried on a copy of the states")];

/// Counts of what was met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix {
    cells: BTreeMap<(&'static str, &'static str, &'static str), u64>,
    pub(crate) endings: BTreeMap<String, u64>,
    pub(crate) misuses: BTreeMap<&'static str, u64>,
}

impl Matrix {
    /// Counts the step that `before` made with `input`.
    pub(crate) fn count(
        &mut self,
        before: &Node,
        kind: &'static str,
        class: &'static str,
        stepped: &Stepped,
    ) {
        let class = match &stepped.answer {
            Err(misuse) => {
                *self.misuses.entry(name_of(misuse)).or_default() += 1;
                "misuse"
            }
            Ok(_) => class,
        };
        *self.cells.entry((before.phase(), kind, class)).or_default() += 1;
    }

    /// Counts how the run of `node` has ended.
    pub(crate) fn count_end(&mut self, node: &Node) {
        let Some(outcome) = node.checked.run().outcome() else { return };
        let name = match &outcome.result {
            RunResult::Completed(answer) => format!("completed {}", answer.stop_reason.as_str()),
            RunResult::Cancelled(cause) => format!("cancelled {}", cause.as_str()),
            RunResult::Failed(error) if matches!(**error, runloom_core::error::RunError::Model { .. }) => {
                String::from("failed model")
            }
            RunResult::Failed(error) => format!("failed {}", error.code()),
            other => format!("{other:?}"),
        };
        *self.endings.entry(name).or_default() += 1;
    }

    fn cell(&self, phase: &'static str, kind: &'static str, class: &'static str) -> u64 {
        self.cells.get(&(phase, kind, class)).copied().unwrap_or_default()
    }

    pub(crate) fn print(&self) {
        println!("{:<16} {:<14} {}", "phase", "input", CLASSES.map(|class| format!("{class:>10}")).join(" "));
        for phase in PHASES {
            for kind in KINDS {
                let counts = CLASSES.map(|class| format!("{:>10}", self.cell(phase, kind, class)));
                println!("{phase:<16} {kind:<14} {}", counts.join(" "));
            }
        }
        println!("endings: {:?}", self.endings);
        println!("misuse: {:?}", self.misuses);
    }

    /// What is empty and not explained, or explained and not empty, or not reached.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut used = vec![false; EMPTY.len()];
        for phase in PHASES {
            for kind in KINDS {
                for class in CLASSES {
                    let filled = self.cell(phase, kind, class) > 0;
                    let fits = |(p, k, c, _): &(&str, &str, &str, &str)| {
                        (*p == "*" || phase.starts_with(p)) && (*k == "*" || *k == kind) && (*c == class)
                    };
                    let explained = EMPTY.iter().position(fits);
                    match (filled, explained) {
                        (false, None) => found.push(format!("never met: {phase} / {kind} / {class}")),
                        (true, Some(at)) => {
                            found.push(format!("met: {phase} / {kind} / {class}, though {:?}", EMPTY[at].3));
                        }
                        (false, Some(at)) => used[at] = true,
                        (true, None) => {}
                    }
                }
            }
        }
        let unused = EMPTY.iter().zip(&used).filter(|(_, used)| !**used);
        found.extend(unused.map(|(reason, _)| format!("explains nothing: {reason:?}")));
        found.extend(missing(&ENDINGS, &OTHER_ENDINGS, self.endings.keys().map(String::as_str)));
        found.extend(missing(&MISUSES, &OTHER_MISUSES, self.misuses.keys().copied()));
        found
    }
}

fn missing<'a>(
    expected: &[&str],
    others: &[(&str, &str)],
    met: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let met: Vec<&str> = met.collect();
    let never = expected.iter().filter(|name| !met.contains(name)).map(|name| format!("never met: {name}"));
    let known = |name: &&str| !expected.contains(name) || others.iter().any(|(other, _)| other == name);
    let new = met.iter().filter(|name| known(name)).map(|name| format!("met, but not in the table: {name}"));
    never.chain(new).collect()
}

/// The variant's name.
fn name_of(misuse: &Misuse) -> &'static str {
    match misuse {
        Misuse::NotStarted { .. } => "NotStarted",
        Misuse::AlreadyStarted => "AlreadyStarted",
        Misuse::InvalidStart(_) => "InvalidStart",
        Misuse::UnknownOp { .. } => "UnknownOp",
        Misuse::WrongKind { .. } => "WrongKind",
        Misuse::OutOfOrder { .. } => "OutOfOrder",
        Misuse::TakenAhead { .. } => "TakenAhead",
        Misuse::Poisoned => "Poisoned",
        _ => "another",
    }
}

/// The class of `input` in `node`, if it is accepted there.
pub(crate) fn class_of(node: &Node, now: Time, input: &Input) -> &'static str {
    let of_op = |op: &OpId| match node.how_ended(*op) {
        None => "valid",
        Some(Ended::Completed) => "duplicate",
        Some(Ended::Abandoned) => "late",
    };
    let repeats = |again: bool| match (node.live(), again) {
        (false, _) => "late",
        (true, true) => "duplicate",
        (true, false) => "valid",
    };
    match input {
        Input::Model { op, .. } | Input::Tool { op, .. } | Input::Authorized { op, .. } => of_op(op),
        Input::Taken { through } => repeats(*through <= node.taken),
        Input::ConsumerGone { .. } => repeats(node.gone),
        Input::Wake { .. } => repeats(node.due().is_none_or(|due| due > now)),
        Input::Cancel { .. } => repeats(node.cancelled),
        _ => repeats(false),
    }
}
