use crate::{PacketIo, Received};
use homarus_proto::{Payload, Transmit, Unreachable};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a [`MemHub`] behaves.
#[derive(Clone, Debug)]
pub struct MemConfig {
    /// Bytes of packets that wait for one receiver at most; what comes on top is dropped, as by a full socket.
    pub queue: u32,
    /// MTU of every path, bytes of IP packet. Larger packets are dropped and reported.
    pub mtu: usize,
}

impl Default for MemConfig {
    fn default() -> Self {
        MemConfig { queue: 4 << 20, mtu: 1500 }
    }
}

/// A network in memory, without system calls: packets go straight into the receiver's queue.
#[derive(Clone, Debug, Default)]
pub struct MemHub {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    config: MemConfig,
    queues: Mutex<HashMap<SocketAddr, Arc<Mutex<Queue>>>>,
}

/// What waits for one receiver: contents end to end, and who sent how many bytes of them.
#[derive(Debug, Default)]
struct Queue {
    contents: Vec<u8>,
    datagrams: Vec<(SocketAddr, usize)>,
}

/// One end in a [`MemHub`]; detached when dropped.
#[derive(Debug)]
pub struct MemIo {
    shared: Arc<Shared>,
    local: SocketAddr,
    queue: Arc<Mutex<Queue>>,
    /// What was taken out of the queue last, kept for its memory.
    taken: Queue,
    reports: Vec<Report>,
    dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Unreachable(SocketAddr),
    TooLarge(SocketAddr),
}

/// Most reports that wait for one end.
const MAX_REPORTS: usize = 1024;
/// IPv4 and UDP headers, which `MemConfig::mtu` counts.
const HEADERS: usize = 28;

impl MemHub {
    /// A network without ends.
    pub fn new(config: MemConfig) -> MemHub {
        MemHub { shared: Arc::new(Shared { config, queues: Mutex::default() }) }
    }

    /// An end with the address `local`.
    ///
    /// # Errors
    /// `AddrInUse` if there is one already.
    pub fn attach(&self, local: SocketAddr) -> io::Result<MemIo> {
        let queue = Arc::default();
        let mut queues = lock(&self.shared.queues);
        if queues.contains_key(&local) {
            let message = format!("{local} is attached already: use another address, or drop the other end first");
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        }
        queues.insert(local, Arc::clone(&queue));
        Ok(MemIo {
            shared: Arc::clone(&self.shared),
            local,
            queue,
            taken: Queue::default(),
            reports: Vec::new(),
            dropped: 0,
        })
    }
}

impl MemIo {
    /// Packets that this end sent and a full queue dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn report(&mut self, report: Report) {
        if self.reports.last() != Some(&report) && self.reports.len() < MAX_REPORTS {
            self.reports.push(report);
        }
    }

    /// Puts packets to one peer into its queue.
    fn deliver(&mut self, to: SocketAddr, packets: &[Transmit]) {
        let found = lock(&self.shared.queues).get(&to).cloned();
        let Some(queue) = found else {
            return self.report(Report::Unreachable(to));
        };
        let mut too_large = false;
        let mut queue = lock(&queue);
        for packet in packets {
            if packet.len() + HEADERS > self.shared.config.mtu {
                too_large = true;
            } else if queue.contents.len() + packet.len() > self.shared.config.queue as usize {
                self.dropped += 1;
            } else {
                queue.push(self.local, packet);
            }
        }
        drop(queue);
        if too_large {
            self.report(Report::TooLarge(to));
        }
    }
}

impl Queue {
    fn push(&mut self, from: SocketAddr, packet: &Transmit) {
        self.contents.extend_from_slice(packet.header());
        match &packet.payload {
            Payload::Bytes(bytes) => self.contents.extend_from_slice(bytes),
            Payload::Phantom(len) => self.contents.resize(self.contents.len() + len, 0),
        }
        self.datagrams.push((from, packet.len()));
    }
}

/// A thread that panicked with the lock held left nothing half done that matters here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PacketIo for MemIo {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        for packets in batch.chunk_by(|a, b| a.to == b.to) {
            self.deliver(packets[0].to, packets);
        }
        Ok(batch.len())
    }

    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        let reports = self.reports.len();
        for report in self.reports.drain(..) {
            sink(match report {
                Report::Unreachable(peer) => Received::Unreachable { peer, why: Unreachable::Port },
                Report::TooLarge(peer) => Received::PathMtu { peer, mtu: self.shared.config.mtu },
            });
        }
        self.taken.contents.clear();
        self.taken.datagrams.clear();
        std::mem::swap(&mut *lock(&self.queue), &mut self.taken);
        let mut rest = self.taken.contents.as_slice();
        for &(from, length) in &self.taken.datagrams {
            let (bytes, after) = rest.split_at(length);
            rest = after;
            sink(Received::Datagram { from, bytes });
        }
        Ok(reports + self.taken.datagrams.len())
    }

    /// Always empty: delivery is immediate.
    fn device_queue(&self) -> Option<u64> {
        Some(0)
    }

    fn path_mtu(&self, _peer: SocketAddr) -> usize {
        self.shared.config.mtu
    }

    fn receive_capacity(&self) -> u32 {
        self.shared.config.queue
    }
}

impl Drop for MemIo {
    fn drop(&mut self) {
        lock(&self.shared.queues).remove(&self.local);
    }
}
