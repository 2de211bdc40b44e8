//! Recorded data that tests read from outside of the project, where it is present.
//!
//! A test asks for [`root`], and says with [`used`] or [`skipped`] what came of it. Tests pass without the data; the
//! reports are how CI notices that data which is there was not used (`.ci/run` describes that side).

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder with the corpora: `RUNLOOM_CORPORA`, else `../shared/corpora` from the workspace's root, if it exists.
pub fn root() -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora");
    let root = std::env::var_os("RUNLOOM_CORPORA").map_or_else(default, PathBuf::from);
    root.is_dir().then_some(root)
}

/// Reports that the corpus `name` was read: how many files, and how many runs over them (with different chunk borders).
pub fn used(name: &str, files: usize, splits: usize) {
    report(&format!("{name}: {files} files, {splits} splits"));
}

/// Reports that the corpus `name` was not there.
pub fn skipped(name: &str) {
    report(&format!("{name}: skipped"));
}

/// Prints the line, and appends it to the file that `RUNLOOM_CORPORA_REPORT` names.
fn report(line: &str) {
    println!("corpora: {line}");
    if let Some(path) = std::env::var_os("RUNLOOM_CORPORA_REPORT") {
        append(Path::new(&path), line);
    }
}

fn append(path: &Path, line: &str) {
    let mut file =
        OpenOptions::new().append(true).create(true).open(path).expect("RUNLOOM_CORPORA_REPORT is writable");
    // One write for a whole line: several test programs may append at the same time.
    file.write_all(format!("{line}\n").as_bytes()).expect("the report takes a line");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_appended() {
        let path = std::env::temp_dir().join(format!("runloom-corpora-{}", std::process::id()));
        append(&path, "a: 2 files, 9 splits");
        append(&path, "b: skipped");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "a: 2 files, 9 splits\nb: skipped\n");
    }
}
