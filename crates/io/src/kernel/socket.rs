use super::config::KernelConfig;
use super::layout::{AbortArgs, ControlLength, FIRST_CLIENT_PORT, RecvArgs, SO_HOMA_SERVER, SOL_HOMA, SendArgs};
use super::sys::{self, Region};
use crate::raw::HOMA;
use crate::socket::{RawAddr, normalise, sys as options};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// The system calls that a socket of the Linux Homa module takes: the seam between what homarus does with one and the
/// kernel. No method blocks.
pub trait KernelSocket: Send {
    /// The address that peers know.
    fn local_addr(&self) -> SocketAddr;

    /// What becomes readable when a message waits.
    fn ready(&self) -> BorrowedFd<'_>;

    /// `sendmsg`: a request or response to `to`. The id of a request is written to `args`.
    ///
    /// # Errors
    /// Those of the system call; `WouldBlock` if the kernel has no room at present.
    fn send(&mut self, to: SocketAddr, message: &[u8], args: &mut SendArgs) -> io::Result<()>;

    /// `recvmsg`: gives back the pages in `args` and takes the next message, of which `args` then says where it is. Returns
    /// its length and who sent it.
    ///
    /// # Errors
    /// `WouldBlock` if none waits. An RPC that failed, which `args` names by its id, has the error that it ended with. All
    /// others are those of the system call, and then the id is 0.
    fn recv(&mut self, args: &mut RecvArgs) -> io::Result<(usize, Option<SocketAddr>)>;

    /// Aborts a request of this socket: nothing more is heard of it.
    ///
    /// # Errors
    /// Those of the system call, as for an RPC that has ended.
    fn abort(&mut self, args: &mut AbortArgs) -> io::Result<()>;

    /// Appends `length` bytes of the memory for incoming messages, from `offset` on, to `message`. Whether there are as
    /// many.
    fn copy(&self, offset: u32, length: usize, message: &mut Vec<u8>) -> bool;
}

/// A socket of the module in this host's kernel.
pub(super) struct ModuleSocket {
    socket: Socket,
    local: SocketAddr,
    control_length: ControlLength,
    region: Region,
}

impl ModuleSocket {
    /// See [`KernelIo::bind`](super::KernelIo::bind).
    pub(super) fn bind(addr: SocketAddr, config: &KernelConfig) -> io::Result<ModuleSocket> {
        let addr = normalise(addr);
        if addr.port() >= FIRST_CLIENT_PORT {
            let message = format!(
                "port {}: the Homa module has servers on ports 1 to {}; take one of them, or port 0 for a client's",
                addr.port(),
                FIRST_CLIENT_PORT - 1
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let length = config.region()?;
        let kind = Type::DGRAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(addr), kind, Some(Protocol::from(HOMA))).map_err(explain)?;
        if addr.port() != 0 {
            socket.bind(&addr.into())?;
        }
        let region = Region::new(length)?;
        let mut local = addr;
        local.set_port(socket.local_addr()?.as_socket().map_or(addr.port(), |own| own.port()));
        // From here on, whatever fails, the socket is shut down before the region goes.
        let own = ModuleSocket { socket, local, control_length: ControlLength::UNKNOWN, region };
        sys::give_region(own.socket.as_fd(), &own.region)?;
        match options::set_option(own.socket.as_fd(), SOL_HOMA, SO_HOMA_SERVER, 1) {
            Err(error) if error.raw_os_error() != Some(libc::ENOPROTOOPT) => Err(error),
            _ => Ok(own),
        }
    }
}

fn explain(error: io::Error) -> io::Error {
    if !matches!(error.raw_os_error(), Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT)) {
        return error;
    }
    let message = "this kernel has no Homa module: load it, or use udp:// or homa://";
    io::Error::new(io::ErrorKind::Unsupported, message)
}

impl KernelSocket for ModuleSocket {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn ready(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn send(&mut self, to: SocketAddr, message: &[u8], args: &mut SendArgs) -> io::Result<()> {
        let Some(raw) = RawAddr::encode(normalise(to), self.local.is_ipv6()) else {
            return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
        };
        let sent = sys::send(self.socket.as_fd(), raw, message, args, self.control_length.bytes());
        if !self.control_length.learn(&sent) {
            return sent;
        }
        let sent = sys::send(self.socket.as_fd(), raw, message, args, self.control_length.bytes());
        self.control_length.learn(&sent);
        sent
    }

    fn recv(&mut self, args: &mut RecvArgs) -> io::Result<(usize, Option<SocketAddr>)> {
        sys::receive(self.socket.as_fd(), args)
    }

    fn abort(&mut self, args: &mut AbortArgs) -> io::Result<()> {
        sys::abort(self.socket.as_fd(), args)
    }

    fn copy(&self, offset: u32, length: usize, message: &mut Vec<u8>) -> bool {
        self.region.copy(offset, length, message)
    }
}

impl Drop for ModuleSocket {
    /// Whoever waits for the socket has a duplicate of it, which keeps it open: without this the kernel would go on with
    /// its RPCs, and receive into memory that is no longer there.
    fn drop(&mut self) {
        // Refused only where there is nothing to shut down.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
