use super::ready::Ready;
use crate::hub::Hub;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Turns in a row without letting other tasks run, as long as none of them has anything to do.
const TURNS_IN_A_ROW: usize = 16;
/// Requests and responses told in one turn from which on the packets that they lead to are sent together in the next.
const BATCH_WORTHWHILE: usize = 2;

/// The one task that drives an endpoint: it receives, lets timers ring and sends what callers left to it.
pub(super) struct DriverTask {
    hub: Arc<Hub>,
    /// `None` only while it is being dropped.
    ready: Option<Ready>,
    /// Whether the tasks that were about to run when packets were deferred have run.
    yielded: bool,
    /// Whether the runtime has several threads.
    threaded: bool,
    wakes: Vec<Waker>,
}

/// How a turn left things.
enum Next {
    /// The endpoint is closed.
    Closed,
    /// Nothing to do until the socket, the timer or a caller says so.
    Wait,
    /// More may have arrived.
    Again,
    /// More may have arrived, and the task just woken is in more of a hurry.
    Requeue,
    /// The tasks just woken, or about to run, have packets that should leave together: come back after them.
    Yield,
}

impl DriverTask {
    /// Must be called within a tokio runtime that has I/O enabled.
    pub(super) fn new(hub: Arc<Hub>) -> io::Result<Self> {
        let (socket, timer) = {
            let mut state = hub.lock();
            (state.socket().cloned(), Arc::clone(state.timer().fd()))
        };
        let ready = Ready::new(socket.ok_or(io::ErrorKind::NotConnected)?, timer)?;
        let threaded = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
        Ok(DriverTask { hub, ready: Some(ready), yielded: false, threaded, wakes: Vec::new() })
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Next {
        let Some(ready) = &mut self.ready else {
            return Next::Closed;
        };
        let mut state = self.hub.lock();
        if state.is_closed() {
            return Next::Closed;
        }
        state.set_task(cx.waker());
        if state.is_deferred() && !self.yielded {
            return Next::Yield;
        }
        self.yielded = false;

        let rang = ready.poll_timer(cx);
        let readable = match ready.poll_readable(cx) {
            Poll::Ready(Ok(readable)) => Some(readable),
            Poll::Ready(Err(_)) => return Next::Closed,
            Poll::Pending => None,
        };
        // Reports about packets that could not be sent do not always make the socket readable.
        let turn = state.turn(rang || readable.is_some(), &mut self.wakes);
        let mut next = match (turn.received, readable) {
            (0, Some(mut readable)) => {
                readable.clear_ready();
                // Asks again, now to be woken.
                if ready.poll_readable(cx).is_ready() { Next::Again } else { Next::Wait }
            }
            (0, None) => Next::Wait,
            _ if turn.events >= BATCH_WORTHWHILE => {
                state.defer();
                Next::Yield
            }
            // To queue up would rouse other threads, which costs more than to look at the socket once more.
            _ if turn.events == 0 || self.threaded => Next::Again,
            _ => Next::Requeue,
        };
        if !state.is_full() {
            ready.forget_writable();
        } else if ready.poll_writable(cx) {
            next = Next::Again;
        }
        drop(state);
        self.wakes.drain(..).for_each(Waker::wake);
        next
    }
}

impl Future for DriverTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS_IN_A_ROW {
            match self.turn(cx) {
                Next::Closed => return Poll::Ready(()),
                Next::Wait => return Poll::Pending,
                Next::Again => {}
                Next::Requeue => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Next::Yield => break,
            }
        }
        self.yielded = true;
        // Comes back after the tasks that can run, and after the runtime has looked for I/O.
        if pin!(tokio::task::yield_now()).poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for DriverTask {
    /// The socket is let go of. A runtime that shuts down drops its tasks, and without a driver calls would wait for
    /// ever: so the endpoint closes.
    fn drop(&mut self) {
        self.ready = None;
        self.hub.release();
    }
}
