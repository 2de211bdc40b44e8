//! Where output goes, and what is told about a terminal.

use std::io::{self, IsTerminal, Write};

/// How output is to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether text may be written in place as it comes; else only whole lines are.
    pub live: bool,
    /// Whether escape sequences for brightness may be used.
    pub shades: bool,
}

impl Style {
    /// The style for standard output: a terminal shows text as it comes, and shades unless `NO_COLOR` is set.
    pub fn of_stdout() -> Self {
        let live = io::stdout().is_terminal();
        Self { live, shades: live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    /// `text` in a weaker shade.
    pub fn dim(self, text: &str) -> String {
        if self.shades { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// `text` in a stronger shade.
    pub fn bold(self, text: &str) -> String {
        if self.shades { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// `text` without characters that could move the cursor or change the terminal; line feeds and tabs stay. What a model
/// or a tool wrote is never sent to a terminal otherwise.
pub fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// `text` on one line, cut after `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    let flat = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().take(most).map(flat).collect();
    if text.chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

/// Whether the reader of the output is gone, as behind `| head`.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Prints a line to standard error; a failure there has nowhere to be told.
pub fn complain(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(printable("a\u{1b}[2J\r\nb\tc\u{7f}"), "a[2J\nb\tc");
        assert_eq!(one_line("a\nb\u{1b}c", 9), "a b c");
        assert_eq!(one_line("ééé", 2), "éé…");
        assert_eq!(one_line("éé", 2), "éé");
    }

    #[test]
    fn shades_are_only_for_terminals() {
        let plain = Style::default();
        assert_eq!(plain.dim("x") + &plain.bold("y"), "xy");
        let shaded = Style { live: true, shades: true };
        assert!(shaded.dim("x").starts_with('\u{1b}'));
    }
}
