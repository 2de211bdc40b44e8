//! Building and running the programs.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a program may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

/// A program that runs.
pub(crate) struct Running {
    child: Child,
    since: Instant,
    out: Option<JoinHandle<String>>,
    err: JoinHandle<String>,
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is a folder of the workspace")
        .to_owned()
}

/// A recording that the examples bring along.
pub(crate) fn recording(name: &str) -> Vec<u8> {
    std::fs::read(root().join("examples/recordings").join(name)).unwrap()
}

/// A program that is ready to be run: without the user's keys and proxies.
pub(crate) fn command(name: &str, args: &[&str]) -> Command {
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let path = BUILT.get_or_init(build).get(name).expect("such a program");
    let mut command = Command::new(path);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for variable in
        ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    {
        command.env_remove(variable);
    }
    command
}

/// Builds the programs in the way the tests were built, and asks where they are.
fn build() -> BTreeMap<String, PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--workspace", "--examples", "--message-format=json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // What cargo tells a test about its package would look like a change to build scripts that watch these.
    let about = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_", "CARGO_CRATE_NAME"];
    for (name, _) in std::env::vars_os() {
        if about.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let built = cargo.current_dir(root()).stderr(Stdio::inherit()).output().unwrap();
    assert!(built.status.success(), "the examples do not build");
    let lines = String::from_utf8(built.stdout).unwrap();
    let artifacts = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |artifact: Value| {
        let path = artifact.get("executable")?.as_str()?;
        Some((artifact.pointer("/target/name")?.as_str()?.to_owned(), PathBuf::from(path)))
    };
    artifacts.filter_map(program).collect()
}

/// Runs a program to its end.
pub(crate) fn run(name: &str, args: &[&str]) -> Ended {
    start(&mut command(name, args)).end()
}

/// Runs a program to its end, with this on its standard input.
pub(crate) fn run_with(name: &str, args: &[&str], input: &[u8]) -> Ended {
    let mut running = start(&mut command(name, args));
    // A program that ends early does not read it.
    let _ = running.child.stdin.take().unwrap().write_all(input);
    running.end()
}

pub(crate) fn start(command: &mut Command) -> Running {
    let mut child = command.spawn().unwrap();
    let out = read(Vec::new(), child.stdout.take().unwrap());
    let err = read(Vec::new(), child.stderr.take().unwrap());
    Running { child, since: Instant::now(), out: Some(out), err }
}

/// Reads to the end, after what was read before.
fn read(mut bytes: Vec<u8>, mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).expect("UTF-8")
    })
}

impl Running {
    /// Starts a program and waits for the first line of its standard output. From then on `stays` says whether that
    /// is read or closed.
    pub(crate) fn at_first_line(command: &mut Command, stays: bool) -> Self {
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let (mut line, mut byte) = (Vec::new(), [0]);
        while line.last() != Some(&b'\n') && out.read(&mut byte).unwrap() > 0 {
            line.extend(byte);
        }
        let out = stays.then(|| read(line, out));
        let err = read(Vec::new(), child.stderr.take().unwrap());
        Self { child, since: Instant::now(), out, err }
    }

    #[cfg(unix)]
    pub(crate) fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        drop(self.child.stdin.take());
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if self.since.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("the program hangs");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let took = self.since.elapsed();
        let out = self.out.map(|out| out.join().unwrap()).unwrap_or_default();
        Ended { code, out, err: self.err.join().unwrap(), took }
    }
}
