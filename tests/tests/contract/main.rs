//! The pages about the contract say what the code says: the table of events is generated from it, and every rule has
//! its row of proofs.
#![allow(clippy::unwrap_used)]

mod proofs;

use runloom_core::event::EventKind;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Where a kind's size comes from.
fn bound(kind: EventKind) -> &'static str {
    match kind {
        EventKind::RunCompleted => "response + 4 KiB",
        EventKind::TextDelta
        | EventKind::ReasoningDelta
        | EventKind::ReasoningSummaryDelta
        | EventKind::ToolCallDelta => "delta",
        EventKind::ToolProposed => "call arguments",
        EventKind::ToolUpdated => "progress",
        EventKind::ToolFinished => "tool output; closing event when interrupted",
        EventKind::ProviderDiagnostic => "facts",
        EventKind::ProviderWebSearch | EventKind::ProviderHostedTool => "4 KiB",
        _ => "closing event",
    }
}

fn table() -> String {
    let mut text =
        String::from("| kind | payload members | bound | opens or closes |\n| --- | --- | --- | --- |\n");
    for kind in EventKind::ALL {
        let members: Vec<String> = kind.members().split(", ").map(|member| format!("`{member}`")).collect();
        let members = members.join(", ").replace(
            "`problem{kind`, `message`, `retry_after_us?`, `status?}`",
            "`problem{kind, message, retry_after_us?, status?}`",
        );
        writeln!(text, "| `{}` | {members} | {} | {} |", kind.as_str(), bound(*kind), kind.effect()).unwrap();
    }
    text
}

#[test]
fn the_event_table_is_the_codes() {
    let page = read("docs/contract.md");
    let (begin, end) = ("<!-- event table -->\n", "<!-- end of event table -->");
    let at = page.find(begin).expect("the marker of the table") + begin.len();
    let stop = page.find(end).expect("the marker of its end");
    if std::env::var_os("REWRITE").is_some() {
        let new = format!("{}\n{}\n{}", &page[..at], table(), &page[stop..]);
        return std::fs::write(root().join("docs/contract.md"), new).unwrap();
    }
    assert_eq!(page[at..stop].trim(), table().trim(), "run again with REWRITE=1 and review the difference");
}

fn rules(page: &str) -> Vec<String> {
    let id = |line: &str| {
        let rest = line.strip_prefix("- **")?;
        let (id, _) = rest.split_once("**")?;
        let (letter, number) = id.split_at_checked(1)?;
        let is = letter.bytes().all(|b| b.is_ascii_uppercase()) && !number.is_empty();
        (is && number.bytes().all(|b| b.is_ascii_digit())).then(|| id.to_owned())
    };
    page.lines().filter_map(id).collect()
}

#[test]
fn every_rule_has_its_proofs() {
    let (contract, page) = (rules(&read("docs/contract.md")), read("docs/proofs.md"));
    let found = proofs::annotations(&root());
    let rows = proofs::rows(&page);
    let unknown: Vec<_> = found.keys().filter(|name| !rows.iter().any(|row| row.name == **name)).collect();
    assert!(unknown.is_empty(), "tests name rules or bounds that have no row: {unknown:?}");
    let written = proofs::fill(&page, &found);
    if std::env::var_os("REWRITE").is_some() {
        return std::fs::write(root().join("docs/proofs.md"), written).unwrap();
    }
    assert!(page == written, "docs/proofs.md is behind: run again with REWRITE=1 and review the difference");
    let mut wrong: Vec<String> = contract
        .iter()
        .filter(|rule| !rows.iter().any(|row| row.name == **rule))
        .map(|rule| format!("{rule}: no row"))
        .collect();
    wrong.extend(rows.iter().filter_map(proofs::Row::complaint));
    assert!(wrong.is_empty(), "docs/proofs.md:\n{}", wrong.join("\n"));
    assert!(contract.len() > 90, "only {} rules were found", contract.len());
}
