//! What an agent's events cost from the emit to the reader.

use crate::Case;
use futures_lite::future::block_on;
use futures_lite::{StreamExt, pin};
use runloom::agui::server::{Agent, Result, RunContext, Runner, run};
use runloom::agui::{Event, RunAgentInput, RunOutcome};
use std::hint::black_box;

const EVENTS: u64 = 20_000;

/// One message of many pieces; waits for room before each one, or never.
struct Streams {
    waits: bool,
}

impl Agent for Streams {
    type State = ();

    async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
        let mut message = cx.assistant_message()?;
        for _ in 0..EVENTS {
            if self.waits {
                message.ready().await?;
            }
            message.delta("word and ")?;
        }
        message.end()?;
        Ok(RunOutcome::Success)
    }
}

/// The same by hand-made events, each waiting for room.
struct Sends;

impl Agent for Sends {
    type State = ();

    async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
        let id = cx.new_message_id();
        cx.emit(Event::text_message_start(&*id, Default::default()))?;
        for _ in 0..EVENTS {
            cx.send(Event::text_message_content(&*id, "word and ")).await?;
        }
        cx.emit(Event::text_message_end(id))?;
        Ok(RunOutcome::Success)
    }
}

struct Says;

impl Agent for Says {
    type State = ();

    async fn run(&self, cx: &mut RunContext<()>) -> Result<RunOutcome> {
        cx.say("hello")?;
        Ok(RunOutcome::Success)
    }
}

fn read(stream: impl futures_lite::Stream<Item = Result<Event>>) -> u64 {
    pin!(stream);
    block_on(async {
        let mut count = 0;
        while let Some(event) = stream.next().await {
            black_box(event.unwrap());
            count += 1;
        }
        count
    })
}

fn input() -> RunAgentInput {
    RunAgentInput::new("thread-1", "run-1")
}

fn case(name: &'static str, run: fn() -> u64) -> Case {
    Case { name, run: Box::new(run) }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("emit: one message, awaiting room", || read(run(Streams { waits: true }, input()))),
        case("emit: one message, not waiting", || read(run(Streams { waits: false }, input()))),
        case("emit: raw events by `send`", || read(run(Sends, input()))),
        case("emit: past a transformer", || {
            let pass = |event: Event, out: &mut Vec<Event>| out.push(event);
            read(Runner::new(Streams { waits: true }).transformer(pass).run(input()))
        }),
        case("emit: 4,000 runs of five events", || (0..4_000).map(|_| read(run(Says, input()))).sum()),
    ]
}
