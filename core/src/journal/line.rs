//! The lines of a journal: its head, its inputs, and what tells them apart from events.

use super::scalar::{number, read_number};
use super::{JournalProblem, VERSION, config, input};
use crate::config::Config;
use crate::id::RunId;
use crate::input::Input;
use crate::json::{Out, integer};
use crate::run::Run;
use crate::saved::{
    self, Additions, Build, ImportBounds, ImportError, ImportProblem, Node, Place, object, text,
};
use crate::text::Text;
use crate::time::{MAX_EXACT, Time};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

const FORMAT: &str = "runloom.journal";

/// The first line.
pub(super) struct Head {
    pub(super) run: RunId,
    pub(super) config: Arc<Config>,
    /// The version of the crate that wrote it.
    core: Text,
}

impl Head {
    pub(super) fn of(run: &Run) -> Self {
        let core = Text::new(env!("CARGO_PKG_VERSION"));
        Self { run: run.log().run_id().clone(), config: Arc::clone(run.config()), core }
    }

    pub(super) fn write(&self) -> Node {
        Build::new()
            .name("format", FORMAT)
            .with("version", number(u64::from(VERSION)))
            .text("run", self.run.text())
            .with("config", config::config(&self.config))
            .text("core", &self.core)
            .end()
    }

    pub(super) fn read(line: &str, bounds: &ImportBounds) -> Result<Self, JournalProblem> {
        let node = saved::read(line, bounds)?;
        let head = Additions::import_known(&node, read_head, Self::write)?;
        canonical(&node, line).map(|()| head)
    }
}

fn read_head(node: &Node, place: &Place<'_>) -> Result<Head, ImportError> {
    object(node, place, |fields| {
        fields.need("format", |node, place| {
            let known = *text(node, place)? == *FORMAT;
            if known { Ok(()) } else { Err(place.error(ImportProblem::Format { expected: FORMAT })) }
        })?;
        fields.need("version", |node, place| {
            let found = read_number(node, place)?;
            let known = found == u64::from(VERSION);
            if known { Ok(()) } else { Err(place.error(ImportProblem::Version { found, known: VERSION })) }
        })?;
        Ok(Head {
            run: fields.id("run", RunId::new)?,
            config: fields.need("config", config::read_config)?,
            core: fields.text("core")?,
        })
    })
}

/// Something that happened to the machine.
pub(super) struct Entry {
    pub(super) at: Time,
    pub(super) what: What,
}

pub(super) enum What {
    Input(Input),
    /// The machine panicked, while it took this input in.
    Panicked(Option<Input>),
}

impl Entry {
    fn write(&self) -> Node {
        let (name, value) = match &self.what {
            What::Input(own) => ("input", input::write(own)),
            What::Panicked(own) => ("panicked", own.as_ref().map_or(Node::Null, input::write)),
        };
        Build::new().with("at", Node::Integer(self.at.as_micros())).with(name, value).end()
    }

    pub(super) fn read(line: &str, bounds: &ImportBounds) -> Result<Self, JournalProblem> {
        let node = saved::read(line, bounds)?;
        let entry = Additions::import_known(&node, read_entry, Self::write)?;
        canonical(&node, line).map(|()| entry)
    }
}

fn read_entry(node: &Node, place: &Place<'_>) -> Result<Entry, ImportError> {
    object(node, place, |fields| {
        let at = fields.need("at", |node, place| saved::number(node, place, MAX_EXACT))?;
        let panicked = fields.maybe("panicked", |node, place| match node {
            Node::Null => Ok(None),
            Node::Bool(_)
            | Node::Integer(_)
            | Node::Negative(_)
            | Node::Fraction(_)
            | Node::Text(_)
            | Node::List(_)
            | Node::Object(_) => input::read(node, place).map(Some),
        })?;
        let what = match panicked {
            Some(input) => What::Panicked(input),
            None => What::Input(fields.need("input", input::read)?),
        };
        Ok(Entry { at: Time::from_micros(at), what })
    })
}

fn canonical(node: &Node, line: &str) -> Result<(), JournalProblem> {
    if node.to_json() == line { Ok(()) } else { Err(JournalProblem::NotCanonical) }
}

/// Appends the line of an input, or of what the machine panicked over, without building the whole of it.
pub(super) fn append(to: &mut String, at: Time, name: &str, value: &Node) {
    let mut bytes = Vec::new();
    bytes.push(b'{');
    bytes.extend_from_slice(b"\"at\":");
    integer(&mut bytes, at.as_micros());
    Out::push(&mut bytes, b",\"");
    Out::push(&mut bytes, name.as_bytes());
    Out::push(&mut bytes, b"\":");
    value.write(&mut bytes);
    Out::push(&mut bytes, b"}\n");
    // Only texts and ASCII were written.
    to.push_str(core::str::from_utf8(&bytes).unwrap_or_default());
}

/// Whether a line of a journal is an event of the log. In canonical JSON the time comes first, and then what tells the lines
/// apart.
pub fn is_event(line: &str) -> bool {
    let rest = line.strip_prefix("{\"at\":").unwrap_or_default();
    rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(",\"kind\":")
}
