//! One client on many threads.

use crate::wire::{Server, said, text};
use futures_lite::future::{block_on, poll_once};

#[test]
fn calls_on_many_threads_share_a_client() {
    let server = Server::new(|line| match line["method"].as_str() {
        Some("tools/call") => vec![text(line, line["params"]["arguments"]["n"].as_str().unwrap())],
        _ => Vec::new(),
    });
    let client = server.client();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..300 {
                    let n = format!("{thread}-{round}");
                    let mut call = client.call("t", &format!(r#"{{"n":"{n}"}}"#)).unwrap();
                    if round % 7 == 3 {
                        // Some are given up, in whatever state they are.
                        block_on(poll_once(&mut call));
                        continue;
                    }
                    assert_eq!(said(&block_on(call).unwrap()), n);
                }
            });
        }
    });
    assert_eq!(client.open_requests(), 0);
    assert_eq!(client.ignored().unknown, 0);
}

/// The answers come from a thread of their own, while the callers sleep.
#[test]
fn sleepers_are_woken_whoever_drives() {
    let server = Server::silent();
    let client = server.client();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|_| {
                let client = &client;
                scope.spawn(move || {
                    for _ in 0..100 {
                        assert_eq!(said(&block_on(client.call("t", "{}").unwrap()).unwrap()), "x");
                    }
                })
            })
            .collect();
        let mut answered = 0;
        while callers.iter().any(|caller| !caller.is_finished()) {
            let calls = server.got("tools/call");
            for call in &calls[answered..] {
                server.say(text(call, "x"));
            }
            answered = calls.len();
            std::thread::yield_now();
        }
    });
    assert_eq!(server.got("tools/call").len(), 400);
}
