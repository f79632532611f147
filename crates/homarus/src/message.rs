use bytes::{Bytes, BytesMut};

/// What can be sent as a message.
///
/// Owned buffers (`Vec<u8>`, `String`, [`Bytes`], `Box<[u8]>`) are taken over without a copy; borrowed ones are
/// copied. Either way the contents are fixed when the call is made: nothing that happens to the caller's buffer
/// afterwards changes what is sent.
///
/// ```
/// use homarus::{Bytes, IntoMessage};
///
/// let buffer = vec![1, 2, 3];
/// let place = buffer.as_ptr();
/// assert_eq!(buffer.into_message().as_ptr(), place);
/// // Sent to many: the contents are shared.
/// let news = Bytes::from_static(b"news");
/// assert_eq!((&news).into_message(), (&news).into_message());
/// ```
pub trait IntoMessage {
    /// The contents of the message.
    fn into_message(self) -> Bytes;
}

macro_rules! taken_over {
    ($($owned:ty),*) => {
        $(impl IntoMessage for $owned {
            fn into_message(self) -> Bytes {
                self.into()
            }
        })*
    };
}

taken_over!(Bytes, BytesMut, Vec<u8>, Box<[u8]>, String);

macro_rules! copied {
    ($($borrowed:ty),*) => {
        $(impl IntoMessage for $borrowed {
            fn into_message(self) -> Bytes {
                Bytes::copy_from_slice(self.as_ref())
            }
        })*
    };
}

copied!(&[u8], &Vec<u8>, &str, &String);

impl<const N: usize> IntoMessage for &[u8; N] {
    fn into_message(self) -> Bytes {
        Bytes::copy_from_slice(self)
    }
}

impl<const N: usize> IntoMessage for [u8; N] {
    fn into_message(self) -> Bytes {
        Bytes::copy_from_slice(&self)
    }
}

/// Shares the contents: no copy.
impl IntoMessage for &Bytes {
    fn into_message(self) -> Bytes {
        self.clone()
    }
}

/// A message without contents.
impl IntoMessage for () {
    fn into_message(self) -> Bytes {
        Bytes::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_borrowed_buffer_is_copied() {
        let mut buffer = vec![1, 2, 3];
        let message = buffer.as_slice().into_message();
        buffer.fill(0);
        assert_eq!(&message[..], [1, 2, 3]);
    }

    #[test]
    fn an_owned_buffer_is_not_copied() {
        let buffer = vec![1, 2, 3];
        let place = buffer.as_ptr();
        assert_eq!(buffer.into_message().as_ptr(), place);
    }
}
