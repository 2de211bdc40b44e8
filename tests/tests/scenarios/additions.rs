//! What people and the host add in a scenario, what a compactor makes, and what observers say.

use crate::stage::Stage;
use crate::words::{Words, number};
use runloom_core::boundary::BoundaryAnswer;
use runloom_core::compaction::{Compaction, CompactionFault, CompactionPolicy};
use runloom_core::id::{CommandId, OpId, Seq, SteerId};
use runloom_core::input::{Input, Retract, SteerInput};
use runloom_core::message::Part;
use runloom_core::model::{ModelItem, SteeringItem};
use runloom_core::observe::ObserverFault;
use runloom_core::usage::Usage;

/// The input that `line` stands for, if it is one of these.
///
/// `steer COMMAND ID TEXT` (`-` lets the engine make an id), `retract COMMAND ID`, `tells COMMAND OP TEXT`,
/// `source_gone COMMAND OP`, `compacted OP [in=N] [out=N] TEXT`, `not_compacted OP TEXT`, and of the model `claim`,
/// `delivered ID`, `released ID`; of observers `observed`, `refused SEQ TEXT`, both for the request that was made last or
/// with `n=N` for the one of this number.
pub(crate) fn input(stage: &Stage, line: &str) -> Option<Input> {
    let mut words = Words::new(line);
    let verb = words.next();
    let model = |item| Input::Model { op: stage.last_model(), item: ModelItem::Steering(Box::new(item)) };
    Some(match verb {
        "steer" => {
            let command = CommandId(number(words.next()));
            let id = match words.next() {
                "-" => None,
                id => Some(steer_id(id)),
            };
            Input::Steer(Box::new(SteerInput { command, id, parts: parts(words.text()) }))
        }
        "retract" => {
            let command = CommandId(number(words.next()));
            Input::Retract(Box::new(Retract { command, id: steer_id(words.next()) }))
        }
        "tells" => {
            let (command, op) = (CommandId(number(words.next())), OpId(number(words.next())));
            Input::Boundary { op, command, answer: BoundaryAnswer::Input(parts(words.text())) }
        }
        "source_gone" => {
            let (command, op) = (CommandId(number(words.next())), OpId(number(words.next())));
            Input::Boundary { op, command, answer: BoundaryAnswer::Lost }
        }
        "compacted" => {
            let op = OpId(number(words.next()));
            let mut usage = Usage::default();
            usage.input_tokens = words.option("in").map(number);
            usage.output_tokens = words.option("out").map(number);
            let done = Compaction::summary(words.text()).usage(usage);
            Input::Compacted { op, result: Ok(Box::new(done)) }
        }
        "not_compacted" => {
            let op = OpId(number(words.next()));
            Input::Compacted { op, result: Err(Box::new(CompactionFault::new(words.text()))) }
        }
        "observed" | "refused" => {
            let number = words.option("n").map_or(stage.observations(), number);
            let op = OpId::observing(number);
            let refused = (verb == "refused").then(|| Seq(crate::words::number(words.next())));
            let fault = |seq: Seq| Box::new(ObserverFault::new(Seq(seq.0 - 1), words.text()));
            Input::Observed { op, result: refused.map_or(Ok(()), |seq| Err(fault(seq))) }
        }
        "claim" => model(SteeringItem::Claim),
        "delivered" => model(SteeringItem::Delivered(steer_id(words.next()))),
        "released" => model(SteeringItem::Released(steer_id(words.next()))),
        _ => return None,
    })
}

fn steer_id(id: &str) -> SteerId {
    SteerId::new(id).expect("an id")
}

fn parts(text: String) -> Vec<Part> {
    if text.is_empty() { Vec::new() } else { vec![Part::Text(text.into())] }
}

/// `compaction [messages=N] [tokens=N] [keep=N] [keep_tokens=N] [growth=N] [failures=N]`
pub(crate) fn policy(words: &mut Words<'_>) -> CompactionPolicy {
    let mut policy = CompactionPolicy::default();
    while let Some((name, value)) = words.pair() {
        let value = number(value);
        let small = u32::try_from(value).expect("a small number");
        match name {
            "messages" => policy.after_messages = Some(small as usize),
            "tokens" => policy.at_tokens = Some(value),
            "keep" => policy.keep_messages = small as usize,
            "keep_tokens" => policy.keep_tokens = Some(value),
            "growth" => policy.growth_percent = small,
            "failures" => policy.failures = small,
            other => panic!("a policy of compaction has no {other:?}"),
        }
    }
    policy
}
