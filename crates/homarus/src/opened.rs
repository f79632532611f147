use crate::driver::{By, Driver, Kernel, LINUX_MAX_MESSAGE, Packets};
use crate::hub::Hub;
use crate::{Address, Builder, Carrier, Error, asynch, blocking};
use homarus_io::{KernelIo, PacketIo, RawIo, UdpIo};
use homarus_proto::{Config, Endpoint as Core, Framing};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Settings and the socket that they are for.
pub(crate) struct Opened {
    builder: Builder,
    link: Link,
    /// Becomes readable and writable when the socket is.
    ready: OwnedFd,
    /// What the endpoint is known as.
    local: Address,
}

enum Link {
    Packets(Box<dyn PacketIo>),
    Kernel(KernelIo),
}

impl Opened {
    /// Opens a socket on `addr`.
    pub(crate) fn open(builder: Builder, carrier: Carrier, addr: SocketAddr) -> Result<Opened, Error> {
        let config = Config { framing: carrier.framing(), ..builder.config.clone() };
        config.validate()?;
        let builder = Builder { config, ..builder };
        let explain = |error| refused(&Address::new(carrier, addr), error);
        match carrier {
            Carrier::Udp => {
                let io = UdpIo::bind(addr, builder.udp.clone()).map_err(explain)?;
                let ready = io.as_fd().try_clone_to_owned().map_err(explain)?;
                Opened::over(builder, Box::new(io), ready)
            }
            Carrier::Ip => {
                let io = RawIo::bind(addr, builder.raw.clone()).map_err(explain)?;
                let ready = io.as_fd().try_clone_to_owned().map_err(explain)?;
                Opened::over(builder, Box::new(io), ready)
            }
            Carrier::Kernel => {
                let io = KernelIo::bind(addr, &builder.kernel).map_err(explain)?;
                Opened::over_kernel(builder, io)
            }
        }
    }

    /// Takes a driver as it is.
    pub(crate) fn over(builder: Builder, io: Box<dyn PacketIo>, ready: impl AsFd) -> Result<Opened, Error> {
        let local = Address::new(builder.config.framing.into(), io.local_addr());
        let ready = ready.as_fd().try_clone_to_owned().map_err(|error| refused(&local, error))?;
        Ok(Opened { builder, link: Link::Packets(io), ready, local })
    }

    /// Takes a socket of the Homa module as it is.
    pub(crate) fn over_kernel(builder: Builder, io: KernelIo) -> Result<Opened, Error> {
        let local = Address::new(Carrier::Kernel, io.local_addr());
        if builder.capture.is_some() {
            let message = "the kernel's Homa module does not hand out packets to capture: leave out the capture, or take it \
                           from the network interface (tcpdump proto 146)";
            return Err(refused(&local, io::Error::new(io::ErrorKind::Unsupported, message)));
        }
        let ready = io.ready().try_clone_to_owned().map_err(|error| refused(&local, error))?;
        Ok(Opened { builder, link: Link::Kernel(io), ready, local })
    }

    /// Has a task of the present runtime drive the endpoint.
    pub(crate) fn run(self) -> Result<asynch::Endpoint, Error> {
        let local = self.local.clone();
        asynch::Endpoint::spawn(self.hub()?).map_err(|error| refused(&local, error))
    }

    /// Leaves it to its users to drive the endpoint.
    pub(crate) fn run_blocking(self) -> Result<blocking::Endpoint, Error> {
        let spin = self.builder.spin;
        Ok(blocking::Endpoint::new(self.hub()?, spin))
    }

    fn hub(self) -> Result<Hub, Error> {
        let by = match self.link {
            Link::Packets(io) => By::Packets(packets(self.builder, io)?),
            Link::Kernel(io) => {
                self.builder.config.validate()?;
                By::Kernel(Kernel::new(self.builder.config, io))
            }
        };
        Hub::new(Driver::new(by), self.ready).map_err(|error| refused(&self.local, error))
    }
}

fn packets(builder: Builder, io: Box<dyn PacketIo>) -> Result<Packets, Error> {
    let Builder { mut config, capture, seed, long_over_ip, .. } = builder;
    let framing = config.framing;
    if framing == Framing::Ip && !long_over_ip {
        config.max_message_len = config.max_message_len.min(LINUX_MAX_MESSAGE);
    }
    let max_peers = config.max_peers;
    let core = Core::new(config, io.local_addr().port(), seed.unwrap_or_else(random_seed))?;
    let io = match capture {
        Some(capture) => Box::new(capture.tap(io, framing)),
        None => io,
    };
    Ok(Packets::new(core, io, max_peers))
}

fn refused(address: &Address, error: io::Error) -> Error {
    Error::Bind { address: address.to_string(), source: Arc::new(error) }
}

/// The standard library seeds its hash maps from the system's randomness.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
