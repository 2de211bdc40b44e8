//! An agent with the tools of an MCP server, which is a program that this one starts; the model follows a script.
//!
//! Without arguments the server is the one of `tests/mcp-server`; with some, they are the program to start and its
//! arguments, and its tools are listed only.

use futures_lite::future::{block_on, or, zip};
use runloom::mcp::{McpClient, McpError, McpOptions};
use runloom::smol::{SmolTimer, StdioServer, StdioTransport};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{Access, Engine, Host, ModelSpec, sleep};
use runloom_examples::screen::{complain, one_line};
use runloom_examples::show::Shown;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/mcp-server");
const PROGRAM: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
const INSTALL: &str = "npm ci --prefix tests/mcp-server";
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let ended = match arguments.next() {
        Some(program) => list(&StdioServer::new(program).args(arguments)),
        None if Path::new(FOLDER).join(PROGRAM).is_file() => {
            run(&StdioServer::new("node").arg(PROGRAM).arg("stdio").current_dir(FOLDER))
        }
        None => Err(format!("the MCP server is not installed; this does it: {INSTALL}").into()),
    };
    ended.unwrap_or_else(|error| {
        complain(format_args!("mcp: {error}"));
        ExitCode::FAILURE
    })
}

/// Shakes hands, within some time.
fn connect(server: &StdioServer) -> Result<McpClient<StdioTransport>, Box<dyn Error>> {
    let transport = server.start().map_err(|error| format!("the server cannot be started: {error}"))?;
    let late = async {
        sleep(SmolTimer::new(), PATIENCE).await;
        Err(McpError::closed("it does not answer"))
    };
    let options = McpOptions::new().client_info("runloom example", "1");
    let client = block_on(or(McpClient::connect(transport, options), late))?;
    let about = client.server();
    println!("server  {} {}, protocol {}", about.name, about.version, about.protocol.as_str());
    Ok(client)
}

fn list(server: &StdioServer) -> Result<ExitCode, Box<dyn Error>> {
    let client = connect(server)?;
    for tool in block_on(client.list())?.tools {
        println!("tool    {}: {}", one_line(&tool.name, 64), one_line(&tool.description, 80));
    }
    Ok(ExitCode::SUCCESS)
}

/// One run: a sum beside an operation that reports its progress, then the answer.
fn run(server: &StdioServer) -> Result<ExitCode, Box<dyn Error>> {
    let client = connect(server)?;
    let model = ScriptedModel::new([
        Attempt::new()
            .text("I ask the server.")
            .call("get-sum", r#"{"a":19,"b":23}"#)
            .call("trigger-long-running-operation", r#"{"duration":1,"steps":4}"#),
        Attempt::new().call("echo", r#"{"message":"42"}"#),
        "The server says that 19 + 23 is 42.".into(),
    ]);
    let mut host = Host::shared().model(ModelSpec::new("scripted"), model);
    let tools = block_on(client.tools())?;
    println!("tools   {}\n", tools.len());
    for tool in tools {
        // It is known of this server that its calls may overlap; by itself each would run alone.
        host = host.tool(tool.declared(|spec| spec.access(Access::Shared).deadline(PATIENCE)));
    }
    let session = Engine::new(host.build()?, SmolTimer::new()).session()?;
    let (mut run, driver) = session.start("What is 19 + 23?")?;
    let mut shown = Shown::new(false);
    let showing = async {
        let id = run.id().clone();
        let mut events = run.events();
        while let Some(envelope) = events.next().await {
            shown.show(&id, &envelope)?;
        }
        Ok::<_, std::io::Error>(())
    };
    let (outcome, showing) = block_on(zip(driver, showing));
    showing?;
    Ok(shown.end(&outcome)?)
}
