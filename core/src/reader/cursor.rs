//! Where a reader stands: a run and a position in it (L2).

use crate::id::{IdError, RunId, Seq};
use core::fmt;

/// Where a reader stands: behind this event of this run. 0 is before the first.
///
/// Its text form is `RUN:SEQ`, fit for an event id that a client brings back.
///
/// ```
/// use runloom_core::reader::Cursor;
/// let cursor = Cursor::parse("run-1:17")?;
/// assert_eq!((cursor.run.as_str(), cursor.seq.0), ("run-1", 17));
/// assert_eq!(cursor.to_string(), "run-1:17");
/// # Ok::<(), runloom_core::reader::CursorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// The run.
    pub run: RunId,
    /// The last event that was read.
    pub seq: Seq,
}

/// Why a text is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorError {
    /// There is no colon between run and number.
    #[error("a cursor has the form RUN:SEQ")]
    Form,
    /// The part before the last colon is no run's id.
    #[error(transparent)]
    Run(#[from] IdError),
    /// The part behind the last colon is no decimal number below 2^53, or has a sign or leading zeros.
    #[error("the number of a cursor is decimal, below 2^53 and without leading zeros")]
    Number,
}

impl Cursor {
    /// Behind `seq` of `run`.
    pub const fn new(run: RunId, seq: Seq) -> Self {
        Self { run, seq }
    }

    /// The cursor that was written as this text.
    ///
    /// # Errors
    ///
    /// [`CursorError`].
    pub fn parse(text: &str) -> Result<Self, CursorError> {
        let (run, number) = text.rsplit_once(':').ok_or(CursorError::Form)?;
        let plain = number.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || (number.len() > 1 && number.starts_with('0')) {
            return Err(CursorError::Number);
        }
        match number.parse::<u64>() {
            Ok(seq) if seq <= crate::time::MAX_EXACT => Ok(Self { run: RunId::new(run)?, seq: Seq(seq) }),
            Ok(_) | Err(_) => Err(CursorError::Number),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.run, self.seq)
    }
}

/// What a reader begins after: a [`Cursor`], or a bare [`Seq`] where the run is known anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    pub(super) run: Option<RunId>,
    pub(super) seq: Seq,
}

impl After {
    /// Before the run's first event.
    pub const START: Self = Self { run: None, seq: Seq(0) };

    /// The position.
    pub const fn seq(&self) -> Seq {
        self.seq
    }
}

impl From<Seq> for After {
    fn from(seq: Seq) -> Self {
        Self { run: None, seq }
    }
}

impl From<Cursor> for After {
    fn from(cursor: Cursor) -> Self {
        Self { run: Some(cursor.run), seq: cursor.seq }
    }
}

impl From<&Cursor> for After {
    fn from(cursor: &Cursor) -> Self {
        cursor.clone().into()
    }
}
