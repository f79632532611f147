use bytes::Bytes;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Messages that the kernel has not taken yet, in order.
#[derive(Default)]
pub(super) struct Outbox {
    queue: VecDeque<Outgoing>,
    bytes: usize,
    /// How many of them need not be sent any more.
    stale: usize,
}

/// A message to be sent.
pub(super) struct Outgoing {
    pub(super) what: What,
    pub(super) peer: SocketAddr,
    pub(super) message: Bytes,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Request { cookie: u64 },
    Response { id: u64 },
}

impl Outbox {
    /// Bytes in all messages.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, outgoing: Outgoing) {
        self.bytes += outgoing.message.len();
        self.queue.push_back(outgoing);
    }

    /// Takes the first message out.
    pub(super) fn pop(&mut self) -> Option<Outgoing> {
        let Some(first) = self.queue.pop_front() else {
            self.stale = 0;
            return None;
        };
        self.bytes -= first.message.len();
        Some(first)
    }

    /// Puts the message back that was the first.
    pub(super) fn put_back(&mut self, outgoing: Outgoing) {
        self.bytes += outgoing.message.len();
        self.queue.push_front(outgoing);
    }

    /// Notes that one more request need not be sent. When they are the most of what waits, all go whose cookies are not
    /// `wanted` any more.
    pub(super) fn note_stale(&mut self, wanted: impl Fn(u64) -> bool) {
        self.stale += 1;
        if self.stale * 2 > self.queue.len() {
            self.queue.retain(|outgoing| match outgoing.what {
                What::Request { cookie } => wanted(cookie),
                What::Response { .. } => true,
            });
            self.bytes = self.queue.iter().map(|outgoing| outgoing.message.len()).sum();
            self.stale = 0;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Outbox::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn request(cookie: u64) -> Outgoing {
        let peer = SocketAddr::from(([10, 0, 0, 1], 1));
        Outgoing { what: What::Request { cookie }, peer, message: Bytes::from_static(&[0; 10]) }
    }

    #[test]
    fn what_is_stale_is_never_much_of_it() {
        let mut outbox = Outbox::default();
        let mut wanted = HashSet::new();
        outbox.push(Outgoing { what: What::Response { id: 1 }, ..request(0) });
        for cookie in 0..1000 {
            outbox.push(request(cookie));
            wanted.insert(cookie);
            if cookie % 10 != 0 {
                wanted.remove(&cookie);
                outbox.note_stale(|cookie| wanted.contains(&cookie));
            }
            assert_eq!(outbox.bytes(), outbox.queue.len() * 10);
            assert!(outbox.queue.len() <= 2 * (wanted.len() + 1) + 1, "{} of {}", wanted.len(), outbox.queue.len());
        }
    }

    #[test]
    fn first_in_first_out() {
        let mut outbox = Outbox::default();
        (0..3).for_each(|cookie| outbox.push(request(cookie)));
        let first = outbox.pop().expect("three");
        outbox.put_back(first);
        let order: Vec<u64> = std::iter::from_fn(|| outbox.pop())
            .map(|outgoing| match outgoing.what {
                What::Request { cookie } => cookie,
                What::Response { id } => id,
            })
            .collect();
        assert_eq!((order, outbox.bytes()), (vec![0, 1, 2], 0));
    }
}
