//! The list of mutations fits the tree: each text stands where it says, exactly once, and each proof exists.
//!
//! The format is described at the head of `tests/mutations/spine.txt`; `.ci/mutations.py` applies it.

use crate::{Text, assert_none, project};
use std::collections::{BTreeMap, BTreeSet};

type Mutation = BTreeMap<String, String>;

fn mutations(list: &str) -> Vec<Mutation> {
    let mut found = vec![Mutation::new()];
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        match (line.split_once(':'), found.last_mut()) {
            (Some((key, value)), Some(last)) => {
                last.insert(key.into(), value.trim().into());
            }
            _ => found.push(Mutation::new()),
        }
    }
    found.retain(|mutation| !mutation.is_empty());
    found
}

/// What is wrong with a mutation, if something is.
fn complaint(mutation: &Mutation, texts: &BTreeMap<&str, &str>) -> Option<String> {
    let keys: Vec<&str> = mutation.keys().map(String::as_str).collect();
    if keys != ["file", "from", "proof", "rule", "to", "what"] {
        return Some(format!("{keys:?} are not the lines of a mutation"));
    }
    let Some(text) = texts.get(mutation["file"].as_str()) else {
        return Some(format!("there is no {}", mutation["file"]));
    };
    let count = text.matches(&mutation["from"]).count();
    if count != 1 || mutation["from"] == mutation["to"] {
        return Some(format!("{:?} stands in {} {count} times", mutation["from"], mutation["file"]));
    }
    let function = |folder: &str, name: &str| {
        let needle = format!("fn {name}()");
        texts.iter().any(|(path, text)| path.starts_with(folder) && text.contains(&needle))
    };
    let exists = match mutation["proof"].split_once(' ') {
        Some(("scenario", name)) => texts.contains_key(format!("tests/scenarios/{name}.txt").as_str()),
        Some(("core", name)) => function("tests/tests/core/", name),
        Some(("agui", name)) => function("tests/tests/agui/", name),
        Some(("observers", name)) => function("tests/tests/observers/", name),
        Some(("keeper", name)) => function("tests/tests/keeper/", name),
        Some(("stores", name)) => function("tests/tests/stores/", name),
        Some(("unit", name)) => function("core/src/", name),
        _ => false,
    };
    (!exists).then(|| format!("there is no proof {:?}", mutation["proof"]))
}

fn wrong(texts: &[Text]) -> Vec<String> {
    let by_path: BTreeMap<&str, &str> =
        texts.iter().map(|text| (text.path.as_str(), text.text.as_str())).collect();
    let lists = texts.iter().filter(|text| text.path.starts_with("tests/mutations/"));
    let mut found = Vec::new();
    for list in lists {
        for mutation in mutations(&list.text) {
            let what = mutation.get("what").cloned().unwrap_or_default();
            found.extend(
                complaint(&mutation, &by_path).map(|wrong| format!("{}: {what}: {wrong}", list.path)),
            );
        }
    }
    found
}

#[test]
fn mutations_fit_the_tree() {
    let texts = project();
    assert_none("mutations that do not fit", wrong(&texts));
    let lists = texts.iter().filter(|text| text.path.starts_with("tests/mutations/"));
    let all: Vec<Mutation> = lists.flat_map(|list| mutations(&list.text)).collect();
    let rules: BTreeSet<&str> = all.iter().map(|mutation| mutation["rule"].as_str()).collect();
    let wanted = ["T1", "T2", "T3", "T4", "T5", "T6", "H1", "H2", "H6", "C5", "C6", "E7", "R10"];
    let missing: Vec<_> = wanted.into_iter().filter(|rule| !rules.contains(rule)).map(String::from).collect();
    assert_none("rules without a mutation", missing);
    println!("{} mutations of {} rules", all.len(), rules.len());
}

#[test]
fn mutations_that_do_not_fit_are_found() {
    let text = |path: &str, text: &str| Text { path: path.into(), text: text.into() };
    let block = "rule: R1\nwhat: w\nfile: core/src/a.rs\nfrom: a > b\nto: a < b\nproof: scenario s\n";
    let tree = |list: &str| {
        wrong(&[
            text("tests/mutations/x.txt", list),
            text("core/src/a.rs", "if a > b { x(); x(); }\nfn t() {}"),
            text("tests/scenarios/s.txt", ""),
        ])
    };
    assert!(tree(&format!("# c\n\n{block}\n{block}")).is_empty());
    assert_eq!(tree(&block.replace("a > b", "x();")).len(), 1, "it stands there twice");
    assert_eq!(tree(&block.replace("a.rs", "b.rs")).len(), 1, "there is no such file");
    assert_eq!(tree(&block.replace("scenario s", "scenario t")).len(), 1, "there is no such proof");
    assert_eq!(tree(&block.replace("to: a < b\n", "")).len(), 1, "a line is missing");
    assert!(tree(&block.replace("scenario s", "unit t")).is_empty());
}
