//! Transports by their names on the command line.

use clap::ValueEnum;
use homarus_sim::scenario::{ConnectionChoice, HomaOptions, RoceOptions, TcpOptions, TransportChoice};

/// Who carries a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rival {
    /// The protocol core itself
    Homa,
    /// The same without the incast optimisation
    HomaNoIncast,
    /// TCP (cubic), one connection from each host to each other
    Tcp,
    /// TCP (cubic), a connection for each message under way
    TcpPool,
    /// DCTCP on pipelined connections
    Dctcp,
    /// RoCEv2 with DCQCN and pauses (PFC)
    Roce,
    /// The same without pauses
    RoceNoPfc,
    /// InfiniBand with credits
    Infiniband,
    /// pFabric
    Pfabric,
    /// Shortest remaining first with full knowledge: the floor
    Srpt,
}

impl Rival {
    fn choice(self, homa: &HomaOptions) -> TransportChoice {
        let tcp = |label: &str, connections| {
            TransportChoice::Tcp(TcpOptions { label: Some(label.to_owned()), connections, ..TcpOptions::default() })
        };
        match self {
            Rival::Homa => TransportChoice::Homa(homa.clone()),
            Rival::HomaNoIncast => TransportChoice::Homa(HomaOptions {
                label: Some("Homa without the incast optimisation".to_owned()),
                incast_optimisation: false,
                ..homa.clone()
            }),
            Rival::Tcp => tcp("TCP, pipelined", ConnectionChoice::Pipelined),
            Rival::TcpPool => tcp("TCP, pool", ConnectionChoice::Pool),
            Rival::Dctcp => TransportChoice::Dctcp(TcpOptions::default()),
            Rival::Roce => TransportChoice::Roce(RoceOptions::default()),
            Rival::RoceNoPfc => TransportChoice::Roce(RoceOptions {
                label: Some("RoCE without pauses".to_owned()),
                pfc: false,
                ..RoceOptions::default()
            }),
            Rival::Infiniband => TransportChoice::Infiniband,
            Rival::Pfabric => TransportChoice::Pfabric,
            Rival::Srpt => TransportChoice::Srpt,
        }
    }
}

/// What a scenario says for these; `homa` is how Homa is set.
pub(crate) fn choices(rivals: &[Rival], homa: &HomaOptions) -> Vec<TransportChoice> {
    rivals.iter().map(|rival| rival.choice(homa)).collect()
}
