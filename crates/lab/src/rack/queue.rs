//! Reads the root qdisc of an interface through netlink: what it has sent, dropped, and holds.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::time::Duration;

/// State of an interface's root qdisc; counters since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueState {
    /// Bytes sent, as the kernel counts them: without preamble, checksum and gap.
    pub(crate) bytes: u64,
    /// Packets sent.
    pub(crate) packets: u64,
    /// Packets dropped for want of space.
    pub(crate) drops: u64,
    /// Bytes that wait.
    pub(crate) backlog: u64,
}

/// A netlink socket in the namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct QueueReader {
    socket: Socket,
    buffer: Vec<u8>,
}

const NETLINK_ROUTE: i32 = 0;
const NLMSG_ERROR: u16 = 2;
const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLM_F_REQUEST: u16 = 1;
/// Without it older kernels answer only whoever listens to all changes.
const NLM_F_ECHO: u16 = 8;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;
/// Lengths of a message's header and of `struct tcmsg` behind it.
const HEADER: usize = 16;
const TCMSG: usize = 20;

impl QueueReader {
    /// Opens the socket.
    pub(crate) fn open() -> Result<QueueReader> {
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(NETLINK_ROUTE)))
            .context("cannot open a netlink socket")?;
        socket.set_read_timeout(Some(Duration::from_secs(2))).context("cannot bound the wait for an answer")?;
        Ok(QueueReader { socket, buffer: vec![0; 16 << 10] })
    }

    /// The root qdisc of the interface with this index.
    pub(crate) fn read(&mut self, interface: u32) -> Result<QueueState> {
        self.socket.send(&request(interface)).context("cannot ask for a queue's state")?;
        let length = self.socket.read(&mut self.buffer).context("cannot read a queue's state")?;
        parse(&self.buffer[..length]).with_context(|| format!("queue of interface {interface}"))
    }
}

/// `RTM_GETQDISC` for the root of one interface.
fn request(interface: u32) -> [u8; HEADER + TCMSG] {
    let mut message = [0; HEADER + TCMSG];
    message[0..4].copy_from_slice(&((HEADER + TCMSG) as u32).to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_GETQDISC.to_ne_bytes());
    message[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_ECHO).to_ne_bytes());
    message[20..24].copy_from_slice(&interface.to_ne_bytes());
    message[28..32].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    message
}

fn parse(message: &[u8]) -> Result<QueueState> {
    match message.get(4..6).map(|b| u16::from_ne_bytes([b[0], b[1]])) {
        Some(RTM_NEWQDISC) => {}
        Some(NLMSG_ERROR) => {
            let code = message.get(HEADER..).and_then(|body| number(body, 4)).unwrap_or(0) as i32;
            bail!("the kernel refused: {}", std::io::Error::from_raw_os_error(-code));
        }
        other => bail!("expected a qdisc from the kernel, found message type {other:?}"),
    }
    let mut state = QueueState::default();
    let stats = attributes(message.get(HEADER + TCMSG..).unwrap_or_default()).find(|(kind, _)| *kind == TCA_STATS2);
    let Some((_, stats)) = stats else { bail!("the kernel's answer has no statistics") };
    for (kind, value) in attributes(stats) {
        let at = |offset: usize, width: usize| value.get(offset..).and_then(|bytes| number(bytes, width)).unwrap_or(0);
        match kind {
            TCA_STATS_BASIC => {
                state.bytes = at(0, 8);
                state.packets = state.packets.max(at(8, 4));
            }
            TCA_STATS_PKT64 => state.packets = at(0, 8),
            TCA_STATS_QUEUE => {
                state.backlog = at(4, 4);
                state.drops = at(8, 4);
            }
            _ => {}
        }
    }
    Ok(state)
}

/// A native-endian number of 4 or 8 bytes.
fn number(bytes: &[u8], width: usize) -> Option<u64> {
    match width {
        4 => Some(u64::from(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))),
        _ => Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?)),
    }
}

/// Kind and value of each attribute.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = bytes.get(..4)?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn statistics_are_found_among_other_attributes() {
        let basic = [1_000_000_000_000u64.to_ne_bytes().as_slice(), &[7, 0, 0, 0, 0, 0, 0, 0]].concat();
        let queue = [3u32, 4500, 9, 0, 0].map(u32::to_ne_bytes).concat();
        let stats = [attribute(TCA_STATS_BASIC, &basic), attribute(TCA_STATS_QUEUE, &queue)].concat();
        let mut message = vec![0; HEADER + TCMSG];
        message[4..6].copy_from_slice(&RTM_NEWQDISC.to_ne_bytes());
        message.extend(attribute(1, b"htb"));
        message.extend(attribute(TCA_STATS2, &stats));
        let expected = QueueState { bytes: 1_000_000_000_000, packets: 7, drops: 9, backlog: 4500 };
        assert_eq!(parse(&message).unwrap(), expected);
    }

    #[test]
    fn broken_answers_are_errors() {
        assert!(parse(&[]).is_err());
        assert!(parse(&[0; 36]).is_err());
        let mut refusal = vec![0; 20];
        refusal[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        refusal[16..20].copy_from_slice(&(-1i32).to_ne_bytes());
        assert!(parse(&refusal).unwrap_err().to_string().contains("not permitted"));
        assert_eq!(attributes(&[255, 255, 1, 0]).count(), 0);
    }
}
