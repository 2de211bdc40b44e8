//! A folder that a model may read, and nothing outside of it.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// Most of a file that is read; more would fill the model's context.
pub const MAX_FILE_BYTES: usize = 64 * 1024;
/// Most entries of a folder that are listed.
pub const MAX_ENTRIES: usize = 500;

/// An existing folder, with symbolic links in its path resolved.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// Why something cannot be read; a text for the model, which names no path outside of the folder.
pub type Refusal = String;

impl Folder {
    /// The folder at `path`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = path.canonicalize()?;
        if root.is_dir() { Ok(Self { root }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// The real path of what `path` names below this folder. Absolute paths, `..`, and symbolic links that lead outside
    /// are refused.
    fn resolve(&self, path: &str) -> Result<PathBuf, Refusal> {
        let relative = Path::new(path);
        let stays_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !relative.components().all(stays_below) {
            return Err(format!("{path:?} is refused: paths are relative to the folder, without `..`"));
        }
        let real = self.root.join(relative).canonicalize().map_err(|error| failed(path, &error))?;
        if !real.starts_with(&self.root) {
            return Err(format!("{path:?} is refused: it leads out of the folder"));
        }
        Ok(real)
    }

    /// What is in a folder, one entry a line, sorted by name: folders end with `/`, files tell their size.
    ///
    /// # Errors
    ///
    /// If the folder is not there, not below this one, or not readable.
    pub fn list(&self, path: &str) -> Result<String, Refusal> {
        let real = self.resolve(if path.is_empty() { "." } else { path })?;
        let mut lines = Vec::new();
        for entry in real.read_dir().map_err(|error| failed(path, &error))? {
            let entry = entry.map_err(|error| failed(path, &error))?;
            // Names are the host's data: control characters in them must not reach a terminal.
            let name = entry.file_name().to_string_lossy().escape_debug().to_string();
            lines.push(match self.metadata(&entry.path()) {
                Some(data) if data.is_dir() => format!("{name}/"),
                Some(data) if data.is_file() => format!("{name} ({} bytes)", data.len()),
                _ => format!("{name} (neither file nor folder)"),
            });
        }
        lines.sort_unstable();
        let more = lines.len().saturating_sub(MAX_ENTRIES);
        lines.truncate(MAX_ENTRIES);
        let mut text = lines.join("\n");
        if more > 0 {
            let _ = write!(text, "\n[{more} more]");
        }
        Ok(if text.is_empty() { "[empty]".to_owned() } else { text })
    }

    /// What the system says of an entry, or of where it leads if that is below this folder.
    fn metadata(&self, entry: &Path) -> Option<Metadata> {
        let real = entry.canonicalize().ok().filter(|real| real.starts_with(&self.root))?;
        real.metadata().ok()
    }

    /// The text of a file; of a long one, the beginning.
    ///
    /// # Errors
    ///
    /// If the file is not there, not below this folder, not readable, not a regular file, or not UTF-8.
    pub fn read(&self, path: &str) -> Result<String, Refusal> {
        let real = self.resolve(path)?;
        // Opening a pipe would wait for its other end.
        if !real.metadata().map_err(|error| failed(path, &error))?.is_file() {
            return Err(format!("{path:?} is not a file"));
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
        let file = File::open(real).map_err(|error| failed(path, &error))?;
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failed(path, &error))?;
        text(bytes).ok_or_else(|| format!("{path:?} is not UTF-8 text"))
    }
}

/// The bytes as text, cut to the bound with a mark.
fn text(mut bytes: Vec<u8>) -> Option<String> {
    let is_cut = bytes.len() > MAX_FILE_BYTES;
    bytes.truncate(MAX_FILE_BYTES);
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The cut may have split the last character.
        Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).ok()?
        }
        Err(_) => return None,
    };
    if is_cut {
        let _ = write!(text, "\n[cut after {MAX_FILE_BYTES} bytes]");
    }
    Some(text)
}

/// The system's words without its path.
fn failed(path: &str, error: &io::Error) -> Refusal {
    format!("{path:?}: {}", error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Temporary(PathBuf);

    impl Temporary {
        /// `below/` with `a.txt` and `sub/`, beside `outside.txt`.
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("runloom-folder-{name}-{}", std::process::id()));
            fs::create_dir_all(root.join("below/sub")).unwrap();
            fs::write(root.join("below/a.txt"), "hello").unwrap();
            fs::write(root.join("outside.txt"), "secret").unwrap();
            Self(root)
        }
        fn folder(&self) -> Folder {
            Folder::open(&self.0.join("below")).unwrap()
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_below_can_be_read() {
        let temporary = Temporary::new("below");
        let folder = temporary.folder();
        assert_eq!(folder.list("").unwrap(), "a.txt (5 bytes)\nsub/");
        assert_eq!(folder.list("./sub").unwrap(), "[empty]");
        assert_eq!(folder.read("a.txt").unwrap(), "hello");
        assert_eq!(folder.read("./a.txt").unwrap(), "hello");
        assert!(folder.read("sub").unwrap_err().contains("is not a file"));
        assert!(folder.list("a.txt").is_err() && folder.read("none").is_err() && folder.read("").is_err());
    }

    #[test]
    fn what_is_outside_cannot() {
        let temporary = Temporary::new("outside");
        let folder = temporary.folder();
        let absolute = temporary.0.join("outside.txt").display().to_string();
        for path in ["../outside.txt", "sub/../../outside.txt", "sub/../a.txt", "..", "/", &absolute] {
            let (read, list) = (folder.read(path).unwrap_err(), folder.list(path).unwrap_err());
            assert!(read.contains("refused") && list.contains("refused"), "{read} {list}");
        }
        assert!(Folder::open(&temporary.0.join("outside.txt")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_count_by_where_they_lead() {
        use std::os::unix::fs::symlink;
        let temporary = Temporary::new("links");
        let folder = temporary.folder();
        symlink("../outside.txt", temporary.0.join("below/out")).unwrap();
        symlink("..", temporary.0.join("below/up")).unwrap();
        symlink("../a.txt", temporary.0.join("below/sub/in")).unwrap();
        for path in ["out", "up", "up/outside.txt"] {
            assert!(folder.read(path).unwrap_err().contains("leads out"), "{path}");
        }
        assert!(folder.list("up").unwrap_err().contains("leads out"));
        assert_eq!(folder.read("sub/in").unwrap(), "hello");
        // A list says of each what reading would find.
        assert_eq!(folder.list("sub").unwrap(), "in (5 bytes)");
        assert!(folder.list("").unwrap().contains("\nout (neither file nor folder)\n"));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_not_opened() {
        let temporary = Temporary::new("socket");
        let _socket = std::os::unix::net::UnixListener::bind(temporary.0.join("below/socket")).unwrap();
        let folder = temporary.folder();
        assert!(folder.read("socket").unwrap_err().contains("is not a file"));
        assert!(folder.list("").unwrap().contains("socket (neither file nor folder)"));
        assert!(folder.read("a\0.txt").is_err() && folder.list(&"x/".repeat(9_999)).is_err());
    }

    #[test]
    fn files_are_bounded_and_text() {
        assert_eq!(text(vec![0xff]), None);
        let long = text("é".repeat(MAX_FILE_BYTES).into_bytes()).unwrap();
        assert!(long.starts_with('é') && long.ends_with("\n[cut after 65536 bytes]"));
        // An odd beginning puts the bound into the middle of a character.
        let split = text(format!("x{}", "é".repeat(MAX_FILE_BYTES)).into_bytes()).unwrap();
        assert!(split.starts_with("xé") && split.ends_with(" bytes]"));
        let full = "x".repeat(MAX_FILE_BYTES);
        assert_eq!(text(full.clone().into_bytes()), Some(full));
        let mut broken = vec![b'x'; MAX_FILE_BYTES + 1];
        broken[7] = 0xff;
        assert_eq!(text(broken), None);
    }

    #[test]
    fn long_lists_are_cut() {
        let temporary = Temporary::new("long");
        for n in 0..MAX_ENTRIES {
            fs::write(temporary.0.join(format!("below/{n}")), "").unwrap();
        }
        assert!(temporary.folder().list(".").unwrap().ends_with("\n[2 more]"));
    }
}
