//! What a race consists of.

use crate::control::{Connections, Transport};
use crate::rack::RackShape;
use anyhow::{Result, bail, ensure};
use homarus_workloads::Workload;
use std::str::FromStr;

/// A race of transports under the open-loop workload.
#[derive(Clone, Debug, PartialEq)]
pub struct RacePlan {
    /// The rack to build.
    pub rack: RackShape,
    /// Lengths of the messages.
    pub workload: Workload,
    /// Share of each link's capacity that requests and responses take, 0.01 to 0.95.
    pub load: f64,
    /// Time in which messages count, for each transport; s.
    pub seconds: f64,
    /// Turns that each transport has, in alternation; each lasts its share of `seconds`.
    pub turns: u32,
    /// Seed of arrivals and lengths.
    pub seed: u64,
    /// Who takes part, in this order.
    pub transports: Vec<Transport>,
}

/// Many servers answer one client at once, beside a probe from another host.
#[derive(Clone, Debug, PartialEq)]
pub struct IncastPlan {
    /// The rack to build.
    pub rack: RackShape,
    /// Servers, spread over all hosts but the client's and the probe's.
    pub servers: u16,
    /// Bytes of each response.
    pub reply: u32,
    /// Times that the client calls all servers.
    pub rounds: u32,
    /// Bytes of the probe's requests and responses.
    pub probe: u32,
    /// Time between two of the probe's requests, ms.
    pub probe_period_ms: u32,
    /// Who takes part, in this order.
    pub transports: Vec<Transport>,
}

/// Checks what both kinds of plan have in common.
fn check_rack(rack: &RackShape, fewest: usize) -> Result<()> {
    ensure!((fewest..=64).contains(&rack.hosts), "hosts is {}: expected {fewest} to 64", rack.hosts);
    ensure!(
        (1_000_000..=100_000_000_000).contains(&rack.rate),
        "rate is {} bit/s: expected 1 Mbit/s to 100 Gbit/s",
        rack.rate
    );
    ensure!((1..=8).contains(&rack.priorities), "priorities is {}: expected 1 to 8", rack.priorities);
    ensure!(rack.buffer >= 5_000, "buffer is {} bytes: expected at least 5000, three packets", rack.buffer);
    Ok(())
}

fn check_transports(transports: &[Transport]) -> Result<()> {
    ensure!(!transports.is_empty(), "no transport is left to race");
    for (index, transport) in transports.iter().enumerate() {
        ensure!(
            !transports[..index].contains(transport),
            "{} is named twice: expected each transport once",
            transport.id()
        );
    }
    Ok(())
}

impl RacePlan {
    /// Checks every setting.
    pub fn check(&self) -> Result<()> {
        check_rack(&self.rack, 2)?;
        ensure!((0.01..=0.95).contains(&self.load), "load is {}: expected 0.01 to 0.95", self.load);
        ensure!((1.0..=3600.0).contains(&self.seconds), "seconds is {}: expected 1 to 3600", self.seconds);
        ensure!((1..=100).contains(&self.turns), "turns is {}: expected 1 to 100", self.turns);
        check_transports(&self.transports)?;
        Ok(())
    }
}

impl IncastPlan {
    /// Checks every setting.
    pub fn check(&self) -> Result<()> {
        check_rack(&self.rack, 3)?;
        ensure!((1..=2000).contains(&self.servers), "servers is {}: expected 1 to 2000", self.servers);
        ensure!((1..=16 << 20).contains(&self.reply), "reply is {} bytes: expected 1 to 16 MiB", self.reply);
        ensure!((1..=10_000).contains(&self.rounds), "rounds is {}: expected 1 to 10000", self.rounds);
        ensure!((4..=1 << 20).contains(&self.probe), "probe is {} bytes: expected 4 to 1 MiB", self.probe);
        ensure!(self.probe_period_ms >= 1, "the probe's period is 0 ms: expected at least 1 ms");
        check_transports(&self.transports)?;
        Ok(())
    }
}

impl Transport {
    /// All that take part in a race unless the user chooses: homarus, and TCP in each way of sharing connections with each of these
    /// congestion controls.
    pub fn field(congestion_controls: &[&str]) -> Vec<Transport> {
        let tcp = congestion_controls.iter().flat_map(|&congestion| {
            [Connections::Pipelined, Connections::Pool]
                .map(|connections| Transport::Tcp { congestion: congestion.to_owned(), connections })
        });
        std::iter::once(Transport::Homa { incast_optimisation: true }).chain(tcp).collect()
    }

    /// What it is called in tables.
    pub fn name(&self) -> String {
        match self {
            Transport::Homa { incast_optimisation: true } => "Homa".to_owned(),
            Transport::Homa { incast_optimisation: false } => "Homa, no incast opt.".to_owned(),
            Transport::Tcp { congestion, connections: Connections::Pipelined } => format!("TCP {congestion} pipelined"),
            Transport::Tcp { congestion, connections: Connections::Pool } => format!("TCP {congestion} pool"),
        }
    }

    /// What it is called on the command line and in JSON.
    pub fn id(&self) -> String {
        match self {
            Transport::Homa { incast_optimisation: true } => "homa".to_owned(),
            Transport::Homa { incast_optimisation: false } => "homa-no-incast".to_owned(),
            Transport::Tcp { congestion, connections: Connections::Pipelined } => format!("tcp-{congestion}-pipelined"),
            Transport::Tcp { congestion, connections: Connections::Pool } => format!("tcp-{congestion}-pool"),
        }
    }

    /// Whether this is homarus.
    pub fn is_homa(&self) -> bool {
        matches!(self, Transport::Homa { .. })
    }
}

impl FromStr for Transport {
    type Err = anyhow::Error;

    fn from_str(id: &str) -> Result<Transport> {
        match id {
            "homa" => return Ok(Transport::Homa { incast_optimisation: true }),
            "homa-no-incast" => return Ok(Transport::Homa { incast_optimisation: false }),
            _ => {}
        }
        let tcp = id.strip_prefix("tcp-").and_then(|rest| rest.rsplit_once('-'));
        let (congestion, connections) = match tcp {
            Some((congestion, "pipelined")) => (congestion, Connections::Pipelined),
            Some((congestion, "pool")) => (congestion, Connections::Pool),
            _ => bail!(
                "no transport {id:?}: expected homa, homa-no-incast, tcp-CC-pipelined or tcp-CC-pool, \
                 where CC is a congestion control of this kernel, e.g. tcp-cubic-pool"
            ),
        };
        Ok(Transport::Tcp { congestion: congestion.to_owned(), connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_is_known_by_its_id() {
        let field = Transport::field(&["cubic", "bbr"]);
        assert_eq!(field.len(), 5);
        for transport in field.into_iter().chain([Transport::Homa { incast_optimisation: false }]) {
            assert_eq!(transport.id().parse::<Transport>().unwrap(), transport);
        }
        assert!("udp".parse::<Transport>().unwrap_err().to_string().contains("tcp-cubic-pool"));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let plan = RacePlan {
            rack: RackShape { hosts: 8, rate: 50_000_000, priorities: 8, buffer: 300_000 },
            workload: Workload::fixed(100),
            load: 0.8,
            seconds: 10.0,
            turns: 1,
            seed: 1,
            transports: Transport::field(&["cubic"]),
        };
        plan.check().unwrap();
        let load = RacePlan { load: 1.2, ..plan.clone() }.check().unwrap_err().to_string();
        assert!(load.contains("load is 1.2"), "{load}");
        assert!(RacePlan { transports: Vec::new(), ..plan.clone() }.check().is_err());
        let twice = RacePlan { transports: ["homa", "homa"].map(|id| id.parse().unwrap()).into(), ..plan };
        assert!(twice.check().unwrap_err().to_string().contains("homa is named twice"));
    }
}
