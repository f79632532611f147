use bytes::Bytes;
use std::ops::Range;

/// The contents of a message or of part of one.
///
/// The simulator sends phantom messages, which have a length and no contents, so that a
/// 10 MB message costs it no more than the headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Real contents.
    Bytes(Bytes),
    /// Only a length, in bytes.
    Phantom(usize),
}

impl Payload {
    /// No contents at all.
    pub const EMPTY: Payload = Payload::Bytes(Bytes::new());

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Phantom(len) => *len,
        }
    }

    /// Whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> Payload {
        Payload::Bytes(match Short::copy_of(bytes) {
            Some(short) => Bytes::from_owner(short),
            None => Bytes::copy_from_slice(bytes),
        })
    }

    /// Part of the payload, without copying. Panics if `range` exceeds the length.
    pub fn slice(&self, range: Range<usize>) -> Payload {
        match self {
            Payload::Bytes(bytes) => Payload::Bytes(bytes.slice(range)),
            Payload::Phantom(len) => {
                assert!(range.start <= range.end && range.end <= *len);
                Payload::Phantom(range.len())
            }
        }
    }

    /// The contents as a slice; a phantom has none and gives an empty slice.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Payload::Bytes(bytes) => bytes,
            Payload::Phantom(_) => &[],
        }
    }

    /// The contents; a phantom becomes that many zero bytes.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Payload::Bytes(bytes) => bytes,
            Payload::Phantom(len) => Bytes::from(vec![0; len]),
        }
    }
}

/// A short message, in one piece of memory with its count of references: `Bytes` takes another when it is first shared.
struct Short {
    bytes: [u8; Short::MOST],
    len: u8,
}

impl Short {
    const MOST: usize = 127;

    fn copy_of(bytes: &[u8]) -> Option<Short> {
        let mut short = Short { bytes: [0; Short::MOST], len: bytes.len().try_into().ok()? };
        short.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(short)
    }
}

impl AsRef<[u8]> for Short {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Payload::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Payload::Bytes(bytes.into())
    }
}
