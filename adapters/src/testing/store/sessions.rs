//! Checks of claims and snapshots.

use super::kit::{done, is_fenced, record, refused, run, same, snapshot};
use super::{Bench, Checked};
use crate::core::id::{Revision, Seq};
use crate::store::{Epoch, LocalSessionStore, Owner, StoreError};

pub(super) async fn claims_grow<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let (one, two) = (bench.session("one")?, bench.session("two")?);
    let first = done("claim", bench.store.claim(&one).await)?;
    same("the claimed session", &first.session, &one)?;
    if first.epoch == Epoch(0) {
        return Err("0 is no claim".into());
    }
    let mut last = first.epoch;
    for n in 0..3 {
        let handle = if n % 2 == 0 { &bench.other } else { &bench.store };
        let next = done("claim", handle.claim(&one).await)?.epoch;
        if next <= last {
            return Err(format!("claim {next} came after {last}"));
        }
        last = next;
    }
    let other = done("claim", bench.store.claim(&two).await)?;
    done("a record of another session", bench.store.record(&other, &record(&run("r")?, [1], [])).await)
}

pub(super) async fn an_older_claim_is_fenced<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let old = saved(bench, "s").await?;
    let new = done("claim", bench.other.claim(&old.session).await)?;
    let id = run("r")?;
    let later = snapshot(&old.session, 2, 1)?;
    let fresh = record(&id, [1], [1]);
    let unclaimed = Owner { session: bench.session("nobody")?, epoch: Epoch(0) };
    let future = Owner { session: old.session.clone(), epoch: Epoch(new.epoch.0 + 1) };
    for owner in [&old, &unclaimed, &future] {
        refused("a record", bench.store.record(owner, &fresh).await, is_fenced)?;
        refused("a deletion", bench.store.delete(owner).await, is_fenced)?;
        refused("a retirement", bench.store.retire(owner, &id, Seq(1)).await, is_fenced)?;
    }
    let expected = Some(Revision(1));
    refused("a save", bench.store.save(&old, &later, expected).await, is_fenced)?;
    refused("a save", bench.store.save(&future, &later, expected).await, is_fenced)?;
    let empty = bench.store.runs(&old.session, 0, 10).await;
    same("runs after refused records", done("runs", empty)?.len(), 0)?;
    done("the new owner's record", bench.other.record(&new, &fresh).await)?;
    done("the new owner's save", bench.other.save(&new, &later, expected).await)
}

pub(super) async fn what_is_saved_is_loaded<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = bench.owner("s").await?;
    same("a session without a snapshot", done("load", bench.store.load(&owner.session).await)?, None)?;
    for (revision, messages) in [(0, 0), (1, 3), (9_007_199_254_740_991, 300)] {
        let expected = done("load", bench.store.load(&owner.session).await)?;
        let expected = expected.map(|snapshot| snapshot.revision());
        let saved = snapshot(&owner.session, revision, messages)?;
        done("save", bench.store.save(&owner, &saved, expected).await)?;
        for handle in [&bench.store, &bench.other] {
            let loaded = done("load", handle.load(&owner.session).await)?;
            let (loaded, saved) = (loaded.map(|snapshot| snapshot.to_json()), saved.to_json());
            if loaded.as_ref() != Some(&saved) {
                return Err(format!("at revision {revision} something else was loaded than saved"));
            }
        }
    }
    let foreign = snapshot(&bench.session("other")?, 5, 0)?;
    let result = bench.store.save(&owner, &foreign, Some(Revision(9_007_199_254_740_991))).await;
    refused("a snapshot of another session", result, |error| matches!(error, StoreError::OtherSession(_)))
}

pub(super) async fn revisions_are_checked<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = bench.owner("s").await?;
    let conflict =
        |expected, found| move |error: &StoreError| *error == StoreError::Conflict { expected, found };
    let (one, two) = (snapshot(&owner.session, 1, 1)?, snapshot(&owner.session, 2, 2)?);
    let result = bench.store.save(&owner, &one, Some(Revision(0))).await;
    refused("a save over nothing", result, conflict(Some(Revision(0)), None))?;
    same("after a conflict", done("load", bench.store.load(&owner.session).await)?, None)?;
    done("save", bench.store.save(&owner, &one, None).await)?;
    for expected in [None, Some(Revision(0)), Some(Revision(2))] {
        let result = bench.store.save(&owner, &two, expected).await;
        refused("a save over another revision", result, conflict(expected, Some(Revision(1))))?;
    }
    same("after a conflict", done("load", bench.store.load(&owner.session).await)?, Some(one))?;
    done("save", bench.store.save(&owner, &two, Some(Revision(1))).await)?;
    same("after a save", done("load", bench.store.load(&owner.session).await)?, Some(two))
}

pub(super) async fn a_save_is_repeated_safely<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = bench.owner("s").await?;
    let (one, two) = (snapshot(&owner.session, 1, 1)?, snapshot(&owner.session, 1, 2)?);
    for _ in 0..2 {
        done("the same save again", bench.store.save(&owner, &one, None).await)?;
    }
    let result = bench.store.save(&owner, &two, None).await;
    let found = Some(Revision(1));
    refused("another snapshot of the same revision", result, |error| {
        *error == StoreError::Conflict { expected: None, found }
    })
}

pub(super) async fn sessions_are_listed_by_pages<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let mut expected = Vec::new();
    for name in ["c", "a", "é", "b", "B"] {
        let owner = saved(bench, name).await?;
        expected.push(owner.session);
    }
    let claimed = bench.owner("only claimed").await?.session;
    expected.sort();
    let own = |sessions: Vec<_>| sessions.into_iter().filter(|session| expected.contains(session));
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = done("sessions", bench.other.sessions(after.as_ref(), 2).await)?;
        if page.len() > 2 {
            return Err(format!("a page of 2 has {}", page.len()));
        }
        if page.contains(&claimed) {
            return Err("a session without a snapshot is listed".into());
        }
        let Some(last) = page.last() else { break };
        if found.len() > 1_000 {
            return Err("the pages do not end".into());
        }
        after = Some(last.clone());
        found.extend(own(page));
    }
    same("the sessions", &found, &expected)
}

pub(super) async fn a_deleted_session_is_gone<S: LocalSessionStore>(bench: &Bench<S>) -> Checked {
    let owner = saved(bench, "s").await?;
    let id = run("r")?;
    done("record", bench.store.record(&owner, &record(&id, 1..4, 1..4)).await)?;
    done("delete", bench.store.delete(&owner).await)?;
    same("its snapshot", done("load", bench.other.load(&owner.session).await)?, None)?;
    same("its runs", done("runs", bench.other.runs(&owner.session, 0, 9).await)?.len(), 0)?;
    same("its journals", done("journals", bench.other.journals(&owner.session).await)?.len(), 0)?;
    let again = done("claim", bench.store.claim(&owner.session).await)?;
    if again.epoch <= owner.epoch {
        return Err(format!("claim {} came again after the deletion", again.epoch));
    }
    done("a record with the same name", bench.store.record(&again, &record(&id, [1], [])).await)
}

/// A session that was claimed, and whose snapshot of revision 1 is kept.
async fn saved<S: LocalSessionStore>(bench: &Bench<S>, name: &str) -> Result<Owner, String> {
    let owner = bench.owner(name).await?;
    let snapshot = snapshot(&owner.session, 1, 1)?;
    done("save", bench.store.save(&owner, &snapshot, None).await)?;
    Ok(owner)
}
