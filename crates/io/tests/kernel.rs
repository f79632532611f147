//! Messages by way of the Linux Homa module: against a fake of its socket, and against the real one where there is one.

#[path = "common/fake_kernel.rs"]
mod fake_kernel;

use fake_kernel::FakeKernel;
use homarus_io::kernel::{AbortArgs, Arrival, KernelSocket, MAX_MESSAGE, PAGE, RecvArgs, SendArgs};
use homarus_io::{KernelConfig, KernelIo};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

const SERVER: &str = "10.0.0.1:4000";

/// A server and a client, each with memory for `pages` pages.
fn pair(kernel: &FakeKernel, pages: usize) -> (KernelIo, KernelIo) {
    (KernelIo::over(kernel.socket(SERVER, pages)), KernelIo::over(kernel.socket("10.0.0.2:0", pages)))
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 + index / 251) as u8).collect()
}

/// Answers everything that waits with its own contents, and returns how many requests there were.
fn echo_all(server: &mut KernelIo) -> usize {
    let mut count = 0;
    while let Some(arrival) = server.recv().unwrap() {
        let Arrival::Request { from, id, message } = arrival else { panic!("no request: {arrival:?}") };
        server.send_response(from, id, &message).unwrap();
        count += 1;
    }
    count
}

#[test]
fn messages_of_one_page_and_of_many_come_back_and_their_pages_are_given_back() {
    let kernel = FakeKernel::default();
    let (mut server, mut client) = pair(&kernel, 16);
    for (cookie, len) in [1, 100, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE, MAX_MESSAGE].into_iter().enumerate() {
        let sent = pattern(len);
        client.send_request(server.local_addr(), cookie as u64, &sent).unwrap();
        assert_eq!(echo_all(&mut server), 1);
        match client.recv().unwrap() {
            Some(Arrival::Response { cookie: same, message }) => assert!(same == cookie as u64 && message == sent),
            other => panic!("no response: {other:?}"),
        }
        assert_eq!(kernel.pages_out(client.local_addr()), len.div_ceil(PAGE));
        assert!(client.recv().unwrap().is_none());
        assert_eq!(kernel.pages_out(client.local_addr()), 0);
        assert_eq!(kernel.pages_out(server.local_addr()), 0);
    }
}

#[test]
fn many_messages_pass_through_little_memory() {
    let kernel = FakeKernel::default();
    let (mut server, mut client) = pair(&kernel, 16);
    for cookie in 0..50 {
        client.send_request(server.local_addr(), cookie, &pattern(MAX_MESSAGE - cookie as usize)).unwrap();
    }
    assert_eq!(echo_all(&mut server), 50);
    let mut lengths = Vec::new();
    while let Some(Arrival::Response { cookie, message }) = client.recv().unwrap() {
        assert_eq!(message.len(), MAX_MESSAGE - cookie as usize);
        lengths.push(message.len());
    }
    assert_eq!(lengths.len(), 50);
    assert_eq!(kernel.pages_out(client.local_addr()) + kernel.pages_out(server.local_addr()), 0);
}

#[test]
fn a_request_that_fails_says_which_and_why() {
    let kernel = FakeKernel::default();
    let (server, mut client) = pair(&kernel, 16);
    client.send_request(server.local_addr(), 5, b"late").unwrap();
    kernel.fail_calls(client.local_addr(), libc::ETIMEDOUT);
    client.send_request("10.0.0.9:1".parse().unwrap(), 6, b"nobody").unwrap();
    for expected in [(5, libc::ETIMEDOUT), (6, libc::ENOTCONN)] {
        match client.recv().unwrap() {
            Some(Arrival::Failed { cookie, error }) => assert_eq!((cookie, error.raw_os_error().unwrap()), expected),
            other => panic!("it did not fail: {other:?}"),
        }
    }
    assert!(client.recv().unwrap().is_none());
}

#[test]
fn what_the_kernel_does_not_take_is_the_callers() {
    let kernel = FakeKernel::default();
    let (mut server, mut client) = pair(&kernel, 16);
    kernel.with_faults(client.local_addr(), |faults| {
        faults.full = 1;
        faults.send_errors = [libc::EINTR, libc::EHOSTUNREACH].into();
    });
    let mut send = || client.send_request(server.local_addr(), 1, b"request");
    assert_eq!(send().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    assert_eq!(send().unwrap_err().raw_os_error(), Some(libc::EHOSTUNREACH), "the interrupted call was repeated");
    assert_eq!(send().unwrap() % 2, 0);
    assert_eq!(echo_all(&mut server), 1);
}

#[test]
fn nothing_is_heard_of_what_was_aborted() {
    let kernel = FakeKernel::default();
    let (mut server, mut client) = pair(&kernel, 16);
    let id = client.send_request(server.local_addr(), 1, b"request").unwrap();
    client.abort(id);
    client.abort(id);
    assert_eq!(echo_all(&mut server), 1);
    assert!(client.recv().unwrap().is_none());
    assert_eq!((kernel.calls(client.local_addr()), kernel.aborted(client.local_addr())), (0, vec![id, id]));
}

#[test]
fn a_socket_that_broke_is_an_error() {
    let kernel = FakeKernel::default();
    let (_server, mut client) = pair(&kernel, 16);
    kernel.with_faults(client.local_addr(), |faults| faults.recv_error = Some(libc::ESHUTDOWN));
    assert_eq!(client.recv().unwrap_err().raw_os_error(), Some(libc::ESHUTDOWN));
}

/// A module whose interface is another than the one known here.
struct Stranger {
    says: RecvArgs,
    ready: UnixStream,
}

impl KernelSocket for Stranger {
    fn local_addr(&self) -> SocketAddr {
        SERVER.parse().unwrap()
    }

    fn ready(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn send(&mut self, _to: SocketAddr, _message: &[u8], _args: &mut SendArgs) -> io::Result<()> {
        Ok(())
    }

    fn recv(&mut self, args: &mut RecvArgs) -> io::Result<(usize, Option<SocketAddr>)> {
        *args = self.says;
        Ok((PAGE + 1, None))
    }

    fn abort(&mut self, _args: &mut AbortArgs) -> io::Result<()> {
        Ok(())
    }

    fn copy(&self, offset: u32, length: usize, message: &mut Vec<u8>) -> bool {
        message.resize(message.len() + length, 0);
        offset < 1 << 20
    }
}

#[test]
fn an_interface_that_differs_is_noticed() {
    let said = |id, num_pages, last| {
        let mut pages = [0; 16];
        pages[1] = last;
        let says = RecvArgs { id, num_pages, pages, ..RecvArgs::default() };
        let stranger = Stranger { says, ready: UnixStream::pair().unwrap().0 };
        KernelIo::over(stranger).recv().map(|arrival| arrival.is_some())
    };
    assert!(said(2, 2, 0).unwrap());
    // No id, no pages, too few, one beyond the memory, no client.
    for (id, num_pages, last) in [(0, 2, 0), (2, 0, 0), (2, 1, 0), (2, 2, 1 << 20), (3, 2, 0)] {
        let error = said(id, num_pages, last).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("use udp:// or homa://"), "{error}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let bind = |port, buffer| KernelIo::bind(SocketAddr::from(([127, 0, 0, 1], port)), &KernelConfig { buffer });
    for (port, buffer) in [(0x8000, 32 << 20), (4000, 65_536)] {
        assert_eq!(bind(port, buffer).err().unwrap().kind(), io::ErrorKind::InvalidInput);
    }
}

#[test]
fn the_real_module_echoes() {
    let config = KernelConfig::default();
    let mut server = match KernelIo::bind("127.0.0.1:4000".parse().unwrap(), &config) {
        Ok(server) => server,
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            assert_eq!(error.to_string(), "this kernel has no Homa module: load it, or use udp:// or homa://");
            return println!("SKIPPED: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    let mut client = KernelIo::bind("127.0.0.1:0".parse().unwrap(), &config).unwrap();
    for (cookie, len) in [1, 100, PAGE + 1, MAX_MESSAGE].into_iter().enumerate() {
        let sent = pattern(len);
        client.send_request(server.local_addr(), cookie as u64, &sent).unwrap();
        let begun = Instant::now();
        let answer = loop {
            echo_all(&mut server);
            match client.recv().unwrap() {
                Some(answer) => break answer,
                None => assert!(begun.elapsed() < Duration::from_secs(30), "no response to {len} bytes"),
            }
        };
        let Arrival::Response { cookie: same, message } = answer else { panic!("{answer:?}") };
        assert!(same == cookie as u64 && message == sent, "{len} bytes");
    }
}
