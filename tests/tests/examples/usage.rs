//! Command lines that cannot be followed, and readers that go away.

use crate::program::{Ended, Running, command, run};

const PROGRAMS: [&str; 3] = ["agent", "blocking", "chat"];

#[test]
fn wrong_usage_is_told_apart() {
    for program in PROGRAMS {
        for (args, named) in [
            (&["--frobnicate"][..], "--frobnicate"),
            (&["prompt without option"], "prompt without option"),
            (&["--provider", "gemini"], "gemini"),
            (&["--cancel-after", "soon"], "soon"),
            (&["--dir", "no/such/folder"], "no/such/folder"),
            (&["--dir", "Cargo.toml"], "Cargo.toml"),
            (&["--base-url", "api.anthropic.com"], "--base-url"),
            (&["--prompt", ""], "--prompt"),
            (&["--model"], "--model"),
        ] {
            let Ended { code, out, err, .. } = run(program, args);
            assert_eq!((code, &*out), (Some(2), ""), "{program} {args:?}");
            assert!(err.contains(named) && err.contains("--help"), "{program} {args:?}: {err}");
        }
    }
}

#[test]
fn a_missing_key_is_named() {
    for program in ["agent", "chat"] {
        for (provider, url, variable) in [
            ("anthropic", "https://api.example.com", "ANTHROPIC_API_KEY"),
            ("openai", "https://api.example.com/v1", "OPENAI_API_KEY"),
        ] {
            let Ended { code, out, err, .. } = run(program, &["--provider", provider, "--base-url", url]);
            assert_eq!((code, &*out), (Some(2), ""));
            assert!(err.contains(variable), "{err}");
        }
    }
}

#[test]
fn help_names_every_option() {
    for program in PROGRAMS {
        let Ended { code, out, err, .. } = run(program, &["--help"]);
        assert_eq!((code, &*err), (Some(0), ""));
        for option in
            ["--prompt", "--provider", "--base-url", "--model", "--json", "--cancel-after", "--dir", "--help"]
        {
            assert!(out.contains(option), "{program}: {option}");
        }
    }
}

#[test]
fn a_reader_that_leaves_is_no_fault() {
    for args in [&["--json"][..], &[]] {
        let Ended { code, err, .. } = Running::at_first_line(&mut command("agent", args), false).end();
        assert_eq!((code, &*err), (Some(0), ""), "{args:?}");
    }
}
