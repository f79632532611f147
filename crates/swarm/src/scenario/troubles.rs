use super::{START, TroublePlan};
use crate::dice::Dice;
use std::time::Duration;

/// Something bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The process stops for a while.
    Pause(Duration),
    /// It is killed and comes back with nothing in memory.
    Restart {
        /// Until it is back.
        after: Duration,
        /// Whether its host tells senders meanwhile.
        icmp: bool,
    },
    /// Its endpoint is closed, and a new one is there later.
    Close(Duration),
    /// Its clock moves by so many nanoseconds.
    Jump(i64),
    /// Nothing comes in or goes out.
    Blackout(Duration),
    /// The MTU of its paths becomes so many bytes.
    Mtu(usize),
    /// Its socket can hold so many bytes.
    Receive(u32),
}

/// Longest trouble.
const LONGEST: u64 = 5_000_000;

pub(super) fn draw(dice: &mut Dice, hosts: usize, span: Duration) -> Vec<TroublePlan> {
    if dice.chance(0.5) {
        return Vec::new();
    }
    let number = dice.spread(1, 2 * hosts as u64 + 2);
    let kind = dice.within(0, 11);
    (0..number)
        .map(|_| {
            let at = START + dice.time(span);
            let host = dice.within(0, hosts as u64 - 1) as usize;
            let kind = if kind < 7 { kind } else { dice.within(0, 6) };
            TroublePlan { at, host, trouble: trouble(dice, kind) }
        })
        .collect()
}

fn trouble(dice: &mut Dice, kind: u64) -> Trouble {
    let time = Duration::from_micros(dice.spread(10, LONGEST));
    match kind {
        0 => Trouble::Pause(time),
        1 => Trouble::Restart { after: time, icmp: dice.chance(0.5) },
        2 => Trouble::Close(time),
        3 => {
            let nanos = dice.spread(1_000, 10_000_000_000) as i64;
            Trouble::Jump(if dice.chance(0.5) { nanos } else { -nanos })
        }
        4 => Trouble::Blackout(time),
        5 => Trouble::Mtu(dice.spread(200, 9_000) as usize),
        _ => Trouble::Receive(dice.spread(1, 1_000_000) as u32),
    }
}
