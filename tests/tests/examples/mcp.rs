//! `mcp`: with a server made of a shell, and with the one that it is for, where that is installed.
#![cfg(unix)]

use crate::program::{Ended, root, run};

#[test]
fn tools_of_any_server_are_listed() {
    let server = r#"read -r hello
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}'
        read -r ready; read -r list
        echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a.b","description":"does","inputSchema":{}}]}}'
        sleep 99"#;
    let Ended { code, out, err, .. } = run("mcp", &["sh", "-c", server]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert_eq!(out, "server  shell 1, protocol 2025-06-18\ntool    a.b: does\n");
}

#[test]
fn what_is_wrong_is_told() {
    let Ended { code, out, err, .. } = run("mcp", &["no-such-program-anywhere"]);
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(err.starts_with("mcp: the server cannot be started: "), "{err}");
    let Ended { code, err, .. } = run("mcp", &["sh", "-c", "echo nothing to serve >&2"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("its last words: nothing to serve"), "{err}");
}

#[test]
fn the_main_job() {
    let Ended { code, out, err, .. } = run("mcp", &[]);
    if !root().join("tests/mcp-server/node_modules").is_dir() {
        assert_eq!(code, Some(1));
        assert!(err.contains("npm ci --prefix tests/mcp-server"), "{err}");
        return;
    }
    assert_eq!((code, &*err), (Some(0), ""));
    for part in ["The sum of 19 and 23 is 42.", "4/4", "Echo: 42", "completed: end_turn"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}
