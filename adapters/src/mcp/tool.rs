//! A server's tool as a tool of a host.

use super::{McpClient, McpTransport, McpUpdate};
use crate::core::mcp::{McpError, McpToolDeclaration};
use crate::core::tool::{ToolFault, ToolInvocation, ToolOutput, ToolSpec};
use crate::host::{LocalTool, Tool, ToolContext, ToolReturn};
use crate::sync::Arc;
use std::fmt;

/// A tool of an MCP server. It keeps the connection open.
///
/// What the server reports on the way is the call's progress. A call that fails is one of two things: arguments that the
/// server refuses are a result for the model, everything else is a [`ToolFault`] (T3).
pub struct McpTool<X: McpTransport> {
    client: McpClient<X>,
    declaration: Arc<McpToolDeclaration>,
    spec: ToolSpec,
}

/// As [`McpTool`], over a transport that stays on one thread.
pub struct LocalMcpTool<X: McpTransport>(McpTool<X>);

impl<X: McpTransport> McpTool<X> {
    pub(super) fn new(client: McpClient<X>, declaration: McpToolDeclaration, spec: ToolSpec) -> Self {
        Self { client, declaration: Arc::new(declaration), spec }
    }

    /// The tool as its server declares it.
    pub fn declaration(&self) -> &McpToolDeclaration {
        &self.declaration
    }

    /// The tool as its host will declare it.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// With another declaration: an access, a deadline, an approval. The server's name for it stays the same.
    #[must_use]
    pub fn declared(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// For a local host.
    pub fn local(self) -> LocalMcpTool<X> {
        LocalMcpTool(self)
    }

    async fn run(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolOutput, ToolFault> {
        let mut call = match self.client.call(&self.declaration.name, invocation.call.arguments_json()) {
            Ok(call) => call,
            Err(error) => return error.into_tool_result(),
        };
        while let Some(update) = call.next().await {
            match update {
                McpUpdate::Progress(report) => cx.progress(report.to_string()).await,
                McpUpdate::Done(output) => return output.or_else(McpError::into_tool_result),
            }
        }
        Err(ToolFault::new("the call had no end"))
    }
}

impl<X: McpTransport + Send + 'static> Tool for McpTool<X> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        self.run(invocation, cx).await.map(ToolReturn::from)
    }
}

impl<X: McpTransport + 'static> LocalTool for LocalMcpTool<X> {
    fn spec(&self) -> ToolSpec {
        self.0.spec.clone()
    }

    async fn call(&self, invocation: ToolInvocation, cx: ToolContext) -> Result<ToolReturn, ToolFault> {
        self.0.run(invocation, cx).await.map(ToolReturn::from)
    }
}

impl<X: McpTransport> Clone for McpTool<X> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            declaration: Arc::clone(&self.declaration),
            spec: self.spec.clone(),
        }
    }
}

impl<X: McpTransport> fmt::Debug for McpTool<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl<X: McpTransport> fmt::Debug for LocalMcpTool<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalMcpTool").field("name", &self.0.spec.name).finish_non_exhaustive()
    }
}
