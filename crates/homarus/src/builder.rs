use crate::driver::Driver;
use crate::hub::Hub;
use crate::{Address, Error, asynch, blocking};
use homarus_io::{Capture, PacketIo, RawConfig, RawIo, UdpConfig, UdpIo};
use homarus_proto::{Config, Endpoint as Core, Framing};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
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
#[derive(Clone, Debug, Default)]
pub struct Builder {
    config: Config,
    udp: UdpConfig,
    raw: RawConfig,
    capture: Option<Capture>,
    long_over_ip: bool,
    seed: Option<u64>,
    spin: blocking::Spin,
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

    /// Whether messages over IP may be as long as [`Config::max_message_len`] says. By default none is longer than the
    /// 1,000,000 bytes that the Linux module accepts; allow it where all peers are homarus.
    pub fn long_messages_over_ip(mut self, allow: bool) -> Self {
        self.long_over_ip = allow;
        self
    }

    /// A file that everything sent and received is written to.
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
        self.open(addr)?.run()
    }

    /// Binds an async endpoint to a local address by the framing that the address names, whatever
    /// [`Config::framing`] says.
    ///
    /// # Errors
    /// As [`bind`](Self::bind), and [`Error::Resolve`].
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub async fn bind_address(mut self, address: &Address) -> Result<asynch::Endpoint, Error> {
        self.config.framing = address.framing();
        self.open(address.resolve().await?)?.run()
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
        self.over(Box::new(io), ready)?.run()
    }

    /// Binds a blocking endpoint to a local address.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range, [`Error::Bind`] if the system refuses the address.
    pub fn bind_blocking(self, addr: impl ToSocketAddrs) -> Result<blocking::Endpoint, Error> {
        let addr = first(addr.to_socket_addrs())?;
        self.open(addr)?.run_blocking()
    }

    /// As [`bind_address`](Self::bind_address), for a blocking endpoint.
    ///
    /// # Errors
    /// As [`bind_blocking`](Self::bind_blocking), and [`Error::Resolve`].
    pub fn bind_address_blocking(mut self, address: &Address) -> Result<blocking::Endpoint, Error> {
        self.config.framing = address.framing();
        self.open(address.resolve_blocking()?)?.run_blocking()
    }

    /// Runs a blocking endpoint over another driver than a plain socket: see [`run`](Self::run).
    ///
    /// # Errors
    /// As [`bind_blocking`](Self::bind_blocking).
    pub fn run_blocking(self, io: impl PacketIo + 'static, ready: impl AsFd) -> Result<blocking::Endpoint, Error> {
        self.over(Box::new(io), ready)?.run_blocking()
    }

    /// Opens the socket.
    fn open(self, addr: SocketAddr) -> Result<Opened, Error> {
        self.config.validate()?;
        let explain = |error| refused(Address::new(self.config.framing, addr), error);
        match self.config.framing {
            Framing::Udp => {
                let io = UdpIo::bind(addr, self.udp.clone()).map_err(explain)?;
                let ready = io.as_fd().try_clone_to_owned().map_err(explain)?;
                self.over(Box::new(io), ready)
            }
            Framing::Ip => {
                let io = RawIo::bind(addr, self.raw.clone()).map_err(explain)?;
                let ready = io.as_fd().try_clone_to_owned().map_err(explain)?;
                self.over(Box::new(io), ready)
            }
        }
    }

    /// Takes a driver as it is.
    fn over(self, io: Box<dyn PacketIo>, ready: impl AsFd) -> Result<Opened, Error> {
        let ready = ready.as_fd().try_clone_to_owned();
        let local = Address::new(self.config.framing, io.local_addr());
        Ok(Opened { ready: ready.map_err(|error| refused(local, error))?, builder: self, io })
    }
}

/// Longest message that the Linux module accepts, bytes.
pub(crate) const LINUX_MAX_MESSAGE: u32 = 1_000_000;

/// Settings and the driver that they are for.
struct Opened {
    builder: Builder,
    io: Box<dyn PacketIo>,
    ready: OwnedFd,
}

impl Opened {
    fn run(self) -> Result<asynch::Endpoint, Error> {
        let local = self.local();
        asynch::Endpoint::spawn(self.hub()?).map_err(|error| refused(local, error))
    }

    fn run_blocking(self) -> Result<blocking::Endpoint, Error> {
        let spin = self.builder.spin;
        Ok(blocking::Endpoint::new(self.hub()?, spin))
    }

    fn local(&self) -> Address {
        Address::new(self.builder.config.framing, self.io.local_addr())
    }

    fn hub(self) -> Result<Hub, Error> {
        let local = self.local();
        let Builder { mut config, capture, seed, long_over_ip, .. } = self.builder;
        let framing = config.framing;
        if framing == Framing::Ip && !long_over_ip {
            config.max_message_len = config.max_message_len.min(LINUX_MAX_MESSAGE);
        }
        let max_peers = config.max_peers;
        let core = Core::new(config, self.io.local_addr().port(), seed.unwrap_or_else(random_seed))?;
        let io = match capture {
            Some(capture) => Box::new(capture.tap(self.io, framing)),
            None => self.io,
        };
        Hub::new(Driver::new(core, io, max_peers), self.ready).map_err(|error| refused(local, error))
    }
}

fn first(found: io::Result<impl Iterator<Item = SocketAddr>>) -> Result<SocketAddr, Error> {
    found.and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::NotFound.into())).map_err(|error| {
        let address = "the address given".to_owned();
        Error::Bind { address, source: Arc::new(error) }
    })
}

fn refused(address: Address, error: io::Error) -> Error {
    Error::Bind { address: address.to_string(), source: Arc::new(error) }
}

/// The standard library seeds its hash maps from the system's randomness.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
