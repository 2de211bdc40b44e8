//! `inspect`: its command line, and a provider's stream as one JSON object.

use crate::cli::UsageError;
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

Exit status: 0 decoded, kept or consumed, also when the stream holds an error; 1 unreadable (with the offset of the byte
or the number of the line on standard error), rejected or truncated; 2 wrong usage.
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
    /// To draw the log in this file.
    Timeline(PathBuf),
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
    let (mut what, mut format, mut mode, mut file) = (None, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("provider") => format = Some(named(&parser.value()?.to_string_lossy())?),
            Long("mode") => mode = Some(mode_named(&parser.value()?.to_string_lossy())?),
            Long("help") | Short('h') => return Ok(Command::Help),
            Value(word) if what.is_none() => what = Some(word.to_string_lossy().into_owned()),
            Value(path) if file.is_none() && what.as_deref() == Some("timeline") => {
                file = Some(PathBuf::from(path))
            }
            other @ (Long(_) | Short(_) | Value(_)) => return Err(other.unexpected().into()),
        }
    }
    match (what.as_deref(), format, mode) {
        (None, ..) => Err(UsageError::new("there are four things to do: decode, verify, fold, timeline")),
        (Some("decode"), None, None) => {
            Err(UsageError::new("--provider is missing: anthropic or openai-chat"))
        }
        (Some("decode"), Some(format), None) => Ok(Command::Decode(format)),
        (Some("verify"), None, mode) => Ok(Command::Verify(mode.unwrap_or(Mode::Stream))),
        (Some("fold"), None, None) => Ok(Command::Fold),
        (Some("timeline"), None, None) => file
            .map(Command::Timeline)
            .ok_or_else(|| UsageError::new("the file is missing: timeline LOG.jsonl")),
        (Some("decode" | "fold" | "timeline"), _, Some(_)) => Err(UsageError::new("--mode is for verify")),
        (Some("verify" | "fold" | "timeline"), Some(_), _) => {
            Err(UsageError::new("--provider is for decode"))
        }
        (Some(other), ..) => Err(UsageError::new(format_args!(
            "unexpected {other:?}; there are decode, verify, fold and timeline"
        ))),
    }
}

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
        assert_eq!(parsed("timeline a.jsonl"), Ok(Command::Timeline(PathBuf::from("a.jsonl"))));
        for (line, named) in [
            ("", "decode"),
            ("decode", "--provider"),
            ("decode --provider gemini", "\"gemini\""),
            ("encode", "encode"),
            ("decode decode", "decode"),
            ("decode --json", "--json"),
            ("verify --mode both", "\"both\""),
            ("fold --mode single", "--mode"),
            ("fold --provider anthropic", "--provider"),
            ("verify verify", "verify"),
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
