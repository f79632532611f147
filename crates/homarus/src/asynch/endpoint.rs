use super::call::Call;
use super::client::Client;
use super::driver_task::DriverTask;
use super::requests::Requests;
use super::serve;
use crate::builder::Builder;
use crate::handle::Handle;
use crate::hub::Hub;
use crate::{Error, IntoMessage, Metrics, Request, ServeOptions};
use homarus_proto::{CallOptions, PeerView};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::net::ToSocketAddrs;

/// A client and a server on one socket, for tokio.
///
/// Clones are the same endpoint; any number of tasks and threads may use them. When the last clone, [`Client`], [`Call`],
/// [`Requests`] and [`Request`] is gone, the endpoint closes at once, as by [`close`](Self::close): a server that has just
/// answered should end with [`shutdown`](Self::shutdown).
#[derive(Clone)]
pub struct Endpoint {
    handle: Arc<Handle>,
}

impl Endpoint {
    /// Binds an endpoint with the default settings to a local address, such as `"0.0.0.0:4000"` or `"[::]:0"`
    /// (port 0 takes a free one).
    ///
    /// # Errors
    /// [`Error::Bind`] if the system refuses the address.
    ///
    /// # Panics
    /// If it is not called within a tokio runtime that has I/O enabled.
    pub async fn bind(addr: impl ToSocketAddrs) -> Result<Endpoint, Error> {
        Self::builder().bind(addr).await
    }

    /// Settings for an endpoint to be bound.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Drives `hub` by a task of the present runtime.
    pub(crate) fn spawn(hub: Hub) -> io::Result<Endpoint> {
        let hub = Arc::new(hub);
        tokio::spawn(DriverTask::new(Arc::clone(&hub))?);
        Ok(Endpoint { handle: Arc::new(Handle::new(hub)) })
    }

    /// The address that peers call.
    pub fn local_addr(&self) -> SocketAddr {
        self.handle.local_addr()
    }

    /// Sends a request to `peer` and waits for the response.
    ///
    /// The contents are fixed when this is called (see [`IntoMessage`]); the request leaves when the returned future is
    /// first polled. Dropping the future cancels the call.
    ///
    /// # Errors
    /// Exactly one outcome, always: the response, or one of
    /// [`Error::Peer`] and [`Error::Send`] (nothing was sent),
    /// [`Error::Rpc`] (no response: deadline, dead or unreachable peer, restart),
    /// [`Error::Closed`] and [`Error::Socket`] (this endpoint ended).
    pub fn call(&self, peer: SocketAddr, message: impl IntoMessage) -> Call<'_> {
        self.call_with(peer, message, CallOptions::default())
    }

    /// As [`call`](Self::call), with choices such as a deadline.
    pub fn call_with(&self, peer: SocketAddr, message: impl IntoMessage, options: CallOptions) -> Call<'_> {
        Call::new(&self.handle, peer, message.into_message(), options)
    }

    /// This endpoint as a client of `peer`.
    pub fn client(&self, peer: SocketAddr) -> Client {
        Client::new(Arc::clone(&self.handle), peer)
    }

    /// The requests that arrive here.
    ///
    /// An endpoint that nobody has asked for requests yet keeps the first 1024 for the one who will.
    pub fn requests(&self) -> Requests {
        Requests::new(Arc::clone(&self.handle))
    }

    /// Has `handler` answer every request, each in a task of its own, until the endpoint is closed or has been shut down.
    /// Returns after the last handler has returned.
    ///
    /// A handler that panics, or drops its request without answering it, rejects it.
    pub async fn serve<H, F>(&self, handler: H)
    where
        H: Fn(Request) -> F,
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.serve_with(ServeOptions::default(), handler).await;
    }

    /// As [`serve`](Self::serve), with choices such as how many handlers may run at a time.
    pub async fn serve_with<H, F>(&self, options: ServeOptions, handler: H)
    where
        H: Fn(Request) -> F,
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        serve::serve(self.requests(), options, handler).await;
    }

    /// Ends gracefully: takes no new requests, lets those in flight be answered, the responses be delivered and own
    /// calls end, then closes. After `timeout` it closes all the same. A response counts as delivered when the client has
    /// acknowledged it, or has been silent for [`Config::dead_after`](crate::Config::dead_after).
    ///
    /// # Errors
    /// [`Error::ShutdownTimeout`] if something was still in flight after `timeout`.
    pub async fn shutdown(&self, timeout: Duration) -> Result<(), Error> {
        let mut wakes = Vec::new();
        self.handle.lock().drain(timeout, &mut wakes);
        wakes.into_iter().for_each(Waker::wake);
        let in_flight = poll_fn(|cx| match self.handle.lock().drained(Some(cx.waker())) {
            Some(in_flight) => Poll::Ready(in_flight),
            None => Poll::Pending,
        })
        .await;
        self.close();
        self.closed().await;
        match in_flight {
            0 => Ok(()),
            _ => Err(Error::ShutdownTimeout { in_flight, waited: timeout }),
        }
    }

    /// Ends at once: calls end with [`Error::Closed`], requests are dropped, the peers are told.
    pub fn close(&self) {
        self.handle.close();
    }

    /// Waits until the endpoint is closed, by whomever, and its port is free again.
    pub async fn closed(&self) {
        poll_fn(|cx| match self.handle.lock().released(Some(cx.waker())) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Counters, and what the endpoint holds now.
    pub fn metrics(&self) -> Metrics {
        self.handle.lock().metrics()
    }

    /// What has been learnt about a peer; `None` if it is unknown or forgotten.
    pub fn peer(&self, peer: SocketAddr) -> Option<PeerView> {
        self.handle.lock().peer(peer)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("local_addr", &self.local_addr()).finish()
    }
}
