//! Types that are declared as tables of their members.

use super::Wire;
use super::context::{Context, NoticeKind, Path, Read};
use super::union::custom;
use crate::json::Out;
use serde::de::{IgnoredAny, MapAccess};

/// Members that several types have in common.
pub(crate) trait Flat: Default {
    /// Reads the value of the member `name` if it is one of these.
    fn member<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
        context: Context<'_>,
    ) -> Result<bool, A::Error>;
    /// Writes the members that have a value.
    fn write<O: Out>(&self, out: &mut O, first: &mut bool);
}

/// Writes `,"name":`, given as `comma_name`; without the comma where it is the first member.
#[inline]
pub(crate) fn key<O: Out>(out: &mut O, comma_name: &'static str, first: &mut bool) {
    let skipped = usize::from(core::mem::replace(first, false));
    out.push(comma_name.as_bytes().get(skipped..).unwrap_or_default());
}

/// Reads the value of a required member; `None` if nothing names its kind.
#[inline]
pub(crate) fn required<'de, T: Wire, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    whole: &mut bool,
    name: &'static str,
    map: &mut A,
    context: Context<'_>,
) -> Result<(), A::Error> {
    let path = Path::Member(context.path(), name);
    let context = context.at(&path);
    if slot.is_some() {
        context.fail("the member stands there twice");
        return Err(custom());
    }
    match map.next_value_seed(Read::at(context))? {
        Some(value) => *slot = Some(value),
        None => *whole = false,
    }
    Ok(())
}

/// Reads the value of an optional member.
#[inline]
pub(crate) fn member<'de, T: Wire, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
    context: Context<'_>,
) -> Result<(), A::Error> {
    let path = Path::Member(context.path(), name);
    let context = context.at(&path);
    if slot.is_some() {
        context.fail("the member stands there twice");
        return Err(custom());
    }
    match map.next_value_seed(Read::<T>::at(context))? {
        Some(value) if value.is_null() => {
            context.fail(T::EXPECTED);
            return Err(custom());
        }
        Some(value) => *slot = Some(value),
        None => context.unknown_kind(),
    }
    Ok(())
}

/// A second member of one name.
#[cold]
pub(crate) fn twice<E: serde::de::Error>(name: &str, context: Context<'_>) -> E {
    let path = Path::Member(context.path(), name);
    context.at(&path).fail("the member stands there twice");
    custom()
}

/// Takes out a member that nothing describes.
#[cold]
pub(crate) fn strip<'de, A: MapAccess<'de>>(
    name: &str,
    map: &mut A,
    context: Context<'_>,
) -> Result<(), A::Error> {
    let path = Path::Member(context.path(), name);
    context.at(&path).note(NoticeKind::UnknownMember);
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// The type of a field, by its kind.
macro_rules! wire_type {
    (req $ty:ty) => { $ty };
    (opt $ty:ty) => { Option<$ty> };
    (list $ty:ty) => { alloc::vec::Vec<$ty> };
}

macro_rules! wire_slot {
    (req $ty:ty) => {
        Option::<$ty>::None
    };
    (opt $ty:ty) => {
        Option::<$ty>::None
    };
    (list $ty:ty) => {
        Option::<alloc::vec::Vec<$ty>>::None
    };
}

macro_rules! wire_read {
    (req $slot:ident $key:literal $map:ident $context:ident $whole:ident) => {
        $crate::agui::wire::required(&mut $slot, &mut $whole, $key, &mut $map, $context)?
    };
    ($kind:ident $slot:ident $key:literal $map:ident $context:ident $whole:ident) => {
        $crate::agui::wire::member(&mut $slot, $key, &mut $map, $context)?
    };
}

macro_rules! wire_take {
    (req $slot:ident $key:literal $context:ident $whole:ident) => {
        match $slot {
            Some(value) => value,
            None if !$whole => return Ok(None),
            None => {
                let path = $crate::agui::wire::Path::Member($context.path(), $key);
                $context.at(&path).fail("the member is required");
                return Err($crate::agui::wire::custom());
            }
        }
    };
    (opt $slot:ident $key:literal $context:ident $whole:ident) => {
        $slot
    };
    (list $slot:ident $key:literal $context:ident $whole:ident) => {
        $slot.unwrap_or_default()
    };
}

/// Writes `,"key":value` where there is a value.
macro_rules! wire_write {
    (req $value:expr, $key:literal, $out:ident $first:ident) => {
        $crate::agui::wire::key($out, concat!(",\"", $key, "\":"), $first);
        $crate::agui::wire::Wire::write(&$value, $out);
    };
    (opt $value:expr, $key:literal, $out:ident $first:ident) => {
        // A null is no value of an optional member, and would be refused by whoever reads it.
        if let Some(value) = &$value
            && !$crate::agui::wire::Wire::is_null(value)
        {
            $crate::agui::wire::key($out, concat!(",\"", $key, "\":"), $first);
            $crate::agui::wire::Wire::write(value, $out);
        }
    };
    (list $value:expr, $key:literal, $out:ident $first:ident) => {
        if !$value.is_empty() {
            $crate::agui::wire::key($out, concat!(",\"", $key, "\":"), $first);
            $crate::agui::wire::Wire::write(&$value, $out);
        }
    };
}

/// Declares a type with its members: `req` (required), `opt` (optional), `list` (optional, absent is empty).
///
/// `: base` in front of the members adds those that all events have.
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(: $base:ident)? {
            $( $(#[$doc:meta])* $kind:ident $field:ident : $ty:ty = $key:literal ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $name {
            $( $(#[$doc])* pub $field: wire_type!($kind $ty), )*
            $(
                /// What every event may carry.
                pub $base: $crate::agui::event::Base,
            )?
        }

        impl $crate::agui::wire::Object for $name {
            #[allow(unused_mut, unused_variables, reason = "not every type has members of every kind")]
            fn read_members<'de, A: serde::de::MapAccess<'de>>(
                mut map: A,
                context: $crate::agui::wire::Context<'_>,
                tag: Option<&'static str>,
            ) -> Result<Option<Self>, A::Error> {
                $( let mut $field = wire_slot!($kind $ty); )*
                $( let mut $base = $crate::agui::event::Base::default(); )?
                let (mut whole, mut tagged) = (true, false);
                while let Some(key) = map.next_key::<$crate::agui::wire::Key<'de>>()? {
                    match key.as_str() {
                        $( $key => wire_read!($kind $field $key map context whole), )*
                        // Two names would be two kinds.
                        other if Some(other) == tag && !tagged => {
                            tagged = true;
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                        other => {
                            $( if $crate::agui::wire::Flat::member(&mut $base, other, &mut map, context)? { continue; } )?
                            if Some(other) == tag {
                                return Err($crate::agui::wire::twice(other, context));
                            }
                            $crate::agui::wire::strip(other, &mut map, context)?;
                        }
                    }
                }
                Ok(Some(Self {
                    $( $field: wire_take!($kind $field $key context whole), )*
                    $( $base, )?
                }))
            }
        }

        impl $name {
            /// Writes the members.
            #[allow(dead_code, unused_variables, reason = "not every type has members, or is written in this way")]
            pub(crate) fn write_members<O: $crate::json::Out>(&self, out: &mut O, first: &mut bool) {
                $( wire_write!($kind self.$field, $key, out first); )*
                $( $crate::agui::wire::Flat::write(&self.$base, out, first); )?
            }
        }
    };
}

/// Types that `wire_struct` declared, as values of their own.
macro_rules! wire_object {
    ($($name:ident)*) => { $(
        impl $crate::agui::wire::Wire for $name {
            const EXPECTED: &'static str = "an object is expected";

            fn read<'de, D: serde::de::Deserializer<'de>>(
                from: D,
                context: $crate::agui::wire::Context<'_>,
            ) -> Result<Option<Self>, D::Error> {
                from.deserialize_map($crate::agui::wire::Members::new(context, None))
            }
            fn write<O: $crate::json::Out>(&self, out: &mut O) {
                out.push(b"{");
                self.write_members(out, &mut true);
                out.push(b"}");
            }
        }
    )* };
}

/// Declares a closed set of names.
macro_rules! wire_names {
    (
        $(#[$meta:meta])*
        pub enum $name:ident ($expected:literal, $unknown:ident) {
            $( $(#[$doc:meta])* $variant:ident = $text:literal ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[$doc])* $variant, )*
        }

        impl $name {
            /// Every value, in the order of the schema.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }

            /// The value of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( $text => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::agui::wire::Wire for $name {
            const EXPECTED: &'static str = $expected;

            fn read<'de, D: serde::de::Deserializer<'de>>(
                from: D,
                _: $crate::agui::wire::Context<'_>,
            ) -> Result<Option<Self>, D::Error> {
                let name = <$crate::agui::wire::Key<'de> as serde::de::Deserialize<'de>>::deserialize(from)?;
                wire_unknown!($unknown Self::from_name(name.as_str()))
            }
            fn write<O: $crate::json::Out>(&self, out: &mut O) {
                out.push(b"\"");
                out.push(self.as_str().as_bytes());
                out.push(b"\"");
            }
        }
    };
}

/// What an unknown name is: malformed (`closed`), or a kind that a later version may bring (`open`).
macro_rules! wire_unknown {
    (closed $found:expr) => {
        match $found {
            Some(value) => Ok(Some(value)),
            None => Err($crate::agui::wire::custom()),
        }
    };
    (open $found:expr) => {
        Ok($found)
    };
}
