//! tarpc over one TCP connection, its messages encoded by bincode.

use crate::tcp;
use anyhow::Result;
use bytes::Bytes;
use futures::StreamExt;
use homarus_cli::trial::{self, Meter, Spec};
use std::net::SocketAddr;
use std::sync::Arc;
use tarpc::server::{BaseChannel, Channel};
use tarpc::{client, context, serde_transport};
use tokio_serde::formats::Bincode;
use tokio_util::codec::LengthDelimitedCodec;

#[tarpc::service]
trait Bench {
    /// The answer to a request.
    async fn call(request: Bytes) -> Bytes;
}

#[derive(Clone, Copy)]
struct Answering {
    answer_len: usize,
}

impl Bench for Answering {
    async fn call(self, _: context::Context, request: Bytes) -> Bytes {
        request.slice(..self.answer_len.min(request.len()))
    }
}

pub(crate) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    let answering = Answering { answer_len: spec.answer_len() };
    trial::runtime()?.block_on(async {
        let listener = tcp::listen(at).await?;
        trial::announce(listener.local_addr()?)?;
        loop {
            let (connection, _) = listener.accept().await?;
            let frames = LengthDelimitedCodec::builder().new_framed(connection);
            let transport = serde_transport::new(frames, Bincode::default());
            tokio::spawn(BaseChannel::with_defaults(transport).execute(answering.serve()).for_each(
                async |answering| {
                    tokio::spawn(answering);
                },
            ));
        }
    })
}

pub(crate) fn drive(spec: &Spec, server: SocketAddr, meter: Arc<Meter>) -> Result<()> {
    trial::runtime()?.block_on(async {
        let frames = LengthDelimitedCodec::builder().new_framed(tcp::connect(server).await?);
        let transport = serde_transport::new(frames, Bincode::default());
        let client = BenchClient::new(client::Config::default(), transport).spawn();
        trial::call_concurrently(spec, meter, move |request| {
            let client = client.clone();
            async move { Ok(client.call(context::current(), request).await?) }
        })
        .await
    })
}
