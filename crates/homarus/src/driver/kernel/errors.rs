//! What the kernel's errors mean.

use crate::driver::Failure;
use homarus_proto::{RpcError, Unreachable};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Whether the kernel may take the same message later.
pub(super) fn has_no_room(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM))
}

/// Whether the socket will never take a message again.
pub(super) fn is_broken(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::BADF | Errno::NOTSOCK | Errno::SHUTDOWN | Errno::PIPE))
}

/// Why a call ended that the kernel says has failed after `waited`.
pub(super) fn explain(error: io::Error, waited: Duration) -> Failure {
    Failure::Rpc(match Errno::from_io_error(&error) {
        Some(Errno::TIMEDOUT) => RpcError::PeerDead { silent_for: waited },
        // What ICMP says of a port reaches callers as ENOTCONN.
        Some(Errno::NOTCONN | Errno::CONNREFUSED) => RpcError::Unreachable(Unreachable::Port),
        Some(Errno::PROTONOSUPPORT | Errno::NOPROTOOPT) => RpcError::Unreachable(Unreachable::Protocol),
        Some(Errno::HOSTUNREACH | Errno::HOSTDOWN | Errno::NETUNREACH | Errno::NETDOWN) => {
            RpcError::Unreachable(Unreachable::Host)
        }
        Some(Errno::SHUTDOWN) => RpcError::Closed,
        _ => return Failure::Kernel(Arc::new(error)),
    })
}
