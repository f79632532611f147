//! Writes what an endpoint sends and receives into a file that Wireshark and `homarus dissect` read.

mod file;
mod headers;

use crate::socket::Paths;
use crate::{PacketIo, Received};
use file::Writer;
use headers::Around;
use homarus_proto::{Framing, Payload, Transmit};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A capture file (pcapng) that any number of endpoints write to. Clones are the same file; it is complete when the last
/// one and the last [`CaptureIo`] are gone.
///
/// The packets have IP headers, and UDP headers where Homa travels in UDP, which are made up here: drivers do not see
/// the real ones. In received packets the TOS byte, which holds the priority, is unknown and 0. What is sent stands there
/// packet by packet, as the endpoint handed it to its driver, which may put several into one datagram.
///
/// An error in writing never disturbs the traffic: it ends the capture, and [`take_error`](Self::take_error) tells it.
#[derive(Clone)]
pub struct Capture {
    state: Arc<Mutex<State>>,
}

struct State {
    writer: Writer<Box<dyn Write + Send>>,
    counters: CaptureCounters,
    /// Whether writing has failed, and the error until somebody has asked for it.
    failed: bool,
    error: Option<io::Error>,
}

/// What a [`Capture`] has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Packets written, or waiting in the buffer to be.
    pub written: u64,
    /// Packets left out because writing had failed.
    pub lost: u64,
}

/// A driver whose packets are written to a [`Capture`].
pub struct CaptureIo<I> {
    inner: I,
    capture: Capture,
    framing: Framing,
    paths: Paths,
}

/// Largest MTU there is: where packets leave from is of interest here, not how long they may be.
const ANY_MTU: usize = 65_535;

impl Capture {
    /// A new file, or an old one's contents replaced. `application` is named in it as its author.
    ///
    /// # Errors
    /// Those of creating the file and writing to it.
    pub fn create(path: &Path, application: &str) -> io::Result<Capture> {
        Capture::to(File::create(path)?, application)
    }

    /// As [`create`](Self::create), to a pipe for example.
    ///
    /// # Errors
    /// Those of writing.
    pub fn to(output: impl Write + Send + 'static, application: &str) -> io::Result<Capture> {
        let writer = Writer::begin(Box::new(output) as Box<dyn Write + Send>, application)?;
        let state = State { writer, counters: CaptureCounters::default(), failed: false, error: None };
        Ok(Capture { state: Arc::new(Mutex::new(state)) })
    }

    /// `inner`, whose packets are written down from now on, as they are carried by `framing`.
    pub fn tap<I: PacketIo>(&self, inner: I, framing: Framing) -> CaptureIo<I> {
        let paths = Paths::new(inner.local_addr(), ANY_MTU);
        CaptureIo { inner, capture: self.clone(), framing, paths }
    }

    /// What has been done so far.
    pub fn counters(&self) -> CaptureCounters {
        self.lock().counters
    }

    /// The error that ended the capture, once.
    pub fn take_error(&self) -> Option<io::Error> {
        self.lock().error.take()
    }

    /// Writes out what is buffered. It happens by itself when something is written a second later, and in the end.
    pub fn flush(&self) {
        let mut state = self.lock();
        if !state.failed {
            let flushed = state.writer.flush();
            state.note(flushed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, around: &Around, parts: [&[u8]; 2]) {
        if self.failed {
            self.counters.lost += 1;
            return;
        }
        let written = self.writer.packet(around, parts);
        match written {
            Ok(()) => self.counters.written += 1,
            Err(_) => self.counters.lost += 1,
        }
        self.note(written);
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed = true;
            self.error = Some(error);
        }
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

impl<I: PacketIo> CaptureIo<I> {
    fn note_sent(&self, packets: &[Transmit]) {
        let mut state = self.capture.lock();
        for packet in packets {
            let around = Around {
                source: own_address(&self.paths, self.inner.local_addr(), packet.to),
                dest: packet.to,
                framing: self.framing,
                priority: packet.priority,
                outbound: true,
            };
            match &packet.payload {
                Payload::Bytes(bytes) => state.write(&around, [packet.header(), bytes]),
                Payload::Phantom(length) => state.write(&around, [packet.header(), &vec![0; *length]]),
            }
        }
    }
}

/// Our address toward `peer`: an endpoint need not be bound to one.
fn own_address(paths: &Paths, local: SocketAddr, peer: SocketAddr) -> SocketAddr {
    let source = match local.ip().is_unspecified() {
        true => paths.get(peer).source.unwrap_or(local.ip()),
        false => local.ip(),
    };
    SocketAddr::new(source, local.port())
}

impl<I: PacketIo> PacketIo for CaptureIo<I> {
    fn local_addr(&self) -> SocketAddr {
        self.inner.local_addr()
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        let taken = self.inner.send(batch)?;
        if taken > 0 {
            self.note_sent(&batch[..taken]);
        }
        Ok(taken)
    }

    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        let (local, framing) = (self.inner.local_addr(), self.framing);
        let (capture, paths) = (&self.capture, &self.paths);
        self.inner.recv(&mut |received| {
            if let Received::Datagram { from, bytes } = &received {
                let dest = own_address(paths, local, *from);
                let around = Around { source: *from, dest, framing, priority: 0, outbound: false };
                capture.lock().write(&around, [bytes, &[]]);
            }
            sink(received);
        })
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

impl<I: AsFd> AsFd for CaptureIo<I> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl<I: AsRawFd> AsRawFd for CaptureIo<I> {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}
