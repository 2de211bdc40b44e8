//! MCP servers and their tools: a scripted server in memory, a hostile one, one that is a program.

mod client;
mod hand_off;
mod hostile;
mod http;
mod local;
mod run;
mod server;
mod stdio;
mod threads;
mod wire;
