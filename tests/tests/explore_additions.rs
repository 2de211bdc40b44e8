//! Every interleaving of what is added while a run is under way: steers and retractions, boundary inputs, compactions;
//! each with a cancel anywhere, with resets, and at the last step. Nothing that was accepted is ever lost: the laws
//! demand after each step that it is applied or returned (H5), and the verifier demands the order of E4.

use runloom::testing::{Attempt, Explore, Explored, Reading, ScriptedTool, World};
use runloom_core::compaction::{Compaction, CompactionFault, CompactionPolicy};
use runloom_core::config::{Config, Deadlines, Limits};
use runloom_core::history::{History, HistoryBounds};
use runloom_core::id::{MessageId, Revision, SessionId, SteerId};
use runloom_core::input::{Input, Start};
use runloom_core::laws::{Checked, Depth};
use runloom_core::message::{Message, MessageBounds, Part, Role};
use runloom_core::model::{Finish, ModelItem, ModelSpec, Problem, ProblemKind, SteeringItem};
use runloom_core::tool::Access;
use std::sync::Arc;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn config(change: impl FnOnce(&mut Limits)) -> Config {
    let mut deadlines = Deadlines::default();
    (deadlines.first_item, deadlines.idle, deadlines.compaction) = (None, None, None);
    Config::with(change).and_then(|config| config.deadlines(deadlines)).expect("a valid configuration")
}

fn world() -> World {
    World::new().config(config(|_| {})).depth(Depth::Whole)
}

fn tool(name: &str) -> ScriptedTool {
    ScriptedTool::new(name).declared(|spec| spec.access(Access::Shared)).output("1")
}

fn claim() -> ModelItem {
    ModelItem::Steering(Box::new(SteeringItem::Claim))
}

fn delivered(id: &str) -> ModelItem {
    ModelItem::Steering(Box::new(SteeringItem::Delivered(SteerId::new(id).expect("an id"))))
}

/// Each input that was accepted is in the history once, or is returned once, and a retracted one is nowhere.
fn nothing_is_lost(run: &Checked) -> Result<(), String> {
    let outcome = run.run().outcome().ok_or("the run stalled")?;
    if outcome.history.open_calls() > 0 {
        return Err("the history is not at rest".into());
    }
    let asked: Vec<String> = run
        .inputs()
        .iter()
        .filter_map(|(_, input)| match input {
            Input::Steer(steer) => steer.id.as_ref().map(|id| id.as_str().to_owned()),
            _ => None,
        })
        .collect();
    for id in asked {
        let text = Part::Text(format!("steer {id}").as_str().into());
        let applied = outcome.history.iter().filter(|message| message.parts().contains(&text)).count();
        let returned = outcome.unapplied.iter().filter(|steer| steer.id.as_str() == id).count();
        if applied + returned > 1 {
            return Err(format!("{id} is applied {applied} times and returned {returned} times"));
        }
    }
    Ok(())
}

#[track_caller]
fn explored(name: &str, world: &World) -> Explored {
    let seen = Explore::new(world).run(nothing_is_lost).unwrap_or_else(|error| panic!("{name}: {error}"));
    println!("{name}: {} sequences, {} steps, {:?}", seen.sequences, seen.steps, seen.endings);
    seen
}

fn has(seen: &Explored, endings: &[&str]) {
    for ending in endings {
        assert!(seen.endings.contains_key(*ending), "{ending} is not among {:?}", seen.endings);
    }
}

// proves: H3, H5
#[test]
fn steer_retract_and_cancel_at_every_point_of_two_steps() {
    let case = world()
        .model(Attempt::new().call("a", "{}"))
        .model("one")
        .model("two")
        .model("three")
        .tool(&tool("a"))
        .steer_at(NOW, "a", "steer a")
        .retract_at(NOW, "a")
        .cancel_at(NOW);
    has(&explored("steer, retract, cancel", &case), &["completed end_turn", "cancelled requested"]);
}

// proves: H4, H5
#[test]
fn steers_that_a_model_takes_and_a_reset_and_a_cancel() {
    let failing =
        Attempt::new().item(claim()).item(delivered("a")).fail(Problem::new(ProblemKind::Server, ""));
    let case = world()
        .model(failing)
        .model(Attempt::new().item(claim()).item(delivered("a")).text("one"))
        .model("two")
        .model("three")
        .steer_at(NOW, "a", "steer a")
        .retract_at(NOW, "a")
        .cancel_at(NOW);
    has(&explored("claims and a reset", &case), &["completed end_turn", "cancelled requested"]);
}

// proves: H5
#[test]
fn steers_at_the_last_step_are_returned() {
    let case = World::new()
        .config(config(|limits| limits.steps = 2))
        .depth(Depth::Whole)
        .model("one")
        .model(Attempt::new().text("two").finish(Finish::Pause))
        .steer_at(NOW, "a", "steer a")
        .steer_at(NOW, "b", "steer b")
        .retract_at(NOW, "b")
        .cancel_at(NOW);
    has(&explored("last step", &case), &["completed end_turn", "completed max_steps", "cancelled requested"]);
}

// proves: B2, B3, B4, B6
#[test]
fn boundary_replies_with_a_cancel_and_a_steer_anywhere() {
    let case = world()
        .model(Attempt::new().call("a", "{}"))
        .model("one")
        .model("two")
        .tool(&tool("a"))
        .tells(NOW, "")
        .tells(NOW, "notice")
        .tells(NOW, "at completion")
        .steer_at(NOW, "a", "steer a")
        .cancel_at(NOW);
    // A steer may take the script's last answer: then the model has no more to say.
    has(&explored("boundary", &case), &["completed end_turn", "cancelled requested"]);
}

// proves: B4, B6, C9
#[test]
fn boundary_replies_with_a_source_and_a_reader_that_go() {
    let lost = world().model("one").tells(NOW, "notice").source_goes(NOW).cancel_at(NOW);
    has(&explored("source goes", &lost), &["failed boundary_lost", "cancelled requested"]);
    let gone = world()
        .model("one")
        .model("two")
        .tells(NOW, "notice")
        .tells(NOW, "at completion")
        .reader(Reading::Never)
        .at(NOW, Input::ConsumerGone { awaited: false })
        .steer_at(NOW, "a", "steer a")
        .cancel_at(NOW);
    has(&explored("reader goes", &gone), &["failed consumer_gone", "cancelled requested"]);
}

/// A start with a history of so many messages.
fn with_history(messages: usize) -> Start {
    let bounds = MessageBounds { parts: 1, text: u64::MAX, image: 0 };
    let message = |at: usize| {
        let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let text = format!("{at}: words enough that a summary of one word is shorter than all of them");
        let id = MessageId::new(format!("old-{at}").as_str()).expect("an id");
        Message::new(id, role, vec![Part::Text(text.as_str().into())], &bounds).expect("a message")
    };
    let history = History::from_messages(HistoryBounds::default(), (0..messages).map(message));
    let session = SessionId::new("session").expect("an id");
    let input = vec![Part::Text("hello".into())];
    let model = Arc::new(ModelSpec::new("scripted"));
    Start::new(session, Revision(0), history.expect("a history"), input, model)
}

fn compacting(policy: CompactionPolicy) -> World {
    let config = config(|_| {}).compaction(policy).expect("a valid policy");
    World::new().config(config).depth(Depth::Whole).start(with_history(4))
}

// proves: K1, K4, E4, E11
#[test]
fn compactions_with_a_cancel_and_a_steer_anywhere() {
    let case = compacting(CompactionPolicy::after_messages(3).keep_messages(1))
        .model(Attempt::new().call("a", "{}"))
        .model("one")
        .model("two")
        .tool(&tool("a"))
        .compacts(NOW, Err(CompactionFault::new("no")))
        .compacts(NOW, Ok(Compaction::summary("brief")))
        .tells(NOW, "notice")
        .steer_at(NOW, "a", "steer a")
        .cancel_at(NOW);
    has(&explored("compaction", &case), &["completed end_turn", "cancelled requested"]);
}

// proves: K5, R1, E11
#[test]
fn an_overflow_with_a_cancel_a_steer_and_a_reader_that_goes() {
    let overflow =
        || Attempt::new().item(claim()).text("x").fail(Problem::new(ProblemKind::ContextOverflow, ""));
    let case = compacting(CompactionPolicy::default().keep_messages(1))
        .model(overflow())
        .model("one")
        .model("two")
        .compacts(NOW, Ok(Compaction::summary("brief")))
        .reader(Reading::Never)
        .steer_at(NOW, "a", "steer a")
        .at(NOW, Input::ConsumerGone { awaited: false })
        .cancel_at(NOW);
    let seen = explored("overflow", &case);
    has(&seen, &["failed consumer_gone", "cancelled requested"]);
    let twice = compacting(CompactionPolicy::default().keep_messages(1))
        .model(overflow())
        .model(overflow())
        .compacts(NOW, Ok(Compaction::summary("brief")))
        .steer_at(NOW, "a", "steer a")
        .cancel_at(NOW);
    has(&explored("overflow twice", &twice), &["failed context_overflow", "cancelled requested"]);
}
