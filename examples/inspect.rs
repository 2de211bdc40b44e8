//! Reads recorded streams: `inspect -- decode --provider anthropic < stream.sse`, `inspect -- verify < events.jsonl`,
//! `inspect -- fold < events.jsonl`, `inspect -- replay JOURNAL`.

use runloom_examples::agui::{self, Answer};
use runloom_examples::decode::{self, Command, Format, HELP};
use runloom_examples::replay::{self, Stopped};
use runloom_examples::screen::{complain, is_gone};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|word| word == "replay") {
        return replay(&args);
    }
    match decode::parse(args) {
        Ok(Command::Help) => print(HELP),
        Ok(Command::Decode(format)) => decode(format),
        Ok(Command::Verify(mode)) => answer(|events| agui::verify(events, mode)),
        Ok(Command::Fold) => answer(agui::fold),
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

fn replay(args: &[OsString]) -> ExitCode {
    let [_, path] = args else {
        complain(format_args!("inspect: replay JOURNAL takes one file\nTry --help."));
        return ExitCode::from(2);
    };
    let journal = match std::fs::read(path) {
        Ok(journal) => journal,
        Err(error) => {
            complain(format_args!("inspect: {}: {error}", path.to_string_lossy()));
            return ExitCode::FAILURE;
        }
    };
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
