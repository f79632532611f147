use super::address::normalise;
use super::frame::Frame;
use super::inbox::{Inbox, Reception};
use super::outbox::{self, Outbox};
use super::paths::Paths;
use super::plan::{Abilities, Entry};
use super::reports::{Report, Reports, may_be_deferred};
use super::truesize::Truesize;
use super::{setup, sys};
use crate::Received;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// A socket that sends and receives Homa packets in frames of one kind.
pub(crate) struct Channel<F> {
    pub(super) socket: Socket,
    pub(super) frame: F,
    pub(super) can: Abilities,
    pub(super) entries: Vec<Entry>,
    pub(super) outbox: Outbox,
    inbox: Inbox,
    pub(super) reports: Reports,
    pub(super) paths: Paths,
    pub(super) truesize: Truesize,
    receive_capacity: u32,
    /// Size of the socket's send buffer, bytes of the kernel's accounting.
    send_buffer: u64,
    pub(super) counters: Counters,
}

/// How a channel's socket is set up.
pub(crate) struct Settings {
    /// Address that it is bound to.
    pub(crate) local: SocketAddr,
    /// Which packets may share an entry.
    pub(crate) can: Abilities,
    /// Bytes of header between the IP packet's beginning and Homa's.
    pub(crate) headers: usize,
    /// Largest MTU used, bytes of IP packet; 200 to 65,535.
    pub(crate) max_mtu: usize,
    /// Buffers asked for, bytes of the kernel's accounting.
    pub(crate) receive_buffer: usize,
    pub(crate) send_buffer: usize,
}

/// What a channel has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) packets_sent: u64,
    pub(crate) entries_sent: u64,
    pub(crate) segmented_entries: u64,
    pub(crate) datagrams_received: u64,
    pub(crate) coalesced_receptions: u64,
    /// Receptions that held nothing for this endpoint.
    pub(crate) strays: u64,
    pub(crate) gso_refused: u64,
    pub(crate) oversized: u64,
    pub(crate) unroutable: u64,
    pub(crate) dropped_locally: u64,
    pub(crate) deferred_errors: u64,
    pub(crate) reports_dropped: u64,
}

/// Times that one `recv` reads on after an error about packets sent earlier, or to see what waits before the reports.
const MAX_READS: usize = 64;

impl Settings {
    /// # Errors
    /// `InvalidInput` if a setting is out of range.
    pub(crate) fn check(&self) -> io::Result<()> {
        if (200..=65_535).contains(&self.max_mtu) {
            return Ok(());
        }
        let message = format!("max_mtu is {}: expected 200 to 65535 bytes", self.max_mtu);
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}

impl<F: Frame> Channel<F> {
    /// Over `socket`, which has been bound and does not block.
    pub(crate) fn new(socket: Socket, frame: F, settings: &Settings) -> io::Result<Channel<F>> {
        let v6 = settings.local.is_ipv6();
        let fd = socket.as_fd();
        setup::report_errors_and_forbid_fragments(fd, v6)?;
        let receive_buffer = setup::grow_buffer(fd, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, settings.receive_buffer)?;
        let send_buffer = setup::grow_buffer(fd, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, settings.send_buffer)?;
        let default_tos = setup::set_default_tos(fd, v6).is_ok().then_some(setup::DEFAULT_TOS);
        Ok(Channel {
            frame,
            can: settings.can,
            entries: Vec::with_capacity(outbox::MAX_ENTRIES),
            outbox: Outbox::new(default_tos),
            inbox: Inbox::new(),
            reports: Reports::default(),
            paths: Paths::new(settings.local, settings.max_mtu),
            truesize: Truesize::new(settings.headers),
            receive_capacity: setup::receive_capacity(receive_buffer),
            send_buffer: send_buffer as u64,
            counters: Counters::default(),
            socket,
        })
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { reports_dropped: self.reports.dropped, ..self.counters }
    }

    /// Whether segmentation is left to the kernel: allowed, and not refused so far.
    pub(crate) fn uses_gso(&self) -> bool {
        self.can.gso
    }

    /// See [`PacketIo::recv`](crate::PacketIo::recv). Reports come after the packets that wait: a peer that answers and
    /// is gone at once has answered.
    pub(crate) fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        let mut items = 0;
        // A deferred error stands before the packets; each is cleared by being returned. Receptions that held nothing
        // for this endpoint are no end either.
        for _ in 0..MAX_READS {
            let (frame, counters) = (&self.frame, &mut self.counters);
            let result = self.inbox.receive(self.socket.as_fd(), |reception| {
                items += hand_up(frame, &reception, counters, sink);
            });
            match result.map_err(|error| (error.raw_os_error(), error)) {
                Ok(_) if self.reports.is_empty() && items > 0 => return Ok(items),
                Ok(_) => {}
                Err((Some(libc::EAGAIN), _)) => break,
                Err((Some(libc::EINTR), _)) => {}
                Err((Some(errno), _)) if may_be_deferred(errno) => {
                    self.counters.deferred_errors += 1;
                    self.reports.read_from(self.socket.as_fd(), &self.frame);
                }
                Err((_, error)) => return Err(error),
            }
        }
        Ok(items + self.hand_up_reports(sink))
    }

    /// Hands up the reports that wait, and returns how many there were.
    fn hand_up_reports(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let mut count = 0;
        while let Some(report) = self.reports.pop() {
            sink(match report {
                Report::Unreachable(peer, why) => Received::Unreachable { peer, why },
                Report::TooLarge(peer) => Received::PathMtu { peer, mtu: self.paths.renew(peer).mtu },
            });
            count += 1;
        }
        count
    }

    /// From SIOCOUTQ, scaled from the kernel's charges for memory to bytes of IP packets. Loopback and an idle veth
    /// deliver at once: 0.
    pub(crate) fn device_queue(&self) -> Option<u64> {
        let charge = sys::send_buffer_charge(self.socket.as_fd()).ok()?;
        Some(self.truesize.packets_in(charge))
    }

    /// Whether the socket's send buffer is full.
    pub(super) fn is_full(&self) -> bool {
        sys::send_buffer_charge(self.socket.as_fd()).is_ok_and(|charge| charge >= self.send_buffer)
    }

    /// From the kernel's route.
    pub(crate) fn path_mtu(&self, peer: SocketAddr) -> usize {
        self.paths.get(normalise(peer)).mtu
    }

    pub(crate) fn receive_capacity(&self) -> u32 {
        self.receive_capacity
    }
}

/// Hands up each datagram of a reception, and returns how many there were.
fn hand_up(
    frame: &impl Frame,
    reception: &Reception<'_>,
    counters: &mut Counters,
    sink: &mut dyn FnMut(Received<'_>),
) -> usize {
    let Reception { from, bytes, segment } = *reception;
    let Some((from, bytes)) = frame.open(from, bytes) else {
        counters.strays += 1;
        return 0;
    };
    if bytes.len() <= segment {
        counters.datagrams_received += 1;
        sink(Received::Datagram { from, bytes });
        return 1;
    }
    let mut count = 0;
    for bytes in bytes.chunks(segment) {
        sink(Received::Datagram { from, bytes });
        count += 1;
    }
    counters.coalesced_receptions += 1;
    counters.datagrams_received += count as u64;
    count
}
