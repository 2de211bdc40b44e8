//! Shared helpers of the test suites.

pub mod bare;
pub mod corpora;
pub mod finish;

/// The Rust code of README.md, compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The Rust code of the guide about people, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/people.md")]
pub struct People;

/// The Rust code of the guide to reading, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/reading.md")]
pub struct Reading;

/// The Rust code of the guide to MCP, compiled as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../docs/mcp.md")]
pub struct McpGuide;
/// The Rust code of the guide to agents, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../docs/agui-agents.md")]
pub struct AguiAgents;

/// The Rust code of the page about AG-UI.
#[cfg(doctest)]
#[doc = include_str!("../../docs/agui.md")]
pub struct Agui;

/// The Rust code of the page about stores.
#[cfg(doctest)]
#[doc = include_str!("../../docs/durability.md")]
pub struct Durability;

pub mod providers;
pub mod records;
pub mod runs;
pub mod scratch;
pub mod stores;
