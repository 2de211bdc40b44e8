//! Lenient reading of providers' JSON: a field of an unexpected type is as good as absent, members keep their order.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Implements the visits of JSON that mean "absent" here.
macro_rules! absent {
    ($($name:ident($($arg:ident: $type:ty)?),)*) => {
        $(fn $name<E: Error>(self $(, $arg: $type)?) -> Result<Self::Value, E> {
            $(let _ = $arg;)?
            Ok(Self::Value::default())
        })*
    };
}
macro_rules! skip {
    (seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}
pub(crate) use {absent, skip};

/// A text, borrowed where the JSON holds no escape; anything else reads as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Str<'a>(pub(crate) Option<Cow<'a, str>>);

impl Str<'_> {
    /// The text, unless it is absent or empty.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Str(Some(Cow::Owned(String::from(text)))))
            }
            absent! { visit_unit(), visit_bool(b: bool), visit_u64(n: u64), visit_i64(n: i64), visit_f64(n: f64), }
            skip!(seq);
            skip!(map);
        }
        deserializer.deserialize_any(Read)
    }
}

/// A count or an index; anything but a non-negative whole number reads as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Num(pub(crate) Option<u64>);

impl Num {
    /// The number as an index; absent when it does not fit.
    pub(crate) fn index(self) -> Option<u32> {
        self.0.and_then(|n| u32::try_from(n).ok())
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Num;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count")
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<Num, E> {
                Ok(Num(Some(n)))
            }
            fn visit_f64<E: Error>(self, n: f64) -> Result<Num, E> {
                // Some servers write whole numbers as 3.0; the cast saturates.
                let whole = n >= 0.0 && n <= crate::time::MAX_EXACT as f64 && n % 1.0 == 0.0;
                Ok(Num(whole.then_some(n as u64)))
            }
            absent! { visit_unit(), visit_bool(b: bool), visit_i64(n: i64), visit_str(s: &str), }
            skip!(seq);
            skip!(map);
        }
        deserializer.deserialize_any(Read)
    }
}

/// A list; anything else reads as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(core::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(List(items))
            }
            absent! { visit_unit(), visit_bool(b: bool), visit_u64(n: u64), visit_i64(n: i64), visit_f64(n: f64),
            visit_str(s: &str), }
            skip!(map);
        }
        deserializer.deserialize_any(Read(core::marker::PhantomData))
    }
}

/// The members of a JSON object in their order, each value as its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads the text of an object.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The text of a member's value; of a repeated name, the last.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rfind(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    /// A member's value as a text.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(|json| serde_json::from_str::<Str<'a>>(json).ok()?.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<Str<'de>, &'de RawValue>()? {
                    members.push((key.0.unwrap_or_default(), value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexpected_types_read_as_absent() {
        for json in ["null", "1", "-1", "1.5", "true", "[1,{}]", "{\"a\":[]}"] {
            assert_eq!(serde_json::from_str::<Str<'_>>(json).unwrap().get(), None, "{json}");
            let list = serde_json::from_str::<List<IgnoredAny>>(json).unwrap();
            assert_eq!(list.0.len(), usize::from(json.starts_with('[')) * 2, "{json}");
        }
        for (json, n) in [("3", Some(3)), ("3.0", Some(3)), ("3.5", None), ("-1", None), ("\"3\"", None)] {
            assert_eq!(serde_json::from_str::<Num>(json).unwrap().0, n, "{json}");
        }
        assert_eq!(serde_json::from_str::<Num>("1e300").unwrap().0, None);
    }

    #[test]
    fn members_keep_order_and_bytes() {
        let members = Members::read("{\"z\": 1.50,\"a\":\"x\\ny\", \"z\":[ 2 ]}").unwrap();
        assert!(members.0.iter().map(|(key, _)| &**key).eq(["z", "a", "z"]));
        assert_eq!(members.get("z"), Some("[ 2 ]"));
        assert_eq!(members.text("a").as_deref(), Some("x\ny"));
        assert!(Members::read("[1]").is_none() && Members::read("{").is_none());
    }
}
