//! What a process says on its pipe: one line before each write, and one after its answer.

use runloom::store::{Owner, Record};
use runloom::{RunId, SessionId, Snapshot};
use std::io::Write as _;

/// A line of the pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A write is handed to the store.
    Writes,
    /// The store has answered for these events, each with the hash of its text, when its log had so many bytes.
    Recorded { session: SessionId, run: RunId, events: Vec<(u64, u64)>, log: u64 },
    /// The store has answered for a snapshot of this revision.
    Saved { session: SessionId, revision: u64, log: u64 },
    /// The store has refused a write of an older owner.
    Fenced,
}

/// A hash that stays the same from program to program (FNV-1a).
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Says it in one write, past whatever captures the output of tests.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A pipe that is gone has nobody who listens.
    let _ = out.write_all(line.as_bytes());
    let _ = out.flush();
}

pub(crate) fn writes() {
    say("!writes\n");
}

pub(crate) fn fenced() {
    say("!fenced\n");
}

pub(crate) fn recorded(owner: &Owner, record: &Record, log: u64) {
    let events = record.events.iter().map(|line| format!(" {}:{:x}", line.number, hash(&line.text)));
    let events: String = events.collect();
    say(&format!("!recorded {} {} {log}{events}\n", owner.session, record.run));
}

pub(crate) fn saved(snapshot: &Snapshot, log: u64) {
    say(&format!("!saved {} {} {log}\n", snapshot.session_id(), snapshot.revision()));
}

impl Said {
    /// Reads a line that is whole; anything else on the pipe is no word of ours.
    pub(crate) fn read(line: &str) -> Option<Self> {
        // The name of the test stands before the first one.
        let mut words = line.get(line.find('!')?..)?.split(' ');
        let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
        match words.next()? {
            "!writes" => Some(Self::Writes),
            "!fenced" => Some(Self::Fenced),
            "!recorded" => {
                let session = SessionId::new(words.next()?).ok()?;
                let run = RunId::new(words.next()?).ok()?;
                let log = number(words.next())?;
                let event = |word: &str| {
                    let (seq, hash) = word.split_once(':')?;
                    Some((seq.parse().ok()?, u64::from_str_radix(hash, 16).ok()?))
                };
                let events = words.map(event).collect::<Option<_>>()?;
                Some(Self::Recorded { session, run, events, log })
            }
            "!saved" => {
                let session = SessionId::new(words.next()?).ok()?;
                Some(Self::Saved { session, revision: number(words.next())?, log: number(words.next())? })
            }
            _ => None,
        }
    }
}
