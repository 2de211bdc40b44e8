//! The shape of a free answer: a small subset of JSON Schema that can be checked without building anything.

use super::answer::AnswerError;
use crate::json::{Object, Out, string};
use crate::text::Text;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use serde_json::Value;

/// Deepest nesting of a shape.
pub const MAX_SHAPE_DEPTH: usize = 16;

/// What a JSON value must look like.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Any JSON value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A number without a fraction.
    Integer,
    /// A text.
    Text,
    /// One of these texts, of which there is at least one.
    OneOf(Vec<Text>),
    /// A list of values of one shape.
    List(Box<Shape>),
    /// An object with these members and no others; names are unique.
    Object(Vec<Field>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Text,
    /// What its value looks like.
    pub shape: Shape,
    /// Whether it must be there.
    pub required: bool,
}

/// Why a shape cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// It nests deeper than [`MAX_SHAPE_DEPTH`].
    #[error("a shape nests deeper than {MAX_SHAPE_DEPTH}")]
    TooDeep,
    /// Nothing can be chosen.
    #[error("a choice among texts has none")]
    NoChoice,
    /// Two members have one name.
    #[error("two members are named {0:?}")]
    Duplicate(Text),
}

impl Shape {
    /// An object with these members.
    pub fn object(fields: impl IntoIterator<Item = Field>) -> Self {
        Self::Object(fields.into_iter().collect())
    }

    /// One of these texts.
    pub fn one_of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self::OneOf(values.into_iter().map(Text::new).collect())
    }

    /// A list of values of this shape.
    pub fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }

    /// The shape as JSON Schema.
    pub fn to_schema(&self) -> alloc::string::String {
        let mut bytes = Vec::new();
        self.write_schema(&mut bytes);
        alloc::string::String::from_utf8(bytes).unwrap_or_default()
    }

    pub(super) fn check_declaration(&self) -> Result<(), ShapeError> {
        self.declared(0)
    }

    fn declared(&self, depth: usize) -> Result<(), ShapeError> {
        if depth > MAX_SHAPE_DEPTH {
            return Err(ShapeError::TooDeep);
        }
        match self {
            Self::Any | Self::Boolean | Self::Number | Self::Integer | Self::Text => Ok(()),
            Self::OneOf(values) if values.is_empty() => Err(ShapeError::NoChoice),
            Self::OneOf(_) => Ok(()),
            Self::List(item) => item.declared(depth + 1),
            Self::Object(fields) => {
                let mut names: Vec<&Text> = fields.iter().map(|field| &field.name).collect();
                names.sort_unstable();
                if let Some([name, _]) = names.windows(2).find(|pair| pair.first() == pair.last()) {
                    return Err(ShapeError::Duplicate((*name).clone()));
                }
                fields.iter().try_for_each(|field| field.shape.declared(depth + 1))
            }
        }
    }

    /// Checks the JSON text of an answer.
    pub(super) fn check(&self, text: &str) -> Result<(), AnswerError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| AnswerError::NotJson(Text::new(crate::text::prefix(&error.to_string(), 256))))?;
        self.fits(&value, &mut Vec::new())
    }

    fn fits<'a>(&'a self, value: &'a Value, path: &mut Vec<Step<'a>>) -> Result<(), AnswerError> {
        let fits = match (self, value) {
            (Self::Any, _)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::Text, Value::String(_)) => true,
            (Self::Integer, Value::Number(number)) => {
                number.is_i64() || number.is_u64() || number.as_f64().is_some_and(is_whole)
            }
            (Self::OneOf(values), Value::String(text)) => values.iter().any(|known| **known == **text),
            (Self::List(item), Value::Array(values)) => {
                for (at, value) in values.iter().enumerate() {
                    path.push(Step::Item(at));
                    item.fits(value, path)?;
                    path.pop();
                }
                true
            }
            (Self::Object(fields), Value::Object(members)) => return object(fields, members, path),
            (
                Self::Boolean
                | Self::Number
                | Self::Integer
                | Self::Text
                | Self::OneOf(_)
                | Self::List(_)
                | Self::Object(_),
                _,
            ) => false,
        };
        if fits { Ok(()) } else { Err(AnswerError::Shape { at: pointer(path), expected: self.name() }) }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Text => "a text",
            Self::OneOf(_) => "one of the offered texts",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// Writes the shape as JSON Schema, in canonical JSON.
    pub(crate) fn write_schema<O: Out>(&self, out: &mut O) {
        let mut o = Object::begin(out);
        match self {
            Self::Any => {}
            Self::Boolean => {
                o.str("type", "boolean");
            }
            Self::Number => {
                o.str("type", "number");
            }
            Self::Integer => {
                o.str("type", "integer");
            }
            Self::Text => {
                o.str("type", "string");
            }
            Self::OneOf(values) => {
                o.array("enum", values.iter(), string).str("type", "string");
            }
            Self::List(item) => {
                item.write_schema(o.key("items"));
                o.str("type", "array");
            }
            Self::Object(fields) => write_object(&mut o, fields),
        }
        o.end();
    }
}

fn write_object<O: Out>(o: &mut Object<'_, O>, fields: &[Field]) {
    let mut sorted: Vec<&Field> = fields.iter().collect();
    sorted.sort_unstable_by(|a, b| a.name.encode_utf16().cmp(b.name.encode_utf16()));
    o.bool("additionalProperties", false);
    o.object("properties", |o| {
        for field in &sorted {
            field.shape.write_schema(o.key(&field.name));
        }
    });
    o.array("required", fields.iter().filter(|field| field.required), |out, field| string(out, &field.name));
    o.str("type", "object");
}

fn object<'a>(
    fields: &'a [Field],
    members: &'a serde_json::Map<alloc::string::String, Value>,
    path: &mut Vec<Step<'a>>,
) -> Result<(), AnswerError> {
    for field in fields {
        path.push(Step::Member(&field.name));
        match members.get(&*field.name) {
            Some(value) => field.shape.fits(value, path)?,
            None if field.required => return Err(AnswerError::Missing(pointer(path))),
            None => {}
        }
        path.pop();
    }
    match members.keys().find(|name| !fields.iter().any(|field| *field.name == ***name)) {
        Some(name) => {
            path.push(Step::Member(name));
            Err(AnswerError::Unexpected(pointer(path)))
        }
        None => Ok(()),
    }
}

/// Whether a double has no fraction; the check needs no arithmetic of the standard library.
fn is_whole(number: f64) -> bool {
    number % 1.0 == 0.0
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Item(usize),
    Member(&'a str),
}

/// The place as a JSON Pointer (RFC 6901), cut to 256 bytes.
fn pointer(path: &[Step<'_>]) -> Text {
    let mut text = alloc::string::String::new();
    for step in path {
        text.push('/');
        match step {
            Step::Item(at) => text.push_str(&at.to_string()),
            Step::Member(name) => text.push_str(&name.replace('~', "~0").replace('/', "~1")),
        }
    }
    Text::new(crate::text::prefix(&text, 256))
}
