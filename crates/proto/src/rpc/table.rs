use super::state::{Rpc, Side};
use crate::peer::PeerKey;
use crate::send::SendRank;
use foldhash::fast::FixedState;
use slab::Slab;
use std::collections::HashMap;

/// Place of an RPC in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RpcKey(u32);

impl RpcKey {
    pub(crate) fn new(slot: usize) -> RpcKey {
        RpcKey(slot as u32)
    }

    pub(crate) fn slot(self) -> u32 {
        self.0
    }
}

/// All RPCs of an endpoint. A client's are found by id alone, so that a server may answer from another of its
/// addresses; a server's by id and client.
#[derive(Debug)]
pub(crate) struct Rpcs {
    rpcs: Slab<Rpc>,
    clients: HashMap<u64, RpcKey, FixedState>,
    servers: HashMap<(PeerKey, u64), RpcKey, FixedState>,
}

impl Rpcs {
    pub(crate) fn new(seed: u64) -> Rpcs {
        Rpcs {
            rpcs: Slab::new(),
            clients: HashMap::with_hasher(FixedState::with_seed(seed)),
            servers: HashMap::with_hasher(FixedState::with_seed(!seed)),
        }
    }

    pub(crate) fn insert(&mut self, rpc: Rpc) -> RpcKey {
        let (id, peer, side) = (rpc.id, rpc.peer, rpc.side());
        let key = RpcKey(self.rpcs.insert(rpc) as u32);
        match side {
            Side::Client => self.clients.insert(id, key),
            Side::Server => self.servers.insert((peer, id), key),
        };
        key
    }

    pub(crate) fn remove(&mut self, key: RpcKey) -> Rpc {
        let rpc = self.rpcs.remove(key.0 as usize);
        match rpc.side() {
            Side::Client => self.clients.remove(&rpc.id),
            Side::Server => self.servers.remove(&(rpc.peer, rpc.id)),
        };
        rpc
    }

    pub(crate) fn find_client(&self, id: u64) -> Option<RpcKey> {
        self.clients.get(&id).copied()
    }

    pub(crate) fn find_server(&self, peer: PeerKey, id: u64) -> Option<RpcKey> {
        self.servers.get(&(peer, id)).copied()
    }

    pub(crate) fn get_mut(&mut self, key: RpcKey) -> Option<&mut Rpc> {
        self.rpcs.get_mut(key.0 as usize)
    }

    pub(crate) fn get(&self, key: RpcKey) -> Option<&Rpc> {
        self.rpcs.get(key.0 as usize)
    }

    /// Whether this is the present rank of its RPC in the order of sending.
    pub(crate) fn has_send_rank(&self, rank: SendRank) -> bool {
        self.get(rank.rpc()).is_some_and(|rpc| rpc.send_rank == Some(rank))
    }

    pub(crate) fn clients(&self) -> usize {
        self.clients.len()
    }

    pub(crate) fn servers(&self) -> usize {
        self.servers.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RpcKey, &Rpc)> {
        self.rpcs.iter().map(|(slot, rpc)| (RpcKey::new(slot), rpc))
    }
}

impl std::ops::Index<RpcKey> for Rpcs {
    type Output = Rpc;

    fn index(&self, key: RpcKey) -> &Rpc {
        &self.rpcs[key.0 as usize]
    }
}

impl std::ops::IndexMut<RpcKey> for Rpcs {
    fn index_mut(&mut self, key: RpcKey) -> &mut Rpc {
        &mut self.rpcs[key.0 as usize]
    }
}
