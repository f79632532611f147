//! The few system calls that no safe library here wraps: scheduling, and UDP segmentation offloads.

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// CPUs that this thread may run on, in ascending order.
pub(crate) fn allowed_cpus() -> io::Result<Vec<usize>> {
    // SAFETY: a cpu_set_t is an array of integers, for which all zeros is a valid value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is writable for its own size; 0 means the calling thread.
    check(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    let highest = usize::try_from(libc::CPU_SETSIZE).unwrap_or(0);
    // SAFETY: every index is below CPU_SETSIZE.
    Ok((0..highest).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// Keeps the calling thread, and those that it starts later, on one CPU.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= usize::try_from(libc::CPU_SETSIZE).unwrap_or(0) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: as in `allowed_cpus`.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is readable for its own size; 0 means the calling thread.
    check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) })
}

/// Puts the calling thread into SCHED_IDLE: it runs only when nothing else wants its CPU.
pub(crate) fn become_idle_class() -> io::Result<()> {
    // SAFETY: sched_param holds integers only, for which zero is valid.
    let param: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: `param` is readable; 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &param) })
}

/// Sets the nice value of the calling process, -20 (runs first) to 19. Negative values need a privilege.
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: plain integers; 0 means the calling process.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) })
}

/// Lets one `send` carry many datagrams of `segment` bytes each (the last may be shorter).
pub(crate) fn set_udp_segment(socket: &UdpSocket, segment: usize) -> io::Result<()> {
    let segment = libc::c_int::try_from(segment).map_err(|_| io::ErrorKind::InvalidInput)?;
    set_udp_option(socket, libc::UDP_SEGMENT, segment)
}

/// Lets one `recv` return many datagrams of equal size that arrived together.
pub(crate) fn set_udp_gro(socket: &UdpSocket) -> io::Result<()> {
    set_udp_option(socket, libc::UDP_GRO, 1)
}

fn set_udp_option(socket: &UdpSocket, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` lives, and `value` is readable for `length` bytes.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, option, (&raw const value).cast(), length) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
