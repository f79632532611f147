//! Options of a new socket.

use super::sys;
use std::io;
use std::os::fd::BorrowedFd;

/// TOS of priority 7, which control packets and the shortest messages have: those whose latency counts most. Not
/// naming it for each packet saves them some 100 ns.
pub(crate) const DEFAULT_TOS: u8 = 7 << 5;

pub(crate) fn set_default_tos(fd: BorrowedFd<'_>, v6: bool) -> io::Result<()> {
    let tos = libc::c_int::from(DEFAULT_TOS);
    if v6 {
        sys::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, tos)?;
    }
    sys::set_option(fd, libc::IPPROTO_IP, libc::IP_TOS, tos)
}

/// ICMP errors go to the error queue, and packets carry DF, as Homa over IP does.
pub(crate) fn report_errors_and_forbid_fragments(fd: BorrowedFd<'_>, v6: bool) -> io::Result<()> {
    let v4_options = [(libc::IP_RECVERR, 1), (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)];
    for (name, value) in v4_options {
        let result = sys::set_option(fd, libc::IPPROTO_IP, name, value);
        // On an IPv6 socket these serve mapped addresses, of which it may not have any.
        if !v6 {
            result?;
        }
    }
    if v6 {
        sys::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?;
        sys::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)?;
    }
    Ok(())
}

/// Asks for a buffer of `bytes`, by privilege if there is any, and returns what the kernel accounts against.
pub(crate) fn grow_buffer(fd: BorrowedFd<'_>, force: libc::c_int, ask: libc::c_int, bytes: usize) -> io::Result<usize> {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX / 2);
    sys::set_option(fd, libc::SOL_SOCKET, force, value)
        .or_else(|_| sys::set_option(fd, libc::SOL_SOCKET, ask, value))?;
    let granted = sys::get_option(fd, libc::SOL_SOCKET, ask)?;
    Ok(usize::try_from(granted).unwrap_or(0))
}

/// Bytes of Homa packets that a receive buffer of `accounted` bytes certainly holds.
///
/// The kernel charges the memory of a packet, not its length: 2,304 bytes for a full one at MTU 1500, and twice
/// that from network cards that give each packet a page. It may also count up to a quarter of the buffer as in use
/// that has been read already (it returns charges in bulk). A third of three quarters covers both.
pub(crate) fn receive_capacity(accounted: usize) -> u32 {
    u32::try_from(accounted / 4).unwrap_or(u32::MAX)
}
