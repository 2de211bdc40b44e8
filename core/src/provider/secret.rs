//! Credentials, and the texts in which strangers may repeat them.

use crate::base64;
use crate::model::Problem;
use crate::problem::CUT;
use crate::text::Text;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A shorter text would mask innocent words, and hides nothing.
const SHORTEST: usize = 4;
/// As [`SHORTEST`], for values that are only perhaps a credential: many headers hold words such as `true` or `stream`.
const SHORTEST_GUESS: usize = 8;

/// A credential. Its text shows in no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a credential; surrounding white space, which files and environment variables bring along, is cut off.
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text.trim()))
    }

    /// What may be a credential in a header's value: all of it, and what follows a scheme such as `Bearer`.
    pub fn in_header(value: &str) -> Vec<Self> {
        let parameters = value.trim().split_once(' ').map(|(_, rest)| rest);
        guesses([Some(value), parameters])
    }

    /// User and password of a URL, in each form in which they travel: as they are, decoded, and as basic authentication.
    /// A user beside a password is not a credential by itself.
    pub fn in_url(url: &str) -> Vec<Self> {
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        let Some((userinfo, _)) = authority.rsplit_once('@') else { return Vec::new() };
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        let (plain_user, plain) = (decoded(user), decoded(password));
        let mut basic = Vec::new();
        base64::encode(&mut basic, &[&*plain_user, &*plain].join(&b':'));
        let (user, basic) = (String::from_utf8_lossy(&plain_user), String::from_utf8_lossy(&basic));
        let mut found = guesses([Some(userinfo), Some(&*basic), Some(&*user).filter(|_| plain.is_empty())]);
        found.extend([password, &*String::from_utf8_lossy(&plain)].map(Self::new));
        found
    }

    /// The credential itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of this credential masked, for texts that strangers wrote (M5). So is its beginning
    /// at the end of the text or before the mark of a cut, where a cut may have left it.
    pub fn mask(&self, text: &str) -> Text {
        masked(text, core::slice::from_ref(self))
    }

    /// Adds the places in `text` where it stands, and where it begins at a cut.
    fn find(&self, text: &str, places: &mut Vec<Range<usize>>) {
        if self.0.len() < SHORTEST {
            return;
        }
        places.extend(text.match_indices(&*self.0).map(|(at, found)| at..at + found.len()));
        for rest in [text, text.strip_suffix(CUT).unwrap_or(text)] {
            let beginnings = self.0.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST);
            let begun =
                beginnings.rev().find(|at| self.0.get(..*at).is_some_and(|part| rest.ends_with(part)));
            places.extend(begun.map(|length| rest.len() - length..rest.len()));
        }
    }
}

/// Masks all of `secrets` in the text of `problem` (M5). A mask may be longer than what it hides; the engine bounds the
/// text again.
pub fn mask(problem: &mut Problem, secrets: &[Secret]) {
    problem.message = masked(&problem.message, secrets);
}

/// All places are looked for in the text as it came: secrets may overlap, and one may look like the mask.
fn masked(text: &str, secrets: &[Secret]) -> Text {
    let mut places = Vec::new();
    secrets.iter().for_each(|secret| secret.find(text, &mut places));
    places.sort_by_key(|place| place.start);
    let (mut out, mut end) = (String::new(), 0);
    for place in places {
        if place.start >= end {
            out.push_str(text.get(end..place.start).unwrap_or_default());
            out.push_str("[redacted]");
        }
        end = end.max(place.end);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Text::from(out)
}

fn guesses<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Vec<Secret> {
    texts.into_iter().flatten().map(Secret::new).filter(|secret| secret.0.len() >= SHORTEST_GUESS).collect()
}

/// Undoes percent-encoding; what is not a proper escape stays.
fn decoded(text: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let escape = if *first == b'%' { after.get(..2) } else { None };
        let escape = escape.filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let byte = escape.and_then(|hex| u8::from_str_radix(core::str::from_utf8(hex).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    out
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ProblemKind;

    fn exposed(secrets: &[Secret]) -> Vec<&str> {
        secrets.iter().map(Secret::expose).filter(|text| text.len() >= SHORTEST).collect()
    }

    #[test]
    fn what_is_masked() {
        let secret = Secret::new("sesame-canary");
        assert_eq!(secret.mask("key sesame-canary is wrong"), "key [redacted] is wrong");
        assert_eq!(secret.mask("the cut came at sesame-ca"), "the cut came at [redacted]");
        assert_eq!(secret.mask("sesame-canary, sesa"), "[redacted], [redacted]");
        assert_eq!(secret.mask("ses"), "ses");
        assert_eq!(Secret::new("").mask("abc"), "abc");
        let mut problem = Problem::new(ProblemKind::Other, "a Gate sesame-canary");
        mask(&mut problem, &[secret, Secret::new("Gate sesame-canary")]);
        assert_eq!(problem.message, "a [redacted]");
    }

    // proves: M5
    #[test]
    fn a_secret_that_was_cut_is_masked_before_the_mark() {
        for kept in [4, 9, 13] {
            let text = "x".repeat(4_096 - CUT.len() - kept) + "sesame-canary" + &"x".repeat(99);
            let mut problem = Problem::new(ProblemKind::Other, &text);
            mask(&mut problem, &[Secret::new("sesame-canary")]);
            assert!(problem.message.ends_with("x[redacted] [cut]"), "{kept}: {}", problem.message);
        }
    }

    // proves: M5
    #[test]
    fn secrets_that_overlap_are_masked_whole() {
        let secrets = ["sesame-canary", "canary-bird", "redacted"].map(Secret::new);
        let mut problem = Problem::new(ProblemKind::Other, "a sesame-canary-bird");
        mask(&mut problem, &secrets);
        assert_eq!(problem.message, "a [redacted]");
    }

    #[test]
    fn where_credentials_stand() {
        assert_eq!(
            exposed(&Secret::in_header("Bearer sesame-canary")),
            ["Bearer sesame-canary", "sesame-canary"]
        );
        assert!(Secret::in_header("stream").is_empty() && Secret::in_url("http://h:1/p@x").is_empty());
        assert_eq!(
            exposed(&Secret::in_url("http://ali:se%73ame%@h:1/p")),
            ["ali:se%73ame%", "YWxpOnNlc2FtZSU=", "se%73ame%", "sesame%"]
        );
        assert_eq!(
            exposed(&Secret::in_url("http://sesame-canary@h")),
            ["sesame-canary", "c2VzYW1lLWNhbmFyeTo=", "sesame-canary"]
        );
    }
}
