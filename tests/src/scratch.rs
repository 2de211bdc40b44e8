//! A folder for files that a test writes; it goes with its value.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// An empty folder of its own.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A folder whose name begins with `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let folder = format!("runloom-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What a failed test leaves open stays behind.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
