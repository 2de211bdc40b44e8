//! Who is woken, when, and that nothing foreign runs under the run's lock.

use super::*;
use futures_lite::future::{block_on, poll_once};
use runloom::{After, CancelReply, ReadBounds, RunReader, Seq};
use runloom_tests::bare::Flag;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

fn poll(subscription: &mut Subscription, waker: &Waker) -> Poll<Option<Result<Envelope, ReadError>>> {
    futures_core::Stream::poll_next(Pin::new(subscription), &mut Context::from_waker(waker))
}

fn read_all(subscription: &mut Subscription, waker: &Waker) -> usize {
    (0..).take_while(|_| matches!(poll(subscription, waker), Poll::Ready(Some(Ok(_))))).count()
}

/// Ten thousand readers that sleep get one wake each, and then none until they come back.
// proves: L3
#[test]
fn only_those_that_wait_are_woken_and_only_once() {
    let (run, driver) = unattended(Config::default(), [pieces(2_000)]);
    let mut driver = pin!(driver);
    let reader = run.reader();
    let mut readers: Vec<_> = (0..10_000)
        .map(|_| {
            let (flag, waker) = Flag::new();
            let mut live = reader.subscribe(After::START).unwrap();
            read_all(&mut live, &waker);
            (live, flag, waker)
        })
        .collect();
    let wakes = |readers: &[(Subscription, Arc<Flag>, Waker)]| {
        let counts = readers.iter().map(|(_, flag, _)| flag.wakes());
        counts.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n)))
    };
    assert_eq!(wakes(&readers), (0, 0), "nothing was recorded since they looked");
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert_eq!(wakes(&readers), (1, 1));
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert_eq!(wakes(&readers), (1, 1), "who does not come back is left alone");
    for (live, _, waker) in readers.iter_mut().take(5_000) {
        assert!(read_all(live, waker) > 0);
    }
    block_on(&mut driver);
    let (back, away) = readers.split_at(5_000);
    assert_eq!((wakes(back), wakes(away)), ((2, 2), (1, 1)));
}

/// A waker that does what it likes with the run, when it is woken and when it is dropped.
struct Meddler {
    reader: RunReader,
    others: Mutex<Vec<Subscription>>,
    calls: AtomicUsize,
}

impl Meddler {
    fn meddle(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let page = self.reader.page(After::START, ReadBounds::new(10, 1 << 20));
        assert!(page.is_ok());
        let mut new = self.reader.subscribe(page.unwrap().latest).unwrap();
        assert!(new.try_next().unwrap().is_none());
        assert!(self.reader.join().is_ok());
        let mut others = self.others.lock().unwrap();
        let old = std::mem::replace(&mut *others, vec![new]);
        drop(others);
        drop(old);
    }
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        self.meddle();
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.meddle();
    }
}

// proves: X5
#[test]
fn wakers_may_read_subscribe_and_drop() {
    let (run, driver) = unattended(Config::default(), [pieces(500)]);
    let mut driver = pin!(driver);
    let waker = || {
        let meddler = Meddler { reader: run.reader(), others: Mutex::default(), calls: AtomicUsize::new(0) };
        let meddler = Arc::new(meddler);
        (Arc::clone(&meddler), Waker::from(meddler))
    };
    let mut live = run.reader().subscribe(After::START).unwrap();
    let (first, replaced) = waker();
    read_all(&mut live, &replaced);
    drop(replaced);
    let (second, kept) = waker();
    assert!(
        poll(&mut live, &kept).is_pending(),
        "the first waker is replaced, and dropped outside of the lock"
    );
    assert!(block_on(poll_once(&mut driver)).is_none());
    assert_eq!((first.calls.load(Ordering::SeqCst), second.calls.load(Ordering::SeqCst)), (0, 1));
    drop(first);
    read_all(&mut live, &kept);
    drop(kept);
    drop(second);
    drop(live);
    block_on(driver);
}

/// A reader that waits learns of an end that comes without the driver.
// proves: L2, C7, C8
#[test]
fn an_end_from_outside_wakes_readers() {
    for end in 0..3 {
        let (session, _) = session(Config::default(), [Attempt::new().text("a").hang()], []);
        let (run, driver) = session.start("go").unwrap();
        let mut driver = Box::pin(driver);
        assert!(block_on(poll_once(&mut driver)).is_none());
        let (flag, waker) = Flag::new();
        let mut live = run.reader().subscribe(After::START).unwrap();
        assert!(read_all(&mut live, &waker) > 3 && !flag.take());
        match end {
            0 => assert_eq!(run.cancel(), CancelReply::Cancelled),
            1 => drop(run),
            _ => drop(driver),
        }
        assert!(flag.take(), "end {end}");
        let rest = std::iter::from_fn(|| live.try_next().unwrap()).collect::<Vec<_>>();
        assert!(rest.last().unwrap().event.is_terminal());
        assert_eq!(poll(&mut live, &waker), Poll::Ready(None));
        assert_ne!(live.cursor().seq, Seq(0));
    }
}
