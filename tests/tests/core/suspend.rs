//! Runs that are put aside and go on elsewhere: only text and the session's history cross (H6).

use crate::hand::*;
use runloom_core::config::{Config, Deadlines};
use runloom_core::event::{Envelope, Event};
use runloom_core::history::History;
use runloom_core::host_input::{HostAnswer, Question, RespondError, Shape};
use runloom_core::id::{CommandId, OpId, RequestId, Revision, RunId, SessionId};
use runloom_core::input::Respond;
use runloom_core::laws::{Checked, Depth};
use runloom_core::message::Part;
use runloom_core::model::{Finish, ModelSpec};
use runloom_core::outcome::RunResult;
use runloom_core::output::{Reply, Work};
use runloom_core::suspend::{NotSuspendable, Resume, Suspended};
use runloom_core::time::Time;
use runloom_core::tool::{ApprovalPolicy, ToolAsk, ToolEnd, ToolItem, ToolSpec};
use runloom_core::{Input, Output};
use std::sync::Arc;

/// What happens to a run from outside, step by step.
pub(crate) struct Story {
    pub(crate) hand: Hand,
    /// The events of all parts.
    pub(crate) events: Vec<Envelope>,
    pub(crate) config: Config,
    pub(crate) tools: Vec<ToolSpec>,
    /// At which points it is put aside, by a bit each.
    mask: u64,
    point: u32,
    /// How often it was, and how often it could not be.
    pub(crate) parts: u32,
    pub(crate) busy: u32,
    commands: u64,
}

impl Story {
    pub(crate) fn new(config: Config, tools: Vec<ToolSpec>) -> Self {
        let hand = Hand::begun(config.clone(), tools.clone()).quick();
        let (mask, point, parts, busy, commands) = (0, 0, 0, 0, 1_000);
        Self { hand, events: Vec::new(), config, tools, mask, point, parts, busy, commands }
    }

    fn putting_aside(mut self, mask: u64) -> Self {
        self.mask = mask;
        self
    }

    fn reply(&self) -> &Reply {
        let reply = self.hand.outputs.iter().rev().find_map(|output| match output {
            Output::Reply { command, reply } if *command == CommandId(self.commands) => Some(reply),
            _ => None,
        });
        reply.expect("a reply")
    }

    /// Puts the run aside.
    #[track_caller]
    pub(crate) fn suspend(&mut self) -> Result<Arc<Suspended>, NotSuspendable> {
        self.commands += 1;
        let command = CommandId(self.commands);
        self.hand.give(Input::Suspend { command });
        let Reply::Suspend(reply) = self.reply().clone() else { panic!("another reply") };
        reply.map(|()| match &self.hand.outcome().result {
            RunResult::Suspended(value) => Arc::clone(value),
            other => panic!("{other:?}"),
        })
    }

    pub(crate) fn resume_of(&self, json: &str) -> Resume {
        let value = Arc::new(Suspended::from_json(json).unwrap_or_else(|error| panic!("{error}\n{json}")));
        let (session, history) = (SessionId::new("s").unwrap(), History::default());
        let mut resume = Resume::new(value, session, Revision(7), history, Arc::new(ModelSpec::new("m")));
        resume.tools = self.tools.iter().cloned().map(Arc::new).collect();
        resume
    }

    /// Goes on in another engine, whose clock has begun at another time.
    #[track_caller]
    pub(crate) fn go_on(&mut self, resume: Resume) {
        self.parts += 1;
        let mut next = Hand::new(self.config.clone(), self.tools.clone()).quick();
        let run = RunId::new("r").unwrap();
        next.checked = Checked::new(run, Arc::new(self.config.clone())).depth(Depth::Seen);
        next.now = Time::from_secs(if self.parts % 2 == 1 { 1_000_000 } else { 3 });
        next.give(Input::Resume(Box::new(resume)));
        let before = std::mem::replace(&mut self.hand, next);
        self.events.extend(before.events);
    }

    /// A point at which the run may be put aside.
    #[track_caller]
    fn point(&mut self) {
        let wanted = self.mask >> self.point & 1 == 1;
        self.point += 1;
        if !wanted || !self.hand.is_live() {
            return;
        }
        match self.suspend() {
            Ok(value) => {
                let resume = self.resume_of(&value.to_json());
                self.go_on(resume);
            }
            Err(NotSuspendable { .. }) => self.busy += 1,
        }
    }

    #[track_caller]
    pub(crate) fn respond(&mut self, id: &str, answer: HostAnswer) -> Result<(), RespondError> {
        self.commands += 1;
        let (command, request) = (CommandId(self.commands), RequestId::new(id).unwrap());
        self.hand.give(Input::Respond(Box::new(Respond { command, request, answer })));
        match self.reply() {
            Reply::Respond(reply) => reply.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Tools that were begun in this part and not entered yet: each runs, with a point before, within and after.
    #[track_caller]
    fn run_tools(&mut self, known: &mut usize) {
        loop {
            let tools = self.hand.tools();
            let Some((ordinal, op)) = tools.get(*known).copied() else { return };
            *known += 1;
            self.point();
            self.hand.enter(op);
            self.point();
            self.hand.tool(op, self.end_of(ordinal, op));
            if !self.hand.is_live() {
                return;
            }
            let parts = self.parts;
            self.point();
            if self.parts != parts {
                *known = 0;
            }
        }
    }

    /// The tool `kept` returns with a question at first; what it gets back stands in its result.
    fn end_of(&self, ordinal: u32, op: OpId) -> ToolItem {
        let begun = self.hand.outputs.iter().find_map(|output| match output {
            Output::Begin { op: own, work: Work::Tool(invocation) } if *own == op => Some(invocation),
            _ => None,
        });
        let invocation = begun.expect("it was begun");
        match (&*invocation.call.name, &invocation.resumed) {
            ("kept", None) => {
                let question =
                    Question::value("how many?", Shape::Integer).id(RequestId::new("many").unwrap());
                let ask = ToolAsk { question: Arc::new(question), state: "half way".into() };
                ToolItem::Done(ToolEnd::Ask(Box::new(ask)))
            }
            ("kept", Some(resumed)) => output(&format!("{} {:?}", resumed.state, resumed.answer)),
            _ => output(&format!("{ordinal} ran with {}", invocation.call.arguments)),
        }
    }

    pub(crate) fn all(self) -> Vec<Envelope> {
        self.events.into_iter().chain(self.hand.events).collect()
    }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let mut asked = shared("asked");
    asked.approval = ApprovalPolicy::Ask;
    let mut client = shared("client");
    client.client = true;
    vec![shared("plain"), asked, client, shared("kept"), ToolSpec::new("last", "", "{}").unwrap()]
}

const IDS: [&str; 3] = ["1.1/1", "1.2/2", "many"];

fn answer(which: usize) -> HostAnswer {
    match which {
        0 => HostAnswer::allow_with("{\"edited\":true}"),
        1 => HostAnswer::Result(runloom_core::tool::ToolOutput::text("the client's own")),
        _ => HostAnswer::value("42"),
    }
}

/// A batch of five with three requests, answered in this order, up to the end of the run.
fn told(order: [usize; 3], mask: u64) -> Story {
    let mut story = Story::new(Config::default(), tools()).putting_aside(mask);
    story.hand.text("I do several things.");
    story.hand.usage(10, 5);
    story.hand.calls(["plain", "asked", "client", "kept", "last"]);
    let mut known = 0;
    story.point();
    story.run_tools(&mut known);
    for which in order {
        let parts = story.parts;
        story.point();
        if parts != story.parts {
            known = 0;
        }
        story.respond(IDS[which], answer(which)).unwrap();
        story.run_tools(&mut known);
    }
    story.hand.text("Done.");
    story.hand.usage(20, 7);
    story.hand.done(Finish::Stop);
    story
}

/// The events but for the two, without their numbers and times.
fn content(events: &[Envelope]) -> Vec<String> {
    let run = RunId::new("r").unwrap();
    let kept = events
        .iter()
        .filter(|envelope| !matches!(envelope.event, Event::RunSuspended { .. } | Event::RunResumed(_)));
    let content = kept.map(|envelope| {
        let mut json: serde_json::Value = serde_json::from_str(&envelope.to_json(&run)).unwrap();
        let members = json.as_object_mut().unwrap();
        members.remove("seq").unwrap();
        members.remove("at").unwrap();
        json.to_string()
    });
    content.collect()
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

// proves: H6, T6, H2
#[test]
fn put_aside_at_every_point_in_every_order_it_ends_as_if_it_had_not_been() {
    let mut parts = 0;
    for order in ORDERS {
        let whole = told(order, 0);
        assert_eq!(whole.parts, 0);
        let points = whole.point;
        let outcome = Arc::new(whole.hand.outcome().clone());
        let expected = content(&whole.all());
        let single = (0..points).map(|point| 1 << point);
        for mask in single.chain([u64::MAX, 0x5555_5555, 0x3333_3333_3333]) {
            let story = told(order, mask);
            let own = story.hand.outcome().clone();
            assert_eq!(own.history, outcome.history, "{order:?} {mask:b}");
            assert_eq!((own.usage, own.billed), (outcome.usage, outcome.billed));
            assert_eq!(own.revision, Revision(8));
            assert_eq!(
                story.parts + story.busy,
                if mask.count_ones() == 1 { 1 } else { story.parts + story.busy }
            );
            parts += story.parts;
            let (added, events) = (u64::from(story.parts) * 2, story.all());
            assert_eq!(content(&events), expected, "{order:?} {mask:b}");
            assert!(events.iter().map(|envelope| envelope.seq.0).eq(1..=events.len() as u64));
            assert_eq!(events.len() as u64, expected.len() as u64 + added);
        }
    }
    assert!(parts > 60, "it was put aside {parts} times");
}

// proves: H6
#[test]
fn a_run_that_does_anything_else_is_not_put_aside_and_says_which_calls() {
    let mut story = Story::new(Config::default(), tools());
    assert_eq!(story.suspend().unwrap_err(), NotSuspendable::default(), "the model answers");
    story.hand.calls(["plain", "asked"]);
    let (_, op) = story.hand.tools()[0];
    let refused = story.suspend().unwrap_err();
    assert_eq!(refused.to_string(), "the run does not wait for answers only: calls 1.0");
    story.hand.enter(op);
    assert_eq!(story.suspend().unwrap_err(), refused);
    story.hand.finish(op, "ran");
    let value = story.suspend().unwrap();
    assert_eq!(value.requests().count(), 1);
    assert_eq!(story.hand.outcome().revision, Revision(7), "nothing is committed");
    assert!(story.hand.outcome().history.is_empty());
    assert_eq!(story.respond("1.1/1", HostAnswer::allow()), Err(RespondError::NotAccepting));
}

// proves: H6, T6
#[test]
fn time_that_passes_while_a_run_is_put_aside_does_not_count() {
    let mut spans = Deadlines::default();
    (spans.host_input, spans.run) = (Some(seconds(10)), Some(seconds(15)));
    let config = Config::default().deadlines(spans).unwrap();
    let mut story = Story::new(config, tools());
    story.hand.at(1_000).calls(["asked", "client"]);
    story.hand.at(5_000);
    let json = story.suspend().unwrap().to_json();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["left_us"], 10_000_000);
    assert_eq!(value["calls"][0]["state"]["left_us"], 6_000_000);
    story.go_on(story.resume_of(&json));
    let start = story.hand.now.as_micros() / 1_000;
    story.hand.at(start + 5_999).wake(true);
    assert_eq!(story.hand.checked.run().requests().len(), 2);
    let again = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&again));
    let start = story.hand.now.as_micros() / 1_000;
    story.hand.at(start + 1).wake(false);
    assert_eq!(story.hand.checked.run().requests().len(), 0, "10 s over three parts");
    assert_eq!(story.hand.statuses(), [(0, "denied"), (1, "timed_out")]);
    story.hand.at(start + 4_000).wake(false);
    assert!(story.hand.is_live());
    story.hand.at(start + 4_001).wake(false);
    assert_eq!(*story.hand.error(), runloom_core::error::RunError::RunDeadline);
}

// proves: H1, H6
#[test]
fn what_falls_due_together_falls_in_the_order_in_which_it_was_asked() {
    let mut spans = Deadlines::default();
    spans.host_input = Some(seconds(10));
    let config = Config::default().deadlines(spans).unwrap();
    let told = |aside: bool| {
        let mut story = Story::new(config.clone(), tools());
        story.hand.calls(["kept", "asked"]);
        story.run_tools(&mut 0);
        let asked: Vec<_> = story.hand.checked.run().requests().iter().map(|r| r.id.to_string()).collect();
        assert_eq!(asked, ["1.1/1", "many"], "the second call asks first");
        if aside {
            let json = story.suspend().unwrap().to_json();
            story.go_on(story.resume_of(&json));
            let again: Vec<_> =
                story.hand.checked.run().requests().iter().map(|r| r.id.to_string()).collect();
            assert_eq!(again, asked);
        }
        let start = story.hand.now.as_micros() / 1_000;
        story.hand.at(start + 10_000).wake(false);
        content(&story.all())
    };
    assert_eq!(told(true), told(false));
}

// proves: H6, C4
#[test]
fn a_run_that_was_put_aside_can_be_cancelled_and_what_it_brought_is_committed() {
    let mut story = Story::new(Config::default(), tools());
    story.hand.calls(["plain", "asked", "client", "kept", "last"]);
    story.run_tools(&mut 0);
    let json = story.suspend().unwrap().to_json();
    let mut resume = story.resume_of(&json);
    resume.cancelled = true;
    resume.answerers.handle = false;
    resume.answerers.responder = true;
    story.go_on(resume);
    assert!(matches!(story.hand.outcome().result, RunResult::Cancelled(_)));
    assert!(!story.hand.outputs.iter().any(|output| matches!(output, Output::Begin { .. })));
    assert_eq!(
        story.hand.kinds(),
        [
            "run.resumed",
            "host_input.cancelled",
            "tool.finished",
            "host_input.cancelled",
            "tool.finished",
            "host_input.cancelled",
            "tool.finished",
            "tool.finished",
            "step.cancelled",
            "run.cancelled"
        ]
    );
    let unknown = "interrupted(outcome_unknown)";
    let not_started = "interrupted(not_started)";
    assert_eq!(story.hand.statuses(), [(1, not_started), (2, unknown), (3, unknown), (4, not_started)]);
    assert_eq!(story.hand.roles(), ["user", "assistant", "tool"]);
    assert_eq!(story.hand.outcome().revision, Revision(8));
}

// proves: H6, H1
#[test]
fn ids_of_earlier_parts_stay_used() {
    let mut story = Story::new(Config::default(), tools());
    story.hand.calls(["asked", "client", "client"]);
    story.respond("1.1/2", HostAnswer::Result(runloom_core::tool::ToolOutput::text("one"))).unwrap();
    let json = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&json));
    let again = story.respond("1.1/2", HostAnswer::allow()).unwrap_err();
    assert!(matches!(again, RespondError::AlreadyAnswered(_)));
    let json = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&json));
    assert!(matches!(story.respond("1.1/2", HostAnswer::allow()), Err(RespondError::AlreadyAnswered(_))));
    assert!(matches!(story.respond("1.9/9", HostAnswer::allow()), Err(RespondError::Unknown(_))));
    story.respond("1.2/3", HostAnswer::Result(runloom_core::tool::ToolOutput::text("two"))).unwrap();
    story.respond("1.0/1", HostAnswer::deny("no")).unwrap();
    assert_eq!(story.hand.statuses(), [(2, "success"), (0, "denied")]);
}

// proves: H6, M7
#[test]
fn a_place_that_a_repeated_call_left_empty_stays_empty() {
    let mut story = Story::new(Config::default(), tools());
    for (index, id, name) in [(0, "c0", "asked"), (1, "c0", "asked"), (2, "c1", "client")] {
        story.hand.delta(Some(index), id, name, "{}");
    }
    story.hand.done(Finish::ToolCalls);
    let ids: Vec<_> = story.hand.checked.run().requests().iter().map(|r| r.id.to_string()).collect();
    assert_eq!(ids, ["1.0/1", "1.2/2"]);
    let json = story.suspend().unwrap().to_json();
    story.go_on(story.resume_of(&json));
    let again: Vec<_> = story.hand.checked.run().requests().iter().map(|r| r.id.to_string()).collect();
    assert_eq!(again, ids);
}

/// A run whose source has nothing more to say, that goes on for the sake of an input, and is put aside.
fn collected() -> (Story, Arc<Suspended>) {
    let ask = ToolSpec::new("ask", "", "{}").unwrap().approval(ApprovalPolicy::Ask);
    let mut story = Story::new(Config::default(), vec![ask]);
    story.hand = Hand::new(story.config.clone(), story.tools.clone()).quick();
    story.hand.start.boundaries = true;
    story.hand.begin();
    story.hand.tells("");
    story.hand.text("that is it");
    story.hand.done(Finish::Stop);
    story.hand.steer_parts(None, vec![Part::Text("one".into())]).unwrap();
    assert!(!story.hand.tells(""));
    story.hand.calls(["ask"]);
    let value = story.suspend().unwrap();
    (story, value)
}

// proves: H3, H6
#[test]
fn the_inputs_of_all_parts_of_a_run_have_names_of_their_own() {
    let (mut story, value) = collected();
    let resume = story.resume_of(&value.to_json());
    story.go_on(resume);
    assert_eq!(story.hand.steer_parts(None, vec![Part::Text("two".into())]), Ok("steer-2".into()));
}

// proves: B3, H6
#[test]
fn a_source_that_has_nothing_more_to_say_is_not_asked_in_the_next_part_either() {
    let (mut story, value) = collected();
    let mut resume = story.resume_of(&value.to_json());
    resume.boundaries = true;
    resume.cancelled = false;
    story.go_on(resume);
    let request = story.hand.checked.run().requests()[0].id.clone();
    story.hand.give(Input::Respond(Box::new(Respond {
        command: CommandId(7),
        request,
        answer: HostAnswer::deny("no"),
    })));
    assert!(story.hand.asked().is_empty(), "{:?}", story.hand.asked());
    story.hand.text("done");
    story.hand.done(Finish::Stop);
    assert_eq!((story.hand.asked().len(), story.hand.answer()), (0, "done"));
}
