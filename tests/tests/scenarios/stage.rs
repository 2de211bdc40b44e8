//! Plays a scenario and writes down what comes of it.

use crate::actions;
use crate::setup::{Setup, answerers};
use crate::spans::Spanned;
use crate::words::{Words, number, span};
use runloom::testing::transcript;
use runloom_core::id::{OpId, Revision, Seq};
use runloom_core::laws::{Checked, Depth, Stepped};
use runloom_core::outcome::{Outcome, RunResult};
use runloom_core::output::{Output, Work};
use runloom_core::suspend::{Resume, Suspended};
use runloom_core::time::Time;
use runloom_core::tool::{AuthorizeRequest, Binding};
use std::fmt::Write;
use std::sync::Arc;

pub(crate) struct Stage {
    pub(crate) setup: Setup,
    run: Option<Checked>,
    now: Time,
    model: Option<OpId>,
    request: Option<Arc<runloom_core::model::ModelRequest>>,
    asked: Vec<(OpId, Arc<AuthorizeRequest>)>,
    ended: bool,
    /// The number of the last request to an observer.
    observations: u64,
    /// A run that was put aside.
    value: Option<Arc<Suspended>>,
    /// How the part of the run before has ended.
    rest: Option<Arc<Outcome>>,
    /// The run's earlier parts.
    parts: Vec<Checked>,
    out: String,
    spanned: Spanned,
}

impl Stage {
    /// The rendering of `script`.
    pub(crate) fn play(script: &str) -> String {
        Self::played(script).out
    }

    /// The parts of the run that `script` steps, but for those whose machine has panicked on purpose.
    pub(crate) fn runs(script: &str) -> Vec<Checked> {
        let mut stage = Self::played(script);
        let last = stage.run.take().filter(|_| !script.lines().any(|line| line.trim() == "panic"));
        stage.parts.extend(last);
        stage.parts
    }

    fn played(script: &str) -> Self {
        let mut stage = Self {
            setup: Setup::new(),
            run: None,
            now: Time::ZERO,
            model: None,
            request: None,
            asked: Vec::new(),
            ended: false,
            observations: 0,
            value: None,
            rest: None,
            parts: Vec::new(),
            out: String::new(),
            spanned: Spanned::new(),
        };
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if stage.run.is_some() || !stage.setup.takes(line) {
                stage.line(line);
            }
        }
        stage.replay();
        std::mem::replace(&mut stage.spanned, Spanned::new()).check();
        stage
    }

    /// Equal inputs give equal logs (W8).
    fn replay(&self) {
        if let Some(run) = &self.run {
            // A world that panicked on purpose has no inputs that would lead there again.
            if self.ended || run.run().outcome().is_none() {
                run.replay_journal().unwrap_or_else(|broken| panic!("{broken}\n{}", self.out));
            }
        }
    }

    fn say(&mut self, line: impl AsRef<str>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "{}", line.as_ref());
    }

    fn run(&mut self) -> &mut Checked {
        let setup = &self.setup;
        self.run.get_or_insert_with(|| Checked::new(Setup::run_id(), setup.config()).depth(Depth::Whole))
    }

    fn line(&mut self, line: &str) {
        let mut words = Words::new(line);
        self.say(format!("> {line}"));
        match words.next() {
            "at" => self.now = Time::ZERO.after(span(words.next())),
            "later" => self.now = self.now.after(span(words.next())),
            "repeat" => {
                let count = number(words.next());
                let action = words.text();
                for _ in 1..count {
                    self.act(&action);
                }
                let stepped = self.act(&action);
                self.shows(&stepped);
            }
            "silent" => {
                let action = words.text();
                self.act(&action);
            }
            "panic" => {
                let since = self.last_seq();
                let outputs = self.run().panicked().unwrap_or_else(|broken| panic!("{broken}"));
                self.spans(since);
                self.tells(since, &outputs);
                self.ends();
                self.ended = false;
            }
            "resume" => {
                self.value = Some(self.suspended());
                self.rest =
                    self.run.as_ref().and_then(|run| run.run().outcome().cloned()).or(self.rest.take());
                self.replay();
                std::mem::replace(&mut self.spanned, Spanned::new()).check();
                self.parts.extend(self.run.take());
                (self.ended, self.observations) = (false, 0);
                let stepped = self.act(line);
                self.shows(&stepped);
            }
            "requests" => self.requests(),
            "offered" => self.offered(),
            "history" => self.history(),
            "request" => self.requested(),
            "log" => self.log(),
            "late" => self.late(),
            _ => {
                let stepped = self.act(line);
                self.shows(&stepped);
            }
        }
    }

    fn act(&mut self, line: &str) -> Stepped {
        self.run();
        let input = actions::input(self, line);
        let now = self.now;
        let stepped = self.run().step(now, input);
        let stepped = stepped.unwrap_or_else(|broken| panic!("{broken}\nat {line:?}, after:\n{}", self.out));
        if let Err(broken) = self.run().survives_panic() {
            panic!("{broken}\nat {line:?}, after:\n{}", self.out);
        }
        self.spans(stepped.since);
        for output in &stepped.outputs {
            match output {
                Output::Begin { op, work: Work::Model(request) } => {
                    self.model = Some(*op);
                    self.request = Some(Arc::clone(request));
                }
                Output::Begin { op, work: Work::Observe(_) } => {
                    self.observations = op.observation().unwrap_or_default();
                }
                Output::Begin { op, work: Work::Authorize(request) } => {
                    self.asked.push((*op, Arc::clone(request)));
                }
                _ => {}
            }
        }
        stepped
    }

    /// Has telemetry follow what was recorded.
    fn spans(&mut self, since: Seq) {
        if let Some(run) = &self.run {
            self.spanned.follow(run.run().log().after(since));
        }
    }

    fn shows(&mut self, stepped: &Stepped) {
        match &stepped.answer {
            Err(misuse) => self.say(format!("  misuse: {misuse}")),
            Ok(next) => {
                self.tells(stepped.since, &stepped.outputs);
                self.say(format!("  {}", transcript::next(next)));
                if !next.live && !self.ended {
                    self.ended = true;
                    self.ends();
                }
            }
        }
    }

    fn tells(&mut self, since: Seq, outputs: &[Output]) {
        let events: Vec<String> = self.run().run().log().after(since).map(transcript::event).collect();
        for event in events {
            self.say(format!("  {event}"));
        }
        for output in outputs {
            self.say(format!("  {}", transcript::output(output)));
        }
    }

    fn ends(&mut self) {
        if let Some(outcome) = self.run().run().outcome().cloned() {
            for line in transcript::outcome(&outcome) {
                self.say(format!("  = {line}"));
            }
        }
    }

    fn history(&mut self) {
        let messages: Vec<String> = match self.run().run().candidate() {
            Some(history) => history.iter().map(|message| transcript::message(message)).collect(),
            None => Vec::new(),
        };
        for message in messages {
            self.say(format!("  {message}"));
        }
    }

    fn suspended(&self) -> Arc<Suspended> {
        match self.run.as_ref().and_then(|run| run.run().outcome()).map(|outcome| &outcome.result) {
            Some(RunResult::Suspended(value)) => Arc::clone(value),
            // What could not be resumed can be tried again.
            _ => self.value.clone().expect("a suspended run"),
        }
    }

    /// `[cancelled] [suspends] [revision=N] [without=TOOL] [nobody | handle | responder ...]`.
    pub(crate) fn resumption(&self, words: &mut Words<'_>) -> Resume {
        let start = self.setup.start(String::new());
        let value = self.value.clone().expect("a suspended run");
        let observers = start.observers;
        let mut resume = Resume::new(value, start.session, start.revision, start.history, start.model);
        (resume.tools, resume.answerers, resume.reader) = (start.tools, start.answerers, start.reader);
        resume.observers = observers;
        (resume.boundaries, resume.compacts) = (start.boundaries, start.compacts);
        // The session is as the run's last part has left it.
        if let Some(outcome) = &self.rest {
            (resume.history, resume.revision) = (outcome.history.clone(), outcome.revision);
            resume.context = outcome.context;
        }
        while !words.is_empty() {
            if let Some((name, value)) = words.pair() {
                match name {
                    "revision" => resume.revision = Revision(number(value)),
                    "without" => {
                        let tools = resume.tools.iter().filter(|tool| *tool.name != *value);
                        resume.tools = tools.cloned().collect();
                    }
                    other => panic!("a resumption has no {other:?}"),
                }
                continue;
            }
            match words.clone().next() {
                "cancelled" => resume.cancelled = !words.next().is_empty(),
                "suspends" => resume.suspends = !words.next().is_empty(),
                _ => resume.answerers = answerers(words),
            }
        }
        resume
    }

    fn requests(&mut self) {
        let open: Vec<String> =
            self.run().run().requests().iter().map(|open| transcript::request(open)).collect();
        let awaits = self.run().run().awaits_people();
        self.say(format!("  open: [{}], waits for people: {awaits}", open.join(", ")));
    }

    fn offered(&mut self) {
        let Some(request) = self.request.clone() else { return };
        let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        self.say(format!("  the request offers: {}", names.join(", ")));
    }

    fn requested(&mut self) {
        let Some(request) = self.request.clone() else { return };
        self.say(format!("  {} attempt {}", request.operation, request.attempt));
        for message in &request.history {
            self.say(format!("  {}", transcript::message(message)));
        }
    }

    fn log(&mut self) {
        let (log, limits) = (self.run().run().log().clone(), self.run().run().config().limits().clone());
        let within = log.len() <= limits.log_events && log.bytes() <= limits.log_bytes;
        let within = if within { "within" } else { "above" };
        let (first, last, count) = (log.first_seq(), log.last_seq(), log.len());
        let most = limits.log_events;
        self.say(format!("  events {first} to {last}: {count}, {within} the bound of {most}"));
    }

    fn late(&mut self) {
        let run = self.run().run();
        let line = format!("  {} ignored, late: {:?}", run.ignored(), run.late());
        self.say(line);
    }

    pub(crate) fn last_seq(&self) -> Seq {
        self.run.as_ref().map_or(Seq(0), |run| run.run().log().last_seq())
    }

    /// The number of the last request to an observer.
    pub(crate) fn observations(&self) -> u64 {
        self.observations
    }

    /// The model operation that was begun last.
    pub(crate) fn last_model(&self) -> OpId {
        self.model.unwrap_or(OpId(1))
    }

    fn request_of(&self, op: OpId) -> &AuthorizeRequest {
        let asked = self.asked.iter().find(|(other, _)| *other == op);
        asked.map(|(_, request)| &**request).unwrap_or_else(|| panic!("nothing was asked as {op}"))
    }

    pub(crate) fn binding(&self, op: OpId) -> Binding {
        self.request_of(op).binding
    }

    pub(crate) fn binding_of_another(&self, op: OpId) -> Binding {
        actions::another(&self.request_of(op).call)
    }
}
