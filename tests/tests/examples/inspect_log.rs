//! `inspect canonicalize` and `inspect log page`.

use crate::program::{Ended, command, run, run_with, start};
use serde_json::{Value, json};
use std::path::PathBuf;

fn canonicalize(json: &[u8]) -> Ended {
    run_with("inspect", &["canonicalize"], json)
}

// proves: L6
#[test]
fn canonical_json_is_bytes_and_nothing_else() {
    let Ended { code, out, err, .. } =
        canonicalize("{ \"é\": [1.0, 1e21],\n \"a\": \"\\u20ac\" }\n".as_bytes());
    assert_eq!((code, &*out, &*err), (Some(0), "{\"a\":\"€\",\"é\":[1,1e+21]}", ""));
    for (json, words) in [
        (&b"{\"a\":1,\"a\":2}"[..], "at byte 7: the name stands there twice"),
        (b"[1,]", "at byte 3: a value belongs there"),
        (b"", "at byte 0: a value belongs there"),
        (b"\"\\ud800\"", "at byte 1: half a surrogate pair"),
        (b"\"\xff\"", "at byte 1: not UTF-8"),
        (b"1 1", "at byte 2: trailing characters"),
        (b"1e999", "at byte 0: a number beyond the range of a double"),
    ] {
        let Ended { code, out, err, .. } = canonicalize(json);
        assert_eq!((code, &*out, err), (Some(1), "", format!("inspect: {words}\n")));
    }
    let deep = "[".repeat(1_000_000);
    let Ended { code, err, .. } = canonicalize(deep.as_bytes());
    assert_eq!((code, &*err), (Some(1), "inspect: at byte 128: nests deeper than 128\n"));
}

/// What has no end is refused at its bound, and not read for ever.
#[cfg(unix)]
#[test]
fn input_without_an_end_is_refused() {
    let zeros = std::fs::File::open("/dev/zero").unwrap();
    let Ended { code, err, .. } = start(command("inspect", &["canonicalize"]).stdin(zeros)).end();
    assert_eq!((code, &*err), (Some(1), "inspect: at byte 0: 67108865 bytes are more than 67108864\n"));
    let Ended { code, err, .. } = run("inspect", &["log", "page", "/dev/zero"]);
    let words = "inspect: /dev/zero: line 1: 268435457 bytes are more than 268435456\n";
    assert_eq!((code, &*err), (Some(1), words));
}

/// A file that is gone with its owner.
struct File(PathBuf);

impl File {
    fn with(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("runloom-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn page(&self, options: &[&str]) -> Ended {
        run("inspect", &[&["log", "page", self.name()], options].concat())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

// proves: L2, L4, L6
#[test]
fn pages_of_a_log_that_an_agent_wrote() {
    let Ended { code, out: log, .. } = run("agent", &["--json"]);
    assert_eq!(code, Some(0));
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    let latest = lines.len() as u64;
    let file = File::with("agent.jsonl", &log);
    let (mut after, mut read) = (0, String::new());
    loop {
        let Ended { code, out, err, .. } = file.page(&["--after", &after.to_string(), "--max-events", "7"]);
        assert_eq!((code, err.lines().count()), (Some(0), 1), "{err}");
        let facts: Value = serde_json::from_str(&err).unwrap();
        let last = (after + 7).min(latest);
        let expected = json!({
            "after": after, "closed": true, "earliest": 1, "has_more": last < latest, "last": last, "latest": latest,
        });
        assert_eq!(facts, expected);
        read.push_str(&out);
        after = last;
        if last == latest {
            break;
        }
    }
    assert_eq!(read, log, "byte for byte");
    let all = file.page(&[]);
    assert_eq!(all.out, lines[..100.min(lines.len())].concat());
    let first = (lines[0].len() - 1).to_string();
    assert_eq!(file.page(&["--max-bytes", &first]).out, lines[0]);
}

// proves: L4, L6
#[test]
fn what_is_no_page_is_told_in_one_line() {
    let delta = |seq: u64| {
        format!(
            "{{\"at\":0,\"kind\":\"text.delta\",\"payload\":{{\"text\":\"a\"}},\"run_id\":\"r\",\"seq\":{seq}}}\n"
        )
    };
    let file = File::with("tail.jsonl", &(delta(5) + &delta(6)));
    let size = delta(5).len() - 1;
    let small = (size - 1).to_string();
    let too_large =
        format!("replay_too_large, replay_bytes {size} of {small}: after 4 of 5 to 6; go on after 4");
    let refused = [
        (&file, &[][..], "cursor_behind: after 0 of 5 to 6; go on after 4"),
        (&file, &["--after", "7"], "cursor_ahead: after 7 of 5 to 6; go on after 6"),
        (&file, &["--after", "4", "--max-bytes", &small], &too_large),
        (&File::with("gap.jsonl", &(delta(5) + &delta(8))), &[], "line 2: event 8 where 6 follows"),
        (
            &File::with("space.jsonl", &delta(5).replace("5}", "5 }")),
            &[],
            "line 1: not canonical JSON from byte 71 on",
        ),
        (
            &File::with("kind.jsonl", &delta(5).replace("delta", "paused")),
            &[],
            "line 1: unknown kind \"text.paused\"",
        ),
        (&File::with("empty.jsonl", ""), &[], "line 1: no event"),
    ];
    for (file, options, words) in refused {
        let Ended { code, out, err, .. } = file.page(options);
        assert_eq!((code, &*out, err), (Some(1), "", format!("inspect: {}: {words}\n", file.name())));
    }
    let Ended { code, out, err, .. } = run("inspect", &["log", "page", "no/such/file"]);
    assert_eq!((code, &*out, err.lines().count()), (Some(1), "", 1), "{err}");
    assert!(err.starts_with("inspect: no/such/file: "), "{err}");
}
