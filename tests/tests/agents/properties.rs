//! Random agents: whatever they do, their stream is well-formed and has one end.

use crate::kit::{agent_with, lines, quietly, well_formed};
use futures_lite::StreamExt;
use futures_lite::future::{pending, yield_now};
use runloom::Local;
use runloom::agui::server::{Error, Result, RunContext, RunStream, Runner, StopPolicy};
use runloom::agui::{Event, EventType, Interrupt, RunAgentInput, RunOutcome, TextRole, TokenUsage};
use runloom::testing::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What an agent and its surroundings are chosen by.
#[derive(Clone)]
struct Dice(Rc<RefCell<Random>>);

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        self.0.borrow_mut().below(sides)
    }

    fn id(&self) -> String {
        format!("id{}", self.roll(4))
    }
}

/// State that is long enough for a delta to be shorter.
#[derive(serde::Serialize, serde::Deserialize)]
struct Board {
    count: u64,
    note: String,
}

impl Default for Board {
    fn default() -> Self {
        Self { count: 0, note: "a note ".repeat(20) }
    }
}

/// Any event, most of them wrong somewhere.
fn any_event(dice: &Dice) -> Event {
    let id = dice.id();
    let mut event = match dice.roll(26) {
        0 => Event::text_message_start(id, TextRole::Assistant),
        1 => Event::text_message_content(id, "x"),
        2 => Event::text_message_end(id),
        3 => Event::text_message_chunk(Some(id), "x"),
        4 => Event::text_message_chunk(None, "x"),
        5 => Event::tool_call_start(id, "f"),
        6 => Event::tool_call_args(id, "{"),
        7 => Event::tool_call_end(id),
        8 => Event::tool_call_chunk(Some(id), Some("f".into()), "{"),
        9 => Event::tool_call_result(format!("m-{id}"), id, "ok"),
        10 => Event::step_started(id),
        11 => Event::step_finished(id),
        12 => Event::reasoning_start(id),
        13 => Event::reasoning_message_start(id),
        14 => Event::reasoning_message_end(id),
        15 => Event::reasoning_end(id),
        16 => Event::subagent_started(id, "s"),
        17 => Event::subagent_finished(id, None),
        18 => Event::subagent_error(id, "no", None),
        19 => Event::state_snapshot(dice.roll(9)),
        20 => Event::custom("acme.x", 1),
        21 => Event::messages_snapshot(Vec::new()),
        22 => Event::reasoning_message_chunk(Some(id), "x"),
        23 if dice.roll(8) == 0 => Event::run_finished("t", "r", None),
        24 if dice.roll(8) == 0 => Event::run_error("no", None),
        25 if dice.roll(8) == 0 => Event::run_started("t", "r"),
        _ => Event::raw(1),
    };
    if dice.roll(6) == 0
        && let Some(owner) = event.subagent_run_id_mut()
    {
        *owner = Some(dice.id());
    }
    event
}

/// One act of an agent; an error leaves by `?`, unless it is passed over.
async fn act(cx: &mut RunContext<Board>, dice: &Dice, depth: u64) -> Result<()> {
    match dice.roll(22) {
        0 => drop(cx.say("hi")?),
        1 => drop(cx.think("hm")?),
        2 => {
            let mut message = cx.message(TextRole::User)?;
            message.delta("a")?;
            if dice.roll(2) == 0 {
                message.emit(any_event(dice))?;
            }
            message.delta("b")?;
            if dice.roll(2) == 0 {
                message.end()?;
            }
        }
        3 => {
            let mut reasoning = cx.reasoning()?;
            reasoning.delta("a")?;
            reasoning.state_mut().count += 1;
        }
        4 => {
            let mut call = cx.tool_call("f")?;
            call.args("{}")?;
            if dice.roll(2) == 0 {
                call.result("ok")?;
            }
        }
        5 | 6 if depth < 4 => {
            let mut step = cx.step(dice.id())?;
            Box::pin(acts(&mut step, dice, depth + 1)).await?;
        }
        7 | 8 if depth < 4 => {
            let mut subagent = cx.subagent("s")?;
            Box::pin(acts(&mut subagent, dice, depth + 1)).await?;
            match dice.roll(4) {
                0 => subagent.finish()?,
                1 => subagent.suspend([])?,
                2 => subagent.fail("no")?,
                _ => drop(subagent),
            }
        }
        9..=12 => {
            // Refused more often than not; the agent passes over it.
            let _ = cx.emit(any_event(dice));
        }
        13 => cx.emit(any_event(dice))?,
        14 => cx.state_mut().count += 1,
        15 => cx.update_state(|board| board.count += 1)?,
        16 => yield_now().await,
        17 => cx.ready().await?,
        18 => cx.send(Event::custom("acme.y", 2)).await?,
        19 => cx.add_usage(TokenUsage { input_tokens: Some(1), ..TokenUsage::default() }),
        20 if dice.roll(4) == 0 => match dice.roll(6) {
            0 => panic!("on purpose"),
            1 => cx.cancel_token().cancel(),
            2 => pending::<()>().await,
            3 => return Err(Error::agent("no")),
            4 => std::mem::forget(cx.step("forgotten")?),
            _ => std::mem::forget(cx.subagent("forgotten")?),
        },
        _ => drop(cx.activity("plan", &serde_json::json!({"n": dice.roll(9)}))?),
    }
    Ok(())
}

async fn acts(cx: &mut RunContext<Board>, dice: &Dice, depth: u64) -> Result<()> {
    for _ in 0..dice.roll(7) {
        act(cx, dice, depth).await?;
    }
    Ok(())
}

fn runner(dice: &Dice) -> RunStream<Local> {
    let own = dice.clone();
    let random = agent_with::<Board, _>(async move |cx: &mut RunContext<Board>| {
        acts(cx, &own, 0).await?;
        Ok(match own.roll(8) {
            0 => RunOutcome::Cancelled,
            1 => RunOutcome::Interrupt((0..own.roll(3)).map(|_| Interrupt::new(own.id(), "why")).collect()),
            2 => RunOutcome::SuccessWithPendingToolCalls(vec![own.id()]),
            _ => RunOutcome::Success,
        })
    });
    let mut runner = Runner::new(random)
        .event_buffer_capacity(NonZeroUsize::new(1 + dice.roll(6) as usize).unwrap())
        .most_unread(3 + dice.roll(40) as usize, 1 << 20)
        .strict(dice.roll(4) == 0)
        .close_open(dice.roll(3) == 0)
        .echo_input(dice.roll(3) == 0);
    runner = match dice.roll(4) {
        0 => runner.stop_policy(StopPolicy::Finish),
        1 => runner.stop_policy(StopPolicy::Fail),
        _ => runner,
    };
    if dice.roll(3) == 0 {
        // It drops, doubles and makes up events.
        let mut random = Random::new(dice.roll(1 << 32));
        runner = runner.transformer(move |event: Event, out: &mut Vec<Event>| match random.below(24) {
            0 => {}
            1 => out.extend([event.clone(), event]),
            2 => out.extend([Event::custom("acme.z", 1), event]),
            3 if event.event_type() == EventType::Custom => panic!("on purpose"),
            _ => out.push(event),
        });
    }
    let mut input = RunAgentInput::new("t", "r");
    input.protocol_version = (dice.roll(2) == 0).then(|| "1.1".into());
    input.state = (dice.roll(3) == 0)
        .then(|| if dice.roll(4) == 0 { "odd".into() } else { serde_json::json!({"count": 7, "note": ""}) });
    runner.run_local(input)
}

/// Reads a run to its end, stopping it from outside where it waits for nothing.
fn read(mut stream: RunStream<Local>, dice: &Dice) -> Vec<Event> {
    let token = stream.cancellation_token();
    let mut cx = Context::from_waker(Waker::noop());
    let (mut all, mut idle) = (Vec::new(), 0);
    loop {
        if dice.roll(60) == 0 {
            token.cancel();
        }
        match stream.poll_next(&mut cx).map(|event| event.map(|event| event.unwrap())) {
            Poll::Ready(Some(event)) => all.push(event),
            Poll::Ready(None) => return all,
            Poll::Pending => {
                idle += 1;
                if idle > 50 {
                    token.cancel();
                }
                assert!(idle < 100, "the run goes on after it was stopped:\n{}", lines(&all));
            }
        }
    }
}

// proves: V1, V3, V4, V6, V8
#[test]
fn every_stream_of_a_random_agent_is_well_formed() {
    let runs: u64 = std::env::var("RUNLOOM_AGENTS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(3_000);
    let mut reached: BTreeMap<String, u64> = BTreeMap::new();
    quietly(|| {
        for seed in 0..runs {
            let dice = Dice(Rc::new(RefCell::new(Random::new(seed))));
            let all = read(runner(&dice), &dice);
            let checked = std::panic::catch_unwind(|| well_formed(&all, &RunAgentInput::new("t", "r")));
            assert!(checked.is_ok(), "seed {seed}:\n{}", lines(&all));
            let end: serde_json::Value = serde_json::from_str(&all.last().unwrap().encode()).unwrap();
            let word = |name: &str| end[name].as_str().or(end["outcome"]["type"].as_str()).map(str::to_owned);
            *reached
                .entry(word("code").unwrap_or_else(|| "an end of the agent's own".into()))
                .or_default() += 1;
            for event in &all {
                *reached.entry(event.event_type().as_str().to_owned()).or_default() += 1;
            }
        }
    });
    // What was never reached was not tried.
    for wanted in [
        "AGENT_ERROR",
        "CANCELLED",
        "PROTOCOL",
        "PROTOCOL_VIOLATION",
        "SERIALIZATION",
        "QUEUE_FULL",
        "success",
        "interrupt",
        "cancelled",
        "SUBAGENT_ERROR",
        "SUBAGENT_FINISHED",
        "STATE_DELTA",
        "STATE_SNAPSHOT",
        "TEXT_MESSAGE_CHUNK",
        "TOOL_CALL_RESULT",
        "ACTIVITY_SNAPSHOT",
        "REASONING_END",
        "STEP_FINISHED",
    ] {
        assert!(reached.get(wanted).is_some_and(|times| *times > 0), "{wanted}: {reached:?}");
    }
}
