//! The tools that the programs offer: what they declare and what they do.

use crate::folder::Folder;
use runloom_core::message::ToolCall;
use runloom_core::tool::{Access, ToolOutput, ToolSpec, ToolSpecError};
use serde_json::{Number, Value};
use std::time::Duration;

/// How long an addition takes: long enough to see that two of them overlap.
pub const ADDITION_TAKES: Duration = Duration::from_millis(150);

const ADD_SCHEMA: &str = r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}"#;
const PATH_SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"relative to the folder"}},"required":["path"],"additionalProperties":false}"#;

/// `add`: it touches nothing, so that its calls may overlap with all others.
///
/// # Errors
///
/// None as long as name and schema are valid.
pub fn add_spec() -> Result<ToolSpec, ToolSpecError> {
    Ok(ToolSpec::new("add", "Adds the numbers a and b.", ADD_SCHEMA)?.access(Access::Shared))
}

/// `list_dir` and `read_file`: they read the folder and change nothing.
///
/// # Errors
///
/// None as long as names and schemas are valid.
pub fn folder_specs() -> Result<[ToolSpec; 2], ToolSpecError> {
    let list = "Lists what is in a folder; the path `.` is the whole of it.";
    let read = "Reads a text file; of a long one, the beginning.";
    Ok([
        ToolSpec::new("list_dir", list, PATH_SCHEMA)?.access(Access::resources([("folder", false)])),
        ToolSpec::new("read_file", read, PATH_SCHEMA)?.access(Access::resources([("folder", false)])),
    ])
}

/// The tools of a program without async: each call is over when it returns.
#[derive(Debug)]
pub struct Toolbox {
    folder: Option<Folder>,
}

impl Toolbox {
    /// `add`, and with a folder `list_dir` and `read_file`.
    pub const fn new(folder: Option<Folder>) -> Self {
        Self { folder }
    }

    /// What the tools declare.
    ///
    /// # Errors
    ///
    /// None as long as names and schemas are valid.
    pub fn specs(&self) -> Result<Vec<ToolSpec>, ToolSpecError> {
        let mut specs = vec![add_spec()?];
        if self.folder.is_some() {
            specs.extend(folder_specs()?);
        }
        Ok(specs)
    }

    /// Runs a call.
    pub fn call(&self, call: &ToolCall) -> ToolOutput {
        let arguments = match serde_json::from_str(call.arguments_json()) {
            Ok(arguments) => arguments,
            Err(error) => return ToolOutput::error(format!("the arguments cannot be read: {error}")),
        };
        match (&*call.name, &self.folder) {
            ("add", _) => add(&arguments),
            ("list_dir", Some(folder)) => list_dir(folder, &arguments),
            ("read_file", Some(folder)) => read_file(folder, &arguments),
            _ => ToolOutput::error("there is no such tool"),
        }
    }
}

/// Runs `add`. Whole numbers are added exactly.
pub fn add(arguments: &Value) -> ToolOutput {
    let number = |name: &str| arguments.get(name).and_then(Value::as_number);
    let (Some(a), Some(b)) = (number("a"), number("b")) else {
        return ToolOutput::error("add needs two numbers, a and b");
    };
    match sum(a, b) {
        Some(sum) => ToolOutput::text(sum.to_string()),
        None => ToolOutput::error("the sum is too large"),
    }
}

fn sum(a: &Number, b: &Number) -> Option<Number> {
    if let (Some(a), Some(b)) = (a.as_i128(), b.as_i128()) {
        return Number::from_i128(a + b);
    }
    Number::from_f64(a.as_f64()? + b.as_f64()?)
}

/// Runs `list_dir`.
pub fn list_dir(folder: &Folder, arguments: &Value) -> ToolOutput {
    with_path(arguments, |path| folder.list(path))
}

/// Runs `read_file`.
pub fn read_file(folder: &Folder, arguments: &Value) -> ToolOutput {
    with_path(arguments, |path| folder.read(path))
}

/// What went wrong is a result too: the model can act on it.
fn with_path(arguments: &Value, read: impl FnOnce(&str) -> Result<String, String>) -> ToolOutput {
    let path = arguments.get("path").and_then(Value::as_str).ok_or("the argument path is missing".to_owned());
    match path.and_then(read) {
        Ok(text) => ToolOutput::text(text),
        Err(refusal) => ToolOutput::error(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_added() {
        for (a, b, sum) in [
            (json!(17), json!(25), "42"),
            (json!(-1), json!(1.5), "0.5"),
            (json!(i64::MAX), json!(1), "9223372036854775808"),
        ] {
            assert_eq!(add(&json!({"a": a, "b": b})), ToolOutput::text(sum));
        }
        for wrong in
            [json!({"a": 1}), json!({"a": "1", "b": 2}), json!(null), json!({"a": 1e308, "b": 1e308})]
        {
            assert!(add(&wrong).is_error, "{wrong}");
        }
        assert!(add(&json!({"a": u64::MAX, "b": u64::MAX})).is_error);
    }

    #[test]
    fn declarations_are_valid_and_additions_overlap() {
        let add = add_spec().unwrap();
        let [list, read] = folder_specs().unwrap();
        assert!(!add.access.conflicts(&add.access) && !list.access.conflicts(&read.access));
    }

    #[test]
    fn a_refusal_is_a_result() {
        let folder = Folder::open(&std::env::temp_dir()).unwrap();
        assert!(read_file(&folder, &json!({})).is_error);
        assert!(read_file(&folder, &json!({"path": "../x"})).is_error);
        assert!(list_dir(&folder, &json!({"path": "/"})).is_error);
    }
}
