//! Who drives a connection, and that nobody waits for one who does not.

use crate::wire::{Counter, Pipe, Server, said, text};
use runloom::mcp::McpCall;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Output = <McpCall<Pipe> as Future>::Output;

fn poll(call: &mut McpCall<Pipe>, waker: &Waker) -> Poll<Output> {
    Pin::new(call).poll(&mut Context::from_waker(waker))
}

#[test]
fn another_call_takes_over_when_the_one_that_drove_is_dropped() {
    let server = Server::silent();
    let client = server.client();
    let ((woken_a, waker_a), (woken_b, waker_b)) = (Counter::new(), Counter::new());
    let (mut a, mut b) = (client.call("t", "{}").unwrap(), client.call("t", "{}").unwrap());
    assert!(poll(&mut b, &waker_b).is_pending() && poll(&mut a, &waker_a).is_pending());
    let calls = server.got("tools/call");
    // The last one that polled the transport was `a`.
    drop(a);
    woken_a.take();
    woken_b.take();
    server.say(text(&calls[1], "for b"));
    assert_eq!((woken_a.take(), woken_b.take()), (0, 1));
    let Poll::Ready(Ok(output)) = poll(&mut b, &waker_b) else { panic!("no result") };
    assert_eq!(said(&output), "for b");
}

#[test]
fn a_call_that_is_kept_and_never_polled_holds_up_nobody() {
    let server = Server::silent();
    let client = server.client();
    let ((_, waker_a), (woken_b, waker_b)) = (Counter::new(), Counter::new());
    let (mut a, mut b) = (client.call("t", "{}").unwrap(), client.call("t", "{}").unwrap());
    assert!(poll(&mut b, &waker_b).is_pending() && poll(&mut a, &waker_a).is_pending());
    let calls = server.got("tools/call");
    server.say(text(&calls[0], "for a"));
    server.say(text(&calls[1], "for b"));
    assert!(woken_b.take() > 0);
    assert!(poll(&mut b, &waker_b).is_ready());
    // What came for the other was kept.
    assert!(poll(&mut a, &waker_a).is_ready());
}

/// A call that comes while another task polls the transport has no turn of its own: that task takes its line along.
#[test]
fn a_call_that_comes_while_another_drives_is_sent_by_that_one() {
    let server = Server::silent();
    let client = server.client();
    let ((_, waker_a), (woken_b, waker_b)) = (Counter::new(), Counter::new());
    let mut a = client.call("t", "{}").unwrap();
    let (late, kept) = (client.clone(), Arc::new(Mutex::new(None)));
    let keeps = Arc::clone(&kept);
    server.meanwhile(move || {
        let mut b = late.call("t", r#"{"late":true}"#).unwrap();
        assert!(poll(&mut b, &waker_b).is_pending());
        *keeps.lock().unwrap() = Some(b);
    });
    assert!(poll(&mut a, &waker_a).is_pending());
    let calls = server.got("tools/call");
    assert_eq!((calls.len(), &calls[1]["params"]["arguments"]["late"]), (2, &serde_json::json!(true)));
    // What comes in that time is not missed either.
    let (waking, answer) = (server.clone(), text(&calls[1], "for b"));
    server.meanwhile(move || waking.say(answer));
    drop(client.call("t", "{}"));
    assert_eq!(woken_b.take(), 1);
    let mut b = kept.lock().unwrap().take().unwrap();
    assert!(poll(&mut b, &waker_a).is_ready());
}

/// All that wait are woken when the server says something, but one of them looks: the transport is polled as often as
/// there is something, however many wait.
#[test]
fn of_many_that_are_woken_one_polls_the_transport() {
    for calls in [1, 16, 128] {
        let server = Server::silent();
        let client = server.client();
        let mut waiting: Vec<_> =
            (0..calls).map(|_| (client.call("t", "{}").unwrap(), Counter::new())).collect();
        for (call, (_, waker)) in &mut waiting {
            assert!(poll(call, waker).is_pending());
        }
        let requests = server.got("tools/call");
        let before = server.polls();
        for request in &requests {
            server.say(text(request, "x"));
            waiting.retain_mut(|(call, (woken, waker))| woken.take() == 0 || poll(call, waker).is_pending());
        }
        assert!(waiting.is_empty());
        // Once for the answer, once for nothing more.
        assert_eq!(server.polls() - before, 2 * calls);
    }
}

/// A waker is the host's code: it runs under no lock.
// proves: X5
#[test]
fn a_waker_may_use_the_client() {
    struct Asks(runloom::mcp::McpClient<Pipe>);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            let _ = self.0.open_requests();
            drop(self.0.call("t", "{}"));
        }
    }
    let server = Server::silent();
    let client = server.client();
    let waker = Waker::from(Arc::new(Asks(client.clone())));
    let mut call = client.call("t", "{}").unwrap();
    assert!(poll(&mut call, &waker).is_pending());
    let request = server.got("tools/call").remove(0);
    server.say(text(&request, "x"));
    assert!(poll(&mut call, &waker).is_ready());
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Poll(usize),
    Drop(usize),
    Answer(usize),
    Block,
    Unblock,
    Close,
}

const ACTS: [Act; 9] = [
    Act::Poll(0),
    Act::Poll(1),
    Act::Drop(0),
    Act::Drop(1),
    Act::Answer(0),
    Act::Answer(1),
    Act::Block,
    Act::Unblock,
    Act::Close,
];

/// Two calls on an executor that polls only what was woken, after any sequence of acts: at the end each call that is
/// there and answered, or whose connection is closed, has its end. A wake that is lost leaves it waiting for ever.
#[test]
fn no_wake_is_lost_in_any_order() {
    let mut sequences = 0;
    for begun in [&[][..], &[Act::Poll(0), Act::Poll(1)]] {
        for number in 0..ACTS.len().pow(4) {
            let place = |at| ACTS[number / ACTS.len().pow(at) % ACTS.len()];
            let acts: Vec<Act> = begun.iter().copied().chain((0..4).map(place)).collect();
            play(&acts);
            sequences += 1;
        }
    }
    assert_eq!(sequences, 13_122);
}

struct Task {
    call: Option<McpCall<Pipe>>,
    id: u64,
    woken: Arc<Counter>,
    waker: Waker,
    ready: bool,
    end: Option<Output>,
}

impl Task {
    fn poll_if_woken(&mut self) -> bool {
        self.ready |= self.woken.take() > 0;
        let Some(call) = self.call.as_mut().filter(|_| self.ready) else { return false };
        self.ready = false;
        if let Poll::Ready(end) = poll(call, &self.waker) {
            self.end = Some(end);
            self.call = None;
        }
        true
    }
}

fn play(acts: &[Act]) {
    let server = Server::silent();
    let client = server.client();
    let (mut answered, mut closed) = ([false; 2], false);
    let mut tasks: Vec<Task> = (0..2)
        .map(|n| {
            let (woken, waker) = Counter::new();
            let call = Some(client.call("t", "{}").expect("a call"));
            // The handshake was the first request.
            Task { call, id: n + 2, woken, waker, ready: true, end: None }
        })
        .collect();
    for act in acts {
        match *act {
            Act::Poll(n) => drop(tasks[n].poll_if_woken()),
            Act::Drop(n) => tasks[n].call = None,
            Act::Answer(n) => {
                // Only what was sent can be answered.
                let sent = server.got("tools/call").into_iter().find(|call| call["id"] == tasks[n].id);
                if let Some(request) = sent.filter(|_| !closed) {
                    answered[n] = true;
                    server.say(text(&request, "x"));
                }
            }
            Act::Block => server.block(true),
            Act::Unblock => server.block(false),
            Act::Close => {
                closed = true;
                server.close();
            }
        }
    }
    while tasks.iter_mut().any(Task::poll_if_woken) {}
    for (task, answered) in tasks.iter().zip(answered) {
        assert!(task.call.is_none() || !(answered || closed), "{acts:?} leaves a call waiting");
        assert!(task.end.as_ref().is_none_or(|end| end.is_ok() || closed), "{acts:?}: {:?}", task.end);
    }
    let open = tasks.iter().filter(|task| task.call.is_some()).count();
    assert_eq!(client.open_requests(), open, "{acts:?}");
}
