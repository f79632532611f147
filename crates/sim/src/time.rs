use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time, or a span of it: picoseconds, so that a byte at 800 Gbit/s is a whole number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The beginning; no time at all.
    pub const ZERO: Time = Time(0);
    /// Later than all that happens: 213 days.
    pub const NEVER: Time = Time(u64::MAX);

    /// So many picoseconds.
    pub const fn from_picos(picos: u64) -> Time {
        Time(picos)
    }

    /// So many nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos * 1_000)
    }

    /// So many microseconds.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros * 1_000_000)
    }

    /// So many seconds, rounded to picoseconds; what is negative or not a number counts as 0.
    pub fn from_secs(secs: f64) -> Time {
        Time((secs * 1e12).round() as u64)
    }

    /// Picoseconds.
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds with fractions.
    pub fn as_micros(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds with fractions.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Time from `earlier` to this, 0 if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;

    fn add(self, rhs: Time) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, rhs: Time) {
        *self = *self + rhs;
    }
}

impl Sub for Time {
    type Output = Time;

    fn sub(self, rhs: Time) -> Time {
        self.since(rhs)
    }
}

impl Mul<u64> for Time {
    type Output = Time;

    fn mul(self, rhs: u64) -> Time {
        Time(self.0.saturating_mul(rhs))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            picos if picos < 1_000_000 => write!(f, "{:.1} ns", picos as f64 / 1e3),
            picos if picos < 1_000_000_000 => write!(f, "{:.2} µs", picos as f64 / 1e6),
            picos if picos < 1_000_000_000_000 => write!(f, "{:.2} ms", picos as f64 / 1e9),
            picos => write!(f, "{:.3} s", picos as f64 / 1e12),
        }
    }
}

/// How fast a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    bits_per_second: u64,
    /// 1/1024 ps a byte: exact for all usual rates, and without a division for each packet.
    per_byte: u64,
}

impl Rate {
    /// So many bits per second; at least 1,000.
    pub fn from_bits_per_second(bits_per_second: u64) -> Rate {
        let bits_per_second = bits_per_second.max(1_000);
        Rate { bits_per_second, per_byte: ((8_000_000_000_000 << 10) / u128::from(bits_per_second)) as u64 }
    }

    /// So many gigabits per second.
    pub fn from_gbits(gbits: u64) -> Rate {
        Rate::from_bits_per_second(gbits * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.bits_per_second
    }

    /// Time that so many bytes take.
    pub const fn time_for(self, bytes: u32) -> Time {
        Time((bytes as u64 * self.per_byte) >> 10)
    }

    /// Time that so many bytes take, however many.
    pub const fn time_for_many(self, bytes: u64) -> Time {
        Time(((bytes as u128 * self.per_byte as u128) >> 10) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_rates_are_exact() {
        for (gbits, picos) in [(10, 800), (25, 320), (40, 200), (100, 80), (400, 20), (800, 10)] {
            assert_eq!(Rate::from_gbits(gbits).time_for(1_538), Time::from_picos(1_538 * picos), "{gbits} Gbit/s");
        }
        assert_eq!(Rate::from_bits_per_second(50_000_000).time_for(1_000), Time::from_micros(160));
        assert_eq!(Rate::from_gbits(10).time_for_many(1 << 40), Time::from_picos((1 << 40) * 800));
    }
}
