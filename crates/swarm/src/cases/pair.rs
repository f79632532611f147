use super::duel::{Duel, DuelPlan, Exchange};
use super::tape::Tape;
use crate::content::Message;
use homarus_proto::Config;
use std::time::Duration;

/// Two endpoints, and an adversary who reads from `bytes` what to do with each packet and when. Then the network
/// heals; every request must end once and everything be forgotten.
pub fn pair(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let plan = DuelPlan { config: config(&mut tape), exchanges: vec![exchange(&mut tape)] };
    let mut duel = Duel::new(&plan);
    let mut calls = 1;
    while !tape.is_empty() {
        let flying = duel.flying();
        match tape.u8() % 16 {
            0..=4 if flying > 0 => duel.deliver(tape.below(flying)),
            5..=6 if flying > 0 => duel.drop_packet(tape.below(flying)),
            7..=8 if flying > 0 => duel.duplicate(tape.below(flying)),
            9 => duel.wait(Duration::from_secs(1)),
            10 => duel.wait(Duration::from_micros(u64::from(tape.u16()))),
            11 if calls < 8 => {
                calls += 1;
                duel.call(exchange(&mut tape));
            }
            12 => duel.set_answers(tape.u8().is_multiple_of(2)),
            13 => duel.answer(tape.below(8)),
            14 => duel.reject(tape.below(8)),
            15 => duel.cancel(tape.below(8)),
            _ => duel.wait(Duration::from_millis(1)),
        }
    }
    duel.finish();
}

fn config(tape: &mut Tape<'_>) -> Config {
    let unscheduled = tape.pick(&[40_000, 1, 1_000, 3_000]);
    Config {
        mtu: tape.pick(&[1_500, 200, 9_000]),
        unscheduled_start: unscheduled,
        unscheduled_min: unscheduled.min(3_000),
        max_client_rpcs: tape.pick(&[100, 1, 3]),
        max_server_rpcs: tape.pick(&[100, 1, 3]),
        max_gaps: tape.pick(&[256, 1, 2]),
        max_receive_buffer: tape.pick(&[1 << 20, 70_000, 10_000]),
        max_send_buffer: tape.pick(&[1 << 20, 70_000, 10_000]),
        incast_threshold: tape.pick(&[32, 0]),
        priorities: tape.pick(&[8, 1, 3]),
        ..Config::default()
    }
}

fn exchange(tape: &mut Tape<'_>) -> Exchange {
    Exchange { client: tape.below(2), request: message(tape), response: message(tape) }
}

fn message(tape: &mut Tape<'_>) -> Message {
    let len = tape.pick(&[100, 0, 1, 1_416, 1_417, 3_000, 4_000, 9_000]);
    if tape.u8().is_multiple_of(4) { Message::Phantom(len) } else { Message::real(u64::from(len), len as usize) }
}
