//! Sending, and what to do when the kernel refuses.

use super::address::normalise;
use super::channel::Channel;
use super::frame::Frame;
use super::outbox::{ENOUGH_BYTES, MAX_ENTRIES};
use super::plan::{self, Entry};
use super::reports::{Report, may_be_deferred};
use homarus_proto::{Transmit, Unreachable};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// Where one call of `send` stands.
#[derive(Default)]
struct Progress {
    /// Packets done with: sent, or dropped and reported.
    done: usize,
    /// Packets below this index go one by one: a larger entry that held them was refused.
    alone_until: usize,
    /// The refused entry was a segmented one; if its first packet passes alone, segmentation was the reason.
    segmentation_suspect: bool,
    /// Refusals of the entry that is now first.
    refusals: usize,
}

/// What follows a refusal.
enum Verdict {
    /// The same packets again.
    Again,
    /// The socket is full.
    Full,
    /// The first entry cannot be sent: go on after it.
    Skip,
    /// The socket is of no use.
    Fatal(io::Error),
}

/// Times that an entry is tried again while each refusal brings a deferred error with it.
const MAX_REFUSALS: usize = 64;

impl<F: Frame> Channel<F> {
    /// See [`PacketIo::send`](crate::PacketIo::send).
    pub(crate) fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        let mut progress = Progress::default();
        while progress.done < batch.len() {
            let rest = &batch[progress.done..];
            self.plan(rest, progress.alone_until.saturating_sub(progress.done));
            match self.submit(rest) {
                Ok(sent) => {
                    progress.done += self.count_sent(sent);
                    progress.refusals = 0;
                    if std::mem::take(&mut progress.segmentation_suspect) {
                        self.can.gso = false;
                        self.counters.gso_refused += 1;
                    }
                }
                Err(error) => match self.refused(&rest[0], error, &mut progress) {
                    Verdict::Again => {}
                    Verdict::Full => break,
                    Verdict::Skip => {
                        progress.done += self.entries[0].packets;
                        progress.refusals = 0;
                    }
                    Verdict::Fatal(error) if progress.done == 0 => return Err(error),
                    Verdict::Fatal(_) => break,
                },
            }
        }
        Ok(progress.done)
    }

    /// Divides the first packets of `rest` into entries for one system call, the first `alone` of them singly.
    fn plan(&mut self, rest: &[Transmit], alone: usize) {
        self.entries.clear();
        let end = if alone > 0 { alone.min(rest.len()) } else { rest.len() };
        let mut path: Option<(SocketAddr, usize)> = None;
        let (mut at, mut bytes) = (0, 0);
        while at < end && self.entries.len() < MAX_ENTRIES && bytes < ENOUGH_BYTES {
            let waiting = &rest[at..end];
            let entry = if alone > 0 || !self.can.any() || !plan::has_company(waiting) {
                plan::alone(waiting)
            } else {
                let to = waiting[0].to;
                let mtu = match path {
                    Some((peer, mtu)) if peer == to => mtu,
                    _ => self.paths.get(normalise(to)).mtu,
                };
                path = Some((to, mtu));
                plan::next_entry(waiting, mtu, self.can)
            };
            at += entry.packets;
            bytes += entry.bytes;
            self.entries.push(entry);
        }
    }

    fn submit(&mut self, rest: &[Transmit]) -> io::Result<usize> {
        self.outbox.submit(self.socket.as_fd(), &self.frame, &self.paths, rest, &self.entries)
    }

    /// Counts the first `sent` entries, and returns how many packets they held.
    fn count_sent(&mut self, sent: usize) -> usize {
        let mut packets = 0;
        for Entry { packets: held, bytes, segment } in &self.entries[..sent] {
            packets += held;
            self.counters.segmented_entries += u64::from(*segment > 0);
            self.truesize.sent(*bytes, *segment > 0);
        }
        self.counters.packets_sent += packets as u64;
        self.counters.entries_sent += sent as u64;
        packets
    }

    /// Decides after the kernel refused the entry that begins with `first`.
    fn refused(&mut self, first: &Transmit, error: io::Error, progress: &mut Progress) -> Verdict {
        let errno = error.raw_os_error().unwrap_or(0);
        if errno == libc::EAGAIN {
            return Verdict::Full;
        }
        if errno == libc::EINTR {
            return Verdict::Again;
        }
        progress.refusals += 1;
        if may_be_deferred(errno) {
            let reported = self.reports.read_from(self.socket.as_fd(), &self.frame);
            let first_time = progress.refusals == 1;
            if first_time || (reported > 0 && errno != libc::EMSGSIZE && progress.refusals < MAX_REFUSALS) {
                self.counters.deferred_errors += 1;
                if errno == libc::EMSGSIZE {
                    self.paths.renew(normalise(first.to));
                }
                return Verdict::Again;
            }
        }
        let entry = self.entries[0];
        let refused_segmentation = entry.segment > 0 && is_segmentation_refusal(errno);
        if entry.packets > 1 && (refused_segmentation || errno == libc::EMSGSIZE) {
            progress.segmentation_suspect = refused_segmentation;
            progress.alone_until = progress.done + entry.packets;
            return Verdict::Again;
        }
        progress.segmentation_suspect = false;
        self.give_up(normalise(first.to), entry.packets as u64, error)
    }

    /// The first entry, of `packets` to `peer`, is refused for good.
    fn give_up(&mut self, peer: SocketAddr, packets: u64, error: io::Error) -> Verdict {
        match error.raw_os_error().unwrap_or(0) {
            libc::EMSGSIZE => {
                self.counters.oversized += packets;
                self.reports.push(Report::TooLarge(peer));
            }
            libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENETDOWN
            | libc::EADDRNOTAVAIL
            | libc::EAFNOSUPPORT
            | libc::EACCES
            | libc::EINVAL => {
                self.counters.unroutable += packets;
                self.reports.push(Report::Unreachable(peer, Unreachable::Host));
            }
            // Raw sockets do not say EAGAIN; otherwise it is the device's queue that is full.
            libc::ENOBUFS if self.is_full() => return Verdict::Full,
            libc::ENOBUFS | libc::ENOMEM | libc::EPERM => self.counters.dropped_locally += packets,
            // Never about the call's own packets: errors about others come faster than they can be read.
            errno if may_be_deferred(errno) => return Verdict::Full,
            _ => return Verdict::Fatal(error),
        }
        Verdict::Skip
    }
}

/// Whether the error may mean that UDP_SEGMENT is not to be had: EIO comes from devices without checksum offload,
/// the others from kernels, sandboxes and address families that do not know it.
fn is_segmentation_refusal(errno: i32) -> bool {
    matches!(errno, libc::EIO | libc::EINVAL | libc::ENOPROTOOPT | libc::EOPNOTSUPP)
}
