use super::requests::Requests;
use crate::{Error, Request};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Choices for serving.
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

pub(super) async fn serve<H, F>(requests: Requests, options: ServeOptions, handler: H)
where
    H: Fn(Request) -> F,
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let concurrency = options
        .concurrency
        .clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let places = Arc::new(Semaphore::new(concurrency));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await
        && let Some(request) = requests.recv().await
    {
        let client = request.client();
        let answer = handler(request);
        tokio::spawn(async move {
            if let Err(error) = answer.await {
                tracing::debug!(%client, %error, "a request was not answered");
            }
            drop(place);
        });
    }
    // All places are free once the last handler has returned.
    drop(places.acquire_many(concurrency as u32).await);
}
