//! The smallest parts of a scenario's lines.

use std::time::Duration;

/// A line in the making: the words that are left.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        Self { rest: line.trim() }
    }

    /// The next word; empty at the end.
    pub(crate) fn next(&mut self) -> &'a str {
        let end = self.rest.find(' ').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    /// The value of the next word if it is `name=value`.
    pub(crate) fn option(&mut self, name: &str) -> Option<&'a str> {
        let value = self.clone().next().strip_prefix(name)?.strip_prefix('=')?;
        self.next();
        Some(value)
    }

    /// The next word if it is `name=value`.
    pub(crate) fn pair(&mut self) -> Option<(&'a str, &'a str)> {
        let pair = self.clone().next().split_once('=')?;
        self.next();
        Some(pair)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that is left, as text.
    pub(crate) fn text(&self) -> String {
        text(self.rest)
    }

    /// All that is left as it stands, quotes included.
    pub(crate) fn raw(&self) -> String {
        repeated(self.rest)
    }
}

/// A text: quoted as in JSON, or as it stands; `<a*3>` stands for `aaa`.
fn text(raw: &str) -> String {
    let plain = match serde_json::from_str::<String>(raw) {
        Ok(quoted) if raw.starts_with('"') => quoted,
        _ => raw.to_owned(),
    };
    repeated(&plain)
}

fn repeated(plain: &str) -> String {
    let mut out = String::new();
    let mut rest = plain;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let repeated = after.split_once('>').and_then(|(inner, tail)| {
            let (piece, count) = inner.rsplit_once('*')?;
            Some((piece.repeat(count.parse().ok()?), tail))
        });
        match repeated {
            Some((text, tail)) => {
                out.push_str(&text);
                rest = tail;
            }
            None => {
                out.push('<');
                rest = after;
            }
        }
    }
    out + rest
}

/// A whole number; with `k` or `M` of 1024 or 1024 × 1024.
pub(crate) fn number(word: &str) -> u64 {
    let (digits, unit) = match word.strip_suffix('k') {
        Some(digits) => (digits, 1 << 10),
        None => word.strip_suffix('M').map_or((word, 1), |digits| (digits, 1 << 20)),
    };
    digits.parse::<u64>().unwrap_or_else(|_| panic!("{word:?} is no number")) * unit
}

/// A span: `5us`, `20ms`, `1.5s`.
pub(crate) fn span(word: &str) -> Duration {
    let micros = |digits: &str, unit: f64| {
        let number: f64 = digits.parse().unwrap_or_else(|_| panic!("{word:?} is no span"));
        Duration::from_micros((number * unit).round() as u64)
    };
    if let Some(digits) = word.strip_suffix("us") {
        micros(digits, 1.0)
    } else if let Some(digits) = word.strip_suffix("ms") {
        micros(digits, 1e3)
    } else {
        micros(word.strip_suffix('s').unwrap_or_else(|| panic!("{word:?} needs a unit")), 1e6)
    }
}

#[test]
fn words_are_taken_one_by_one() {
    let mut words = Words::new("  call id=7 add  {\"a\": 1} ");
    assert_eq!(words.next(), "call");
    assert_eq!((words.option("name"), words.option("id")), (None, Some("7")));
    assert_eq!(words.pair(), None);
    assert_eq!(words.next(), "add");
    assert_eq!(words.text(), "{\"a\": 1}");
    assert_eq!(text(r#""a\n<b*3>""#), "a\nbbb");
    assert_eq!(text("a <b> <*2> <c*x>"), "a <b>  <c*x>");
    assert_eq!((number("3k"), number("2M"), number("7")), (3072, 2 << 20, 7));
    assert_eq!((span("1.5s"), span("20ms")), (Duration::from_millis(1500), Duration::from_millis(20)));
}
