//! One remote procedure call, seen from either side, and the table of all.

mod state;
mod table;

pub(crate) use state::{Rpc, Side, State};
pub(crate) use table::{RpcKey, Rpcs};
