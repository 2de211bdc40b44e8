//! Header fields whose values stay out of `Debug`.

use super::{HttpError, HttpErrorText};
use std::fmt;

/// Fields whose values `Debug` may show, because they never carry a credential.
const SHOWN: [&str; 6] =
    ["accept", "content-length", "content-type", "date", "retry-after", "transfer-encoding"];

/// Header fields in the order they were added.
///
/// Names are kept in lower case and compared without regard to case; a name may occur more than once. Values are
/// text of characters up to U+00FF, each of which is one byte on the wire, without surrounding white space.
///
/// Every value counts as a secret: `Debug` shows those of a few harmless fields, such as `content-type`, and
/// `[redacted]` for all others.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HttpHeaders {
    fields: Vec<(Box<str>, Box<str>)>,
}

impl HttpHeaders {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field after those that are there, also when the name occurs already.
    ///
    /// # Errors
    ///
    /// [`HttpError::InvalidRequest`] if the name is not a token, or the value holds a control character other
    /// than tab or a character above U+00FF. The error repeats neither. Nothing has changed then.
    pub fn append(&mut self, name: &str, value: &str) -> Result<(), HttpError> {
        let (name, value) = validate(name, value)?;
        self.fields.push((name, value));
        Ok(())
    }

    /// Sets a field, in place of all fields of that name.
    ///
    /// # Errors
    ///
    /// As for [`append`](Self::append).
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), HttpError> {
        let (name, value) = validate(name, value)?;
        self.fields.retain(|(known, _)| *known != name);
        self.fields.push((name, value));
        Ok(())
    }

    /// The first value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All values of a field, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields as name and value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl fmt::Debug for HttpHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, value)| (name, if SHOWN.contains(&name) { value } else { "[redacted]" });
        f.debug_map().entries(self.iter().map(shown)).finish()
    }
}

fn validate(name: &str, value: &str) -> Result<(Box<str>, Box<str>), HttpError> {
    let value = value.trim_matches([' ', '\t']);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(HttpError::InvalidRequest(HttpErrorText::new("a header name is not a token")));
    }
    if !value.chars().all(|c| c == '\t' || (c <= '\u{ff}' && !c.is_ascii_control())) {
        let text = "a header value holds a control character or one above U+00FF";
        return Err(HttpError::InvalidRequest(HttpErrorText::new(text)));
    }
    Ok((name.to_ascii_lowercase().into(), value.into()))
}

/// `tchar` of RFC 9110, section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_ignore_case_and_values_are_trimmed() {
        let mut headers = HttpHeaders::new();
        headers.append("X-Many", " one\t").unwrap();
        headers.append("x-many", "two").unwrap();
        assert_eq!(headers.get_all("X-MANY").collect::<Vec<_>>(), ["one", "two"]);
        headers.set("x-Many", "three").unwrap();
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("x-many", "three")]);
    }

    #[test]
    fn fields_that_could_split_a_request_are_refused() {
        let mut headers = HttpHeaders::new();
        for (name, value) in [
            ("", "v"),
            ("a b", "v"),
            ("a:", "v"),
            ("a\n", "v"),
            ("a", "v\r\nb: c"),
            ("a", "\0"),
            ("a", "\u{100}"),
        ] {
            let error = headers.append(name, value).unwrap_err();
            assert!(matches!(error, HttpError::InvalidRequest(_)), "{error}");
        }
        assert!(headers.is_empty());
    }

    #[test]
    fn debug_shows_harmless_values_only() {
        let mut headers = HttpHeaders::new();
        headers.append("Content-Type", "text/plain").unwrap();
        headers.append("X-Api-Key", "sk-canary-1").unwrap();
        assert_eq!(format!("{headers:?}"), r#"{"content-type": "text/plain", "x-api-key": "[redacted]"}"#);
    }
}
