//! The smallest parts of a JSON text: white space, literals, strings, numbers.

use super::CanonicalProblem as Problem;
use super::node::Node;
use super::read::{Numbers, Stop};
use crate::json::plain_len;
use crate::text::Text;
use alloc::string::String;

/// A place in a JSON text.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// The inside of a string with escapes.
    unescaped: String,
}

/// Digits that always fit a `u64` and, as an integer, a double.
const SHORT: usize = 15;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, unescaped: String::new() }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte that is no white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.rest().first().copied()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    pub(super) fn stop<T>(&self, problem: Problem) -> Result<T, Stop> {
        Err(Stop { at: self.at, problem })
    }

    pub(super) fn literal(&mut self, word: &'static str, node: Node) -> Result<Node, Stop> {
        let equal = self.rest().iter().zip(word.as_bytes()).take_while(|(a, b)| a == b).count();
        self.at += equal;
        if equal < word.len() { self.stop(Problem::Expected(word)) } else { Ok(node) }
    }

    /// A string, from behind its opening quote to behind its closing one.
    pub(super) fn string(&mut self) -> Result<Text, Stop> {
        let plain = self.plain();
        if self.rest().first() == Some(&b'"') {
            self.at += 1;
            return Ok(Text::new(plain));
        }
        let mut whole = core::mem::take(&mut self.unescaped);
        whole.clear();
        whole.push_str(plain);
        loop {
            match self.rest().first() {
                Some(b'"') => {
                    self.at += 1;
                    let text = Text::new(&whole);
                    self.unescaped = whole;
                    return Ok(text);
                }
                Some(b'\\') => whole.push(self.escape()?),
                Some(_) => return self.stop(Problem::Control),
                None => return self.stop(Problem::Expected("a closing quote")),
            }
            whole.push_str(self.plain());
        }
    }

    /// What stands there up to a quote, a backslash or a control character.
    fn plain(&mut self) -> &'a str {
        let rest = self.rest();
        let len = plain_len(rest);
        let start = self.at;
        self.at += len;
        // All three are ASCII, so that this never falls back.
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn escape(&mut self) -> Result<char, Stop> {
        let start = self.at;
        let wrong = |problem| Err(Stop { at: start, problem });
        let short = match self.rest().get(1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let Some(first) = self.unit() else { return wrong(Problem::Escape) };
                let point = match first {
                    0xd800..0xdc00 => match self.unit() {
                        Some(second @ 0xdc00..0xe000) => {
                            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                        }
                        _ => return wrong(Problem::Surrogate),
                    },
                    point => point,
                };
                // Only a surrogate is no character.
                return char::from_u32(point).map_or_else(|| wrong(Problem::Surrogate), Ok);
            }
            _ => return wrong(Problem::Escape),
        };
        self.at += 2;
        Ok(short)
    }

    /// Takes `\uXXXX`, if it stands there.
    fn unit(&mut self) -> Option<u32> {
        let rest = self.rest();
        let (b"\\u", digits) = (rest.get(..2)?, rest.get(2..6)?) else { return None };
        let mut unit = 0;
        for digit in digits {
            unit = unit << 4 | char::from(*digit).to_digit(16)?;
        }
        self.at += 6;
        Some(unit)
    }

    /// A number, from its first byte to behind its last.
    pub(super) fn number(&mut self, numbers: Numbers) -> Result<Node, Stop> {
        let start = self.at;
        let negative = self.rest().first() == Some(&b'-');
        self.at += usize::from(negative);
        let first = self.at;
        self.digits()?;
        let digits = self.at - first;
        if digits > 1 && self.text.as_bytes().get(first) == Some(&b'0') {
            self.at = first + 1;
            return self.stop(Problem::Expected("a number without leading zeros"));
        }
        let mut whole = true;
        if self.rest().first() == Some(&b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.rest().first() {
            whole = false;
            self.at += 1;
            self.at += usize::from(matches!(self.rest().first(), Some(b'+' | b'-')));
            self.digits()?;
        }
        let token = self.text.get(start..self.at).unwrap_or_default();
        if whole && (digits <= SHORT || numbers == Numbers::AsWritten) {
            if let Ok(n) = token.parse::<i64>() {
                return Ok(Node::whole(n));
            }
            if let Ok(n) = token.parse::<u64>() {
                return Ok(Node::Integer(n));
            }
        }
        match token.parse::<f64>() {
            Ok(n) if n.is_finite() => Ok(match numbers {
                Numbers::Doubles => Node::double(n),
                Numbers::AsWritten => Node::Fraction(n.to_bits()),
            }),
            _ => Err(Stop { at: start, problem: Problem::Overflow }),
        }
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), Stop> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { self.stop(Problem::Expected("a digit")) } else { Ok(()) }
    }
}
