//! Objects whose kind one of their members tells, wherever among the members it stands.

use super::context::Context;
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A string, borrowed from the text where no escape forbids it.
pub(crate) enum Key<'de> {
    Borrowed(&'de str),
    Owned(String),
}

impl Key<'_> {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key::Owned(text.into()))
            }
        }
        from.deserialize_str(Text)
    }
}

/// The text of a value, checked to be JSON.
pub(crate) type Raw<'de> = &'de RawValue;

/// A type with members, read by [`object`].
pub(crate) trait Object: Sized {
    /// Reads the members; the one called `tag` is known already.
    fn read_members<'de, A: MapAccess<'de>>(
        map: A,
        context: Context<'_>,
        tag: Option<&'static str>,
    ) -> Result<Option<Self>, A::Error>;
}

/// An error whose text nobody sees, because the context holds what is told.
pub(crate) fn custom<E: de::Error>() -> E {
    E::custom("malformed")
}

/// The text of the member `name` of the object `json`, if `json` is an object and has such a member that is a string.
pub(crate) fn tag<'de>(json: &'de str, name: &'static str) -> Option<Key<'de>> {
    struct Find<'a, 'de>(&'static str, &'a mut Option<Key<'de>>);
    impl<'de> Visitor<'de> for Find<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<Key<'de>>()? {
                if key.as_str() == self.0 {
                    *self.1 = Some(map.next_value()?);
                    // The rest is nobody's business here; that it was left is an error that nobody looks at.
                    return Ok(());
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    if let Some(found) = first(json, name) {
        return Some(Key::Borrowed(found));
    }
    let mut found = None;
    let mut from = serde_json::Deserializer::from_str(json);
    let _ = from.deserialize_map(Find(name, &mut found));
    found
}

/// The text of the first member, if that is its name and nothing in it is escaped: the usual case, at next to no cost.
fn first<'de>(json: &'de str, name: &str) -> Option<&'de str> {
    let members = json.trim_ascii_start().strip_prefix('{')?.trim_ascii_start();
    let after = members.strip_prefix('"')?.strip_prefix(name)?.strip_prefix('"')?.trim_ascii_start();
    let (text, _) = after.strip_prefix(':')?.trim_ascii_start().strip_prefix('"')?.split_once('"')?;
    if text.contains('\\') { None } else { Some(text) }
}

/// Reads the members of the object `json` as a `T`.
pub(crate) fn object<'de, T: Object, E: de::Error>(
    json: Raw<'de>,
    context: Context<'_>,
    tag: &'static str,
) -> Result<Option<T>, E> {
    whole(json.get(), context, tag).map_err(|_| custom())
}

/// Reads the members of the object that the text `json` is as a `T`.
pub(crate) fn whole<T: Object>(
    json: &str,
    context: Context<'_>,
    tag: &'static str,
) -> Result<Option<T>, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_str(json);
    let value = from.deserialize_map(Members::new(context, Some(tag)))?;
    from.end()?;
    Ok(value)
}

/// Reads an object member by member.
pub(crate) struct Members<'a, T> {
    context: Context<'a>,
    tag: Option<&'static str>,
    of: PhantomData<T>,
}

impl<'a, T> Members<'a, T> {
    /// Members of an object whose kind the member `tag` has told, if there is such a member.
    pub(crate) fn new(context: Context<'a>, tag: Option<&'static str>) -> Self {
        Self { context, tag, of: PhantomData }
    }
}

impl<'de, T: Object> Visitor<'de> for Members<'_, T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::read_members(map, self.context, self.tag)
    }
}
