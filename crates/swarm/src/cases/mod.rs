//! The bodies of the fuzz targets: each takes any bytes and panics if something is wrong. Ordinary tests replay the
//! committed corpus through them.

mod duel;
mod endpoint;
mod pair;
mod tape;
mod wire;

pub use duel::{Duel, DuelPlan, Exchange};
pub use endpoint::endpoint;
pub use pair::pair;
pub use wire::wire;
