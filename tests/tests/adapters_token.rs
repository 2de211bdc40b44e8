//! The cancellation token (C1).

use futures_lite::future::{block_on, pending, poll_once};
use runloom::{CancellationToken, Cancelled, WaitForCancellation};
use runloom_tests::bare::{Flag, Task};
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

// proves: C1
#[test]
fn clones_share_one_flag_that_is_raised_once() {
    let token = CancellationToken::new();
    let clone = token.clone();
    assert_eq!((token.is_cancelled(), token.check_cancelled()), (false, Ok(())));
    drop(token.clone());
    clone.cancel();
    clone.cancel();
    assert_eq!((token.is_cancelled(), token.check_cancelled()), (true, Err(Cancelled)));
    block_on(token.cancelled());
}

// proves: C1
#[test]
fn every_waiter_is_woken_once() {
    let token = CancellationToken::new();
    let mut waiters: Vec<_> = (0..5).map(|_| Task::new(token.cancelled())).collect();
    assert!(waiters.iter_mut().all(|waiter| !waiter.run()));
    drop(waiters.pop());
    token.cancel();
    assert!(waiters.iter().all(Task::is_woken));
    assert!(waiters.iter_mut().all(|waiter| waiter.run() && waiter.polls() == 2));
}

// proves: C1
#[test]
fn until_cancelled_polls_nothing_once_the_flag_is_raised() {
    let token = CancellationToken::new();
    assert_eq!(block_on(token.until_cancelled(ready(7))), Some(7));
    let mut task = Task::new(token.until_cancelled(pending::<()>()));
    assert!(!task.run());
    token.cancel();
    assert!(task.run());
    assert_eq!(task.output(), Some(&None));
    let poisoned = async { panic!("polled") };
    assert_eq!(block_on(token.until_cancelled::<_>(poisoned)), None::<()>);
}

/// The futures own what they need: they outlive the token that made them.
// proves: C1
#[test]
fn futures_borrow_nothing() {
    fn is_static<T: 'static + Send>(value: T) -> T {
        value
    }
    let (wait, until) = {
        let token = CancellationToken::new();
        (is_static(token.cancelled()), is_static(token.until_cancelled(async { 1 })))
    };
    assert_eq!(block_on(until), Some(1));
    assert!(block_on(poll_once(wait)).is_none());
}

/// 20,000 races between a cancellation and a wait: none is lost. The other thread is let go just before each wait, by
/// a little more from race to race, so that its cancellation falls into every place of the wait.
// proves: C1
#[test]
fn trap_06_a_cancellation_during_the_wait_is_not_lost() {
    let tokens: Vec<_> = (0..20_000).map(|_| CancellationToken::new()).collect();
    let (others, go) = (tokens.clone(), Arc::new(AtomicUsize::new(0)));
    let gone = Arc::clone(&go);
    let thread = std::thread::spawn(move || {
        for (n, token) in others.iter().enumerate() {
            let mut spins = 0_u32;
            while gone.load(Ordering::SeqCst) <= n {
                spins += 1;
                // Where there is one core only, the other thread needs it.
                if spins.is_multiple_of(4_096) { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
            token.cancel();
        }
    });
    for (n, token) in tokens.iter().enumerate() {
        let (flag, waker) = Flag::new();
        let mut waiter = token.cancelled();
        go.store(n + 1, Ordering::SeqCst);
        (0..n % 128).for_each(|_| std::hint::spin_loop());
        if Pin::new(&mut waiter).poll(&mut Context::from_waker(&waker)).is_pending() {
            let until = Instant::now() + Duration::from_secs(20);
            while flag.wakes() == 0 {
                assert!(Instant::now() < until, "race {n} was lost");
                std::thread::yield_now();
            }
        }
        assert!(token.is_cancelled());
    }
    thread.join().unwrap();
}

/// A waker may come back to the token while it is woken, and may own the waiter that it wakes.
// proves: X5
#[test]
fn trap_01_a_waker_may_use_the_token() {
    struct Owner {
        token: CancellationToken,
        waiter: Mutex<Option<WaitForCancellation>>,
        flag: Arc<Flag>,
    }
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {
            let waiter = self.waiter.lock().unwrap().take();
            drop(waiter);
            self.token.cancel();
            assert!(self.token.is_cancelled());
            Arc::clone(&self.flag).wake();
        }
    }
    let token = CancellationToken::new();
    let (flag, _) = Flag::new();
    let owner = Arc::new(Owner { token: token.clone(), waiter: Mutex::default(), flag: Arc::clone(&flag) });
    let waker = Waker::from(Arc::clone(&owner));
    let mut waiter = token.cancelled();
    assert!(Pin::new(&mut waiter).poll(&mut Context::from_waker(&waker)).is_pending());
    *owner.waiter.lock().unwrap() = Some(waiter);
    token.cancel();
    assert_eq!(flag.wakes(), 1);
}
