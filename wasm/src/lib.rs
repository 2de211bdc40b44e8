//! runloom for JavaScript hosts. The JavaScript API has its own milestone; this crate keeps its place in the workspace
//! and re-exports the engine so that it is built for wasm32 from the start.
pub use runloom;
