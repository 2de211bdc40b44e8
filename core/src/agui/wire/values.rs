//! Strings, numbers, lists and open JSON.

use super::context::{Context, Path, Read};
use super::union::custom;
use super::{MAX_SAFE_INTEGER, Wire};
use crate::json::{self, Out};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};

impl Wire for String {
    const EXPECTED: &'static str = "a string is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, _: Context<'_>) -> Result<Option<Self>, D::Error> {
        String::deserialize(from).map(Some)
    }
    fn write<O: Out>(&self, out: &mut O) {
        json::string(out, self);
    }
}

impl Wire for bool {
    const EXPECTED: &'static str = "true or false is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, _: Context<'_>) -> Result<Option<Self>, D::Error> {
        bool::deserialize(from).map(Some)
    }
    fn write<O: Out>(&self, out: &mut O) {
        out.push(if *self { b"true" } else { b"false" });
    }
}

/// An integer of a JSON number, which may be written as `1.0`.
struct Integer;

impl Visitor<'_> for Integer {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }
    fn visit_i64<E>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
        i64::try_from(number).map_err(|_| custom())
    }
    #[allow(clippy::float_cmp, reason = "the question is whether the conversion lost anything")]
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<i64, E> {
        let integer = number as i64;
        if integer as f64 == number { Ok(integer) } else { Err(custom()) }
    }
}

impl Wire for i64 {
    const EXPECTED: &'static str = "an integer within ±(2^53 − 1) is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, _: Context<'_>) -> Result<Option<Self>, D::Error> {
        let number = from.deserialize_any(Integer)?;
        let safe = (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number);
        if safe { Ok(Some(number)) } else { Err(custom()) }
    }
    fn write<O: Out>(&self, out: &mut O) {
        if *self < 0 {
            out.push(b"-");
        }
        json::integer(out, self.unsigned_abs());
    }
}

impl Wire for u64 {
    const EXPECTED: &'static str = "an integer from 0 to 2^53 − 1 is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, _: Context<'_>) -> Result<Option<Self>, D::Error> {
        let number = from.deserialize_any(Integer)?;
        let safe = (0..=MAX_SAFE_INTEGER).contains(&number);
        if safe { Ok(Some(number.unsigned_abs())) } else { Err(custom()) }
    }
    /// Larger numbers are cut: a count is worth more than the stream that carries it.
    fn write<O: Out>(&self, out: &mut O) {
        json::integer(out, (*self).min(MAX_SAFE_INTEGER.unsigned_abs()));
    }
}

impl Wire for Value {
    const EXPECTED: &'static str = "a value other than null is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, _: Context<'_>) -> Result<Option<Self>, D::Error> {
        Value::deserialize(from).map(Some)
    }
    fn write<O: Out>(&self, out: &mut O) {
        value(out, self);
    }
    fn is_null(&self) -> bool {
        Value::is_null(self)
    }
}

impl Wire for Map<String, Value> {
    const EXPECTED: &'static str = "an object is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, _: Context<'_>) -> Result<Option<Self>, D::Error> {
        Map::deserialize(from).map(Some)
    }
    fn write<O: Out>(&self, out: &mut O) {
        map(out, self);
    }
}

impl<T: Wire> Wire for Box<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        Ok(T::read(from, context)?.map(Box::new))
    }
    fn write<O: Out>(&self, out: &mut O) {
        T::write(self, out);
    }
    fn is_null(&self) -> bool {
        T::is_null(self)
    }
}

impl<T: Wire> Wire for Vec<T> {
    const EXPECTED: &'static str = "an array is expected";

    fn read<'de, D: Deserializer<'de>>(from: D, context: Context<'_>) -> Result<Option<Self>, D::Error> {
        from.deserialize_seq(Items::<T>(context, core::marker::PhantomData)).map(Some)
    }
    fn write<O: Out>(&self, out: &mut O) {
        array(out, self, |out, item| item.write(out));
    }
}

/// Items of a list; those of an unknown kind are left out.
struct Items<'a, T>(Context<'a>, core::marker::PhantomData<T>);

impl<'de, T: Wire> Visitor<'de> for Items<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        let mut index = 0;
        loop {
            let path = Path::Item(self.0.path(), index);
            let context = self.0.at(&path);
            match seq.next_element_seed(Read::<T>::at(context))? {
                None => return Ok(items),
                Some(None) => context.unknown_kind(),
                Some(Some(item)) => items.push(item),
            }
            index += 1;
        }
    }
}

/// Writes a list.
pub(crate) fn array<O: Out, T>(out: &mut O, items: &[T], mut each: impl FnMut(&mut O, &T)) {
    out.push(b"[");
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(b",");
        }
        each(out, item);
    }
    out.push(b"]");
}

/// Writes any JSON value, as deep as it is.
pub(crate) fn value<O: Out>(out: &mut O, value: &Value) {
    match value {
        Value::Null => out.push(b"null"),
        Value::Bool(flag) => flag.write(out),
        Value::Number(number) => {
            struct Text<'a, O>(&'a mut O);
            impl<O: Out> fmt::Write for Text<'_, O> {
                fn write_str(&mut self, text: &str) -> fmt::Result {
                    self.0.push(text.as_bytes());
                    Ok(())
                }
            }
            // The sink takes everything.
            let _ = write!(Text(out), "{number}");
        }
        Value::String(text) => json::string(out, text),
        Value::Array(items) => array(out, items, |out, item| self::value(out, item)),
        Value::Object(members) => map(out, members),
    }
}

fn map<O: Out>(out: &mut O, members: &Map<String, Value>) {
    let mut object = json::Object::begin(out);
    for (name, member) in members {
        value(object.key(name), member);
    }
    object.end();
}

/// Whether `text` is a JSON Pointer (RFC 6901).
pub(crate) fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    escapes && (text.is_empty() || text.starts_with('/'))
}
