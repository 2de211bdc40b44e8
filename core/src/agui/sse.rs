//! Framing of events as server-sent events; reading is [`SseDecoder`](crate::provider::sse::SseDecoder)'s.

use super::Event;
use alloc::vec::Vec;

/// The media type of a stream of server-sent events.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// Appends one event as one frame: `data: `, the JSON on one line, and an empty line. Lines end with LF, because clients
/// are known that split at `\n\n` only.
pub fn frame(event: &Event, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    event.encode_into(out);
    out.extend_from_slice(b"\n\n");
}

/// Appends a comment that readers skip: it keeps a quiet connection open. Line breaks in the text become spaces.
pub fn comment(text: &str, out: &mut Vec<u8>) {
    out.push(b':');
    out.extend(text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agui::TextRole;
    use crate::provider::sse::{SseDecoder, SseLimits};
    use core::ops::ControlFlow;

    #[test]
    fn frames_are_read_back_and_comments_are_skipped() {
        let events = [
            Event::text_message_start("a\nb", TextRole::User),
            Event::text_message_content("a\nb", "line\r\nline \u{2028} \u{0} \"quoted\""),
        ];
        let mut body = Vec::new();
        for event in &events {
            comment("still\nhere", &mut body);
            frame(event, &mut body);
        }
        assert!(!body.contains(&b'\r'));
        let mut read = Vec::new();
        let mut decoder = SseDecoder::new(SseLimits::default());
        let pushed = decoder.feed(&body, &mut |event| {
            read.push(Event::decode(event.data).unwrap().value.unwrap());
            ControlFlow::Continue(())
        });
        assert!(pushed.is_ok());
        assert_eq!(read, events);
    }
}
