//! Wakers and tools that call back into the run that called them (X5).

use super::super::flavours::{Act, Kind};
use super::super::hosts::Runs;
use super::super::stage::{Setting, Slot, Wrong, ended, ensure};
use super::Found;
use super::ends::at_rest;
use crate::feed::EventStream;
use crate::host::ToolContext;
use crate::run::RunHandle;
use crate::sync::{Arc, Mutex, lock};
use crate::testing::Attempt;
use crate::timer::ManualTimer;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// What a waker does beside waking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    DropsHandle,
    Cancels,
    ReadsLog,
    Panics,
}

/// A waker with the handle of the run that wakes it.
struct Armed {
    deed: Deed,
    handle: Mutex<Option<RunHandle>>,
    task: Mutex<Option<Waker>>,
}

impl Wake for Armed {
    fn wake(self: Arc<Self>) {
        let task = lock(&self.task).clone();
        if let Some(task) = task {
            task.wake();
        }
        match self.deed {
            Deed::DropsHandle => {
                let handle = lock(&self.handle).take();
                drop(handle);
            }
            Deed::Cancels => {
                let handle = lock(&self.handle).take();
                if let Some(handle) = handle {
                    let _ = handle.cancel();
                    *lock(&self.handle) = Some(handle);
                }
            }
            Deed::ReadsLog => {
                let handle = lock(&self.handle).take();
                if let Some(handle) = handle {
                    let _ = (handle.log_json(), handle.try_outcome(), handle.late());
                    *lock(&self.handle) = Some(handle);
                }
            }
            Deed::Panics => crate::testing::model::scripted_panic(),
        }
    }
}

/// Polls a stream to its end with such a waker.
struct Reads {
    stream: EventStream,
    armed: Arc<Armed>,
    into: Arc<Mutex<Vec<crate::core::event::Envelope>>>,
}

impl Future for Reads {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let replaced = lock(&this.armed.task).replace(cx.waker().clone());
        drop(replaced);
        let waker = Waker::from(Arc::clone(&this.armed));
        loop {
            let polled = pin!(this.stream.next()).poll(&mut Context::from_waker(&waker));
            match polled {
                Poll::Ready(Some(envelope)) => lock(&this.into).push(envelope),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// A reader's waker is foreign code that the run calls: whatever it does, the run has its one end.
pub(super) fn wakers<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let mut logs = String::new();
    for deed in [Deed::DropsHandle, Deed::Cancels, Deed::ReadsLog, Deed::Panics] {
        let timer = ManualTimer::new();
        let wait = Duration::from_secs(1);
        let attempt = Attempt::new().wait(wait).text("a").wait(wait).text("b").wait(wait);
        let mut stage = Setting::scripted(&timer, [attempt]).start(exec)?;
        let stream = stage.take_stream().ok_or("no stream")?;
        let handle = Mutex::new(stage.take_handle());
        let armed = Arc::new(Armed { deed, handle, task: Mutex::new(None) });
        let read = Arc::clone(&stage.read);
        let reads = Reads { stream, armed: Arc::clone(&armed), into: Arc::clone(&read) };
        let reading = stage.spawn(reads);
        stage.keep_reading(reading);
        stage.finish()?;
        at_rest(&stage)?;
        let events = lock(&read).clone();
        ended(&events).map_err(|wrong| format!("{deed:?}: {wrong}"))?;
        let expected = match deed {
            Deed::DropsHandle | Deed::Cancels => "run.cancelled",
            Deed::ReadsLog | Deed::Panics => "run.completed",
        };
        let last = events.last().map_or("nothing", |last| last.event.kind().as_str());
        ensure(last == expected, format_args!("{deed:?}: {last} in place of {expected}"))?;
        logs.push_str(&format!("{deed:?} {last}\n"));
        drop(lock(&armed.handle).take());
    }
    Ok(Found::logs(logs, "4 wakers".to_owned()))
}

/// Takes the scene out for the call, so that what is called may come back for it.
fn with_scene<K: Kind>(slot: &Slot<K>, f: impl FnOnce(&mut super::super::stage::Scene<K>)) {
    let scene = lock(slot).take();
    if let Some(mut scene) = scene {
        f(&mut scene);
        *lock(slot) = Some(scene);
    }
}

fn looks<K: Kind>(slot: &Slot<K>, cx: &ToolContext) {
    with_scene(slot, |scene| {
        let _ = (scene.session.history().len(), scene.session.live_history().len(), scene.session.state());
        let _ = (scene.engine.runs(), scene.engine.is_shut_down(), cx.token().is_cancelled());
        if let Some(handle) = &scene.handle {
            let _ = (handle.log_json(), handle.late(), handle.try_outcome());
        }
    });
}

fn starts<K: Kind>(slot: &Slot<K>, _: &ToolContext) {
    with_scene(slot, |scene| {
        // This session is busy; another one is not, and its run ends with its handle.
        assert!(scene.session.start("again").is_err(), "two runs in one session");
        if let Ok(other) = scene.engine.session() {
            assert!(other.start("elsewhere").is_ok(), "another session is not free");
        }
    });
}

fn cancels<K: Kind>(slot: &Slot<K>, _: &ToolContext) {
    with_scene(slot, |scene| {
        let _ = scene.handle.as_ref().map(RunHandle::cancel);
    });
}

fn trips<K: Kind>(_: &Slot<K>, cx: &ToolContext) {
    cx.token().cancel();
}

fn shuts_down<K: Kind>(slot: &Slot<K>, _: &ToolContext) {
    with_scene(slot, |scene| {
        let _ = scene.engine.shutdown();
    });
}

fn lets_go<K: Kind>(slot: &Slot<K>, _: &ToolContext) {
    with_scene(slot, |scene| drop(scene.handle.take()));
}

/// A tool may call everything that its host has of the run.
pub(super) fn reentry<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    let deeds: [(&str, Act<K>, &str); 6] = [
        ("looks", looks, "run.completed"),
        ("starts", starts, "run.completed"),
        ("cancels", cancels, "run.cancelled"),
        ("trips", trips, "run.cancelled"),
        ("shuts down", shuts_down, "run.cancelled"),
        ("lets go", lets_go, "run.cancelled"),
    ];
    let mut logs = String::new();
    for (deed, act, expected) in deeds {
        let timer = ManualTimer::new();
        let mut setting = Setting::scripted(&timer, [Attempt::new().call("act", "{}"), "end".into()]);
        setting.act = Some(act);
        let stage = setting.start(exec)?.with_reader();
        stage.finish()?;
        at_rest(&stage)?;
        let events = lock(&stage.read).clone();
        ended(&events).map_err(|wrong| format!("a tool that {deed}: {wrong}"))?;
        let panicked = events.iter().any(|event| {
            matches!(&event.event,
            crate::core::event::Event::ToolFinished(done)
                if done.status == crate::core::message::ToolStatus::Panicked)
        });
        let last = events.last().map_or("nothing", |last| last.event.kind().as_str());
        ensure(
            last == expected && !panicked,
            format_args!("a tool that {deed}: {last}, panicked: {panicked}"),
        )?;
        for envelope in &events {
            logs.push_str(&format!("{deed} {}\n", envelope.event.kind().as_str()));
        }
    }
    Ok(Found::logs(logs, format!("{} tools", deeds.len())))
}
