//! Each packet carries its priority in the TOS byte, seen by a plain socket.

use crate::common::*;
use homarus_io::UdpConfig;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// A plain socket that is told the TOS of what it receives.
fn plain(ip: &str) -> UdpSocket {
    let socket = UdpSocket::bind(SocketAddr::new(ip.parse().unwrap(), 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let one: libc::c_int = 1;
    let (level, name) = if socket.local_addr().unwrap().is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVTOS)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
    };
    // SAFETY: `one` outlives the call.
    let result = unsafe {
        let len = size_of_val(&one) as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const one).cast(), len)
    };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    socket
}

/// Receives one datagram: its bytes and TOS.
fn receive(socket: &UdpSocket) -> (Vec<u8>, u8) {
    let mut bytes = vec![0; 1 << 16];
    let mut control = [0_u64; 16];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: zero is valid for all fields; the pointers are to locals that outlive the calls.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let length = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        assert!(length >= 0, "{}", io::Error::last_os_error());
        let cmsg = libc::CMSG_FIRSTHDR(&raw const message);
        assert!(!cmsg.is_null(), "no TOS came");
        bytes.truncate(length as usize);
        (bytes, *libc::CMSG_DATA(cmsg))
    }
}

fn check(sender: &str, receiver: &str, config: UdpConfig) {
    let mut io = bind(sender, config);
    let socket = plain(receiver);
    let to = socket.local_addr().unwrap();
    let mut batch = Vec::new();
    for priority in (0..8).chain([7, 6, 0]) {
        let id = u64::from(priority);
        batch.push(data(to, priority, 100, 0, 100, id));
        batch.extend((0..3).map(|part| data(to, priority, 2100, part * 700, 700, id)));
    }
    send_all(&mut io, &batch);
    let mut expected = batch.as_slice();
    while !expected.is_empty() {
        let (bytes, tos) = receive(&socket);
        let mut contents = Vec::new();
        while contents.len() < bytes.len() {
            let (packet, rest) = expected.split_first().expect("more bytes than were sent");
            assert_eq!(tos, packet.priority << 5);
            contents.extend(image(std::slice::from_ref(packet)));
            expected = rest;
        }
        assert_eq!(contents, bytes);
    }
}

#[test]
fn priority_is_in_the_tos_byte() {
    for (gso, coalesce) in [(true, true), (true, false), (false, true), (false, false)] {
        let config = UdpConfig { gso, coalesce, max_mtu: 1500, ..UdpConfig::default() };
        check("127.0.0.1", "127.0.0.1", config.clone());
        if have_ipv6() {
            check("::1", "::1", config.clone());
            check("::", "127.0.0.1", config.clone());
            check("::", "::1", config);
        }
    }
}
