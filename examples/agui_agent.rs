//! An agent that speaks AG-UI: it plans a trip on paper, and prints the events of its run.
//!
//! One JSON object a line, or with `--sse` the frames that a browser would get. With `--stop` the run is stopped in the
//! middle of its answer. No model and no network: what a model would say is written down here.

use futures_lite::future::block_on;
use futures_lite::{StreamExt, pin};
use runloom::agui::server::{Agent, Error, Result, RunContext, Runner};
use runloom::agui::{Message, PROTOCOL_VERSION, RunAgentInput, RunOutcome, TokenUsage, sse};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: agui_agent [--sse] [--stop]\n\
                     Prints the AG-UI events of one run: JSON lines, or server-sent events.";

/// What agent and application share.
#[derive(Default, Serialize, Deserialize)]
struct Packing {
    city: String,
    list: Vec<String>,
}

/// Looks up the weather, and says what to pack.
struct Packer {
    /// Stops the run before the answer is complete, as a person would.
    stops: bool,
}

impl Agent for Packer {
    type State = Packing;

    async fn run(&self, cx: &mut RunContext<Packing>) -> Result<RunOutcome> {
        let city = cx.last_user_text().ok_or_else(|| Error::agent("nobody said where to"))?;
        cx.think(format!("Is it warm in {city}?"))?;

        // Closes itself, whichever way it is left.
        let mut step = cx.step("look up the weather")?;
        let mut call = step.tool_call("weather")?;
        call.args_json(&json!({ "city": city }))?;
        call.result_json(&json!({ "sky": "clear", "celsius": 24 }))?;
        step.finish()?;

        // Goes out as a snapshot, then as what has changed.
        cx.set_state(Packing { city, list: vec!["a hat".into(), "sunglasses".into()] })?;
        cx.update_state(|packing| packing.list.push("a book".into()))?;

        let mut message = cx.assistant_message()?;
        for word in ["Pack ", "a hat, ", "sunglasses ", "and ", "a book."] {
            // Waits where the reader is slow, and fails once the run is stopped.
            message.ready().await?;
            message.delta(word)?;
            if self.stops {
                message.cancel_token().cancel();
            }
        }
        message.end()?;
        cx.add_usage(TokenUsage { input_tokens: Some(31), output_tokens: Some(9), ..TokenUsage::default() });
        Ok(RunOutcome::Success)
    }
}

fn main() -> ExitCode {
    let (mut frames, mut stops) = (false, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--sse" => frames = true,
            "--stop" => stops = true,
            "--help" | "-h" => {
                println!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            other => {
                eprintln!("unknown argument {other}\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    match block_on(print(frames, stops)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn print(frames: bool, stops: bool) -> io::Result<()> {
    let mut input = RunAgentInput::new("thread-1", "run-1");
    input.protocol_version = Some(PROTOCOL_VERSION.to_owned());
    input.messages = vec![Message::user("user-1", "Lisbon")];
    let events = Runner::new(Packer { stops }).run(input);
    pin!(events);
    let mut out = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.map_err(io::Error::other)?;
        out.clear();
        if frames {
            sse::frame(&event, &mut out);
        } else {
            event.encode_into(&mut out);
            out.push(b'\n');
        }
        io::stdout().write_all(&out)?;
    }
    Ok(())
}
