use super::cubic::Cubic;
use super::hystart::HyStart;
use super::setup::{Congestion, TcpSetup};
use crate::Time;
use crate::transport::dctcp::Marks;

/// The congestion window, in segments as Linux counts it: a small segment counts as much as a full one.
#[derive(Debug)]
pub(super) struct Window {
    segments: f64,
    threshold: f64,
    initial: f64,
    control: Control,
    hystart: Option<HyStart>,
    /// Most segments in flight since the last `measured_until` was sent, and whether the window held any back.
    peak: u32,
    full: bool,
    measured_until: u64,
}

#[derive(Debug)]
enum Control {
    Reno,
    Cubic(Cubic),
    Dctcp(Marks),
}

/// No window is reduced to less, but by a timeout (RFC 5681).
const LEAST: f64 = 2.0;

impl Window {
    pub(super) fn new(setup: &TcpSetup) -> Window {
        let initial = f64::from(setup.initial_window.max(1));
        Window {
            segments: initial,
            threshold: f64::INFINITY,
            initial,
            control: match setup.congestion {
                Congestion::Reno => Control::Reno,
                Congestion::Cubic => Control::Cubic(Cubic::default()),
                Congestion::Dctcp { g } => Control::Dctcp(Marks::new(g)),
            },
            hystart: (setup.hystart && setup.congestion == Congestion::Cubic).then(HyStart::default),
            peak: 0,
            full: false,
            measured_until: 0,
        }
    }

    #[inline]
    pub(super) fn segments(&self) -> u32 {
        self.segments as u32
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    pub(super) fn threshold(&self) -> f64 {
        self.threshold
    }

    /// DCTCP's estimate of the share of bytes that are marked.
    pub(super) fn marked_share(&self) -> Option<f64> {
        match &self.control {
            Control::Dctcp(marks) => Some(marks.share()),
            Control::Reno | Control::Cubic(_) => None,
        }
    }

    /// A segment was sent: the flight is so large now. Windows that are not used do not grow (RFC 7661 and RFC 9438 §5.8 ask
    /// for as much; the rule is Linux's).
    #[inline]
    pub(super) fn note_sent(&mut self, in_flight: u32, una: u64, next: u64) {
        let full = in_flight >= self.segments();
        if una >= self.measured_until || full || (!self.full && in_flight > self.peak) {
            self.full = full;
            self.peak = in_flight;
            self.measured_until = next;
        }
    }

    /// An acknowledgement up to `una` came while `next` was the next byte to be sent: ends slow start if it is time.
    #[inline]
    pub(super) fn watch_slow_start(&mut self, now: Time, una: u64, next: u64, shortest: Time) {
        if self.in_slow_start()
            && let Some(hystart) = &mut self.hystart
            && hystart.is_over(now, una, next, self.segments, shortest)
        {
            self.threshold = self.segments;
        }
    }

    /// So many segments have been acknowledged, with no loss to repair.
    #[inline]
    pub(super) fn grow(&mut self, now: Time, acked: u32, rtt: Time) {
        let mut acked = f64::from(acked);
        if self.in_slow_start() {
            if self.full || self.segments < 2.0 * f64::from(self.peak) {
                let grown = (self.segments + acked).min(self.threshold.max(self.segments));
                acked -= grown - self.segments;
                self.segments = grown;
            } else {
                return;
            }
        }
        if acked > 0.0 && self.full {
            self.segments = match &mut self.control {
                Control::Cubic(cubic) => cubic.grow(now, self.segments, acked, rtt),
                Control::Reno | Control::Dctcp(_) => self.segments + acked / self.segments,
            };
        }
    }

    /// Bytes were acknowledged, by acknowledgements that told of marks or did not. `next` is the next byte to be sent.
    #[inline]
    pub(super) fn note_marks(&mut self, bytes: u64, marked: bool, una: u64, next: u64) {
        if let Control::Dctcp(marks) = &mut self.control {
            marks.note(bytes, marked, una, next);
        }
    }

    /// Something was lost: lowers the threshold. The window comes down while the loss is repaired.
    pub(super) fn note_loss(&mut self) {
        let reduced = match &mut self.control {
            Control::Cubic(cubic) => cubic.reduce(self.segments),
            // RFC 8257 §3.5: DCTCP answers losses as others do.
            Control::Reno | Control::Dctcp(_) => self.segments / 2.0,
        };
        self.threshold = reduced.max(LEAST);
    }

    /// Something was marked: lowers threshold and window.
    pub(super) fn note_congestion(&mut self) {
        let reduced = match &mut self.control {
            Control::Cubic(cubic) => cubic.reduce(self.segments),
            Control::Reno => self.segments / 2.0,
            Control::Dctcp(marks) => self.segments * (1.0 - marks.share() / 2.0),
        };
        self.threshold = reduced.max(LEAST);
        self.segments = self.threshold;
    }

    /// A timeout: the window is one segment.
    pub(super) fn collapse(&mut self) {
        self.segments = 1.0;
    }

    /// While a loss is repaired, the window follows what is in flight.
    pub(super) fn set(&mut self, segments: u32) {
        self.segments = f64::from(segments.max(1));
    }

    /// The loss is repaired.
    pub(super) fn settle(&mut self) {
        self.segments = self.threshold;
    }

    /// Nothing was sent for so long: each timeout's length halves the window, down to the initial one.
    pub(super) fn rest(&mut self, idle: Time, timeout: Time) {
        self.threshold =
            if self.threshold.is_finite() { self.threshold.max(self.segments * 0.75) } else { self.threshold };
        let mut left = idle;
        while left > timeout && self.segments > self.initial {
            self.segments = (self.segments / 2.0).max(self.initial);
            left = left - timeout;
        }
        if let Control::Cubic(cubic) = &mut self.control {
            cubic.skip(idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grow(window: &mut Window, round_trips: usize) {
        for _ in 0..round_trips {
            let all = window.segments();
            window.note_sent(all, 0, 1);
            for _ in 0..all {
                window.grow(Time::ZERO, 1, Time::from_micros(10));
            }
        }
    }

    #[test]
    fn it_doubles_a_round_trip_below_the_threshold_and_grows_by_one_above() {
        let mut window = Window::new(&TcpSetup { congestion: Congestion::Reno, ..TcpSetup::LINUX });
        grow(&mut window, 3);
        assert_eq!(window.segments(), 80);
        window.note_loss();
        window.settle();
        assert_eq!(window.segments(), 40);
        grow(&mut window, 10);
        assert!((49..=50).contains(&window.segments()), "{}", window.segments());
        window.collapse();
        grow(&mut window, 5);
        assert_eq!(window.segments(), 32);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut window = Window::new(&TcpSetup::LINUX);
        for byte in 0..100 {
            window.note_sent(1, byte, byte + 1);
            window.grow(Time::ZERO, 1, Time::from_micros(10));
        }
        assert_eq!(window.segments(), 10);
    }

    #[test]
    fn idle_times_halve_it_down_to_the_initial_one() {
        let mut window = Window::new(&TcpSetup::LINUX);
        grow(&mut window, 4);
        assert_eq!(window.segments(), 160);
        window.rest(Time::from_micros(2_500), Time::from_micros(1_000));
        assert_eq!(window.segments(), 40);
        window.rest(Time::from_secs(1.0), Time::from_micros(1_000));
        assert_eq!(window.segments(), 10);
    }
}
