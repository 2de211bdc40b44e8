//! Which provider's format is spoken, and with which server.

use crate::cli::{Options, UsageError};
use crate::server::Server;
use http::Uri;
use runloom_core::provider::Secret;
use runloom_core::provider::anthropic::Anthropic;
use runloom_core::provider::dialect::Dialect;
use runloom_core::provider::openai_chat::OpenAiChat;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;

/// A provider's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAi,
}

impl Provider {
    /// The provider of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::Anthropic),
            "openai" => Some(Self::OpenAi),
            _ => None,
        }
    }

    /// The environment variable that holds the key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The model that is asked for where none is named.
    pub const fn default_model(self) -> &'static str {
        match self {
            Self::Anthropic => "claude-sonnet-4-5",
            Self::OpenAi => "gpt-4.1-mini",
        }
    }
}

/// Where requests go.
#[derive(Debug)]
pub struct Target {
    /// The beginning of the server's URLs.
    pub base_url: BaseUrl,
    /// The key, if there is one.
    pub key: Option<Secret>,
    provider: Provider,
    /// The embedded server, if it is the one; it runs as long as this value lives.
    _server: Option<Server>,
}

/// The codec that fits the server.
#[derive(Debug)]
pub enum Codecs {
    /// Anthropic Messages.
    Anthropic(Anthropic),
    /// OpenAI Chat Completions.
    OpenAi(OpenAiChat),
}

impl Target {
    /// The server that the options name; else starts the embedded one, which gets no key.
    ///
    /// # Errors
    ///
    /// A [`UsageError`] if the server needs a key that the environment lacks; the system's if the embedded server cannot
    /// be started.
    pub fn of(options: &Options) -> Result<Self, Box<dyn Error>> {
        let provider = options.provider;
        if let Some(base_url) = options.base_url.clone() {
            let key = key_from_environment(provider, &base_url)?;
            return Ok(Self { base_url, key, provider, _server: None });
        }
        let server = Server::start()?;
        // Official clients of OpenAI take the version as a part of the base URL, those of Anthropic do not.
        let prefix = match provider {
            Provider::Anthropic => "",
            Provider::OpenAi => "/v1",
        };
        let base_url = BaseUrl::parse(&(server.root_url() + prefix))?;
        Ok(Self { base_url, key: None, provider, _server: Some(server) })
    }

    /// The codec that fits the server.
    pub fn codec(&self) -> Codecs {
        match (self.provider, self.base_url.host()) {
            (Provider::Anthropic, _) => Codecs::Anthropic(Anthropic::new()),
            (Provider::OpenAi, "api.openai.com") => Codecs::OpenAi(OpenAiChat::new(Dialect::openai())),
            // Every other server knows what nearly all of them know.
            (Provider::OpenAi, _) => Codecs::OpenAi(OpenAiChat::new(Dialect::compatible())),
        }
    }
}

/// The key from the environment: needed unless the server is local.
fn key_from_environment(provider: Provider, base_url: &BaseUrl) -> Result<Option<Secret>, UsageError> {
    let variable = provider.key_variable();
    match std::env::var(variable).ok().filter(|key| !key.trim().is_empty()) {
        Some(key) => Ok(Some(Secret::new(&key))),
        None if base_url.is_local() => Ok(None),
        None => Err(UsageError::new(format_args!("{base_url} needs a key: set {variable}"))),
    }
}

/// The beginning of a server's URLs, without a slash at its end.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    uri: Uri,
}

impl BaseUrl {
    /// Reads a URL with the scheme `http` or `https`, without query and fragment.
    ///
    /// # Errors
    ///
    /// If the text is something else. The error does not repeat it, since it may hold a password.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let error = |what: &str| UsageError::new(format_args!("--base-url {what}"));
        let text = text.trim().trim_end_matches('/');
        let uri: Uri = text.parse().map_err(|_| error("is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
            return Err(error("must begin with http:// or https:// and a host"));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(error("must have neither query nor fragment"));
        }
        Ok(Self { text: text.to_owned(), uri })
    }

    /// The URL, a password in it included.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its parts.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The host, without brackets.
    pub fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_matches(['[', ']'])
    }

    /// Whether the server is on this machine or in this network, where models are served without keys and reached
    /// without a proxy.
    pub fn is_local(&self) -> bool {
        let host = self.host();
        match host.parse() {
            Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
            Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
            Err(_) => {
                let host = host.to_ascii_lowercase();
                !host.contains('.') || host.ends_with(".localhost") || host.ends_with(".local")
            }
        }
    }
}

impl fmt::Display for BaseUrl {
    /// Scheme, host and port: a password stays out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.uri.scheme_str().unwrap_or_default(), self.uri.host().unwrap_or_default())?;
        self.uri.port().map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_as_the_official_clients_take_them() {
        for (text, kept) in [
            ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            (" http://localhost:11434/v1 ", "http://localhost:11434/v1"),
        ] {
            assert_eq!(BaseUrl::parse(text).unwrap().as_str(), kept);
        }
        for text in ["", "localhost:8080", "ftp://h", "http://", "/v1", "http://h/?key=x", "http://h/#x", "h"]
        {
            assert!(BaseUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let url = BaseUrl::parse("http://user:canary@h:1/v1").unwrap();
        assert_eq!(format!("{url} {url:?}"), "http://h:1 http://h:1");
    }

    #[test]
    fn local_servers_are_known() {
        for (host, local) in [
            ("127.0.0.1", true),
            ("[::1]:80", true),
            ("192.168.0.7:1", true),
            ("localhost", true),
            ("ollama:11434", true),
            ("box.local", true),
            ("api.anthropic.com", false),
            ("8.8.8.8", false),
        ] {
            assert_eq!(BaseUrl::parse(&format!("http://{host}")).unwrap().is_local(), local, "{host}");
        }
    }
}
