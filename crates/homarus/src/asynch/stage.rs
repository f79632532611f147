use crate::Error;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A handler that needs no longer than this to its first wait runs to there in the serving task: a task of its own
/// would cost as much.
const SHORT: Duration = Duration::from_micros(5);
/// Handlers that get a task of their own from the start after one was not short.
const AFTER_LONG: u32 = 31;

/// Runs handlers to their first wait, which for most is their end, in memory that is used again.
pub(super) struct Stage<F> {
    handler: Pin<Box<Option<F>>>,
    /// Handlers to come that are not tried here.
    suspects: u32,
    /// When the last handler ended.
    clock: Instant,
}

/// What is left of a handler to run.
pub(super) struct Rest<F>(Pin<Box<Option<F>>>);

impl<F: Future<Output = Result<(), Error>>> Stage<F> {
    pub(super) fn new() -> Self {
        Stage { handler: Box::pin(None), suspects: 0, clock: Instant::now() }
    }

    /// Begins with the first handler of several.
    pub(super) fn enter(&mut self) {
        self.clock = Instant::now();
    }

    /// Starts a handler, and returns what is left of it if it has not ended.
    pub(super) async fn run(&mut self, start: impl FnOnce() -> F) -> Option<Rest<F>> {
        let Ok(handler) = catch_unwind(AssertUnwindSafe(start)) else {
            note_panic();
            return None;
        };
        self.handler.set(Some(handler));
        if self.suspects > 0 {
            self.suspects -= 1;
            return Some(self.leave());
        }
        let ended = poll_fn(|cx| Poll::Ready(self.try_poll(cx))).await;
        let now = Instant::now();
        if now - self.clock > SHORT {
            self.suspects = AFTER_LONG;
        }
        self.clock = now;
        if ended {
            self.handler.set(None);
            return None;
        }
        Some(self.leave())
    }

    /// Whether the handler has ended, be it by a panic.
    fn try_poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(handler) = self.handler.as_mut().as_pin_mut() else { return true };
        match catch_unwind(AssertUnwindSafe(|| handler.poll(cx))) {
            Ok(Poll::Ready(result)) => {
                note(result);
                true
            }
            Ok(Poll::Pending) => false,
            Err(_) => {
                note_panic();
                true
            }
        }
    }

    fn leave(&mut self) -> Rest<F> {
        Rest(std::mem::replace(&mut self.handler, Box::pin(None)))
    }
}

impl<F: Future<Output = Result<(), Error>>> Rest<F> {
    pub(super) async fn run(mut self) {
        if let Some(handler) = self.0.as_mut().as_pin_mut() {
            note(handler.await);
        }
    }
}

fn note(result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "a request was not answered");
    }
}

fn note_panic() {
    tracing::error!("a handler panicked: its request is rejected");
}
