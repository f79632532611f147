use super::Spin;
use super::client::Client;
use super::wait::Waiting;
use crate::builder::Builder;
use crate::handle::Handle;
use crate::hub::{Hub, State};
use crate::{Error, IntoMessage, Metrics, Request};
use bytes::Bytes;
use homarus_proto::{CallOptions, PeerView};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, MutexGuard};
use std::task::Waker;
use std::time::Duration;

/// A client and a server on one socket, for threads that block.
///
/// There is no thread behind it: whoever waits in [`call`](Self::call), [`recv`](Self::recv) or
/// [`shutdown`](Self::shutdown) drives the endpoint, and while nobody waits, nothing is received, repeated or granted.
/// A server whose only thread works on a request for longer than [`Config::dead_after`](crate::Config::dead_after) is
/// taken for dead by its clients: have more threads serve, so that one always waits, or use the async
/// [`Endpoint`](crate::Endpoint). A client that has stopped calling does not acknowledge the last response either: its
/// server keeps that response as long, and a server that shuts down gracefully waits for it.
///
/// Clones are the same endpoint, and any number of threads may use it. When the last clone, [`Client`] and [`Request`] is
/// gone, it closes at once, as by [`close`](Self::close).
#[derive(Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

struct Inner {
    handle: Arc<Handle>,
    waiting: Waiting,
}

impl Endpoint {
    /// Binds an endpoint with the default settings to a local address, such as `"0.0.0.0:4000"` or `"[::]:0"`
    /// (port 0 takes a free one).
    ///
    /// # Errors
    /// [`Error::Bind`] if the system refuses the address.
    pub fn bind(addr: impl ToSocketAddrs) -> Result<Endpoint, Error> {
        Self::builder().bind_blocking(addr)
    }

    /// Settings for an endpoint to be bound, with [`Builder::bind_blocking`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(hub: Hub, spin: Spin) -> Endpoint {
        let handle = Arc::new(Handle::new(Arc::new(hub)));
        Endpoint { inner: Arc::new(Inner { handle, waiting: Waiting::new(spin) }) }
    }

    fn wait<'a, T>(
        &'a self,
        state: MutexGuard<'a, State>,
        done: impl FnMut(&mut State, Option<&Waker>) -> Option<T>,
    ) -> T {
        self.inner.waiting.until(&self.inner.handle, state, done)
    }

    /// The address that peers call.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.handle.local_addr()
    }

    /// Sends a request to `peer` and waits for the response. The contents are fixed when this is called: see
    /// [`IntoMessage`].
    ///
    /// # Errors
    /// Exactly one outcome, always: the response, or one of
    /// [`Error::Peer`] and [`Error::Send`] (nothing was sent),
    /// [`Error::Rpc`] (no response: deadline, dead or unreachable peer, restart),
    /// [`Error::Closed`] and [`Error::Socket`] (this endpoint ended).
    pub fn call(&self, peer: SocketAddr, message: impl IntoMessage) -> Result<Bytes, Error> {
        self.call_with(peer, message, CallOptions::default())
    }

    /// As [`call`](Self::call), with choices such as a deadline.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_with(&self, peer: SocketAddr, message: impl IntoMessage, options: CallOptions) -> Result<Bytes, Error> {
        let message = message.into_message();
        let mut state = self.inner.handle.lock();
        let rpc = state.call(peer, message, options, None)?;
        self.wait(state, |state, waker| state.outcome(rpc, waker))
    }

    /// This endpoint as a client of `peer`.
    pub fn client(&self, peer: SocketAddr) -> Client {
        Client::new(self.clone(), peer)
    }

    /// Waits for the next request; `None` once the endpoint is closed, or is shutting down and all requests have been
    /// taken.
    ///
    /// An endpoint that nobody has asked for requests yet keeps the first 1024 for the one who will.
    pub fn recv(&self) -> Option<Request> {
        let mut state = self.inner.handle.lock();
        state.inbox().open();
        let mut ticket = None;
        let (rpc, message) = self.wait(state, |state, waker| state.inbox().take(&mut ticket, waker))?;
        Some(Request::new(Arc::clone(&self.inner.handle), rpc, message))
    }

    /// Has `handler` answer every request, one after the other on this thread, until the endpoint is closed or has been
    /// shut down. Several threads may serve the same endpoint.
    ///
    /// A handler that drops its request without answering it rejects it.
    pub fn serve(&self, mut handler: impl FnMut(Request) -> Result<(), Error>) {
        while let Some(request) = self.recv() {
            let client = request.client();
            if let Err(error) = handler(request) {
                tracing::debug!(%client, %error, "a request was not answered");
            }
        }
    }

    /// Ends gracefully: takes no new requests, lets those in flight be answered, the responses be delivered and the
    /// calls of other threads end, then closes. After `timeout` it closes all the same.
    ///
    /// # Errors
    /// [`Error::ShutdownTimeout`] if something was still in flight after `timeout`.
    pub fn shutdown(&self, timeout: Duration) -> Result<(), Error> {
        let mut wakes = Vec::new();
        self.inner.handle.lock().drain(timeout, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
        let state = self.inner.handle.lock();
        let in_flight = self.wait(state, State::drained);
        self.close();
        match in_flight {
            0 => Ok(()),
            _ => Err(Error::ShutdownTimeout { in_flight, waited: timeout }),
        }
    }

    /// Ends at once: calls end with [`Error::Closed`], requests are dropped, the peers are told.
    pub fn close(&self) {
        self.inner.handle.close();
    }

    /// Counters, and what the endpoint holds now.
    pub fn metrics(&self) -> Metrics {
        self.inner.handle.lock().metrics()
    }

    /// What has been learnt about a peer; `None` if it is unknown or forgotten.
    pub fn peer(&self, peer: SocketAddr) -> Option<PeerView> {
        self.inner.handle.lock().peer(peer)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("local_addr", &self.local_addr()).finish()
    }
}
