use std::time::Duration;

/// How a blocking endpoint waits for packets.
///
/// To be woken costs several microseconds, more than a round trip within a rack. Spinning saves that, and burns a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Sleep at once.
    Never,
    /// Spin for so long after the last packet, then sleep.
    For(Duration),
    /// Never sleep.
    Always,
}

impl Default for Spin {
    /// Spins for 20 µs: worth it where round trips take less, and little lost where they take more.
    fn default() -> Self {
        Spin::For(Duration::from_micros(20))
    }
}
