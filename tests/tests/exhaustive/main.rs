//! Every short sequence of inputs, from several beginnings, with the laws after each step.
//!
//! `RUNLOOM_EXHAUSTIVE` is the number of sequences to spend. Each beginning in each setting gets an equal share. It is
//! searched completely to the largest depth that its share allows; what is left goes into long random walks, so that
//! the whole number is spent.

mod acts;
mod matrix;
mod node;

use acts::{Act, Follow};
use matrix::{Matrix, class_of};
use node::{Node, Setting};
use runloom::testing::{Random, transcript};
use runloom_core::input::Input;
use runloom_core::laws::Depth;
use runloom_core::time::Time;
use std::sync::Arc;

/// Sequences in a test run that nobody asked more of.
const MODEST: u64 = 400_000;

/// Length of the longest random walk.
const WALK: usize = 60;

/// Beginnings, each in another phase; the reader takes everything after each act, unless it comes first.
const ROOTS: [(&str, &[Act]); 9] = {
    use Act::*;
    [
        ("nothing", &[]),
        ("started", &[Start]),
        ("calls written", &[Start, Text, CallShared, CallApproval, CallFatal]),
        ("batch", &[Start, CallShared, CallApproval, CallFatal, DoneCalls]),
        ("two run", &[Start, CallShared, CallShared, DoneCalls, ToolStarted, Later, ToolStarted]),
        ("last wait", &[Start, FailServer, WakeQuiet, Text, FailServer, WakeQuiet, FailServer]),
        ("malformed once", &[Start, Text, TooLarge]),
        ("last step", &[Start, CallShared, CallApproval, DoneCalls, Deny, ToolStarted, ToolDone]),
        (UNREAD, &[Start]),
    ]
};

/// The beginning whose reader takes nothing.
const UNREAD: &str = "nothing read";

struct Search {
    matrix: Matrix,
    sequences: u64,
    walks: u64,
    steps: u64,
    path: Vec<(Time, Input)>,
}

impl Search {
    /// Does `act` in a copy of `node`; none where it has no meaning, or where a driver would hold it back.
    fn act(&mut self, node: &Node, act: Act) -> Option<(Node, bool)> {
        let (now, input) = act.input(node)?;
        let item = matches!(input, Input::Model { .. } | Input::Tool { .. });
        if act == Act::Overshoot {
            // One batch may overshoot, and no more.
            let capacity = node.setting.config.limits().event_capacity as u64;
            if node.takes_items() || node.unread() > capacity {
                return None;
            }
        } else if item && !node.takes_items() {
            return None;
        }
        self.steps += 1;
        let (kind, class) = (input.name(), class_of(node, now, &input));
        let mut branch = node.clone();
        branch.set_depth(if self.steps.is_multiple_of(512) { Depth::Whole } else { Depth::Probed });
        self.path.push((now, input.clone()));
        let stepped = branch.step(now, input).unwrap_or_else(|broken| self.fail(node, &broken.to_string()));
        self.matrix.count(node, kind, class, &stepped);
        if self.steps.is_multiple_of(16)
            && let Err(broken) = branch.checked.survives_panic()
        {
            self.fail(node, &broken.to_string());
        }
        Some((branch, stepped.answer.is_ok()))
    }

    fn fail(&self, node: &Node, what: &str) -> ! {
        let trail: Vec<String> =
            self.path.iter().map(|(now, input)| transcript::input(*now, input)).collect();
        panic!("{}: {what}\nafter:\n{}", node.setting.name, trail.join("\n"));
    }

    /// Tries everything in `node`, and what follows up to `left` further steps.
    fn visit(&mut self, node: &Node, left: usize) {
        for (act, follow) in Act::ALL {
            let Some((branch, accepted)) = self.act(node, *act) else { continue };
            if accepted && *follow == Follow::On && branch.live() && left > 1 {
                self.visit(&branch, left - 1);
            } else {
                self.end(&branch, node.live());
            }
            self.path.pop();
        }
    }

    /// The end of a sequence; `fresh`: the last step may have ended the run.
    fn end(&mut self, node: &Node, fresh: bool) {
        self.sequences += 1;
        if fresh && !node.live() {
            self.matrix.count_end(node);
            if self.sequences.is_multiple_of(8) {
                // What comes after the end.
                self.visit(node, 1);
            }
        }
        if self.sequences.is_multiple_of(256) {
            self.replay(node);
        }
    }

    /// W8.
    fn replay(&self, node: &Node) {
        let mut again = Node::new(&node.setting, true);
        for (now, input) in &self.path {
            again
                .checked
                .step(*now, input.clone())
                .unwrap_or_else(|broken| self.fail(node, &broken.to_string()));
        }
        if let Err(broken) = again.checked.replay_journal() {
            self.fail(node, &broken.to_string());
        }
        let (one, other) = (node.checked.run().log(), again.checked.run().log());
        if !one.iter().eq(other.iter()) {
            self.fail(node, "W8: the same inputs gave another log");
        }
    }

    /// The state at the end of a beginning; none where the setting leads elsewhere.
    fn root(&mut self, setting: &Arc<Setting>, name: &str, acts: &[Act]) -> Option<Node> {
        self.path.clear();
        let mut node = Node::new(setting, false);
        for act in acts {
            let (next, accepted) = self.act(&node, *act)?;
            assert!(accepted, "{name}: {act:?} is misuse");
            node = next;
            if name != UNREAD
                && let Some((next, _)) = self.act(&node, Act::TakeAll)
            {
                node = next;
            }
        }
        Some(node)
    }

    /// Spends about `share` sequences on what follows `node`; returns the depth that was searched completely.
    fn search(&mut self, node: &Node, share: u64, random: &mut Random) -> usize {
        if !node.live() {
            self.visit(node, 1);
            return 1;
        }
        let before = self.sequences;
        let (mut depth, mut last) = (0, 1);
        loop {
            let at = self.sequences;
            self.visit(node, depth + 1);
            depth += 1;
            let these = (self.sequences - at).max(1);
            let growth = (these / last).max(2);
            last = these;
            if self.sequences - before + these * growth > share {
                break;
            }
        }
        while self.sequences - before < share {
            self.walk(node, random);
        }
        depth
    }

    fn walk(&mut self, node: &Node, random: &mut Random) {
        let length = self.path.len();
        let mut node = node.clone();
        self.walks += 1;
        for _ in 0..WALK {
            let (act, follow) = *random.pick(Act::ALL);
            // Most walks should get far.
            let seldom = follow == Follow::Leaf || matches!(act, Act::Gone | Act::CancelEarly);
            if seldom && !random.chance(10) {
                continue;
            }
            let Some((next, accepted)) = self.act(&node, act) else { continue };
            if accepted {
                node = next;
            } else {
                self.path.pop();
            }
            if !node.live() {
                break;
            }
        }
        self.end(&node, true);
        self.path.truncate(length);
    }
}

fn settings() -> Vec<Arc<Setting>> {
    let all = [
        Setting::tiny(1),
        Setting::tiny(2),
        Setting::tiny(64),
        Setting::tiny(64).full(),
        Setting::tiny(1).unattended(),
    ];
    all.into_iter().map(Arc::new).collect()
}

#[test]
fn short_sequences_keep_the_laws() {
    let asked = std::env::var("RUNLOOM_EXHAUSTIVE").ok();
    let budget: u64 = asked.map_or(MODEST, |count| count.parse().expect("RUNLOOM_EXHAUSTIVE is a number"));
    let settings = settings();
    let share = budget / (settings.len() * ROOTS.len()) as u64;
    let mut random = Random::new(1);
    let mut search = Search { matrix: Matrix::default(), sequences: 0, walks: 0, steps: 0, path: Vec::new() };
    let mut roots = Vec::new();
    for setting in &settings {
        for (name, acts) in ROOTS {
            let Some(node) = search.root(setting, name, acts) else {
                assert!(setting.name.contains("full"), "{}: {name} cannot be reached", setting.name);
                continue;
            };
            let (before, path) = (search.sequences, search.path.clone());
            let depth = search.search(&node, share, &mut random);
            let count = search.sequences - before;
            println!("{}, {name}: every sequence to depth {depth}, {count} in all", setting.name);
            if node.live() {
                roots.push((node, path));
            }
        }
    }
    // What beginnings that lead nowhere have left of the budget.
    for (node, path) in roots.iter().cycle() {
        if search.sequences >= budget {
            break;
        }
        search.path.clone_from(path);
        search.walk(node, &mut random);
    }
    search.matrix.print();
    println!("{} sequences, {} of them random walks; {} steps", search.sequences, search.walks, search.steps);
    let complaints = search.matrix.complaints();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(search.sequences >= budget, "{} sequences are fewer than {budget}", search.sequences);
}
