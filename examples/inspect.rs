//! Reads a recorded stream of a provider: `inspect -- decode --provider anthropic < stream.sse`.

use runloom_examples::decode::{self, Command, Format, HELP};
use runloom_examples::screen::{complain, is_gone};
use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match decode::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => print(HELP),
        Ok(Command::Decode(format)) => decode(format),
        Err(error) => {
            complain(format_args!("inspect: {error}\nTry --help."));
            ExitCode::from(2)
        }
    }
}

fn decode(format: Format) -> ExitCode {
    let mut stream = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut stream) {
        complain(format_args!("inspect: standard input: {error}"));
        return ExitCode::FAILURE;
    }
    let summary = decode::decode(format, &stream);
    if let Some(offset) = summary.unreadable_at {
        let why = summary.error.as_ref().map_or("it is not such a stream", |error| &error.message);
        complain(format_args!("inspect: unreadable at byte {offset}: {why}"));
        return ExitCode::FAILURE;
    }
    print(&format!("{}\n", summary.to_json()))
}

fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("inspect: standard output: {error}"));
            ExitCode::FAILURE
        }
    }
}
