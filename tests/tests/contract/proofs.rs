//! Proofs as tests name them themselves: `// proves: R1, R2` above a test, `# proves: R1` at the top of a scenario; and
//! `bounds: delta; id` for the bounds of the contract's table, whose names hold commas.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const MILESTONES: [&str; 7] = [
    "tools and people",
    "steering, boundary inputs, compaction",
    "jobs and budgets",
    "the record",
    "every executor",
    "AG-UI",
    "the browser",
];

/// Proofs by rule, each as `file::test` or as the path of a scenario.
pub(crate) type Proofs = BTreeMap<String, BTreeSet<String>>;

fn texts(root: &Path, folder: &Path, ending: &str, into: &mut Vec<(String, String)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            texts(root, &path, ending, into);
        } else if path.to_string_lossy().ends_with(ending) {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            into.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The rules or bounds that a comment names, without its mark.
fn ids(comment: &str) -> Vec<String> {
    let (list, separator) = match (comment.strip_prefix("proves: "), comment.strip_prefix("bounds: ")) {
        (Some(list), _) => (list, ','),
        (None, Some(list)) => (list, ';'),
        (None, None) => return Vec::new(),
    };
    list.split(separator).map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect()
}

/// Everything that a test or a scenario says it proves.
pub(crate) fn annotations(root: &Path) -> Proofs {
    let mut found = Proofs::new();
    let mut sources = Vec::new();
    for folder in ["core/src", "adapters/src", "examples", "tests/tests"] {
        texts(root, &root.join(folder), ".rs", &mut sources);
    }
    for (path, text) in &sources {
        let mut pending: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix("// ") {
                pending.extend(ids(comment));
            } else if let Some((name, _)) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')) {
                for rule in pending.drain(..) {
                    found.entry(rule).or_default().insert(format!("{path}::{name}"));
                }
            }
        }
    }
    let mut scenarios = Vec::new();
    texts(root, &root.join("tests/scenarios"), ".txt", &mut scenarios);
    for (path, text) in &scenarios {
        for comment in text.lines().filter_map(|line| line.strip_prefix("# ")) {
            for rule in ids(comment) {
                found.entry(rule).or_default().insert(path.clone());
            }
        }
    }
    found
}

/// A row of a table of proofs.
pub(crate) struct Row {
    pub(crate) name: String,
    proofs: String,
    state: String,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> =
            line.strip_prefix("| ")?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let [name, proofs, state] = cells[..] else { return None };
        let heading = ["rule", "bound"].contains(&name) || name.starts_with("---");
        (!heading).then(|| Self { name: name.into(), proofs: proofs.into(), state: state.into() })
    }

    /// What is wrong with it, if something is.
    pub(crate) fn complaint(&self) -> Option<String> {
        let milestone = MILESTONES.iter().any(|milestone| self.state.contains(milestone));
        let open = self.state.starts_with("open: ") && milestone;
        (self.proofs.is_empty() && !open).then(|| format!("{}: neither a proof nor a milestone", self.name))
    }
}

/// The rows of the page.
pub(crate) fn rows(page: &str) -> Vec<Row> {
    page.lines().filter_map(Row::parse).collect()
}

/// Most proofs that a row shows.
const SHOWN: usize = 6;

/// The page with the proofs of `found` in its rows.
pub(crate) fn fill(page: &str, found: &Proofs) -> String {
    let mut written = String::new();
    for line in page.lines() {
        match Row::parse(line) {
            Some(row) => {
                let proofs = found.get(&row.name).map(shown).unwrap_or_default();
                let cells = [row.name.as_str(), &proofs, &row.state];
                let cells: Vec<String> = cells
                    .iter()
                    .map(|cell| if cell.is_empty() { " ".into() } else { format!(" {cell} ") })
                    .collect();
                written.push_str(&format!("|{}|", cells.join("|")));
            }
            None => written.push_str(line),
        }
        written.push('\n');
    }
    written
}

fn shown(proofs: &BTreeSet<String>) -> String {
    // Scenarios come first: they can be read without knowing the code.
    let mut all: Vec<&String> = proofs.iter().collect();
    all.sort_by_key(|proof| (!proof.ends_with(".txt"), *proof));
    let mut text: Vec<String> = all.iter().take(SHOWN).map(|proof| format!("`{proof}`")).collect();
    if all.len() > SHOWN {
        text.push(format!("and {} more", all.len() - SHOWN));
    }
    text.join(", ")
}
