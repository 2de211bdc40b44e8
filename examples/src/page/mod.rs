//! A run's log as one self-contained page: the renderer of `wasm/www/timeline`, its style and the events in one file.
//!
//! The page asks for nothing from outside. Its policy names the hashes of its one script and its one style, so that
//! nothing else runs, whatever a model or a tool has written; and the events stand in it as data that cannot end their
//! element.

mod script;

use runloom_core::record::{RecordBounds, RecordError, RecordedLog};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../../../wasm/www/timeline/timeline.css");
/// What stands around the drawing.
const AROUND: &str = "body { margin: 0; background: #fff; }\n@media (prefers-color-scheme: dark) { body { background: #15171a; } }\n";

/// Most bytes of a log that becomes a page; a browser has to hold all of it.
pub const MOST_BYTES: u64 = 64 << 20;

/// The page for a recorded log (L6). It may begin late, and the run may not have ended.
///
/// # Errors
///
/// [`RecordError`] if it is no recorded log, or one of more than [`MOST_BYTES`].
pub fn page(log: &[u8]) -> Result<String, RecordError> {
    let log = RecordedLog::read(log, &RecordBounds { bytes: MOST_BYTES, ..RecordBounds::default() })?;
    let (script, style) = (script::bundle(), format!("\n{AROUND}{STYLE}"));
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let mut page = String::with_capacity(2 * usize::try_from(log.bytes()).unwrap_or(0));
    page.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n"));
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str(&format!("<title>Timeline of a run</title>\n<style>{style}</style>\n</head>\n<body>\n"));
    page.push_str("<main id=\"timeline\"><p>This page draws its run with a script.</p></main>\n");
    page.push_str("<script type=\"application/json\" id=\"events\">[\n");
    for (n, event) in log.events().iter().enumerate() {
        page.push_str(if n == 0 { "" } else { ",\n" });
        embed(&mut page, &event.to_json());
    }
    page.push_str("\n]</script>\n");
    page.push_str(&format!("<script type=\"module\">{script}</script>\n</body>\n</html>\n"));
    Ok(page)
}

/// Adds JSON in a form that cannot end the element it stands in. The three characters occur in strings only, where an
/// escape means the same.
fn embed(page: &mut String, json: &str) {
    for c in json.chars() {
        match c {
            '<' => page.push_str("\\u003c"),
            '\u{2028}' => page.push_str("\\u2028"),
            '\u{2029}' => page.push_str("\\u2029"),
            c => page.push(c),
        }
    }
}

/// The hash of an element's text, as a policy names it.
fn hash(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(text.as_bytes());
    let mut encoded = String::from("sha256-");
    for bytes in digest.chunks(3) {
        let group =
            bytes.iter().fold(0, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
        for n in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * n)) as usize & 63];
            encoded.push(if n <= bytes.len() { char::from(digit) } else { '=' });
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_as_a_policy_names_them() {
        // Both are known: of nothing, and of `abc`.
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn nothing_ends_the_element() {
        let mut page = String::new();
        embed(&mut page, "{\"a\":\"</script><!--<script>\u{2028}\u{2029}\"}");
        assert_eq!(page, r#"{"a":"\u003c/script>\u003c!--\u003cscript>\u2028\u2029"}"#);
    }

    #[test]
    fn the_page_is_whole() {
        let line = r#"{"at":0,"kind":"text.delta","payload":{"text":"</script>"},"run_id":"r","seq":2}"#;
        let page = page(line.as_bytes()).unwrap();
        assert_eq!(page.matches("</script>").count(), 2, "one for the events, one for the script");
        assert_eq!(page.matches("</style>").count(), 1);
        for outside in ["http:", "https:", "import ", "eval(", "innerHTML", "style=\"", "onclick"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
