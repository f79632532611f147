use super::state::{Rpc, Side};
use crate::peer::PeerKey;
use crate::send::SendRank;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::Slab;
use std::hash::BuildHasher;

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
///
/// With 100,000 RPCs what costs is to fetch memory. So the tables hold only places, four bytes each, and the ids of one
/// client that follow each other are neighbours in them.
#[derive(Debug)]
pub(crate) struct Rpcs {
    rpcs: Slab<Rpc>,
    clients: HashTable<RpcKey>,
    servers: HashTable<RpcKey>,
    hashes: Hashes,
}

impl Rpcs {
    pub(crate) fn new(seed: u64) -> Rpcs {
        let hashes = Hashes(FixedState::with_seed(seed));
        Rpcs { rpcs: Slab::new(), clients: HashTable::new(), servers: HashTable::new(), hashes }
    }

    pub(crate) fn insert(&mut self, rpc: Rpc) -> RpcKey {
        let (hash, side) = (self.hashes.of(&rpc), rpc.side());
        let key = RpcKey(self.rpcs.insert(rpc) as u32);
        let table = match side {
            Side::Client => &mut self.clients,
            Side::Server => &mut self.servers,
        };
        table.insert_unique(hash, key, |key| self.hashes.of(&self.rpcs[key.0 as usize]));
        key
    }

    pub(crate) fn remove(&mut self, key: RpcKey) -> Rpc {
        let rpc = self.rpcs.remove(key.0 as usize);
        let hash = self.hashes.of(&rpc);
        let table = match rpc.side() {
            Side::Client => &mut self.clients,
            Side::Server => &mut self.servers,
        };
        if let Ok(entry) = table.find_entry(hash, |found| *found == key) {
            entry.remove();
        }
        rpc
    }

    pub(crate) fn find_client(&self, id: u64) -> Option<RpcKey> {
        let same = |key: &RpcKey| self.rpcs[key.0 as usize].id == id;
        self.clients.find(self.hashes.client(id), same).copied()
    }

    pub(crate) fn find_server(&self, peer: PeerKey, id: u64) -> Option<RpcKey> {
        let same = |key: &RpcKey| {
            let rpc = &self.rpcs[key.0 as usize];
            rpc.id == id && rpc.peer == peer
        };
        self.servers.find(self.hashes.server(peer, id), same).copied()
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

/// Where an RPC is to be found in its table: blocks of successive ids are scattered by a seeded hash, which who chooses
/// ids cannot foresee, and within its block each id has its own place.
#[derive(Debug)]
struct Hashes(FixedState);

impl Hashes {
    /// Ids in a block, as a power of two: with four bytes each a cache line.
    const BLOCK: u32 = 4;

    fn of(&self, rpc: &Rpc) -> u64 {
        match rpc.side() {
            Side::Client => self.client(rpc.id),
            Side::Server => self.server(rpc.peer, rpc.id),
        }
    }

    fn client(&self, id: u64) -> u64 {
        Hashes::within_block(self.0.hash_one(id >> (1 + Hashes::BLOCK)), id)
    }

    fn server(&self, peer: PeerKey, id: u64) -> u64 {
        Hashes::within_block(self.0.hash_one((peer, id >> (1 + Hashes::BLOCK))), id)
    }

    /// The table takes the place from the lowest bits, and from the highest what tells neighbours apart.
    fn within_block(block: u64, id: u64) -> u64 {
        let place = id >> 1 & ((1 << Hashes::BLOCK) - 1);
        (block & !((1 << Hashes::BLOCK) - 1) | place) ^ place << 57
    }
}
