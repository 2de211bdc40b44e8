//! Shared parts of the example programs.
//!
//! The programs themselves are short and lie beside this folder; what an embedding program would write in one way or
//! another is here: options, tools, what is shown of a run, and the server that plays recordings.

pub mod agui;
pub mod asker;
pub mod assistant;
pub mod attempt;
pub mod cli;
pub mod decode;
pub mod endpoint;
pub mod folder;
pub mod http1;
pub mod interrupt;
pub mod page;
pub mod record;
pub mod replay;
pub mod report;
pub mod screen;
pub mod server;
pub mod show;
pub mod timeline;
pub mod tools;
