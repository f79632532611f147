//! What happens at a tick.

use super::config::{ACK_TICKS, CONTROL_PRIORITY, RESEND_TICKS, TIMEOUT_TICKS};
use super::rpc::{Key, State};
use super::wire::Body;
use super::{Failure, Kernel};

impl Kernel {
    /// A millisecond has passed.
    pub fn tick(&mut self) {
        self.ticks += 1;
        let keys: Vec<Key> = self.rpcs.keys().copied().collect();
        for key in keys {
            self.tick_rpc(key);
        }
    }

    fn tick_rpc(&mut self, key: Key) {
        let Some(rpc) = self.rpcs.get_mut(&key) else { return };
        let ours = match (&rpc.state, key) {
            (State::Incoming(message), _) => message.received() >= message.granted(),
            (State::Outgoing, Key::Client(_)) => !rpc.outgoing.as_ref().is_some_and(|message| message.is_waiting()),
            // A server that has the whole request owes, and is owed nothing but an ack.
            (State::Outgoing | State::InService, _) => true,
        };
        if ours {
            rpc.silent = 0;
            let due = rpc.done_at.is_some_and(|done| self.ticks >= done + u64::from(ACK_TICKS));
            if due && rpc.is_outgoing() {
                rpc.asked = true;
                self.send_control(key, Body::NeedAck);
            }
            return;
        }
        rpc.silent += 1;
        if rpc.silent >= TIMEOUT_TICKS {
            self.fail(key, Failure::TimedOut);
        } else if rpc.silent >= RESEND_TICKS && (rpc.silent - RESEND_TICKS).is_multiple_of(RESEND_TICKS) {
            self.ask_again(key);
        }
    }

    /// Asks for everything that is missing of the other side's message: each gap, and what was granted beyond.
    pub(super) fn ask_again(&mut self, key: Key) {
        let Some(rpc) = self.rpcs.get_mut(&key) else { return };
        rpc.asked = true;
        let missing: Vec<(u32, i32)> = match rpc.incoming() {
            None => vec![(0, -1)],
            Some(message) => {
                let tail = Some(message.tail()).filter(|tail| !tail.is_empty());
                message.gaps().iter().cloned().chain(tail).map(|range| (range.start, range.len() as i32)).collect()
            }
        };
        for (offset, length) in missing {
            self.send_control(key, Body::Resend { offset, length, priority: CONTROL_PRIORITY });
        }
    }
}
