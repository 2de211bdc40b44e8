//! The client of one server.

use super::call::{McpCall, Request};
use super::shared::{Shared, Waiter};
use super::{McpTool, McpTransport};
use crate::core::mcp::{
    McpClientInfo, McpConnection, McpError, McpIgnored, McpLimits, McpServerInfo, McpToolList, tool_names,
};
use crate::core::text::Text;
use crate::core::tool::{Access, ToolSpec};
use crate::sync::Arc;
use std::fmt;
use std::future::poll_fn;

/// How a client is to be.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct McpOptions {
    info: McpClientInfo,
    limits: McpLimits,
    prefix: Text,
    trusted: bool,
}

impl McpOptions {
    /// A client that names itself `runloom`, within the default bounds, whose tools have the server's names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the program to the server.
    pub fn client_info(mut self, name: impl Into<Text>, version: impl Into<Text>) -> Self {
        self.info = McpClientInfo { name: name.into(), version: version.into() };
        self
    }

    /// With these bounds.
    pub fn limits(mut self, limits: McpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Puts this before the name of each tool, so that two servers may have tools of one name; see [`tool_names`].
    pub fn prefix(mut self, prefix: impl Into<Text>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Believes what the server says about its tools: calls of those that it calls read-only may overlap. Without this
    /// every call of its tools is exclusive (T1).
    pub fn trust_annotations(mut self) -> Self {
        self.trusted = true;
        self
    }
}

/// The client of one MCP server. Clones share the connection, which ends with the last of them and of the tools and calls
/// made from them.
pub struct McpClient<X: McpTransport> {
    shared: Arc<Shared<X>>,
    server: Arc<McpServerInfo>,
    prefix: Text,
    trusted: bool,
}

impl<X: McpTransport> McpClient<X> {
    /// Shakes hands with the server behind `transport`. Dropping the future ends the connection; it waits as long as the
    /// server does not answer.
    ///
    /// # Errors
    ///
    /// [`McpError::Version`], [`McpError::Server`] or [`McpError::Malformed`] if no handshake comes about,
    /// [`McpError::Closed`] if the connection ends before.
    pub async fn connect(transport: X, options: McpOptions) -> Result<Self, McpError> {
        let McpOptions { info, limits, prefix, trusted } = options;
        let shared = Shared::new(McpConnection::new(info, limits).secrets(transport.secrets()), transport);
        let waiter = Waiter::new(&shared);
        let server = poll_fn(|cx| {
            waiter.poll(cx, |state| match (&state.closed, state.connection.server()) {
                (Some(error), _) => Some(Err(error.clone())),
                (None, Some(server)) => Some(Ok(Arc::clone(server))),
                (None, None) => None,
            })
        });
        let server = server.await?;
        Ok(Self { shared, server, prefix, trusted })
    }

    /// What the server says about itself.
    pub fn server(&self) -> &McpServerInfo {
        &self.server
    }

    /// The server's tools as it declares them. A server that has none is not asked.
    ///
    /// # Errors
    ///
    /// An [`McpError`] if the list cannot be had within its bounds.
    pub async fn list(&self) -> Result<McpToolList, McpError> {
        if !self.server.tools {
            return Ok(McpToolList::default());
        }
        Request::new(&self.shared, McpConnection::list_tools)?.listed().await
    }

    /// The server's tools, for a host. What it declares badly is left out; [`list`](Self::list) tells why.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn tools(&self) -> Result<Vec<McpTool<X>>, McpError> {
        self.tools_of(self.list().await?)
    }

    /// The tools of a list, for a host.
    ///
    /// # Errors
    ///
    /// [`McpError::Malformed`] if one of them cannot be declared; none that came from [`list`](Self::list).
    pub fn tools_of(&self, list: McpToolList) -> Result<Vec<McpTool<X>>, McpError> {
        let names: Vec<Text> = list.tools.iter().map(|tool| tool.name.clone()).collect();
        let names = tool_names(&self.prefix, &names);
        let tools = list.tools.into_iter().zip(names).map(|(tool, name)| {
            let spec = ToolSpec::new(name, tool.description.clone(), Arc::clone(&tool.schema))
                .map_err(|error| McpError::Malformed(error.to_string().into()))?;
            let access = if self.trusted { tool.annotations.access() } else { Access::Exclusive };
            Ok(McpTool::new(self.clone(), tool, spec.access(access)))
        });
        tools.collect()
    }

    /// Calls a tool by the server's name for it, with arguments that are the text of a JSON object. It is sent when this
    /// call or another user of the connection is polled next.
    ///
    /// # Errors
    ///
    /// [`McpError::Arguments`], [`McpError::TooManyRequests`], or [`McpError::Closed`]; the server learns of none of them.
    pub fn call(&self, name: &str, arguments: &str) -> Result<McpCall<X>, McpError> {
        let make = |connection: &mut McpConnection| connection.call_tool(name, arguments, true);
        Ok(McpCall { request: Request::new(&self.shared, make)? })
    }

    /// How often the server has said that its tools are others than before. Where the number has grown, a new list has
    /// them; it grows only while the connection is driven.
    pub fn tool_changes(&self) -> u64 {
        self.shared.with(|state| state.changes)
    }

    /// How many requests are open.
    pub fn open_requests(&self) -> usize {
        self.shared.with(|state| state.connection.open_requests())
    }

    /// What the server said that nobody could use.
    pub fn ignored(&self) -> McpIgnored {
        self.shared.with(|state| state.connection.ignored().clone())
    }

    /// Drives the connection until it ends, and says why: for servers that are to be heard while nothing is called.
    pub async fn attend(&self) -> McpError {
        let waiter = Waiter::new(&self.shared);
        poll_fn(|cx| waiter.poll(cx, |state| state.closed.clone())).await
    }

    /// Ends the connection at once: the transport is dropped, and open calls fail with [`McpError::Closed`].
    pub fn close(&self) {
        self.shared.close(McpError::closed("the client closed it"));
    }
}

impl<X: McpTransport> Clone for McpClient<X> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            server: Arc::clone(&self.server),
            prefix: self.prefix.clone(),
            trusted: self.trusted,
        }
    }
}

impl<X: McpTransport> fmt::Debug for McpClient<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient")
            .field("server", &self.server.name)
            .field("open_requests", &self.open_requests())
            .finish_non_exhaustive()
    }
}
