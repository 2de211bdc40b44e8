//! Versions of the protocol.

use super::error::{MAX_ERROR_TEXT, McpError};
use crate::problem::clean;
use crate::provider::read::{List, Members, Str};
use crate::text::Text;

/// The version without a handshake, as it stands on the wire.
pub(super) const STATELESS: &str = "2026-07-28";
/// Longest instructions that are kept, in encoded bytes.
const MAX_INSTRUCTIONS: u64 = 64 * 1024;

/// A version of the protocol that is spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// `2024-11-05`
    V2024_11_05,
    /// `2025-03-26`
    V2025_03_26,
    /// `2025-06-18`
    V2025_06_18,
    /// `2025-11-25`, the last one with a handshake.
    V2025_11_25,
    /// `2026-07-28`, where each request says all that is to be known.
    V2026_07_28,
}

impl ProtocolVersion {
    /// What the handshake offers.
    pub(super) const LATEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    const WITH_HANDSHAKE: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// The version as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => STATELESS,
        }
    }
}

/// What a server says about itself. Its texts are its own word, cleaned and bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpServerInfo {
    /// The version that is spoken with it.
    pub protocol: ProtocolVersion,
    /// Its name; empty where it gives none.
    pub name: Text,
    /// Its own version; empty where it gives none.
    pub version: Text,
    /// What it would like a model to know about it.
    pub instructions: Option<Text>,
    /// Whether it has tools.
    pub tools: bool,
}

impl McpServerInfo {
    /// Reads the answer to `initialize`.
    pub(super) fn of_handshake(result: &str) -> Result<Self, McpError> {
        let members = Members::read(result).ok_or_else(|| McpError::malformed("its result is no object"))?;
        let version = members.text("protocolVersion").unwrap_or_default();
        let known = ProtocolVersion::WITH_HANDSHAKE.iter().find(|known| known.as_str() == version);
        let protocol = *known.ok_or_else(|| McpError::Version(clean(&version, MAX_ERROR_TEXT)))?;
        Ok(Self::of(protocol, &members))
    }

    /// Reads the answer to `server/discover`.
    pub(super) fn of_discovery(result: &str) -> Result<Self, McpError> {
        let members = Members::read(result).ok_or_else(|| McpError::malformed("its result is no object"))?;
        let versions = members.get("supportedVersions").unwrap_or("[]");
        let List(versions) = serde_json::from_str::<List<Str<'_>>>(versions).unwrap_or_default();
        if !versions.iter().any(|version| version.get() == Some(STATELESS)) {
            let first = versions.first().and_then(Str::get).unwrap_or_default();
            return Err(McpError::Version(clean(first, MAX_ERROR_TEXT)));
        }
        Ok(Self::of(ProtocolVersion::V2026_07_28, &members))
    }

    fn of(protocol: ProtocolVersion, members: &Members<'_>) -> Self {
        let meta = members.get("_meta").and_then(Members::read).unwrap_or_default();
        let info = members.get("serverInfo").or_else(|| meta.get("io.modelcontextprotocol/serverInfo"));
        let info = info.and_then(Members::read).unwrap_or_default();
        let said = |name| clean(&info.text(name).unwrap_or_default(), MAX_ERROR_TEXT);
        let capabilities = members.get("capabilities").and_then(Members::read).unwrap_or_default();
        let instructions = members.text("instructions").filter(|text| !text.is_empty());
        let bounded = |text: &str| Text::new(crate::json::encoded_prefix(text, MAX_INSTRUCTIONS));
        Self {
            protocol,
            name: said("name"),
            version: said("version"),
            instructions: instructions.map(|text| bounded(&text)),
            tools: capabilities.get("tools").is_some_and(|tools| tools.starts_with('{')),
        }
    }
}
