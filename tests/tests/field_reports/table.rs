//! The tables of reports and of the reference's conflicts against the corpus and against the tests.

use runloom_tests::corpora;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Areas whose reports all have a row.
const AREAS: [&str; 8] =
    ["host-input", "history", "tool-assembly", "loop", "tool-batch", "durable", "steering", "compaction"];

#[derive(Debug, PartialEq, Eq)]
struct Row {
    id: String,
    verdict: String,
    detail: String,
    tests: Vec<String>,
}

/// The rows of the table: id, verdict, detail, names of tests.
fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id |"));
    let lines = lines.filter(|line| !line.starts_with("| ---"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 4, "{line}");
            let tests = cells[3].split(' ').map(|name| name.trim_matches('`').to_owned());
            Row {
                id: cells[0].to_owned(),
                verdict: cells[1].to_owned(),
                detail: cells[2].to_owned(),
                tests: tests.filter(|name| !name.is_empty()).collect(),
            }
        })
        .collect()
}

/// What is wrong with a row, given all names of tests and milestones.
fn faults(row: &Row, tests: &BTreeSet<String>, milestones: &str) -> Vec<String> {
    let mut found: Vec<String> = row.tests.iter().filter(|name| !tests.contains(*name)).cloned().collect();
    let proper = match row.verdict.as_str() {
        "applies" => !row.tests.is_empty(),
        "differs" => !row.tests.is_empty() && !row.detail.is_empty(),
        "later" => milestones.contains(row.detail.as_str()) && !row.detail.is_empty(),
        _ => false,
    };
    if !proper {
        found.push(format!("{:?}", row));
    }
    found.into_iter().map(|what| format!("{}: {what}", row.id)).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The names of all functions in test files.
fn functions(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.split('(').next());
            into.extend(names.map(str::to_owned));
        }
    }
}

/// The line of the proofs' page that names the milestones.
fn milestones() -> String {
    let page = std::fs::read_to_string(root().join("docs/proofs.md")).unwrap();
    let (_, rest) = page.split_once("The milestones are: ").unwrap();
    rest.split("\n\n").next().unwrap().replace('\n', " ")
}

/// The ids of a table whose rows all name tests that exist, or a milestone.
fn checked(file: &str) -> BTreeSet<String> {
    let table = std::fs::read_to_string(root().join(file)).unwrap();
    let mut tests = BTreeSet::new();
    functions(&root().join("tests/tests"), &mut tests);
    let (rows, milestones) = (rows(&table), milestones());
    let wrong: Vec<_> = rows.iter().flat_map(|row| faults(row, &tests, &milestones)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let ids: BTreeSet<_> = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!(ids.len(), rows.len(), "an id stands there twice");
    ids
}

#[test]
fn each_row_names_tests_that_exist_or_a_milestone() {
    assert!(!checked("tests/field-reports.md").is_empty());
}

#[test]
fn each_conflict_and_defect_of_the_reference_has_a_row() {
    let numbered = |letter: char, n: usize| (1..=n).map(move |n| format!("{letter}{n}"));
    let all: BTreeSet<String> = numbered('A', 8).chain(numbered('W', 17)).collect();
    assert_eq!(checked("tests/rho-conflicts.md"), all);
}

#[test]
fn each_defect_of_an_earlier_log_has_a_row() {
    let all: BTreeSet<String> = (1..=9).map(|n| format!("D{n}")).collect();
    assert_eq!(checked("tests/log-defects.md"), all);
}

#[test]
fn each_report_has_a_row() {
    let Some(corpora) = corpora::root() else { return corpora::skipped("field-reports") };
    let text = std::fs::read_to_string(corpora.join("field-reports.jsonl")).unwrap();
    let table = std::fs::read_to_string(root().join("tests/field-reports.md")).unwrap();
    let known: BTreeSet<_> = rows(&table).into_iter().map(|row| row.id).collect();
    let mut all = BTreeSet::new();
    let mut missing = Vec::new();
    for line in text.lines() {
        let report: serde_json::Value = serde_json::from_str(line).unwrap();
        let (id, area) = (report["id"].as_str().unwrap(), report["area"].as_str().unwrap());
        all.insert(id.to_owned());
        if AREAS.contains(&area) && !known.contains(id) {
            missing.push(format!("{id} ({area})"));
        }
    }
    assert!(missing.is_empty(), "no row for {}", missing.join(", "));
    let gone: Vec<_> = known.difference(&all).collect();
    assert!(gone.is_empty(), "rows without a report: {gone:?}");
    corpora::used("field-reports", 1, 1);
}

#[test]
fn bad_rows_are_found() {
    let tests: BTreeSet<String> = ["good".to_owned()].into();
    let table = "| id | verdict | detail | tests |\n| --- | --- | --- | --- |\n\
                 | A-1 | applies | | `good` |\n| A-2 | applies | | |\n| A-3 | applies | | `gone` |\n\
                 | A-4 | later | never | |\n| A-5 | differs | | `good` |\n| A-6 | later | the record | |\n";
    let wrong: Vec<_> = rows(table)
        .iter()
        .filter(|row| !faults(row, &tests, "the record").is_empty())
        .map(|row| row.id.clone())
        .collect();
    assert_eq!(wrong, ["A-2", "A-3", "A-4", "A-5"]);
}
