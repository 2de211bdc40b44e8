//! The options that `agent`, `chat` and `blocking` share.

use crate::endpoint::{BaseUrl, Provider};
use crate::folder::Folder;
use crate::screen::{complain, is_gone};
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// What is asked where `--prompt` does not say.
pub const DEFAULT_PROMPT: &str = "What is 17 + 25, and what is 58 + 94?";
/// What a model is told about its task.
pub const SYSTEM_PROMPT: &str = "You are a careful assistant. Use your tools where they help, several at once where they do not depend on each other.";

/// What `--help` prints after the first lines of each program.
const OPTIONS: &str = "\
Options:
  --prompt TEXT         what to ask
  --provider NAME       anthropic (default) or openai: which format to speak
  --base-url URL        where to send requests, as the official SDKs take it: OpenAI's with /v1, Anthropic's the
                        root; also a local llama.cpp or Ollama server. Without it an embedded server on a
                        loopback port plays recordings, the same whatever the prompt
  --model NAME          which model to ask for
  --json                print the log as JSON Lines, one event a line, and nothing else
  --cancel-after MS     cancel each run after so many milliseconds
  --dir PATH            lets the model list and read what is below this folder
  --help                print this text

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY   the key; only sent to the server of --base-url, not needed for a local one
  http_proxy, https_proxy, no_proxy, SSL_CERT_FILE   taken into account as usual, except for local servers

Ctrl-C cancels the run, a second one ends the program at once.
Exit status: 0 completed, 1 failed, 2 wrong usage, 130 cancelled.
";

/// What the program shall do.
#[derive(Debug)]
pub struct Options {
    /// What to ask; each program has its own default.
    pub prompt: Option<String>,
    /// Which format to speak.
    pub provider: Provider,
    /// Where requests go; the embedded server if absent.
    pub base_url: Option<BaseUrl>,
    /// Which model to ask for.
    pub model: String,
    /// Whether to print the log instead of a timeline.
    pub json: bool,
    /// When to cancel each run, counted from its start.
    pub cancel_after: Option<Duration>,
    /// What the model may read.
    pub folder: Option<Folder>,
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Command {
    /// To run.
    Run(Box<Options>),
    /// To print help.
    Help,
}

/// A command line that cannot be followed; a text for people.
#[derive(Debug, PartialEq, Eq)]
pub struct UsageError(String);

impl UsageError {
    /// An error that says this.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

impl From<lexopt::Error> for UsageError {
    fn from(error: lexopt::Error) -> Self {
        Self::new(error)
    }
}

/// The whole of a program: reads the command line, runs, and tells what went wrong. `about` begins the help.
pub fn main(
    program: &str,
    about: &str,
    run: impl FnOnce(&Options) -> Result<ExitCode, Box<dyn Error>>,
) -> ExitCode {
    let ended = match parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(options)) => run(&options),
        Ok(Command::Help) => print_help(program, about),
        Err(error) => Err(error.into()),
    };
    let error = match ended {
        Ok(code) => return code,
        Err(error) => error,
    };
    if error.downcast_ref().is_some_and(is_gone) {
        // Whoever read along has seen enough.
        return ExitCode::SUCCESS;
    }
    complain(format_args!("{program}: {error}"));
    if error.is::<UsageError>() {
        complain(format_args!("Try: cargo run --example {program} -- --help"));
        return ExitCode::from(2);
    }
    ExitCode::FAILURE
}

fn print_help(program: &str, about: &str) -> Result<ExitCode, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    write!(out, "{about}\n\nUsage: cargo run --example {program} -- [OPTIONS]\n\n{OPTIONS}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a command line without the program's name.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_args(args);
    let (mut prompt, mut base_url, mut model) = (None, None, None);
    let (mut cancel_after, mut folder) = (None, None);
    let (mut provider, mut json) = (Provider::Anthropic, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("prompt") => prompt = Some(text("--prompt", parser.value()?)?),
            Long("provider") => provider = parse_provider(&text("--provider", parser.value()?)?)?,
            Long("base-url") => base_url = Some(BaseUrl::parse(&text("--base-url", parser.value()?)?)?),
            Long("model") => model = Some(text("--model", parser.value()?)?),
            Long("json") => json = true,
            Long("cancel-after") => {
                cancel_after = Some(milliseconds(&text("--cancel-after", parser.value()?)?)?);
            }
            Long("dir") => folder = Some(open(parser.value()?)?),
            Long("help") | Short('h') => return Ok(Command::Help),
            other @ (Long(_) | Short(_) | Value(_)) => return Err(other.unexpected().into()),
        }
    }
    let model = model.unwrap_or_else(|| provider.default_model().to_owned());
    Ok(Command::Run(Box::new(Options { prompt, provider, base_url, model, json, cancel_after, folder })))
}

fn text(option: &str, value: OsString) -> Result<String, UsageError> {
    match value.into_string() {
        Ok(text) if !text.trim().is_empty() => Ok(text),
        Ok(_) => Err(UsageError::new(format_args!("{option} must not be empty"))),
        Err(_) => Err(UsageError::new(format_args!("{option} must be UTF-8"))),
    }
}

fn parse_provider(name: &str) -> Result<Provider, UsageError> {
    Provider::named(name).ok_or_else(|| {
        UsageError::new(format_args!("unknown provider {name:?}; there are anthropic and openai"))
    })
}

fn milliseconds(text: &str) -> Result<Duration, UsageError> {
    let error = || UsageError::new(format_args!("--cancel-after takes whole milliseconds, not {text:?}"));
    text.parse().map(Duration::from_millis).map_err(|_| error())
}

fn open(path: OsString) -> Result<Folder, UsageError> {
    Folder::open(path.as_ref())
        .map_err(|error| UsageError::new(format_args!("--dir {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Command, String> {
        parse(args.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn options_have_defaults() {
        let Ok(Command::Run(options)) = parsed(&[]) else { panic!() };
        assert_eq!((options.provider, options.json), (Provider::Anthropic, false));
        assert!(options.prompt.is_none() && options.base_url.is_none() && options.folder.is_none());
        let Ok(Command::Run(options)) = parsed(&["--provider=openai", "--cancel-after", "300", "--json"])
        else {
            panic!()
        };
        assert_eq!(options.model, Provider::OpenAi.default_model());
        assert_eq!((options.cancel_after, options.json), (Some(Duration::from_millis(300)), true));
        assert!(matches!(parsed(&["--json", "-h"]), Ok(Command::Help)));
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        for (args, named) in [
            (&["--promt", "x"][..], "--promt"),
            (&["x"], "\"x\""),
            (&["--prompt"], "--prompt"),
            (&["--prompt", " "], "--prompt must not be empty"),
            (&["--provider", "gemini"], "unknown provider \"gemini\""),
            (&["--cancel-after", "soon"], "whole milliseconds"),
            (&["--cancel-after", "-1"], "--cancel-after"),
            (&["--base-url", "localhost:80"], "--base-url"),
            (&["--dir", "no/such/folder"], "--dir no/such/folder"),
            (&["--json=yes"], "--json"),
        ] {
            let error = parsed(args).unwrap_err();
            assert!(error.contains(named), "{args:?}: {error}");
        }
    }
}
