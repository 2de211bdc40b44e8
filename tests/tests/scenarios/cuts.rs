//! Every scenario's journal is cut wherever a crash can cut it: the machine is rebuilt, goes on, and comes to one end.

use crate::stage::Stage;
use runloom_core::event::Event;
use runloom_core::id::{CallRef, OpId};
use runloom_core::input::{AbortCause, Answerers, Input, Reader, Recover};
use runloom_core::journal::{JournalBounds, JournalProblem, Recovered, ReplayError, recover, replay};
use runloom_core::laws::{Checked, Depth};
use runloom_core::message::ToolStatus;
use runloom_core::output::{Output, Work};
use runloom_core::tool::ToolItem;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many of a journal's inputs, and of a line's bytes, it is cut at; with `RUNLOOM_CUTS=all` that is nearly all of the
/// inputs, and every byte of the last line.
fn most() -> (usize, usize) {
    let all = std::env::var_os("RUNLOOM_CUTS").is_some_and(|value| value == "all");
    if all { (120, usize::MAX) } else { (3, 4) }
}

#[derive(Default)]
struct Counts {
    journals: u64,
    lines: u64,
    bytes: u64,
    driven: u64,
    lost: u64,
}

/// What runs in a state, and may have acted.
type Running = BTreeMap<OpId, (CallRef, bool)>;

/// A run after one of its inputs.
struct Mark {
    run: Checked,
    running: Running,
}

fn bounds() -> JournalBounds {
    JournalBounds::default()
}

fn again() -> Recover {
    Recover::new(Reader::Primary, Answerers::default())
}

/// The states after each input that was no misuse.
fn marks(run: &Checked) -> Vec<Mark> {
    let (id, config) = (run.run().log().run_id().clone(), Arc::clone(run.run().config()));
    let mut own = Checked::new(id, config).depth(Depth::Seen);
    let mut running = Running::new();
    let mut marks = Vec::new();
    for (now, input) in run.inputs() {
        let stepped = own.step(*now, input.clone()).expect("it was taken before");
        if stepped.answer.is_err() {
            continue;
        }
        match input {
            Input::Tool { op, item: ToolItem::Started } => {
                running.entry(*op).and_modify(|(_, entered)| *entered = true);
            }
            Input::Tool { op, item: ToolItem::Done(_) } => _ = running.remove(op),
            _ => {}
        }
        for output in &stepped.outputs {
            match output {
                Output::Begin { op, work: Work::Tool(invocation) } => {
                    running.insert(*op, (invocation.call.call, false));
                }
                Output::Abandon { op } => _ = running.remove(op),
                _ => {}
            }
        }
        marks.push(Mark { run: own.clone(), running: running.clone() });
    }
    marks
}

fn rebuilt(journal: &str) -> Recovered {
    recover(journal.as_bytes(), &bounds()).unwrap_or_else(|error| panic!("{error}"))
}

/// The same state, and the rest of its record in wait.
fn stands(recovered: &mut Recovered, mark: &Checked, missing: &str) {
    let (one, other) = (recovered.run.log(), mark.run().log());
    assert!(one.iter().eq(other.iter()) && one.end() == other.end(), "another log");
    assert_eq!(recovered.run.now(), mark.run().now());
    assert_eq!(recovered.run.phase_name(), mark.run().phase_name());
    assert_eq!(recovered.recorder.take(), missing);
}

/// Goes on after the crash: what was entered is lost and never begun again, and there is one end.
fn goes_on(mark: &Mark, journal: &str, counts: &mut Counts) {
    let mut recovered = rebuilt(journal);
    let mut twin = mark.run.clone();
    let ended = twin.run().outcome().is_some();
    let (now, since) = (twin.run().now(), twin.run().log().last_seq());
    let stepped =
        twin.step(now, Input::Recover(Box::new(again()))).unwrap_or_else(|broken| panic!("{broken}"));
    let mut out = runloom_core::Outbox::new();
    let own = recovered.go_on(again(), &mut out);
    assert_eq!(own, stepped.answer);
    assert!(recovered.run.log().after(since).eq(twin.run().log().after(since)), "it goes on differently");
    // A run of the next part is recorded in a journal of its own.
    let whole = format!("{journal}{}", recovered.recorder.take());
    assert!(twin.journal().starts_with(&whole), "it is recorded differently");
    if ended || stepped.answer.is_err() {
        return;
    }
    let lost: Vec<CallRef> =
        mark.running.values().filter(|(_, entered)| *entered).map(|(call, _)| *call).collect();
    let interrupted = |call: CallRef| {
        twin.run().log().after(since).any(|envelope| match &envelope.event {
            Event::ToolFinished(result) => {
                result.call == call && result.status == ToolStatus::InterruptedOutcomeUnknown
            }
            _ => false,
        })
    };
    let gone = twin.run().log().last_seq() > since && twin.run().outcome().is_none();
    assert!(!gone || lost.iter().all(|call| interrupted(*call)), "{lost:?} have no end");
    counts.lost += lost.len() as u64;
    let mut outputs = stepped.outputs;
    if counts.driven.is_multiple_of(2) {
        // Its next process is lost as well.
        let stepped = twin.step(now, Input::Recover(Box::new(again()))).expect("the laws");
        outputs = stepped.outputs;
    }
    for output in &outputs {
        if let Output::Begin { work: Work::Tool(invocation), .. } = output {
            assert!(!lost.contains(&invocation.call.call), "a tool that may have acted is begun again");
        }
    }
    runloom_tests::finish::finish(&mut twin, &outputs, 20_000);
    twin.replay_journal().unwrap_or_else(|broken| panic!("{broken}"));
    counts.driven += 1;
}

/// Closes the run instead.
fn closes(mark: &Mark, journal: &str) {
    let mut recovered = rebuilt(journal);
    let ended = recovered.run.outcome().is_some();
    let mut out = runloom_core::Outbox::new();
    let _ = recovered.close(&mut out).expect("it was started");
    let outcome = recovered.run.outcome().expect("an end");
    let mut twin = mark.run.clone();
    let now = twin.run().now();
    twin.step(now, Input::Abort(AbortCause::ProcessLost)).unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!(format!("{outcome:?}"), format!("{:?}", twin.run().outcome().expect("an end")));
    let whole = format!("{journal}{}", recovered.recorder.take());
    replay(whole.as_bytes(), &bounds()).unwrap_or_else(|error| panic!("ended: {ended}, {error}"));
}

/// Cuts within a line: what is left of it is found and left out.
fn torn(before: &str, line: &str, last: bool, counts: &mut Counts) {
    let step = (line.len() / if last { most().1 } else { 3 }).max(1);
    for cut in (1..line.len()).step_by(step) {
        let journal = [before.as_bytes(), &line.as_bytes()[..cut]].concat();
        counts.bytes += 1;
        if before.is_empty() {
            let empty = recover(&journal, &bounds()).expect_err("no head");
            assert!(matches!(empty, ReplayError::Journal(error) if error.problem == JournalProblem::Empty));
            continue;
        }
        let recovered = recover(&journal, &bounds()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((recovered.kept, recovered.torn), (before.len() as u64, cut as u64));
        let strict = replay(&journal, &bounds()).expect_err("it is cut off");
        assert!(
            matches!(strict, ReplayError::Journal(error) if matches!(error.problem, JournalProblem::Torn { .. }))
        );
    }
}

fn cut(run: &Checked, counts: &mut Counts) {
    let marks = marks(run);
    let journal = run.journal();
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    let sampled = marks.len().div_ceil(most().0).max(1);
    let (mut inputs, mut at) = (0, 0);
    counts.journals += 1;
    for (index, line) in lines.iter().enumerate() {
        inputs += usize::from(is_input(line));
        let kept = inputs.is_multiple_of(sampled) || index + 1 == lines.len();
        if kept {
            torn(&journal[..at], line, index + 1 == lines.len(), counts);
        }
        at += line.len();
        let Some(mark) = inputs.checked_sub(1).and_then(|last| marks.get(last)).filter(|_| kept) else {
            continue;
        };
        let next = lines[index + 1..].iter().position(|line| is_input(line));
        let missing = lines[index + 1..].iter().take(next.unwrap_or(usize::MAX)).copied().collect::<String>();
        counts.lines += 1;
        stands(&mut rebuilt(&journal[..at]), &mark.run, &missing);
        if missing.is_empty() && mark.run.run().candidate().is_some() {
            goes_on(mark, &journal[..at], counts);
            closes(mark, &journal[..at]);
        }
    }
    assert_eq!(inputs, marks.len(), "the inputs of the journal are those that were taken");
}

fn is_input(line: &str) -> bool {
    let rest = line.trim_start_matches("{\"at\":").trim_start_matches(|c: char| c.is_ascii_digit());
    rest.starts_with(",\"input\":")
}

// proves: H7, L7, W7, W8, E2, E3
#[test]
fn journals_that_a_crash_cut_off_come_to_one_end() {
    let mut counts = Counts::default();
    for (name, text) in crate::files() {
        let (script, _) = text.split_once(crate::LINE).expect("a script");
        for run in Stage::runs(script) {
            assert!(!run.inputs().is_empty(), "{name} steps no run");
            cut(&run, &mut counts);
        }
    }
    let Counts { journals, lines, bytes, driven, lost } = counts;
    println!(
        "{journals} journals, cut at {lines} lines and {bytes} bytes; {driven} runs went on, {lost} tools lost"
    );
    assert!(journals > 190 && driven > 300 && lost > 30, "{journals} journals, {lost} tools lost");
}
