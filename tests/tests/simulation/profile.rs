//! What a simulated world is like: drawn first, so that a seed is a kind of world and not only a sequence of dice.

use runloom::testing::{Attempt, Random, Reading, ScriptedTool, World};
use runloom_core::config::{Config, Deadlines, Limits, RetryPolicy};
use runloom_core::id::CommandId;
use runloom_core::input::{AbortCause, Answerers, Input, Reader, Recover};
use runloom_core::message::{Image, ImageData, Part, ProviderContext};
use runloom_core::model::{Activity, CallDelta, FinalCall, Finish, ModelItem, Problem, ProblemKind};
use runloom_core::tool::{Access, ToolFault, ToolOutput};
use runloom_core::usage::{GenerationTokens, Usage};
use std::sync::Arc;
use std::time::Duration;

/// How likely things are in one world, in percent, and how large.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Attempts that fail in a way that may pass.
    pub(crate) failures: u64,
    /// Attempts that fail for good.
    pub(crate) permanent: u64,
    /// Items that break the stream union.
    pub(crate) malformed: u64,
    /// Attempts that say nothing for a long time.
    pub(crate) hanging: u64,
    /// Responses that ask for calls.
    pub(crate) calling: u64,
    /// Calls with a fault: unknown, unreadable, failing, panicking, hanging.
    pub(crate) faulty_calls: u64,
    /// The longest wait between items, in milliseconds.
    pub(crate) pace: u64,
    pub(crate) capacity: usize,
    pub(crate) reading: Reading,
    pub(crate) late: bool,
    /// The smallest limits, and the smallest log that they allow.
    pub(crate) tight: bool,
    /// The longest attempt, in items without its calls.
    pub(crate) items: u64,
    /// Something that ends the run from outside, and when.
    pub(crate) outside: Option<(u64, Input)>,
}

/// Another process goes on with the run.
fn recover(reader: Reader) -> Input {
    Input::Recover(Box::new(Recover::new(reader, Answerers::default())))
}

impl Profile {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut percent = |choices: &[u64]| *random.pick(choices);
        let (failures, permanent) = (percent(&[0, 10, 40, 90]), percent(&[0, 0, 5]));
        let (malformed, hanging) = (percent(&[0, 0, 2, 10]), percent(&[0, 0, 10, 50]));
        let (calling, faulty_calls) = (percent(&[0, 30, 60, 95]), percent(&[0, 20, 80]));
        let items = percent(&[2, 6, 60]);
        let pace = percent(&[0, 5, 400, 3_000]);
        let capacity = *random.pick(&[1, 2, 7, 64]);
        let every = Duration::from_millis(random.below(2_000));
        let events = 1 + random.below(100);
        let reading = *random.pick(&[
            Reading::AtOnce,
            Reading::Lagging { events: 1, every },
            Reading::Lagging { events, every },
            Reading::Never,
            Reading::Unattended,
        ]);
        let at = random.below(30_000);
        let ends = [
            Input::Cancel { command: CommandId(1) },
            Input::Abort(AbortCause::HandleDropped),
            Input::Abort(AbortCause::DriverDropped),
            Input::Abort(AbortCause::DriverPanicked),
            Input::Abort(AbortCause::Shutdown),
            Input::ConsumerGone { awaited: false },
            Input::ConsumerGone { awaited: true },
            recover(Reader::Primary),
            recover(Reader::Unattended),
        ];
        let outside = random.chance(50).then(|| (at, random.pick(&ends).clone()));
        let (late, tight) = (random.chance(30), random.chance(30));
        Self {
            failures,
            permanent,
            malformed,
            hanging,
            calling,
            faulty_calls,
            pace,
            capacity,
            reading,
            late,
            tight,
            items,
            outside,
        }
    }

    fn config(&self, random: &mut Random) -> Config {
        let mut limits = Limits::default();
        (limits.event_capacity, limits.calls, limits.parts) =
            (self.capacity, if self.tight { 1 } else { 8 }, 16);
        let responses: &[u64] = if self.tight { &[500] } else { &[500, 4_000, 1 << 20] };
        limits.response_bytes = *random.pick(responses);
        limits.argument_bytes = limits.response_bytes.min(1_000);
        limits.delta_bytes = limits.response_bytes.min(4_000);
        (limits.tool_output_bytes, limits.progress_bytes) = (300, 256);
        (limits.steps, limits.parallel_tools) = (1 + u32::try_from(random.below(5)).unwrap_or(0), 3);
        (limits.open_questions, limits.question_bytes, limits.answer_bytes) = (0, 256, 256);
        (limits.steers, limits.steer_bytes) = (0, 256);
        let roomy = Config::new(limits.clone()).expect("limits that fit");
        if self.tight {
            (limits.log_events, limits.log_bytes) = (roomy.min_log_events(), roomy.min_log_bytes());
        }
        let mut deadlines = Deadlines::default();
        let mut span = |most: u64| random.chance(50).then(|| Duration::from_millis(1 + random.below(most)));
        (deadlines.first_item, deadlines.idle) = (span(10_000), span(5_000));
        (deadlines.attempt, deadlines.model_call) = (span(30_000), span(60_000));
        (deadlines.tool, deadlines.run) = (span(10_000), span(100_000));
        let mut retry = RetryPolicy::default();
        retry.attempts = 1 + u32::try_from(random.below(4)).unwrap_or(0);
        let config = Config::new(limits).expect("the log is just large enough");
        config.deadlines(deadlines).and_then(|config| config.retry(retry)).expect("they are valid")
    }

    /// A world like this.
    pub(crate) fn world(&self, random: &mut Random) -> World {
        let mut world = World::new().config(self.config(random)).reader(self.reading);
        for _ in 0..24 {
            world = world.model(self.attempt(random));
        }
        for tool in self.tools(random) {
            world = world.tool(&tool);
        }
        let wait = Duration::from_millis(random.below(3_000));
        world = match random.below(4) {
            0 => world.denies("asks", wait, "no"),
            1 => world.mistakes("asks", wait),
            2 => world.ignores("asks"),
            _ => world.allows("asks", wait),
        };
        world = world.tools_start_after(Duration::from_millis(random.below(self.pace + 1)));
        if self.late {
            world = world.late_items();
        }
        match &self.outside {
            Some((at, input)) => world.at(Duration::from_millis(*at), input.clone()),
            None => world,
        }
    }

    fn wait(&self, random: &mut Random) -> Duration {
        Duration::from_millis(random.below(self.pace + 1))
    }

    fn attempt(&self, random: &mut Random) -> Attempt {
        let mut attempt = Attempt::new();
        let calls = if random.chance(self.calling) { 1 + random.below(4) } else { 0 };
        let hangs_at = random.chance(self.hanging).then(|| random.below(6));
        for at in 0..random.below(self.items) {
            if hangs_at == Some(at) {
                return attempt.hang();
            }
            attempt = attempt.wait(self.wait(random)).item(self.item(random));
        }
        for ordinal in 0..calls {
            attempt = self.call(attempt.wait(self.wait(random)), ordinal, random);
        }
        attempt = attempt.wait(self.wait(random));
        if random.chance(self.failures) {
            return attempt.fail(failure(random));
        }
        if random.chance(self.permanent) {
            return attempt.fail(Problem::new(ProblemKind::Permission, "not for you"));
        }
        let finishes =
            [Finish::Stop, Finish::Stop, Finish::ToolCalls, Finish::Length, Finish::Refusal, Finish::Pause];
        attempt.finish(*random.pick(&finishes))
    }

    fn item(&self, random: &mut Random) -> ModelItem {
        if random.chance(self.malformed) {
            return ModelItem::Text("x".repeat(5_000).into());
        }
        let words = ["a", "two words", "\u{1}\"escaped\"\n", "ünïcödé 😀", ""];
        let word = *random.pick(&words);
        let text = || word.into();
        match random.below(10) {
            0..4 => ModelItem::Text(text()),
            4 => ModelItem::Reasoning(text()),
            5 => ModelItem::ReasoningSummary(text()),
            6 => ModelItem::Usage(Box::new(Usage::new(random.below(100), random.below(100)))),
            7 => ModelItem::Activity(Box::new(activity(random))),
            8 => ModelItem::GenerationTokens(GenerationTokens::Reported(random.below(50))),
            _ => ModelItem::Context(Arc::new(ProviderContext {
                model: "scripted".into(),
                kind: "test.opaque".into(),
                payload: "signature".into(),
            })),
        }
    }

    /// One call: whole, or in pieces that may be cut.
    fn call(&self, attempt: Attempt, ordinal: u64, random: &mut Random) -> Attempt {
        let names = ["shared", "reads", "writes", "exclusive", "asks", "fatal"];
        let faulty = random.chance(self.faulty_calls);
        let name = if faulty && random.chance(20) { "unknown" } else { *random.pick(&names) };
        let arguments =
            if faulty && random.chance(20) { "{\"a\":" } else { *random.pick(&["{}", "", "{\"a\": 1}"]) };
        if random.chance(50) {
            let call = FinalCall { id: None, name: name.into(), arguments: arguments.into() };
            return attempt.item(ModelItem::Call(Box::new(call)));
        }
        let index = u32::try_from(ordinal).ok();
        let piece = |name: Option<&str>, arguments: &str| {
            let name = name.map(Into::into);
            ModelItem::CallDelta(Box::new(CallDelta { index, id: None, name, arguments: arguments.into() }))
        };
        let (head, tail) = arguments.split_at(arguments.len().min(1));
        attempt.item(piece(Some(name), head)).wait(self.wait(random)).item(piece(None, tail))
    }

    fn tools(&self, random: &mut Random) -> Vec<ScriptedTool> {
        let accesses = [
            ("shared", Access::Shared),
            ("reads", Access::resources([("db", false)])),
            ("writes", Access::resources([("db", true)])),
            ("exclusive", Access::Exclusive),
            ("asks", Access::Shared),
            ("fatal", Access::Shared),
        ];
        let mut tools = Vec::new();
        for (name, access) in accesses {
            let mut tool = ScriptedTool::new(name).declared(|spec| spec.access(access));
            tool = match name {
                "asks" => tool.declared(|spec| spec.needs_approval()),
                "fatal" => tool.declared(|spec| spec.fatal()),
                _ => tool,
            };
            for _ in 0..random.below(3) {
                tool = tool.wait(self.wait(random)).progress(&"p".repeat(random.below(400) as usize));
            }
            tool = tool.wait(self.wait(random));
            tools.push(if random.chance(self.faulty_calls) {
                faulty(tool, random)
            } else {
                tool.output("done")
            });
        }
        tools
    }
}

fn faulty(tool: ScriptedTool, random: &mut Random) -> ScriptedTool {
    let image = |bytes: usize| {
        let data = ImageData::Bytes(vec![7; bytes].into());
        Part::Image(Arc::new(Image { media_type: "image/png".into(), data }))
    };
    match random.below(7) {
        0 => tool.panic(),
        1 => tool.hang(),
        2 => tool.fault(ToolFault::new("broken").definitive()),
        3 => tool.returns(ToolOutput::error("no such row")),
        4 => tool.output(&"long ".repeat(200)),
        5 => tool.returns(ToolOutput::parts(vec![Part::Text("seen".into()), image(100)])),
        _ => tool.returns(ToolOutput::parts(vec![image(6 << 20)])),
    }
}

fn failure(random: &mut Random) -> Problem {
    let kinds = [
        ProblemKind::RateLimited,
        ProblemKind::Overloaded,
        ProblemKind::Server,
        ProblemKind::Connection,
        ProblemKind::Truncated,
    ];
    let hint = random.chance(40).then(|| Duration::from_millis(random.below(100_000)));
    Problem::new(*random.pick(&kinds), "a failure").status(503).retry_after(hint)
}

fn activity(random: &mut Random) -> Activity {
    match random.below(4) {
        0 => Activity::RequestRetry { kind: ProblemKind::Connection, delay: Duration::from_secs(1) },
        1 => Activity::WebSearch { detail: "weather".into() },
        2 => Activity::HostedTool { name: "code".into(), detail: "1 + 1".into() },
        _ => Activity::Diagnostic { name: "test.fact".into(), value: "1".into() },
    }
}
