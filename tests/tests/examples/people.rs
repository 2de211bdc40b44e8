//! `approve` and `suspend_resume`: people who are asked in the terminal.

use crate::program::{Ended, command, run_with, start};

fn approve(input: &str) -> String {
    let Ended { code, out, err, .. } = run_with("approve", &[], input.as_bytes());
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    out
}

#[test]
fn closed_input_is_no_consent() {
    let out = approve("");
    assert_eq!(out.matches("dismissed").count(), 4, "{out}");
    // The program itself has allowed the small payment.
    assert!(out.contains(r#"pay with {"amount":40}"#) && !out.contains("delete with"), "{out}");
}

#[test]
fn a_yes_is_for_one_call() {
    let out = approve("y\n");
    assert_eq!(out.matches("delete with").count(), 1, "{out}");
    assert_eq!(out.matches("dismissed").count(), 3, "{out}");
    let out = approve(&"y\n".repeat(10));
    assert_eq!(out.matches("delete with").count(), 2, "{out}");
    assert!(out.contains(r#"pay with {"amount":4000}"#) && out.contains("mail with"), "{out}");
}

#[test]
fn people_may_remember_refuse_and_edit() {
    // Which of the two that stand open first is asked first does not matter for `delete`, which comes first.
    let out = approve("a\ne {\"to\":\"me\"}\nno too dear\n");
    assert_eq!(out.matches("delete with").count(), 2, "asked once, ran twice: {out}");
    assert_eq!(out.matches("may it run?").count(), 3, "{out}");
    assert!(out.contains(r#"mail with {"to":"me"}"#), "{out}");
    assert!(out.contains("too dear"), "{out}");
}

#[test]
fn arguments_that_are_none_are_asked_about_again() {
    let out = approve("e [\ny\n");
    assert!(out.contains("that is no answer"), "{out}");
    assert_eq!(out.matches("delete with").count(), 1, "{out}");
}

#[test]
fn a_run_goes_on_in_another_process() {
    let Ended { code, out, err, .. } = run_with("suspend_resume", &[], b"y\nfragile\n");
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    assert_eq!(out.matches("looks at the stock").count(), 1, "nothing runs twice: {out}");
    for part in
        ["put aside with 2 open requests", "goes on in", r#"ordered {"boxes":30}"#, "fragile", "in size A5"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    let Ended { code, out, err, .. } = run_with("suspend_resume", &[], b"");
    assert_eq!((code, &*err), (Some(0), ""), "{out}");
    assert!(out.contains("dismissed") && out.contains("no label"), "{out}");
}

#[test]
fn the_halves_can_be_run_apart() {
    let folder = std::env::temp_dir().join(format!("runloom-halves-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("run.json");
    let file = file.to_str().unwrap();
    let Ended { code, err, .. } = run_with("suspend_resume", &["--suspend", file], b"");
    assert_eq!((code, &*err), (Some(0), ""));
    let saved = std::fs::read_to_string(file).unwrap();
    for _ in 0..2 {
        let Ended { code, out, .. } = run_with("suspend_resume", &["--resume", file], b"y\nx\n");
        assert_eq!(code, Some(0), "{out}");
    }
    std::fs::write(file, saved.replace("size A5", "size \u{0}")).unwrap();
    let broken = start(&mut command("suspend_resume", &["--resume", file])).end();
    assert_eq!(broken.code, Some(1), "{}", broken.out);
    assert!(broken.err.starts_with("suspend_resume: "), "{}", broken.err);
    std::fs::remove_dir_all(folder).unwrap();
}
