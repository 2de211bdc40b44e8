//! Starts processes and kills them.

use crate::child::{FILE, GO_ON, SESSIONS};
use crate::said::Said;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that works.
pub(crate) struct Working {
    child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) said: Vec<Said>,
}

impl Working {
    pub(crate) fn start(file: &Path, sessions: usize, goes_on: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child::child", "--nocapture", "--test-threads=1"]);
        command.env(FILE, file).env(SESSIONS, sessions.to_string());
        command.env(GO_ON, if goes_on { "yes" } else { "no" });
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out, said: Vec::new() }
    }

    /// Reads on until `enough`; what was said last is whole.
    pub(crate) fn read_until(&mut self, enough: impl Fn(&[Said]) -> bool) {
        let since = Instant::now();
        while !enough(&self.said) {
            assert!(since.elapsed() < PATIENCE, "the process says nothing more");
            assert!(self.line(), "the process has ended: {:?}", self.said.last());
        }
    }

    fn line(&mut self) -> bool {
        let mut line = String::new();
        let read = self.out.read_line(&mut line).unwrap_or(0);
        // A line without an end was cut off by the kill.
        self.said.extend(line.strip_suffix('\n').and_then(Said::read));
        read > 0
    }

    /// Kills it after this time; everything that it has said.
    pub(crate) fn kill_after(mut self, span: Duration) -> Vec<Said> {
        // The pipe is read only after the kill: what it holds is enough for the time.
        std::thread::sleep(span);
        self.child.kill().unwrap();
        self.end()
    }

    /// Waits until it has ended; everything that it has said.
    pub(crate) fn end(mut self) -> Vec<Said> {
        while self.line() {}
        self.child.wait().unwrap();
        self.said
    }
}

/// How many writes were handed over and not answered for.
pub(crate) fn unanswered(said: &[Said]) -> usize {
    let handed = said.iter().filter(|said| **said == Said::Writes).count();
    let answered = said.iter().filter(|said| matches!(said, Said::Recorded { .. } | Said::Saved { .. }));
    handed - answered.count()
}
