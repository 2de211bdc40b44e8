//! `inspect`: canonical JSON, and pages of recorded logs.

use crate::cli::UsageError;
use runloom_core::canonical::{self, Bounds, CanonicalError};
use runloom_core::id::Seq;
use runloom_core::json::Object;
use runloom_core::reader::ReadBounds;
use runloom_core::record::{RecordBounds, RecordedLog};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// The canonical form of one JSON value.
///
/// # Errors
///
/// What is wrong with the text, and at which byte.
pub fn canonicalize(json: &[u8]) -> Result<Vec<u8>, CanonicalError> {
    canonical::canonicalize(json, &Bounds::default())
}

/// Which page of which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOf {
    /// The file: a recorded log.
    pub file: PathBuf,
    /// The event that it follows.
    pub after: Seq,
    /// Its bounds.
    pub bounds: ReadBounds,
}

impl PageOf {
    /// Events and bytes of a page of which nobody said otherwise.
    pub const BOUNDS: ReadBounds = ReadBounds::new(100, 1 << 20);

    /// From the file's name and options without their dashes.
    ///
    /// # Errors
    ///
    /// If an option is no number, or a bound is zero.
    pub fn parse(file: OsString, options: &[(String, String)]) -> Result<Self, UsageError> {
        let mut page = Self { file: file.into(), after: Seq(0), bounds: Self::BOUNDS };
        for (name, text) in options {
            let least = u64::from(name != "after");
            let number = text.parse().ok().filter(|number| *number >= least);
            let Some(number) = number else {
                return Err(UsageError::new(format_args!(
                    "--{name} takes a whole number from {least} on, not {text:?}"
                )));
            };
            match name.as_str() {
                "after" => page.after = Seq(number),
                "max-events" => page.bounds.events = number,
                _ => page.bounds.bytes = number,
            }
        }
        Ok(page)
    }

    /// The page's lines, and where it stands in the log.
    ///
    /// # Errors
    ///
    /// In one line: the file cannot be read, is no recorded log, or has no such page.
    pub fn read(&self) -> Result<(String, String), String> {
        let (bounds, mut bytes) = (RecordBounds::default(), Vec::new());
        // One byte more than a log may have tells that there are more.
        let file = File::open(&self.file).map_err(|error| error.to_string())?;
        file.take(bounds.bytes + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let log = RecordedLog::read(&bytes, &bounds).map_err(|error| error.to_string())?;
        let page = log.page(self.after, self.bounds).map_err(|error| error.to_string())?;
        let lines = page.events.iter().map(|event| event.to_json() + "\n").collect();
        let mut facts = Vec::new();
        let mut object = Object::begin(&mut facts);
        object
            .u64("after", self.after.0)
            .bool("closed", page.closed)
            .u64("earliest", page.earliest.0)
            .bool("has_more", page.has_more)
            .u64("last", page.last.0)
            .u64("latest", page.latest.0);
        object.end();
        Ok((lines, String::from_utf8_lossy(&facts).into_owned()))
    }
}
