//! A process is killed while a tool runs, and the next one goes on with its run: what was answered for is in one file.
//!
//! Without options the program starts itself twice; `--work FILE` is killed, and `--recover FILE` goes on.

use futures_lite::future::{block_on, zip};
use runloom::smol::SmolTimer;
use runloom::store::{Keeper, Opened, SqliteStore};
use runloom::testing::{Attempt, ScriptedModel};
use runloom::{
    Engine, Host, ModelSpec, Run, RunOptions, SessionId, Shared, Tool, ToolFault, ToolOutput, ToolSpec,
    ToolSpecError, tool_fn,
};
use runloom_examples::screen::complain;
use runloom_examples::show::Shown;
use std::error::Error;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// What the tool says when its work is half done.
const HALF: &str = "half of it is done";

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let done = match args.as_slice() {
        [] => both(),
        [half, file] if half == "--work" => work(Path::new(file)),
        [half, file] if half == "--recover" => recover(Path::new(file)),
        _ => Err("usage: durable [--work FILE | --recover FILE]".into()),
    };
    done.unwrap_or_else(|error| {
        complain(format_args!("durable: {error}"));
        ExitCode::FAILURE
    })
}

/// Starts a process, kills it in the middle of its work, and starts another one.
fn both() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("runloom-durable-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let second = kill_and_recover(&folder.join("sessions.db"));
    // What was said is its user's business: it does not stay behind.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(if second? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn kill_and_recover(file: &Path) -> Result<bool, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let mut first = Command::new(&program).arg("--work").arg(file).stdout(Stdio::piped()).spawn()?;
    let Some(out) = first.stdout.take() else { return Err("no pipe".into()) };
    for line in BufReader::new(out).lines() {
        let line = line?;
        println!("{line}");
        if line.contains(HALF) {
            break;
        }
    }
    first.kill()?;
    first.wait()?;
    println!("\nprocess {} was killed\n", first.id());
    Ok(Command::new(&program).arg("--recover").arg(file).status()?.success())
}

/// Books something: nobody wants that twice. It takes long enough for its process to be killed.
fn book() -> Result<impl Tool, ToolSpecError> {
    let spec = ToolSpec::new("book", "Books a table.", r#"{"type":"object"}"#)?;
    Ok(tool_fn(spec, |_, cx| async move {
        cx.progress(HALF).await;
        std::future::pending::<()>().await;
        Ok::<_, ToolFault>(ToolOutput::text("booked"))
    }))
}

/// An engine whose sessions are kept in the file.
fn engine(
    file: &Path,
    model: ScriptedModel,
) -> Result<(Keeper<SqliteStore>, Engine<Shared, SmolTimer>), Box<dyn Error>> {
    let keeper = Keeper::new(block_on(SqliteStore::open(file))?);
    let host = Host::shared().model(ModelSpec::new("scripted"), model).tool(book()?);
    Ok((keeper.clone(), Engine::new(host.keeper(keeper).build()?, SmolTimer::new())))
}

fn work(file: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let attempt = Attempt::new().text("I book a table.").call("book", r#"{"people":4}"#);
    let (keeper, engine) = engine(file, ScriptedModel::new([attempt]))?;
    let dinner = SessionId::new("dinner")?;
    let session = block_on(async { keeper.open(&engine, &dinner).await?.or_close().await })?;
    println!("process {} begins", std::process::id());
    let (run, driver) = session.start("A table for four, please.")?;
    let (outcome, shown) = block_on(zip(driver, show(run)));
    Ok(shown?.end(&outcome)?)
}

fn recover(file: &Path) -> Result<ExitCode, Box<dyn Error>> {
    let answer =
        "I was interrupted while I booked, and do not know whether the table is booked: please check.";
    let (keeper, engine) = engine(file, ScriptedModel::new([answer.into()]))?;
    let opened = block_on(keeper.open(&engine, &SessionId::new("dinner")?))?;
    let Opened::Orphan(orphan) = opened else { return Err("no run was under way".into()) };
    println!("process {} goes on with {}", std::process::id(), orphan.run_id());
    let resumed = orphan.go_on(RunOptions::new())?;
    let (outcome, shown) = block_on(zip(resumed.driver, show(resumed.run)));
    block_on(keeper.save(&resumed.session))?;
    Ok(shown?.end(&outcome)?)
}

/// Shows the run's events.
async fn show(mut run: Run) -> io::Result<Shown> {
    let mut shown = Shown::new(false);
    let id = run.id().clone();
    let mut events = run.events();
    while let Some(envelope) = events.next().await {
        shown.show(&id, &envelope)?;
    }
    Ok(shown)
}
