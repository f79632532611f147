use homarus_proto::{Stats, View};

/// What an endpoint has done since it was bound, and what it holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Counters, since the endpoint was bound.
    pub stats: Stats,
    /// Sizes of what is held at this moment.
    pub view: View,
}
