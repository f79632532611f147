//! One remote procedure call, seen from either side, and the table of all.

mod doubt;
mod state;
mod table;

pub(crate) use doubt::Doubt;
pub(crate) use state::{Rpc, Side, State};
pub(crate) use table::{RpcKey, Rpcs};
