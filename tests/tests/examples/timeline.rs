//! `inspect timeline`.

use crate::program::{Ended, recording, root, run};
use std::path::PathBuf;

/// A file with this text, which is gone with the value.
struct Log(PathBuf);

impl Log {
    fn new(name: &str, text: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("runloom-{}-{name}.jsonl", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn draw(&self) -> Ended {
        run("inspect", &["timeline", self.0.to_str().unwrap()])
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The events that a page holds, as their lines were.
fn embedded(page: &str) -> Vec<serde_json::Value> {
    let (_, behind) = page.split_once("<script type=\"application/json\" id=\"events\">").unwrap();
    serde_json::from_str(behind.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_log_becomes_one_page() {
    for name in ["journey.jsonl", "long-answer.jsonl"] {
        let path = root().join("examples/recordings").join(name);
        let Ended { code, out, err, .. } = run("inspect", &["timeline", path.to_str().unwrap()]);
        assert_eq!((code, &*err), (Some(0), ""));
        assert!(out.starts_with("<!doctype html>") && out.ends_with("</html>\n"));
        let log = String::from_utf8(recording(name)).unwrap();
        let events: Vec<serde_json::Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(embedded(&out), events);
    }
}

#[test]
fn what_a_model_wrote_stays_data() {
    let log = String::from_utf8(recording("journey.jsonl")).unwrap();
    assert!(log.contains("</script><script>alert(1)</script>"), "the sample tries");
    let line = r#"{"at":0,"kind":"text.delta","payload":{"a<b>":"<!-- <script> LINE","text":""},"run_id":"r","seq":2}"#;
    for log in [log.as_str(), &line.replace("LINE", "\u{2028}")] {
        let Ended { code, out, err, .. } = Log::new("data", log.as_bytes()).draw();
        assert_eq!((code, &*err), (Some(0), ""));
        assert_eq!(out.matches("<script").count(), 2, "the page's own");
        assert!(!out.contains("<!-- ") && !out.contains('\u{2028}') && !out.contains("<b>"));
    }
}

#[test]
fn parts_of_a_log_are_drawn_as_they_are() {
    let log = String::from_utf8(recording("journey.jsonl")).unwrap();
    let part: String = log.split_inclusive('\n').skip(5).take(9).collect();
    let Ended { code, out, .. } = Log::new("part", part.as_bytes()).draw();
    assert_eq!((code, embedded(&out).len()), (Some(0), 9));
}

#[test]
fn what_is_no_log_is_refused_with_its_line() {
    let event = |run: &str, seq: u32| {
        format!(r#"{{"at":0,"kind":"text.delta","payload":{{"text":"a"}},"run_id":"{run}","seq":{seq}}}"#)
    };
    for (log, named) in [
        (String::new(), "line 1: no event"),
        (event("r", 2) + "\n{\"at\":", "line 2"),
        (event("r", 2) + "\n" + &event("s", 3), "line 2"),
        (event("r", 3) + "\n" + &event("r", 2), "line 2"),
        (event("r", 2) + "\n" + &event("r", 4), "line 2"),
        (event("r", 2).replace("text.delta", "text.omega"), "text.omega"),
        (event("r", 2).replace(":0,", ": 0,"), "canonical"),
        ("data: {}".to_owned(), "line 1"),
    ] {
        let Ended { code, out, err, .. } = Log::new("bad", log.as_bytes()).draw();
        assert_eq!((code, &*out, err.lines().count()), (Some(1), "", 1), "{err}");
        assert!(err.contains(named), "{err}");
    }
    let Ended { code, out, err, .. } = run("inspect", &["timeline", "there-is-no-such-file.jsonl"]);
    assert_eq!((code, &*out, err.lines().count()), (Some(1), "", 1), "{err}");
    let Ended { code, err, .. } = run("inspect", &["timeline"]);
    assert!(code == Some(2) && err.contains("file"), "{err}");
}
