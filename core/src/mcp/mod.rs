//! MCP, the Model Context Protocol, as far as tools go: list, call, progress, cancel. No IO here.
//!
//! [`McpConnection`] is the client's side of one connection: lines from the server go in, lines to the server and events
//! come out. [`LineBuffer`] cuts a stream of bytes into lines, [`McpHttpAnswer`] makes lines of an answer over HTTP. All hold what [`McpLimits`] allows and no more, and
//! whatever a server sends, nothing panics.
//!
//! Spoken are the versions 2024-11-05 to 2025-11-25, which begin with a handshake, and of 2026-07-28, which has none,
//! the same methods; a server that refuses the handshake is asked for that one. The client offers no capabilities: it is
//! asked for nothing but `ping`.

mod connection;
mod content;
mod error;
mod http;
mod limits;
mod line;
mod message;
mod name;
mod progress;
mod scan;
#[cfg(test)]
mod tests;
mod tools;
mod version;
mod write;

pub use connection::{McpConnection, McpEvent, McpIgnored, McpRequest};
pub use error::{MAX_ERROR_TEXT, McpError};
pub use http::McpHttpAnswer;
pub use limits::McpLimits;
pub use line::{LineBuffer, McpLine};
pub use name::tool_names;
pub use progress::McpProgress;
pub use tools::{McpAnnotations, McpToolDeclaration, McpToolList};
pub use version::{McpServerInfo, ProtocolVersion};
pub use write::McpClientInfo;
