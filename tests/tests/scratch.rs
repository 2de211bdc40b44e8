//! scratch
use runloom_core::config::*;
use runloom_core::error::*;
use runloom_core::history::*;
use runloom_core::id::*;
use runloom_core::input::*;
use runloom_core::laws::*;
use runloom_core::message::*;
use runloom_core::model::*;
use runloom_core::output::*;
use runloom_core::time::*;
use runloom_core::tool::*;
use std::sync::Arc;
use std::time::Duration;

fn start(tools: Vec<ToolSpec>) -> Input {
    let s = Start::new(
        SessionId::new("s".repeat(256)).unwrap(),
        Revision(0),
        History::default(),
        vec![Part::Text("x".into())],
        Arc::new(ModelSpec::new("m".repeat(300))),
    );
    let tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
    Input::Start(Box::new(s.tools(tools)))
}
fn run(config: Config) -> Checked {
    Checked::new(RunId::new("r".repeat(256)).unwrap(), Arc::new(config)).depth(Depth::Whole)
}
fn model(op: u64, item: ModelItem) -> Input {
    Input::Model { op: OpId(op), item }
}
fn take(c: &Checked) -> Input {
    Input::Taken { through: c.run().log().last_seq() }
}

#[test]
fn w6_delta_pieces() {
    let mut l = Limits::default();
    (l.calls, l.parts) = (1, 3);
    (l.response_bytes, l.delta_bytes, l.argument_bytes, l.tool_output_bytes) = (2400, 16, 2400, 256);
    let mut c = run(Config::new(l).unwrap());
    c.step(Time::ZERO, start(vec![])).unwrap();
    let r = c.step(Time::ZERO, model(1, ModelItem::Text("\u{1}".repeat(400).as_str().into())));
    println!("W6 {:?}", r.err());
}

#[test]
fn many_attempts_evict() {
    let mut l = Limits::default();
    (l.calls, l.parts, l.event_capacity) = (1, 3, 1);
    (l.response_bytes, l.delta_bytes, l.argument_bytes, l.tool_output_bytes) = (2400, 2400, 2400, 256);
    let c0 = Config::new(l.clone()).unwrap();
    (l.log_events, l.log_bytes) = (c0.min_log_events(), c0.min_log_bytes());
    let mut d = Deadlines::default();
    d.attempt = Some(Duration::from_millis(1));
    let mut r = RetryPolicy::default();
    r.attempts = 1000;
    r.first_wait = Duration::from_millis(1);
    let mut c = run(Config::new(l).unwrap().deadlines(d).unwrap().retry(r).unwrap());
    let mut next = c.step(Time::ZERO, start(vec![])).unwrap().answer.unwrap();
    for i in 0..200 {
        let Some(w) = next.wake else { break };
        match c.step(w.at, Input::Wake { quiet: true }) {
            Ok(s) => next = s.answer.unwrap(),
            Err(e) => {
                println!("EVICT after {i} wakes: {e}");
                return;
            }
        }
    }
    println!("EVICT none");
}

#[test]
fn closing_event_size() {
    let mut c = run(Config::default());
    c.step(Time::ZERO, start(vec![ToolSpec::new("t".repeat(64), "", "{}").unwrap()])).unwrap();
    let d = FinalCall {
        id: Some("i".repeat(256).as_str().into()),
        name: "n".repeat(256).as_str().into(),
        arguments: "{}".into(),
    };
    c.step(Time::ZERO, model(1, ModelItem::Call(Box::new(d)))).unwrap();
    c.step(Time::MAX, Input::Cancel { command: CommandId(1) }).unwrap();
    for e in c.run().log().iter() {
        let len = e.to_json(c.run().log().run_id()).len();
        if len > 900 {
            println!("CLOSING {} {} bytes", e.event.kind().as_str(), len);
        }
    }
}

#[test]
fn merged_duplicates() {
    let mut c = run(Config::default());
    c.step(Time::ZERO, start(vec![])).unwrap();
    let d = |index, id: &str, name: &str| {
        ModelItem::CallDelta(Box::new(CallDelta {
            index: Some(index),
            id: Some(id.into()),
            name: Some(name.into()),
            arguments: "{}".into(),
        }))
    };
    c.step(Time::ZERO, model(1, d(0, "x", "a"))).unwrap();
    c.step(Time::ZERO, model(1, d(1, "x", "a"))).unwrap();
    c.step(Time::ZERO, model(1, d(2, "y", "b"))).unwrap();
    let r =
        c.step(Time::ZERO, model(1, ModelItem::Done(Box::new(Completion::new(Some(Finish::ToolCalls), "")))));
    println!("MERGED {:?}", r.err());
}

#[test]
fn oversized_context_position() {
    let mut l = Limits::default();
    (l.response_bytes, l.delta_bytes, l.argument_bytes) = (1000, 1000, 1000);
    let mut c = run(Config::new(l).unwrap());
    c.step(Time::ZERO, start(vec![])).unwrap();
    let ctx =
        ProviderContext { model: "m".into(), kind: "k".into(), payload: "p".repeat(1001).as_str().into() };
    let r = c.step(Time::ZERO, model(1, ModelItem::Context(Arc::new(ctx))));
    println!("CTX {:?}", r.err());
    for e in c.run().log().iter() {
        println!("CTX {}", e.to_json(c.run().log().run_id()).replace(&"r".repeat(256), "r"));
    }
}

#[test]
fn duplicate_done_is_late() {
    let mut c = run(Config::default());
    c.step(Time::ZERO, start(vec![ToolSpec::new("t", "", "{}").unwrap()])).unwrap();
    let d = FinalCall { id: None, name: "t".into(), arguments: "{}".into() };
    c.step(Time::ZERO, model(1, ModelItem::Call(Box::new(d)))).unwrap();
    c.step(Time::ZERO, model(1, ModelItem::Done(Box::new(Completion::new(Some(Finish::ToolCalls), "")))))
        .unwrap();
    c.step(Time::ZERO, Input::Tool { op: OpId(2), item: ToolItem::Started }).unwrap();
    let done = || ToolItem::Done(Box::new(ToolEnd::Output(ToolOutput::text("1"))));
    c.step(Time::ZERO, Input::Tool { op: OpId(2), item: done() }).unwrap();
    c.step(Time::ZERO, Input::Tool { op: OpId(2), item: done() }).unwrap();
    c.step(Time::ZERO, Input::Tool { op: OpId(1), item: done() }).unwrap();
    println!("LATE {:?}", c.run().late());
    let mut c = run(Config::default());
    c.step(Time::ZERO, start(vec![])).unwrap();
    println!("PANIC before start");
    let c = run(Config::default());
    println!("{:?}", c.survives_panic());
    let mut r = runloom_core::Run::new(RunId::new("r").unwrap(), Arc::new(Config::default()));
    let mut o = Outbox::new();
    r.close_after_panic(&mut o);
    println!("PANIC outcome {:?} {:?}", r.outcome().is_some(), r.step(Time::ZERO, start(vec![]), &mut o));
}

#[test]
fn bytes_overrun_with_images() {
    let mut l = Limits::default();
    (l.calls, l.parts) = (1, 256);
    (l.response_bytes, l.delta_bytes, l.argument_bytes, l.tool_output_bytes) = (2400, 2400, 2400, 256);
    let mut c = match Config::new({
        l.payload_bytes = 40_000;
        l
    }) {
        Ok(c) => run(c),
        Err(e) => {
            println!("IMG refused {e}");
            return;
        }
    };
    c.step(Time::ZERO, start(vec![ToolSpec::new("t", "", "{}").unwrap()])).unwrap();
    let d = FinalCall { id: None, name: "t".into(), arguments: "{}".into() };
    c.step(Time::ZERO, model(1, ModelItem::Call(Box::new(d)))).unwrap();
    c.step(Time::ZERO, model(1, ModelItem::Done(Box::new(Completion::new(Some(Finish::ToolCalls), "")))))
        .unwrap();
    c.step(Time::ZERO, Input::Tool { op: OpId(2), item: ToolItem::Started }).unwrap();
    let img = || {
        Part::Image(Arc::new(Image {
            media_type: "m".repeat(100).as_str().into(),
            data: ImageData::Bytes(vec![1u8; 100].into()),
        }))
    };
    let out = ToolOutput::parts((0..256).map(|_| img()).collect());
    let r =
        c.step(Time::ZERO, Input::Tool { op: OpId(2), item: ToolItem::Done(Box::new(ToolEnd::Output(out))) });
    println!("IMG {:?}", r.err());
    let _ = take(&c);
    for e in c.run().log().iter() {
        let len = e.to_json(c.run().log().run_id()).len();
        if len > 10_000 {
            println!("IMG {} {len}", e.event.kind().as_str());
        }
    }
}
#[test]
fn run_failed_size() {
    let c = Config::default().limits_pointer(&"l".repeat(300));
    let mut c = run(c);
    c.step(Time::MAX, start(vec![])).unwrap();
    let p = Problem::new(ProblemKind::RateLimited, &"e".repeat(5000))
        .retry_after(Some(Duration::from_secs(1_000_000)))
        .status(429);
    c.step(Time::MAX, model(1, ModelItem::Failed(Box::new(p)))).unwrap();
    for e in c.run().log().iter() {
        let len = e.to_json(c.run().log().run_id()).len();
        println!("CLOSING {} {} bytes", e.event.kind().as_str(), len);
    }
}
