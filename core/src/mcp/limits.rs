//! Bounds of one connection.

/// Bounds of one connection; what happens at each is said with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpLimits {
    /// Most bytes of a line from the server. One more: the line is skipped, and the request that it answers fails with
    /// [`McpError::LineTooLong`](super::McpError::LineTooLong).
    pub line_bytes: usize,
    /// Most requests without an answer. One more: [`McpError::TooManyRequests`](super::McpError::TooManyRequests).
    pub requests: usize,
    /// Most tools of one list. One more: [`McpError::TooManyTools`](super::McpError::TooManyTools).
    pub tools: usize,
    /// Most pages of one list. One more: [`McpError::TooManyTools`](super::McpError::TooManyTools).
    pub pages: usize,
    /// Most reports of progress that wait for one call. One more takes the place of the last one.
    pub progress: usize,
    /// Most answers to the server's own requests that wait to be sent. One more request is not answered.
    pub answers: usize,
}

impl Default for McpLimits {
    /// Lines of 8 MiB, which holds the largest image that a run takes; 128 requests, 1,024 tools on 64 pages, 64
    /// reports, 64 answers.
    fn default() -> Self {
        Self { line_bytes: 8 * 1024 * 1024, requests: 128, tools: 1024, pages: 64, progress: 64, answers: 64 }
    }
}
