//! Names of a server's tools that every provider takes.

use crate::text::Text;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sha2::Digest;

/// Longest name that a provider takes.
const LONGEST: usize = 64;
/// Characters of the hash that a changed name ends with, and the line before it.
const MARK: usize = 9;

/// The names under which a model gets to see tools that their server calls `names`: `prefix` and the name, where that is
/// 1 to 64 of `[a-zA-Z0-9_-]`; else what can be kept of it and a hash of the whole, such as `files_read_601e4eb6` for
/// `files.read`.
///
/// The result has one name for each of `names`, in their order. Equal names get equal results and different names get
/// different ones. As long as no hash of 32 bits comes twice, a tool's name depends on nothing but its own and the
/// prefix, so that a history stays good when a server gets more tools. What a prefix holds beyond those characters is
/// replaced as in a name, and of a prefix longer than 32 bytes the beginning counts.
pub fn tool_names(prefix: &str, names: &[Text]) -> Vec<Text> {
    let prefix: String = kept(prefix).take(LONGEST / 2).collect();
    let plain = |name: &str| {
        let whole = format!("{prefix}{name}");
        ((1..=LONGEST).contains(&whole.len()) && !name.is_empty() && kept(name).eq(name.chars()))
            .then_some(whole)
    };
    let mut taken: BTreeSet<String> = names.iter().filter_map(|name| plain(name)).collect();
    let mut changed: BTreeMap<&str, String> = BTreeMap::new();
    let odd: BTreeSet<&str> = names.iter().map(Text::as_str).filter(|name| plain(name).is_none()).collect();
    for name in odd {
        let mut round = 0;
        let safe = loop {
            let safe = marked(&prefix, name, round);
            if taken.insert(safe.clone()) {
                break safe;
            }
            round += 1;
        };
        changed.insert(name, safe);
    }
    let name = |name: &Text| plain(name).or_else(|| changed.get(name.as_str()).cloned()).unwrap_or_default();
    names.iter().map(|one| Text::from(name(one))).collect()
}

/// The characters of `text`, each that a name may not hold replaced.
fn kept(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
}

fn marked(prefix: &str, name: &str, round: u32) -> String {
    let mut hash = sha2::Sha256::new();
    hash.update(name.as_bytes());
    if round > 0 {
        hash.update(round.to_be_bytes());
    }
    let mut safe = String::from(prefix);
    safe.extend(kept(name).take(LONGEST.saturating_sub(prefix.len() + MARK)));
    safe.push('_');
    for byte in hash.finalize().iter().take(4) {
        safe.push_str(&format!("{byte:02x}"));
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolSpec;

    fn names(prefix: &str, names: &[&str]) -> Vec<Text> {
        tool_names(prefix, &names.iter().map(|name| Text::new(name)).collect::<Vec<_>>())
    }

    #[test]
    fn good_names_stay_and_others_become_good() {
        let long = "n".repeat(200);
        let odd = ["files.read", "files read", "files/read", "", "größe", &long, "a.b"];
        for prefix in ["", "fs_", "a b/", &"p".repeat(99)] {
            let all: Vec<&str> = odd.iter().copied().chain(["echo", "a_b", "x-Y_9"]).collect();
            let found = names(prefix, &all);
            assert_eq!(found.len(), all.len());
            for name in &found {
                assert!(ToolSpec::new(name.clone(), "", "{}").is_ok(), "{prefix:?}: {name}");
            }
            assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), all.len(), "{found:?}");
        }
        assert_eq!(names("", &["echo", "a.b"])[0], "echo");
        assert_eq!(names("fs_", &["echo"]), ["fs_echo"]);
        assert_eq!(names("", &["n"; 2]), ["n", "n"]);
        let read = names("", &["files.read"]).remove(0);
        assert!(read.starts_with("files_read_") && read.len() == "files_read_".len() + 8, "{read}");
    }

    #[test]
    fn a_name_depends_on_itself_only() {
        let alone = names("", &["a.b"]).remove(0);
        for others in [&["x", "a.b"][..], &["a.b", "a/b", "a b"], &["z.z", "a_b", "a.b"]] {
            let at = others.iter().position(|name| *name == "a.b").unwrap();
            assert_eq!(names("", others)[at], alone);
        }
    }

    #[test]
    fn a_name_that_looks_like_a_changed_one_takes_nothing_from_it() {
        let taken = names("", &["a.b"]).remove(0);
        let found = names("", &["a.b", &taken]);
        assert_eq!(found[1], taken);
        assert_ne!(found[0], taken);
    }
}
