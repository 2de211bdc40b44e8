//! What running tools report, and their deadlines (T3-T5, R10).

use super::requests::Asker;
use super::{Batch, Slot, State, result};
use crate::clock::Clock;
use crate::event::{Event, ToolUpdated};
use crate::host_input::AskError;
use crate::machine::Machine;
use crate::message::ToolCall;
use crate::output::{Outbox, Output};
use crate::phase::Flow;
use crate::text::Text;
use crate::tool::{Ask, ToolAsk, ToolEnd, ToolItem, ToolOutput};
use alloc::boxed::Box;
use alloc::sync::Arc;

impl Slot {
    /// Takes other arguments than the model's own.
    pub(super) fn edit(&mut self, arguments: Option<Text>) {
        let edited = |arguments| Arc::new(ToolCall { arguments, ..(*self.call).clone() });
        self.edited = arguments.map(edited);
    }
}

impl Batch {
    /// Whether a tool may report `item` now; a tool says first that it starts, and says so once each time that it is
    /// called.
    pub(crate) fn accepts(&self, at: usize, item: &ToolItem) -> bool {
        self.slots.get(at).is_some_and(|slot| match slot.state {
            State::Begun(_) => *item == ToolItem::Started,
            State::Running(_) => *item != ToolItem::Started,
            State::Unprepared
            | State::Preparing(_)
            | State::Authorizing(..)
            | State::Waiting
            | State::Queued
            | State::Done(_) => false,
        })
    }

    /// A tool reports.
    pub(crate) fn on_item(&mut self, m: &mut Machine, at: usize, item: ToolItem, out: &mut Outbox) -> Flow {
        match item {
            ToolItem::Started => self.on_started(m, at),
            ToolItem::Progress(text) => self.on_progress(m, at, text),
            ToolItem::Visibility(change) => m.show(&change),
            ToolItem::Ask(ask) => self.on_ask(m, at, *ask, out),
            ToolItem::Withdraw(ticket) => self.withdraw(m, at, ticket, out),
            ToolItem::Done(end) => return self.on_end(m, at, end, out),
        }
        Flow::Stay
    }

    fn on_started(&mut self, m: &mut Machine, at: usize) {
        let Some(State::Begun(op)) = self.slots.get(at).map(|slot| slot.state.clone()) else { return };
        self.set(at, State::Running(op));
        // What it was called again with is the tool's from here on.
        self.keep_secret(at, false);
        let Some(slot) = self.slots.get_mut(at) else { return };
        slot.resumed = None;
        slot.clock = Clock::start(m.now, slot.deadline, m.paused);
        // A tool that is called again with an answer has started before.
        if !core::mem::replace(&mut slot.started, true) {
            m.emit(Event::ToolStarted(Arc::clone(&slot.call)));
        }
    }

    fn on_progress(&mut self, m: &mut Machine, at: usize, text: Text) {
        let Some(slot) = self.slots.get(at).filter(|_| !text.is_empty()) else { return };
        let progress = result::progress(text, &m.config.limits);
        let call = Arc::clone(&slot.call);
        m.emit(Event::ToolUpdated(Arc::new(ToolUpdated { call, progress })));
    }

    /// A tool asks and waits (H1); what is wrong with the question, only the tool is told.
    fn on_ask(&mut self, m: &mut Machine, at: usize, ask: Ask, out: &mut Outbox) {
        let Some(op) = self.op_of(at) else { return };
        let asker = Asker::Running(op, ask.ticket);
        if let Err(error) = self.ask(m, at, &ask.question, asker, out) {
            out.push(Output::Deliver { op, ticket: ask.ticket, answer: Box::new(Err(error)) });
        }
    }

    fn on_end(&mut self, m: &mut Machine, at: usize, end: ToolEnd, out: &mut Outbox) -> Flow {
        if let Some(op) = self.op_of(at) {
            m.ops.close(op);
        }
        if let ToolEnd::Ask(ask) = end {
            self.on_returned_ask(m, at, *ask, out);
            return self.go_on(m, out);
        }
        let fatal = self.slots.get(at).and_then(|slot| slot.spec.as_ref()).filter(|spec| spec.fatal);
        let name = fatal.map(|spec| spec.name.clone());
        let flow = match (&end, name) {
            (ToolEnd::Failed(fault), Some(tool)) => Some(result::fatal(tool, fault)),
            (ToolEnd::Failed(_) | ToolEnd::Output(_) | ToolEnd::Panicked | ToolEnd::Ask(_), _) => None,
        };
        self.end_call(m, at, end, out);
        flow.unwrap_or_else(|| self.go_on(m, out))
    }

    /// A tool returned with a question: it is called again with the answer (H6).
    fn on_returned_ask(&mut self, m: &mut Machine, at: usize, ask: ToolAsk, out: &mut Outbox) {
        self.drop_requests(m, at, out);
        let (limit, observed) = (m.config.limits.tool_output_bytes, crate::json::encoded_len(&ask.state));
        self.set(at, State::Waiting);
        let asked = if observed > limit {
            Err(AskError::Invalid(crate::host_input::QuestionError::State { limit, observed }))
        } else {
            self.ask(m, at, &ask.question, Asker::Kept(ask.state), out)
        };
        if let Err(error) = asked {
            let output = ToolOutput::error(alloc::format!("the tool's question was not asked: {error}"));
            self.end_call(m, at, ToolEnd::Output(output), out);
        }
    }

    /// The call is over as `end`.
    pub(super) fn end_call(&mut self, m: &mut Machine, at: usize, end: ToolEnd, out: &mut Outbox) {
        let config = Arc::clone(&m.config);
        self.finish(m, at, out, |slot| result::of_end(&slot.call, end, &config.limits));
    }

    /// Ends every call whose deadline has passed with an error result; whether there was one (R10).
    pub(super) fn tools_due(&mut self, m: &mut Machine, out: &mut Outbox) -> bool {
        let due = |at: &&usize| self.slots.get(**at).is_some_and(|slot| slot.clock.is_due(m.now));
        let mut late: alloc::vec::Vec<usize> = self.clocked.iter().filter(due).copied().collect();
        late.sort_unstable();
        for at in &late {
            if let Some(op) = self.op_of(*at) {
                m.abandon(op, out);
            }
            self.finish(m, *at, out, |slot| {
                let deadline = slot.deadline.unwrap_or_default();
                if slot.started {
                    result::timed_out(&slot.call, deadline)
                } else {
                    result::not_prepared(&slot.call, deadline)
                }
            });
        }
        !late.is_empty()
    }
}
