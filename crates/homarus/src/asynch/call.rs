use crate::Error;
use crate::driver::CallId;
use crate::handle::Handle;
use bytes::Bytes;
use homarus_proto::CallOptions;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A call: a future that sends the request when it is first polled, and ends with the response.
///
/// Dropping it before its end cancels the call: the response, should it come, is discarded, and the server
/// is told to forget it. A server that has received the whole request may have executed it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), homarus::Error> {
/// use homarus::Endpoint;
/// use std::time::Duration;
///
/// let server = Endpoint::bind("127.0.0.1:0").await?;
/// let client = Endpoint::bind("127.0.0.1:0").await?;
/// // Nobody answers: the time-out drops the call, and with it whatever it held at both ends.
/// let call = client.call(server.local_addr(), "anybody?");
/// assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
/// assert_eq!(client.metrics().view.client_rpcs, 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "a call does nothing until it is awaited"]
pub struct Call<'a> {
    endpoint: &'a Handle,
    state: CallState,
}

enum CallState {
    Unsent { peer: SocketAddr, message: Bytes, options: CallOptions },
    Sent(CallId),
    Ended,
}

impl<'a> Call<'a> {
    pub(super) fn new(endpoint: &'a Handle, peer: SocketAddr, message: Bytes, options: CallOptions) -> Self {
        Call { endpoint, state: CallState::Unsent { peer, message, options } }
    }
}

impl Future for Call<'_> {
    type Output = Result<Bytes, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.state, CallState::Ended) {
            CallState::Unsent { peer, message, options } => {
                let rpc = self.endpoint.lock().call(peer, message, options, Some(cx.waker()))?;
                self.state = CallState::Sent(rpc);
                Poll::Pending
            }
            CallState::Sent(rpc) => match self.endpoint.lock().outcome(rpc, Some(cx.waker())) {
                Some(result) => Poll::Ready(result),
                None => {
                    self.state = CallState::Sent(rpc);
                    Poll::Pending
                }
            },
            CallState::Ended => Poll::Ready(Err(Error::Closed)),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let CallState::Sent(rpc) = self.state {
            self.endpoint.lock().cancel(rpc);
        }
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            CallState::Unsent { .. } => "unsent",
            CallState::Sent(_) => "sent",
            CallState::Ended => "ended",
        };
        f.debug_struct("Call").field("state", &state).finish()
    }
}
