use super::{HOMA, ICMP, Ip, UDP, u16_at};
use crate::rpcs::RpcKey;
use std::net::IpAddr;

/// An ICMP message that says that a packet of Homa did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// What it says.
    pub reason: &'static str,
    /// The packet that it is about.
    pub quoted: Quoted,
}

/// What an ICMP message quotes of the packet that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Who had sent it.
    pub source: IpAddr,
    /// Where it was to go.
    pub dest: IpAddr,
    /// UDP's ports, if it was a UDP datagram.
    pub udp_ports: Option<(u16, u16)>,
    /// The id in it, if so much was quoted.
    pub sender_id: Option<u64>,
}

impl Quoted {
    /// The RPC that the packet belonged to, if its id was quoted.
    pub fn rpc(&self) -> Option<RpcKey> {
        let id = self.sender_id?;
        let (client, port) = match (id & 1, self.udp_ports) {
            (0, ports) => (self.source, ports.map(|ports| ports.0)),
            (_, ports) => (self.dest, ports.map(|ports| ports.1)),
        };
        Some(RpcKey { client, udp_port: port, id: id & !1 })
    }
}

impl Icmp {
    /// Reads "destination unreachable" about IP protocol 146, or about a UDP datagram that `is_homa` recognises by its
    /// ports and contents.
    pub fn parse(ip: &Ip<'_>, is_homa: impl Fn(u16, u16, &[u8]) -> bool) -> Option<Icmp> {
        let reason = match (ip.protocol == ICMP, ip.payload.first()?, ip.payload.get(1)?) {
            (true, 3, 1) | (false, 1, 3) => "host unreachable",
            (true, 3, 2) => "protocol unreachable",
            (true, 3, 3) | (false, 1, 4) => "port unreachable",
            (true, 3, 4) => "packet too long for the path",
            (true, 3, _) | (false, 1, _) => "destination unreachable",
            (false, 2, _) => "packet too long for the path",
            (false, 4, 1) => "protocol unreachable",
            _ => return None,
        };
        let quoted = Ip::parse_quoted(ip.payload.get(8..)?)?;
        let (udp_ports, homa) = match quoted.protocol {
            HOMA => (None, quoted.payload),
            UDP => {
                let ports = (u16_at(quoted.payload, 0)?, u16_at(quoted.payload, 2)?);
                let contents = quoted.payload.get(8..)?;
                if !is_homa(ports.0, ports.1, contents) {
                    return None;
                }
                (Some(ports), contents)
            }
            _ => return None,
        };
        let sender_id = homa.get(20..28).and_then(|raw| raw.try_into().ok()).map(u64::from_be_bytes);
        Some(Icmp { reason, quoted: Quoted { source: quoted.source, dest: quoted.dest, udp_ports, sender_id } })
    }
}
