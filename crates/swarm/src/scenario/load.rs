use super::{CallPlan, START, Size};
use crate::content::Message;
use crate::dice::Dice;
use std::time::Duration;

/// Requests between random hosts, in order of time.
pub(super) fn calls(dice: &mut Dice, size: &Size, span: Duration) -> Vec<CallPlan> {
    let phantom = dice.chance(0.25);
    let cancel = if dice.chance(0.25) { dice.pick(&[0.05, 0.5]) } else { 0.0 };
    let hurried = if dice.chance(0.25) { dice.pick(&[0.1, 1.0]) } else { 0.0 };
    let at_once = dice.chance(0.2);
    let one_server = dice.chance(0.3);
    let longest = dice.spread(1, size.longest as u64) as usize;
    let mut calls: Vec<CallPlan> = (0..size.calls)
        .map(|_| {
            let (from, to) = pair(dice, size.hosts, one_server);
            CallPlan {
                at: START + if at_once { Duration::ZERO } else { dice.time(span) },
                from,
                to,
                request: message(dice, longest, phantom),
                response: message(dice, longest, phantom),
                deadline: dice.chance(hurried).then(|| Duration::from_micros(dice.spread(1, 1_000_000))),
                cancel_after: dice.chance(cancel).then(|| dice.time(span)),
            }
        })
        .collect();
    calls.sort_by_key(|call| call.at);
    calls
}

/// Client and server; a lone host calls itself.
fn pair(dice: &mut Dice, hosts: usize, one_server: bool) -> (usize, usize) {
    let from = dice.within(0, hosts as u64 - 1) as usize;
    let to = if one_server { 0 } else { dice.within(0, hosts as u64 - 1) as usize };
    if from == to && dice.chance(0.9) { ((from + 1) % hosts, to) } else { (from, to) }
}

fn message(dice: &mut Dice, longest: usize, phantom: bool) -> Message {
    let len = match dice.within(0, 9) {
        0 => 0,
        1 => 1,
        2 => dice.within(1, 10) as usize * 1_400 + dice.within(0, 100) as usize,
        3 => longest,
        _ => dice.spread(1, longest as u64) as usize,
    };
    let len = len.min(longest);
    if phantom { Message::Phantom(len as u32) } else { Message::real(dice.number(), len) }
}
