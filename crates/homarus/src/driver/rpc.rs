//! RPCs and what becomes of them, whoever does the protocol.

use crate::Error;
use bytes::Bytes;
use homarus_proto::{IncomingRpc, RpcError, RpcId};
use std::hash::{Hash, Hasher};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// A call of this endpoint, among all that it ever makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallId {
    /// The core's.
    Packets(RpcId),
    /// One that the kernel does the protocol for: the cookie that it bears.
    Kernel(u64),
}

impl Hash for CallId {
    /// All calls of an endpoint are of one kind.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(match self {
            CallId::Packets(rpc) => rpc.as_u64(),
            CallId::Kernel(cookie) => *cookie,
        });
    }
}

/// A request that waits for its response.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Of the core.
    Packets(IncomingRpc),
    /// Of the kernel; apart, so that it adds nothing to the size of the others.
    Kernel(Box<KernelRpc>),
}

/// A request that the kernel has handed up.
#[derive(Debug)]
pub(crate) struct KernelRpc {
    pub(super) client: SocketAddr,
    pub(super) id: u64,
}

impl Asked {
    /// Who asks.
    pub(crate) fn client(&self) -> SocketAddr {
        match self {
            Asked::Packets(rpc) => rpc.client(),
            Asked::Kernel(rpc) => rpc.client,
        }
    }
}

/// Why a call ended without a response.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// For one of Homa's reasons.
    Rpc(RpcError),
    /// For one of the kernel's own.
    Kernel(Arc<io::Error>),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Rpc(error) => Error::Rpc(error),
            Failure::Kernel(error) => Error::Kernel(error),
        }
    }
}

/// What happened to an RPC.
pub(crate) enum Event {
    /// A whole request has arrived.
    Request { rpc: Asked, message: Bytes },
    /// A call has ended.
    Response { call: CallId, result: Result<Bytes, Failure> },
}

impl From<homarus_proto::Event> for Event {
    fn from(event: homarus_proto::Event) -> Event {
        match event {
            homarus_proto::Event::Request { rpc, message } => {
                Event::Request { rpc: Asked::Packets(rpc), message: message.into_bytes() }
            }
            homarus_proto::Event::Response { rpc, result } => Event::Response {
                call: CallId::Packets(rpc),
                result: result.map(homarus_proto::Payload::into_bytes).map_err(Failure::Rpc),
            },
        }
    }
}
