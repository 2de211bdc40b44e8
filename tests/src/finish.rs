//! Brings a run to its end, whatever state it stands in: everything that it wants done is done, and done well.

use runloom_core::boundary::BoundaryAnswer;
use runloom_core::compaction::Compaction;
use runloom_core::host_input::{HostAnswer, Refusal, RequestKind};
use runloom_core::id::{CommandId, OpId};
use runloom_core::input::{Input, Respond};
use runloom_core::laws::Checked;
use runloom_core::model::{Completion, Finish, ModelItem};
use runloom_core::output::{Next, Output, Work};
use runloom_core::time::Time;
use runloom_core::tool::{Preparation, ToolEnd, ToolItem, ToolOutput, Verdict};
use std::collections::BTreeMap;

/// Work under way, and whether its first item has come.
type Open = BTreeMap<OpId, (Work, bool)>;

/// Steps `run` until it has ended. `begun`: what its last step has put out.
///
/// # Panics
///
/// If a law is broken, or the run does not come to its end within `most` steps.
pub fn finish(run: &mut Checked, begun: &[Output], most: usize) {
    let mut open = Open::new();
    note(&mut open, begun);
    for _ in 0..most {
        let Some(next) = run.next().filter(|next| next.live) else { return };
        let (now, input) = act(run, next, &mut open);
        let shown = format!("{input:?}");
        let stepped = run.step(now, input).unwrap_or_else(|broken| panic!("{broken}, at {shown}"));
        let _ = stepped.answer.unwrap_or_else(|misuse| panic!("{misuse}, at {shown}"));
        note(&mut open, &stepped.outputs);
    }
    panic!("the run does not end; it is in the phase {}", run.run().phase_name());
}

fn note(open: &mut Open, outputs: &[Output]) {
    for output in outputs {
        match output {
            Output::Begin { op, work } => _ = open.insert(*op, (work.clone(), false)),
            Output::Abandon { op } => _ = open.remove(op),
            _ => {}
        }
    }
}

fn act(run: &Checked, next: Next, open: &mut Open) -> (Time, Input) {
    let now = run.run().now();
    if next.credit.is_zero() {
        return (now, Input::Taken { through: run.run().log().last_seq() });
    }
    if let Some((op, (work, started))) = open.pop_first() {
        let (input, over) = item(op, &work, started);
        if !over {
            open.insert(op, (work, true));
        }
        return (now, input);
    }
    if let Some(request) = run.run().requests().first() {
        let answer = match request.kind {
            RequestKind::Approval { .. } => HostAnswer::allow(),
            RequestKind::Call => HostAnswer::Result(ToolOutput::text("done")),
            _ => HostAnswer::Refused(Refusal::Declined),
        };
        let respond = Respond { command: CommandId(77), request: request.id.clone(), answer };
        return (now, Input::Respond(Box::new(respond)));
    }
    let wake = next.wake.unwrap_or_else(|| panic!("the run waits for nothing: {}", run.run().phase_name()));
    (wake.at.max(now), Input::Wake { quiet: true })
}

/// The next item of an operation, and whether it is the last one.
fn item(op: OpId, work: &Work, started: bool) -> (Input, bool) {
    let input = match work {
        Work::Model(_) if !started => Input::Model { op, item: ModelItem::Text("x".into()) },
        Work::Model(_) => {
            let done = Completion::new(Some(Finish::Stop), "stop");
            Input::Model { op, item: ModelItem::Done(Box::new(done)) }
        }
        Work::Tool(_) if !started => Input::Tool { op, item: ToolItem::Started },
        Work::Tool(_) => Input::Tool { op, item: ToolItem::Done(ToolEnd::Output(ToolOutput::text("ok"))) },
        Work::Prepare(_) => Input::Prepared { op, result: Ok(Box::new(Preparation::new())) },
        Work::Authorize(request) => Input::Authorized { op, verdict: Verdict::Allow(request.binding) },
        Work::Respond(_) => Input::Responded { op, answer: None },
        Work::Boundary(_) => {
            Input::Boundary { op, command: CommandId(78), answer: BoundaryAnswer::Input(Vec::new()) }
        }
        Work::Compact(_) => Input::Compacted { op, result: Ok(Box::new(Compaction::summary("s"))) },
        other => panic!("nobody does {other:?}"),
    };
    let over = started || !matches!(work, Work::Model(_) | Work::Tool(_));
    (input, over)
}
