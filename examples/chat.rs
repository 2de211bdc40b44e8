//! A conversation of several turns in one session; each line of standard input is a turn.

use futures_lite::future::block_on;
use runloom_examples::assistant::Assistant;
use runloom_examples::cli::{self, Options};
use std::error::Error;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

const ABOUT: &str = "Talks with an agent: each line of standard input is a turn, --prompt is the first.\n\
                     The exit status is that of the last turn.";

fn main() -> ExitCode {
    cli::main("chat", ABOUT, chat)
}

fn chat(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let assistant = Assistant::new(options)?;
    let mut code = ExitCode::SUCCESS;
    let mut given = options.prompt.clone();
    loop {
        let said = match given.take() {
            Some(prompt) => prompt,
            None => match listen()? {
                Some(line) => line,
                None => return Ok(code),
            },
        };
        if !said.trim().is_empty() {
            // A turn that fails or is cancelled is a part of the conversation.
            code = block_on(assistant.turn(said.trim()))?;
        }
    }
}

/// The next line; `None` at the end of the input.
fn listen() -> io::Result<Option<String>> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        let mut out = io::stdout();
        write!(out, "\nyou> ")?;
        out.flush()?;
    }
    let mut line = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut line)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}
