//! Puts spans and attributes together.

use super::{Attribute, SpanEnd, SpanEvent, SpanId, SpanKind, SpanStart, Telemetry, Value, names};
use crate::id::{Revision, Seq};
use crate::text::Text;
use crate::time::Time;
use crate::usage::Usage;
use alloc::vec::Vec;
use core::time::Duration;

/// Attributes that are being put together.
#[derive(Default)]
pub(super) struct Facts(Vec<Attribute>);

impl Facts {
    fn with(mut self, key: &'static str, value: Value) -> Self {
        self.0.push(Attribute { key, value });
        self
    }

    pub(super) fn text(self, key: &'static str, text: impl Into<Text>) -> Self {
        self.with(key, Value::Text(text.into()))
    }

    pub(super) fn maybe(self, key: &'static str, text: Option<&Text>) -> Self {
        match text {
            Some(text) => self.text(key, text.clone()),
            None => self,
        }
    }

    pub(super) fn number(self, key: &'static str, number: impl Into<u64>) -> Self {
        self.with(key, Value::Integer(number.into()))
    }

    pub(super) fn seconds(self, key: &'static str, span: Option<Duration>) -> Self {
        match span {
            Some(span) => self.with(key, Value::Number(span.as_secs_f64())),
            None => self,
        }
    }

    pub(super) fn texts(self, key: &'static str, texts: Vec<Text>) -> Self {
        self.with(key, Value::Texts(texts))
    }

    pub(super) fn revision(self, revision: Revision) -> Self {
        self.number(names::REVISION, revision.0)
    }

    pub(super) fn usage(self, usage: &Usage) -> Self {
        let counts = [
            (names::INPUT_TOKENS, usage.input_tokens),
            (names::OUTPUT_TOKENS, usage.output_tokens),
            (names::CACHE_READ_TOKENS, usage.cache_read_tokens),
            (names::CACHE_WRITE_TOKENS, usage.cache_write_tokens),
            (names::REASONING_TOKENS, usage.reasoning_tokens),
        ];
        let said = counts.into_iter().filter_map(|(key, count)| Some((key, count?)));
        said.fold(self, |facts, (key, count)| facts.number(key, count))
    }
}

/// One fact.
pub(super) fn code(key: &'static str, code: impl Into<Text>) -> Facts {
    Facts::default().text(key, code)
}

/// A span that did not end by itself.
pub(super) fn ended(how: &'static str) -> Facts {
    code(names::END, how)
}

/// Where what is learned from one event goes.
pub(super) struct Emit<'a> {
    pub(super) at: Time,
    pub(super) seq: Seq,
    pub(super) to: &'a mut dyn FnMut(Telemetry),
}

impl Emit<'_> {
    pub(super) fn start(
        &mut self,
        parent: Option<SpanId>,
        kind: SpanKind,
        name: impl Into<Text>,
        facts: Facts,
    ) -> SpanId {
        let (id, at, attributes) = (SpanId(self.seq.0), self.at, facts.0);
        (self.to)(Telemetry::Start(SpanStart { id, parent, kind, name: name.into(), at, attributes }));
        id
    }

    /// Ends a span, if it is open.
    pub(super) fn end(&mut self, span: &mut Option<SpanId>, kind: SpanKind, failed: bool, facts: Facts) {
        if let Some(id) = span.take() {
            let (at, attributes) = (self.at, facts.0);
            (self.to)(Telemetry::End(SpanEnd { id, kind, at, failed, attributes }));
        }
    }

    pub(super) fn event(&mut self, name: &'static str, span: Option<SpanId>, facts: Facts) {
        (self.to)(Telemetry::Event(SpanEvent { span, name, at: self.at, attributes: facts.0 }));
    }
}
