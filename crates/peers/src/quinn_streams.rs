//! QUIC by quinn: one connection, one bidirectional stream for each RPC.

use crate::any_server::AnyServer;
use anyhow::{Context, Result};
use homarus_cli::trial::{self, Message, Meter, Spec};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

const NAME: &str = "homarus-bench";
/// Bytes of a stream and of a connection that may be in flight.
const WINDOW: u32 = 16 << 20;

/// Room for what is outstanding, so that flow control never holds a trial back.
fn transport(spec: &Spec) -> Result<Arc<TransportConfig>> {
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::try_from(spec.outstanding as u64 * 2)?)
        .stream_receive_window(WINDOW.into())
        .receive_window(WINDOW.into())
        .send_window(u64::from(WINDOW));
    Ok(Arc::new(config))
}

/// The client takes whatever certificate the server, which this same run started, has made for itself.
fn client_config(spec: &Spec) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(spec)?);
    Ok(config)
}

pub(crate) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    let spec = *spec;
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![cert.der().clone()], key.into())?;
    config.transport_config(transport(&spec)?);
    trial::runtime()?.block_on(async {
        let endpoint = Endpoint::server(config, at)?;
        trial::announce(endpoint.local_addr()?)?;
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let connection = incoming.await?;
                while let Ok((mut answers, mut requests)) = connection.accept_bi().await {
                    tokio::spawn(async move {
                        let request = requests.read_to_end(spec.size).await?;
                        Message::check_request(&spec, &request)?;
                        answers.write_all(spec.answer(&request)).await?;
                        answers.finish()?;
                        anyhow::Ok(())
                    });
                }
                anyhow::Ok(())
            });
        }
        Ok(())
    })
}

pub(crate) fn drive(spec: &Spec, server: SocketAddr, meter: Arc<Meter>) -> Result<()> {
    let spec = *spec;
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    trial::runtime()?.block_on(async {
        let mut endpoint = Endpoint::client(any)?;
        endpoint.set_default_client_config(client_config(&spec)?);
        let connection = endpoint.connect(server, NAME)?.await.context("the QUIC handshake failed")?;
        trial::call_concurrently(&spec, meter, move |request| {
            let connection = connection.clone();
            async move {
                let (mut requests, mut answers) = connection.open_bi().await?;
                requests.write_chunk(request).await?;
                requests.finish()?;
                Ok(answers.read_to_end(spec.answer_len()).await?)
            }
        })
        .await
    })
}
