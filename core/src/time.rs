//! Engine time: whole microseconds since an origin that the host chose.

use core::fmt;
use core::time::Duration;

/// A point in engine time, in microseconds since the engine's origin.
///
/// The machine never reads a clock: every `Time` comes in through [`Run::step`](crate::Run::step). Arithmetic
/// saturates, so that no configured duration can overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// The largest integer that canonical JSON can carry exactly (2^53 - 1).
pub const MAX_EXACT: u64 = (1 << 53) - 1;

impl Time {
    /// The engine's origin.
    pub const ZERO: Self = Self(0);
    /// The last representable time; used as "never" by arithmetic that saturates.
    pub const MAX: Self = Self(MAX_EXACT);

    /// A time `micros` microseconds after the origin; saturates at [`Time::MAX`].
    pub const fn from_micros(micros: u64) -> Self {
        if micros > MAX_EXACT { Self::MAX } else { Self(micros) }
    }

    /// A time `millis` milliseconds after the origin; saturates.
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// A time `secs` seconds after the origin; saturates.
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_micros(secs.saturating_mul(1_000_000))
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// This time plus `span`; saturates at [`Time::MAX`].
    pub fn after(self, span: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(micros(span)))
    }

    /// The span from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    /// Seconds with six digits: `1.500000s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// `span` in whole microseconds, saturating.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(MAX_EXACT).min(MAX_EXACT)
}
