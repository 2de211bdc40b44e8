//! README.md and the guide about people as texts. Their Rust code is compiled and run by the documentation tests of this
//! package (`src/lib.rs`).

use std::path::Path;

/// What a fenced block may be. Rust that is not run would be code that nobody checks.
const KINDS: [&str; 10] =
    ["console", "js", "json", "jsonl", "mermaid", "rust", "rust,no_run", "sh", "text", "toml"];

/// Blocks whose kind is missing or unknown. A block without a kind would be taken for Rust.
fn bad_fences(text: &str) -> Vec<String> {
    let fences = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("```"));
    let opening = fences.step_by(2).map(|(at, line)| (at + 1, line.trim().trim_start_matches('`')));
    opening
        .filter(|(_, kind)| !KINDS.contains(kind))
        .map(|(line, kind)| format!("{line}: ```{kind}"))
        .collect()
}

/// Links to files that do not exist in `root`.
fn dead_links(text: &str, root: &Path) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
    let files = targets.filter(|target| !target.is_empty() && !target.contains(':'));
    files.filter(|target| !root.join(target).exists()).map(str::to_owned).collect()
}

#[test]
fn readme_can_be_checked() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is a folder of the workspace");
    for page in ["README.md", "docs/people.md", "docs/reading.md", "docs/durability.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect(page);
        let folder = root.join(page);
        let (fences, links) = (bad_fences(&text), dead_links(&text, folder.parent().expect("a folder")));
        assert!(fences.is_empty(), "{page}: blocks need one of the kinds {KINDS:?}:\n{}", fences.join("\n"));
        assert!(links.is_empty(), "{page}: links to files that do not exist:\n{}", links.join("\n"));
    }
}

#[test]
fn bad_readmes_are_found() {
    let text = "```rust\n```\n```rust,ignore\n```\n  ```\n  ```\n```sh\n```\n";
    assert_eq!(bad_fences(text), ["3: ```rust,ignore", "5: ```"]);
    let links = "[a](Cargo.toml) [b](https://example.org) [c](#part) [d](src/lib.rs#L1) [e](gone.md)";
    assert_eq!(dead_links(links, Path::new(env!("CARGO_MANIFEST_DIR"))), ["gone.md"]);
}
