//! Which incoming messages may send how much.

use super::Kernel;
use super::config::{
    FIFO_INCREMENT, FIFO_PERCENT, FIFO_PRIORITY, MAX_INCOMING, MAX_SCHEDULED_PRIORITY, OVERCOMMITMENT,
};
use super::rpc::Key;
use super::wire::Body;

impl Kernel {
    /// Grants after a packet of one message has come. That message gets a grant in any case, also one that says
    /// nothing new; others only what is new to them.
    pub(super) fn issue_grants(&mut self, came: Key) {
        if self.is_puppet {
            return;
        }
        let active = self.active();
        let window = MAX_INCOMING / (active.len() as u32 + 1);
        for (rank, key) in active.iter().enumerate() {
            let under_way = self.under_way();
            let Some(message) = self.rpcs.get_mut(key).and_then(|rpc| rpc.incoming_mut()) else { continue };
            let wanted = message.received().saturating_add(window).min(message.length());
            let room = MAX_INCOMING.saturating_sub(under_way);
            let granted = wanted.min(message.granted.saturating_add(room)).max(message.granted);
            let news = granted - message.granted;
            if news == 0 && *key != came {
                continue;
            }
            let levels = active.len().min(usize::from(MAX_SCHEDULED_PRIORITY) + 1);
            let priority = (levels - 1).saturating_sub(rank) as u8;
            message.granted = granted;
            message.grant_priority = priority;
            self.send_control(*key, Body::Grant { offset: granted, priority });
            self.fifo_credit += u64::from(news) * u64::from(FIFO_PERCENT);
        }
        self.grant_oldest(&active);
        let Some(message) = self.rpcs.get(&came).and_then(|rpc| rpc.incoming()) else { return };
        if message.is_scheduled() && message.granted() == message.length() && !active.contains(&came) {
            let grant = Body::Grant { offset: message.granted(), priority: message.grant_priority };
            self.send_control(came, grant);
        }
    }

    /// The oldest message gets its share, lest shorter ones starve it.
    fn grant_oldest(&mut self, active: &[Key]) {
        let cost = 100 * u64::from(FIFO_INCREMENT);
        if self.fifo_credit < cost {
            return;
        }
        let needy = self.rpcs.iter().filter(|(key, rpc)| {
            !active.contains(key) && rpc.incoming().is_some_and(|message| message.granted() < message.length())
        });
        let Some(oldest) = needy.min_by_key(|(_, rpc)| rpc.born).map(|(key, _)| *key) else { return };
        self.fifo_credit -= cost;
        let Some(message) = self.rpcs.get_mut(&oldest).and_then(|rpc| rpc.incoming_mut()) else { return };
        message.granted = message.granted.saturating_add(FIFO_INCREMENT).min(message.length());
        message.grant_priority = FIFO_PRIORITY;
        let offset = message.granted;
        self.send_control(oldest, Body::Grant { offset, priority: FIFO_PRIORITY });
    }

    /// The messages to be granted, fewest bytes to come first.
    fn active(&self) -> Vec<Key> {
        let mut needy: Vec<(u32, u64, Key)> = self
            .rpcs
            .iter()
            .filter_map(|(key, rpc)| Some((rpc.incoming()?, rpc.born, *key)))
            .filter(|(message, ..)| message.granted() < message.length())
            .map(|(message, born, key)| (message.length() - message.received(), born, key))
            .collect();
        needy.sort_unstable();
        needy.into_iter().take(OVERCOMMITMENT).map(|(_, _, key)| key).collect()
    }

    /// Bytes granted, or unscheduled, and not received, over all messages.
    fn under_way(&self) -> u32 {
        let outstanding = |message: &super::Incoming| message.granted().saturating_sub(message.received());
        self.rpcs.values().filter_map(|rpc| rpc.incoming()).map(outstanding).sum()
    }
}
