//! Tools of MCP servers: a client over any transport, without an executor of its own.
//!
//! [`McpClient::connect`] shakes hands over an [`McpTransport`], and [`McpClient::tools`] gives the server's tools as
//! they go into a [`HostBuilder`](crate::HostBuilder). The protocol itself is [`runloom_core::mcp`].
//!
//! Nothing is spawned. Whoever is polled, be it a call, a list or [`McpClient::attend`], drives the connection for all:
//! calls of several runs share one client, on any threads, and dropping one of them leaves the others going. While
//! nobody is polled, nothing is read from the server.
//!
//! A call that is dropped, as a run does when it is cancelled, is taken back: the server is told with the next line that
//! is written, which is tried at once.
//!
//! [`McpHttp`] is a transport for servers behind HTTP, over any client of [`crate::http`]. The feature `smol` has one for
//! servers that are programs: `smol::StdioServer`.

mod call;
mod client;
mod http;
mod shared;
mod tool;
mod transport;
mod wakes;

pub use crate::core::mcp::{
    LineBuffer, McpAnnotations, McpClientInfo, McpError, McpIgnored, McpLimits, McpLine, McpProgress,
    McpServerInfo, McpToolDeclaration, McpToolList, ProtocolVersion, tool_names,
};
pub use call::{McpCall, McpUpdate};
pub use client::{McpClient, McpOptions};
pub use http::McpHttp;
pub use tool::{LocalMcpTool, McpTool};
pub use transport::McpTransport;
