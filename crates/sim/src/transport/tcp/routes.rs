use super::setup::Connections;
use crate::transport::Message;
use std::collections::{BTreeMap, VecDeque};

/// Which connections a host has, and which one a message takes.
#[derive(Debug)]
pub(super) struct Routes {
    connections: Connections,
    opened: BTreeMap<u32, Opened>,
    /// Connections that others have opened, by host and number.
    accepted: BTreeMap<(u32, u32), u32>,
}

/// The connections that this host has opened to another.
#[derive(Debug, Default)]
struct Opened {
    /// Their places, by number.
    slots: Vec<u32>,
    /// Those that carry nothing, the last used one last.
    idle: Vec<u32>,
    /// Messages that wait for a connection.
    waiting: VecDeque<Message>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// It takes this connection.
    Take(u32),
    /// It takes a new one, the `number`th to that host.
    Open { number: u32 },
    /// It waits until one is free.
    Wait,
}

impl Routes {
    pub(super) fn new(connections: Connections) -> Routes {
        Routes { connections, opened: BTreeMap::new(), accepted: BTreeMap::new() }
    }

    /// Finds a connection for a message. After [`Route::Open`], [`note_opened`](Self::note_opened) is to be called.
    pub(super) fn choose(&mut self, message: &Message) -> Route {
        let opened = self.opened.entry(message.to).or_default();
        let number = opened.slots.len() as u32;
        match self.connections {
            Connections::Pipelined => opened.slots.first().map_or(Route::Open { number }, |slot| Route::Take(*slot)),
            Connections::Pool { most } => match opened.idle.pop() {
                Some(slot) => Route::Take(slot),
                None if most.is_none_or(|most| number < most.max(1)) => Route::Open { number },
                None => {
                    opened.waiting.push_back(*message);
                    Route::Wait
                }
            },
        }
    }

    pub(super) fn note_opened(&mut self, to: u32, slot: u32) {
        self.opened.entry(to).or_default().slots.push(slot);
    }

    /// A connection of a pool has done its work. Returns the message that it carries next.
    pub(super) fn release(&mut self, to: u32, slot: u32) -> Option<Message> {
        if self.connections == Connections::Pipelined {
            return None;
        }
        let opened = self.opened.get_mut(&to)?;
        let next = opened.waiting.pop_front();
        if next.is_none() {
            opened.idle.push(slot);
        }
        next
    }

    /// The connection with a number that `from` has opened.
    pub(super) fn accepted(&self, from: u32, number: u32) -> Option<u32> {
        self.accepted.get(&(from, number)).copied()
    }

    pub(super) fn note_accepted(&mut self, from: u32, number: u32, slot: u32) {
        self.accepted.insert((from, number), slot);
    }
}
