//! The few system calls for which no safe wrapper is at hand.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Which namespaces a child process gets for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// A network namespace: needs root.
    Network,
    /// A user namespace, in which this user is root, and a network namespace: needs no privilege where they are enabled.
    UserAndNetwork,
}

/// Makes `command` start in namespaces of its own, in a session of its own if `session`, and die when this thread ends.
pub(crate) fn isolate(command: &mut Command, isolation: Isolation, session: bool) {
    // SAFETY: both only read this process's ids.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let parent = std::process::id() as libc::pid_t;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {uid} 1")),
        ("/proc/self/gid_map", format!("0 {gid} 1")),
    ]
    .map(|(path, text)| (CString::new(path).unwrap_or_default(), text));
    let before_exec = move || {
        match isolation {
            // SAFETY: no memory is involved; the child has one thread.
            Isolation::Network => drop(check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?),
            Isolation::UserAndNetwork => {
                // SAFETY: as above.
                check(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) })?;
                for (path, text) in &maps {
                    write_file(path, text.as_bytes())?;
                }
            }
        }
        if session {
            // SAFETY: no memory is involved.
            check(unsafe { libc::setsid() })?;
        }
        // SAFETY: no memory is involved.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // The parent may have died before the line above.
        // SAFETY: no memory is involved.
        if unsafe { libc::getppid() } != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only; what it needs was allocated before.
    unsafe { command.pre_exec(before_exec) };
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Writes a file without allocating.
fn write_file(path: &CString, text: &[u8]) -> io::Result<()> {
    // SAFETY: the path ends with a zero byte, the buffer is valid for its length, and the descriptor is ours.
    unsafe {
        let fd = check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC))?;
        let written = libc::write(fd, text.as_ptr().cast(), text.len());
        let result = if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        libc::close(fd);
        result
    }
}

/// Lets this thread run only when nothing else wants its core, and on that core only, in short slices.
pub(crate) fn become_idle_thread_of(core: usize) -> io::Result<()> {
    // SAFETY: the set is plain data, initialised here and only read by the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set))?;
    }
    // Within a slice the thread may hold up a kernel thread that delivers packets: the slice is the shortest that Linux
    // allows. Kernels before 6.12 ignore it.
    set_scheduling(libc::SCHED_IDLE, 0, 100_000)
}

/// Lets this thread run as soon as it can, before all ordinary programs; needs root.
pub(crate) fn become_real_time() -> io::Result<()> {
    set_scheduling(libc::SCHED_RR, 1, 0)
}

/// Takes back [`become_real_time`].
pub(crate) fn become_ordinary() -> io::Result<()> {
    set_scheduling(libc::SCHED_OTHER, 0, 0)
}

/// Policy, real-time priority and slice (ns) of this thread.
fn set_scheduling(policy: libc::c_int, priority: u32, slice: u64) -> io::Result<()> {
    // SAFETY: the structure is plain data for which zero is valid; the kernel reads as many bytes as its `size` says.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_policy = policy as u32;
        attributes.sched_priority = priority;
        attributes.sched_runtime = slice;
        match libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Monotonic time, the same in every process of this machine, ns.
pub(crate) fn now_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Raises the scheduling priority of this process as far as permitted; without the permission nothing changes.
pub(crate) fn raise_priority(nice: i32) {
    // SAFETY: no memory is involved.
    let _ = check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) });
}

/// Bits of `ethtool` that switch a feature: its "set" command of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offload {
    /// TCP segmentation in the device.
    Tso = 0x1f,
    /// Segmentation just before the device.
    Gso = 0x24,
    /// Merging of received packets.
    Gro = 0x2c,
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switches an offload of interface `name` off.
pub(crate) fn offload_off(socket: BorrowedFd<'_>, name: &str, offload: Offload) -> io::Result<()> {
    let mut value = EthtoolValue { command: offload as u32, data: 0 };
    // SAFETY: ifreq is plain data for which zero is valid; the name is shorter than its field (checked); the kernel reads and
    // writes `value`, which lives until after the call.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        if name.len() >= request.ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request))?;
    }
    Ok(())
}
