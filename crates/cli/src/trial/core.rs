//! The protocol core alone: two endpoints in one thread, every packet handed over in memory.

use super::{Message, Meter, Spec};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use homarus_proto::{CallOptions, Config, Endpoint, Event, Instant};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Time that passes in the endpoints' world from one exchange of packets to the next.
const STEP: Duration = Duration::from_micros(10);

struct Side {
    endpoint: Endpoint,
    address: SocketAddr,
}

impl Side {
    fn new(port: u16) -> Result<Side> {
        let endpoint =
            Endpoint::new(Config::default(), port, u64::from(port)).context("the default settings are refused")?;
        Ok(Side { endpoint, address: (Ipv4Addr::LOCALHOST, port).into() })
    }

    /// Hands all packets that this side has to the other.
    fn send_to(&mut self, other: &mut Side, now: Instant, packet: &mut Vec<u8>) -> Result<()> {
        while let Some(transmit) = self.endpoint.poll_transmit(now) {
            packet.clear();
            packet.extend_from_slice(transmit.header());
            packet.extend_from_slice(transmit.payload.as_slice());
            other.endpoint.handle_packet(now, self.address, packet).context("a packet was refused")?;
        }
        Ok(())
    }

    fn keep_time(&mut self, now: Instant) {
        if self.endpoint.poll_timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now);
        }
    }
}

/// Sends requests while `meter` runs.
pub(super) fn drive(spec: &Spec, meter: &Meter) -> Result<()> {
    let mut client = Side::new(1)?;
    let mut server = Side::new(2)?;
    let mut now = Instant::ZERO;
    let mut packet = Vec::new();
    let mut message = Message::new(spec);
    let request = Bytes::copy_from_slice(message.stamped(1));
    let mut outstanding = 0;
    while meter.running() {
        now += STEP;
        while outstanding < spec.outstanding {
            outstanding += 1;
            client.endpoint.send_request(now, server.address, request.clone(), CallOptions::default())?;
        }
        client.send_to(&mut server, now, &mut packet)?;
        while let Some(event) = server.endpoint.poll_event() {
            let Event::Request { rpc, message } = event else { bail!("the client answered without being asked") };
            server.endpoint.send_response(now, rpc, message)?;
        }
        server.send_to(&mut client, now, &mut packet)?;
        let mut ended = 0;
        while let Some(event) = client.endpoint.poll_event() {
            let Event::Response { result, .. } = event else { bail!("the server sent a request") };
            message.check(spec, result?.as_slice())?;
            ended += 1;
        }
        outstanding -= ended;
        meter.count(ended as u64);
        client.keep_time(now);
        server.keep_time(now);
    }
    Ok(())
}
