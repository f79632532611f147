//! Threads on the other side of the link that a test has made.

use super::namespace::ROUTER;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::thread::JoinHandle;

/// Runs `work` on a thread of its own in the router's namespace.
pub(crate) fn in_router<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let router = std::env::var(ROUTER).unwrap();
    std::thread::spawn(move || {
        let namespace = File::open(format!("/proc/{router}/ns/net")).unwrap();
        // SAFETY: plain integers; it concerns this thread only.
        let result = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        work()
    })
}
