//! Questions and answers: what can be asked, and which answer fits what was asked (H1, H2, T2).

use crate::hand::*;
use crate::people::{ask, asking, open};
use runloom_core::config::{Config, Limits};
use runloom_core::host_input::{
    AnswerError, Field, Form, HostAnswer, HostRequest, MAX_PROMPTS, MAX_SHAPE_DEPTH, Prompt, Question,
    QuestionError, Questionnaire, Refusal, Shape, ShapeError,
};
use runloom_core::id::OpId;
use runloom_core::message::Part;
use runloom_core::tool::{ApprovalPolicy, ToolOutput};
use std::sync::Arc;
use std::time::Duration;

/// An open request for this question.
fn request(question: Question) -> Arc<HostRequest> {
    let mut hand = asking();
    ask(&mut hand, 1, question);
    open(&hand).pop().expect("it was asked")
}

fn shaped(shape: Shape) -> Arc<HostRequest> {
    request(Question::value("?", shape))
}

fn value(request: &HostRequest, json: &str) -> Result<(), AnswerError> {
    HostAnswer::value(json).check(request, &Limits::default())
}

fn at(place: &str, expected: &'static str) -> Result<(), AnswerError> {
    Err(AnswerError::Shape { at: place.into(), expected })
}

fn field(name: &str, shape: Shape, required: bool) -> Field {
    Field { name: name.into(), shape, required }
}

// proves: H2
#[test]
fn a_value_has_the_shape_that_was_asked_for() {
    let good = [
        (Shape::Any, "null"),
        (Shape::Any, "[{}]"),
        (Shape::Boolean, "true"),
        (Shape::Number, "-1.5e3"),
        (Shape::Integer, "7"),
        (Shape::Integer, "7.0"),
        (Shape::Integer, "1e3"),
        (Shape::Integer, "18446744073709551615"),
        (Shape::Text, "\"\""),
        (Shape::one_of(["a", "b"]), "\"b\""),
        (Shape::list(Shape::Integer), "[]"),
        (Shape::list(Shape::Integer), " [1, 2] "),
        (Shape::object([]), "{}"),
    ];
    for (shape, json) in good {
        assert_eq!(value(&shaped(shape), json), Ok(()), "{json}");
    }
    let bad = [
        (Shape::Boolean, "1", "a boolean"),
        (Shape::Number, "\"1\"", "a number"),
        (Shape::Integer, "7.5", "an integer"),
        (Shape::Text, "null", "a text"),
        (Shape::one_of(["a"]), "\"A\"", "one of the offered texts"),
        (Shape::one_of(["a"]), "1", "one of the offered texts"),
        (Shape::list(Shape::Any), "{}", "a list"),
        (Shape::object([]), "[]", "an object"),
    ];
    for (shape, json, expected) in bad {
        assert_eq!(value(&shaped(shape), json), at("", expected), "{json}");
    }
    for json in ["", "{", "01", "nul", "1 2", "'a'"] {
        assert!(matches!(value(&shaped(Shape::Any), json), Err(AnswerError::NotJson(_))), "{json}");
    }
}

// proves: H2
#[test]
fn what_does_not_fit_is_named_by_its_place() {
    let inner = Shape::object([field("a/b", Shape::list(Shape::Integer), true)]);
    let shape = Shape::object([field("in", inner, true), field("note", Shape::Text, false)]);
    let asked = shaped(shape);
    assert_eq!(value(&asked, r#"{"in":{"a/b":[1]}}"#), Ok(()));
    assert_eq!(value(&asked, r#"{"in":{"a/b":[1,"x"]}}"#), at("/in/a~1b/1", "an integer"));
    assert_eq!(value(&asked, r#"{"in":{}}"#), Err(AnswerError::Missing("/in/a~1b".into())));
    assert_eq!(value(&asked, r#"{"note":""}"#), Err(AnswerError::Missing("/in".into())));
    let more = r#"{"in":{"a/b":[]},"x":1}"#;
    assert_eq!(value(&asked, more), Err(AnswerError::Unexpected("/x".into())));
    assert_eq!(value(&asked, r#"{"in":{"a/b":[]},"note":1}"#), at("/note", "a text"));
}

// proves: H2
#[test]
fn choices_are_those_that_were_offered() {
    let prompts = [
        Prompt::new("one", "").choices([("a", "A"), ("b", "")]),
        Prompt::new("some", "").choices([("a", ""), ("b", "")]).several().optional(),
        Prompt::new("free", "").optional(),
        Prompt::new("other", "").choices([("a", "")]).other().optional(),
    ];
    let asked = request(Question::questionnaire("", prompts));
    let check = |answers: &[(&str, &[&str])]| {
        let answers = answers.iter().map(|(id, values)| (*id, values.iter().copied()));
        HostAnswer::choices(answers).check(&asked, &Limits::default())
    };
    assert_eq!(check(&[("one", &["b"])]), Ok(()));
    assert_eq!(check(&[("other", &["x"]), ("some", &["b", "a"]), ("free", &["x"]), ("one", &["a"])]), Ok(()));
    assert_eq!(check(&[("some", &[]), ("one", &["a"])]), Ok(()));
    assert_eq!(check(&[]), Err(AnswerError::Missing("one".into())));
    assert_eq!(check(&[("one", &[])]), Err(AnswerError::Missing("one".into())));
    assert_eq!(check(&[("one", &["c"])]), Err(AnswerError::Unexpected("c".into())));
    assert_eq!(check(&[("two", &["a"])]), Err(AnswerError::Unexpected("two".into())));
    assert_eq!(check(&[("one", &["a"]), ("one", &["b"])]), Err(AnswerError::Twice("one".into())));
    assert_eq!(check(&[("one", &["a"]), ("some", &["a", "a"])]), Err(AnswerError::Twice("a".into())));
    assert_eq!(check(&[("one", &["a", "b"])]), Err(AnswerError::OnlyOne("one".into())));
    assert_eq!(check(&[("one", &["a"]), ("free", &["x", "y"])]), Err(AnswerError::OnlyOne("free".into())));
    let chosen = HostAnswer::choices([("one", ["a"])]);
    assert_eq!(chosen.chosen("one").map(|values| values[0].as_str()), Some("a"));
    assert_eq!(chosen.chosen("two"), None);
}

/// An open request of each kind: an approval, a questionnaire, a value, a call.
fn kinds() -> [Arc<HostRequest>; 4] {
    let mut approval = Hand::begun(Config::default(), [shared("t").approval(ApprovalPolicy::Ask)]);
    approval.calls(["t"]);
    let mut client = Hand::begun(Config::default(), [shared("t").client()]);
    client.calls(["t"]);
    let questionnaire = request(Question::questionnaire("", [Prompt::new("p", "")]));
    [open(&approval).remove(0), questionnaire, shaped(Shape::Any), open(&client).remove(0)]
}

// proves: H2, T2
#[test]
fn an_answer_is_of_the_requests_kind() {
    let refused = |refusal| HostAnswer::Refused(refusal);
    let answers = [
        (HostAnswer::allow(), "allow", [true, false, false, false]),
        (HostAnswer::deny("no"), "deny", [true, false, false, false]),
        (HostAnswer::choices([("p", ["x"])]), "choices", [false, true, false, false]),
        (HostAnswer::value("1"), "value", [false, false, true, false]),
        (HostAnswer::Result(ToolOutput::text("x")), "result", [false, false, false, true]),
        (refused(Refusal::Declined), "refused", [true; 4]),
        (refused(Refusal::Dismissed), "refused", [true; 4]),
    ];
    for (answer, kind, fits) in answers {
        for ((asked, fits), expected) in
            kinds().iter().zip(fits).zip(["approval", "question", "question", "call"])
        {
            let wrong = AnswerError::Kind { expected, found: kind };
            let wanted = if fits { Ok(()) } else { Err(wrong) };
            assert_eq!(answer.check(asked, &Limits::default()), wanted, "{kind} to {expected}");
        }
    }
}

// proves: H2, T2
#[test]
fn answers_to_approvals_and_calls_have_bounds() {
    let [approval, .., call] = kinds();
    let bounds = Limits::default();
    let always = HostAnswer::Allow { remember: true, arguments: Some("{}".into()) };
    assert_eq!(always.check(&approval, &bounds), Err(AnswerError::EditRemembered));
    for text in ["", "[]", "{", "{}{}", "\"{}\"", "{'a':1}"] {
        let edited = HostAnswer::allow_with(text);
        assert_eq!(edited.check(&approval, &bounds), Err(AnswerError::Arguments), "{text}");
    }
    assert_eq!(HostAnswer::allow_with(" {\"a\": 1} ").check(&approval, &bounds), Ok(()));
    let mut small = Limits::default();
    small.argument_bytes = 10;
    let edit =
        |n: usize| HostAnswer::allow_with(format!("{{{}}}", " ".repeat(n - 2))).check(&approval, &small);
    assert_eq!([edit(9), edit(10)], [Ok(()), Ok(())]);
    assert_eq!(edit(11), Err(AnswerError::TooLarge { limit: 10, observed: 11 }));
    let mut short = Limits::default();
    short.answer_bytes = 256;
    let reason = |n: usize| HostAnswer::deny("r".repeat(n)).check(&approval, &short);
    let beside = r#"{"decision":"deny","reason":""}"#.len();
    assert_eq!([reason(255 - beside), reason(256 - beside)], [Ok(()), Ok(())]);
    assert_eq!(reason(257 - beside), Err(AnswerError::TooLarge { limit: 256, observed: 257 }));
    let parts = |count: usize, bounds: &Limits| {
        HostAnswer::Result(ToolOutput::parts(vec![Part::Text("".into()); count])).check(&call, bounds)
    };
    let mut wide = Limits::default();
    wide.answer_bytes = 64 << 10;
    assert_eq!([parts(255, &wide), parts(256, &wide)], [Ok(()), Ok(())]);
    assert!(matches!(parts(257, &wide), Err(AnswerError::Result(_))));
    // Each part after the first takes 192 bytes of the bound.
    assert_eq!([parts(85, &bounds), parts(86, &bounds)], [Ok(()), Ok(())]);
    let over = AnswerError::TooLarge { limit: 16 << 10, observed: 86 * 192 };
    assert_eq!(parts(87, &bounds), Err(over));
}

// proves: H1
#[test]
fn what_cannot_be_asked_is_an_error() {
    let check = |question: Question| question.check(16 << 10, 16 << 10);
    let asked = |prompts: Vec<Prompt>| {
        check(Question::new(Form::Questionnaire(Questionnaire { title: "".into(), prompts })))
    };
    let prompts = |count: usize| (0..count).map(|n| Prompt::new(n.to_string(), "")).collect::<Vec<_>>();
    assert_eq!(asked(prompts(0)), Err(QuestionError::Prompts(0)));
    assert_eq!([asked(prompts(1)), asked(prompts(MAX_PROMPTS))], [Ok(()), Ok(())]);
    assert_eq!(asked(prompts(MAX_PROMPTS + 1)), Err(QuestionError::Prompts(MAX_PROMPTS + 1)));
    assert_eq!(asked(vec![Prompt::new("", "")]), Err(QuestionError::PromptId(0)));
    let twice = vec![Prompt::new("a", ""), Prompt::new("b", ""), Prompt::new("a", "")];
    assert_eq!(asked(twice), Err(QuestionError::PromptId(2)));
    let names: Vec<String> = (0..=MAX_PROMPTS).map(|n| n.to_string()).collect();
    let choosing = |count: usize| {
        let choices = names[..count].iter().map(|name| (name.as_str(), ""));
        asked(vec![Prompt::new("a", ""), Prompt::new("b", "").choices(choices)])
    };
    assert_eq!(choosing(MAX_PROMPTS), Ok(()));
    assert_eq!(choosing(MAX_PROMPTS + 1), Err(QuestionError::Choices(1)));
    let chosen =
        |choices: &[(&str, &str)]| asked(vec![Prompt::new("a", "").choices(choices.iter().copied())]);
    assert_eq!(chosen(&[("x", "1"), ("x", "2")]), Err(QuestionError::ChoiceValue(0)));
    assert_eq!(chosen(&[("", "1")]), Err(QuestionError::ChoiceValue(0)));
    let zero = Question::value("", Shape::Any).timeout(Duration::from_nanos(1));
    assert_eq!(check(zero), Err(QuestionError::Timeout));
    let unfit = Question::value("", Shape::Boolean).fallback(HostAnswer::value("1"));
    let why = AnswerError::Shape { at: "".into(), expected: "a boolean" };
    assert_eq!(check(unfit), Err(QuestionError::Fallback(why)));
    let refusing = Question::value("", Shape::Boolean).fallback(HostAnswer::Refused(Refusal::Declined));
    assert_eq!(check(refusing), Ok(()));
    let large =
        Question::value("", Shape::Text).fallback(HostAnswer::value(format!("\"{}\"", "x".repeat(300))));
    assert!(matches!(large.check(256, 256), Err(QuestionError::Fallback(AnswerError::TooLarge { .. }))));
}

// proves: H1
#[test]
fn shapes_are_finite_and_unambiguous() {
    let check = |shape: Shape| Question::value("", shape).check(1 << 20, 1 << 20);
    let nested = |depth: usize| (0..depth).fold(Shape::Any, |shape, _| Shape::list(shape));
    assert_eq!([check(nested(MAX_SHAPE_DEPTH - 1)), check(nested(MAX_SHAPE_DEPTH))], [Ok(()), Ok(())]);
    let deep = QuestionError::Shape(ShapeError::TooDeep);
    assert_eq!(check(nested(MAX_SHAPE_DEPTH + 1)), Err(deep.clone()));
    let inside = |shape| Shape::object([field("a", shape, false)]);
    assert_eq!(check(inside(nested(MAX_SHAPE_DEPTH))), Err(deep));
    assert_eq!(check(inside(Shape::one_of([]))), Err(QuestionError::Shape(ShapeError::NoChoice)));
    let two = Shape::object([
        field("a", Shape::Any, true),
        field("b", Shape::Any, true),
        field("a", Shape::Text, false),
    ]);
    let duplicate = QuestionError::Shape(ShapeError::Duplicate("a".into()));
    assert_eq!(check(Shape::list(two)), Err(duplicate));
    let shape = Shape::object([
        field("n", Shape::Integer, true),
        field("c", Shape::list(Shape::one_of(["x"])), false),
    ]);
    let schema: serde_json::Value = serde_json::from_str(&shape.to_schema()).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["n"]));
    assert_eq!(schema["properties"]["c"]["items"]["enum"], serde_json::json!(["x"]));
    assert_eq!(schema["additionalProperties"], serde_json::json!(false));
}

// proves: H2, M5
#[test]
fn errors_about_secrets_do_not_quote_them() {
    let mut hand = asking();
    ask(&mut hand, 1, Question::value("?", Shape::Integer).secret());
    let id = open(&hand)[0].id.clone();
    for json in ["\"hunter2\"", "hunter2", "{\"a\":\"hunter2\"}"] {
        let error = hand.respond(&id, HostAnswer::value(json)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    hand.respond(&id, HostAnswer::value("424242")).unwrap();
    let op = OpId(2);
    hand.finish(op, "done");
    for envelope in &hand.events {
        let shown = format!("{envelope:?} {}", envelope.to_json(hand.checked.run().log().run_id()));
        assert!(!shown.contains("424242"), "{shown}");
    }
}
