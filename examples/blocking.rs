//! A run without async and without an engine: `Run::step` by hand, over blocking sockets, in one thread.
//!
//! The loop at the heart of it is `Program::turn`. It asks the machine what is to be done, does it, and otherwise waits
//! for the socket, no longer than the machine said.

use runloom_core::id::{CommandId, OpId, Revision, RunId, Seq, SessionId};
use runloom_core::input::{Reader, Start};
use runloom_core::message::Part;
use runloom_core::model::{ModelItem, ModelSpec};
use runloom_core::output::{Next, Work};
use runloom_core::provider::Codec;
use runloom_core::time::Time;
use runloom_core::tool::{ToolEnd, ToolItem};
use runloom_core::{Input, Outbox, Output, Run};
use runloom_examples::attempt::{Attempt, Endpoint};
use runloom_examples::cli::{self, Options, UsageError};
use runloom_examples::endpoint::{Codecs, Target};
use runloom_examples::interrupt::Interrupt;
use runloom_examples::show::Shown;
use runloom_examples::tools::Toolbox;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ABOUT: &str = "Runs an agent without async: the state machine is stepped by hand, sockets block.";
/// How long the program may be deaf to Ctrl-C.
const ATTENTION: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    cli::main("blocking", ABOUT, run)
}

fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let target = Target::of(options)?;
    if target.base_url.uri().scheme_str() != Some("http") {
        return Err(UsageError::new("this program speaks http only; the others speak https too").into());
    }
    match target.codec() {
        Codecs::Anthropic(codec) => drive(codec, &target, options),
        Codecs::OpenAi(codec) => drive(codec, &target, options),
    }
}

fn drive<C: Codec>(codec: C, target: &Target, options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let endpoint = Endpoint {
        codec: std::sync::Arc::new(codec),
        base_url: target.base_url.clone(),
        key: target.key.clone(),
    };
    let cancelled = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&cancelled);
    Interrupt::install()?.set(move || raised.store(true, Ordering::SeqCst));
    let toolbox = Toolbox::new(options.folder.clone());
    let specs: Vec<_> = toolbox.specs()?.into_iter().map(Arc::new).collect();
    let prompt = options.prompt.as_deref().unwrap_or(cli::DEFAULT_PROMPT);
    let start = Start::new(
        SessionId::new("session-1")?,
        Revision(0),
        Default::default(),
        vec![Part::Text(prompt.into())],
        Arc::new(ModelSpec::new(options.model.as_str()).system(cli::SYSTEM_PROMPT)),
    );
    let start = start.tools(specs).reader(Reader::Unattended);
    let mut program = Program {
        run: Run::new(RunId::new("run-1")?, Arc::default()),
        out: Outbox::new(),
        endpoint,
        toolbox,
        attempt: None,
        origin: Instant::now(),
    };
    let mut shown = Shown::new(options.json);
    let mut next = program.step(Input::Start(Box::new(start)))?;
    let mut seen = Seq(0);
    while next.live {
        let is_late = options.cancel_after.is_some_and(|after| program.origin.elapsed() >= after);
        next = if is_late || cancelled.load(Ordering::SeqCst) {
            program.step(Input::Cancel { command: CommandId(1) })?
        } else {
            program.turn(next)?
        };
        let log = program.run.log();
        for envelope in log.after(seen) {
            shown.show(log.run_id(), envelope)?;
        }
        seen = log.last_seq();
    }
    let outcome = program.run.outcome().ok_or("a run that is over has an outcome")?;
    Ok(shown.end(outcome)?)
}

struct Program<C: Codec> {
    run: Run,
    out: Outbox,
    endpoint: Endpoint<C>,
    toolbox: Toolbox,
    /// The one model call that a run can have under way.
    attempt: Option<(OpId, Attempt<C>)>,
    origin: Instant,
}

impl<C: Codec> Program<C> {
    fn step(&mut self, input: Input) -> Result<Next, runloom_core::error::Misuse> {
        let now = Time::ZERO.after(self.origin.elapsed());
        self.run.step(now, input, &mut self.out)
    }

    /// Does what the machine asks for next, or waits for the world and tells the machine what came.
    fn turn(&mut self, next: Next) -> Result<Next, Box<dyn Error>> {
        match self.out.pop() {
            Some(Output::Begin { op, work }) => return self.begin(op, work),
            Some(Output::Abandon { op }) => {
                // Dropping the attempt closes its connection.
                self.attempt = self.attempt.take().filter(|(current, _)| *current != op);
                return Ok(next);
            }
            Some(_) => return Ok(next),
            None => {}
        }
        let now = Time::ZERO.after(self.origin.elapsed());
        let wait = next.wake.map_or(ATTENTION, |wake| wake.at.since(now));
        // Never zero: a wake is quiet only if the socket was asked before.
        let wait = wait.clamp(Duration::from_millis(1), ATTENTION);
        let Some((op, attempt)) = &mut self.attempt else {
            std::thread::sleep(wait);
            return Ok(self.step(Input::Wake { quiet: true })?);
        };
        let op = *op;
        let items = self.endpoint.wait(attempt, wait);
        if items.is_empty() {
            return Ok(self.step(Input::Wake { quiet: true })?);
        }
        let mut next = next;
        for item in items {
            if matches!(item, ModelItem::Done(_) | ModelItem::Failed(_)) {
                self.attempt = None;
            }
            next = self.step(Input::Model { op, item })?;
        }
        Ok(next)
    }

    fn begin(&mut self, op: OpId, work: Work) -> Result<Next, Box<dyn Error>> {
        match work {
            Work::Model(request) => match self.endpoint.begin(&request) {
                Ok(attempt) => {
                    self.attempt = Some((op, attempt));
                    Ok(self.step(Input::Wake { quiet: false })?)
                }
                Err(problem) => {
                    Ok(self.step(Input::Model { op, item: ModelItem::Failed(Box::new(problem)) })?)
                }
            },
            Work::Tool(invocation) => {
                // Recorded before the tool's code is entered. In one thread no two tools overlap.
                let _ = self.step(Input::Tool { op, item: ToolItem::Started })?;
                let end = ToolEnd::Output(self.toolbox.call(&invocation.call));
                Ok(self.step(Input::Tool { op, item: ToolItem::Done(end) })?)
            }
            // No tool of this program needs an approval.
            other => Err(format!("nobody here can do {other:?}").into()),
        }
    }
}
