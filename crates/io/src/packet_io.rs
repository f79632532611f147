use homarus_proto::{Transmit, Unreachable};
use std::io;
use std::net::SocketAddr;

/// What a driver hands up.
#[derive(Debug)]
pub enum Received<'a> {
    /// One datagram: one Homa packet, or several one after the other.
    Datagram {
        /// Who sent it.
        from: SocketAddr,
        /// Its contents.
        bytes: &'a [u8],
    },
    /// The network says that packets to `peer` are not delivered.
    Unreachable {
        /// Who cannot be reached.
        peer: SocketAddr,
        /// What the ICMP error said.
        why: Unreachable,
    },
    /// Packets to `peer` must not be larger than `mtu` bytes of IP packet.
    PathMtu {
        /// Toward whom.
        peer: SocketAddr,
        /// Bytes of IP packet.
        mtu: usize,
    },
}

/// The seam between an endpoint and a network. No method blocks.
pub trait PacketIo: Send {
    /// The address that peers reply to.
    fn local_addr(&self) -> SocketAddr;

    /// Sends packets in order, batched as well as the driver can, and returns how many were taken: fewer than all
    /// when the socket is full (the caller keeps the rest and waits until it is writable).
    ///
    /// Packets that can never be sent, being too large for the path or having no way to their peer, count as taken;
    /// the next `recv` reports why. Packets that this host drops count as taken too: they are lost like any other.
    ///
    /// # Errors
    /// Only if the driver is of no further use, as when its socket has been closed.
    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize>;

    /// Receives one batch of what has arrived, and returns how many items were handed to `sink`; 0 if nothing waits.
    /// More may wait after any other number: call until it returns 0 before waiting for the socket to be readable.
    ///
    /// # Errors
    /// Only if the driver is of no further use. Items may have been handed up before.
    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize>;

    /// Bytes of ours that wait in this host's device queue, or `None` if the driver cannot tell.
    fn device_queue(&self) -> Option<u64>;

    /// MTU of the path to `peer`, bytes of IP packet, as far as known.
    fn path_mtu(&self, peer: SocketAddr) -> usize;

    /// Bytes that may be in flight toward this endpoint without overflowing its receive buffer.
    fn receive_capacity(&self) -> u32;
}

impl<I: PacketIo + ?Sized> PacketIo for Box<I> {
    fn local_addr(&self) -> SocketAddr {
        (**self).local_addr()
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        (**self).send(batch)
    }

    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        (**self).recv(sink)
    }

    fn device_queue(&self) -> Option<u64> {
        (**self).device_queue()
    }

    fn path_mtu(&self, peer: SocketAddr) -> usize {
        (**self).path_mtu(peer)
    }

    fn receive_capacity(&self) -> u32 {
        (**self).receive_capacity()
    }
}
