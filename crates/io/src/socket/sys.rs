//! Socket options as integers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets an integer option.
pub(crate) fn set_option(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: `value` outlives the call and its size is passed along.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), size_of_val(&value) as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an integer option.
pub(crate) fn get_option(fd: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `value`.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut len) };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Bytes charged to the socket's send buffer (SIOCOUTQ, which has the number of TIOCOUTQ).
pub(crate) fn send_buffer_charge(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut value: libc::c_int = 0;
    // SAFETY: this request writes one int.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut value) };
    if result == 0 { Ok(u64::try_from(value).unwrap_or(0)) } else { Err(io::Error::last_os_error()) }
}
