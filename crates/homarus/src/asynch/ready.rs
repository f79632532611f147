use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

/// What the runtime watches for the driver task.
pub(super) struct Ready {
    socket: AsyncFd<Arc<OwnedFd>>,
    timer: AsyncFd<Arc<OwnedFd>>,
    /// Watched only while the socket is full: whoever waits for writability is woken for every packet that leaves.
    writable: Option<AsyncFd<Arc<OwnedFd>>>,
}

impl Ready {
    /// Must be called within a tokio runtime that has I/O enabled.
    pub(super) fn new(socket: Arc<OwnedFd>, timer: Arc<OwnedFd>) -> io::Result<Self> {
        Ok(Ready {
            // Errors that ICMP reported count as priority data on sockets that ask for it.
            socket: watch(socket, Interest::READABLE | Interest::PRIORITY)?,
            timer: watch(timer, Interest::READABLE)?,
            writable: None,
        })
    }

    /// Whether the timer has rung since it was last asked.
    pub(super) fn poll_timer(&self, cx: &mut Context<'_>) -> bool {
        let mut rang = false;
        while let Poll::Ready(Ok(mut ring)) = self.timer.poll_read_ready(cx) {
            ring.clear_ready();
            rang = true;
        }
        rang
    }

    /// Whether the socket may have something to receive.
    pub(super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<AsyncFdReadyGuard<'_, Arc<OwnedFd>>>> {
        self.socket.poll_read_ready(cx)
    }

    /// Whether a socket that was full may take packets again.
    pub(super) fn poll_writable(&mut self, cx: &mut Context<'_>) -> bool {
        if self.writable.is_none() {
            let duplicate = self.socket.get_ref().try_clone();
            let watch = duplicate.and_then(|fd| watch(Arc::new(fd), Interest::WRITABLE));
            // Without it the timer will have the driver try again.
            self.writable = watch.ok();
        }
        let Some(watched) = &self.writable else {
            return false;
        };
        match watched.poll_write_ready(cx) {
            Poll::Ready(Ok(mut writable)) => {
                writable.clear_ready();
                true
            }
            _ => false,
        }
    }

    /// Stops watching for writability.
    pub(super) fn forget_writable(&mut self) {
        self.writable = None;
    }
}

#[allow(unsafe_code)]
fn watch(fd: Arc<OwnedFd>, interest: Interest) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: an `OwnedFd` is open until it is dropped and always names the same descriptor, and the `AsyncFd` keeps it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}
