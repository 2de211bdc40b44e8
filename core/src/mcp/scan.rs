//! Finds whom a line answers that is too long to keep, byte by byte.

/// Reads a JSON object without keeping it, and remembers the number in its member `id`. What is not JSON makes it find
/// nothing, or nonsense, which is looked up like any other number of a server.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: u64,
    text: Option<Quoted>,
    /// The text that was read last at the outermost level is `"id"`.
    named: bool,
    /// A colon followed it: the value comes next.
    value: bool,
    digits: Option<u64>,
    id: Option<u64>,
}

/// Inside of a text.
#[derive(Debug, Default)]
struct Quoted {
    escaped: bool,
    /// How many of its bytes were those of `id`; `None` once one differed.
    like: Option<usize>,
}

impl IdScan {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    pub(super) fn id(&self) -> Option<u64> {
        self.id.or(self.digits)
    }

    fn byte(&mut self, byte: u8) {
        if let Some(text) = &mut self.text {
            if text.escaped {
                text.escaped = false;
            } else if byte == b'\\' {
                (text.escaped, text.like) = (true, None);
            } else if byte == b'"' {
                self.named = self.depth == 1 && text.like == Some(2);
                self.text = None;
            } else {
                text.like = text.like.filter(|at| b"id".get(*at) == Some(&byte)).map(|at| at + 1);
            }
            return;
        }
        if self.value && self.depth == 1 && byte.is_ascii_digit() {
            let digit = u64::from(byte - b'0');
            self.digits = Some(self.digits.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            return;
        }
        if let Some(number) = self.digits.take() {
            self.id = Some(number);
        }
        match byte {
            b'"' => {
                (self.value, self.named) = (false, false);
                self.text = Some(Quoted { escaped: false, like: Some(0) });
            }
            b'{' | b'[' => self.deeper(self.depth.saturating_add(1)),
            b'}' | b']' => self.deeper(self.depth.saturating_sub(1)),
            b':' => (self.value, self.named) = (self.named, false),
            b' ' | b'\t' | b'\r' => {}
            _ => (self.value, self.named) = (false, false),
        }
    }

    fn deeper(&mut self, depth: u64) {
        (self.depth, self.value, self.named) = (depth, false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_id_counts() {
        for (line, id) in [
            (r#"{"id":7}"#, Some(7)),
            (r#"{"id" : 7 ,"result":{"id":8}}"#, Some(7)),
            (r#"{"result":{"id":8,"a":"id"},"jsonrpc":"2.0","id":7}"#, Some(7)),
            (r#"{"a":"id","b":9,"id":7"#, Some(7)),
            (r#"{"idx":1,"xid":2,"\u0069d":3}"#, None),
            (r#"{"id":"7"}"#, None),
            (r#"[{"id":7}]"#, None),
            (r#"{"id":99999999999999999999999}"#, Some(u64::MAX)),
            (r#"}}}]]"id":7"#, None),
            ("", None),
        ] {
            let mut scan = IdScan::default();
            scan.feed(line.as_bytes());
            assert_eq!(scan.id(), id, "{line}");
        }
    }
}
