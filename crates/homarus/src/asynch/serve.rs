use super::requests::Requests;
use super::stage::Stage;
use crate::{Error, Request};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Choices for serving, for [`Endpoint::serve_with`](crate::Endpoint::serve_with).
///
/// ```
/// // Four disks, each of which does one thing at a time.
/// let options = homarus::ServeOptions { concurrency: 4 };
/// # assert_eq!(options.concurrency, 4);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// Most handlers that run at a time; further requests wait for one to end. At least 1; by default 1024.
    pub concurrency: usize,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions { concurrency: 1024 }
    }
}

/// Requests taken at a time.
const BATCH: usize = 32;

pub(super) async fn serve<H, F>(requests: Requests, options: ServeOptions, handler: H)
where
    H: Fn(Request) -> F,
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let concurrency = options.concurrency.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let places = Arc::new(Semaphore::new(concurrency));
    let mut batch = VecDeque::with_capacity(BATCH);
    let mut stage = Stage::new();
    while requests.recv_many(&mut batch, BATCH).await {
        stage.enter();
        while let Some(request) = batch.pop_front() {
            let Ok(place) = places.acquire().await else { return };
            if let Some(rest) = stage.run(|| handler(request)).await {
                place.forget();
                let place = Place(Arc::clone(&places));
                tokio::spawn(async move {
                    rest.run().await;
                    drop(place);
                });
            }
        }
    }
    // All places are free once the last handler has returned.
    drop(places.acquire_many(concurrency as u32).await);
}

/// A handler's place among those that may run, given back even if it panics.
struct Place(Arc<Semaphore>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}
