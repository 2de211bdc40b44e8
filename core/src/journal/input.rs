//! Every input as a value, and back. Whatever is added to [`Input`] has to be added here: the compiler asks for it.

use super::scalar::{number, read_number, read_small, small};
use super::{model, start, tool};
use crate::boundary::BoundaryAnswer;
use crate::id::{CommandId, OpId, RequestId, Seq, SteerId};
use crate::input::{AbortCause, Input, Recover, Respond, Retract, SteerInput};
use crate::observe::ObserverFault;
use crate::saved::{self, Build, Fields, ImportError, Node, Place, object, text};
use alloc::boxed::Box;

const CAUSES: [(AbortCause, &str); 5] = [
    (AbortCause::HandleDropped, "handle_dropped"),
    (AbortCause::DriverDropped, "driver_dropped"),
    (AbortCause::DriverPanicked, "driver_panicked"),
    (AbortCause::Shutdown, "shutdown"),
    (AbortCause::ProcessLost, "process_lost"),
];

/// The cause's name. A cause that is added has to be added to the list above.
const fn cause(cause: AbortCause) -> &'static str {
    match cause {
        AbortCause::HandleDropped => "handle_dropped",
        AbortCause::DriverDropped => "driver_dropped",
        AbortCause::DriverPanicked => "driver_panicked",
        AbortCause::Shutdown => "shutdown",
        AbortCause::ProcessLost => "process_lost",
    }
}

pub(super) fn write(input: &Input) -> Node {
    let of = || Build::of(input.name());
    let by = |op: &OpId| of().with("op", number(op.0));
    let asked = |command: &CommandId| of().with("command", number(command.0));
    match input {
        Input::Start(own) => start::start(of(), own),
        Input::Resume(own) => start::resume(of(), own),
        Input::Recover(own) => {
            let Recover { reader, answerers, observers } = **own;
            let recover = of().with("reader", start::reader(reader));
            recover.with("answerers", start::answerers(answerers)).with("observers", small(observers))
        }
        Input::Cancel { command } | Input::Suspend { command } => asked(command),
        Input::Abort(own) => of().name("cause", cause(*own)),
        Input::Wake { quiet } => of().flag("quiet", *quiet),
        Input::Model { op, item } => by(op).with("item", model::item(item)),
        Input::Tool { op, item } => by(op).with("item", tool::item(item)),
        Input::Prepared { op, result } => tool::prepared(by(op), result),
        Input::Authorized { op, verdict } => by(op).with("verdict", tool::verdict(verdict)),
        Input::Responded { op, answer } => by(op).maybe("answer", answer.as_deref().map(saved::answer)),
        Input::Respond(respond) => {
            let Respond { command, request, answer } = &**respond;
            asked(command).text("request", request.text()).with("answer", saved::answer(answer))
        }
        Input::HandleGone => of(),
        Input::Steer(steer) => {
            let SteerInput { command, id, parts } = &**steer;
            let parts = Node::list(parts, saved::part);
            asked(command).maybe("id", id.as_ref().map(|id| Node::text(id.text()))).with("parts", parts)
        }
        Input::Retract(retract) => {
            let Retract { command, id } = &**retract;
            asked(command).text("id", id.text())
        }
        Input::Boundary { op, command, answer } => {
            let parts = match answer {
                BoundaryAnswer::Input(parts) => Some(Node::list(parts, saved::part)),
                BoundaryAnswer::Lost => None,
            };
            by(op).with("command", number(command.0)).maybe("parts", parts)
        }
        Input::Compacted { op, result } => model::compacted(by(op), result),
        Input::Visibility(change) => tool::visibility(of(), change),
        Input::Taken { through } => of().with("through", number(through.0)),
        Input::ConsumerGone { awaited } => of().flag("awaited", *awaited),
        Input::Observed { op, result } => match result {
            Ok(()) => by(op),
            Err(fault) => {
                let ObserverFault { accepted, message } = &**fault;
                by(op).with("accepted", number(accepted.0)).text("refused", message)
            }
        },
    }
    .end()
}

pub(super) fn read(node: &Node, place: &Place<'_>) -> Result<Input, ImportError> {
    object(node, place, |fields| {
        let kind = fields.text("type")?;
        // Each of the two knows the kinds of its own group.
        match of_work(&kind, fields)? {
            Some(input) => Ok(input),
            None => of_host(&kind, fields),
        }
    })
}

fn op(fields: &mut Fields<'_>) -> Result<OpId, ImportError> {
    fields.need("op", read_number).map(OpId)
}

fn command(fields: &mut Fields<'_>) -> Result<CommandId, ImportError> {
    fields.need("command", read_number).map(CommandId)
}

/// Inputs that come of work that the run had asked for.
fn of_work(kind: &str, fields: &mut Fields<'_>) -> Result<Option<Input>, ImportError> {
    Ok(Some(match kind {
        "model" => Input::Model { op: op(fields)?, item: fields.need("item", model::read_item)? },
        "tool" => Input::Tool { op: op(fields)?, item: fields.need("item", tool::read_item)? },
        "prepared" => Input::Prepared { op: op(fields)?, result: tool::read_prepared(fields)? },
        "authorized" => {
            Input::Authorized { op: op(fields)?, verdict: fields.need("verdict", tool::read_verdict)? }
        }
        "responded" => {
            let answer = fields.maybe("answer", saved::read_answer)?;
            Input::Responded { op: op(fields)?, answer: answer.map(Box::new) }
        }
        "boundary" => {
            let parts = fields.maybe("parts", read_parts)?;
            let answer = parts.map_or(BoundaryAnswer::Lost, BoundaryAnswer::Input);
            Input::Boundary { op: op(fields)?, command: command(fields)?, answer }
        }
        "observed" => {
            let refused = fields.maybe("refused", text)?;
            let fault = refused.map(|message| {
                let accepted = Seq(fields.need("accepted", read_number)?);
                Ok(Box::new(ObserverFault { accepted, message }))
            });
            Input::Observed { op: op(fields)?, result: fault.transpose()?.map_or(Ok(()), Err) }
        }
        "compacted" => Input::Compacted { op: op(fields)?, result: model::read_compacted(fields)? },
        _ => return Ok(None),
    }))
}

/// Inputs that come from the host.
fn of_host(kind: &str, fields: &mut Fields<'_>) -> Result<Input, ImportError> {
    Ok(match kind {
        "start" => Input::Start(Box::new(start::read_start(fields)?)),
        "resume" => Input::Resume(Box::new(start::read_resume(fields)?)),
        "recover" => Input::Recover(Box::new(Recover {
            reader: fields.need("reader", start::read_reader)?,
            answerers: fields.need("answerers", start::read_answerers)?,
            observers: fields.need("observers", read_small)?,
        })),
        "cancel" => Input::Cancel { command: command(fields)? },
        "suspend" => Input::Suspend { command: command(fields)? },
        "abort" => Input::Abort(fields.one_of("cause", "cause", |name| {
            CAUSES.into_iter().find(|(_, known)| *known == name).map(|(cause, _)| cause)
        })?),
        "wake" => Input::Wake { quiet: fields.flag("quiet")? },
        "respond" => Input::Respond(Box::new(Respond {
            command: command(fields)?,
            request: fields.id("request", RequestId::new)?,
            answer: fields.need("answer", saved::read_answer)?,
        })),
        "handle_gone" => Input::HandleGone,
        "steer" => Input::Steer(Box::new(SteerInput {
            command: command(fields)?,
            id: fields.maybe("id", |node, place| {
                SteerId::new(text(node, place)?).map_err(|error| place.error(error))
            })?,
            parts: fields.need("parts", read_parts)?,
        })),
        "retract" => Input::Retract(Box::new(Retract {
            command: command(fields)?,
            id: fields.id("id", SteerId::new)?,
        })),
        "visibility" => Input::Visibility(Box::new(tool::read_visibility(fields)?)),
        "taken" => Input::Taken { through: Seq(fields.need("through", read_number)?) },
        "consumer_gone" => Input::ConsumerGone { awaited: fields.flag("awaited")? },
        _ => return Err(fields.place.member("type").unknown("input")),
    })
}

fn read_parts(node: &Node, place: &Place<'_>) -> Result<alloc::vec::Vec<crate::message::Part>, ImportError> {
    saved::list(node, place, saved::read_any_part)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_cause_has_its_own_name() {
        for (cause, name) in super::CAUSES {
            assert_eq!(super::cause(cause), name);
        }
    }
}
