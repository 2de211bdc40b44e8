//! The sample logs beside the recordings: what worlds in virtual time give, byte for byte. `REWRITE=1` writes them.

use crate::program::root;
use runloom::testing::{Attempt, Reading, Report, ScriptedTool, World};
use runloom_core::compaction::{Compaction, CompactionFault, CompactionPolicy};
use runloom_core::config::Config;
use runloom_core::host_input::HostAnswer;
use runloom_core::id::RunId;
use runloom_core::model::{Problem, ProblemKind};
use runloom_core::tool::{Access, ApprovalPolicy};
use std::time::Duration;

const fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A tool whose calls may overlap.
fn tool(name: &str) -> ScriptedTool {
    ScriptedTool::new(name).declared(|spec| spec.access(Access::Shared))
}

/// A failed attempt and its retry, two tools at the same time, a consent, and a cancel while two tools run.
fn journey() -> World {
    let void = Attempt::new()
        .open_after(ms(300))
        .text("Let me ")
        .wait(ms(200))
        .fail(Problem::new(ProblemKind::Overloaded, "too many requests at the moment"));
    let looks = Attempt::new()
        .open_after(ms(400))
        .text("I look at the weather ")
        .wait(ms(150))
        .text("and at the trains.")
        .wait(ms(100))
        .call("weather", r#"{"city":"Bergen"}"#)
        .call("trains", r#"{"from":"Oslo","to":"Bergen"}"#)
        .usage(812, 64);
    let books = Attempt::new()
        .open_after(ms(350))
        .text("It stays dry. <b>I would book the 8:25.</b>")
        .wait(ms(200))
        .call("book", r#"{"train":"8:25","note":"</script><script>alert(1)</script>"}"#)
        .usage(1_020, 48);
    let searches = Attempt::new()
        .open_after(ms(300))
        .call("hotels", r#"{"nights":2}"#)
        .call("museums", "{}")
        .usage(1_230, 31);
    World::new()
        .model(void)
        .model(looks)
        .model(books)
        .model(searches)
        .tool(
            &tool("weather")
                .wait(ms(500))
                .progress("asking the institute")
                .wait(ms(800))
                .output("dry, 14 °C"),
        )
        .tool(&tool("trains").wait(ms(900)).output("8:25, 12:03"))
        .tool(
            &tool("book").declared(|spec| spec.approval(ApprovalPolicy::Ask)).wait(ms(600)).output("booked"),
        )
        .tool(&tool("hotels").wait(ms(300)).progress("page 1").wait(ms(60_000)))
        .tool(&tool("museums").wait(ms(450)).output("closed on Mondays"))
        .answers("book", ms(1_700), HostAnswer::allow())
        .cancel_at(ms(7_600))
}

/// A reader that is slower than the model, a steer, boundary input, a compaction, a denied call; and an end.
fn long_answer() -> World {
    let config = Config::with(|limits| limits.event_capacity = 8).expect("a valid configuration");
    let policy = CompactionPolicy::after_messages(5).keep_messages(1);
    let streams = |text: &str, times: u32| {
        (0..times).fold(Attempt::new(), |attempt, _| attempt.wait(ms(20)).text(text))
    };
    World::new()
        .config(config.compaction(policy).expect("a valid policy"))
        .reader(Reading::Lagging { events: 8, every: ms(900) })
        .model(streams("The first part, word by word. ", 12).call("delete", r#"{"path":"notes"}"#))
        .model(streams("More of it. ", 20).call("count", "{}"))
        .model(streams("And the end. ", 9))
        .model("As you wish: shorter.")
        .tool(&tool("delete").declared(|spec| spec.approval(ApprovalPolicy::Decide)))
        .tool(&tool("count").wait(ms(250)).output("2,048 words"))
        .denies("delete", ms(40), "nothing is deleted here")
        .compacts(ms(150), Err(CompactionFault::new("the summary was cut short")))
        .compacts(ms(320), Ok(Compaction::summary("A text in two parts was written.")))
        .tells(ms(30), "The office closes in an hour.")
        .steer_at(ms(6_000), "shorter", "Please make it shorter.")
}

fn lines(run: &str, report: &Report) -> String {
    let run = RunId::new(run).expect("an id");
    report.events.iter().map(|envelope| envelope.to_json(&run) + "\n").collect()
}

#[test]
fn sample_logs_are_what_their_worlds_give() {
    for (name, world) in [("journey", journey()), ("long-answer", long_answer())] {
        let log = lines(name, &world.run());
        let path = root().join(format!("examples/recordings/{name}.jsonl"));
        if std::env::var_os("REWRITE").is_some_and(|value| value == "1") {
            std::fs::write(&path, &log).expect("the folder is writable");
        }
        let kept = std::fs::read_to_string(&path).expect("a log; REWRITE=1 writes it");
        assert!(kept == log, "{name}.jsonl is behind: run again with REWRITE=1 and review the difference");
    }
}
