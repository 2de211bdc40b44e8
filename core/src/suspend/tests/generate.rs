//! Suspended runs of every form, from a seed.

use crate::host_input::{
    AskError, Choice, Field, Form, HostAnswer, HostRequest, Prompt, Question, Questionnaire, Refusal,
    RequestKind, Shape,
};
use crate::id::{CallRef, MessageId, RequestId, Revision, RunId, Seq, SessionId, SteerId};
use crate::message::{
    Image, ImageData, Message, Part, ProviderContext, Role, ToolCall, ToolResult, ToolStatus,
};
use crate::saved::Additions;
use crate::suspend::{AppliedSteer, Suspended, SuspendedCall, SuspendedState};
use crate::text::Text;
use crate::time::MAX_EXACT;
use crate::tool::{Access, Binding, Resource, ToolOutput};
use crate::usage::Usage;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

/// Numbers without a pattern that matters (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.coin() { Some(make(self)) } else { None }
    }

    fn some<T>(&mut self, most: u64, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    pub(crate) fn text(&mut self) -> Text {
        const PIECES: [&str; 10] = [
            "",
            "a",
            "\"\\/",
            "\u{0}\n\t",
            "é\u{2028}",
            "😀",
            "{\"a\":[1]}",
            "a longer text of many bytes",
            "\u{7f}",
            "~1",
        ];
        let pieces = self.some(3, |dice| PIECES[dice.below(10) as usize]);
        Text::new(&pieces.concat())
    }

    pub(crate) fn number(&mut self) -> u64 {
        [0, 1, 7, 1 << 32, MAX_EXACT][self.below(5) as usize]
    }

    fn span(&mut self) -> Duration {
        Duration::from_micros(self.number().max(1))
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.some(40, |dice| u8::try_from(dice.below(256)).unwrap())
    }
}

fn image(dice: &mut Dice) -> Part {
    let data = if dice.coin() {
        ImageData::Bytes(dice.bytes().into())
    } else {
        ImageData::Url("https://x/é?\"".into())
    };
    Part::Image(Arc::new(Image { media_type: "image/png".into(), data }))
}

fn content(dice: &mut Dice) -> Arc<[Part]> {
    dice.some(3, |dice| if dice.coin() { Part::Text(dice.text()) } else { image(dice) }).into()
}

fn status(dice: &mut Dice) -> ToolStatus {
    use ToolStatus as S;
    [
        S::Success,
        S::Failure,
        S::Denied,
        S::Unavailable,
        S::InvalidArguments,
        S::TimedOut,
        S::Panicked,
        S::InterruptedNotStarted,
        S::InterruptedOutcomeUnknown,
    ][dice.below(9) as usize]
}

fn call(dice: &mut Dice, step: u32, ordinal: u32) -> Arc<ToolCall> {
    let arguments = ["", "null", "{}", " {\"a\" : 1.50e3}", "{\"é\":\"\\u00e9\"}"][dice.below(5) as usize];
    let id = format!("c{ordinal}");
    let call = CallRef { step, ordinal };
    Arc::new(ToolCall { call, id: id.into(), name: "tool".into(), arguments: arguments.into() })
}

fn result(dice: &mut Dice, call: &ToolCall) -> Arc<ToolResult> {
    let (id, name) = (call.id.clone(), call.name.clone());
    Arc::new(ToolResult { call: call.call, id, name, status: status(dice), content: content(dice) })
}

fn shape(dice: &mut Dice, depth: u32) -> Shape {
    match dice.below(if depth < 4 { 8 } else { 6 }) {
        0 => Shape::Any,
        1 => Shape::Boolean,
        2 => Shape::Number,
        3 => Shape::Integer,
        4 => Shape::Text,
        5 => Shape::OneOf([dice.text(), "b".into()].into()),
        6 => Shape::List(Box::new(shape(dice, depth + 1))),
        _ => {
            let mut n = 0;
            Shape::Object(dice.some(3, |dice| {
                n += 1;
                let name = format!("{}{n}", dice.text());
                Field { name: name.into(), shape: shape(dice, depth + 1), required: dice.coin() }
            }))
        }
    }
}

fn prompts(dice: &mut Dice) -> Vec<Prompt> {
    let prompt = |dice: &mut Dice, n: u64| Prompt {
        id: format!("p{n}").into(),
        text: dice.text(),
        choices: (0..dice.below(3))
            .map(|n| Choice { value: format!("v{n}").into(), label: dice.text() })
            .collect(),
        several: dice.coin(),
        other: dice.coin(),
        required: dice.coin(),
    };
    (0..=dice.below(3)).map(|n| prompt(dice, n)).collect()
}

fn question(dice: &mut Dice, id: &RequestId) -> Arc<Question> {
    let form = if dice.coin() {
        Form::Questionnaire(Questionnaire { title: dice.text(), prompts: prompts(dice) })
    } else {
        Form::Value { prompt: dice.text(), shape: shape(dice, 0) }
    };
    let mut question = Question::new(form);
    question.id = dice.maybe(|_| id.clone());
    question.timeout = dice.maybe(Dice::span);
    question.fallback = match (&question.form, dice.below(3)) {
        (Form::Value { shape: Shape::Any, .. }, 0) => Some(HostAnswer::value("[1.0]")),
        (_, 1) => Some(HostAnswer::Refused(Refusal::Declined)),
        _ => None,
    };
    question.secret = dice.coin();
    Arc::new(question)
}

/// Any answer, also one that no question takes.
pub(crate) fn answer(dice: &mut Dice) -> HostAnswer {
    match dice.below(6) {
        0 => HostAnswer::Allow { remember: dice.coin(), arguments: dice.maybe(Dice::text) },
        1 => HostAnswer::Deny { reason: dice.text() },
        2 => HostAnswer::Choices(
            dice.some(3, |dice| (dice.text(), Arc::from(dice.some(3, Dice::text)))).into(),
        ),
        3 => HostAnswer::Value(dice.text()),
        4 => HostAnswer::Result(ToolOutput { content: content(dice), is_error: dice.coin() }),
        _ => HostAnswer::Refused(if dice.coin() { Refusal::Declined } else { Refusal::Dismissed }),
    }
}

fn access(dice: &mut Dice) -> Access {
    match dice.below(3) {
        0 => Access::Exclusive,
        1 => Access::Shared,
        _ => Access::Resources(
            dice.some(3, |dice| Resource { name: dice.text(), writes: dice.coin(), tree: dice.coin() })
                .into(),
        ),
    }
}

fn answered(dice: &mut Dice) -> Result<HostAnswer, AskError> {
    match dice.below(6) {
        0 => Ok(HostAnswer::Value("1.50".into())),
        1 => Ok(HostAnswer::choices([("p", ["é"])])),
        2 => Err(AskError::NoResponder),
        3 => Err(AskError::TimedOut(dice.span())),
        4 => Err(AskError::Refused(Refusal::Dismissed)),
        _ => Err(AskError::Gone),
    }
}

fn waiting(dice: &mut Dice, call: &Arc<ToolCall>, edited: Option<&Text>, kind: u64) -> SuspendedState {
    let order = call.call.ordinal;
    let id = RequestId::of_call(call.call, order);
    let (kind, state, own) = match kind {
        0 => (
            RequestKind::Approval { binding: Binding::of(call), reason: dice.text() },
            None,
            Arc::clone(call),
        ),
        1 => (RequestKind::Question(question(dice, &id)), Some(dice.text()), Arc::clone(call)),
        _ => {
            let edit = |text: &Text| Arc::new(ToolCall { arguments: text.clone(), ..(**call).clone() });
            (RequestKind::Call, None, edited.map_or_else(|| Arc::clone(call), edit))
        }
    };
    let timeout = dice.maybe(Dice::span);
    let request = Arc::new(HostRequest { id, call: own, kind, timeout });
    SuspendedState::Waiting { request, left: dice.maybe(Dice::span), state, order }
}

/// A call in a state; the first one always waits.
fn suspended_call(dice: &mut Dice, call: &Arc<ToolCall>) -> SuspendedCall {
    let kind = if call.call.ordinal == 0 { dice.below(3) } else { dice.below(6) };
    let edited = if kind == 0 { None } else { dice.maybe(|_| Text::from(" {\"edited\":1}")) };
    let (started, state) = match kind {
        0 => (false, waiting(dice, call, edited.as_ref(), kind)),
        1 | 2 => (true, waiting(dice, call, edited.as_ref(), kind)),
        3 => (dice.coin(), SuspendedState::Done(result(dice, call))),
        4 => (false, SuspendedState::Queued),
        _ => (true, SuspendedState::Answered { state: dice.text(), answer: answered(dice) }),
    };
    SuspendedCall { call: Arc::clone(call), edited, access: dice.maybe(access), started, state }
}

fn message(run: &RunId, n: u32, role: Role, parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message::trusted(MessageId::of_run(run, n), role, parts.into()))
}

/// The messages of one step: a response with calls, and where it is over its results.
fn tail(dice: &mut Dice, run: &RunId, steps: u32) -> (Vec<Arc<Message>>, Vec<Arc<ToolCall>>) {
    let mut tail = Vec::new();
    let input = [Part::Text(dice.text()), image(dice)].into();
    tail.push(message(run, 1, Role::User, input));
    let mut last = Vec::new();
    for step in 1..=steps {
        let calls: Vec<_> =
            (0..=dice.below(6)).map(|at| call(dice, step, u32::try_from(at).unwrap())).collect();
        let payload = Arc::from("{\"thinking\": \"…\",  \"n\":1e2}");
        let context = ProviderContext { model: "m".into(), kind: "k".into(), payload };
        let mut parts = Vec::from([Part::Context(Arc::new(context)), Part::Text(dice.text())]);
        parts.extend(calls.iter().cloned().map(Part::ToolCall));
        tail.push(message(run, 2 * step, Role::Assistant, parts));
        if step < steps {
            let results = calls.iter().map(|call| Part::ToolResult(result(dice, call))).collect();
            tail.push(message(run, 2 * step + 1, Role::Tool, results));
        }
        last = calls;
    }
    (tail, last)
}

fn usage(dice: &mut Dice) -> Usage {
    Usage {
        input_tokens: dice.maybe(Dice::number),
        output_tokens: dice.maybe(Dice::number),
        cache_read_tokens: dice.maybe(Dice::number),
        cache_write_tokens: dice.maybe(Dice::number),
        reasoning_tokens: dice.maybe(Dice::number),
    }
}

/// A suspended run, whole in itself.
pub(crate) fn suspended(seed: u64) -> Suspended {
    let dice = &mut Dice(seed);
    let run = RunId::new("run-é").unwrap();
    let step = u32::try_from(1 + dice.below(3)).unwrap();
    let (tail, calls) = tail(dice, &run, step);
    // The first of the tail is the run's input, and any may have been added by people.
    let said = tail.iter().position(|message| message.role() == Role::User);
    let mut applied = vec![AppliedSteer { id: SteerId::new("steer-1").unwrap(), at: None }];
    applied.extend(said.map(|at| AppliedSteer { id: SteerId::new("é").unwrap(), at: Some(at as u32) }));
    Suspended {
        applied: if dice.coin() { applied } else { Vec::new() },
        session: SessionId::new("s").unwrap(),
        revision: Revision(dice.number()),
        model: dice.text(),
        seq: Seq(1_000),
        end: MAX_EXACT,
        step,
        ops: dice.number(),
        messages: u32::try_from(tail.len()).unwrap(),
        invalid_turns: 2,
        usage: usage(dice),
        billed: usage(dice),
        left: dice.maybe(Dice::span),
        base: dice.number(),
        answer: dice.text(),
        calls: calls.iter().map(|call| suspended_call(dice, call)).collect(),
        used: (0..dice.below(3)).map(|n| RequestId::new(format!("used {n}")).unwrap()).collect(),
        asked: 9,
        steers: 3,
        collected: true,
        visibility: dice.some(2, |dice| (dice.text(), dice.coin())),
        additions: Additions::default(),
        tail,
        run,
    }
}
