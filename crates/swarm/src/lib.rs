//! Homa endpoints on a hostile network, in virtual time.
//!
//! [`net`] is the network: hosts with links, a switch port with priority queues before each of them, clocks that can
//! jump, and a judge that decides the fate of every packet. Tests drive it directly.
//! [`scenario`] makes a random configuration, topology, load and faults from a seed; [`run`](run::run) plays it, lets the
//! network heal, and checks that every RPC ended exactly once, that contents arrived intact and that no state is left.
//! [`cases`] holds the bodies of the fuzz targets, so that ordinary tests can replay their corpus.

pub mod cases;
pub mod content;
pub mod dice;
pub mod net;
pub mod run;
pub mod scenario;
