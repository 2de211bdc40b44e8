//! Ends from outside, at any time, on executors: one terminal, whoever polls (E2, C8).
#![allow(clippy::unwrap_used)]

use futures_lite::future::{block_on, or, pending, poll_once, yield_now};
use runloom::testing::{Attempt, ScriptedTool};
use runloom::{Driver, EventStream, HostTransport, ManualTimer, RunHandle, Session, SessionState, Shared};
use runloom_tests::runs::{assert_ended, engine};
use std::time::Duration;

type TestDriver = Driver<ManualTimer, HostTransport<Shared>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Nothing,
    DropHandle,
    DropDriver,
    DropStream,
    Cancel,
    Token,
    Panic,
}

const ENDS: [End; 7] =
    [End::Nothing, End::DropHandle, End::DropDriver, End::DropStream, End::Cancel, End::Token, End::Panic];

/// Moments at which a run is ended: turns that its driver had before.
const MOMENTS: std::ops::Range<usize> = 0..14;

struct Scene {
    timer: ManualTimer,
    session: Session<Shared, ManualTimer>,
    handle: Option<RunHandle>,
    stream: Option<EventStream>,
}

/// A run with a retry, a tool with progress, and an answer.
fn scene() -> (Scene, TestDriver) {
    let timer = ManualTimer::new();
    let wait = Duration::from_millis(1);
    let attempts = [
        Attempt::new().text("void").wait(wait).cut(),
        Attempt::new().text("a").call("t", "{}").wait(wait),
        Attempt::new().wait(wait).text("b"),
    ];
    let tool = ScriptedTool::timed(timer.clone(), "t").wait(wait).progress("p").wait(wait).output("o");
    let session = engine(attempts, [tool], &timer, 64).session().unwrap();
    let (run, driver) = session.start("go").unwrap();
    let (handle, stream) = run.split();
    (Scene { timer, session, handle: Some(handle), stream: Some(stream) }, driver)
}

impl Scene {
    /// Ends the run, all but by the loss of its driver.
    fn end(&mut self, end: End) {
        let handle = self.handle.as_ref().unwrap();
        match end {
            End::Nothing | End::DropDriver => {}
            End::DropHandle => drop(self.handle.take()),
            End::DropStream => drop(self.stream.take()),
            End::Cancel => drop(handle.cancel()),
            End::Token => handle.cancellation_token().cancel(),
            End::Panic => handle.plant_panic(0),
        }
    }

    /// Lets the others have their turns, and moves the clock after each.
    async fn turns(&self, turns: usize) {
        for _ in 0..turns {
            yield_now().await;
            self.timer.advance_to_alarm();
        }
    }

    fn check(self, what: &str) {
        assert!(!matches!(self.session.state(), SessionState::Running), "{what}");
        assert_eq!(self.session.history().open_calls(), 0, "{what}");
        if let Some(handle) = &self.handle {
            assert_ended(handle);
            assert_eq!(handle.try_outcome().unwrap().revision, self.session.revision(), "{what}");
        }
        assert!(self.session.start("again").is_ok(), "{what}");
    }
}

/// Polls a driver on a task of `spawn`, ends its run after so many turns, and waits for what is left of it.
async fn spawned(end: End, moment: usize, spawn: impl AsyncFn(TestDriver) -> smol::Task<()>) {
    let (mut scene, driver) = scene();
    let task = spawn(driver).await;
    scene.turns(moment).await;
    scene.end(end);
    let timer = scene.timer.clone();
    if end == End::DropDriver {
        task.cancel().await;
    } else {
        or(task, async {
            loop {
                timer.advance_to_alarm();
                yield_now().await;
            }
        })
        .await;
    }
    scene.check(&format!("{end:?} after {moment} turns"));
}

async fn driven(driver: TestDriver) {
    drop(driver.await);
}

// proves: E2, W7, C8, X2
#[test]
fn every_end_gives_one_terminal_where_the_calling_thread_polls() {
    for (end, moment) in ENDS.into_iter().flat_map(|end| MOMENTS.map(move |moment| (end, moment))) {
        let (mut scene, mut driver) = scene();
        block_on(async {
            for _ in 0..moment {
                let _ = poll_once(&mut driver).await;
                scene.timer.advance_to_alarm();
            }
            scene.end(end);
            if end == End::DropDriver {
                return drop(driver);
            }
            while poll_once(&mut driver).await.is_none() {
                scene.timer.advance_to_alarm();
            }
        });
        scene.check(&format!("{end:?} after {moment} turns"));
    }
}

// proves: E2, W7, C8, X2
#[test]
fn every_end_gives_one_terminal_on_smols_threads() {
    for (end, moment) in ENDS.into_iter().flat_map(|end| MOMENTS.map(move |moment| (end, moment))) {
        block_on(spawned(end, moment, async |driver| smol::spawn(driven(driver))));
    }
}

// proves: E2, W7, C8, X2
#[test]
fn every_end_gives_one_terminal_on_a_local_executor() {
    for (end, moment) in ENDS.into_iter().flat_map(|end| MOMENTS.map(move |moment| (end, moment))) {
        let executor = smol::LocalExecutor::new();
        let case = spawned(end, moment, async |driver| executor.spawn(driven(driver)));
        block_on(or(case, executor.run(pending())));
    }
}
