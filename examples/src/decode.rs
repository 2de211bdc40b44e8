//! `inspect`: its command line, and a provider's stream as one JSON object.

use crate::cli::UsageError;
use crate::record::PageOf;
use runloom_core::agui::Mode;
use runloom_core::history::History;
use runloom_core::model::{ModelRequest, ModelSpec};
use runloom_core::provider::anthropic::Anthropic;
use runloom_core::provider::dialect::Dialect;
use runloom_core::provider::openai_chat::OpenAiChat;
use runloom_core::provider::summary::{Summary, summarize};
use runloom_core::provider::{Codec, Decode};
use std::ffi::OsString;
use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
Reads recorded streams as the engine would.

Usage: cargo run --example inspect -- decode --provider anthropic|openai-chat < stream.sse
       cargo run --example inspect -- verify [--mode stream|single] < events.jsonl
       cargo run --example inspect -- fold < events.jsonl
       cargo run --example inspect -- canonicalize < in.json
       cargo run --example inspect -- log page FILE [--after N] [--max-events N] [--max-bytes N]
       cargo run --example inspect -- replay JOURNAL
       cargo run --example inspect -- timeline LOG.jsonl > out.html

decode reads a model's streamed answer and prints one JSON object:
  {\"text\",\"reasoning\",\"refusal\",\"tool_calls\":[{\"id\",\"name\",\"arguments\",\"complete\"}],
   \"finish_reason\",\"usage\",\"error\"}
`arguments` is parsed JSON, {} if the model wrote none, null if they do not parse. `error` is null or
{\"kind\",\"message\"}: what made the answer void.

verify reads AG-UI events, one on a line, and says whether they keep the protocol's order: of a thread, which may hold
several runs (the default), or of a single run, as one producer sends it:
  {\"ok\":true,\"events\"} or {\"ok\":false,\"at\",\"rule\",\"id\",\"detail\"}
`at` counts events from 0; where the stream ends too early it is their number.

fold reads AG-UI events, one on a line, and prints what a client would hold at the end:
  {\"messages\",\"state\",\"outcome\",\"run\",\"warnings\"} or {\"error\",\"at\",\"rule\"}
`outcome` is \"completed\"; `run` says how the last run ended.

timeline draws a run: it reads the run's log, one event on a line as `agent -- --json` prints it, and prints one HTML page
that needs nothing else. The log may begin late and may have no end.

replay feeds a run's journal to a fresh machine, compares each event with the one that was recorded, and prints the log,
one event on a line. At the first difference both sides stand on standard error.

canonicalize reads one JSON value and prints its canonical form (RFC 8785), without a line's end.

log page prints what follows event N (0 if absent) of a recorded log, one event on a line as it was recorded: at most
--max-events of them (100) and --max-bytes of their bytes (1048576). On standard error it says where the page stands:
  {\"after\",\"closed\",\"earliest\",\"has_more\",\"last\",\"latest\"}
`last` is the N of the next page. A log is checked as a whole, whatever page is asked for. An N that does not fit the log
is refused with the N from which to go on.

Exit status: 0 decoded, kept, consumed, replayed or printed, also when the stream holds an error; 1 unreadable (with the offset of
the byte or the number of the line on standard error), rejected, truncated, diverged or not there; 2 wrong usage.
";

/// A format of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and what is compatible with it.
    OpenAiChat,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// To decode standard input.
    Decode(Format),
    /// To verify events.
    Verify(Mode),
    /// To fold events.
    Fold,
    /// To replay the journal in this file.
    Replay(PathBuf),
    /// To draw the log in this file.
    Timeline(PathBuf),
    /// To write canonical JSON.
    Canonicalize,
    /// To print a page of a recorded log.
    LogPage(PageOf),
    /// To print help.
    Help,
}

/// Reads a command line without the program's name.
///
/// # Errors
///
/// If it cannot be followed.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(args);
    let (mut words, mut format, mut mode, mut page) = (Vec::new(), None, None, Vec::new());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("provider") => format = Some(named(&parser.value()?.to_string_lossy())?),
            Long("mode") => mode = Some(mode_named(&parser.value()?.to_string_lossy())?),
            Long(name @ ("after" | "max-events" | "max-bytes")) => {
                let name = name.to_owned();
                let value = parser.value()?.to_string_lossy().into_owned();
                page.push((name, value));
            }
            Long("help") | Short('h') => return Ok(Command::Help),
            Value(word) if words.len() < 3 => words.push(word),
            other @ (Long(_) | Short(_) | Value(_)) => return Err(other.unexpected().into()),
        }
    }
    let what: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let what: Vec<&str> = what.iter().map(String::as_str).collect();
    match (&what[..], format, mode) {
        (["log", ..], _, Some(_)) => return Err(UsageError::new("--mode is for verify")),
        (["log", ..], Some(_), _) => return Err(UsageError::new("--provider is for decode")),
        (["log", "page", _], ..) => {
            let file = words.pop().unwrap_or_default();
            return PageOf::parse(file, &page).map(Command::LogPage);
        }
        (["log", "page"], ..) => return Err(UsageError::new("log page reads a file; it is missing")),
        (["log"], ..) => return Err(UsageError::new("of a log there are pages: log page FILE")),
        _ => {}
    }
    if let Some((name, _)) = page.first() {
        return Err(UsageError::new(format_args!("--{name} is for log page")));
    }
    if let ([name @ ("timeline" | "replay"), _], None, None) = (&what[..], format, mode) {
        let file = PathBuf::from(words.pop().unwrap_or_default());
        return Ok(if *name == "replay" { Command::Replay(file) } else { Command::Timeline(file) });
    }
    // Only these take a file here.
    let most = if matches!(what.first(), Some(&"timeline" | &"replay")) { 2 } else { 1 };
    if let Some(extra) = what.get(most) {
        return Err(UsageError::new(format_args!("unexpected {extra:?}")));
    }
    let what = what.first().copied();
    match (what, format, mode) {
        (None, ..) => Err(UsageError::new(format_args!("there are seven things to do: {THINGS}"))),
        (Some("decode"), None, None) => {
            Err(UsageError::new("--provider is missing: anthropic or openai-chat"))
        }
        (Some("decode"), Some(format), None) => Ok(Command::Decode(format)),
        (Some("verify"), None, mode) => Ok(Command::Verify(mode.unwrap_or(Mode::Stream))),
        (Some("fold"), None, None) => Ok(Command::Fold),
        (Some("canonicalize"), None, None) => Ok(Command::Canonicalize),
        (Some("timeline"), None, None) => Err(UsageError::new("the file is missing: timeline LOG.jsonl")),
        (Some("replay"), None, None) => Err(UsageError::new("the file is missing: replay JOURNAL")),
        (Some("decode" | "fold" | "canonicalize" | "timeline" | "replay"), _, Some(_)) => {
            Err(UsageError::new("--mode is for verify"))
        }
        (Some("verify" | "fold" | "canonicalize" | "timeline" | "replay"), Some(_), _) => {
            Err(UsageError::new("--provider is for decode"))
        }
        (Some(other), ..) => Err(UsageError::new(format_args!("unexpected {other:?}; there are {THINGS}"))),
    }
}

/// What the program can do.
const THINGS: &str = "decode, verify, fold, canonicalize, log, replay and timeline";

fn mode_named(name: &str) -> Result<Mode, UsageError> {
    match name {
        "stream" => Ok(Mode::Stream),
        "single" => Ok(Mode::SingleRun),
        _ => Err(UsageError::new(format_args!("unknown mode {name:?}; there are stream and single"))),
    }
}

fn named(name: &str) -> Result<Format, UsageError> {
    match name {
        "anthropic" => Ok(Format::Anthropic),
        "openai-chat" => Ok(Format::OpenAiChat),
        _ => Err(UsageError::new(format_args!(
            "unknown provider {name:?}; there are anthropic and openai-chat"
        ))),
    }
}

/// What a whole stream says.
pub fn decode(format: Format, stream: &[u8]) -> Summary {
    match format {
        Format::Anthropic => read(Anthropic::new().decoder(&request()), stream),
        Format::OpenAiChat => read(OpenAiChat::new(Dialect::compatible()).decoder(&request()), stream),
    }
}

fn read<D: Decode>(decoder: D, stream: &[u8]) -> Summary {
    summarize(decoder, [stream])
}

/// Decoders are made for a request: that of a model without a name, which gave no tools.
fn request() -> ModelRequest {
    ModelRequest::new(ModelSpec::new(""), History::default(), [])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split(' ').filter(|word| !word.is_empty()).map(OsString::from)).map_err(|e| e.to_string())
    }

    #[test]
    fn command_lines() {
        assert_eq!(parsed("decode --provider anthropic"), Ok(Command::Decode(Format::Anthropic)));
        assert_eq!(parsed("--provider=openai-chat decode"), Ok(Command::Decode(Format::OpenAiChat)));
        assert_eq!(parsed("--help"), Ok(Command::Help));
        assert_eq!(parsed("verify"), Ok(Command::Verify(Mode::Stream)));
        assert_eq!(parsed("verify --mode stream"), Ok(Command::Verify(Mode::Stream)));
        assert_eq!(parsed("verify --mode=single"), Ok(Command::Verify(Mode::SingleRun)));
        assert_eq!(parsed("fold"), Ok(Command::Fold));
        assert_eq!(parsed("replay a.journal"), Ok(Command::Replay(PathBuf::from("a.journal"))));
        assert_eq!(parsed("timeline a.jsonl"), Ok(Command::Timeline(PathBuf::from("a.jsonl"))));
        assert_eq!(parsed("canonicalize"), Ok(Command::Canonicalize));
        let page = |options: &[(&str, &str)]| {
            let options: Vec<_> = options.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            PageOf::parse("f".into(), &options).map(Command::LogPage).map_err(|error| error.to_string())
        };
        assert_eq!(parsed("log page f"), page(&[]));
        assert_eq!(parsed("log page f --after 3"), page(&[("after", "3")]));
        assert_eq!(
            parsed("log --max-events=2 page --max-bytes 9 f"),
            page(&[("max-events", "2"), ("max-bytes", "9")])
        );
        for (line, named) in [
            ("", "decode"),
            ("log", "log page FILE"),
            ("log page", "missing"),
            ("log tail f", "tail"),
            ("log page f g", "g"),
            ("log page f --after -1", "--after"),
            ("log page f --max-events 0", "--max-events"),
            ("log page f --mode single", "--mode"),
            ("fold --after 3", "--after"),
            ("canonicalize x", "x"),
            ("canonicalize --provider anthropic", "--provider"),
            ("decode", "--provider"),
            ("decode --provider gemini", "\"gemini\""),
            ("encode", "encode"),
            ("decode decode", "decode"),
            ("decode --json", "--json"),
            ("verify --mode both", "\"both\""),
            ("fold --mode single", "--mode"),
            ("fold --provider anthropic", "--provider"),
            ("verify verify", "verify"),
            ("replay", "JOURNAL"),
            ("timeline", "LOG.jsonl"),
            ("timeline a b", "\"b\""),
            ("timeline a --mode single", "--mode"),
            ("timeline a --provider anthropic", "--provider"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
