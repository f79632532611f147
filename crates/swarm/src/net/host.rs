use super::link::{Downlink, Uplink};
use super::{Clock, LinkSpec};
use homarus_proto::{Config, Endpoint, Instant};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A host by its number, in the order in which they were added.
pub type HostId = usize;

/// Port of every endpoint.
const PORT: u16 = 4_000;

/// Most packets that wait for a paused process in its socket.
const SOCKET_BUFFER_PACKETS: usize = 500;

/// What a host is made of.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Of its endpoint.
    pub config: Config,
    /// To the switch.
    pub link: LinkSpec,
    /// How far its clock is ahead of the world's.
    pub clock_ahead: Duration,
    /// Of its endpoint.
    pub seed: u64,
    /// Whether its endpoint is given datagrams, in which it looks for packets, or single packets.
    pub takes_datagrams: bool,
}

/// What the process on a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Process {
    Running,
    /// It does nothing; the socket fills.
    Paused,
    /// There is none; whether the host answers packets with ICMP errors.
    Dead {
        icmp: bool,
    },
}

pub(super) struct Host {
    pub(super) address: SocketAddr,
    pub(super) config: Config,
    pub(super) endpoint: Endpoint,
    pub(super) clock: Clock,
    pub(super) link: LinkSpec,
    pub(super) uplink: Uplink,
    pub(super) downlink: Downlink,
    pub(super) process: Process,
    pub(super) takes_datagrams: bool,
    /// Packets that arrived during a pause, by their key.
    pub(super) socket: VecDeque<usize>,
    /// World time of the earliest timer event in the schedule.
    pub(super) timer_at: Instant,
    /// How often in a row its timer was due at the same time, and that time.
    pub(super) repetitions: (u64, Instant),
    /// Interactions so far.
    pub(super) turns: u64,
}

impl Host {
    pub(super) fn new(id: HostId, spec: HostSpec) -> Host {
        let endpoint = Endpoint::new(spec.config.clone(), PORT, spec.seed).expect("a valid configuration");
        Host {
            address: address_of(id),
            config: spec.config,
            endpoint,
            clock: Clock::new(spec.clock_ahead),
            link: spec.link,
            uplink: Uplink::new(spec.link.up_rate),
            downlink: Downlink::new(spec.link.down_rate, spec.link.port_buffer),
            process: Process::Running,
            takes_datagrams: spec.takes_datagrams,
            socket: VecDeque::new(),
            timer_at: Instant::FAR_FUTURE,
            repetitions: (0, Instant::ZERO),
            turns: 0,
        }
    }

    pub(super) fn socket_is_full(&self) -> bool {
        self.socket.len() >= SOCKET_BUFFER_PACKETS
    }

    /// A new process with nothing in memory.
    pub(super) fn restart(&mut self, seed: u64) {
        self.endpoint = Endpoint::new(self.config.clone(), PORT, seed).expect("a valid configuration");
        self.process = Process::Running;
    }
}

/// Hosts live in 10.0.0.0/8, all on the same port.
pub(super) fn address_of(id: HostId) -> SocketAddr {
    let number = id as u32 + 1;
    SocketAddr::from((Ipv4Addr::from_bits(10 << 24 | number), PORT))
}

/// The host at an address, if one could live there.
pub fn host_at(address: SocketAddr) -> Option<HostId> {
    let SocketAddr::V4(v4) = address else {
        return None;
    };
    let bits = v4.ip().to_bits();
    (bits >> 24 == 10 && bits & 0xff_ffff != 0).then(|| (bits & 0xff_ffff) as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_hosts() {
        for id in [0, 1, 255, 256, 70_000] {
            assert_eq!(host_at(address_of(id)), Some(id));
        }
        assert_eq!(host_at("192.168.0.1:9".parse().unwrap()), None);
    }
}
