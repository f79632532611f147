use crate::Request;
use crate::handle::Handle;
use crate::inbox::Arrival;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The requests that arrive at an endpoint, one after the other.
///
/// Several may exist, and one can be shared by several tasks: each request goes to one of those that wait. When the last
/// is dropped, requests that arrive are rejected.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), homarus::Error> {
/// use homarus::Endpoint;
///
/// let server = Endpoint::bind("127.0.0.1:0").await?;
/// let client = Endpoint::bind("127.0.0.1:0").await?;
/// let requests = server.requests();
/// let answer_one = async {
///     let Some(request) = requests.recv().await else { return Ok(()) };
///     let length = request.message().len().to_string();
///     request.respond(length)
/// };
/// let (answer, answered) = tokio::join!(client.call(server.local_addr(), "how long?"), answer_one);
/// answered?;
/// assert_eq!(&answer?[..], b"9");
/// # Ok(())
/// # }
/// ```
pub struct Requests {
    endpoint: Arc<Handle>,
}

impl Requests {
    pub(super) fn new(endpoint: Arc<Handle>) -> Self {
        endpoint.lock().inbox().join();
        Requests { endpoint }
    }

    /// The next request; `None` once the endpoint is closed, or is shutting down and all requests have been taken.
    ///
    /// Cancel safe: a request is never lost by dropping the future.
    pub async fn recv(&self) -> Option<Request> {
        let mut place = Place { endpoint: &self.endpoint, ticket: None };
        let arrival = poll_fn(|cx| place.poll(cx)).await?;
        Some(self.request(arrival))
    }

    /// Appends up to `most` requests to `batch`, at least one unless there will be none any more. Whether there was one.
    pub(super) async fn recv_many(&self, batch: &mut VecDeque<Request>, most: usize) -> bool {
        let Some(first) = self.recv().await else { return false };
        batch.push_back(first);
        let mut state = self.endpoint.lock();
        let more = std::iter::from_fn(|| state.inbox().next());
        batch.extend(more.take(most - 1).map(|arrival| self.request(arrival)));
        true
    }

    fn request(&self, (rpc, message): Arrival) -> Request {
        Request::new(Arc::clone(&self.endpoint), rpc, message)
    }
}

/// A place in the queue of those who wait for requests.
struct Place<'a> {
    endpoint: &'a Handle,
    ticket: Option<u64>,
}

impl Place<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Arrival>> {
        match self.endpoint.lock().inbox().take(&mut self.ticket, Some(cx.waker())) {
            Some(next) => Poll::Ready(next),
            None => Poll::Pending,
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let next = self.endpoint.lock().inbox().give_up(&mut self.ticket);
            if let Some(next) = next {
                next.wake();
            }
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.endpoint.lock().part();
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("local_addr", &self.endpoint.local_addr()).finish()
    }
}
