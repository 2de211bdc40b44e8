//! Wakes from another thread for an executor that has nothing to do, and so is asleep or about to be.

use super::super::flavours::Kind;
use super::super::hosts::Runs;
use super::super::stage::{Setting, Wrong, ensure};
use super::Found;
use super::pace::{Fed, words};
use crate::sync::{Arc, Mutex, lock};
use crate::timer::ManualTimer;
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

const INPUTS: usize = 1_000;
/// How long one input may take to reach the reader.
const PATIENCE: Duration = Duration::from_secs(10);
/// Long enough to fall asleep in.
const PAUSE: Duration = Duration::from_micros(20);

/// Whether it is over, and who waits for that.
#[derive(Default)]
struct Over {
    state: Mutex<(bool, Option<Waker>)>,
}

impl Over {
    fn tell(&self) {
        let waker = {
            let mut state = lock(&self.state);
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn wait(self: Arc<Self>) {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let mut state = lock(&self.state);
            if state.0 {
                return Poll::Ready(());
            }
            let replaced = state.1.replace(waker);
            drop(state);
            drop(replaced);
            Poll::Pending
        })
        .await;
    }
}

fn waits(holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > PATIENCE {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// One input after the other, each when the one before it was read, so that it meets tasks that sleep and a thread that
/// has parked or is about to.
pub(super) fn parked<K: Kind>(exec: &dyn Runs<K>) -> Result<Found, Wrong> {
    if cfg!(target_family = "wasm") {
        return Ok(Found::measured("no threads here".to_owned()));
    }
    let fed = Fed::default();
    let mut stage = Setting::new(&ManualTimer::new(), fed.clone()).start(exec)?;
    let (over, read) = (Arc::new(Over::default()), Arc::clone(&stage.read));
    let mut stream = stage.take_stream().ok_or("no stream")?;
    let (told, seen) = (Arc::clone(&over), Arc::clone(&read));
    let reading = stage.spawn(async move {
        while let Some(envelope) = stream.next().await {
            lock(&seen).push(envelope);
        }
        told.tell();
    });
    stage.keep_reading(reading);
    let told = Arc::clone(&over);
    let feeder = std::thread::spawn(move || {
        for n in 0..INPUTS {
            fed.text();
            if !waits(|| words(&lock(&read)) > n) {
                told.tell();
                return n;
            }
            // Every other time it may still be on its way to sleep.
            if n % 2 == 0 {
                std::thread::sleep(PAUSE);
            }
        }
        fed.done();
        INPUTS
    });
    exec.run(K::task(over.wait()));
    let fed = feeder.join().map_err(|_| "a wake panicked")?;
    ensure(fed == INPUTS, format_args!("input {fed} did not arrive: a wake from another thread was lost"))?;
    stage.finish()?;
    stage.log()?;
    Ok(Found::measured(format!("{INPUTS} inputs while all sleep")))
}
