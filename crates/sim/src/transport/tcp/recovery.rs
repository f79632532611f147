use super::window::Window;

/// Whether losses are being repaired, and how the window comes down meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is lost.
    Open,
    /// Lost segments were found, and everything before `high` is repaired (fast recovery): the window comes down in
    /// proportion to what arrives (RFC 6937, proportional rate reduction).
    Recovery { high: u64, reduction: Reduction },
    /// A timeout: everything before `high` is repaired in slow start.
    Timeout { high: u64 },
}

/// Proportional rate reduction at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reduction {
    /// The window when the loss was found, segments.
    before: u32,
    /// Segments that have arrived since, and that have been sent.
    arrived: u32,
    sent: u32,
}

impl Reduction {
    /// Begins with the window as it is.
    pub(super) fn new(window: u32) -> Reduction {
        Reduction { before: window.max(1), arrived: 0, sent: 0 }
    }

    /// A segment was sent.
    pub(super) fn note_sent(&mut self) {
        self.sent += 1;
    }

    /// An acknowledgement told of so many arrivals; `in_flight` is what is left. `first`: it is the one that found the loss,
    /// so that one segment may be sent again whatever the numbers say.
    pub(super) fn follow(&mut self, window: &mut Window, arrived: u32, in_flight: u32, first: bool) {
        self.arrived += arrived;
        let target = window.threshold() as u32;
        let may_send = if in_flight > target {
            (u64::from(self.arrived) * u64::from(target)).div_ceil(u64::from(self.before)) as u32
        } else {
            // Below the target: grow toward it as slow start would.
            let limit = self.arrived.max(self.sent + arrived) + 1;
            (self.sent + target - in_flight).min(limit)
        };
        window.set(in_flight + may_send.saturating_sub(self.sent).max(u32::from(first)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::{Congestion, TcpSetup};

    #[test]
    fn half_as_much_is_sent_as_arrives_until_the_window_is_halved() {
        let setup = TcpSetup { congestion: Congestion::Reno, initial_window: 20, ..TcpSetup::LINUX };
        let mut window = Window::new(&setup);
        let mut reduction = Reduction::new(window.segments());
        window.note_loss();
        // 20 under way, one of them lost, three have arrived behind it.
        let (mut in_flight, mut sent) = (16, 0);
        reduction.follow(&mut window, 3, in_flight, true);
        for arrival in 0..16 {
            while in_flight < window.segments() {
                reduction.note_sent();
                in_flight += 1;
                sent += 1;
            }
            if arrival < 15 {
                in_flight -= 1;
                reduction.follow(&mut window, 1, in_flight, false);
            }
        }
        assert_eq!((sent, window.segments()), (9, 10), "18 arrivals, at half the pace");
    }
}
