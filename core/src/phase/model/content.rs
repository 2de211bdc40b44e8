//! What an attempt's stream brings: text, pieces of calls, usage, activity, claims of inputs (M5, E5, R5, R8, H4).

use super::ModelCall;
use crate::assemble::Violation;
use crate::config::MAX_DETAIL;
use crate::event::{Diagnostic, Event, HostedTool, Position, ToolCallDelta, UsageUpdated};
use crate::id::{CallRef, check_id};
use crate::json::{encoded_len, encoded_prefix};
use crate::machine::Machine;
use crate::model::{Activity, CallDelta, SteeringItem};
use crate::output::{Outbox, Output};
use crate::problem::clean;
use crate::text::Text;
use crate::usage::Usage;
use alloc::sync::Arc;

impl ModelCall {
    /// The model takes inputs during its turn (H4).
    pub(super) fn on_steering(&mut self, m: &mut Machine, item: &SteeringItem, out: &mut Outbox) {
        match item {
            SteeringItem::Claim => {
                let config = Arc::clone(&m.config);
                m.steers.claim(&config);
            }
            SteeringItem::Delivered(id) => {
                if m.steers.delivered(id) {
                    m.emit(Event::SteeringDelivered(id.clone()));
                }
            }
            SteeringItem::Released(id) => m.steers.released(id),
        }
        self.offer_steers(m, out);
    }

    /// Hands staged inputs to an attempt that has said that it can take them.
    pub(crate) fn offer_steers(&self, m: &mut Machine, out: &mut Outbox) {
        let op = self.attempt.op;
        while let Some(steer) = m.steers.hand_over().filter(|_| self.attempt.live) {
            out.push(Output::Steer { op, steer });
        }
    }

    pub(super) fn show(&mut self, m: &mut Machine, event: Event) {
        self.attempt.position = Position::Partial;
        m.emit(event);
    }

    pub(super) fn token(&mut self, m: &Machine) {
        let attempt = &mut self.attempt;
        attempt.idle.wakes(m.now);
        if attempt.first_token.is_none() {
            attempt.first_token = Some(m.now);
            attempt.idle_before_first_token = attempt.idle.passed(m.now);
        }
    }

    pub(super) fn on_text(&mut self, m: &mut Machine, text: Text, refusal: bool) -> Result<(), Violation> {
        if text.is_empty() {
            return Ok(());
        }
        self.attempt.assembler.text(&text)?;
        self.token(m);
        self.deltas(m, &text, if refusal { Event::RefusalDelta } else { Event::TextDelta });
        Ok(())
    }

    /// Reasoning is shown, not stored; one item may be no larger than a whole response.
    pub(super) fn on_display(
        &mut self,
        m: &mut Machine,
        text: &Text,
        event: fn(Text) -> Event,
    ) -> Result<(), Violation> {
        let (limit, observed) = (m.config.limits.response_bytes, encoded_len(text));
        if observed > limit {
            return Err(Violation::Oversized { what: "bytes of reasoning in one item", limit, observed });
        }
        if !text.is_empty() {
            self.token(m);
            self.deltas(m, text, event);
        }
        Ok(())
    }

    /// Records text in pieces of the delta bound.
    pub(super) fn deltas(&mut self, m: &mut Machine, text: &Text, event: fn(Text) -> Event) {
        let most = m.config.limits.delta_bytes;
        // No escape is longer than six bytes a byte.
        if text.len() as u64 * 6 <= most || encoded_len(text) <= most {
            self.show(m, event(text.clone()));
            return;
        }
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let piece = encoded_prefix(rest, most);
            self.show(m, event(Text::new(piece)));
            rest = rest.get(piece.len()..).unwrap_or_default();
        }
    }

    pub(super) fn on_call_delta(&mut self, m: &mut Machine, delta: &CallDelta) -> Result<(), Violation> {
        let ordinal = self.attempt.assembler.call_delta(delta)?;
        self.token(m);
        self.call_deltas(m, ordinal, delta.name.as_ref(), &delta.arguments);
        Ok(())
    }

    pub(super) fn on_call(
        &mut self,
        m: &mut Machine,
        call: &crate::model::FinalCall,
    ) -> Result<(), Violation> {
        if let Some(ordinal) = self.attempt.assembler.call(call)? {
            self.token(m);
            self.call_deltas(m, ordinal, Some(&call.name), &call.arguments);
        }
        Ok(())
    }

    pub(super) fn call_deltas(
        &mut self,
        m: &mut Machine,
        ordinal: u32,
        name: Option<&Text>,
        arguments: &Text,
    ) {
        let call = CallRef { step: m.step, ordinal };
        let mut name = name.filter(|name| !name.is_empty()).map(|name| Text::new(encoded_prefix(name, 256)));
        let mut rest = arguments.as_str();
        while name.is_some() || !rest.is_empty() {
            let piece = encoded_prefix(rest, m.config.limits.delta_bytes);
            rest = rest.get(piece.len()..).unwrap_or_default();
            let delta = ToolCallDelta { call, name: name.take(), arguments: Text::new(piece) };
            self.show(m, Event::ToolCallDelta(Arc::new(delta)));
        }
    }

    pub(super) fn on_usage(&mut self, m: &mut Machine, usage: &Usage) {
        let attempt = &mut self.attempt;
        attempt.reported = true;
        attempt.usage.replace(usage);
        let update = UsageUpdated { op: attempt.op, request: attempt.physical, usage: attempt.usage };
        m.emit(Event::UsageUpdated(Arc::new(update)));
        // What is not recorded is not billed.
        if !m.interrupted {
            m.request = attempt.usage;
        }
    }

    pub(super) fn on_activity(&mut self, m: &mut Machine, activity: Activity) {
        let event = match activity {
            Activity::RequestRetry { kind, delay } => {
                m.settle_request();
                self.attempt.usage = Usage::default();
                self.attempt.reported = false;
                self.attempt.physical += 1;
                // The wait is none of the model's time (T7).
                self.attempt.idle.wait(m.now, delay);
                return m.emit(Event::RequestRetry { kind, delay });
            }
            Activity::WebSearch { detail } => Event::WebSearch { detail: clean(&detail, MAX_DETAIL) },
            Activity::HostedTool { name, detail } => Event::HostedTool(Arc::new(HostedTool {
                name: clean(&name, 256),
                detail: clean(&detail, MAX_DETAIL),
            })),
            Activity::Diagnostic { name, value } => return self.on_fact(m, &name, &value),
        };
        self.show(m, event);
    }

    /// Records a fact if its namespace is allowed and it is within bounds (M5); half a fact would be a wrong one.
    pub(super) fn on_fact(&mut self, m: &mut Machine, name: &Text, value: &Text) {
        let namespace = name.split_once('.').map_or("", |(namespace, _)| namespace);
        let allowed = m.config.fact_namespaces.iter().any(|allowed| *allowed == namespace);
        let small = encoded_len(value) <= m.config.limits.fact_bytes && check_id(name).is_ok();
        if !allowed || !small || self.attempt.facts >= m.config.limits.facts {
            return;
        }
        self.attempt.facts += 1;
        let fact = Diagnostic { name: name.clone(), value: clean(value, m.config.limits.fact_bytes) };
        m.emit(Event::Diagnostic(Arc::new(fact)));
    }
}
