/// Bytes that may be sent in reply to packets about RPCs that are not known here.
///
/// Whoever forges a sender's address wants the answers to hit that address; so answers never have more bytes than the
/// packets that led to them.
#[derive(Debug, Default)]
pub(crate) struct ReplyCredit {
    bytes: usize,
}

impl ReplyCredit {
    /// Enough for any sensible burst of answers.
    const MAX: usize = 16_384;

    pub(crate) fn earn(&mut self, bytes: usize) {
        self.bytes = (self.bytes + bytes).min(ReplyCredit::MAX);
    }

    /// Whether a reply of `bytes` may be sent; if so it is accounted for.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        let enough = self.bytes >= bytes;
        if enough {
            self.bytes -= bytes;
        }
        enough
    }
}
