//! Hosts that are reached without a proxy.

use std::fmt;
use std::net::IpAddr;

/// The entries of a `NO_PROXY` list.
#[derive(Default)]
pub(super) struct NoProxy(Vec<Entry>);

enum Entry {
    Everything,
    /// A name and all names below it, at one port or any.
    Name(String, Option<u16>),
    Address(IpAddr, Option<u16>),
    /// Addresses that agree with this one in so many leading bits.
    Network(IpAddr, u32),
}

impl NoProxy {
    /// Reads a list separated by commas or white space. Entries that cannot be read match nothing.
    pub(super) fn parse(list: &str) -> Self {
        let parts = list.split(|c: char| c == ',' || c.is_whitespace());
        Self(parts.filter_map(Entry::parse).collect())
    }

    /// Whether the host, a name in lower case or an address, is reached directly.
    pub(super) fn covers(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.');
        let address: Option<IpAddr> = host.parse().ok();
        self.0.iter().any(|entry| entry.covers(host, address, port))
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Everything);
        }
        if let Some((address, bits)) = text.split_once('/') {
            return Some(Self::Network(address.parse().ok()?, bits.parse().ok()?));
        }
        let unbracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = unbracketed.parse() {
            return Some(Self::Address(address, None));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (text, None),
        };
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Some(Self::Address(address, port));
        }
        let name = host.strip_prefix('*').unwrap_or(host).trim_matches('.').to_ascii_lowercase();
        (!name.is_empty()).then_some(Self::Name(name, port))
    }

    fn covers(&self, host: &str, address: Option<IpAddr>, port: u16) -> bool {
        match self {
            Self::Everything => true,
            Self::Name(name, at) => {
                let below = host
                    .strip_suffix(name.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                below && at.is_none_or(|at| at == port)
            }
            Self::Address(known, at) => address == Some(*known) && at.is_none_or(|at| at == port),
            Self::Network(network, bits) => {
                address.is_some_and(|address| is_within(address, *network, *bits))
            }
        }
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            bits <= 32 && differing.leading_zeros() >= bits
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            bits <= 128 && differing.leading_zeros() >= bits
        }
        _ => false,
    }
}

impl fmt::Debug for NoProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} entries", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covers_what_the_list_says() {
        let list = NoProxy::parse(
            " internal.example, .Dot.example ,*.star.example:8080 127.0.0.1,10.0.0.0/8,[::1]:90,[::2],fd00::/8,,:",
        );
        for (host, port) in [
            ("internal.example", 1),
            ("a.internal.example", 1),
            ("internal.example.", 1),
            ("dot.example", 1),
            ("a.b.dot.example", 1),
            ("a.star.example", 8080),
            ("127.0.0.1", 1),
            ("10.255.1.2", 1),
            ("::1", 90),
            ("::2", 1),
            ("fd12::3", 1),
        ] {
            assert!(list.covers(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("notinternal.example", 1),
            ("example", 1),
            ("a.star.example", 80),
            ("127.0.0.2", 1),
            ("11.0.0.1", 1),
            ("::1", 1),
            ("fe80::1", 1),
        ] {
            assert!(!list.covers(host, port), "{host}:{port}");
        }
        assert!(NoProxy::parse("*").covers("anything.example", 443));
        assert!(!NoProxy::parse("").covers("anything.example", 443));
        assert!(NoProxy::parse("0.0.0.0/0").covers("1.2.3.4", 443));
    }
}
