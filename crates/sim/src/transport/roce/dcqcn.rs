use super::super::rdma::Congestion;
use crate::{Rate, Time};

/// DCQCN (SIGCOMM'15): the sender's rate falls with notifications of congestion and rises by time and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnRules {
    /// Weight of a new notification in the estimate of congestion.
    pub g: f64,
    /// Without notifications the estimate falls once in so long.
    pub alpha_period: Time,
    /// The rate falls at most once in so long.
    pub decrease_period: Time,
    /// The rate rises once in so long.
    pub increase_period: Time,
    /// And once in so many bytes; `None`: by time alone.
    pub increase_bytes: Option<u64>,
    /// So many rises go back to the rate before the fall; those after that go beyond.
    pub fast_recovery: u32,
    /// Additive increase of the target rate, bits per second.
    pub additive: f64,
    /// Hyper increase, bits per second.
    pub hyper: f64,
    /// The rate does not fall below this, bits per second.
    pub least: f64,
}

impl DcqcnRules {
    /// DCQCN's paper (SIGCOMM'15): g 1/256, 55 µs, a byte counter of 10 MB, five steps of fast recovery, 40 Mbit/s. Ten times
    /// as much for the hyper increase, and a least rate of 100 Mbit/s, are recalled rather than read.
    pub const PAPER: DcqcnRules = DcqcnRules {
        g: 1.0 / 256.0,
        alpha_period: Time::from_micros(55),
        decrease_period: Time::from_micros(50),
        increase_period: Time::from_micros(55),
        increase_bytes: Some(10_000_000),
        fast_recovery: 5,
        additive: 40e6,
        hyper: 400e6,
        least: 100e6,
    };

    /// As NIC vendors set it, for a link of this rate (the simulations published with HPCC, SIGCOMM'19): 1 µs, 4 µs, 300 µs;
    /// 5 and 50 Mbit/s for 25 Gbit/s and in proportion; at least 100 Mbit/s; no byte counter; one step of fast recovery.
    pub fn vendor(line: Rate) -> DcqcnRules {
        let scale = line.bits_per_second() as f64 / 25e9;
        DcqcnRules {
            g: 1.0 / 256.0,
            alpha_period: Time::from_micros(1),
            decrease_period: Time::from_micros(4),
            increase_period: Time::from_micros(300),
            increase_bytes: None,
            fast_recovery: 1,
            additive: 5e6 * scale,
            hyper: 50e6 * scale,
            least: 100e6,
        }
    }
}

/// A queue pair's rate.
///
/// Nothing happens at fixed times: what timers would have done since is done when a packet is sent or a notification
/// comes, which are the only moments at which it matters.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    /// `None`: always at the link's rate.
    rules: Option<DcqcnRules>,
    line: Rate,
    rate: f64,
    target: f64,
    alpha: f64,
    alpha_at: Time,
    cut_at: Option<Time>,
    /// When the timer next raises the rate.
    timer_at: Time,
    timer_rises: u32,
    byte_rises: u32,
    bytes: u64,
}

impl Dcqcn {
    /// The rate now, bits per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn full(&self) -> f64 {
        self.line.bits_per_second() as f64
    }

    fn rise(&mut self, rules: &DcqcnRules) {
        let (less, more) = match rules.increase_bytes {
            Some(_) => (self.timer_rises.min(self.byte_rises), self.timer_rises.max(self.byte_rises)),
            None => (self.timer_rises, self.timer_rises),
        };
        if less > rules.fast_recovery {
            self.target += rules.hyper * f64::from(less - rules.fast_recovery);
        } else if more >= rules.fast_recovery {
            self.target += rules.additive;
        }
        self.target = self.target.min(self.full());
        self.rate = (self.rate + self.target) / 2.0;
        if self.full() - self.rate < self.full() / 1_000.0 {
            self.rate = self.full();
        }
    }

    fn advance(&mut self, now: Time, rules: &DcqcnRules) {
        while self.rate < self.full() && self.timer_at <= now {
            self.timer_at += rules.increase_period;
            self.timer_rises += 1;
            self.rise(rules);
        }
    }
}

impl Congestion for Dcqcn {
    type Rules = Option<DcqcnRules>;

    fn new(rules: Option<DcqcnRules>, line: Rate) -> Dcqcn {
        let full = line.bits_per_second() as f64;
        Dcqcn {
            rules,
            line,
            rate: full,
            target: full,
            alpha: 1.0,
            alpha_at: Time::ZERO,
            cut_at: None,
            timer_at: Time::ZERO,
            timer_rises: 0,
            byte_rises: 0,
            bytes: 0,
        }
    }

    fn notified(&mut self, now: Time) {
        let Some(rules) = self.rules else { return };
        self.advance(now, &rules);
        let quiet = now.since(self.alpha_at).as_picos() / rules.alpha_period.as_picos();
        if self.cut_at.is_some() {
            self.alpha *= (1.0 - rules.g).powi(i32::try_from(quiet).unwrap_or(i32::MAX));
        }
        self.alpha_at = now;
        if self.cut_at.is_none_or(|at| now.since(at) >= rules.decrease_period) {
            self.target = self.rate;
            self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(rules.least.min(self.full()));
            self.cut_at = Some(now);
            self.timer_at = now + rules.increase_period;
            (self.timer_rises, self.byte_rises, self.bytes) = (0, 0, 0);
        }
        self.alpha = (1.0 - rules.g) * self.alpha + rules.g;
    }

    fn sent(&mut self, now: Time, wire: u32) -> Time {
        let Some(rules) = self.rules else { return self.line.time_for(wire) };
        self.advance(now, &rules);
        if self.rate >= self.full() {
            return self.line.time_for(wire);
        }
        if let Some(threshold) = rules.increase_bytes {
            self.bytes += u64::from(wire);
            if self.bytes >= threshold {
                self.bytes -= threshold;
                self.byte_rises += 1;
                self.rise(&rules);
            }
        }
        Time::from_secs(f64::from(wire) * 8.0 / self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 40;

    #[test]
    fn it_halves_first_and_comes_back_in_steps() {
        let mut dcqcn = Dcqcn::new(Some(DcqcnRules::PAPER), Rate::from_gbits(LINE));
        assert_eq!(dcqcn.sent(Time::ZERO, 1_000), Time::from_nanos(200));
        dcqcn.notified(Time::from_micros(10));
        assert_eq!(dcqcn.rate(), 20e9);
        assert_eq!(dcqcn.sent(Time::from_micros(11), 1_000), Time::from_nanos(400));
        dcqcn.sent(Time::from_micros(66), 1_000);
        assert_eq!(dcqcn.rate(), 30e9, "fast recovery goes half the way back");
        dcqcn.notified(Time::from_micros(70));
        assert!(dcqcn.rate() < 16e9, "the estimate of congestion is still high: {}", dcqcn.rate());
    }

    #[test]
    fn after_long_quiet_a_notification_costs_little_and_the_rate_recovers() {
        let mut dcqcn = Dcqcn::new(Some(DcqcnRules::PAPER), Rate::from_gbits(LINE));
        dcqcn.notified(Time::ZERO);
        let later = Time::from_secs(0.5);
        dcqcn.sent(later, 1_000);
        assert_eq!(dcqcn.rate(), 40e9);
        dcqcn.notified(later);
        assert!(dcqcn.rate() > 39.9e9, "{}", dcqcn.rate());
    }

    #[test]
    fn falls_are_no_closer_than_allowed_and_end_at_the_least_rate() {
        let line = Rate::from_gbits(25);
        let mut dcqcn = Dcqcn::new(Some(DcqcnRules::vendor(line)), line);
        for micros in 0..4 {
            dcqcn.notified(Time::from_micros(micros));
        }
        assert_eq!(dcqcn.rate(), 12.5e9);
        for micros in 4..400 {
            dcqcn.notified(Time::from_micros(micros));
        }
        assert_eq!(dcqcn.rate(), 100e6);
    }

    #[test]
    fn switched_off_it_always_sends_at_the_link_rate() {
        let mut off = Dcqcn::new(None, Rate::from_gbits(LINE));
        off.notified(Time::ZERO);
        assert_eq!(off.sent(Time::ZERO, 1_000), Time::from_nanos(200));
    }
}
