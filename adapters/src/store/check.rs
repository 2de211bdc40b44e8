//! Which lines of a write are new: what every store decides in the same way.

use super::{Line, StoreError};
use crate::core::id::RunId;
use crate::core::saved::ImportBounds;

/// Bounds that everything is within that was kept: what a session could hold when it was saved is what is read again.
pub(super) fn as_kept(bytes: usize) -> ImportBounds {
    let bytes = bytes as u64;
    ImportBounds { bytes, values: bytes }
}

/// The lines behind `last`. Those before it must be what `kept` says; between two and before the first none is missing.
pub(super) fn fresh<'l>(
    run: &RunId,
    last: u64,
    lines: &'l [Line],
    mut kept: impl FnMut(&Line) -> Result<bool, StoreError>,
) -> Result<&'l [Line], StoreError> {
    let from = lines.first().map_or(0, |first| first.number.clamp(1, last.saturating_add(1)));
    for (expected, line) in (from..).zip(lines) {
        if line.number != expected {
            return Err(StoreError::Gap { run: run.clone(), expected, found: line.number });
        }
        if line.number <= last && !kept(line)? {
            return Err(StoreError::Differs { run: run.clone(), number: line.number });
        }
    }
    let at = lines.partition_point(|line| line.number <= last);
    Ok(lines.get(at..).unwrap_or_default())
}
