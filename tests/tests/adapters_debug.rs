//! What the engine's values show of themselves, and what showing them may do.

use runloom::testing::{Attempt, ScriptedModel};
use runloom::{Engine, Host, ManualTimer, ModelSpec, RunHandle, Time, Timer};
use std::fmt::{self, Debug, Write};
use std::task::{Context, Waker};

const SECRET: &str = "what only the user may read";

/// A writer that calls back for every piece it gets.
struct Calls<F>(F);

impl<F: FnMut()> Write for Calls<F> {
    fn write_str(&mut self, _: &str) -> fmt::Result {
        (self.0)();
        Ok(())
    }
}

fn show(value: &dyn Debug, calls: impl FnMut()) {
    write!(Calls(calls), "{value:?}").expect("the writer takes everything");
}

/// A writer is the host's code: it runs under no lock, so that it may use what it is shown.
// proves: X5
#[test]
fn a_writer_may_use_what_it_shows() {
    let model = ScriptedModel::new([Attempt::new().hang()]);
    let host = Host::shared().model(ModelSpec::new("m"), model).build().expect("a host");
    let session = Engine::new(host, ManualTimer::new()).session().expect("a session");
    let (run, driver) = session.start(SECRET).expect("a run");
    let id = run.id().clone();
    let uses = |run: &RunHandle| {
        run.cancel();
        assert_eq!((run.id(), session.history().len()), (&id, 1));
    };
    show(&run, || uses(run.handle()));
    show(&run.outcome(), || uses(run.handle()));
    let (handle, stream) = run.split();
    show(&handle, || uses(&handle));
    show(&stream, || uses(&handle));
    show(&driver, || uses(&handle));
    show(&session, || uses(&handle));
    show(&handle.cancellation_token().cancelled(), || uses(&handle));
}

// proves: X5
#[test]
fn a_writer_may_move_the_clock_it_shows() {
    let timer = ManualTimer::new();
    let mut alarm = timer.clone();
    assert!(alarm.poll_at(Time::from_secs(9), &mut Context::from_waker(Waker::noop())).is_pending());
    show(&timer, || timer.set(Time::from_secs(9)));
    assert_eq!(timer.next_alarm(), None);
}

/// A handle in a log names its run and repeats neither what was said nor what the model was told.
// proves: M5
#[test]
fn handles_name_their_run_and_repeat_nothing_of_it() {
    let model = ScriptedModel::new([Attempt::new().text(SECRET).hang()]);
    let host = Host::shared().model(ModelSpec::new("m").system(SECRET), model).build().expect("a host");
    let engine = Engine::new(host, ManualTimer::new());
    let session = engine.session().expect("a session");
    let (mut run, driver) = session.start(SECRET).expect("a run");
    let shown = [
        format!("{run:?}"),
        format!("{:?}", run.outcome()),
        format!("{:?}", run.handle()),
        format!("{:?}", run.events()),
        format!("{driver:?} {session:?} {engine:?}"),
        format!("{:?}", run.split()),
    ];
    for text in shown {
        assert!(text.contains("run-1") && text.len() < 400, "{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
}
