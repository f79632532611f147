use crate::{PacketIo, Received};
use homarus_proto::{Payload, Transmit};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What happens to packets on their way out. Chances are from 0 (never) to 1 (always), of each packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultConfig {
    /// Chance that it is lost.
    pub loss: f64,
    /// Chance that it is sent twice.
    pub duplication: f64,
    /// Chance that it is held back while others pass.
    pub delay: f64,
    /// Most packets that pass one that is held back. A call of `recv` counts as a packet, so that none stays for
    /// ever. The copies of a packet are held back independently.
    pub max_delay: u32,
    /// Chance that one of its bytes changes.
    pub corruption: f64,
    /// Whether changed packets are delivered. If not they are dropped, as the UDP checksum makes a real receiver do.
    pub deliver_corrupted: bool,
}

/// What has happened so far, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounters {
    /// Lost.
    pub lost: u64,
    /// Sent twice.
    pub duplicated: u64,
    /// Held back.
    pub delayed: u64,
    /// Changed, delivered or not.
    pub corrupted: u64,
}

/// Changes the faults of a [`FaultIo`] that somebody else owns by now, and reads its counters.
#[derive(Clone, Debug)]
pub struct FaultHandle(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    config: FaultConfig,
    counters: FaultCounters,
}

/// A driver that does to the packets sent through it what a bad network does, repeatably from a seed.
///
/// Only what is sent suffers: wrap both ends to make both ways bad.
#[derive(Debug)]
pub struct FaultIo<I> {
    inner: I,
    handle: FaultHandle,
    rng: Pcg64Mcg,
    /// Packets and calls of `recv` so far: what delays are counted in.
    clock: u64,
    /// Packets held back, with the clock at which they go.
    held: Vec<(u64, Transmit)>,
    /// Packets that go next.
    ready: Vec<Transmit>,
}

/// Most packets held back at a time; at the bound they go at once.
const MAX_HELD: usize = 4096;

impl FaultHandle {
    /// Packets sent from now on suffer `config`.
    pub fn set(&self, config: FaultConfig) {
        self.lock().config = config;
    }

    /// What has happened so far.
    pub fn counters(&self) -> FaultCounters {
        self.lock().counters
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: PacketIo> FaultIo<I> {
    /// Packets sent through `inner` suffer `config`; the same `seed` and calls give the same faults.
    pub fn new(inner: I, config: FaultConfig, seed: u64) -> FaultIo<I> {
        let state = State { config, counters: FaultCounters::default() };
        FaultIo {
            inner,
            handle: FaultHandle(Arc::new(Mutex::new(state))),
            rng: Pcg64Mcg::seed_from_u64(seed),
            clock: 0,
            held: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// For changing the faults later.
    pub fn handle(&self) -> FaultHandle {
        self.handle.clone()
    }

    /// Decides what becomes of a packet.
    fn pass(&mut self, packet: &Transmit) {
        let handle = self.handle.clone();
        let State { config, counters } = &mut *handle.lock();
        if self.happens(config.loss) {
            counters.lost += 1;
            return;
        }
        let mut packet = packet.clone();
        if self.happens(config.corruption) {
            counters.corrupted += 1;
            if !config.deliver_corrupted {
                return;
            }
            packet = self.corrupt(packet);
        }
        if self.happens(config.duplication) {
            counters.duplicated += 1;
            self.place(packet.clone(), config, counters);
        }
        self.place(packet, config, counters);
    }

    fn place(&mut self, packet: Transmit, config: &FaultConfig, counters: &mut FaultCounters) {
        if self.happens(config.delay) && config.max_delay > 0 && self.held.len() < MAX_HELD {
            counters.delayed += 1;
            let due = self.clock + u64::from(self.rng.random_range(1..=config.max_delay));
            self.held.push((due, packet));
        } else {
            self.ready.push(packet);
        }
    }

    fn happens(&mut self, chance: f64) -> bool {
        chance > 0.0 && self.rng.random_bool(chance.min(1.0))
    }

    fn corrupt(&mut self, packet: Transmit) -> Transmit {
        let mut header = packet.header().to_vec();
        let mut contents = packet.payload.into_bytes().to_vec();
        let at = self.rng.random_range(0..header.len() + contents.len());
        let change = self.rng.random_range(1..=u8::MAX);
        match header.get_mut(at) {
            Some(byte) => *byte ^= change,
            None => contents[at - header.len()] ^= change,
        }
        Transmit::new(packet.to, packet.priority, &header, Payload::from(contents))
    }

    /// One packet or call has passed: what was held back until now goes.
    fn tick(&mut self) {
        self.clock += 1;
        let clock = self.clock;
        self.ready.extend(self.held.extract_if(.., |(due, _)| *due <= clock).map(|(_, packet)| packet));
    }

    /// Sends what is ready; whether all of it went.
    fn flush(&mut self) -> io::Result<bool> {
        while !self.ready.is_empty() {
            let taken = self.inner.send(&self.ready)?;
            if taken == 0 {
                return Ok(false);
            }
            self.ready.drain(..taken);
        }
        Ok(true)
    }
}

impl<I: PacketIo> PacketIo for FaultIo<I> {
    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    /// Takes all or nothing. Packets that were taken and then found the socket full go with the next call.
    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        if !self.flush()? {
            return Ok(0);
        }
        for packet in batch {
            self.pass(packet);
            self.tick();
        }
        self.flush()?;
        Ok(batch.len())
    }

    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        self.tick();
        self.flush()?;
        self.inner.recv(sink)
    }

    fn device_queue(&self) -> Option<u64> {
        self.inner.device_queue()
    }

    fn path_mtu(&self, peer: SocketAddr) -> usize {
        self.inner.path_mtu(peer)
    }

    fn receive_capacity(&self) -> u32 {
        self.inner.receive_capacity()
    }
}

impl<I: AsFd> AsFd for FaultIo<I> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl<I: AsRawFd> AsRawFd for FaultIo<I> {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}
