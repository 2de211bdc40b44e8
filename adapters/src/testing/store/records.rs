//! Checks of events and journals.

use super::kit::{done, lines, record, refused, run, same};
use super::{Bench, Checked};
use crate::core::id::{RunId, Seq};
use crate::store::{JournalId, Line, LocalSessionStore, Owner, Page, Record, StoreError};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;

/// All events of a run.
async fn events<S: LocalSessionStore>(store: &S, owner: &Owner, run: &RunId) -> Result<Vec<Line>, String> {
    done("events", store.events(&owner.session, run, Seq(0), Page::default()).await)
}

/// All lines of the journal of a part.
async fn journal<S: LocalSessionStore>(
    store: &S,
    owner: &Owner,
    run: &RunId,
    part: u64,
) -> Result<Vec<Line>, String> {
    let id = JournalId { session: owner.session.clone(), run: run.clone(), part: Seq(part) };
    done("journal", store.journal(&id, 0, Page::default()).await)
}

pub(super) async fn lines_come_back_in_order<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    for (from, to) in [(1, 1), (2, 30), (31, 400)] {
        done("record", bench.store.record(&owner, &record(&id, from..=to, from..=to)).await)?;
        for handle in [&bench.store, &bench.other] {
            same("the events", events(handle, &owner, &id).await?, lines("event", 1..=to))?;
            same("the journal", journal(handle, &owner, &id, 0).await?, lines("line", 1..=to))?;
        }
    }
    done("an empty record", bench.store.record(&owner, &record(&id, [], [])).await)?;
    let long = Line { number: 401, text: format!("\"{}\"", "é".repeat(1 << 18)).into() };
    let mut large = Record::new(id.clone());
    large.events.push(long.clone());
    done("a large event", bench.store.record(&owner, &large).await)?;
    same("the large event", events(&bench.other, &owner, &id).await?.pop(), Some(long))
}

pub(super) async fn lines_are_repeated_safely<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    for (from, to) in [(1, 5), (1, 5), (3, 8), (8, 8), (1, 9)] {
        done("a record again", bench.store.record(&owner, &record(&id, from..=to, from..=to)).await)?;
    }
    same("the events", events(&bench.store, &owner, &id).await?, lines("event", 1..=9))?;
    same("the journal", journal(&bench.store, &owner, &id, 0).await?, lines("line", 1..=9))?;
    // A later owner repeats what its predecessor had no answer for.
    let next = done("claim", bench.other.claim(&owner.session).await)?;
    done("a record again", bench.other.record(&next, &record(&id, 7..=10, 9..=10)).await)?;
    same("the events", events(&bench.store, &owner, &id).await?, lines("event", 1..=10))
}

pub(super) async fn a_number_has_one_text<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    done("record", bench.store.record(&owner, &record(&id, 1..=5, 1..=5)).await)?;
    let differs = |number| {
        let run = id.clone();
        move |error: &StoreError| *error == StoreError::Differs { run, number }
    };
    for (at, number) in [(0, 1), (4, 5)] {
        let mut other = record(&id, 1..=6, []);
        other.events[at].text = "{}".into();
        refused("another event", bench.store.record(&owner, &other).await, differs(number))?;
        let mut other = record(&id, [], 1..=6);
        other.journal[at].text = "{}".into();
        refused("another line", bench.store.record(&owner, &other).await, differs(number))?;
    }
    same("the events", events(&bench.store, &owner, &id).await?, lines("event", 1..=5))?;
    same("the journal", journal(&bench.store, &owner, &id, 0).await?, lines("line", 1..=5))
}

pub(super) async fn no_line_is_missing<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    let gap = |error: &StoreError| matches!(error, StoreError::Gap { .. });
    for numbers in [vec![2], vec![0], vec![1, 3], vec![1, 2, 2], vec![2, 1], vec![u64::MAX]] {
        let result = bench.store.record(&owner, &record(&id, numbers.clone(), [])).await;
        refused(&format!("events {numbers:?}"), result, gap)?;
        let result = bench.store.record(&owner, &record(&id, [], numbers.clone())).await;
        refused(&format!("lines {numbers:?}"), result, gap)?;
    }
    done("record", bench.store.record(&owner, &record(&id, 1..=2, 1..=2)).await)?;
    for numbers in [vec![4], vec![2, 4], vec![3, 5], vec![1, 2, 4]] {
        let result = bench.store.record(&owner, &record(&id, numbers.clone(), [])).await;
        refused(&format!("events {numbers:?} behind 2"), result, gap)?;
    }
    same("the events", events(&bench.store, &owner, &id).await?, lines("event", 1..=2))
}

pub(super) async fn a_record_is_whole<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    let fails = |_: &StoreError| true;
    refused("a record", bench.store.record(&owner, &record(&id, 1..=3, [2])).await, fails)?;
    refused("a record", bench.store.record(&owner, &record(&id, [2], 1..=3)).await, fails)?;
    same("the runs", done("runs", bench.store.runs(&owner.session, 0, 9).await)?.len(), 0)?;
    done("record", bench.store.record(&owner, &record(&id, 1..=3, 1..=3)).await)?;
    refused("a record", bench.store.record(&owner, &record(&id, 4..=6, [5])).await, fails)?;
    refused("a record", bench.store.record(&owner, &record(&id, [6], 4..=6)).await, fails)?;
    refused("a record", bench.store.record(&owner, &record(&id, [4, 6], [])).await, fails)?;
    same("the events", events(&bench.other, &owner, &id).await?, lines("event", 1..=3))?;
    same("the journal", journal(&bench.other, &owner, &id, 0).await?, lines("line", 1..=3))
}

pub(super) async fn pages_are_bounded<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    done("record", bench.store.record(&owner, &record(&id, 1..=5, 1..=5)).await)?;
    let size = lines("event", [1]).iter().map(|line| line.text.len() as u64).sum::<u64>();
    let numbers = |lines: Vec<Line>| lines.into_iter().map(|line| line.number).collect::<Vec<_>>();
    for (after, most, bytes, expected) in [
        (0, 2, u64::MAX, vec![1, 2]),
        (2, 2, u64::MAX, vec![3, 4]),
        (4, 2, u64::MAX, vec![5]),
        (5, 2, u64::MAX, vec![]),
        (9, 2, u64::MAX, vec![]),
        (0, 9, size * 3, vec![1, 2, 3]),
        (0, 9, size * 3 - 1, vec![1, 2]),
        (3, 9, 1, vec![4]),
        (3, 0, 0, vec![4]),
    ] {
        let page = Page { lines: most, bytes };
        let found = bench.store.events(&owner.session, &id, Seq(after), page).await;
        same(&format!("{page:?} behind event {after}"), numbers(done("events", found)?), expected)?;
    }
    let name = JournalId { session: owner.session, run: id, part: Seq(0) };
    let page = Page { lines: 2, bytes: u64::MAX };
    let found = done("journal", bench.store.journal(&name, 3, page).await)?;
    same("two lines behind the third", numbers(found), vec![4, 5])
}

pub(super) async fn parts_have_journals_of_their_own<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (owner, id) = (bench.owner("s").await?, run("r")?);
    done("record", bench.store.record(&owner, &record(&id, 1..=4, 1..=6)).await)?;
    let mut second = record(&id, 5..=7, 1..=2);
    second.part = Seq(4);
    done("the second part", bench.store.record(&owner, &second).await)?;
    same("the events", events(&bench.store, &owner, &id).await?, lines("event", 1..=7))?;
    same("the first journal", journal(&bench.store, &owner, &id, 0).await?, lines("line", 1..=6))?;
    same("the second journal", journal(&bench.store, &owner, &id, 4).await?, lines("line", 1..=2))?;
    let found = done("journals", bench.store.journals(&owner.session).await)?;
    let found: Vec<_> = found.into_iter().map(|journal| (journal.id.part.0, journal.lines)).collect();
    same("the journals", found, vec![(0, 6), (4, 2)])?;

    // The first part of this one was kept nowhere.
    let (late, mut record) = (run("late")?, record(&run("late")?, 9..=10, 1..=1));
    record.part = Seq(8);
    done("a run that was resumed", bench.store.record(&owner, &record).await)?;
    done("the same again", bench.store.record(&owner, &record).await)?;
    same("its events", events(&bench.store, &owner, &late).await?, lines("event", 9..=10))
}

pub(super) async fn retired_journals_are_gone<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = bench.owner("s").await?;
    let (one, two) = (run("one")?, run("two")?);
    for id in [&one, &two] {
        done("record", bench.store.record(&owner, &record(id, 1..=3, 1..=3)).await)?;
    }
    let mut second = record(&one, [4], [1]);
    second.part = Seq(3);
    done("the second part", bench.store.record(&owner, &second).await)?;
    done("retire nothing", bench.store.retire(&owner, &one, Seq(0)).await)?;
    done("retire the first part", bench.store.retire(&owner, &one, Seq(3)).await)?;
    done("retire a run that is not there", bench.store.retire(&owner, &run("three")?, Seq(9)).await)?;
    let left = async || {
        let found = done("journals", bench.other.journals(&owner.session).await)?;
        Ok::<_, String>(
            found.into_iter().map(|journal| (journal.id.run, journal.id.part.0)).collect::<Vec<_>>(),
        )
    };
    same("the journals", left().await?, vec![(two.clone(), 0), (one.clone(), 3)])?;
    same("its lines", journal(&bench.other, &owner, &one, 0).await?, Vec::new())?;
    done("retire the second part", bench.store.retire(&owner, &one, Seq(4)).await)?;
    same("the journals", left().await?, vec![(two, 0)])?;
    same("its events", events(&bench.other, &owner, &one).await?, lines("event", 1..=4))
}

pub(super) async fn runs_are_listed_in_their_order<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = bench.owner("s").await?;
    for (name, last) in [("b", 3), ("c", 1), ("a", 2)] {
        done("record", bench.store.record(&owner, &record(&run(name)?, 1..=last, [])).await)?;
    }
    done("a later record", bench.store.record(&owner, &record(&run("b")?, [4], [])).await)?;
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page = done("runs", bench.other.runs(&owner.session, after, 2).await)?;
        let Some(last) = page.last() else { break };
        if found.len() > 1_000 {
            return Err("the pages do not end".into());
        }
        after = last.ordinal;
        found.extend(page.into_iter().map(|summary| (summary.run.to_string(), summary.last.0)));
    }
    let expected = [("b", 4), ("c", 1), ("a", 2)].map(|(run, last)| (run.to_owned(), last));
    same("the runs", found, expected.to_vec())
}

pub(super) async fn sessions_are_apart<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (one, two, id) = (bench.owner("one").await?, bench.owner("two").await?, run("r")?);
    done("record", bench.store.record(&one, &record(&id, 1..=3, 1..=3)).await)?;
    same("the other's events", events(&bench.store, &two, &id).await?, Vec::new())?;
    let mut other = record(&id, [1], [1]);
    other.events[0].text = "{}".into();
    done("the other's record", bench.store.record(&two, &other).await)?;
    done("delete", bench.store.delete(&two).await)?;
    same("the events", events(&bench.store, &one, &id).await?, lines("event", 1..=3))
}

pub(super) async fn writes_side_by_side_are_all_kept<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = bench.owner("s").await?;
    let ids = (0..40).map(|n| run(&format!("r{n}"))).collect::<Result<Vec<_>, _>>()?;
    let writes = ids.iter().map(|id| async {
        for seq in 1..=3 {
            done("record", bench.store.record(&owner, &record(id, [seq], [seq])).await)?;
        }
        Ok(())
    });
    for result in all(writes).await {
        result?;
    }
    for id in &ids {
        same("the events", events(&bench.other, &owner, id).await?, lines("event", 1..=3))?;
        same("the journal", journal(&bench.other, &owner, id, 0).await?, lines("line", 1..=3))?;
    }
    Ok(())
}

/// Polls all of them until all are ready.
async fn all<F: Future<Output = Checked>>(futures: impl Iterator<Item = F>) -> Vec<Checked> {
    let mut going: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut results = Vec::new();
    let waiting = std::future::poll_fn(|cx| {
        going.retain_mut(|future| match future.as_mut().poll(cx) {
            Poll::Ready(result) => {
                results.push(result);
                false
            }
            Poll::Pending => true,
        });
        if going.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    });
    pin!(waiting).await;
    results
}
