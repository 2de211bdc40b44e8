//! Lines out of bytes: the framing of streams, with a bound.

use super::error::McpError;
use super::scan::IdScan;
use alloc::string::String;
use alloc::vec::Vec;

/// What a server's stream brought.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpLine {
    /// A line without its end. Bytes that are not UTF-8 are replaced; such a line is malformed in whatever it was meant
    /// to say, or says it in a text.
    Text(String),
    /// A line that was longer than the bound and was skipped to its end.
    TooLong {
        /// How long it was, in bytes.
        bytes: u64,
        /// The number of the request that it answers, where it says so.
        id: Option<u64>,
    },
    /// No line: what came instead of the answer to a request, where each has an exchange of its own.
    Failed {
        /// The number of the request.
        id: u64,
        /// What happened to it.
        error: McpError,
    },
}

/// Cuts a stream of bytes into lines; holds one line at most, within its bound.
///
/// ```
/// use runloom_core::mcp::{LineBuffer, McpLine};
///
/// let (mut buffer, mut lines) = (LineBuffer::new(1024), Vec::new());
/// buffer.feed(b"{\"a\":1}\r\n{\"b\"", &mut lines);
/// buffer.feed(b":2}\n", &mut lines);
/// assert_eq!(lines, [McpLine::Text("{\"a\":1}".into()), McpLine::Text("{\"b\":2}".into())]);
/// ```
#[derive(Debug)]
pub struct LineBuffer {
    most: usize,
    line: Vec<u8>,
    skipped: Option<Skipped>,
}

#[derive(Debug)]
struct Skipped {
    bytes: u64,
    scan: IdScan,
}

impl LineBuffer {
    /// A buffer for lines of at most `most` bytes, the end not counted.
    pub fn new(most: usize) -> Self {
        Self { most, line: Vec::new(), skipped: None }
    }

    /// Takes in bytes, cut anywhere, and appends the lines that they end. Empty lines are left out.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<McpLine>) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.extend(line);
            self.end(out);
            rest = after.get(1..).unwrap_or_default();
        }
        self.extend(rest);
    }

    /// The stream ended: what stands there without an end is a line too.
    pub fn finish(&mut self, out: &mut Vec<McpLine>) {
        self.end(out);
    }

    fn extend(&mut self, bytes: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            skipped.bytes += bytes.len() as u64;
            skipped.scan.feed(bytes);
        } else if self.line.len() + bytes.len() <= self.most {
            self.line.extend_from_slice(bytes);
        } else if self.ends_in_time(bytes) {
            // Only the line feed's companion is over the bound.
            self.line.extend_from_slice(bytes);
        } else {
            let mut scan = IdScan::default();
            scan.feed(&self.line);
            scan.feed(bytes);
            self.skipped = Some(Skipped { bytes: (self.line.len() + bytes.len()) as u64, scan });
            self.line = Vec::new();
        }
    }

    /// Whether just a carriage return stands behind the bound.
    fn ends_in_time(&self, bytes: &[u8]) -> bool {
        self.line.len() + bytes.len() == self.most + 1 && bytes.last() == Some(&b'\r')
    }

    fn end(&mut self, out: &mut Vec<McpLine>) {
        if let Some(skipped) = self.skipped.take() {
            out.push(McpLine::TooLong { bytes: skipped.bytes, id: skipped.scan.id() });
            return;
        }
        let mut line = core::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.is_empty() {
            let text = String::from_utf8(line)
                .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned());
            out.push(McpLine::Text(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec;

    fn lines(most: usize, pieces: &[&[u8]]) -> Vec<McpLine> {
        let (mut buffer, mut out) = (LineBuffer::new(most), Vec::new());
        pieces.iter().for_each(|piece| buffer.feed(piece, &mut out));
        buffer.finish(&mut out);
        out
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = "{\"a\":1}\n\r\n\n{\"é\":\"\u{1f600}\"}\r\nlast".as_bytes();
        let whole = lines(64, &[text]);
        assert_eq!(whole.len(), 3);
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(lines(64, &[head, tail]), whole, "{at}");
        }
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(lines(64, &single), whole);
    }

    #[test]
    fn a_line_at_its_bound_is_whole_and_a_longer_one_is_skipped() {
        let line = |length: usize| "x".repeat(length);
        for length in [7, 8] {
            assert_eq!(lines(8, &[format!("{}\n", line(length)).as_bytes()]), [McpLine::Text(line(length))]);
            assert_eq!(
                lines(8, &[format!("{}\r\n", line(length)).as_bytes()]),
                [McpLine::Text(line(length))]
            );
        }
        let found = lines(8, &[format!("{}\nshort\n", line(9)).as_bytes()]);
        assert_eq!(found, [McpLine::TooLong { bytes: 9, id: None }, McpLine::Text("short".into())]);
    }

    #[test]
    fn a_skipped_line_tells_whom_it_answers() {
        let text = format!(
            "{{\"result\":{{\"id\":5,\"x\":[\"\\\"id\\\":6\"]}},\"n\":\"{}\",\"id\":42}}\n",
            "y".repeat(99)
        );
        for size in [1, 7, 1000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let bytes = text.len() as u64 - 1;
            assert_eq!(lines(16, &pieces), vec![McpLine::TooLong { bytes, id: Some(42) }]);
        }
    }

    #[test]
    fn what_is_not_utf8_is_replaced() {
        assert_eq!(lines(8, &[b"a\xffb\n"]), [McpLine::Text("a\u{fffd}b".into())]);
    }
}
