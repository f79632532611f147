use homarus_proto::{Stats, View};

/// What an endpoint has done since it was bound, and what it holds now.
///
/// ```
/// # fn main() -> Result<(), homarus::Error> {
/// let endpoint = homarus::blocking::Endpoint::bind("127.0.0.1:0")?;
/// let metrics = endpoint.metrics();
/// println!("{} answered, {} outstanding", metrics.stats.requests_answered, metrics.view.client_rpcs);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Counters, since the endpoint was bound.
    pub stats: Stats,
    /// Sizes of what is held at this moment.
    pub view: View,
}
