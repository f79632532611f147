//! Plain UDP at its best: the ceiling for everything that is built on it.
//!
//! Round trips are one datagram each way. Many small RPCs share datagrams as long as the link's MTU allows, and many
//! datagrams share a system call (UDP_SEGMENT, UDP_GRO). Long messages are datagrams as long as the MTU allows, again
//! many to a system call, with no more protocol than a sequence number in each and an answer to each message: nothing
//! is put in order, copied into place or sent again.

use super::{Job, Message, Meter, Mode, Spec, announce};
use crate::sys;
use anyhow::{Context, Result, bail};
use socket2::SockRef;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes of IP and UDP headers in a datagram over IPv4.
const HEADERS: usize = 28;
/// Most bytes that one send or receive moves: the longest UDP payload.
const BATCH: usize = 65_507;
/// Silence after which a client takes what is outstanding for lost.
const LOST_AFTER: Duration = Duration::from_millis(20);
/// Kernel buffer asked for, each way. The kernel may grant less.
const SOCKET_BUFFER: usize = 4 << 20;

/// A UDP socket that waits in the way that the trial asks for.
struct Socket {
    inner: UdpSocket,
    spin: bool,
}

impl Socket {
    fn bind(spec: &Spec, at: SocketAddr) -> Result<Socket> {
        let inner = UdpSocket::bind(at).with_context(|| format!("UDP cannot listen on {at}: choose a free address"))?;
        let buffers = SockRef::from(&inner);
        buffers.set_recv_buffer_size(SOCKET_BUFFER)?;
        buffers.set_send_buffer_size(SOCKET_BUFFER)?;
        let spin = spec.mode == Mode::Spin;
        inner.set_nonblocking(spin)?;
        if spec.job != Job::Rtt {
            sys::set_udp_segment(&inner, segment(spec)).context("this kernel has no UDP_SEGMENT (Linux 4.18)")?;
            sys::set_udp_gro(&inner).context("this kernel has no UDP_GRO (Linux 5.0)")?;
        }
        Ok(Socket { inner, spin })
    }

    fn connect(spec: &Spec, server: SocketAddr) -> Result<Socket> {
        let any = match server {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = Socket::bind(spec, any)?;
        socket.inner.connect(server)?;
        if !socket.spin {
            socket.inner.set_read_timeout(Some(LOST_AFTER))?;
        }
        Ok(socket)
    }

    /// The next datagrams, or `None` after [`LOST_AFTER`] of silence.
    fn recv(&self, buffer: &mut [u8]) -> Result<Option<usize>> {
        let mut asked = 0_u32;
        let mut since = None;
        loop {
            match self.inner.recv(buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.spin => {
                    std::hint::spin_loop();
                    asked = asked.wrapping_add(1);
                    if asked.is_multiple_of(256) && since.get_or_insert_with(Instant::now).elapsed() > LOST_AFTER {
                        return Ok(None);
                    }
                }
                Err(error) if is_silence(&error) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("UDP receive failed: is the server still there?"),
            }
        }
    }

    fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        loop {
            match self.inner.recv_from(buffer) {
                Err(error) if is_silence(&error) => std::hint::spin_loop(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Sends all of `bytes`, however full the device queue is.
    fn send(&self, bytes: &[u8]) -> Result<()> {
        insist(|| self.inner.send(bytes))
    }

    fn send_to(&self, bytes: &[u8], to: SocketAddr) -> Result<()> {
        insist(|| self.inner.send_to(bytes, to))
    }
}

fn insist(mut send: impl FnMut() -> io::Result<usize>) -> Result<()> {
    loop {
        match send() {
            Ok(_) => return Ok(()),
            Err(error) if is_silence(&error) || error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => std::thread::yield_now(),
            Err(error) => return Err(error).context("UDP send failed: is the server still there?"),
        }
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Payload of the longest datagram that fits the link.
fn datagram(spec: &Spec) -> usize {
    spec.mtu.saturating_sub(HEADERS).clamp(Message::STAMP, BATCH)
}

/// Bytes in each datagram of a batch: as many whole small messages as fit, or the full datagram.
fn segment(spec: &Spec) -> usize {
    match spec.job {
        Job::Rtt | Job::Rate => (datagram(spec) / spec.size).max(1) * spec.size,
        Job::Bulk => datagram(spec),
    }
}

/// Answers forever.
pub(super) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    let socket = Socket::bind(spec, at)?;
    announce(socket.inner.local_addr()?)?;
    let mut buffer = vec![0; BATCH];
    if spec.job == Job::Bulk {
        return serve_bulk(spec, &socket, &mut buffer);
    }
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        socket.send_to(&buffer[..length], from)?;
    }
}

/// Sends requests while `meter` runs.
pub(super) fn drive(spec: &Spec, server: SocketAddr, meter: &Meter) -> Result<()> {
    let socket = Socket::connect(spec, server)?;
    match spec.job {
        Job::Rtt => drive_rtt(spec, &socket, meter),
        Job::Rate => drive_rate(spec, &socket, meter),
        Job::Bulk => drive_bulk(spec, &socket, meter),
    }
}

fn drive_rtt(spec: &Spec, socket: &Socket, meter: &Meter) -> Result<()> {
    if spec.size > BATCH {
        bail!("{} bytes do not fit into one datagram: at most {BATCH}", spec.size);
    }
    let mut message = Message::new(spec);
    let mut buffer = vec![0; BATCH];
    let mut stamp = 0;
    while meter.running() {
        stamp += 1;
        let sent = Instant::now();
        socket.send(message.stamped(stamp))?;
        loop {
            match socket.recv(&mut buffer)? {
                Some(length) if Message::stamp_of(&buffer[..length]) == Some(stamp) => {
                    message.check(spec, &buffer[..length])?;
                    break;
                }
                Some(_late) => {}
                None => {
                    meter.lost(1);
                    socket.send(message.stamped(stamp))?;
                }
            }
        }
        meter.round_trip(sent);
    }
    Ok(())
}

/// Batches that are kept in flight, so that client and server work at the same time.
const BATCHES: usize = 2;

fn drive_rate(spec: &Spec, socket: &Socket, meter: &Meter) -> Result<()> {
    if spec.size > datagram(spec) || spec.size * spec.outstanding > BATCH {
        bail!(
            "{} outstanding messages of {} bytes are no small RPCs: at most {BATCH} bytes in all, {} in one",
            spec.outstanding,
            spec.size,
            datagram(spec)
        );
    }
    let mut message = Message::new(spec);
    let mut batch = Vec::with_capacity(BATCH);
    let mut buffer = vec![0; BATCH];
    let mut stamp = 0;
    let mut outstanding = 0;
    let mut wanted = spec.outstanding.div_ceil(BATCHES);
    while meter.running() {
        while outstanding < spec.outstanding {
            batch.clear();
            for _ in 0..wanted.min(spec.outstanding - outstanding) {
                stamp += 1;
                batch.extend_from_slice(message.stamped(stamp));
                outstanding += 1;
            }
            socket.send(&batch)?;
        }
        let Some(length) = socket.recv(&mut buffer)? else {
            meter.lost(outstanding as u64);
            outstanding = 0;
            wanted = spec.outstanding.div_ceil(BATCHES);
            continue;
        };
        wanted = 0;
        for answer in buffer[..length].chunks(spec.size) {
            if let Some(stamp) = Message::stamp_of(answer) {
                message.stamped(stamp);
            }
            message.check(spec, answer)?;
            wanted += 1;
        }
        outstanding = outstanding.saturating_sub(wanted);
        meter.count(wanted as u64);
    }
    Ok(())
}

/// A long message is sent in datagrams that begin with its sequence number.
fn serve_bulk(spec: &Spec, socket: &Socket, buffer: &mut [u8]) -> Result<()> {
    let full = datagram(spec);
    let expected = spec.size.div_ceil(full);
    let mut arrived = vec![(0_u64, 0_usize); spec.outstanding.next_power_of_two()];
    let slots = arrived.len() as u64;
    loop {
        let (length, from) = socket.recv_from(buffer)?;
        for datagram in buffer[..length].chunks(full) {
            let Some(stamp) = Message::stamp_of(datagram) else { continue };
            let slot = &mut arrived[(stamp % slots) as usize];
            if slot.0 != stamp {
                *slot = (stamp, 0);
            }
            slot.1 += 1;
            if slot.1 == expected {
                socket.send_to(&stamp.to_le_bytes(), from)?;
            }
        }
    }
}

fn drive_bulk(spec: &Spec, socket: &Socket, meter: &Meter) -> Result<()> {
    let mut wire = vec![7; spec.size];
    let mut buffer = vec![0; BATCH];
    let full = datagram(spec);
    if (1..Message::STAMP).contains(&(spec.size % full)) {
        bail!("the last of the {full}-byte datagrams would be too short for its number: choose another --size");
    }
    let at_once = BATCH / full * full;
    let mut stamp = 0_u64;
    let mut outstanding = 0;
    while meter.running() {
        while outstanding < spec.outstanding {
            stamp += 1;
            outstanding += 1;
            for part in wire.chunks_mut(at_once) {
                for datagram in part.chunks_mut(full) {
                    let header = datagram.len().min(Message::STAMP);
                    datagram[..header].copy_from_slice(&stamp.to_le_bytes()[..header]);
                }
                socket.send(part)?;
            }
        }
        match socket.recv(&mut buffer)? {
            Some(length) => {
                let ended = length / Message::STAMP;
                outstanding = outstanding.saturating_sub(ended);
                meter.count(ended as u64);
            }
            None => {
                meter.lost(outstanding as u64);
                outstanding = 0;
            }
        }
    }
    Ok(())
}
