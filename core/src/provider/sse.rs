//! Server-sent events from raw bytes, incrementally.
//!
//! Bytes go in as they come off the wire, cut anywhere: inside a UTF-8 sequence, between CR and LF, inside the BOM.
//! Each byte is looked at a fixed number of times, however it is cut. Lines end with LF, CRLF or CR; comments, `id:`
//! and `retry:` are skipped; several `data:` lines are joined by LF. Two things go beyond the standard because model
//! servers need them: a JSON text that stands there without `data:` is an event of its own (that is how some servers
//! report an error in the middle of a stream), and what is pending at the end of the body is handed out marked as
//! [`SseEvent::unterminated`], so that the codec can use it if it is whole.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;

const BOM: &[u8] = b"\xef\xbb\xbf";
/// The names that a line may begin with.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Bounds of a decoder, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// Longest line, without its end.
    pub line: usize,
    /// Longest data of one event.
    pub event: usize,
}

impl Default for SseLimits {
    /// 4 MiB each: several times the largest response that the engine accepts.
    fn default() -> Self {
        Self { line: 4 << 20, event: 4 << 20 }
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field; empty when there was none.
    pub name: &'a str,
    /// The `data:` lines, joined by LF; never empty.
    pub data: &'a str,
    /// Offset of the first byte of the data, counted from the start of the body.
    pub offset: u64,
    /// Whether the body ended before the blank line that ends an event: the data may be cut.
    pub unterminated: bool,
}

/// Why a body cannot be read as server-sent events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SseError {
    /// A line is longer than the bound.
    #[error("a line of the stream is longer than {limit} bytes (offset {offset})")]
    LineTooLong {
        /// Where the line starts.
        offset: u64,
        /// The bound.
        limit: usize,
    },
    /// The data of one event is longer than the bound.
    #[error("an event of the stream is longer than {limit} bytes (offset {offset})")]
    EventTooLong {
        /// Where the event's data starts.
        offset: u64,
        /// The bound.
        limit: usize,
    },
    /// A field holds bytes that are not UTF-8. Nothing is replaced: arguments of a call must not change silently.
    #[error("the stream is not UTF-8 (offset {offset})")]
    InvalidUtf8 {
        /// The first such byte.
        offset: u64,
    },
}

impl SseError {
    /// Offset in the body, in bytes.
    pub const fn offset(&self) -> u64 {
        match self {
            Self::LineTooLong { offset, .. }
            | Self::EventTooLong { offset, .. }
            | Self::InvalidUtf8 { offset } => *offset,
        }
    }
}

/// Takes events; [`ControlFlow::Break`] ends the decoding of the bytes at hand.
pub type SseSink<'a> = dyn FnMut(SseEvent<'_>) -> ControlFlow<()> + 'a;

/// An incremental decoder. Memory is bounded by [`SseLimits`]; after an error it stays failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseDecoder {
    limits: SseLimits,
    /// The line in the making, if it began in an earlier piece.
    partial: Vec<u8>,
    name: String,
    data: String,
    /// Where the data of the event in the making starts; `None` without data.
    data_at: Option<u64>,
    /// The data stands there without `data:`.
    bare: bool,
    /// Bytes taken in so far.
    at: u64,
    /// Where the line in the making starts.
    line_at: u64,
    /// A CR came last: an LF right after it belongs to it.
    after_cr: bool,
    failed: Option<SseError>,
    /// A field, a comment or bare JSON was read.
    seen: bool,
    /// Where the first line stands that is none of these.
    stray: Option<u64>,
    /// Bytes looked at, to prove that cost is linear.
    #[cfg(test)]
    work: u64,
}

impl SseDecoder {
    /// A decoder with these bounds.
    pub fn new(limits: SseLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Bytes taken in so far.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Where the first line stands that is no part of an event stream, if nothing else was read that is one: the body is
    /// something else, such as a page of a proxy.
    pub fn is_no_stream_at(&self) -> Option<u64> {
        self.stray.filter(|_| !self.seen)
    }

    /// Takes in `bytes` and hands out the events that they end.
    ///
    /// When `sink` breaks, the rest of `bytes` is dropped. After an error every call returns that error.
    ///
    /// # Errors
    ///
    /// [`SseError`] if a bound is passed or the bytes are not UTF-8.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut SseSink<'_>) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let fed = self.take(bytes, sink);
        self.failed = fed.err();
        fed
    }

    /// The clean end of the body: hands out what is pending, marked as unterminated. A last line that is not UTF-8 was
    /// cut inside a character and is dropped with its event.
    pub fn finish(&mut self, sink: &mut SseSink<'_>) {
        if self.failed.is_some() {
            return;
        }
        let line = core::mem::take(&mut self.partial);
        if !line.is_empty() && !self.is_begun(&line) && self.line(&line, self.line_at, sink).is_err() {
            self.clear();
        }
        // Whether the sink breaks does not matter: nothing follows.
        let _ = self.dispatch(true, sink);
    }

    /// Whether the body was cut inside the BOM or a field's name. That does not make it anything but an event stream.
    fn is_begun(&self, line: &[u8]) -> bool {
        let first = self.line_at == 0;
        let name = line.strip_prefix(BOM).filter(|_| first).unwrap_or(line);
        let in_name = FIELDS.iter().any(|field| *field != name && field.starts_with(name));
        (first && BOM.starts_with(line)) || (in_name && !self.bare)
    }

    fn take(&mut self, bytes: &[u8], sink: &mut SseSink<'_>) -> Result<(), SseError> {
        let mut rest = bytes;
        while let Some((first, tail)) = rest.split_first() {
            if core::mem::take(&mut self.after_cr) && *first == b'\n' {
                self.advance(1);
                self.line_at = self.at;
                rest = tail;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
            if self.partial.len().saturating_add(piece.len()) > self.limits.line {
                return Err(SseError::LineTooLong { offset: self.line_at, limit: self.limits.line });
            }
            self.advance(piece.len());
            let Some((end, tail)) = tail.split_first() else {
                self.partial.extend_from_slice(piece);
                return Ok(());
            };
            self.advance(1);
            self.after_cr = *end == b'\r';
            let at = core::mem::replace(&mut self.line_at, self.at);
            if self.whole_line(piece, at, sink)?.is_break() {
                return Ok(());
            }
            rest = tail;
        }
        Ok(())
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes as u64;
        #[cfg(test)]
        {
            self.work += bytes as u64;
        }
    }

    /// A line that `piece` ends; what came before is in `partial`, whose allocation is kept.
    fn whole_line(
        &mut self,
        piece: &[u8],
        at: u64,
        sink: &mut SseSink<'_>,
    ) -> Result<ControlFlow<()>, SseError> {
        if self.partial.is_empty() {
            return self.line(piece, at, sink);
        }
        let mut line = core::mem::take(&mut self.partial);
        line.extend_from_slice(piece);
        let flow = self.line(&line, at, sink);
        line.clear();
        self.partial = line;
        flow
    }

    fn line(&mut self, line: &[u8], at: u64, sink: &mut SseSink<'_>) -> Result<ControlFlow<()>, SseError> {
        #[cfg(test)]
        {
            self.work += line.len() as u64;
        }
        let (line, at) = match line.strip_prefix(BOM) {
            Some(rest) if at == 0 => (rest, 3),
            _ => (line, at),
        };
        match line.first() {
            None => return Ok(self.dispatch(false, sink)),
            Some(b':') if !self.bare => {
                self.seen = true;
                return Ok(ControlFlow::Continue(()));
            }
            // Servers that keep a connection open with white space send some in front of it.
            Some(_) if matches!(line.trim_ascii_start(), [b'{' | b'[', ..]) && self.data_at.is_none() => {
                self.bare = true;
            }
            Some(_) => {}
        }
        if self.bare {
            self.seen = true;
            return self.push(line, at);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let value_at = at + (line.len() - value.len()) as u64;
        if FIELDS.contains(&field) {
            self.seen = true;
        } else if !line.trim_ascii().is_empty() {
            self.stray = self.stray.or(Some(at));
        }
        match field {
            b"data" => return self.push(value, value_at),
            b"event" => {
                self.name.clear();
                self.name.push_str(utf8(value, value_at)?);
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn push(&mut self, value: &[u8], at: u64) -> Result<ControlFlow<()>, SseError> {
        let offset = *self.data_at.get_or_insert(at);
        if self.data.len().saturating_add(value.len()).saturating_add(1) > self.limits.event {
            return Err(SseError::EventTooLong { offset, limit: self.limits.event });
        }
        let value = utf8(value, at)?;
        if offset != at {
            self.data.push('\n');
        }
        self.data.push_str(value);
        Ok(ControlFlow::Continue(()))
    }

    fn clear(&mut self) {
        self.name.clear();
        self.data.clear();
        self.data_at = None;
        self.bare = false;
    }

    fn dispatch(&mut self, unterminated: bool, sink: &mut SseSink<'_>) -> ControlFlow<()> {
        let flow = match self.data_at {
            // A blank event carries nothing that a model server could mean.
            Some(offset) if !self.data.trim_ascii().is_empty() => {
                sink(SseEvent { name: &self.name, data: &self.data, offset, unterminated })
            }
            _ => ControlFlow::Continue(()),
        };
        self.clear();
        flow
    }
}

fn utf8(bytes: &[u8], at: u64) -> Result<&str, SseError> {
    core::str::from_utf8(bytes)
        .map_err(|error| SseError::InvalidUtf8 { offset: at + error.valid_up_to() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec;

    type Seen = Vec<(String, String, u64, bool)>;

    fn decode(parts: &[&[u8]], limits: SseLimits) -> (Seen, Result<(), SseError>, u64) {
        let mut decoder = SseDecoder::new(limits);
        let mut seen = Seen::new();
        let mut sink = |event: SseEvent<'_>| {
            seen.push((event.name.to_string(), event.data.to_string(), event.offset, event.unterminated));
            ControlFlow::Continue(())
        };
        let mut result = Ok(());
        for part in parts {
            result = decoder.feed(part, &mut sink);
        }
        decoder.finish(&mut sink);
        (seen, result, decoder.work)
    }

    fn event(name: &str, data: &str, offset: u64) -> (String, String, u64, bool) {
        (name.to_string(), data.to_string(), offset, false)
    }

    const MIXED: &[u8] =
        b"\xef\xbb\xbf: hi\r\nevent: a\r\ndata: x\r\ndata:y\xc3\xa9\r\n\r\nid: 1\rdata:  z\r\rdata\n\n:c\n\
        data: last\nretry: 5\n\n";

    #[test]
    fn every_framing_is_read_at_every_split() {
        let expected = vec![event("a", "x\ny\u{e9}", 25), event("", " z", 52), event("", "last", 71)];
        let whole = decode(&[MIXED], SseLimits::default());
        assert_eq!(whole.0, expected);
        for at in 0..=MIXED.len() {
            let (a, b) = MIXED.split_at(at);
            assert_eq!(decode(&[a, b], SseLimits::default()).0, expected, "split at {at}");
        }
        let bytes: Vec<&[u8]> = MIXED.chunks(1).collect();
        assert_eq!(decode(&bytes, SseLimits::default()).0, expected);
    }

    #[test]
    fn cost_is_linear_however_the_bytes_are_cut() {
        let body = format!("data: {}\n\n", "x".repeat(20_000)).repeat(3);
        for size in [1, 7, 4096, body.len()] {
            let parts: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
            let (seen, _, work) = decode(&parts, SseLimits::default());
            assert_eq!(seen.len(), 3);
            assert!(work <= 2 * body.len() as u64, "{work} for {size}");
        }
    }

    #[test]
    fn bounds_hold_at_the_border() {
        let limits = SseLimits { line: 8, event: 4 };
        assert_eq!(decode(&[b"data:abc\n\n"], limits).0, [event("", "abc", 5)]);
        let error = SseError::EventTooLong { offset: 5, limit: 4 };
        assert_eq!(decode(&[b"data:abc\ndata:\n\n"], limits).0, [event("", "abc\n", 5)]);
        assert_eq!(decode(&[b"data:abc\ndata:d\n\n"], limits).1, Err(error));
        let error = SseError::LineTooLong { offset: 2, limit: 8 };
        assert_eq!(decode(&[b"\n\n:2345678\n", b"\n"], limits).1, Ok(()));
        assert_eq!(decode(&[b"\n\n:2345", b"678", b"9"], limits).1, Err(error));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_an_error_with_their_offset() {
        let error = Err(SseError::InvalidUtf8 { offset: 7 });
        assert_eq!(decode(&[b"data: a\xff\n\n"], SseLimits::default()).1, error);
        assert_eq!(decode(&[b":\xff\ndata: a\n\n"], SseLimits::default()).0, [event("", "a", 9)]);
        assert_eq!(decode(&[b"data: a\n\ndata: \xc3"], SseLimits::default()).0, [event("", "a", 6)]);
    }

    #[test]
    fn a_pending_event_and_bare_json_are_handed_out_at_the_end() {
        let (seen, ..) = decode(&[b"data: [DONE]"], SseLimits::default());
        assert_eq!(seen, [("".into(), "[DONE]".into(), 6, true)]);
        let (seen, ..) = decode(&[b"data: 1\n\n{\n \"a\":\n 2}\n"], SseLimits::default());
        assert_eq!(seen, [event("", "1", 6), ("".into(), "{\n \"a\":\n 2}".into(), 9, true)]);
        let (seen, ..) = decode(&[b"  \n ", b" {\"a\":2}"], SseLimits::default());
        assert_eq!(seen, [("".into(), "  {\"a\":2}".into(), 3, true)]);
    }

    #[test]
    fn a_sink_that_breaks_sees_nothing_more() {
        let mut decoder = SseDecoder::default();
        let mut count = 0;
        let mut sink = |_: SseEvent<'_>| {
            count += 1;
            ControlFlow::Break(())
        };
        decoder.feed(b"data: 1\n\ndata: 2\n\n", &mut sink).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_body_that_is_no_stream_is_told_apart() {
        for (body, at) in [
            ("<html>\n<body>", Some(0)),
            ("\n\nnot found\n", Some(2)),
            ("", None),
            ("\n\n", None),
            (": hello\nstray\n", None),
            ("stray\ndata: 1\n\n", None),
            ("id: 1\n", None),
            ("{\"error\":1}", None),
            ("\u{feff}", None),
            ("\u{feff}<html>", Some(3)),
            (" \n\n  ", None),
            ("  {\"error\":1}", None),
            ("da", None),
            ("dat\u{e9}", Some(0)),
            ("\u{feff}even", None),
            ("\n\nre", None),
            ("<p>\nda", Some(0)),
            ("dat\n", Some(0)),
        ] {
            let mut decoder = SseDecoder::default();
            decoder.feed(body.as_bytes(), &mut |_| ControlFlow::Continue(())).unwrap();
            decoder.finish(&mut |_| ControlFlow::Continue(()));
            assert_eq!(decoder.is_no_stream_at(), at, "{body:?}");
        }
    }
}
