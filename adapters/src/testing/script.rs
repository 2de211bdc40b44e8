//! What models, tools and approvers do in a scripted world.

use runloom_core::input::Input;
use runloom_core::model::{CallDelta, Completion, FinalCall, Finish, ModelItem, Problem, ProblemKind};
use runloom_core::output::{Output, Work};
use runloom_core::text::Text;
use runloom_core::tool::{
    Access, AuthorizeRequest, ToolEnd, ToolFault, ToolItem, ToolOutput, ToolSpec, Verdict,
};
use runloom_core::usage::Usage;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// An answer of one text.
pub fn text(text: &str) -> Attempt {
    Attempt::new().text(text).done(Finish::Stop)
}

/// A response that asks for these calls: `(tool, arguments)`.
pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Attempt {
    let add = |attempt: Attempt, (name, arguments)| attempt.call(name, arguments);
    calls.into_iter().fold(Attempt::new(), add).done(Finish::ToolCalls)
}

/// An attempt that fails at once.
pub fn fails(kind: ProblemKind) -> Attempt {
    Attempt::new().fail(Problem::new(kind, "scripted failure"))
}

/// A tool that overlaps with others and returns `ok` at once.
pub fn tool(name: &str) -> ToolScript {
    ToolScript::new(name)
}

/// What a model does in one attempt: items, each after a wait. Without an end it hangs.
#[derive(Clone, Debug, Default)]
pub struct Attempt {
    items: Vec<(Duration, ModelItem)>,
    wait: Duration,
}

impl Attempt {
    /// An attempt that yields nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits before the next item.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.wait += wait;
        self
    }

    /// Yields `item`.
    #[must_use]
    pub fn item(mut self, item: ModelItem) -> Self {
        self.items.push((std::mem::take(&mut self.wait), item));
        self
    }

    /// Yields a piece of text.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.item(ModelItem::Text(text.into()))
    }

    /// Yields a whole call.
    #[must_use]
    pub fn call(self, name: &str, arguments: &str) -> Self {
        let call = FinalCall { id: None, name: name.into(), arguments: arguments.into() };
        self.item(ModelItem::Call(Box::new(call)))
    }

    /// Yields a piece of the call at `index`; the name stands in its first piece.
    #[must_use]
    pub fn call_piece(self, index: u32, name: Option<&str>, arguments: &str) -> Self {
        let (index, name) = (Some(index), name.map(Text::new));
        let delta = CallDelta { index, id: None, name, arguments: arguments.into() };
        self.item(ModelItem::CallDelta(Box::new(delta)))
    }

    /// Reports usage.
    #[must_use]
    pub fn usage(self, input_tokens: u64, output_tokens: u64) -> Self {
        self.item(ModelItem::Usage(Box::new(Usage::new(input_tokens, output_tokens))))
    }

    /// Ends well.
    #[must_use]
    pub fn done(self, finish: Finish) -> Self {
        self.item(ModelItem::Done(Box::new(Completion::new(Some(finish), finish.as_str()))))
    }

    /// Fails.
    #[must_use]
    pub fn fail(self, problem: Problem) -> Self {
        self.item(ModelItem::Failed(Box::new(problem)))
    }
}

/// One invocation of a scripted tool.
#[derive(Clone, Debug, Default)]
struct Invocation {
    start: Duration,
    items: Vec<(Duration, ToolItem)>,
    wait: Duration,
    ends: bool,
    hangs: bool,
}

#[derive(Clone, Debug)]
enum Approval {
    Allow,
    Deny(Text),
    /// Allows another call than the one that was asked about.
    Mistaken,
    Never,
}

/// A tool and what its invocations do, one after the other; the last one is repeated.
#[derive(Clone, Debug)]
pub struct ToolScript {
    spec: ToolSpec,
    invocations: Vec<Invocation>,
    approval: (Duration, Approval),
}

impl ToolScript {
    /// A shared tool of this name, which returns `ok` unless it is told otherwise.
    ///
    /// # Panics
    ///
    /// If no tool can have this name.
    pub fn new(name: &str) -> Self {
        let spec = ToolSpec::new(name, "a scripted tool", "{}").expect("a tool's name");
        Self {
            spec: spec.access(Access::Shared),
            invocations: vec![Invocation::default()],
            approval: (Duration::ZERO, Approval::Allow),
        }
    }

    /// Changes the tool's declaration.
    #[must_use]
    pub fn declare(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// Overlaps with no other call.
    #[must_use]
    pub fn exclusive(self) -> Self {
        self.declare(|spec| spec.access(Access::Exclusive))
    }

    fn edit(mut self, change: impl FnOnce(&mut Invocation)) -> Self {
        if let Some(last) = self.invocations.last_mut() {
            change(last);
        }
        self
    }

    fn item(self, item: ToolItem) -> Self {
        self.edit(|last| {
            last.ends |= matches!(item, ToolItem::Done(_));
            last.items.push((std::mem::take(&mut last.wait), item));
        })
    }

    fn end(self, end: ToolEnd) -> Self {
        self.item(ToolItem::Done(Box::new(end)))
    }

    /// Lets time pass before its code is entered.
    #[must_use]
    pub fn starts_after(self, wait: Duration) -> Self {
        self.edit(|last| last.start = wait)
    }

    /// Waits before what comes next.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        self.edit(|last| last.wait += wait)
    }

    /// Reports progress.
    #[must_use]
    pub fn progress(self, text: &str) -> Self {
        self.item(ToolItem::Progress(text.into()))
    }

    /// Returns this text.
    #[must_use]
    pub fn output(self, text: &str) -> Self {
        self.end(ToolEnd::Output(ToolOutput::text(text)))
    }

    /// Reports an error to the model.
    #[must_use]
    pub fn error(self, text: &str) -> Self {
        self.end(ToolEnd::Output(ToolOutput::error(text)))
    }

    /// Its infrastructure fails.
    #[must_use]
    pub fn fails(self, fault: ToolFault) -> Self {
        self.end(ToolEnd::Failed(fault))
    }

    /// Panics.
    #[must_use]
    pub fn panics(self) -> Self {
        self.end(ToolEnd::Panicked)
    }

    /// Never ends.
    #[must_use]
    pub fn hangs(self) -> Self {
        self.edit(|last| last.hangs = true)
    }

    /// What follows is about the next invocation.
    #[must_use]
    pub fn then(mut self) -> Self {
        self.invocations.push(Invocation::default());
        self
    }

    fn approval(mut self, wait: Duration, approval: Approval) -> Self {
        self.spec.needs_approval = true;
        self.approval = (wait, approval);
        self
    }

    /// Asks for approval, which comes after this time.
    #[must_use]
    pub fn allowed_after(self, wait: Duration) -> Self {
        self.approval(wait, Approval::Allow)
    }

    /// Asks for approval, which is refused after this time.
    #[must_use]
    pub fn denied_after(self, wait: Duration, reason: &str) -> Self {
        self.approval(wait, Approval::Deny(reason.into()))
    }

    /// Asks for approval, and gets one that is bound to another call.
    #[must_use]
    pub fn mistaken_after(self, wait: Duration) -> Self {
        self.approval(wait, Approval::Mistaken)
    }

    /// Asks for approval, and no answer comes.
    #[must_use]
    pub fn never_answered(self) -> Self {
        self.approval(Duration::ZERO, Approval::Never)
    }

    pub(super) fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(self.spec.clone())
    }
}

/// Plays models, tools and approvers: what is begun is answered as the scripts say.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    scripts: Arc<Scripts>,
    attempts: usize,
    invocations: BTreeMap<Text, usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scripts {
    pub(super) attempts: Vec<Attempt>,
    pub(super) tools: Vec<ToolScript>,
}

impl Cast {
    pub(super) fn new(scripts: Arc<Scripts>) -> Self {
        Self { scripts, attempts: 0, invocations: BTreeMap::new() }
    }

    /// What comes of `output`: inputs, each after a wait that counts from the one before.
    pub(super) fn plays(&mut self, output: &Output) -> Vec<(Duration, Input)> {
        let Output::Begin { op, work } = output else { return Vec::new() };
        let op = *op;
        match work {
            Work::Model(_) => {
                let model = |(wait, item)| (wait, Input::Model { op, item });
                self.attempt().items.into_iter().map(model).collect()
            }
            Work::Tool(invocation) => {
                let tool = |(wait, item)| (wait, Input::Tool { op, item });
                self.invocation(&invocation.call.name).into_iter().map(tool).collect()
            }
            Work::Authorize(request) => {
                let verdict = |(wait, verdict)| (wait, Input::Authorized { op, verdict });
                self.verdict(request).into_iter().map(verdict).collect()
            }
            _ => Vec::new(),
        }
    }

    fn attempt(&mut self) -> Attempt {
        let attempt = self.scripts.attempts.get(self.attempts).cloned();
        self.attempts += 1;
        let none = || Problem::new(ProblemKind::Other, "the script has no further attempt");
        attempt.unwrap_or_else(|| Attempt::new().fail(none()))
    }

    fn invocation(&mut self, name: &Text) -> Vec<(Duration, ToolItem)> {
        let Some(script) = self.scripts.tools.iter().find(|script| script.spec.name == *name) else {
            return Vec::new();
        };
        let count = self.invocations.entry(name.clone()).or_default();
        let at = (*count).min(script.invocations.len() - 1);
        *count += 1;
        let Invocation { start, items, wait, ends, hangs } = script.invocations[at].clone();
        let mut all = vec![(start, ToolItem::Started)];
        all.extend(items);
        if !ends && !hangs {
            let end = ToolEnd::Output(ToolOutput::text("ok"));
            all.push((wait, ToolItem::Done(Box::new(end))));
        }
        all
    }

    fn verdict(&self, request: &AuthorizeRequest) -> Option<(Duration, Verdict)> {
        let script = self.scripts.tools.iter().find(|script| script.spec.name == request.spec.name)?;
        let verdict = match &script.approval.1 {
            Approval::Allow => Verdict::Allow(request.binding),
            Approval::Deny(reason) => Verdict::Deny { reason: reason.clone() },
            Approval::Mistaken => {
                let mut other = (*request.call).clone();
                other.arguments = Text::from(format!("{} ", other.arguments));
                Verdict::Allow(runloom_core::tool::Binding::of(&other))
            }
            Approval::Never => return None,
        };
        Some((script.approval.0, verdict))
    }
}
