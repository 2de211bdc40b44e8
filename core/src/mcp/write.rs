//! The lines that a client sends.

use super::version::{ProtocolVersion, STATELESS};
use crate::json::{Object, string};
use crate::text::Text;
use alloc::string::String;
use alloc::vec::Vec;

/// How a client names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpClientInfo {
    /// The program's name.
    pub name: Text,
    /// Its version.
    pub version: Text,
}

impl Default for McpClientInfo {
    fn default() -> Self {
        Self { name: "runloom".into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}

/// What is to be known for every line.
pub(super) struct Writer<'a> {
    pub(super) info: &'a McpClientInfo,
    /// The version that was agreed on; `None` before that.
    pub(super) version: Option<ProtocolVersion>,
}

fn line(write: impl FnOnce(&mut Object<'_, Vec<u8>>)) -> String {
    let mut out = Vec::new();
    let mut object = Object::begin(&mut out);
    object.str("jsonrpc", "2.0");
    write(&mut object);
    object.end();
    // The writer takes text and gives text.
    String::from_utf8(out).unwrap_or_default()
}

impl Writer<'_> {
    fn request(&self, id: u64, method: &str, params: impl FnOnce(&mut Object<'_, Vec<u8>>)) -> String {
        line(|object| {
            object.u64("id", id).str("method", method).object("params", params);
        })
    }

    fn info(&self, object: &mut Object<'_, Vec<u8>>) {
        object.str("name", self.info.name.as_bytes()).str("version", self.info.version.as_bytes());
    }

    /// What a request says about itself: all that a server without sessions needs to know, and the token under which
    /// progress comes back.
    fn meta(&self, token: Option<u64>, params: &mut Object<'_, Vec<u8>>) {
        let stateless = self.version == Some(ProtocolVersion::V2026_07_28);
        if !stateless && token.is_none() {
            return;
        }
        params.object("_meta", |meta| {
            if stateless {
                meta.str("io.modelcontextprotocol/protocolVersion", STATELESS);
                meta.object("io.modelcontextprotocol/clientInfo", |object| self.info(object));
                meta.object("io.modelcontextprotocol/clientCapabilities", |_| {});
            }
            meta.opt_u64("progressToken", token);
        });
    }

    pub(super) fn initialize(&self, id: u64) -> String {
        self.request(id, "initialize", |params| {
            params.str("protocolVersion", ProtocolVersion::LATEST_WITH_HANDSHAKE.as_str());
            params.object("capabilities", |_| {});
            params.object("clientInfo", |object| self.info(object));
        })
    }

    pub(super) fn initialized() -> String {
        line(|object| {
            object.str("method", "notifications/initialized");
        })
    }

    pub(super) fn discover(&self, id: u64) -> String {
        let writer = Writer { info: self.info, version: Some(ProtocolVersion::V2026_07_28) };
        writer.request(id, "server/discover", |params| writer.meta(None, params))
    }

    pub(super) fn list_tools(&self, id: u64, cursor: Option<&str>) -> String {
        self.request(id, "tools/list", |params| {
            params.opt_str("cursor", cursor);
            self.meta(None, params);
        })
    }

    /// The arguments go out as they are written, but for line feeds between them, which would end the line (M9).
    pub(super) fn call_tool(&self, id: u64, name: &str, arguments: &str, progress: bool) -> String {
        self.request(id, "tools/call", |params| {
            params.str("name", name);
            // A line feed inside of a text would not be JSON: these stand between.
            let flat = |c: char| if matches!(c, '\n' | '\r') { ' ' } else { c };
            params.raw("arguments", &arguments.chars().map(flat).collect::<String>());
            self.meta(progress.then_some(id), params);
        })
    }

    pub(super) fn cancelled(id: u64, reason: &str) -> String {
        line(|object| {
            object.str("method", "notifications/cancelled");
            object.object("params", |params| {
                params.u64("requestId", id).str("reason", reason);
            });
        })
    }

    pub(super) fn answer(id: &str, known: bool) -> String {
        line(|object| {
            object.raw("id", id);
            if known {
                object.object("result", |_| {});
            } else {
                object.object("error", |error| {
                    error.key("code").extend_from_slice(b"-32601");
                    string(error.key("message"), "method not found");
                });
            }
        })
    }
}
