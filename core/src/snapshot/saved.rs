//! The saved form of a session, version 1 (S3).

use super::{LastRun, Lifecycle, Metadata, Snapshot, SnapshotError};
use crate::compaction::{read_context, write_context};
use crate::history::{History, HistoryBounds};
use crate::id::{Revision, RunId, Seq, SessionId};
use crate::saved::{
    self, Additions, Build, Fields, ImportBounds, ImportError, ImportProblem, Node, Place, Saved, object,
};
use crate::suspend::read_suspended;
use alloc::string::String;
use alloc::sync::Arc;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// The version of the saved form that this crate writes, and the only one that it reads.
pub const VERSION: u32 = 1;

const FORMAT: &str = "runloom.snapshot";

/// The member that holds a suspended run.
const SUSPENDED: &str = "suspended";

/// What bounds the whole value bounds its history; the session was within its own bounds.
const BOUNDS: HistoryBounds = HistoryBounds { messages: usize::MAX, bytes: u64::MAX };

/// What a session may be while it does something: known, and never read as a state at rest.
const UNDER_WAY: [&str; 3] = ["running", "waiting_for_host_input", "cancelling"];

impl Snapshot {
    /// The snapshot as canonical JSON, for any store. Members that were read and not known are in it again.
    pub fn to_json(&self) -> String {
        self.to_node().to_json()
    }

    /// Reads what [`Snapshot::to_json`] wrote, within the default [`ImportBounds`].
    ///
    /// # Errors
    ///
    /// [`ImportError`] says what is wrong, where, and which bound was exceeded. A version, a state or anything else that
    /// is not known is never taken for one that is.
    pub fn from_json(json: &str) -> Result<Self, ImportError> {
        Self::from_json_within(json, &ImportBounds::default())
    }

    /// Reads what [`Snapshot::to_json`] wrote, within these bounds.
    ///
    /// # Errors
    ///
    /// As [`Snapshot::from_json`].
    pub fn from_json_within(json: &str, bounds: &ImportBounds) -> Result<Self, ImportError> {
        saved::from_json(json, bounds)
    }
}

impl Saved for Snapshot {
    fn to_node(&self) -> Node {
        let mut node = write(self);
        self.additions.graft(&mut node);
        node
    }

    fn of_node(node: &Node) -> Result<Self, ImportError> {
        let (mut value, mut additions) = Additions::import(node, read, write)?;
        let inner = additions.take_within(SUSPENDED);
        value.suspended = value.suspended.map(|suspended| {
            let mut suspended = Arc::unwrap_or_clone(suspended);
            suspended.additions = inner;
            Arc::new(suspended)
        });
        value.additions = additions;
        Ok(value)
    }
}

impl Serialize for Snapshot {
    /// As the JSON of [`Snapshot::to_json`] would be; in formats that people do not read, as that text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        saved::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    /// As [`Snapshot::from_json`], with the same bounds.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        saved::deserialize(deserializer)
    }
}

fn write(value: &Snapshot) -> Node {
    let last = |last: &LastRun| Build::new().text("run", last.id.text()).number("seq", last.seq.0).end();
    let metadata = value.metadata.iter().map(|(name, text)| (name.clone(), Node::text(text)));
    Build::new()
        .name("format", FORMAT)
        .number("version", VERSION)
        .text("session", value.session.text())
        .number("revision", value.revision.0)
        .name("state", value.lifecycle.as_str())
        .with("messages", Node::list(&value.history, |message| saved::message(message)))
        .with("context", write_context(&value.context))
        .with("metadata", Node::object(metadata))
        .maybe("model", value.model.as_ref().map(Node::text))
        .maybe("last", value.last.as_ref().map(last))
        .number("runs", value.runs)
        .maybe(SUSPENDED, value.suspended.as_ref().map(|suspended| suspended.to_node()))
        .end()
}

fn read(node: &Node, place: &Place<'_>) -> Result<Snapshot, ImportError> {
    object(node, place, |fields| {
        saved::head(fields, FORMAT, VERSION)?;
        let lifecycle = fields.need("state", read_lifecycle)?;
        let history = read_history(fields)?;
        let snapshot = Snapshot {
            session: fields.id("session", SessionId::new)?,
            revision: Revision(fields.number("revision")?),
            lifecycle,
            history,
            context: fields.need("context", read_context)?,
            metadata: fields.need("metadata", read_metadata)?,
            model: fields.maybe("model", saved::text)?,
            last: fields.maybe("last", read_last)?,
            runs: fields.number("runs")?,
            suspended: fields.maybe(SUSPENDED, read_suspended)?.map(Arc::new),
            additions: Additions::default(),
        };
        match snapshot.check() {
            Ok(()) => Ok(snapshot),
            Err(SnapshotError::OpenCalls { calls }) => {
                Err(place.member("messages").error(ImportProblem::OpenCalls { calls }))
            }
            Err(SnapshotError::OtherState) => Err(place
                .member(SUSPENDED)
                .contradiction("the suspended run does not belong to this state of the session")),
        }
    })
}

fn read_lifecycle(node: &Node, place: &Place<'_>) -> Result<Lifecycle, ImportError> {
    let name = saved::text(node, place)?;
    if let Some(state) = UNDER_WAY.into_iter().find(|state| name == *state) {
        return Err(place.error(ImportProblem::NotAtRest { state }));
    }
    let known = Lifecycle::ALL.into_iter().find(|lifecycle| name == lifecycle.as_str());
    known.ok_or_else(|| place.unknown("state of a session"))
}

fn read_history(fields: &mut Fields<'_>) -> Result<History, ImportError> {
    let mut history = History::new(BOUNDS);
    fields.list("messages", |node, place| {
        let message = saved::read_message(node, place)?;
        history.push(message).map_err(|error| place.error(error))
    })?;
    Ok(history)
}

fn read_metadata(node: &Node, place: &Place<'_>) -> Result<Metadata, ImportError> {
    let Node::Object(members) = node else { return Err(place.wrong("an object")) };
    let mut metadata = Metadata::new();
    for (name, node) in members {
        let place = place.member(name);
        let text = saved::text(node, &place)?;
        metadata.insert(name.clone(), text).map_err(|error| place.error(error))?;
    }
    Ok(metadata)
}

fn read_last(node: &Node, place: &Place<'_>) -> Result<LastRun, ImportError> {
    object(node, place, |fields| {
        let last = LastRun { id: fields.id("run", RunId::new)?, seq: Seq(fields.number("seq")?) };
        let what = "events are counted from 1";
        if last.seq.0 == 0 { Err(place.member("seq").contradiction(what)) } else { Ok(last) }
    })
}
