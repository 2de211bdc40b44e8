//! A run that is suspended at any of its points ends as one that is not, but for the two events of each suspension.

use crate::world::{Op, World, done};
use runloom_core::host_input::{HostAnswer, Question, RequestKind, Shape};
use runloom_core::id::{CommandId, RequestId};
use runloom_core::input::{Answerers, Input, Respond};
use runloom_core::model::{Completion, Finish, ModelItem};
use runloom_core::tool::{ToolAsk, ToolEnd, ToolItem, ToolOutput};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The next thing that happens, the same whether the run was suspended or not; `order` says who is answered first.
fn next(world: &World, returned: &mut BTreeSet<u32>, order: usize) -> Option<Input> {
    if let Some((op, state)) = world.ops.first().cloned() {
        return Some(match state {
            Op::Model => {
                let end = Completion::new(Some(Finish::Stop), "");
                let text = world.events.last().map(|last| last.event.kind().as_str());
                let item = if text == Some("text.delta") {
                    ModelItem::Done(Box::new(end))
                } else {
                    ModelItem::Text("done".into())
                };
                Input::Model { op, item }
            }
            Op::Begun => Input::Tool { op, item: ToolItem::Started },
            Op::Running { .. } => {
                let call = world.checked.run().log().open().calls.iter().rfind(|open| open.started);
                let ordinal = call.expect("a call runs").call.call.ordinal;
                let form = call.is_some_and(|open| open.call.name == "form");
                // A form asks once, and is called again with the answer.
                if form && returned.insert(ordinal) {
                    let question = Arc::new(Question::value("?", Shape::Text));
                    let ask = ToolAsk { question, state: "kept".into() };
                    Input::Tool { op, item: ToolItem::Done(ToolEnd::Ask(Box::new(ask))) }
                } else {
                    Input::Tool { op, item: done("ran") }
                }
            }
            other => panic!("{other:?}"),
        });
    }
    let open = world.checked.run().requests();
    let mut ids: Vec<&RequestId> = open.iter().map(|request| &request.id).collect();
    ids.sort();
    let id = (*ids.get(order % ids.len().max(1))?).clone();
    let request = open.iter().find(|request| request.id == id)?;
    let answer = match &request.kind {
        RequestKind::Approval { .. } if request.call.call.ordinal == 1 => HostAnswer::allow_with("{\"a\":1}"),
        RequestKind::Approval { .. } => HostAnswer::allow(),
        RequestKind::Question(_) => HostAnswer::value("\"x\""),
        _ => HostAnswer::Result(ToolOutput::text("page")),
    };
    Some(Input::Respond(Box::new(Respond { command: CommandId(1), request: id, answer })))
}

/// Plays a batch, suspended at the points of `mask`; the world at its end, and how many points there were.
fn play(batch: &[&str], order: usize, mask: u64) -> (World, u32) {
    let mut world = World::new(Answerers { handle: true, responder: false }, false, 0);
    world.calls(batch);
    let (mut points, mut returned) = (0, BTreeSet::new());
    for _ in 0..200 {
        if world.is_over() {
            break;
        }
        if world.ops.is_empty() && !world.checked.run().requests().is_empty() {
            if mask >> points & 1 == 1 {
                world.step(world.now, Input::Suspend { command: CommandId(1) }).unwrap();
                let value = Arc::clone(world.suspended().expect("it waits for answers only"));
                let resume = world.resumption(&value);
                world.step(world.now, Input::Resume(Box::new(resume))).unwrap();
            }
            points += 1;
        }
        let input = next(&world, &mut returned, order).expect("the run goes on");
        world.step(world.now, input).unwrap_or_else(|broken| panic!("{broken} in {batch:?}"));
    }
    assert!(world.is_over(), "{batch:?} does not end");
    (world, points)
}

/// The events without those of suspensions and without their numbers.
fn told(world: &World) -> Vec<String> {
    let own = |kind: &str| kind != "run.suspended" && kind != "run.resumed";
    let events = world.events.iter().filter(|envelope| own(envelope.event.kind().as_str()));
    events.map(|envelope| format!("{} {:?}", envelope.at, envelope.event)).collect()
}

// proves: H6, T6, W7
#[test]
fn suspended_at_any_point_a_run_ends_as_one_that_was_not() {
    let kinds = ["person", "page", "form", "alone"];
    let (mut runs, mut suspensions) = (0, 0);
    for case in 0..kinds.len().pow(3) {
        let batch = [kinds[case % 4], kinds[case / 4 % 4], kinds[case / 16]];
        for order in 0..3 {
            let (plain, points) = play(&batch, order, 0);
            assert!(points > 0, "{batch:?} never waits");
            // Each point alone, and all of them.
            for mask in (0..points).map(|point| 1 << point).chain([u64::MAX]) {
                let (world, again) = play(&batch, order, mask);
                assert_eq!(again, points);
                assert_eq!(told(&world), told(&plain), "{batch:?}, order {order}, suspended at {mask:b}");
                let history = |world: &World| world.checked.run().outcome().unwrap().history.clone();
                assert_eq!(history(&world), history(&plain));
                runs += 1;
                suspensions += if mask == u64::MAX { points } else { 1 };
            }
        }
    }
    println!("{runs} runs with {suspensions} suspensions");
}
