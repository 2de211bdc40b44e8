//! Rules about the text of the project that no compiler checks.
//!
//! Each rule is a function from texts to findings (`file:line: what`), so that its test can show it failing.

mod mutations;
mod scan;

use scan::{code_only, functions, line_of, test_modules, without_tests, words};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const MOST_LINES_OF_A_FILE: usize = 500;
const MOST_LINES_OF_A_FUNCTION: usize = 70;

/// Time and iteration order come in as inputs; only so do equal inputs give equal logs. Test code is no exception.
const UNREPEATABLE: [&str; 5] = ["Instant::now", "SystemTime::now", "thread::sleep", "HashMap", "HashSet"];
const NEEDS_STD: [&str; 2] = ["std::", "extern crate std"];
const PANICS: [&str; 3] = [".unwrap()", ".expect(", "panic!("];
const LEFT_OVER: [&str; 4] = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore"];

// Put together here, so that this file does not hold what it looks for.
const MARKS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const MACHINE: [&str; 8] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("deb.debian", ".org"),
];

/// A text file of the project; the path is relative to its root.
struct Text {
    path: String,
    text: String,
}

impl Text {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Written in a language whose files are to be short.
    fn is_program(&self) -> bool {
        [".rs", ".js", ".mjs", ".css"].iter().any(|ending| self.path.ends_with(ending))
    }

    fn is_core(&self) -> bool {
        self.is_rust() && self.path.starts_with("core/src/")
    }

    /// Written by people, as opposed to locks, licences and recorded data.
    fn is_written(&self) -> bool {
        let endings = [".rs", ".md", ".toml", ".sh", ".py", ".js", ".mjs", ".ts", ".css", ".html"];
        self.path.starts_with(".ci/") || endings.iter().any(|ending| self.path.ends_with(ending))
    }

    fn finding(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// A finding for each place of each needle in `code`, a form of this text with the same lines.
    fn each(&self, code: &str, needles: &[&str]) -> Vec<String> {
        let mut found = BTreeSet::new();
        for needle in needles {
            found.extend(words(code, needle).into_iter().map(|at| (line_of(code, at), needle)));
        }
        found.into_iter().map(|(line, needle)| self.finding(line, needle)).collect()
    }
}

fn long_files(texts: &[Text]) -> Vec<String> {
    let long =
        texts.iter().filter(|text| text.is_program() && text.text.lines().count() > MOST_LINES_OF_A_FILE);
    long.map(|text| {
        text.finding(MOST_LINES_OF_A_FILE + 1, format!("file of {} lines", text.text.lines().count()))
    })
    .collect()
}

fn long_functions(texts: &[Text]) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts.iter().filter(|text| text.is_rust()) {
        let code = code_only(&text.text);
        let long = functions(&code).into_iter().filter(|function| function.lines > MOST_LINES_OF_A_FUNCTION);
        found.extend(long.map(|f| text.finding(f.line, format!("{} has {} lines", f.name, f.lines))));
    }
    found
}

fn unrepeatable_core(texts: &[Text]) -> Vec<String> {
    let core = texts.iter().filter(|text| text.is_core());
    core.flat_map(|text| text.each(&code_only(&text.text), &UNREPEATABLE)).collect()
}

/// What the shipped part of the core holds of `needles`.
fn in_shipped_core(texts: &[Text], needles: &[&str]) -> Vec<String> {
    let core: Vec<_> =
        texts.iter().filter(|text| text.is_core()).map(|text| (text, code_only(&text.text))).collect();
    let tests: Vec<_> = core.iter().flat_map(|(text, code)| test_files(&text.path, code)).collect();
    let shipped = core.iter().filter(|(text, _)| !tests.iter().any(|test| text.path.starts_with(test)));
    shipped.flat_map(|(text, code)| text.each(&without_tests(code), needles)).collect()
}

/// The files of modules that a file declares under `#[cfg(test)]`, as beginnings of paths.
fn test_files(path: &str, code: &str) -> Vec<String> {
    let folder = ["lib.rs", "mod.rs"].iter().find_map(|root| path.strip_suffix(root).map(str::to_owned));
    let folder = folder.unwrap_or_else(|| path.trim_end_matches(".rs").to_owned() + "/");
    let files = |name: String| [format!("{folder}{name}.rs"), format!("{folder}{name}/")];
    test_modules(code).into_iter().flat_map(files).collect()
}

fn left_over(texts: &[Text]) -> Vec<String> {
    let code =
        texts.iter().filter(|text| text.is_rust()).map(|text| text.each(&code_only(&text.text), &LEFT_OVER));
    let marks = texts.iter().filter(|text| text.is_written()).map(|text| text.each(&text.text, &MARKS));
    code.chain(marks).flatten().collect()
}

/// Paths and hosts of one machine. A path counts where it begins, not inside a longer one.
fn machines(texts: &[Text]) -> Vec<String> {
    let begins =
        |text: &str, at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-.$}~*".contains(c));
    let mut found = Vec::new();
    for text in texts {
        for needle in MACHINE {
            let places = text.text.match_indices(needle).filter(|(at, _)| begins(&text.text, *at));
            found.extend(places.map(|(at, _)| text.finding(line_of(&text.text, at), needle)));
        }
    }
    found
}

/// What threads share, brought in past `sync.rs`, where a model checker could not stand in for it.
fn unchecked_sharing(texts: &[Text]) -> Vec<String> {
    const SHARED: [&str; 6] = ["Mutex", "RwLock", "Condvar", "Once", "mpsc", "atomic"];
    let adapters = texts.iter().filter(|text| {
        text.path.starts_with("adapters/src/") && text.is_rust() && text.path != "adapters/src/sync.rs"
    });
    let brings = |line: &str| line.contains("std::sync") && SHARED.iter().any(|word| line.contains(word));
    adapters
        .flat_map(|text| {
            let code = code_only(&text.text);
            let lines: Vec<usize> =
                code.lines().enumerate().filter(|(_, line)| brings(line)).map(|(at, _)| at + 1).collect();
            lines.into_iter().map(|line| text.finding(line, "std::sync")).collect::<Vec<_>>()
        })
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is a folder of the workspace")
        .to_owned()
}

/// Every text file: what git knows or would add, or all that is no build product where git does not answer.
fn project() -> Vec<Text> {
    let root = root();
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .ok()
        .filter(|output| output.status.success());
    let paths: BTreeSet<String> = match listed {
        Some(output) => {
            String::from_utf8_lossy(&output.stdout).split_terminator('\0').map(str::to_owned).collect()
        }
        None => walk(&root, &root),
    };
    let read = |path: String| Some(Text { text: std::fs::read_to_string(root.join(&path)).ok()?, path });
    let texts: Vec<_> = paths.into_iter().filter_map(read).collect();
    assert!(texts.iter().any(|text| text.path == "core/src/lib.rs"), "the list of files lacks the core");
    texts
}

fn walk(root: &Path, folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() && !["target", "node_modules", ".git"].iter().any(|skipped| name == *skipped) {
            found.extend(walk(root, &path));
        } else if kind.is_file() {
            let path = path.strip_prefix(root).expect("inside of the root");
            found.insert(path.to_string_lossy().replace('\\', "/"));
        }
    }
    found
}

#[track_caller]
fn assert_none(rule: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn files_and_functions_are_short() {
    let texts = project();
    assert_none("files of more than 500 lines", long_files(&texts));
    assert_none("functions of more than 70 lines", long_functions(&texts));
}

// proves: X1
#[test]
fn the_core_has_no_clock_and_no_random_order() {
    assert_none("not for the core, not even in its tests", unrepeatable_core(&project()));
}

// proves: X1
#[test]
fn the_core_needs_no_std_and_does_not_panic() {
    let texts = project();
    assert_none("std outside of #[cfg(test)]", in_shipped_core(&texts, &NEEDS_STD));
    let mut panics = in_shipped_core(&texts, &PANICS);
    // The one panic on purpose, which tests plant to show how a run closes after a defect.
    panics.retain(|line| !line.starts_with("core/src/planted.rs:"));
    assert_none("panics outside of #[cfg(test)]", panics);
}

#[test]
fn atomics_and_locks_come_from_one_place() {
    assert_none("shared past adapters/src/sync.rs", unchecked_sharing(&project()));
    let text = |path: &str, text: &str| Text { path: path.into(), text: text.into() };
    let bad = [
        text("adapters/src/a.rs", "use std::sync::{Arc, Mutex};"),
        text("adapters/src/sync.rs", "use std::sync::Mutex;"),
    ];
    assert_eq!(unchecked_sharing(&bad).len(), 1);
}

#[test]
fn nothing_is_left_over() {
    assert_none("left over", left_over(&project()));
}

#[test]
fn no_text_names_a_machine() {
    assert_none("paths and hosts of one machine", machines(&project()));
}

#[test]
fn walking_finds_what_git_lists() {
    let walked = walk(&root(), &root());
    let missing: Vec<_> =
        project().into_iter().map(|text| text.path).filter(|path| !walked.contains(path)).collect();
    assert_none("not found by walking", missing);
}

/// One text, as the rules take it.
fn planted(path: &str, text: impl Into<String>) -> [Text; 1] {
    [Text { path: path.to_owned(), text: text.into() }]
}

#[test]
fn long_texts_are_found() {
    assert!(long_files(&planted("core/src/a.rs", "\n".repeat(500))).is_empty());
    assert_eq!(
        long_files(&planted("core/src/a.rs", "\n".repeat(501))),
        ["core/src/a.rs:501: file of 501 lines"]
    );
    let function = |lines: usize| format!("\nfn long() {{{}}}\n", "\n".repeat(lines - 1));
    assert!(long_functions(&planted("wasm/src/a.rs", function(70))).is_empty());
    assert_eq!(
        long_functions(&planted("wasm/src/a.rs", function(71))),
        ["wasm/src/a.rs:2: long has 71 lines"]
    );
}

#[test]
fn clocks_and_hash_maps_are_found() {
    let text = "// HashMap\nuse a::HashMap;\n#[cfg(test)]\nmod tests {\n    fn t() { Instant::now() }\n}\n";
    let expected = ["core/src/a.rs:2: HashMap", "core/src/a.rs:5: Instant::now"];
    assert_eq!(unrepeatable_core(&planted("core/src/a.rs", text)), expected);
    assert!(unrepeatable_core(&planted("adapters/src/a.rs", text)).is_empty());
}

#[test]
fn std_and_panics_are_found() {
    let text = "use std::fmt;\nfn f() { a.unwrap(); }\n#[cfg(test)]\nmod tests {\n    use std::vec;\n    fn t() { panic!() }\n}\n";
    let texts = planted("core/src/a.rs", text);
    assert_eq!(in_shipped_core(&texts, &NEEDS_STD), ["core/src/a.rs:1: std::"]);
    assert_eq!(in_shipped_core(&texts, &PANICS), ["core/src/a.rs:2: .unwrap()"]);
}

#[test]
fn files_of_test_modules_may_panic() {
    let [module] = planted("core/src/phase/mod.rs", "#[cfg(test)]\nmod tests;\nmod other;\n");
    let [tests] = planted("core/src/phase/tests.rs", "fn t() { panic!() }");
    let [other] = planted("core/src/phase/other.rs", "#[cfg(test)]\nmod inner;\nfn t() { panic!() }");
    let [inner] = planted("core/src/phase/other/inner.rs", "fn t() { panic!() }");
    let found = in_shipped_core(&[module, tests, other, inner], &PANICS);
    assert_eq!(found, ["core/src/phase/other.rs:3: panic!("]);
}

#[test]
fn left_overs_are_found() {
    let text = "#[ignore]\nfn f() { todo!() }\nlet s = \"dbg!(\"; dbg!(s);\n";
    let expected = ["a.rs:1: #[ignore", "a.rs:2: todo!(", "a.rs:3: dbg!("];
    assert_eq!(left_over(&planted("a.rs", text)), expected);
    let marked = format!("// {}: later\n", MARKS[0]);
    assert_eq!(left_over(&planted("a.md", marked.clone())).len(), 1);
    assert!(left_over(&planted("Cargo.lock", marked)).is_empty());
}

#[test]
fn machines_are_found() {
    for needle in MACHINE {
        assert_eq!(
            machines(&planted("a.jsonl", format!("\n\"{needle}x\""))),
            [format!("a.jsonl:2: {needle}")]
        );
    }
    assert!(machines(&planted("a.md", format!("target{}a", MACHINE[0]))).is_empty());
}
