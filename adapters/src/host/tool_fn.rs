//! Tools made of functions.

use super::{LocalTool, Tool, ToolContext, ToolReturn};
use crate::core::tool::{ToolFault, ToolInvocation, ToolOutput, ToolSpec};
use serde_json::Value;
use std::future::Future;

/// A tool made of a function; see [`tool_fn`].
#[derive(Clone, Debug)]
pub struct ToolFn<F> {
    spec: ToolSpec,
    call: F,
}

/// A tool made of a function that may stay on one thread; see [`local_tool_fn`].
#[derive(Clone, Debug)]
pub struct LocalToolFn<F> {
    spec: ToolSpec,
    call: F,
}

/// A [`Tool`] made of a function from arguments and context to output: for both flavours of host.
///
/// ```
/// use runloom::{ToolOutput, ToolSpec, tool_fn};
///
/// let spec = ToolSpec::new("add", "Adds two numbers.", r#"{"type":"object"}"#).unwrap();
/// let add = tool_fn(spec, |arguments, _cx| async move {
///     match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
///         (Some(a), Some(b)) => Ok(ToolOutput::text((a + b).to_string())),
///         _ => Ok(ToolOutput::error("a and b must be whole numbers")),
///     }
/// });
/// ```
pub fn tool_fn<F, Fut, R>(spec: ToolSpec, call: F) -> ToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolFault>> + Send,
    R: Into<ToolReturn>,
{
    ToolFn { spec, call }
}

/// A [`LocalTool`] made of a function from arguments and context to output: for local hosts.
pub fn local_tool_fn<F, Fut, R>(spec: ToolSpec, call: F) -> LocalToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + 'static,
    Fut: Future<Output = Result<R, ToolFault>>,
    R: Into<ToolReturn>,
{
    LocalToolFn { spec, call }
}

/// The arguments as a value; the model is told if they are nested deeper than a parser goes.
fn arguments(invocation: &ToolInvocation) -> Result<Value, ToolOutput> {
    serde_json::from_str(invocation.call.arguments_json())
        .map_err(|error| ToolOutput::error(format!("the arguments cannot be read: {error}")))
}

impl<F, Fut, R> Tool for ToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ToolFault>> + Send,
    R: Into<ToolReturn>,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        match arguments(&invocation) {
            Ok(arguments) => (self.call)(arguments, cx).await.map(Into::into),
            Err(output) => Ok(output.into()),
        }
    }
}

impl<F, Fut, R> LocalTool for LocalToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + 'static,
    Fut: Future<Output = Result<R, ToolFault>>,
    R: Into<ToolReturn>,
{
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        match arguments(&invocation) {
            Ok(arguments) => (self.call)(arguments, cx).await.map(Into::into),
            Err(output) => Ok(output.into()),
        }
    }
}
