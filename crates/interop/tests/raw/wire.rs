use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A raw socket for protocol 146, as simple as can be: the driver under test is the other side's.
pub(crate) struct Wire(Socket);

/// A packet that came.
pub(crate) struct Came {
    pub(crate) from: IpAddr,
    pub(crate) priority: u8,
    pub(crate) homa: Vec<u8>,
}

impl Wire {
    pub(crate) fn open(host: IpAddr) -> Wire {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(146))).expect("a raw socket");
        socket.bind(&SockAddr::from(SocketAddr::new(host, 0))).expect("a local address");
        socket.set_recv_buffer_size(4 << 20).expect("a receive buffer");
        socket.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        Wire(socket)
    }

    pub(crate) fn send(&self, to: IpAddr, priority: u8, homa: &[u8]) {
        self.0.set_tos_v4(u32::from(priority) << 5).expect("a priority");
        let sent = self.0.send_to(homa, &SockAddr::from(SocketAddr::new(to, 0)));
        match sent {
            Ok(length) => assert_eq!(length, homa.len()),
            // As full as a device queue can be: lost like any other packet.
            Err(why) if [ErrorKind::WouldBlock, ErrorKind::Other].contains(&why.kind()) => {}
            Err(why) => panic!("sending {} bytes: {why}", homa.len()),
        }
    }

    /// Waits a little for a packet.
    pub(crate) fn receive(&mut self) -> Option<Came> {
        let mut packet = [0; 65_536];
        let length = match self.0.read(&mut packet) {
            Ok(length) => length,
            Err(why) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&why.kind()) => return None,
            Err(why) => panic!("receiving: {why}"),
        };
        let header = usize::from(packet[0] & 0xf) * 4;
        let from = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
        assert_eq!(packet[9], 146, "the protocol");
        Some(Came { from: from.into(), priority: packet[1] >> 5, homa: packet[header..length].to_vec() })
    }
}
