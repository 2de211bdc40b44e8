//! A run's events as spans of `tracing`, with the feature `tracing`; exporters such as OpenTelemetry's take them there.
//!
//! What stands in them is said in [`runloom_core::telemetry`]: names, ids, counts and codes, and no content. `tracing`
//! stamps spans itself, so that this is for runs that go on; for a journal that is replayed later, map its events with
//! [`Spans`], whose times are the log's.

mod record;

use crate::core::event::Envelope;
use crate::core::id::{RunId, Seq};
use crate::core::reader::{Cursor, ReadBounds, ReadError, ReadFault};
use crate::core::telemetry::{SpanId, Spans, Telemetry};
use crate::core::text::Text;
use crate::core::time::Time;
use crate::reading::RunReader;
use std::collections::BTreeMap;
use std::fmt;

/// Pages in which the events are read.
const PAGE: ReadBounds = ReadBounds::new(1_024, 16 << 20);

/// The spans of one run in `tracing`. The run's span belongs to the one that was current when this was made.
///
/// Dropping it ends what is open.
pub struct TracingSpans {
    run: RunId,
    spans: Spans,
    outer: ::tracing::Span,
    open: BTreeMap<SpanId, ::tracing::Span>,
    last: Time,
}

impl TracingSpans {
    /// For the events of this run.
    pub fn new(run: RunId) -> Self {
        let (outer, open) = (::tracing::Span::current(), BTreeMap::new());
        Self { spans: Spans::new(run.clone()), run, outer, open, last: Time::ZERO }
    }

    /// With the name of the provider, in OpenTelemetry's terms (such as `openai`, `anthropic`): no event has it.
    #[must_use]
    pub fn provider(mut self, name: impl Into<Text>) -> Self {
        self.spans = self.spans.clone().provider(name);
        self
    }

    /// With this span around the run's.
    #[must_use]
    pub fn within(mut self, outer: &::tracing::Span) -> Self {
        self.outer = outer.clone();
        self
    }

    /// Takes the run's next event.
    pub fn take(&mut self, envelope: &Envelope) {
        let (outer, open) = (&self.outer, &mut self.open);
        self.last = envelope.at;
        self.spans.take(envelope, &mut |telemetry| apply(outer, open, &telemetry));
    }

    /// Reads the run to its end, from its oldest event that is still there. The run does not wait for it; where it falls
    /// so far behind that events were evicted, it goes on after the gap.
    ///
    /// ```
    /// # use futures_lite::future::{block_on, zip};
    /// # use runloom::testing::{Attempt, ScriptedModel};
    /// # use runloom::{Engine, Host, ManualTimer, ModelSpec, RunOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model = ScriptedModel::new([Attempt::answer("Hello.")]);
    /// # let host = Host::shared().model(ModelSpec::new("scripted"), model).build()?;
    /// # let session = Engine::new(host, ManualTimer::new()).session()?;
    /// use runloom::telemetry::TracingSpans;
    /// let (run, driver) = session.start_with("Hi", RunOptions::new().unattended())?;
    /// let spans = TracingSpans::new(run.id().clone()).provider("openai");
    /// let (_, traced) = block_on(zip(driver, spans.follow(run.reader())));
    /// traced?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the reader is one of another run's, or an event is larger than 16 MiB.
    pub async fn follow(mut self, reader: RunReader) -> Result<(), ReadError> {
        let mut at = Cursor::new(self.run.clone(), Seq(0));
        loop {
            let (page, tail) = match reader.page_then_tail(&at, PAGE) {
                Ok(page) => page,
                Err(error) if error.reason == ReadFault::CursorBehind && error.recovery > at.seq => {
                    at.seq = error.recovery;
                    continue;
                }
                Err(error) => return Err(error),
            };
            page.events.iter().for_each(|envelope| self.take(envelope));
            at.seq = page.last;
            if page.closed && !page.has_more {
                return Ok(());
            }
            let Some(mut tail) = tail else { continue };
            loop {
                match tail.next().await {
                    Ok(Some(envelope)) => self.take(&envelope),
                    Ok(None) => return Ok(()),
                    Err(error) => {
                        at.seq = error.recovery;
                        break;
                    }
                }
            }
        }
    }
}

fn apply(outer: &::tracing::Span, open: &mut BTreeMap<SpanId, ::tracing::Span>, telemetry: &Telemetry) {
    match telemetry {
        Telemetry::Start(start) => {
            let parent = start.parent.and_then(|parent| open.get(&parent)).unwrap_or(outer);
            let span = record::start(parent, start);
            open.insert(start.id, span);
        }
        Telemetry::End(end) => {
            if let Some(span) = open.remove(&end.id) {
                record::end(&span, end);
            }
        }
        Telemetry::Event(event) => {
            let span = event.span.and_then(|span| open.get(&span)).unwrap_or(outer);
            record::event(span, event);
        }
        _ => {}
    }
}

impl Drop for TracingSpans {
    fn drop(&mut self) {
        let (outer, open) = (&self.outer, &mut self.open);
        self.spans.stop(self.last, &mut |telemetry| apply(outer, open, &telemetry));
    }
}

impl fmt::Debug for TracingSpans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracingSpans").field("open", &self.open.len()).finish_non_exhaustive()
    }
}
