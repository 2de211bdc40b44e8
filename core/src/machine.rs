//! What every phase of a run shares: configuration, record, operations, accounts.

use crate::compaction::ContextState;
use crate::config::Config;
use crate::event::{Event, RunStarted};
use crate::history::History;
use crate::id::{MessageId, OpId, Revision, RunId, Seq, SessionId};
use crate::input::{Answerers, Reader, Recover, Start};
use crate::json::encoded_prefix;
use crate::log::EventLog;
use crate::message::{Message, Part, Role};
use crate::model::ModelSpec;
use crate::observers::Observers;
use crate::outcome::{LateCompletion, Outcome};
use crate::output::{Credit, Outbox, Output, Work};
use crate::steer::Book;
use crate::suspend::Resume;
use crate::text::Text;
use crate::time::Time;
use crate::tool::{Approvals, ToolEnd, ToolSpec, ToolVisibility};
use crate::usage::Usage;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What an operation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    Model,
    /// The slot of the batch.
    Tool(usize),
    /// The slot of the batch.
    Prepare(usize),
    /// The slot of the batch.
    Authorize(usize),
    /// The request of the batch.
    Respond(usize),
    Boundary,
    Compact,
}

/// Operations under way. Each ends exactly once: by its accepted end or by an abandon (W5).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ops {
    last: u64,
    live: BTreeMap<OpId, OpKind>,
    /// Tools that were abandoned and have not reported their end since: at most one for each call of the run.
    abandoned: Vec<OpId>,
}

impl Ops {
    /// Whether this is the first end that a tool reports after it was abandoned (C6).
    pub(crate) fn is_late(&mut self, op: OpId) -> bool {
        let found = self.abandoned.iter().position(|abandoned| *abandoned == op);
        found.map(|at| self.abandoned.swap_remove(at)).is_some()
    }

    fn note_abandoned(&mut self, op: OpId, kind: Option<OpKind>) {
        if matches!(kind, Some(OpKind::Tool(_))) {
            self.abandoned.push(op);
        }
    }

    pub(crate) fn find(&self, op: OpId) -> Option<OpKind> {
        self.live.get(&op).copied()
    }

    pub(crate) fn was_issued(&self, op: OpId) -> bool {
        (1..=self.last).contains(&op.0)
    }

    pub(crate) fn next_id(&self) -> OpId {
        OpId(self.last + 1)
    }

    fn open(&mut self, kind: OpKind) -> OpId {
        self.last += 1;
        self.live.insert(OpId(self.last), kind);
        OpId(self.last)
    }

    /// Forgets an operation that has ended by itself.
    pub(crate) fn close(&mut self, op: OpId) {
        self.live.remove(&op);
    }

    /// Whether nothing is under way.
    pub(crate) fn are_idle(&self) -> bool {
        self.live.is_empty()
    }

    /// The last operation that was begun.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The operations of a run's next part are counted on.
    pub(crate) fn resumed(last: u64) -> Self {
        Self { last, ..Self::default() }
    }
}

/// What the run was started with.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) session: SessionId,
    /// The session's before the run, or before this part of it.
    pub(crate) revision: Revision,
    pub(crate) model: Arc<ModelSpec>,
    pub(crate) tools: Arc<[Arc<ToolSpec>]>,
}

impl Origin {
    /// The run's first event.
    pub(crate) fn started(&self) -> Event {
        Event::RunStarted(self.named())
    }

    /// The first event of a run's next part.
    pub(crate) fn resumed(&self) -> Event {
        Event::RunResumed(self.named())
    }

    fn named(&self) -> Arc<RunStarted> {
        Arc::new(RunStarted {
            session: self.session.clone(),
            revision: self.revision,
            model: Text::new(encoded_prefix(&self.model.name, 256)),
        })
    }
}

/// State that outlives phases.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) config: Arc<Config>,
    pub(crate) log: EventLog,
    pub(crate) now: Time,
    pub(crate) ops: Ops,
    pub(crate) origin: Option<Arc<Origin>>,
    /// The conversation as it would be committed.
    pub(crate) history: History,
    /// The conversation as it was committed last, and the revision that it has. An interruption keeps it (C9).
    pub(crate) committed: History,
    pub(crate) revision: Revision,
    /// The first of the messages that no model has answered yet and that people or the host wrote (B5).
    pub(crate) fresh: Option<usize>,
    /// What people add while the run is under way.
    pub(crate) steers: Book,
    /// Whether the source of boundary inputs is asked.
    pub(crate) collects: bool,
    /// Whether the source has said that there is nothing more in this run (B3).
    pub(crate) collected: bool,
    /// Whether there is a compactor.
    pub(crate) compacts: bool,
    /// How large the context is.
    pub(crate) context: ContextState,
    /// The plain estimate of the context that was sent last.
    pub(crate) sent: u64,
    pub(crate) step: u32,
    pub(crate) run_deadline: Option<Time>,
    pub(crate) invalid_turns: u32,
    pub(crate) messages: u32,
    reader: Reader,
    taken: Seq,
    taken_end: u64,
    pub(crate) paused: bool,
    /// The split-off reader is gone: the next event that is not part of a close interrupts the run (C9).
    gone: bool,
    pub(crate) interrupted: bool,
    /// A cancel came before the start (C2).
    pub(crate) cancelled_early: bool,
    /// Tools that the model is or is not offered, where that differs from their declaration.
    pub(crate) visibility: BTreeMap<Text, bool>,
    /// The tools of the step's request.
    pub(crate) offered: Arc<[Arc<ToolSpec>]>,
    /// What the session remembers to have been consented to (T2).
    pub(crate) approvals: Approvals,
    pub(crate) answerers: Answerers,
    /// Whether the run is put aside as soon as it waits for answers only.
    pub(crate) suspends: bool,
    /// Of the successful responses.
    pub(crate) usage: Usage,
    /// Of the physical requests that are over.
    pub(crate) billed: Usage,
    /// Of the physical request under way, as far as it is recorded.
    pub(crate) request: Usage,
    pub(crate) late: Vec<LateCompletion>,
    pub(crate) ignored: u64,
    pub(crate) observers: Observers,
    /// The result of a run that is over, while observers are asked about the end of its record.
    pub(crate) pending: Option<Box<Outcome>>,
    pub(crate) outcome: Option<Arc<Outcome>>,
}

impl Machine {
    pub(crate) fn new(run: RunId, config: Arc<Config>) -> Self {
        Self {
            log: EventLog::new(run, &config),
            config,
            now: Time::ZERO,
            ops: Ops::default(),
            origin: None,
            history: History::default(),
            committed: History::default(),
            revision: Revision(0),
            fresh: None,
            steers: Book::default(),
            collects: false,
            collected: false,
            compacts: false,
            context: ContextState::default(),
            sent: 0,
            step: 0,
            run_deadline: None,
            invalid_turns: 0,
            messages: 0,
            reader: Reader::Primary,
            taken: Seq(0),
            taken_end: 0,
            paused: false,
            gone: false,
            interrupted: false,
            cancelled_early: false,
            visibility: BTreeMap::new(),
            offered: Arc::from([]),
            approvals: Approvals::default(),
            answerers: Answerers::default(),
            suspends: false,
            usage: Usage::default(),
            billed: Usage::default(),
            request: Usage::default(),
            late: Vec::new(),
            ignored: 0,
            observers: Observers::default(),
            pending: None,
            outcome: None,
        }
    }

    /// Takes over what the run starts with; the caller has checked it.
    pub(crate) fn begin(&mut self, start: Start, input: Message) {
        self.approvals = start.approvals;
        self.answerers = start.answerers;
        self.suspends = start.suspends;
        self.collects = start.boundaries;
        self.compacts = start.compacts;
        self.context = start.context;
        self.context.run_begins();
        self.history = start.history;
        self.committed = self.history.clone();
        self.revision = start.revision;
        self.fresh = Some(crate::compaction::unread(&self.history));
        self.reader = start.reader;
        self.observers = Observers::new(start.observers, Seq(0));
        self.run_deadline = self.config.deadlines.run.map(|span| self.now.after(span));
        self.origin = Some(Arc::new(Origin {
            session: start.session,
            revision: start.revision,
            model: start.model,
            tools: start.tools,
        }));
        self.history.commit(input);
        self.messages = 1;
    }

    /// Takes over what a suspended run goes on with; the caller has checked it.
    pub(crate) fn resume(&mut self, resume: &Resume) {
        let value = &*resume.suspended;
        self.log = EventLog::resumed(value.run.clone(), &self.config, value.seq, value.end, value.ledger());
        (self.taken, self.taken_end) = (value.seq, value.end);
        self.ops = Ops::resumed(value.ops);
        (self.step, self.messages, self.invalid_turns) = (value.step, value.messages, value.invalid_turns);
        (self.usage, self.billed) = (value.usage, value.billed);
        self.visibility = value.visibility.iter().cloned().collect();
        self.approvals = resume.approvals.clone();
        self.answerers = resume.answerers;
        self.suspends = resume.suspends;
        self.reader = resume.reader;
        self.observers = Observers::new(resume.observers, value.seq);
        self.run_deadline = value.left.map(|left| self.now.after(left));
        self.collected = value.collected;
        self.collects = resume.boundaries && !value.collected;
        self.steers = Book::resumed(value);
        self.compacts = resume.compacts;
        self.context = resume.context;
        self.history = resume.history.clone();
        self.committed = resume.history.clone();
        self.revision = resume.revision;
        for message in &value.tail {
            self.history.commit((**message).clone());
        }
        self.origin = Some(Arc::new(Origin {
            session: resume.session.clone(),
            revision: resume.revision,
            model: Arc::clone(&resume.model),
            tools: Arc::clone(&resume.tools),
        }));
        self.offer();
    }

    /// Another process carries the run: its reader begins behind what was recorded, and other people may answer. That the
    /// last reader is gone stays decided (C9).
    pub(crate) fn taken_over(&mut self, recover: Recover, out: &mut Outbox) {
        self.set_taken(self.log.last_seq());
        self.observers_changed(recover.observers, out);
        self.reader = recover.reader;
        self.answerers = recover.answerers;
    }

    /// Fixes the tools of the step that begins.
    pub(crate) fn offer(&mut self) {
        let Some(origin) = &self.origin else { return };
        let shown = |spec: &&Arc<ToolSpec>| self.visibility.get(&spec.name).copied().unwrap_or(!spec.hidden);
        if origin.tools.iter().all(|spec| shown(&spec)) {
            self.offered = Arc::clone(&origin.tools);
        } else {
            self.offered = origin.tools.iter().filter(shown).cloned().collect();
        }
    }

    /// Other tools are offered from the next step on; names that no tool has are ignored.
    pub(crate) fn show(&mut self, change: &ToolVisibility) {
        let Some(origin) = &self.origin else { return };
        let names = change.show.iter().map(|name| (name, true));
        for (name, shown) in names.chain(change.hide.iter().map(|name| (name, false))) {
            let Some(spec) = origin.tools.iter().find(|spec| spec.name == *name) else { continue };
            if shown == spec.hidden {
                self.visibility.insert(name.clone(), shown);
            } else {
                self.visibility.remove(name);
            }
        }
    }

    /// Records an event, unless its reader is gone: then the run is interrupted instead (C9).
    #[inline]
    pub(crate) fn emit(&mut self, event: Event) {
        if self.gone {
            self.interrupted = true;
        } else {
            self.log.append(self.now, event);
        }
    }

    /// Records an event of the close, which nothing holds back.
    pub(crate) fn emit_closing(&mut self, event: Event) {
        self.log.append(self.now, event);
    }

    /// Adds a message to the candidate history.
    pub(crate) fn add(&mut self, role: Role, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        let id = self.next_message_id();
        self.add_message(Message::trusted(id, role, parts.into()));
    }

    /// The id of the next message that the run adds.
    pub(crate) fn next_message_id(&self) -> MessageId {
        MessageId::of_run(self.log.run_id(), self.messages + 1)
    }

    /// Adds a message that was made with the next id.
    pub(crate) fn add_message(&mut self, message: Message) {
        if matches!(message.role(), Role::User | Role::Boundary) {
            self.fresh.get_or_insert(self.history.len());
        }
        self.messages += 1;
        self.history.commit(message);
    }

    /// Commits the history as it stands, while the run goes on: a commit of its own (B4, K1).
    pub(crate) fn commit(&mut self) -> Revision {
        self.revision.0 += 1;
        self.committed = self.history.clone();
        self.steers.committed();
        self.revision
    }

    /// The plain estimate of the context: history and the schemas of the tools on offer.
    pub(crate) fn plain_estimate(&self) -> u64 {
        let tools = self.offered.iter();
        let tools: usize = tools.map(|t| t.name.len() + t.description.len() + t.schema.len()).sum();
        self.history.estimated_tokens().saturating_add((tools as u64).div_ceil(4))
    }

    /// Whether the reader is gone, so that the run is interrupted instead of going on (C9).
    pub(crate) fn stops_here(&mut self) -> bool {
        self.interrupted |= self.gone;
        self.interrupted
    }

    pub(crate) fn begin_op(&mut self, kind: OpKind, work: Work, out: &mut Outbox) -> OpId {
        let op = self.ops.open(kind);
        if self.observers.is_empty() {
            out.push(Output::Begin { op, work });
        } else {
            self.observers.hold(op, work);
        }
        op
    }

    pub(crate) fn abandon(&mut self, op: OpId, out: &mut Outbox) {
        let kind = self.ops.find(op);
        self.ops.close(op);
        if !self.observers.give_up(op) {
            self.ops.note_abandoned(op, kind);
            out.push(Output::Abandon { op });
        }
    }

    /// Drops everything that is under way.
    pub(crate) fn abandon_all(&mut self, out: &mut Outbox) {
        let held = self.observers.give_up_all();
        for (op, kind) in core::mem::take(&mut self.ops.live) {
            // Work that nobody was asked to begin is not given up either (W5).
            if held.binary_search_by_key(&op, |(held, _)| *held).is_err() {
                self.ops.note_abandoned(op, Some(kind));
                out.push(Output::Abandon { op });
            }
        }
    }

    /// Books the physical request under way, which is over, however it ended (R5).
    pub(crate) fn settle_request(&mut self) {
        self.billed.add(&core::mem::take(&mut self.request));
    }

    /// Keeps the end of an abandoned tool (C6); any other item of an ended operation is only counted.
    pub(crate) fn keep_late(&mut self, op: OpId, end: ToolEnd) {
        let most = self.config.limits.late;
        if !self.ops.is_late(op) || most == 0 {
            return;
        }
        if self.late.len() >= most {
            self.late.remove(0);
        }
        self.late.push(LateCompletion { op, end });
    }

    pub(crate) fn set_taken(&mut self, through: Seq) {
        if through > self.taken {
            self.taken_end = self.log.get(through).map_or(self.log.end(), |envelope| envelope.end);
            self.taken = through;
        }
    }

    pub(crate) fn consumer_gone(&mut self, awaited: bool) {
        if self.reader == Reader::Primary {
            self.reader = Reader::Unattended;
            self.gone = !awaited;
        }
    }

    /// Whether the run takes nothing in for now: the primary stream is full, or observers are asked (E13, L5).
    pub(crate) fn is_held_up(&self) -> bool {
        self.is_full() || self.awaits_observers()
    }

    /// Whether the primary stream is full (E13).
    pub(crate) fn is_full(&self) -> bool {
        self.reader == Reader::Primary && self.room().is_zero()
    }

    /// Events and bytes that still fit into the primary stream.
    fn room(&self) -> Credit {
        let limits = &self.config.limits;
        let unread = usize::try_from(self.log.last_seq().0 - self.taken.0).unwrap_or(usize::MAX);
        Credit {
            items: limits.event_capacity.saturating_sub(unread),
            bytes: limits.event_capacity_bytes.saturating_sub(self.log.end() - self.taken_end),
        }
    }

    /// What the driver may take in before the next step.
    pub(crate) fn credit(&self) -> Credit {
        if self.awaits_observers() {
            return Credit::ZERO;
        }
        match self.reader {
            Reader::Primary => self.room(),
            Reader::Unattended => Credit {
                items: self.config.limits.event_capacity,
                bytes: self.config.limits.event_capacity_bytes,
            },
        }
    }

    /// Whether the run may make another step.
    pub(crate) fn steps_left(&self) -> bool {
        self.step < self.config.limits.steps
    }
}
