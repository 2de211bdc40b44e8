//! What a suite found.

use std::fmt;

/// One scenario on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The scenario's name.
    pub scenario: &'static str,
    /// A hash of the scenario's logs: equal on all hosts. `None` where the logs are not a matter of the scenario.
    pub hash: Option<u64>,
    /// What was measured, for people.
    pub measured: String,
    /// What is wrong; `None` if nothing is.
    pub failure: Option<String>,
}

/// What a [`Suite`](super::Suite) found, one row for each scenario. `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The host's name.
    pub host: String,
    /// The scenarios, in the order in which they were played.
    pub rows: Vec<Row>,
}

impl Report {
    /// The rows with a failure.
    pub fn failures(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.failure.is_some())
    }

    /// The row of this scenario.
    pub fn row(&self, scenario: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.scenario == scenario)
    }

    /// Ends the test if there is a failure.
    ///
    /// # Panics
    ///
    /// If a row has one; the message is the report.
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.failures().next().is_none(), "the host does not conform:\n{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let hash = row.hash.map_or_else(|| "-".to_owned(), |hash| format!("{hash:016x}"));
            let state = if row.failure.is_some() { "FAILED" } else { "ok" };
            writeln!(f, "{:<26} {:<10} {state:<6} {hash:<16} {}", self.host, row.scenario, row.measured)?;
            if let Some(failure) = &row.failure {
                writeln!(f, "    {failure}")?;
            }
        }
        Ok(())
    }
}

/// A hash of `text` that is the same everywhere (FNV-1a).
pub(super) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
