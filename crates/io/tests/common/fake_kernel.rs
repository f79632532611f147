//! A kernel with the Homa module, in memory: what its sockets do with ids, cookies, pages and errors.
#![allow(dead_code)]

use homarus_io::kernel::{AbortArgs, FIRST_CLIENT_PORT, KernelSocket, MAX_MESSAGE, PAGE, RecvArgs, SendArgs};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard};

/// The network and the hosts' kernels, all in one.
#[derive(Clone, Default)]
pub(crate) struct FakeKernel {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    sockets: HashMap<SocketAddr, Sock>,
    /// Ids given out so far.
    ids: u64,
    /// Ports given out so far.
    ports: u16,
}

/// What the kernel keeps for a socket.
struct Sock {
    waiting: VecDeque<Waiting>,
    /// Has one byte in it for everything that waits.
    bell: UnixStream,
    region: Vec<u8>,
    /// Pages that hold messages, until they are given back.
    out: HashSet<usize>,
    /// Requests that have not ended: cookies by id.
    calls: HashMap<u64, u64>,
    /// Requests received and not answered: who asked, and the id.
    in_service: HashSet<(SocketAddr, u64)>,
    aborted: Vec<u64>,
    faults: Faults,
}

/// What goes wrong at a socket.
#[derive(Default)]
pub(crate) struct Faults {
    /// Messages for which there is no room, before there is again.
    pub(crate) full: u32,
    /// What the next messages are refused with.
    pub(crate) send_errors: VecDeque<i32>,
    /// What the next `recvmsg` fails with.
    pub(crate) recv_error: Option<i32>,
    /// Whether what is sent is lost.
    pub(crate) loses: bool,
}

struct Waiting {
    id: u64,
    cookie: u64,
    from: SocketAddr,
    result: Result<Vec<u8>, i32>,
}

/// A socket of a [`FakeKernel`].
pub(crate) struct FakeSocket {
    kernel: FakeKernel,
    local: SocketAddr,
    ready: UnixStream,
}

impl FakeKernel {
    /// A socket on `addr` with memory for `pages` pages; port 0 takes a client's.
    pub(crate) fn socket(&self, addr: &str, pages: usize) -> FakeSocket {
        let (bell, ready) = UnixStream::pair().unwrap();
        bell.set_nonblocking(true).unwrap();
        ready.set_nonblocking(true).unwrap();
        let mut state = self.lock();
        let mut local: SocketAddr = addr.parse().unwrap();
        if local.port() == 0 {
            local.set_port(FIRST_CLIENT_PORT + state.ports);
            state.ports += 1;
        }
        let sock = Sock {
            waiting: VecDeque::new(),
            bell,
            region: vec![0; pages * PAGE],
            out: HashSet::new(),
            calls: HashMap::new(),
            in_service: HashSet::new(),
            aborted: Vec::new(),
            faults: Faults::default(),
        };
        assert!(state.sockets.insert(local, sock).is_none(), "{local} is taken");
        drop(state);
        FakeSocket { kernel: self.clone(), local, ready }
    }

    /// Has things go wrong at a socket.
    pub(crate) fn with_faults(&self, addr: SocketAddr, change: impl FnOnce(&mut Faults)) {
        change(&mut self.lock().sock(addr).faults);
    }

    /// Ends all requests of a socket with an error.
    pub(crate) fn fail_calls(&self, addr: SocketAddr, errno: i32) {
        let mut state = self.lock();
        let sock = state.sock(addr);
        for (id, cookie) in std::mem::take(&mut sock.calls) {
            sock.arrive(Waiting { id, cookie, from: addr, result: Err(errno) });
        }
    }

    /// Has a response arrive to which there is no request.
    pub(crate) fn stray_response(&self, addr: SocketAddr, cookie: u64, message: &[u8]) {
        self.lock().sock(addr).arrive(Waiting { id: 2, cookie, from: addr, result: Ok(message.to_vec()) });
    }

    /// Pages of a socket that have not been given back.
    pub(crate) fn pages_out(&self, addr: SocketAddr) -> usize {
        self.lock().sock(addr).out.len()
    }

    /// Requests that a socket has aborted.
    pub(crate) fn aborted(&self, addr: SocketAddr) -> Vec<u64> {
        self.lock().sock(addr).aborted.clone()
    }

    /// Requests that a socket has sent and that have not ended.
    pub(crate) fn calls(&self, addr: SocketAddr) -> usize {
        self.lock().sock(addr).calls.len()
    }

    /// Requests that a socket has received and not answered.
    pub(crate) fn in_service(&self, addr: SocketAddr) -> usize {
        self.lock().sock(addr).in_service.len()
    }

    /// What a socket has not received yet.
    pub(crate) fn waiting(&self, addr: SocketAddr) -> usize {
        self.lock().sock(addr).waiting.len()
    }

    pub(crate) fn is_open(&self, addr: SocketAddr) -> bool {
        self.lock().sockets.contains_key(&addr)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn sock(&mut self, addr: SocketAddr) -> &mut Sock {
        self.sockets.get_mut(&addr).unwrap_or_else(|| panic!("no socket on {addr}"))
    }

    fn request(&mut self, from: SocketAddr, to: SocketAddr, message: &[u8], cookie: u64) -> u64 {
        self.ids += 2;
        let id = self.ids;
        let sock = self.sock(from);
        sock.calls.insert(id, cookie);
        if sock.faults.loses {
            return id;
        }
        match self.sockets.get_mut(&to) {
            Some(server) => server.arrive(Waiting { id: id ^ 1, cookie: 0, from, result: Ok(message.to_vec()) }),
            None => self.fail(from, id, cookie),
        }
        id
    }

    fn fail(&mut self, from: SocketAddr, id: u64, cookie: u64) {
        let sock = self.sock(from);
        sock.calls.remove(&id);
        sock.arrive(Waiting { id, cookie, from, result: Err(libc::ENOTCONN) });
    }

    fn respond(&mut self, from: SocketAddr, to: SocketAddr, message: &[u8], id: u64) {
        let sock = self.sock(from);
        assert!(sock.in_service.remove(&(to, id)), "answers what was not asked, or twice");
        if sock.faults.loses {
            return;
        }
        if let Some(client) = self.sockets.get_mut(&to)
            && let Some(cookie) = client.calls.remove(&(id ^ 1))
        {
            client.arrive(Waiting { id: id ^ 1, cookie, from, result: Ok(message.to_vec()) });
        }
    }
}

impl Sock {
    fn arrive(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
        self.bell.write_all(&[0]).unwrap();
    }

    fn take_back(&mut self, args: &mut RecvArgs) {
        for offset in args.pages() {
            assert!(self.out.remove(&(*offset as usize / PAGE)), "the page at {offset} is given back twice");
        }
        args.num_pages = 0;
    }

    /// Puts a message into free pages; whether there were enough. The last page begins somewhere.
    fn place(&mut self, message: &[u8], args: &mut RecvArgs) -> bool {
        let pages = self.region.len() / PAGE;
        let free: Vec<usize> = (0..pages).filter(|page| !self.out.contains(page)).collect();
        let parts: Vec<&[u8]> = message.chunks(PAGE).collect();
        if free.len() < parts.len() {
            return false;
        }
        for (index, (part, page)) in parts.iter().zip(&free).enumerate() {
            let offset = page * PAGE + (PAGE - part.len()) / 2;
            self.region[offset..][..part.len()].copy_from_slice(part);
            self.out.insert(*page);
            args.pages[index] = offset as u32;
        }
        args.num_pages = parts.len() as u32;
        true
    }
}

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl KernelSocket for FakeSocket {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn ready(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn send(&mut self, to: SocketAddr, message: &[u8], args: &mut SendArgs) -> io::Result<()> {
        assert_eq!((args.flags, args.reserved), (0, 0));
        let mut state = self.kernel.lock();
        let faults = &mut state.sock(self.local).faults;
        if faults.full > 0 {
            faults.full -= 1;
            return Err(errno(libc::EAGAIN));
        }
        if let Some(error) = faults.send_errors.pop_front() {
            return Err(errno(error));
        }
        if message.is_empty() || message.len() > MAX_MESSAGE {
            return Err(errno(libc::EINVAL));
        }
        match args.id {
            0 => args.id = state.request(self.local, to, message, args.cookie),
            id => state.respond(self.local, to, message, id),
        }
        Ok(())
    }

    fn recv(&mut self, args: &mut RecvArgs) -> io::Result<(usize, Option<SocketAddr>)> {
        assert_eq!((args.id, args.reserved), (0, 0));
        let mut state = self.kernel.lock();
        let sock = state.sock(self.local);
        sock.take_back(args);
        if let Some(error) = sock.faults.recv_error.take() {
            return Err(errno(error));
        }
        let Some(next) = sock.waiting.pop_front() else { return Err(errno(libc::EAGAIN)) };
        if next.result.as_ref().is_ok_and(|message| !sock.place(message, args)) {
            sock.waiting.push_front(next);
            return Err(errno(libc::EAGAIN));
        }
        self.ready.read_exact(&mut [0]).unwrap();
        (args.id, args.cookie) = (next.id, next.cookie);
        let message = next.result.map_err(errno)?;
        if next.id % 2 == 1 {
            sock.in_service.insert((next.from, next.id));
        }
        Ok((message.len(), Some(next.from)))
    }

    fn abort(&mut self, args: &mut AbortArgs) -> io::Result<()> {
        assert_eq!(args.error, 0);
        let mut state = self.kernel.lock();
        let sock = state.sock(self.local);
        sock.aborted.push(args.id);
        match sock.calls.remove(&args.id) {
            Some(_) => Ok(()),
            None => Err(errno(libc::EINVAL)),
        }
    }

    fn copy(&self, offset: u32, length: usize, message: &mut Vec<u8>) -> bool {
        let mut state = self.kernel.lock();
        let part = state.sock(self.local).region.get(offset as usize..).and_then(|rest| rest.get(..length));
        part.map(|part| message.extend_from_slice(part)).is_some()
    }
}

impl Drop for FakeSocket {
    fn drop(&mut self) {
        self.kernel.lock().sockets.remove(&self.local);
    }
}
