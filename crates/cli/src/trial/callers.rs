use super::{Job, Message, Meter, Spec};
use anyhow::{Context, Result};
use bytes::Bytes;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// Keeps `spec.outstanding` calls in flight while `meter` runs, each from a task of its own, and checks the answers.
///
/// A single caller needs no task: it runs in the caller's, as the baselines do.
pub async fn call_concurrently<F, C, A>(spec: &Spec, meter: Arc<Meter>, call: F) -> Result<()>
where
    F: Fn(Bytes) -> C + Clone + Send + 'static,
    C: Future<Output = Result<A>> + Send,
    A: AsRef<[u8]> + Send,
{
    let spec = *spec;
    if spec.outstanding == 1 {
        return call_in_turn(spec, 0, &meter, call).await;
    }
    let mut callers = JoinSet::new();
    for caller in 0..spec.outstanding {
        let (meter, call) = (meter.clone(), call.clone());
        callers.spawn(async move { call_in_turn(spec, caller, &meter, call).await });
    }
    while let Some(ended) = callers.join_next().await {
        ended.context("a caller's task failed")??;
    }
    Ok(())
}

async fn call_in_turn<F, C, A>(spec: Spec, caller: usize, meter: &Meter, call: F) -> Result<()>
where
    F: Fn(Bytes) -> C,
    C: Future<Output = Result<A>>,
    A: AsRef<[u8]>,
{
    let mut message = Message::new(&spec);
    let mut stamp = caller as u64;
    while meter.running() {
        let request = Bytes::copy_from_slice(message.stamped(stamp));
        stamp += spec.outstanding as u64;
        let sent = Instant::now();
        let answer = call(request).await?;
        message.check(&spec, answer.as_ref())?;
        match spec.job {
            Job::Rtt => meter.round_trip(sent),
            Job::Rate | Job::Bulk => meter.count(1),
        }
    }
    Ok(())
}
