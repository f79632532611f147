use super::{Job, Message, Meter, Spec};
use anyhow::{Context, Result};
use bytes::Bytes;
use std::rc::Rc;
use std::time::Instant;
use tokio::task::{JoinSet, LocalSet};

/// Keeps `spec.outstanding` calls in flight while `meter` runs, each from a task of its own, and checks the answers.
pub async fn call_concurrently<F, A>(spec: &Spec, meter: Rc<Meter>, call: F) -> Result<()>
where
    F: AsyncFn(Bytes) -> Result<A> + Clone + 'static,
    A: AsRef<[u8]>,
{
    let spec = *spec;
    LocalSet::new()
        .run_until(async move {
            let mut callers = JoinSet::new();
            for caller in 0..spec.outstanding {
                let (meter, call) = (meter.clone(), call.clone());
                callers.spawn_local(async move { call_in_turn(spec, caller, &meter, call).await });
            }
            while let Some(ended) = callers.join_next().await {
                ended.context("a caller's task failed")??;
            }
            Ok(())
        })
        .await
}

async fn call_in_turn<F, A>(spec: Spec, caller: usize, meter: &Meter, call: F) -> Result<()>
where
    F: AsyncFn(Bytes) -> Result<A>,
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
