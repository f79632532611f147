use crate::kernel::{Failure, KernelConfig, Request};
use homarus_proto::{Config, Framing, IncomingRpc, Payload, RpcError, RpcId};
use std::net::IpAddr;
use std::time::Duration;

/// How the link and its ends are set up.
#[derive(Clone, Debug)]
pub struct NetConfig {
    /// The modelled host.
    pub kernel: KernelConfig,
    /// The endpoint.
    pub endpoint: Config,
    /// The endpoint's addresses; all that it sends leaves from the first.
    pub endpoint_addresses: Vec<IpAddr>,
    /// The endpoint's port.
    pub endpoint_port: u16,
    /// One-way delay.
    pub delay: Duration,
    /// Time that the link needs for a byte, picoseconds.
    pub picos_a_byte: u64,
    /// Seed of the endpoint.
    pub seed: u64,
}

impl Default for NetConfig {
    fn default() -> NetConfig {
        NetConfig {
            kernel: KernelConfig::new([10, 0, 0, 2].into()),
            endpoint: as_linux_peer(),
            endpoint_addresses: vec![[10, 0, 0, 1].into()],
            endpoint_port: 4_000,
            delay: Duration::from_micros(10),
            picos_a_byte: 800,
            seed: 1,
        }
    }
}

/// The configuration for peers that run the Linux module: over IP, and no message that they would not take.
pub fn as_linux_peer() -> Config {
    Config { framing: Framing::Ip, max_message_len: crate::kernel::MAX_MESSAGE, ..Config::default() }
}

/// What the applications are told, or wanted to be reminded of.
#[derive(Debug)]
pub enum Happening {
    /// The model has a request.
    KernelRequest(Request, Vec<u8>),
    /// A request of the model has ended.
    KernelResponse(u64, Result<Vec<u8>, Failure>),
    /// The endpoint has a request.
    Request(IncomingRpc, Payload),
    /// A request of the endpoint has ended.
    Response(RpcId, Result<Payload, RpcError>),
    /// The time of an alarm has come.
    Alarm(usize),
}
