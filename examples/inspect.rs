//! Reads recorded streams and logs: `inspect -- decode --provider anthropic < stream.sse`,
//! `inspect -- verify < events.jsonl`, `inspect -- fold < events.jsonl`, `inspect -- canonicalize < in.json`,
//! `inspect -- log page FILE --after N`, `inspect -- replay JOURNAL`, `inspect -- timeline LOG.jsonl > out.html`.

use runloom_core::canonical::Bounds;
use runloom_core::journal::JournalBounds;
use runloom_examples::agui::{self, Answer};
use runloom_examples::decode::{self, Command, Format, HELP};
use runloom_examples::page;
use runloom_examples::record::{PageOf, canonicalize};
use runloom_examples::replay::{self, Stopped};
use runloom_examples::screen::{complain, is_gone};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match decode::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => print(HELP.as_bytes()),
        Ok(Command::Decode(format)) => decode(format),
        Ok(Command::Verify(mode)) => answer(|events| agui::verify(events, mode)),
        Ok(Command::Fold) => answer(agui::fold),
        Ok(Command::Timeline(log)) => timeline(&log),
        Ok(Command::Canonicalize) => canonical(),
        Ok(Command::Replay(journal)) => replay(&journal),
        Ok(Command::LogPage(page)) => log_page(&page),
        Err(error) => {
            complain(format_args!("inspect: {error}\nTry --help."));
            ExitCode::from(2)
        }
    }
}

/// What comes in, up to so many bytes.
fn input(most: u64) -> Option<Vec<u8>> {
    let mut stream = Vec::new();
    match io::stdin().lock().take(most).read_to_end(&mut stream) {
        Ok(_) => Some(stream),
        Err(error) => {
            complain(format_args!("inspect: standard input: {error}"));
            None
        }
    }
}

fn answer(of: impl FnOnce(&[u8]) -> Answer) -> ExitCode {
    let Some(events) = input(u64::MAX) else { return ExitCode::FAILURE };
    let Answer { json, taken } = of(&events);
    let printed = print(format!("{json}\n").as_bytes());
    if taken { printed } else { ExitCode::FAILURE }
}

fn decode(format: Format) -> ExitCode {
    let Some(stream) = input(u64::MAX) else { return ExitCode::FAILURE };
    let summary = decode::decode(format, &stream);
    if let Some(offset) = summary.unreadable_at {
        let why = summary.error.as_ref().map_or("it is not such a stream", |error| &error.message);
        complain(format_args!("inspect: unreadable at byte {offset}: {why}"));
        return ExitCode::FAILURE;
    }
    print(format!("{}\n", summary.to_json()).as_bytes())
}

fn timeline(path: &Path) -> ExitCode {
    let mut log = Vec::new();
    // One byte more than a page may hold tells that there are more.
    let read = File::open(path).and_then(|file| file.take(page::MOST_BYTES + 1).read_to_end(&mut log));
    match read.map(|_| page::page(&log)) {
        Ok(Ok(page)) => return print(page.as_bytes()),
        Ok(Err(error)) => complain(format_args!("inspect: {}: {error}", path.display())),
        Err(error) => complain(format_args!("inspect: {}: {error}", path.display())),
    }
    ExitCode::FAILURE
}

fn canonical() -> ExitCode {
    // One byte more than is read as JSON tells that there are more.
    let Some(json) = input(Bounds::default().bytes + 1) else { return ExitCode::FAILURE };
    match canonicalize(&json) {
        Ok(form) => print(&form),
        Err(error) => {
            complain(format_args!("inspect: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn log_page(page: &PageOf) -> ExitCode {
    match page.read() {
        Ok((lines, facts)) => {
            let printed = print(lines.as_bytes());
            complain(format_args!("{facts}"));
            printed
        }
        Err(error) => {
            complain(format_args!("inspect: {}: {error}", page.file.display()));
            ExitCode::FAILURE
        }
    }
}

fn replay(path: &Path) -> ExitCode {
    let mut journal = Vec::new();
    let most = JournalBounds::default().bytes + 1;
    match File::open(path).and_then(|file| file.take(most).read_to_end(&mut journal)) {
        Ok(_) => {}
        Err(error) => {
            complain(format_args!("inspect: {}: {error}", path.display()));
            return ExitCode::FAILURE;
        }
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let replayed = replay::replay(&journal, &mut out);
    match replayed.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stopped::Output(error)) if is_gone(&error) => ExitCode::SUCCESS,
        Err(Stopped::Output(error)) => {
            complain(format_args!("inspect: standard output: {error}"));
            ExitCode::FAILURE
        }
        Err(Stopped::Journal(words)) => {
            // What was the same comes before the words about the rest.
            let _ = out.flush();
            complain(format_args!("inspect: {words}"));
            ExitCode::FAILURE
        }
    }
}

fn print(bytes: &[u8]) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("inspect: standard output: {error}"));
            ExitCode::FAILURE
        }
    }
}
