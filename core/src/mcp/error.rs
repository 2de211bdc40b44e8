//! What can go wrong between a client and a server.

use crate::problem::clean;
use crate::provider::Secret;
use crate::text::Text;
use crate::tool::{Certainty, ToolFault, ToolOutput};
use alloc::format;
use alloc::string::ToString;

/// Longest text of the server's in an error, in encoded bytes.
pub const MAX_ERROR_TEXT: u64 = 1024;

/// The JSON-RPC code for arguments that a method does not take.
const INVALID_PARAMS: i64 = -32602;
/// The JSON-RPC codes for requests that no method was entered for.
const NOT_ENTERED: [i64; 3] = [-32700, -32600, -32601];

/// Why a connection or one of its requests failed. Texts that the server wrote are cleaned and bounded (M5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The connection ended, or could not be used any more.
    #[error("the connection to the MCP server ended: {0}")]
    Closed(Text),
    /// A request was made before the handshake was over.
    #[error("the MCP server has not answered the handshake yet")]
    NotReady,
    /// The server speaks no version of the protocol that this client speaks.
    #[error("the MCP server speaks protocol version {0:?}, which is not known here")]
    Version(Text),
    /// The server answered a request with an error.
    #[error("the MCP server answered with error {code}: {message}")]
    Server {
        /// The JSON-RPC error code.
        code: i64,
        /// The server's text.
        message: Text,
    },
    /// The server refused a request with an HTTP status.
    #[error("the MCP server answered with status {status}: {message}")]
    Http {
        /// The status.
        status: u16,
        /// What stood in the body.
        message: Text,
    },
    /// A request was sent and its exchange broke off; the connection goes on.
    #[error("the answer of the MCP server was lost: {0}")]
    Lost(Text),
    /// The answer to a request has a form that means nothing.
    #[error("the answer of the MCP server cannot be read: {0}")]
    Malformed(Text),
    /// The answer to a request was longer than a line may be.
    #[error("the answer of the MCP server has {observed} bytes, more than {limit}")]
    LineTooLong {
        /// The bound in bytes.
        limit: usize,
        /// What was counted before the line ended.
        observed: u64,
    },
    /// Too many requests are open; this one was not sent.
    #[error("{limit} requests to the MCP server are open, and no more may be")]
    TooManyRequests {
        /// The bound.
        limit: usize,
    },
    /// The server's list of tools has no end within its bounds.
    #[error("the list of the MCP server has more than {tools} tools or {pages} pages")]
    TooManyTools {
        /// Most tools.
        tools: usize,
        /// Most pages.
        pages: usize,
    },
    /// The arguments of a call are not the text of a JSON object; the call was not sent.
    #[error("the arguments are not a JSON object")]
    Arguments,
    /// The server asks for more input before it goes on, which this client did not offer to give.
    #[error("the MCP server asks for input that cannot be given")]
    InputRequired,
}

impl McpError {
    /// A malformed answer.
    pub(super) fn malformed(what: &str) -> Self {
        Self::Malformed(clean(what, MAX_ERROR_TEXT))
    }

    /// The end of a connection, for this reason.
    pub fn closed(why: &str) -> Self {
        Self::Closed(clean(why, MAX_ERROR_TEXT))
    }

    /// With `secrets` masked, which a server may repeat in what it says (M5).
    #[must_use]
    pub fn masked(self, secrets: &[Secret]) -> Self {
        let mask = |text: Text| secrets.iter().fold(text, |text, secret| secret.mask(&text));
        match self {
            Self::Closed(text) => Self::Closed(mask(text)),
            Self::Lost(text) => Self::Lost(mask(text)),
            Self::Malformed(text) => Self::Malformed(mask(text)),
            Self::Version(text) => Self::Version(mask(text)),
            Self::Server { code, message } => Self::Server { code, message: mask(message) },
            Self::Http { status, message } => Self::Http { status, message: mask(message) },
            same @ (Self::NotReady
            | Self::LineTooLong { .. }
            | Self::TooManyRequests { .. }
            | Self::TooManyTools { .. }
            | Self::Arguments
            | Self::InputRequired) => same,
        }
    }

    /// What a failed call means for the model and for the run: arguments that the server refuses are a result that the
    /// model gets to see, everything else is a failure of the tool's infrastructure (T3).
    ///
    /// # Errors
    ///
    /// A [`ToolFault`], definitive where the call never reached the server, or no method of it.
    pub fn into_tool_result(self) -> Result<ToolOutput, ToolFault> {
        if let Self::Server { code: INVALID_PARAMS, message } = &self {
            return Ok(ToolOutput::error(format!("the server refused the call: {message}")));
        }
        let mut fault = ToolFault::new(&self.to_string());
        match self {
            Self::NotReady | Self::TooManyRequests { .. } => {
                fault.certainty = Certainty::Definitive;
                fault.retryable = true;
            }
            Self::Arguments | Self::Version(_) => fault.certainty = Certainty::Definitive,
            Self::Server { code, .. } if NOT_ENTERED.contains(&code) => {
                fault.certainty = Certainty::Definitive;
            }
            Self::Http { status: 429 | 502..=504, .. } => fault.retryable = true,
            Self::Server { .. }
            | Self::Http { .. }
            | Self::Lost(_)
            | Self::Closed(_)
            | Self::Malformed(_)
            | Self::LineTooLong { .. }
            | Self::TooManyTools { .. }
            | Self::InputRequired => {}
        }
        Err(fault)
    }
}
