use super::config::KernelConfig;
use super::layout::{AbortArgs, PAGE, RecvArgs, SendArgs, is_servers};
use super::socket::{KernelSocket, ModuleSocket};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// Whole messages by way of the Linux Homa module, which does the protocol.
///
/// ```no_run
/// use homarus_io::kernel::{Arrival, KernelConfig, KernelIo};
///
/// # fn main() -> std::io::Result<()> {
/// let mut io = KernelIo::bind("0.0.0.0:4000".parse().expect("an address"), &KernelConfig::default())?;
/// while let Some(arrival) = io.recv()? {
///     if let Arrival::Request { from, id, message } = arrival {
///         io.send_response(from, id, &message)?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct KernelIo {
    socket: Box<dyn KernelSocket>,
    /// What the next `recvmsg` is called with: the pages of the message received last, which has been copied.
    next: RecvArgs,
}

/// What the kernel hands up.
#[derive(Debug)]
pub enum Arrival {
    /// A whole request.
    Request {
        /// The client.
        from: SocketAddr,
        /// What to answer to, together with the client.
        id: u64,
        /// Its contents.
        message: Vec<u8>,
    },
    /// The response to a request.
    Response {
        /// What was sent with the request.
        cookie: u64,
        /// Its contents.
        message: Vec<u8>,
    },
    /// A request that got no response.
    Failed {
        /// What was sent with the request.
        cookie: u64,
        /// What the kernel said.
        error: io::Error,
    },
}

impl KernelIo {
    /// A socket on `addr`, of which the module heeds only the port: it takes requests to any address of this host. Port 0
    /// takes a free one from 32768 up, as clients have it.
    ///
    /// # Errors
    /// `Unsupported` where the kernel has no Homa module, `InvalidInput` for a port or a buffer out of range, else those of
    /// the system calls, foremost `AddrInUse`.
    pub fn bind(addr: SocketAddr, config: &KernelConfig) -> io::Result<KernelIo> {
        Ok(KernelIo::over(ModuleSocket::bind(addr, config)?))
    }

    /// Over another socket than the module's, such as one that only pretends.
    pub fn over(socket: impl KernelSocket + 'static) -> KernelIo {
        KernelIo { socket: Box::new(socket), next: RecvArgs::default() }
    }

    /// The address that peers call.
    pub fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    /// What becomes readable when something has arrived, and writable when the kernel takes messages.
    pub fn ready(&self) -> BorrowedFd<'_> {
        self.socket.ready()
    }

    /// Sends a request, whose response comes with the same `cookie`, and returns its id.
    ///
    /// # Errors
    /// `WouldBlock` if the kernel has no room at present; else what is wrong with the request or the way to its server.
    pub fn send_request(&mut self, to: SocketAddr, cookie: u64, message: &[u8]) -> io::Result<u64> {
        let mut args = SendArgs { cookie, ..SendArgs::default() };
        self.send(to, message, &mut args)?;
        Ok(args.id)
    }

    /// Answers the request `id` of the client at `to`. A client that no longer waits is no error.
    ///
    /// # Errors
    /// As [`send_request`](Self::send_request).
    pub fn send_response(&mut self, to: SocketAddr, id: u64, message: &[u8]) -> io::Result<()> {
        self.send(to, message, &mut SendArgs { id, ..SendArgs::default() })
    }

    fn send(&mut self, to: SocketAddr, message: &[u8], args: &mut SendArgs) -> io::Result<()> {
        let asked = *args;
        loop {
            *args = asked;
            match self.socket.send(to, message, args) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Gives up a request. Nothing more is heard of it, unless it has ended already.
    pub fn abort(&mut self, id: u64) {
        // Refused if it has ended.
        let _ = self.socket.abort(&mut AbortArgs { id, ..AbortArgs::default() });
    }

    /// What has arrived next; `None` if nothing waits. Call until then: the pages of one message are given back by the
    /// call for the next.
    ///
    /// # Errors
    /// Only if the socket is of no further use.
    pub fn recv(&mut self) -> io::Result<Option<Arrival>> {
        loop {
            // The kernel takes pages back before it looks for messages. They are never given back twice: it may have put
            // another message there.
            let mut args = std::mem::take(&mut self.next);
            let received = self.socket.recv(&mut args);
            if matches!(&received, Err(error) if error.kind() == io::ErrorKind::Interrupted && args.id == 0) {
                continue;
            }
            if matches!(&received, Err(error) if error.kind() == io::ErrorKind::WouldBlock && args.id == 0) {
                return Ok(None);
            }
            if args.id == 0 {
                return Err(received.err().unwrap_or_else(|| nonsense("a message without an id")));
            }
            let message = received.map(|(length, from)| (self.copy(&args, length), from));
            self.next = RecvArgs { num_pages: args.pages().len() as u32, pages: args.pages, ..RecvArgs::default() };
            return Ok(Some(match (message, is_servers(args.id)) {
                (Ok((message, from)), true) => {
                    let from = from.ok_or_else(|| nonsense("a request without a client"))?;
                    Arrival::Request { from, id: args.id, message: message? }
                }
                (Ok((message, _)), false) => Arrival::Response { cookie: args.cookie, message: message? },
                (Err(error), false) => Arrival::Failed { cookie: args.cookie, error },
                // The end of a request that this side has not answered yet; the answer will go nowhere.
                (Err(_), true) => continue,
            }));
        }
    }

    /// The message in the pages that `args` names: all whole but the last.
    fn copy(&self, args: &RecvArgs, length: usize) -> io::Result<Vec<u8>> {
        let pages = args.pages();
        if length.div_ceil(PAGE) > pages.len() {
            return Err(nonsense(&format!("{} pages for {length} bytes", pages.len())));
        }
        let mut message = Vec::with_capacity(length);
        for &offset in pages {
            let part = (length - message.len()).min(PAGE);
            if !self.socket.copy(offset, part, &mut message) {
                return Err(nonsense(&format!("a page at {offset}, beyond the memory that it was given")));
            }
        }
        Ok(message)
    }
}

/// What no module that speaks as we know it would say.
fn nonsense(what: &str) -> io::Error {
    let message = format!(
        "the Homa module named {what}: it seems to be of a version whose interface differs; use udp:// or homa:// instead"
    );
    io::Error::new(io::ErrorKind::InvalidData, message)
}
