use crate::driver::Driver;
use crate::hub::Hub;
use crate::{Error, asynch, blocking};
use homarus_io::{PacketIo, UdpConfig, UdpIo};
use homarus_proto::{Config, Endpoint as Core};
use std::hash::{BuildHasher, Hasher, RandomState};
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
#[derive(Clone, Debug, Default)]
pub struct Builder {
    config: Config,
    udp: UdpConfig,
    seed: Option<u64>,
    spin: blocking::Spin,
}

impl Builder {
    /// The protocol's settings and bounds.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// The socket's settings.
    pub fn udp(mut self, udp: UdpConfig) -> Self {
        self.udp = udp;
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
        let io = self.open(addr)?;
        let ready = io.as_fd().try_clone_to_owned().map_err(|error| refused(addr.to_string(), error))?;
        self.run(io, ready)
    }

    /// Runs an async endpoint over another driver than a plain UDP socket, such as one that injects faults.
    /// `ready` must become readable and writable when `io` is; it is duplicated.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub fn run(self, io: impl PacketIo + 'static, ready: impl AsFd) -> Result<asynch::Endpoint, Error> {
        let addr = io.local_addr();
        let hub = self.hub(io, ready)?;
        asynch::Endpoint::spawn(hub).map_err(|error| refused(addr.to_string(), error))
    }

    /// Binds a blocking endpoint to a local address.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range, [`Error::Bind`] if the system refuses the address.
    pub fn bind_blocking(self, addr: impl ToSocketAddrs) -> Result<blocking::Endpoint, Error> {
        let addr = first(addr.to_socket_addrs())?;
        let io = self.open(addr)?;
        let ready = io.as_fd().try_clone_to_owned().map_err(|error| refused(addr.to_string(), error))?;
        self.run_blocking(io, ready)
    }

    /// Runs a blocking endpoint over another driver than a plain UDP socket, such as one that injects faults.
    /// `ready` must become readable and writable when `io` is; it is duplicated.
    ///
    /// # Errors
    /// As [`bind_blocking`](Self::bind_blocking).
    pub fn run_blocking(self, io: impl PacketIo + 'static, ready: impl AsFd) -> Result<blocking::Endpoint, Error> {
        let spin = self.spin;
        Ok(blocking::Endpoint::new(self.hub(io, ready)?, spin))
    }

    fn open(&self, addr: SocketAddr) -> Result<UdpIo, Error> {
        self.config.validate()?;
        UdpIo::bind(addr, self.udp.clone()).map_err(|error| refused(addr.to_string(), error))
    }

    fn hub(self, io: impl PacketIo + 'static, ready: impl AsFd) -> Result<Hub, Error> {
        let addr = io.local_addr();
        let max_peers = self.config.max_peers;
        let core = Core::new(self.config, addr.port(), self.seed.unwrap_or_else(random_seed))?;
        ready
            .as_fd()
            .try_clone_to_owned()
            .and_then(|ready| Hub::new(Driver::new(core, Box::new(io), max_peers), ready))
            .map_err(|error| refused(addr.to_string(), error))
    }
}

fn first(found: io::Result<impl Iterator<Item = SocketAddr>>) -> Result<SocketAddr, Error> {
    found
        .and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::NotFound.into()))
        .map_err(|error| refused("the address given".to_owned(), error))
}

fn refused(address: String, error: io::Error) -> Error {
    Error::Bind { address, source: Arc::new(error) }
}

/// The standard library seeds its hash maps from the system's randomness.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
