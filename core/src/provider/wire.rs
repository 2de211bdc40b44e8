//! What the request builders share: bodies with the host's own members, call ids, images, numbers.

use crate::base64;
use crate::json::{Object, integer};
use crate::message::{Image, ImageData};
use crate::model::{ModelParameters, Problem, ProblemKind};
use crate::provider::read::Members;
use crate::text::Text;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A refusal to write a request.
pub(crate) fn invalid(message: &str) -> Problem {
    Problem::new(ProblemKind::InvalidRequest, message)
}

/// A request body: the codec's members, then those of [`ModelParameters::extra`], which replace the codec's.
pub(crate) struct Body<'a> {
    object: Object<'a, Vec<u8>>,
    extra: Members<'a>,
}

impl<'a> Body<'a> {
    /// Opens the body. `extra` must be the text of an object without `stream` and `messages`: what is sent there must
    /// fit the decoder and the history.
    pub(crate) fn begin(out: &'a mut Vec<u8>, parameters: &'a ModelParameters) -> Result<Self, Problem> {
        let extra = match parameters.extra.as_deref() {
            None => Members::default(),
            Some(text) => {
                Members::read(text).ok_or_else(|| invalid("`extra` is not the text of a JSON object"))?
            }
        };
        if extra.0.iter().any(|(name, _)| matches!(&**name, "stream" | "messages")) {
            return Err(invalid("`extra` must not set `stream` or `messages`"));
        }
        Ok(Self { object: Object::begin(out), extra })
    }

    /// The place of a member's value; `None` if the host writes that member.
    pub(crate) fn key(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        if self.extra.get(name).is_some() {
            return None;
        }
        Some(self.object.key(name))
    }

    /// A member whose value `write` writes.
    pub(crate) fn member(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(out) = self.key(name) {
            write(out);
        }
    }

    /// A text member.
    pub(crate) fn str(&mut self, name: &str, value: &str) {
        self.member(name, |out| crate::json::string(out, value));
    }

    /// An integer member, left out when absent.
    pub(crate) fn int(&mut self, name: &str, value: Option<u32>) {
        if let Some(value) = value {
            self.member(name, |out| integer(out, u64::from(value)));
        }
    }

    /// A boolean member.
    pub(crate) fn bool(&mut self, name: &str, value: bool) {
        self.member(name, |out| out.extend_from_slice(if value { b"true" } else { b"false" }));
    }

    /// A number member, left out when absent. Refuses what JSON cannot write.
    pub(crate) fn float(&mut self, name: &str, value: Option<f64>) -> Result<(), Problem> {
        let Some(value) = value else { return Ok(()) };
        if !value.is_finite() {
            return Err(invalid(&format!("`{name}` is not a finite number")));
        }
        self.member(name, |out| out.extend_from_slice(format!("{value}").as_bytes()));
        Ok(())
    }

    /// A list of texts, left out when empty.
    pub(crate) fn texts(&mut self, name: &str, values: &[Text]) {
        let mut values = values.iter().filter(|text| !text.is_empty()).peekable();
        if values.peek().is_some() {
            self.member(name, |out| array(out, values, crate::json::string));
        }
    }

    /// Adds the host's members and closes the body.
    pub(crate) fn end(mut self) {
        let members = core::mem::take(&mut self.extra.0);
        for (at, (name, value)) in members.iter().enumerate() {
            let repeated = members.get(at + 1..).unwrap_or_default().iter().any(|(later, _)| later == name);
            if !repeated {
                self.object.raw(name, value.get());
            }
        }
        self.object.end();
    }
}

/// Writes a list.
pub(crate) fn array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        each(out, item);
    }
    out.push(b']');
}

/// Which call ids a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdRule {
    /// At most so many bytes of any text.
    AtMost(usize),
    /// At most so many of `[a-zA-Z0-9_-]`.
    Word(usize),
    /// Exactly so many of `[a-zA-Z0-9]`.
    Exactly(usize),
}

impl IdRule {
    fn takes(self, id: &str) -> bool {
        let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        match self {
            Self::AtMost(max) => id.len() <= max,
            Self::Word(max) => !id.is_empty() && id.len() <= max && id.bytes().all(word),
            Self::Exactly(len) => id.len() == len && id.bytes().all(|b| b.is_ascii_alphanumeric()),
        }
    }

    /// The `n`-th spelling of `id` that the rule takes.
    fn spell(self, id: &str, n: u64) -> String {
        let len = match self {
            Self::AtMost(max) | Self::Word(max) => max,
            Self::Exactly(len) => return hashed(id, n, len),
        };
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let suffix = if n == 0 { String::new() } else { format!("_{n}") };
        let kept = if id.len() + suffix.len() <= len { id } else { "" };
        match kept {
            // Cutting would throw ids together that differ in their ends; a hash keeps them apart.
            "" => format!("call_{}", hashed(id, n, len.saturating_sub(5).min(16))),
            id if matches!(self, Self::Word(_)) => {
                let mapped: String = id.chars().map(|c| if word(c) { c } else { '_' }).collect();
                mapped + &suffix
            }
            id => format!("{id}{suffix}"),
        }
    }
}

/// `len` letters and digits that stand for the `n`-th spelling of `id`.
fn hashed(id: &str, n: u64, len: usize) -> String {
    const LETTERS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut hash = id
        .bytes()
        .chain(n.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut out = String::with_capacity(len);
    for _ in 0..len {
        let letter = usize::try_from(hash % 62).ok().and_then(|at| LETTERS.get(at)).copied();
        out.push(char::from(letter.unwrap_or(b'0')));
        hash = (hash / 62).wrapping_add(hash.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    out
}

/// Gives every call of a conversation an id of its own on the wire (M7).
///
/// An id that the provider takes and that no earlier call has is sent as it is; else it is spelled anew. What a call gets
/// depends on the calls before it only, so that a longer history repeats the ids of a shorter one.
#[derive(Debug)]
pub(crate) struct WireIds {
    rule: IdRule,
    used: BTreeMap<String, ()>,
    /// The next spelling to try, for ids that came up before.
    next: BTreeMap<Text, u64>,
    /// The calls that wait for results: the history's id and the wire's.
    open: Vec<(Text, String)>,
}

impl WireIds {
    pub(crate) fn new(rule: IdRule) -> Self {
        Self { rule, used: BTreeMap::new(), next: BTreeMap::new(), open: Vec::new() }
    }

    /// An assistant message begins: results refer to its calls.
    pub(crate) fn turn(&mut self) {
        self.open.clear();
    }

    /// The wire id of a new call.
    pub(crate) fn call(&mut self, id: &Text) -> &str {
        let mut n = self.next.get(id).copied().unwrap_or(0);
        let mut wire = if n == 0 && self.rule.takes(id) { String::from(id.as_str()) } else { String::new() };
        while wire.is_empty() || self.used.contains_key(&wire) {
            wire = self.rule.spell(id, n);
            n += 1;
        }
        self.next.insert(id.clone(), n.max(1));
        self.used.insert(wire.clone(), ());
        self.open.push((id.clone(), wire));
        self.open.last().map_or("", |(_, wire)| wire)
    }

    /// The wire id of the call that a result answers.
    pub(crate) fn result<'a>(&'a self, id: &'a Text) -> &'a str {
        self.open.iter().find(|(call, _)| call == id).map_or(id.as_str(), |(_, wire)| wire)
    }
}

/// Writes where an image is, as a JSON string: its address, or a `data:` URL.
pub(crate) fn image_url(out: &mut Vec<u8>, image: &Image) {
    match &image.data {
        ImageData::Url(url) => crate::json::string(out, url),
        ImageData::Bytes(bytes) => {
            out.extend_from_slice(b"\"data:");
            crate::json::escaped(out, image.media_type.as_bytes());
            out.extend_from_slice(b";base64,");
            base64::encode(out, bytes);
            out.push(b'"');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_hosts_members_replace_the_codecs_and_come_last() {
        let parameters = ModelParameters {
            extra: Some("{\"b\": [1 ],\"a\":1,\"a\":2}".into()),
            ..ModelParameters::default()
        };
        let mut out = Vec::new();
        let mut body = Body::begin(&mut out, &parameters).unwrap();
        body.str("a", "x");
        body.float("t", Some(0.5)).unwrap();
        assert!(body.float("t", Some(f64::NAN)).is_err());
        body.texts("stop", &["".into()]);
        body.end();
        assert_eq!(String::from_utf8_lossy(&out), "{\"t\":0.5,\"b\":[1 ],\"a\":2}");
        for extra in ["", "[]", "{\"a\":}", "{\"stream\":true}", "{\"messages\":[]}"] {
            let parameters = ModelParameters { extra: Some(extra.into()), ..ModelParameters::default() };
            assert!(Body::begin(&mut Vec::new(), &parameters).is_err(), "{extra}");
        }
    }

    #[test]
    fn wire_ids_are_unique_and_depend_on_the_past_only() {
        let walk = |rule, count: usize| {
            let mut ids = WireIds::new(rule);
            let names = ["call_0", "call_0", "a:b", "a_b", "call_0_1", "call_0", "a:b"];
            let long = "x".repeat(50);
            let all = names.iter().copied().chain([long.as_str(), long.as_str(), "", "abcdefghi"]);
            let wire: Vec<String> = all.take(count).map(|id| ids.call(&id.into()).to_string()).collect();
            wire
        };
        for rule in [IdRule::AtMost(40), IdRule::Word(64), IdRule::Word(40), IdRule::Exactly(9)] {
            let whole = walk(rule, 11);
            let mut sorted = whole.clone();
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), whole.len(), "{rule:?} {whole:?}");
            assert!(whole.iter().all(|id| rule.takes(id)), "{rule:?} {whole:?}");
            for count in 0..whole.len() {
                assert_eq!(walk(rule, count), whole[..count]);
            }
        }
        assert_eq!(walk(IdRule::Word(64), 4), ["call_0", "call_0_1", "a_b", "a_b_1"]);
        assert_eq!(walk(IdRule::Exactly(9), 11)[10], "abcdefghi");
    }

    #[test]
    fn an_id_that_every_step_repeats_costs_no_search() {
        let mut ids = WireIds::new(IdRule::AtMost(40));
        for n in 0..10_000 {
            ids.turn();
            let wire = ids.call(&"call_0".into()).to_string();
            assert_eq!(wire, if n == 0 { "call_0".into() } else { format!("call_0_{n}") });
            assert_eq!(ids.result(&"call_0".into()), wire);
        }
    }
}
