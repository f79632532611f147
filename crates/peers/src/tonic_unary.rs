//! gRPC by tonic: one HTTP/2 connection, unary calls whose messages are bytes, with no protobuf to encode.

use crate::tcp;
use anyhow::{Context as _, Result};
use bytes::{Buf, BufMut, Bytes};
use homarus_cli::trial::{self, Message, Meter, Spec};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::http::{Request as HttpRequest, Response as HttpResponse};
use tonic::server::UnaryService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};
use tower::Service;

const METHOD: &str = "/homarus.Bench/Call";
/// Bytes of a stream and of a connection that may be in flight.
const WINDOW: u32 = 16 << 20;

/// Messages are what they are.
#[derive(Clone, Copy)]
struct BytesCodec {
    longest: usize,
}

impl BytesCodec {
    fn new(spec: &Spec) -> BytesCodec {
        BytesCodec { longest: spec.size }
    }

    fn settings(self) -> BufferSettings {
        BufferSettings::new(self.longest + 64, self.longest + 64)
    }
}

impl Codec for BytesCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = BytesCodec;
    type Decoder = BytesCodec;

    fn encoder(&mut self) -> BytesCodec {
        *self
    }

    fn decoder(&mut self) -> BytesCodec {
        *self
    }
}

impl Encoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.settings()
    }
}

impl Decoder for BytesCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.settings()
    }
}

/// The service with one method.
#[derive(Clone, Copy)]
struct Echo {
    spec: Spec,
}

impl UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let request = request.into_inner();
        ready(match Message::check_request(&self.spec, &request) {
            Ok(()) => Ok(Response::new(request.slice(..self.spec.answer_len()))),
            Err(error) => Err(Status::data_loss(error.to_string())),
        })
    }
}

impl Service<HttpRequest<Body>> for Echo {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        let echo = *self;
        Box::pin(async move { Ok(tonic::server::Grpc::new(BytesCodec::new(&echo.spec)).unary(echo, request).await) })
    }
}

pub(crate) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    let echo = Echo { spec: *spec };
    trial::runtime()?.block_on(async {
        let listener = tcp::listen(at).await?;
        trial::announce(listener.local_addr()?)?;
        Server::builder()
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .serve_with_incoming(echo, TcpIncoming::from(listener))
            .await
            .context("the gRPC server failed")
    })
}

pub(crate) fn drive(spec: &Spec, server: SocketAddr, meter: Arc<Meter>) -> Result<()> {
    let codec = BytesCodec::new(spec);
    trial::runtime()?.block_on(async {
        let channel = Endpoint::from_shared(format!("http://{server}"))?
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .connect_with_connector(tower::service_fn(move |_| async move {
                anyhow::Ok(TokioIo::new(tcp::connect(server).await?))
            }))
            .await
            .with_context(|| format!("gRPC cannot connect to {server}"))?;
        let client = Grpc::new(channel);
        trial::call_concurrently(spec, meter, move |request| {
            let mut client = client.clone();
            async move {
                client.ready().await?;
                let answer = client.unary(Request::new(request), PathAndQuery::from_static(METHOD), codec).await?;
                Ok(answer.into_inner())
            }
        })
        .await
    })
}
