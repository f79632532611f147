//! TCP through tokio: length-framed messages over one connection, everything that is ready in one write.

use super::tcp::{LENGTH, push_frame, tune};
use super::{Job, Message, Meter, Spec, announce, runtime};
use anyhow::{Context, Result, bail};
use std::net::SocketAddr;
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Bytes read at a time.
const READ: usize = 64 << 10;

struct Frames {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    ready: Vec<u8>,
    message: Vec<u8>,
}

impl Frames {
    fn new(connection: TcpStream) -> Result<Frames> {
        tune(&connection)?;
        let (reader, writer) = connection.into_split();
        Ok(Frames { reader: BufReader::with_capacity(READ, reader), writer, ready: Vec::new(), message: Vec::new() })
    }

    async fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.reader.fill_buf().await?.is_empty() {
            return Ok(None);
        }
        let length = self.reader.read_u32_le().await?;
        self.message.resize(length as usize, 0);
        self.reader.read_exact(&mut self.message).await?;
        Ok(Some(&self.message))
    }

    fn has_next(&self) -> bool {
        let read = self.reader.buffer();
        read.first_chunk().is_some_and(|&length| read.len() >= LENGTH + u32::from_le_bytes(length) as usize)
    }

    async fn flush(&mut self) -> Result<()> {
        self.writer.write_all(&self.ready).await?;
        self.ready.clear();
        Ok(())
    }
}

/// Answers one connection until it ends, then the next.
pub(super) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    runtime()?.block_on(async {
        let listener =
            TcpListener::bind(at).await.with_context(|| format!("TCP cannot listen on {at}: choose a free address"))?;
        announce(listener.local_addr()?)?;
        loop {
            let (connection, _) = listener.accept().await?;
            // A client that has measured enough just leaves, with requests outstanding.
            let _ = serve_one(spec, connection).await;
        }
    })
}

async fn serve_one(spec: &Spec, connection: TcpStream) -> Result<()> {
    let mut frames = Frames::new(connection)?;
    let mut answer = Vec::new();
    while let Some(request) = frames.next().await? {
        Message::check_request(spec, request)?;
        answer.clear();
        answer.extend_from_slice(spec.answer(request));
        push_frame(&mut frames.ready, &answer);
        if !frames.has_next() {
            frames.flush().await?;
        }
    }
    Ok(())
}

/// Sends requests while `meter` runs.
pub(super) fn drive(spec: &Spec, server: SocketAddr, meter: &Meter) -> Result<()> {
    runtime()?.block_on(async {
        let connection = TcpStream::connect(server).await.with_context(|| format!("TCP cannot connect to {server}"))?;
        let mut frames = Frames::new(connection)?;
        let mut message = Message::new(spec);
        let mut asked = 0;
        let mut answered = 0;
        while meter.running() {
            let sent = Instant::now();
            while asked - answered < spec.outstanding as u64 {
                asked += 1;
                push_frame(&mut frames.ready, message.stamped(asked));
            }
            frames.flush().await?;
            let mut ended = 0;
            loop {
                answered += 1;
                message.stamped(answered);
                let Some(answer) = frames.next().await? else {
                    bail!("the server closed the connection with {} requests outstanding", asked - answered + 1);
                };
                message.check(spec, answer)?;
                ended += 1;
                if !frames.has_next() {
                    break;
                }
            }
            match spec.job {
                Job::Rtt => meter.round_trip(sent),
                Job::Rate | Job::Bulk => meter.count(ended),
            }
        }
        Ok(())
    })
}
