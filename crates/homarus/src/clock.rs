use homarus_proto::Instant;

/// The endpoint's time: nanoseconds of the monotonic clock since the endpoint began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: std::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { start: std::time::Instant::now() }
    }

    pub(crate) fn now(&self) -> Instant {
        // 2^64 nanoseconds are 584 years.
        Instant::from_nanos(self.start.elapsed().as_nanos() as u64)
    }
}
