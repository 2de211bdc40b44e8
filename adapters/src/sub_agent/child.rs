//! A run inside of a tool's call.

use super::asked::Asked;
use super::{Observer, SubAgentCall, SubAgentUpdate};
use crate::core::event::{Envelope, Event};
use crate::core::id::Seq;
use crate::core::outcome::{Outcome, RunResult, StopReason};
use crate::core::text::Text;
use crate::core::tool::{ToolFault, ToolOutput};
use crate::host::{Flavour, HostTransport, Progress, ToolContext};
use crate::panics::{caught, drop_caught};
use crate::timer::Timer;
use crate::{Driver, Run};
use futures_core::Stream;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Events of one poll: a run that always has one does not keep its task from others.
const EVENTS: usize = 64;

/// Who is told of the run.
pub(super) struct Watch<F: Flavour> {
    pub(super) call: Arc<SubAgentCall>,
    pub(super) observer: Observer<F>,
}

impl<F: Flavour> Watch<F> {
    fn tell(&self, update: SubAgentUpdate) {
        F::call(&self.observer, (Arc::clone(&self.call), update));
    }
}

/// The run, its driver and its reader as one future.
pub(super) struct Child<F: Flavour, T: Timer> {
    run: Run,
    /// `None` once the run has ended.
    driver: Option<Driver<T, HostTransport<F>>>,
    watch: Option<Watch<F>>,
    shows: fn(&Event) -> Option<Text>,
    cx: ToolContext,
    /// A report that the calling run has not taken yet: nothing more is read before that.
    report: Option<Progress>,
    asked: Asked,
}

impl<F: Flavour, T: Timer> Unpin for Child<F, T> {}

impl<F: Flavour, T: Timer> Child<F, T> {
    pub(super) fn new(
        run: Run,
        driver: Driver<T, HostTransport<F>>,
        watch: Option<Watch<F>>,
        shows: fn(&Event) -> Option<Text>,
        cx: ToolContext,
    ) -> Self {
        let child =
            Self { run, driver: Some(driver), watch, shows, cx, report: None, asked: Asked::default() };
        child.tell(|| SubAgentUpdate::Started);
        child
    }

    fn tell(&self, update: impl FnOnce() -> SubAgentUpdate) {
        if let Some(watch) = &self.watch {
            watch.tell(update());
        }
    }

    fn see(&mut self, envelope: Envelope) {
        match &envelope.event {
            Event::HostInputRequested(request) => self.asked.ask(request, &self.cx),
            Event::HostInputAnswered(answered) => self.asked.over(&answered.request.id),
            Event::HostInputFailed(failed) => self.asked.over(&failed.request.id),
            Event::HostInputCancelled(request) => self.asked.over(&request.id),
            _ => {}
        }
        self.report = (self.shows)(&envelope.event).map(|text| self.cx.progress(text));
        self.tell(|| SubAgentUpdate::Event(envelope));
    }

    /// Drives the run and reads it until nothing is left, or the calling run falls behind.
    fn go_on(&mut self, cx: &mut Context<'_>) -> Poll<Arc<Outcome>> {
        let mut events = 0;
        loop {
            if let Some(driver) = &mut self.driver
                && Pin::new(driver).poll(cx).is_ready()
            {
                drop_caught(self.driver.take());
            }
            // What is read makes room: the driver is asked again before this sleeps.
            let before = events;
            let read = self.read(cx, &mut events);
            let answered = read.is_pending() && self.asked.poll(&self.run, cx);
            if read.is_ready() || (events == before && !answered) {
                return read;
            }
            if events >= EVENTS {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Reads what is there; the outcome after the last event.
    fn read(&mut self, cx: &mut Context<'_>, events: &mut usize) -> Poll<Arc<Outcome>> {
        while *events < EVENTS {
            if let Some(report) = &mut self.report {
                match Pin::new(report).poll(cx) {
                    Poll::Ready(()) => self.report = None,
                    Poll::Pending => return Poll::Pending,
                }
            }
            match Pin::new(&mut self.run.events()).poll_next(cx) {
                Poll::Ready(Some(envelope)) => self.see(envelope),
                Poll::Ready(None) => match self.run.handle().try_outcome() {
                    Some(outcome) => return Poll::Ready(outcome),
                    None => return Poll::Pending,
                },
                Poll::Pending => return Poll::Pending,
            }
            *events += 1;
        }
        Poll::Pending
    }

    fn end(&mut self) {
        // What the run had under way is dropped before anyone hears of its end.
        drop_caught(self.driver.take());
        let Some(watch) = self.watch.take() else { return };
        if let Some(outcome) = self.run.handle().try_outcome() {
            let log = self.run.handle().events_after(Seq(0), usize::MAX);
            let _ = caught(|| watch.tell(SubAgentUpdate::Ended { outcome, log }));
        }
    }
}

impl<F: Flavour, T: Timer> Future for Child<F, T> {
    type Output = Arc<Outcome>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Arc<Outcome>> {
        let this = self.get_mut();
        let read = this.go_on(cx);
        if read.is_ready() {
            this.end();
        }
        read
    }
}

impl<F: Flavour, T: Timer> Drop for Child<F, T> {
    fn drop(&mut self) {
        // After its end this does nothing.
        self.run.cancel();
        self.end();
    }
}

/// What a call comes to by the outcome of its run.
pub(super) fn result_of(outcome: &Outcome) -> Result<ToolOutput, ToolFault> {
    match &outcome.result {
        RunResult::Completed(answer) if answer.stop_reason == StopReason::EndTurn => {
            Ok(ToolOutput::text(answer.text.clone()))
        }
        RunResult::Completed(answer) => {
            let why = answer.stop_reason.as_str();
            Ok(ToolOutput::error(format!("the agent stopped early ({why}); it last said: {}", answer.text)))
        }
        RunResult::Cancelled(cause) => {
            Err(ToolFault::new(&format!("the agent's run was cancelled ({})", cause.as_str())))
        }
        RunResult::Failed(error) => {
            let fault = ToolFault::new(&format!("the agent failed ({}): {error}", error.code()));
            Err(if error.is_retryable() { fault.retryable() } else { fault })
        }
        _ => Err(ToolFault::new("the agent's run has ended without an answer")),
    }
}
