//! Requests to people: several at once in any order, once each, with all the ways in which they end (H1, H2, T2, R10).

use crate::hand::*;
use runloom_core::Input;
use runloom_core::config::Config;
use runloom_core::event::Event;
use runloom_core::host_input::{
    AnswerError, AnswerSource, AskError, HostAnswer, HostRequest, Prompt, Question, Refusal, RespondError,
    Shape,
};
use runloom_core::id::{CommandId, OpId, RequestId};
use runloom_core::input::{Answerers, Respond};
use runloom_core::message::{Image, ImageData, Part};
use runloom_core::model::Finish;
use runloom_core::output::{Output, Reply, Work};
use runloom_core::time::Time;
use runloom_core::tool::{Access, ApprovalPolicy, Approvals, Ask, ToolItem, ToolOutput, ToolSpec};
use std::sync::Arc;

/// The open requests.
pub(crate) fn open(hand: &Hand) -> Vec<Arc<HostRequest>> {
    hand.checked.run().requests().to_vec()
}

/// A run whose one tool, operation 2, runs and may ask.
pub(crate) fn asking() -> Hand {
    let mut hand = Hand::begun(Config::default(), [shared("t")]);
    hand.calls(["t"]);
    hand.enter(OpId(2));
    hand
}

/// Operation 2 asks.
pub(crate) fn ask(hand: &mut Hand, ticket: u64, question: Question) {
    let question = Arc::new(question);
    hand.tool(OpId(2), ToolItem::Ask(Box::new(Ask { ticket, question })));
}

fn text() -> Question {
    Question::value("?", Shape::Text)
}

impl Hand {
    #[track_caller]
    pub(crate) fn respond(&mut self, request: &RequestId, answer: HostAnswer) -> Result<(), RespondError> {
        let respond = Respond { command: CommandId(9), request: request.clone(), answer };
        self.give(Input::Respond(Box::new(respond)));
        match self.outputs.last() {
            Some(Output::Reply { reply: Reply::Respond(reply), .. }) => reply.clone(),
            other => panic!("no reply but {other:?}"),
        }
    }

    /// What was delivered to tools, in order.
    fn delivered(&self) -> Vec<(OpId, u64, Result<HostAnswer, AskError>)> {
        let delivered = |output: &Output| match output {
            Output::Deliver { op, ticket, answer } => Some((*op, *ticket, (**answer).clone())),
            _ => None,
        };
        self.outputs.iter().filter_map(delivered).collect()
    }

    fn sources(&self) -> Vec<(String, AnswerSource)> {
        let source = |event: &Event| match event {
            Event::HostInputAnswered(answered) => Some((answered.request.id.to_string(), answered.source)),
            _ => None,
        };
        self.events.iter().filter_map(|envelope| source(&envelope.event)).collect()
    }
}

fn person(name: &str) -> ToolSpec {
    shared(name).approval(ApprovalPolicy::Ask)
}

/// A response of calls with these arguments.
fn call_each(hand: &mut Hand, tool: &str, arguments: &[&str]) {
    for (at, arguments) in arguments.iter().enumerate() {
        hand.call(&format!("c{at}"), tool, arguments);
    }
    hand.done(Finish::ToolCalls);
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

// proves: T2, H1, H2
#[test]
fn approvals_are_answered_in_any_order_and_bind_to_their_call() {
    let mut histories = Vec::new();
    for order in ORDERS {
        let mut hand = Hand::begun(Config::default(), [person("t")]);
        call_each(&mut hand, "t", &["{\"n\":0}", "{\"n\":1}", "{\"n\":2}"]);
        let asked = open(&hand);
        for at in order {
            let answer = if at == 1 { HostAnswer::deny("no") } else { HostAnswer::allow() };
            hand.respond(&asked[at].id, answer.clone()).unwrap();
            assert_eq!(
                hand.respond(&asked[at].id, answer),
                Err(RespondError::AlreadyAnswered(asked[at].id.clone()))
            );
        }
        assert!(open(&hand).is_empty());
        for (ordinal, op) in hand.tools() {
            hand.runs(op, &format!("ran {ordinal}"));
        }
        hand.text("done");
        hand.done(Finish::Stop);
        histories.push(hand.outcome().history.clone());
        hand.replays();
    }
    assert!(
        histories.iter().all(|history| *history == histories[0]),
        "the order of answers shows in history"
    );
}

// proves: H1, H2
#[test]
fn questions_are_answered_in_any_order_each_to_its_asker() {
    for order in ORDERS {
        let mut hand = asking();
        (1..=3).for_each(|ticket| ask(&mut hand, ticket, text()));
        let asked = open(&hand);
        for at in order {
            hand.respond(&asked[at].id, HostAnswer::value(format!("\"{at}\""))).unwrap();
        }
        let got = hand.delivered();
        let wanted: Vec<_> = order
            .iter()
            .map(|at| (OpId(2), *at as u64 + 1, Ok(HostAnswer::value(format!("\"{at}\"")))))
            .collect();
        assert_eq!(got, wanted);
        hand.replays();
    }
}

// proves: H1
#[test]
fn whatever_is_wrong_with_a_question_only_its_tool_is_told() {
    let mut hand = Hand::begun(limits(|limits| limits.open_questions = 2), [shared("t")]);
    hand.calls(["t"]);
    hand.enter(OpId(2));
    let own = || RequestId::new("own").unwrap();
    ask(&mut hand, 1, text().id(own()));
    let events = hand.events.len();
    ask(&mut hand, 2, text().id(own()));
    ask(&mut hand, 3, Question::value("?", Shape::one_of([])));
    assert_eq!(hand.events.len(), events, "nothing is recorded");
    ask(&mut hand, 4, text().timeout(seconds(1)));
    ask(&mut hand, 5, text());
    hand.at(1_000).wake(false);
    hand.respond(&own(), HostAnswer::Refused(Refusal::Dismissed)).unwrap();
    hand.give(Input::HandleGone);
    ask(&mut hand, 6, text());
    let errors: Vec<_> =
        hand.delivered().into_iter().map(|(_, ticket, answer)| (ticket, answer.unwrap_err())).collect();
    assert_eq!(errors[0], (2, AskError::DuplicateId(own())));
    assert!(matches!(errors[1], (3, AskError::Invalid(_))));
    assert_eq!(errors[2], (5, AskError::TooMany { limit: 2 }));
    assert_eq!(errors[3], (4, AskError::TimedOut(seconds(1))));
    assert_eq!(errors[4], (1, AskError::Refused(Refusal::Dismissed)));
    assert_eq!(errors[5], (6, AskError::NoResponder));
    assert_eq!(errors.len(), 6);
    let names: Vec<&str> = errors.iter().map(|(_, error)| error.as_str()).collect();
    let wanted = ["duplicate_id", "invalid", "too_many", "timed_out", "refused", "no_responder"];
    assert_eq!(names, wanted);
}

// proves: H1
// bounds: questions of a batch
#[test]
fn a_batch_asks_so_many_questions_over_all() {
    let mut hand = Hand::begun(limits(|limits| limits.open_questions = 1), [shared("t")]).quick();
    hand.calls(["t"]);
    hand.enter(OpId(2));
    // 32 for each that may stand open, and two for each call.
    for ticket in 1..=34 {
        ask(&mut hand, ticket, text());
        let id = open(&hand).pop().expect("it is asked").id.clone();
        hand.respond(&id, HostAnswer::value("\"\"")).unwrap();
    }
    ask(&mut hand, 35, text());
    assert_eq!(hand.delivered().pop().unwrap().2, Err(AskError::TooMany { limit: 34 }));
}

// proves: H2
#[test]
fn an_answer_that_is_not_taken_says_why_and_changes_nothing() {
    let mut hand = asking();
    ask(&mut hand, 1, text());
    let id = open(&hand).remove(0).id.clone();
    let nobody = RequestId::new("nobody").unwrap();
    let events = hand.events.len();
    assert_eq!(hand.respond(&nobody, HostAnswer::allow()), Err(RespondError::Unknown(nobody.clone())));
    let invalid = hand.respond(&id, HostAnswer::allow());
    assert!(matches!(invalid, Err(RespondError::Invalid { .. })), "{invalid:?}");
    assert_eq!((hand.events.len(), open(&hand).len()), (events, 1));
    hand.tool(OpId(2), ToolItem::Withdraw(1));
    let answer = || HostAnswer::value("\"\"");
    assert_eq!(hand.respond(&id, answer()), Err(RespondError::RequesterGone(id.clone())));
    ask(&mut hand, 2, text());
    let second = open(&hand).remove(0).id.clone();
    hand.respond(&second, answer()).unwrap();
    assert_eq!(hand.respond(&second, answer()), Err(RespondError::AlreadyAnswered(second.clone())));
    ask(&mut hand, 3, text());
    let third = open(&hand).remove(0).id.clone();
    hand.cancel();
    assert_eq!(hand.respond(&third, answer()), Err(RespondError::NotAccepting));
    assert_eq!(hand.delivered().len(), 1, "exactly once");
}

/// What a run of one approval leaves to remember.
fn remembered(memory: Approvals, config: &Config, arguments: &str) -> (Approvals, bool) {
    let mut hand = Hand::new(config.clone(), [person("t")]);
    hand.start = hand.start.clone().approvals(memory);
    hand.begin();
    call_each(&mut hand, "t", &[arguments]);
    let asked = open(&hand).first().map(|request| request.id.clone());
    if let Some(id) = &asked {
        hand.respond(id, HostAnswer::allow_always()).unwrap();
    }
    hand.cancel();
    (hand.outcome().approvals.clone(), asked.is_some())
}

// proves: T2
// bounds: remembered consents
#[test]
fn the_memory_of_consents_is_bounded_and_forgets_the_oldest() {
    let config = limits(|limits| limits.approvals = 2);
    let mut memory = Approvals::default();
    let mut asked = Vec::new();
    // The third pushes out the first, which then pushes out the second.
    for arguments in
        ["{\"n\":1}", "{\"n\":2}", "{\"n\":1}", "{\"n\":3}", "{\"n\":2}", "{\"n\":1}", "{\"n\":2}"]
    {
        let (after, was_asked) = remembered(memory, &config, arguments);
        memory = after;
        assert!(memory.len() <= 2);
        asked.push(was_asked);
    }
    assert_eq!(asked, [true, true, false, true, false, true, true]);
    let none = limits(|limits| limits.approvals = 0);
    let (memory, _) = remembered(Approvals::default(), &none, "{}");
    assert!(memory.is_empty());
}

// proves: T2
#[test]
fn consent_is_exact_to_the_byte() {
    let config = Config::default();
    let (memory, _) = remembered(Approvals::default(), &config, "{\"a\":1}");
    for (arguments, asked) in
        [("{\"a\":1}", false), ("{\"a\": 1}", true), ("{\"a\":1.0}", true), ("{}", true)]
    {
        assert_eq!(remembered(memory.clone(), &config, arguments).1, asked, "{arguments}");
    }
}

// proves: H2
#[test]
fn of_handle_and_responder_the_first_is_heard() {
    let mut hand = Hand::new(Config::default(), [person("t")]);
    hand.start = hand.start.clone().answerers(Answerers { handle: true, responder: true });
    hand.begin();
    call_each(&mut hand, "t", &["{\"n\":0}", "{\"n\":1}"]);
    let asked = open(&hand);
    let responders: Vec<OpId> = hand
        .outputs
        .iter()
        .filter_map(|output| match output {
            Output::Begin { op, work: Work::Respond(_) } => Some(*op),
            _ => None,
        })
        .collect();
    hand.respond(&asked[0].id, HostAnswer::allow()).unwrap();
    assert_eq!(hand.abandoned(), [responders[0]]);
    let answer = Some(Box::new(HostAnswer::deny("no")));
    hand.give(Input::Responded { op: responders[0], answer: answer.clone() });
    hand.give(Input::Responded { op: responders[1], answer });
    let late = hand.respond(&asked[1].id, HostAnswer::allow());
    assert_eq!(late, Err(RespondError::AlreadyAnswered(asked[1].id.clone())));
    let heard = [AnswerSource::Handle, AnswerSource::Responder];
    assert_eq!(hand.sources().into_iter().map(|(_, source)| source).collect::<Vec<_>>(), heard);
    assert_eq!(hand.checked.run().ignored(), 1);
}

// proves: R10, H1
#[test]
fn the_clock_of_a_tool_stands_still_while_any_of_its_questions_is_open() {
    let mut hand = Hand::begun(deadlines(|deadlines| deadlines.tool = Some(seconds(3))), [shared("t")]);
    hand.calls(["t"]);
    hand.enter(OpId(2));
    hand.at(1_000);
    ask(&mut hand, 1, text());
    ask(&mut hand, 2, text());
    let asked = open(&hand);
    assert_eq!(hand.checked.next().unwrap().wake, None);
    hand.at(50_000).respond(&asked[0].id, HostAnswer::value("\"\"")).unwrap();
    assert_eq!(hand.checked.next().unwrap().wake, None, "one is open still");
    hand.at(90_000).tool(OpId(2), ToolItem::Withdraw(2));
    assert_eq!(hand.checked.next().unwrap().wake.map(|wake| wake.at), Some(Time::from_secs(92)));
    hand.at(91_999).wake(true);
    assert!(hand.statuses().is_empty());
    hand.at(92_000).wake(true);
    assert_eq!(hand.statuses(), [(0, "timed_out")]);
}

// proves: W6, L1
#[test]
fn all_fallbacks_at_once_stay_within_what_a_step_may_record() {
    let config = limits(|limits| {
        (limits.calls, limits.parts, limits.open_questions) = (1, 200, 128);
        (limits.response_bytes, limits.delta_bytes, limits.argument_bytes) = (1_000, 1_000, 1_000);
    });
    let mut hand = Hand::begun(config, [shared("t")]).quick();
    hand.calls(["t"]);
    hand.enter(OpId(2));
    let fallback = HostAnswer::value(format!("\"{}\"", "x".repeat(16_000)));
    for ticket in 0..128 {
        ask(&mut hand, ticket, text().timeout(seconds(1)).fallback(fallback.clone()));
    }
    hand.at(1_000).wake(false);
    assert_eq!(hand.delivered().len(), 128);
}

// proves: W6, H2
#[test]
fn clients_that_are_not_there_end_a_whole_batch_in_one_step() {
    let config = limits(|limits| {
        (limits.open_questions, limits.event_capacity) = (1, 1_000);
        (limits.response_bytes, limits.delta_bytes, limits.argument_bytes) = (10_000, 10_000, 1_000);
    });
    let mut hand = Hand::new(config, [shared("t").client()]).quick();
    hand.start = hand.start.clone().answerers(Answerers { handle: false, responder: false });
    hand.begin();
    hand.calls(["t"; 128]);
    assert_eq!(hand.statuses().len(), 128);
    assert!(hand.statuses().iter().all(|(_, status)| *status == "failure"));
}

/// W3: a time that is up as soon as a request is asked falls in the same step, also where the end of one request brings
/// the next.
// proves: W3, R10
#[test]
fn requests_without_any_time_fall_one_after_the_other_in_one_step() {
    let tool = ToolSpec::new("c", "", "{}").unwrap().client().deadline(std::time::Duration::ZERO);
    let mut hand = Hand::begun(Config::default(), [tool]);
    hand.calls(["c", "c", "c"]);
    assert_eq!(hand.statuses(), [(0, "timed_out"), (1, "timed_out"), (2, "timed_out")]);
}

/// T2: the result of a call that ran with other arguments says so, however the call ended.
// proves: T2
#[test]
fn an_edited_call_that_runs_out_of_time_says_what_ran() {
    let tool = person("t").deadline(seconds(5));
    let mut hand = Hand::begun(Config::default(), [tool]);
    hand.calls(["t"]);
    let request = open(&hand).remove(0);
    hand.respond(&request.id, HostAnswer::allow_with(r#"{"n":2}"#)).unwrap();
    let (op, _) = hand.begun_last();
    hand.enter(op);
    hand.at(5_000).wake(true);
    assert_eq!(hand.statuses(), [(0, "timed_out")]);
    let ended = |event: &Event| match event {
        Event::ToolFinished(result) => Some(format!("{:?}", result.content)),
        _ => None,
    };
    let result = hand.events.iter().find_map(|envelope| ended(&envelope.event)).unwrap();
    assert!(result.contains(r#"{\"n\":2}"#), "{result}");
}

/// M5: an error about an answer to a secret question does not repeat the answer.
// proves: M5, H2
#[test]
fn errors_about_answers_do_not_repeat_what_people_wrote() {
    let prompt = Prompt::new("which", "?").choices([("a", "")]).several();
    let mut hand = asking();
    ask(&mut hand, 1, Question::questionnaire("?", [prompt]).secret());
    let request = open(&hand).remove(0);
    for values in [vec!["hunter2"], vec!["a", "hunter2", "hunter2"]] {
        let error = hand.respond(&request.id, HostAnswer::choices([("which", values.clone())])).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains("(secret)") && !text.contains("hunter2"), "{text}");
    }
}

/// L1, E13, T5: the log has room for whatever answers may bring while nobody reads, results of many images included:
/// these count towards the bound of an answer.
// proves: L1, E13, T5
#[test]
fn what_clients_answer_while_nobody_reads_has_room_in_the_least_log() {
    let sizes = |log: u64| {
        limits(|l| {
            (l.calls, l.open_questions, l.parallel_tools, l.event_capacity) = (64, 1, 1, 4);
            (l.response_bytes, l.argument_bytes, l.event_capacity_bytes) = (16 << 10, 15 << 10, 4 << 10);
            (l.tool_output_bytes, l.input_bytes, l.delta_bytes, l.steers) = (4 << 10, 4 << 10, 4 << 10, 0);
            (l.payload_bytes, l.log_bytes) = (80 << 10, log);
        })
    };
    let media_type: runloom_core::text::Text = format!("image/{}", "x".repeat(58)).as_str().into();
    let image = Part::Image(Arc::new(Image { media_type, data: ImageData::Bytes([1][..].into()) }));
    let result = |text: usize, images: usize| {
        let text = Part::Text("x".repeat(text).as_str().into());
        let parts = core::iter::once(text).chain(core::iter::repeat_n(image.clone(), images));
        HostAnswer::Result(ToolOutput::parts(parts.collect::<Vec<_>>()))
    };
    let edited = format!(r#"{{"n":"{}"}}"#, "x".repeat(15_000));
    for (text, images) in [(16 << 10, 0), ((16 << 10) - 192 * 85, 85)] {
        let tool = ToolSpec::new("c", "", "{}").unwrap().client().access(Access::Shared);
        let least = sizes(16 << 20).min_log_bytes();
        let mut hand = Hand::begun_unread(sizes(least), [tool.approval(ApprovalPolicy::Ask)]).quick();
        hand.calls(["c"; 64]);
        for request in open(&hand) {
            hand.respond(&request.id, HostAnswer::allow_with(edited.as_str())).unwrap();
        }
        for request in open(&hand) {
            let larger = hand.respond(&request.id, result(text + 1, images)).unwrap_err();
            let too_large = AnswerError::TooLarge { limit: 16 << 10, observed: (16 << 10) + 1 };
            assert!(matches!(larger, RespondError::Invalid { error, .. } if error == too_large));
            hand.respond(&request.id, result(text, images)).unwrap();
        }
        assert!(hand.statuses().iter().all(|(_, status)| *status == "success"));
    }
}
