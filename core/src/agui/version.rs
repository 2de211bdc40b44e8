//! Versions of the protocol, which two peers compare number by number.

use core::fmt;

/// The version that this crate implements and declares.
pub const PROTOCOL_VERSION: &str = "1.1";

/// A version `MAJOR.MINOR`. 1.10 is later than 1.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Another major is another protocol.
    pub major: u64,
    /// A later minor is served all the same.
    pub minor: u64,
}

impl Version {
    /// The first version that was frozen.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
    /// The version of this crate.
    pub const OURS: Self = Self { major: 1, minor: 1 };

    /// Reads `MAJOR.MINOR`, without signs or spaces; a third number, as versions before 1.0 have it, is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if digits { part.parse().ok() } else { None }
        };
        let mut parts = text.split('.');
        let (major, minor) = (number(parts.next()?)?, number(parts.next()?)?);
        let rest = parts.next().is_none_or(|patch| number(patch).is_some()) && parts.next().is_none();
        if rest { Some(Self { major, minor }) } else { None }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(Version::parse("1.10") > Version::parse("1.9"));
        assert_eq!(Version::parse(PROTOCOL_VERSION), Some(Version::OURS));
        assert_eq!(Version::parse("0.0.57"), Some(Version { major: 0, minor: 0 }));
        for odd in ["", "1", "one", "1.", ".1", "1.1.1.1", "+1.0", " 1.0", "1.x", "99999999999999999999.0"] {
            assert_eq!(Version::parse(odd), None, "{odd}");
        }
        assert!(Version::V1_0 < Version::OURS);
        assert_eq!(alloc::format!("{}", Version::OURS), PROTOCOL_VERSION);
    }
}
