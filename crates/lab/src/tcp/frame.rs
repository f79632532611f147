//! Messages in a byte stream.

use anyhow::{Context, Result, bail};
use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const LENGTH: usize = 4;

/// Least space for a read.
const READ: usize = 64 << 10;

/// Cuts a stream into messages.
#[derive(Debug)]
pub(super) struct Reader<R> {
    stream: R,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(stream: R) -> Self {
        Reader { stream, buffer: BytesMut::new() }
    }

    /// The next message; `None` when the stream has ended between two messages.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let missing = match self.buffer.first_chunk::<LENGTH>() {
                Some(length) => {
                    let whole = LENGTH + u32::from_be_bytes(*length) as usize;
                    if self.buffer.len() >= whole {
                        let mut message = self.buffer.split_to(whole).freeze();
                        message.advance(LENGTH);
                        return Ok(Some(message));
                    }
                    whole - self.buffer.len()
                }
                None => LENGTH,
            };
            self.buffer.reserve(missing.max(READ));
            if self.stream.read_buf(&mut self.buffer).await.context("cannot read from a connection")? == 0 {
                if self.buffer.is_empty() {
                    return Ok(None);
                }
                bail!("a connection ended within a message");
            }
        }
    }
}

/// Writes a message, its length and its beginning in one segment.
pub(super) async fn write<W: AsyncWrite + Unpin>(stream: &mut W, message: Bytes) -> Result<()> {
    let length = u32::try_from(message.len()).context("a message longer than 4 GiB")?.to_be_bytes();
    let mut frame = Buf::chain(length.as_slice(), message);
    stream.write_all_buf(&mut frame).await.context("cannot write to a connection")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut near, far) = tokio::io::duplex(100);
            let messages: Vec<Bytes> =
                [0, 1, 3, 96, 97, 5000].map(|length| Bytes::from(vec![length as u8; length])).to_vec();
            let sent = messages.clone();
            let writing = async move {
                for message in sent {
                    write(&mut near, message).await.unwrap();
                }
                near.write_all(&[0, 0, 0, 9, 1]).await.unwrap();
            };
            let reading = async {
                let mut reader = Reader::new(far);
                for message in &messages {
                    assert_eq!(reader.next().await.unwrap().as_ref(), Some(message));
                }
                assert!(reader.next().await.unwrap_err().to_string().contains("within a message"));
            };
            tokio::join!(writing, reading);
        });
    }
}
