//! The main job: one run of an agent over real HTTP, shown live.
//!
//! Without `--base-url` it talks to a server of its own that plays recordings: the first request is refused, the second
//! gets text and two tool calls, which run side by side, and their results get the answer.

use futures_lite::future::block_on;
use runloom_examples::assistant::Assistant;
use runloom_examples::cli;
use std::process::ExitCode;

const ABOUT: &str = "Runs an agent over HTTP and shows what happens while it happens.";

fn main() -> ExitCode {
    cli::main("agent", ABOUT, |options| {
        let assistant = Assistant::new(options)?;
        let prompt = options.prompt.as_deref().unwrap_or(cli::DEFAULT_PROMPT);
        block_on(assistant.turn(prompt))
    })
}
