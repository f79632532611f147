use crate::opened::Opened;
use crate::{Address, Error, asynch, blocking};
use homarus_io::{Capture, KernelConfig, KernelIo, PacketIo, RawConfig, UdpConfig};
use homarus_proto::Config;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Settings for an endpoint, async or blocking, to be bound.
///
/// ```no_run
/// # async fn example() -> Result<(), homarus::Error> {
/// use homarus::{Config, Endpoint};
///
/// let config = Config { max_message_len: 1_000_000, ..Config::default() };
/// let endpoint = Endpoint::builder().config(config).bind("0.0.0.0:4000").await?;
/// # Ok(())
/// # }
/// ```
///
/// An endpoint for hosts that run the Linux Homa module speaks Homa directly over IP, for which it needs the capability
/// CAP_NET_RAW:
///
/// ```no_run
/// # async fn example() -> Result<(), homarus::Error> {
/// use homarus::{Address, Endpoint};
///
/// let endpoint = Endpoint::builder().bind_address(&"homa://0.0.0.0:4000".parse()?).await?;
/// let server: Address = "homa://server.example:4000".parse()?;
/// let answer = endpoint.call(server.resolve().await?, "hello").await?;
/// # Ok(())
/// # }
/// ```
///
/// Where this host itself has the module, an address that begins with `kernel://` instead leaves the protocol to it.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(crate) config: Config,
    pub(crate) udp: UdpConfig,
    pub(crate) raw: RawConfig,
    pub(crate) kernel: KernelConfig,
    pub(crate) capture: Option<Capture>,
    pub(crate) long_over_ip: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) spin: blocking::Spin,
}

impl Builder {
    /// The protocol's settings and bounds, and by [`Config::framing`] what the endpoint is bound to: a UDP socket, or a
    /// raw one for Homa over IP.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The socket's settings, for Homa over UDP.
    pub fn udp(mut self, udp: UdpConfig) -> Self {
        self.udp = udp;
        self
    }

    /// The socket's settings, for Homa over IP.
    pub fn raw(mut self, raw: RawConfig) -> Self {
        self.raw = raw;
        self
    }

    /// The socket's settings, for the Homa module of this host's kernel.
    pub fn kernel(mut self, kernel: KernelConfig) -> Self {
        self.kernel = kernel;
        self
    }

    /// Whether messages over IP may be as long as [`Config::max_message_len`] says. By default none is longer than the
    /// 1,000,000 bytes that the Linux module accepts; allow it where all peers are homarus.
    pub fn long_messages_over_ip(mut self, allow: bool) -> Self {
        self.long_over_ip = allow;
        self
    }

    /// A file that everything sent and received is written to. Not for the kernel's Homa module, which does not hand out
    /// packets.
    pub fn capture(mut self, capture: Capture) -> Self {
        self.capture = Some(capture);
        self
    }

    /// What RPC ids are made from, for repeatable runs. By default it is random, and should be: a server remembers
    /// ids for a while and takes those of a restarted client with the same seed for repetitions.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How a blocking endpoint waits. Without meaning for an async one.
    pub fn spin(mut self, spin: blocking::Spin) -> Self {
        self.spin = spin;
        self
    }

    /// Binds an async endpoint to a local address.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range, [`Error::Bind`] if the system refuses the address.
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub async fn bind(self, addr: impl tokio::net::ToSocketAddrs) -> Result<asynch::Endpoint, Error> {
        let addr = first(tokio::net::lookup_host(addr).await)?;
        let carrier = self.config.framing.into();
        Opened::open(self, carrier, addr)?.run()
    }

    /// Binds an async endpoint to a local address by the carrier that the address names, whatever [`Config::framing`]
    /// says.
    ///
    /// # Errors
    /// As [`bind`](Self::bind), and [`Error::Resolve`].
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub async fn bind_address(self, address: &Address) -> Result<asynch::Endpoint, Error> {
        let addr = address.resolve().await?;
        Opened::open(self, address.carrier(), addr)?.run()
    }

    /// Runs an async endpoint over another driver than a plain socket, such as one that injects faults. Its packets must
    /// be carried as [`Config::framing`] says. `ready` must become readable and writable when `io` is; it is duplicated.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub fn run(self, io: impl PacketIo + 'static, ready: impl AsFd) -> Result<asynch::Endpoint, Error> {
        Opened::over(self, Box::new(io), ready)?.run()
    }

    /// Runs an async endpoint over a socket of the kernel's Homa module, or what takes its place in tests.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub fn run_kernel(self, io: KernelIo) -> Result<asynch::Endpoint, Error> {
        Opened::over_kernel(self, io)?.run()
    }

    /// Binds a blocking endpoint to a local address.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range, [`Error::Bind`] if the system refuses the address.
    pub fn bind_blocking(self, addr: impl ToSocketAddrs) -> Result<blocking::Endpoint, Error> {
        let addr = first(addr.to_socket_addrs())?;
        let carrier = self.config.framing.into();
        Opened::open(self, carrier, addr)?.run_blocking()
    }

    /// As [`bind_address`](Self::bind_address), for a blocking endpoint.
    ///
    /// # Errors
    /// As [`bind_blocking`](Self::bind_blocking), and [`Error::Resolve`].
    pub fn bind_address_blocking(self, address: &Address) -> Result<blocking::Endpoint, Error> {
        let addr = address.resolve_blocking()?;
        Opened::open(self, address.carrier(), addr)?.run_blocking()
    }

    /// Runs a blocking endpoint over another driver than a plain socket: see [`run`](Self::run).
    ///
    /// # Errors
    /// As [`bind_blocking`](Self::bind_blocking).
    pub fn run_blocking(self, io: impl PacketIo + 'static, ready: impl AsFd) -> Result<blocking::Endpoint, Error> {
        Opened::over(self, Box::new(io), ready)?.run_blocking()
    }

    /// As [`run_kernel`](Self::run_kernel), for a blocking endpoint.
    ///
    /// # Errors
    /// As [`bind_blocking`](Self::bind_blocking).
    pub fn run_kernel_blocking(self, io: KernelIo) -> Result<blocking::Endpoint, Error> {
        Opened::over_kernel(self, io)?.run_blocking()
    }
}

fn first(found: io::Result<impl Iterator<Item = SocketAddr>>) -> Result<SocketAddr, Error> {
    found.and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::NotFound.into())).map_err(|error| {
        let address = "the address given".to_owned();
        Error::Bind { address, source: Arc::new(error) }
    })
}
