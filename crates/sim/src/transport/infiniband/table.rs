use super::super::rdma::Congestion;
use crate::{Rate, Time};

/// InfiniBand's congestion control (Architecture Specification, annex A10): each notification moves a queue pair up a table
/// of delays between packets, a timer moves it down again. The values by default are recalled or chosen here, not read in a
/// publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRules {
    /// Steps up with each notification (CCTI_Increase). 1.
    pub increase: u32,
    /// Highest place (CCTI_Limit). 127: a table of 128 entries.
    pub limit: u32,
    /// One step down in so long (CCTI_Timer). 154 µs: 150 units of 1.024 µs.
    pub timer: Time,
    /// Each place adds so many sixteenths of a packet's time to the delay between packets. 16: at place `n` a queue pair sends
    /// at 1/(n + 1) of the link's rate.
    pub slope: u32,
}

impl Default for TableRules {
    fn default() -> TableRules {
        TableRules { increase: 1, limit: 127, timer: Time::from_nanos(153_600), slope: 16 }
    }
}

/// A queue pair's place in the table.
#[derive(Clone, Debug)]
pub struct Table {
    /// `None`: always at the link's rate.
    rules: Option<TableRules>,
    line: Rate,
    place: u32,
    /// When the timer next moves it down.
    timer_at: Time,
}

impl Table {
    /// The place now (CCTI); 0 is the link's full rate.
    pub fn place(&self) -> u32 {
        self.place
    }

    fn advance(&mut self, now: Time, rules: &TableRules) {
        if self.place > 0 && self.timer_at <= now {
            let steps = 1 + now.since(self.timer_at).as_picos() / rules.timer.as_picos();
            self.place = self.place.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
            self.timer_at += rules.timer * steps;
        }
    }
}

impl Congestion for Table {
    type Rules = Option<TableRules>;

    fn new(rules: Option<TableRules>, line: Rate) -> Table {
        Table { rules, line, place: 0, timer_at: Time::ZERO }
    }

    fn notified(&mut self, now: Time) {
        let Some(rules) = self.rules else { return };
        self.advance(now, &rules);
        if self.place == 0 {
            self.timer_at = now + rules.timer;
        }
        self.place = (self.place + rules.increase).min(rules.limit);
    }

    fn sent(&mut self, now: Time, wire: u32) -> Time {
        let packet = self.line.time_for(wire);
        let Some(rules) = self.rules else { return packet };
        self.advance(now, &rules);
        Time::from_picos(packet.as_picos() * u64::from(16 + self.place * rules.slope) / 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_move_it_up_and_the_timer_down() {
        let mut table = Table::new(Some(TableRules::default()), Rate::from_gbits(10));
        let packet = Time::from_nanos(800);
        assert_eq!(table.sent(Time::ZERO, 1_000), packet);
        for _ in 0..3 {
            table.notified(Time::ZERO);
        }
        assert_eq!(table.sent(Time::from_micros(1), 1_000), packet * 4);
        assert_eq!(table.sent(Time::from_micros(154), 1_000), packet * 3);
        assert_eq!(table.sent(Time::from_micros(310), 1_000), packet * 2);
        assert_eq!(table.sent(Time::from_secs(1.0), 1_000), packet);
        for _ in 0..1_000 {
            table.notified(Time::from_secs(1.0));
        }
        assert_eq!(table.place(), 127);
    }
}
