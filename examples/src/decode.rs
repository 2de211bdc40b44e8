//! `inspect decode`: a provider's stream as one JSON object.

use crate::cli::UsageError;
use runloom_core::history::History;
use runloom_core::model::{ModelRequest, ModelSpec};
use runloom_core::provider::anthropic::Anthropic;
use runloom_core::provider::dialect::Dialect;
use runloom_core::provider::openai_chat::OpenAiChat;
use runloom_core::provider::summary::{Summary, summarize};
use runloom_core::provider::{Codec, Decode};
use std::ffi::OsString;

/// What `--help` prints.
pub const HELP: &str = "\
Reads a model's streamed answer as the engine would.

Usage: cargo run --example inspect -- decode --provider anthropic|openai-chat < stream.sse

Prints one JSON object:
  {\"text\",\"reasoning\",\"refusal\",\"tool_calls\":[{\"id\",\"name\",\"arguments\",\"complete\"}],
   \"finish_reason\",\"usage\",\"error\"}
`arguments` is parsed JSON, {} if the model wrote none, null if they do not parse. `error` is null or
{\"kind\",\"message\"}: what made the answer void.

Exit status: 0 decoded, also when the stream holds an error; 1 unreadable, with the offset of the byte on standard error;
2 wrong usage.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// To decode standard input.
    Decode(Format),
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
    let (mut decodes, mut format) = (false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("provider") => format = Some(named(&parser.value()?.to_string_lossy())?),
            Long("help") | Short('h') => return Ok(Command::Help),
            Value(word) if word == "decode" && !decodes => decodes = true,
            other @ (Long(_) | Short(_) | Value(_)) => return Err(other.unexpected().into()),
        }
    }
    match (decodes, format) {
        (false, _) => Err(UsageError::new("there is one thing to do: decode")),
        (true, None) => Err(UsageError::new("--provider is missing: anthropic or openai-chat")),
        (true, Some(format)) => Ok(Command::Decode(format)),
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
        for (line, named) in [
            ("", "decode"),
            ("decode", "--provider"),
            ("decode --provider gemini", "\"gemini\""),
            ("encode", "encode"),
            ("decode decode", "decode"),
            ("decode --json", "--json"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
