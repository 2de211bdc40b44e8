//! Reports of a call that goes on.

use crate::problem::clean;
use crate::provider::read::Members;
use crate::text::Text;
use core::fmt;

/// Longest message of a report, in encoded bytes.
const MAX_MESSAGE: u64 = 4 * 1024;
/// Longest number, in bytes.
const MAX_NUMBER: usize = 32;

/// How far a call is, as its server tells it. Displays as `3/10 message`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpProgress {
    /// How much is done: the server's number as it is written.
    pub done: Text,
    /// How much there is to do, where the server knows.
    pub total: Option<Text>,
    /// A text for people; cleaned, at most 4 KiB.
    pub message: Option<Text>,
}

impl McpProgress {
    /// Reads the parameters of `notifications/progress`: the token, and the report.
    pub(super) fn read(params: &str) -> Option<(u64, Self)> {
        let members = Members::read(params)?;
        let token = members.get("progressToken").and_then(|token| serde_json::from_str(token).ok())?;
        let number = |name| {
            let number: &str = members.get(name)?;
            let plain = number.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            (plain && number.len() <= MAX_NUMBER).then(|| Text::new(number))
        };
        let message = members.text("message").filter(|text| !text.is_empty());
        let report = Self {
            done: number("progress")?,
            total: number("total"),
            message: message.map(|text| clean(&text, MAX_MESSAGE)),
        };
        Some((token, report))
    }
}

impl fmt::Display for McpProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.done)?;
        if let Some(total) = &self.total {
            write!(f, "/{total}")?;
        }
        match &self.message {
            Some(message) => write!(f, " {message}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reports_are_read_or_nothing() {
        for (params, expected) in [
            (r#"{"progressToken":7,"progress":3,"total":10,"message":"half\nway"}"#, Some("3/10 half way")),
            (r#"{"progressToken":7,"progress":0.50}"#, Some("0.50")),
            (r#"{"progressToken":7,"progress":-1,"total":null,"message":""}"#, Some("-1")),
            (r#"{"progressToken":"7","progress":3}"#, None),
            (r#"{"progressToken":7,"progress":"3"}"#, None),
            (r#"{"progressToken":7}"#, None),
            ("[]", None),
        ] {
            let found = McpProgress::read(params);
            assert_eq!(found.as_ref().map(|(_, report)| report.to_string()).as_deref(), expected, "{params}");
            assert!(found.is_none_or(|(token, _)| token == 7));
        }
        let long = alloc::format!(r#"{{"progressToken":7,"progress":{}}}"#, "1".repeat(33));
        assert!(McpProgress::read(&long).is_none());
    }
}
