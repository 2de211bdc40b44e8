//! What a server says about its tools.

use super::error::{MAX_ERROR_TEXT, McpError};
use super::limits::McpLimits;
use crate::problem::clean;
use crate::provider::read::{List, Members};
use crate::text::Text;
use crate::tool::Access;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::value::RawValue;

/// A tool as its server declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpToolDeclaration {
    /// The server's name for it, of any form; see [`tool_names`](super::tool_names).
    pub name: Text,
    /// A name for people, where there is one.
    pub title: Option<Text>,
    /// What the tool does, for the model; empty where the server says nothing.
    pub description: Text,
    /// JSON Schema of the arguments: the server's own text of an object (M9).
    pub schema: Arc<str>,
    /// What the server says about the tool's effects.
    pub annotations: McpAnnotations,
}

/// A server's word about what a tool does. `None` where it says nothing. Nothing checks that it is true: let it decide
/// something only where the server is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpAnnotations {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// What it changes may be lost. Means something only where it is not read-only.
    pub destructive: Option<bool>,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// It deals with the world outside of what the server has.
    pub open_world: Option<bool>,
}

impl McpAnnotations {
    /// The access that goes with these words, for a server that is trusted: shared for a tool that changes nothing,
    /// else exclusive.
    pub fn access(&self) -> Access {
        if self.read_only == Some(true) { Access::Shared } else { Access::Exclusive }
    }
}

/// A server's list of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpToolList {
    /// The tools, in the server's order. A name that comes again is left out.
    pub tools: Vec<McpToolDeclaration>,
    /// What is wrong with declarations that were left out, one text each.
    pub refused: Vec<Text>,
}

impl McpToolList {
    /// Takes in a page; the cursor of the next one. It ends with the first declaration after `limits.tools`.
    pub(super) fn page(&mut self, result: &str, limits: &McpLimits) -> Result<Option<Text>, McpError> {
        let members = Members::read(result).ok_or_else(|| McpError::malformed("its result is no object"))?;
        let list = members.get("tools").ok_or_else(|| McpError::malformed("its result has no tools"))?;
        let List(tools) = serde_json::from_str::<List<&RawValue>>(list)
            .map_err(|_| McpError::malformed("its list of tools cannot be read"))?;
        for tool in tools {
            if self.tools.len() + self.refused.len() >= limits.tools {
                return Err(McpError::TooManyTools { tools: limits.tools, pages: limits.pages });
            }
            match declaration(tool.get()) {
                Ok(tool) if self.tools.iter().any(|known| known.name == tool.name) => {
                    self.refused.push(refusal(&tool.name, "the name is there twice"));
                }
                Ok(tool) => self.tools.push(tool),
                Err(why) => self.refused.push(why),
            }
        }
        Ok(members.text("nextCursor").map(text))
    }
}

fn refusal(name: &str, why: &str) -> Text {
    clean(&format!("tool {name:?}: {why}"), MAX_ERROR_TEXT)
}

fn declaration(json: &str) -> Result<McpToolDeclaration, Text> {
    let Some(members) = Members::read(json) else { return Err(refusal("", "it is no object")) };
    let Some(name) = members.text("name") else { return Err(refusal("", "it has no name")) };
    let Some(schema) = members.get("inputSchema").filter(|schema| schema.starts_with('{')) else {
        return Err(refusal(&name, "its schema is no object"));
    };
    if crate::read_json::check(schema).is_err() {
        return Err(refusal(&name, "its schema is nested too deeply"));
    }
    Ok(McpToolDeclaration {
        title: members.text("title").map(text),
        description: members.text("description").map(text).unwrap_or_default(),
        schema: Arc::from(schema),
        annotations: members.get("annotations").map(annotations).unwrap_or_default(),
        name: text(name),
    })
}

fn text(text: alloc::borrow::Cow<'_, str>) -> Text {
    Text::from(String::from(text))
}

fn annotations(json: &str) -> McpAnnotations {
    let Some(members) = Members::read(json) else { return McpAnnotations::default() };
    let hint = |name| members.get(name).and_then(|json| serde_json::from_str(json).ok());
    McpAnnotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: M9
    #[test]
    fn a_schema_stays_as_it_is_written() {
        let schema = r#"{ "type":"object", "z":1.50, "a":{"é":"é"} }"#;
        let page = format!(
            r#"{{"tools":[{{"name":"a.b","title":"A","description":"does\n","inputSchema":{schema},
                "annotations":{{"readOnlyHint":true,"destructiveHint":"no","idempotentHint":null}},"x":[]}}],
                "nextCursor":"more"}}"#
        );
        let mut list = McpToolList::default();
        assert_eq!(list.page(&page, &McpLimits::default()), Ok(Some("more".into())));
        let tool = &list.tools[0];
        assert_eq!(
            (tool.name.as_str(), tool.title.as_deref(), &*tool.description),
            ("a.b", Some("A"), "does\n")
        );
        assert_eq!(&*tool.schema, schema);
        let expected = McpAnnotations { read_only: Some(true), ..McpAnnotations::default() };
        assert_eq!((tool.annotations, tool.annotations.access()), (expected, Access::Shared));
        assert_eq!(McpAnnotations::default().access(), Access::Exclusive);
    }

    #[test]
    fn one_bad_declaration_leaves_the_others() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        let page = format!(
            r#"{{"tools":[7,{{}},{{"name":"a"}},{{"name":"b","inputSchema":[]}},{{"name":"c","inputSchema":{deep}}},
                {{"name":"d","inputSchema":{{}}}},{{"name":"d","inputSchema":{{}}}}]}}"#
        );
        let mut list = McpToolList::default();
        assert_eq!(list.page(&page, &McpLimits::default()), Ok(None));
        assert_eq!(list.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["d"]);
        assert_eq!(list.refused.len(), 6);
        assert!(
            list.refused[4].contains("deeply") && list.refused[5].contains("twice"),
            "{:?}",
            list.refused
        );
    }

    #[test]
    fn a_page_without_tools_is_an_error() {
        for page in ["[]", "{}", "7"] {
            assert!(
                matches!(
                    McpToolList::default().page(page, &McpLimits::default()),
                    Err(McpError::Malformed(_))
                ),
                "{page}"
            );
        }
        assert_eq!(McpToolList::default().page(r#"{"tools":null}"#, &McpLimits::default()), Ok(None));
    }
}
