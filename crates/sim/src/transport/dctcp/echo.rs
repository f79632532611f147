/// The receiver's side (RFC 8257 §3.2): one acknowledgement never speaks for both marked segments and others, so that the
/// sender can count them although acknowledgements are delayed.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::transport) struct MarkedRuns {
    marked: bool,
}

impl MarkedRuns {
    /// Whether the segments of this run are marked: what its acknowledgements tell.
    pub(in crate::transport) fn marked(self) -> bool {
        self.marked
    }

    /// A segment has come. Returns whether it begins another run: what is not acknowledged is to be acknowledged first, as
    /// part of the old one.
    #[inline]
    pub(in crate::transport) fn changes(self, marked: bool) -> bool {
        self.marked != marked
    }

    /// The run that a segment belongs to.
    #[inline]
    pub(in crate::transport) fn note(&mut self, marked: bool) {
        self.marked = marked;
    }
}
