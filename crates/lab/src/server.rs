//! What servers of every transport answer.

use crate::control::Answer;
use crate::payload::Payload;
use bytes::Bytes;
use std::sync::LazyLock;

/// Longest response that a request may ask for.
const LONGEST: u32 = 16 << 20;

/// Contents of responses whose length the request says.
static CONTENTS: LazyLock<Payload> = LazyLock::new(|| Payload::new(LONGEST));

/// The response to a request.
pub(crate) fn answer(kind: Answer, request: Bytes) -> Bytes {
    match kind {
        Answer::Echo => request,
        Answer::Sized => match request.first_chunk::<4>() {
            Some(length) => CONTENTS.message(u32::from_be_bytes(*length)),
            None => Bytes::new(),
        },
    }
}

/// A request for `reply` bytes, padded to `length`.
pub(crate) fn request_for(reply: u32, length: usize) -> Bytes {
    let mut request = reply.to_be_bytes().to_vec();
    request.resize(length.max(4), 0);
    Bytes::from(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sized_answer_has_the_length_asked_for() {
        assert_eq!(answer(Answer::Sized, request_for(65_536, 100)).len(), 65_536);
        assert_eq!(answer(Answer::Sized, Bytes::from_static(b"ab")).len(), 0);
        assert_eq!(answer(Answer::Sized, request_for(u32::MAX, 4)).len(), LONGEST as usize);
        assert_eq!(answer(Answer::Echo, Bytes::from_static(b"ab")), "ab");
    }
}
