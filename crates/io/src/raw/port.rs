use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A Homa port that belongs to one endpoint as long as this lives.
///
/// The kernel knows no ports of protocol 146 unless it has the Homa module, so two endpoints could take the same one and
/// both would answer. A name in the abstract namespace of Unix sockets keeps them apart: like a port it exists once
/// in a network namespace, for all processes, and is free again when its socket closes.
pub(super) struct Port {
    number: u16,
    _name: UnixDatagram,
}

/// Where clients' ports begin, as the Linux module assigns them; those of servers are below.
const FIRST_CLIENT: u16 = 0x8000;

impl Port {
    /// Takes port `wanted` of IPv4, or of IPv6 if `v6`; if it is 0, any free one of those for clients.
    pub(super) fn take(wanted: u16, v6: bool) -> io::Result<Port> {
        if wanted != 0 {
            return Port::try_take(wanted, v6).map_err(|error| explain(error, wanted));
        }
        let start = RandomState::new().hash_one(v6) as u16;
        for step in 0..FIRST_CLIENT {
            match Port::try_take(FIRST_CLIENT | start.wrapping_add(step), v6) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                result => return result,
            }
        }
        let message = "all Homa ports from 32768 to 65535 are taken: close some endpoints";
        Err(io::Error::new(io::ErrorKind::AddrInUse, message))
    }

    pub(super) fn number(&self) -> u16 {
        self.number
    }

    fn try_take(number: u16, v6: bool) -> io::Result<Port> {
        let family = if v6 { "ipv6" } else { "ipv4" };
        let name = SocketAddr::from_abstract_name(format!("homarus/{family}/146/{number}"))?;
        Ok(Port { number, _name: UnixDatagram::bind_addr(&name)? })
    }
}

fn explain(error: io::Error, port: u16) -> io::Error {
    if error.kind() != io::ErrorKind::AddrInUse {
        return error;
    }
    io::Error::new(
        error.kind(),
        format!("Homa port {port} belongs to another endpoint of this host: choose another (port 0 takes any)"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_one_owner_at_a_time() {
        let any = Port::take(0, false).unwrap();
        assert!(any.number() >= FIRST_CLIENT);
        let error = Port::take(any.number(), false).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let number = any.number();
        drop(any);
        assert_eq!(Port::take(number, false).unwrap().number(), number);
    }

    #[test]
    fn the_families_have_ports_of_their_own() {
        let one = Port::take(0, true).unwrap();
        assert!(Port::take(one.number(), false).is_ok());
    }
}
