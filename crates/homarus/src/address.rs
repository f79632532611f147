use crate::Error;
use homarus_proto::Framing;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error as ThisError;

/// Where an endpoint is, and how Homa gets there: `HOST:PORT` or `udp://HOST:PORT` inside UDP, `homa://HOST:PORT` over
/// IP protocol 146, as hosts with the Linux Homa module speak it, and `kernel://HOST:PORT` by this host's own module.
///
/// HOST is a name, an IPv4 address, or an IPv6 address in brackets. With `homa://` and `kernel://` the port is a Homa
/// port, which has nothing to do with UDP's: the module has servers on 1 to 32767 and clients from 32768 up. The packets
/// are the same with both, so that one end may use the one and the other end the other.
///
/// ```
/// use homarus::{Address, Carrier};
///
/// let address: Address = "homa://[::1]:4000".parse()?;
/// assert_eq!((address.carrier(), address.host_port()), (Carrier::Ip, "[::1]:4000"));
/// assert_eq!("10.0.0.1:4000".parse::<Address>()?.carrier(), Carrier::Udp);
/// # Ok::<(), homarus::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    carrier: Carrier,
    host_port: String,
}

/// What carries an endpoint's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Homa inside UDP, by a UDP socket.
    Udp,
    /// Homa over IP, by a raw socket.
    Ip,
    /// Homa over IP, by the Homa module of this host's kernel.
    Kernel,
}

impl Carrier {
    /// How the packets look.
    pub fn framing(self) -> Framing {
        match self {
            Carrier::Udp => Framing::Udp,
            Carrier::Ip | Carrier::Kernel => Framing::Ip,
        }
    }
}

/// The carrier that needs no module.
impl From<Framing> for Carrier {
    fn from(framing: Framing) -> Carrier {
        match framing {
            Framing::Udp => Carrier::Udp,
            Framing::Ip => Carrier::Ip,
        }
    }
}

/// A text is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error(
    "'{text}' is no address: expected HOST:PORT, such as 127.0.0.1:4000, for Homa over UDP, homa://HOST:PORT for Homa \
     over IP, or kernel://HOST:PORT for the kernel's Homa module; IPv6 addresses in brackets"
)]
pub struct AddressError {
    text: String,
}

impl Address {
    /// The socket address `addr`, spoken to by `carrier`.
    pub fn new(carrier: Carrier, addr: SocketAddr) -> Address {
        Address { carrier, host_port: addr.to_string() }
    }

    /// What carries messages there.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Host and port, without what comes before them.
    pub fn host_port(&self) -> &str {
        &self.host_port
    }

    /// Looks up the host's name, if it is one; of several addresses the first.
    ///
    /// # Errors
    /// [`Error::Resolve`] if there is none.
    ///
    /// # Panics
    /// If it is not called within a tokio runtime.
    pub async fn resolve(&self) -> Result<SocketAddr, Error> {
        self.first(tokio::net::lookup_host(&self.host_port).await)
    }

    /// As [`resolve`](Self::resolve), on this thread.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn resolve_blocking(&self) -> Result<SocketAddr, Error> {
        self.first(self.host_port.to_socket_addrs())
    }

    fn first(&self, found: io::Result<impl Iterator<Item = SocketAddr>>) -> Result<SocketAddr, Error> {
        found
            .and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::NotFound.into()))
            .map_err(|error| Error::Resolve { address: self.to_string(), source: Arc::new(error) })
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let (carrier, host_port) = match text.split_once("://") {
            None => (Carrier::Udp, text),
            Some(("udp", rest)) => (Carrier::Udp, rest),
            Some(("homa", rest)) => (Carrier::Ip, rest),
            Some(("kernel", rest)) => (Carrier::Kernel, rest),
            Some(_) => return Err(AddressError { text: text.to_owned() }),
        };
        match is_host_port(host_port) {
            true => Ok(Address { carrier, host_port: host_port.to_owned() }),
            false => Err(AddressError { text: text.to_owned() }),
        }
    }
}

fn is_host_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let in_brackets = host.starts_with('[') && host.ends_with(']');
    let is_host = !host.is_empty() && (in_brackets || !host.contains([':', '/', '[', ']', ' ']));
    is_host && port.parse::<u16>().is_ok()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = match self.carrier {
            Carrier::Udp => "",
            Carrier::Ip => "homa://",
            Carrier::Kernel => "kernel://",
        };
        write!(f, "{before}{}", self.host_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        text.parse::<Address>().ok().map(|address| address.to_string())
    }

    #[test]
    fn forms_of_addresses() {
        for text in ["127.0.0.1:4000", "localhost:1", "[::1]:4000", "[fe80::1%eth0]:7"] {
            assert_eq!(shown(text).as_deref(), Some(text));
        }
        for text in ["homa://[::]:0", "homa://a.b:9", "kernel://[::1]:7", "kernel://a.b:9"] {
            assert_eq!(shown(text).as_deref(), Some(text));
        }
        assert_eq!(shown("udp://10.0.0.1:5").as_deref(), Some("10.0.0.1:5"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "nonsense", ":4000", "::1:4000", "host:", "host:70000", "host:-1", "homa://", "homa://host"] {
            assert_eq!(shown(text), None, "{text}");
        }
        for text in ["http://host:80", "homa:/host:1", "homa://host:1/x", "homa://kernel://h:1", "kernel://::1:4000"] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_looked_up() {
        let address: Address = "homa://localhost:4000".parse().expect("an address");
        let found = address.resolve_blocking().expect("every host knows itself");
        assert!(found.ip().is_loopback() && found.port() == 4000);
        let nobody: Address = "nobody.invalid:1".parse().expect("an address");
        assert!(matches!(nobody.resolve_blocking(), Err(Error::Resolve { .. })));
    }
}
