//! Reads recorded streams: `inspect -- decode --provider anthropic < stream.sse`, `inspect -- verify < events.jsonl`,
//! `inspect -- fold < events.jsonl`, `inspect -- timeline LOG.jsonl > out.html`.

use runloom_examples::agui::{self, Answer};
use runloom_examples::decode::{self, Command, Format, HELP};
use runloom_examples::page;
use runloom_examples::screen::{complain, is_gone};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match decode::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => print(HELP),
        Ok(Command::Decode(format)) => decode(format),
        Ok(Command::Verify(mode)) => answer(|events| agui::verify(events, mode)),
        Ok(Command::Fold) => answer(agui::fold),
        Ok(Command::Timeline(log)) => timeline(&log),
        Err(error) => {
            complain(format_args!("inspect: {error}\nTry --help."));
            ExitCode::from(2)
        }
    }
}

fn input() -> Option<Vec<u8>> {
    let mut stream = Vec::new();
    match io::stdin().lock().read_to_end(&mut stream) {
        Ok(_) => Some(stream),
        Err(error) => {
            complain(format_args!("inspect: standard input: {error}"));
            None
        }
    }
}

fn answer(of: impl FnOnce(&[u8]) -> Answer) -> ExitCode {
    let Some(events) = input() else { return ExitCode::FAILURE };
    let Answer { json, taken } = of(&events);
    let printed = print(&format!("{json}\n"));
    if taken { printed } else { ExitCode::FAILURE }
}

fn decode(format: Format) -> ExitCode {
    let Some(stream) = input() else { return ExitCode::FAILURE };
    let summary = decode::decode(format, &stream);
    if let Some(offset) = summary.unreadable_at {
        let why = summary.error.as_ref().map_or("it is not such a stream", |error| &error.message);
        complain(format_args!("inspect: unreadable at byte {offset}: {why}"));
        return ExitCode::FAILURE;
    }
    print(&format!("{}\n", summary.to_json()))
}

fn timeline(path: &Path) -> ExitCode {
    let mut log = Vec::new();
    // One byte more than a page may hold tells that there are more.
    let read = File::open(path).and_then(|file| file.take(page::MOST_BYTES as u64 + 1).read_to_end(&mut log));
    match read.map(|_| page::page(&log)) {
        Ok(Ok(page)) => return print(&page),
        Ok(Err(error)) => complain(format_args!("inspect: {}: {error}", path.display())),
        Err(error) => complain(format_args!("inspect: {}: {error}", path.display())),
    }
    ExitCode::FAILURE
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
