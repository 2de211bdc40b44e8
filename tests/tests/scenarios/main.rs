//! Transcripts: what a run makes of each input, in full.
//!
//! A file of `tests/scenarios` is a script, a line `----`, and what must come of it. Its first lines are comments: which
//! rules of the contract it proves (`# proves: R1, R4`), and what it is about. `REWRITE=1` writes what comes of the
//! scripts now; the difference is to be read.
//!
//! Setup: `limits` `least_log` `deadlines` `retry` `pointer` `facts` `tool_spec` `history` `history_bounds` `revision`
//! `unattended` `cancelled` `answerers` `suspends` `observers`. Time: `at` `later`. Inputs: `start` `wake` `quiet` `take` `gone`
//! `cancel` `abort` `tool` `prepared` `unprepared` `allow` `deny` `mistake` `ask_people` `respond` `responder`
//! `handle_gone` `observed` `refused` `suspend` `resume` (in a fresh machine) `recover [unattended] [answerers]` `visibility`,
//! and what a model yields: `text` `refusal` `reasoning` `summary` `piece` `call` `call_end`
//! `usage` `tokens` `context` `retry_request` `search` `hosted` `fact` `alive` `done` `fail`. Around them: `repeat`
//! `silent`. To look: `history` `request` `requests` `offered` `log` `late`. And `panic`: the machine has a defect.

mod actions;
mod additions;
mod cuts;
mod people;
mod setup;
mod spans;
mod stage;
mod words;

use runloom::testing::transcript::difference;
use stage::Stage;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const LINE: &str = "----\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn files() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("the folder of scenarios");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("a text"))
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn scenarios() {
    let rewrite = std::env::var_os("REWRITE").is_some_and(|value| value == "1");
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let mut wrong = Vec::new();
    for (name, text) in files().into_iter().filter(|(name, _)| name.contains(&only)) {
        let (script, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let actual = Stage::play(script);
        if rewrite {
            let path = folder().join(format!("{name}.txt"));
            std::fs::write(path, format!("{}\n{LINE}{actual}", script.trim_end()))
                .expect("the folder is writable");
        } else if let Some(difference) = difference(expected, &actual) {
            wrong.push(format!("{name}.txt, below the line: {difference}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nREWRITE=1 writes what is there now", wrong.join("\n"));
}

/// The rules that a scenario's header names.
fn proves(text: &str) -> Vec<&str> {
    let header = text.lines().find_map(|line| line.strip_prefix("# proves:")).unwrap_or_default();
    header.split(',').map(str::trim).filter(|rule| !rule.is_empty()).collect()
}

#[test]
fn every_scenario_names_rules_that_exist() {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract.md");
    let contract = std::fs::read_to_string(contract).expect("the contract");
    let rule = |line: &str| line.strip_prefix("- **")?.split_once("**").map(|(id, _)| id.to_owned());
    let rules: BTreeSet<String> = contract.lines().filter_map(rule).collect();
    let mut proven = BTreeSet::new();
    for (name, text) in files() {
        let named = proves(&text);
        assert!(!named.is_empty() || name.starts_with("bounds"), "{name}.txt names no rule");
        for id in named {
            assert!(rules.contains(id), "{name}.txt names {id}, which is no rule");
            proven.insert(id.to_owned());
        }
    }
    println!("scenarios about {} rules: {}", proven.len(), proven.into_iter().collect::<Vec<_>>().join(" "));
}
