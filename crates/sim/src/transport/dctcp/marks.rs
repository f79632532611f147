/// The sender's estimate of the share of its bytes that are marked (RFC 8257 §3.3), updated once a window.
#[derive(Debug)]
pub(in crate::transport) struct Marks {
    share: f64,
    g: f64,
    acked: u64,
    marked: u64,
    /// When this byte is acknowledged, a window has passed.
    window_end: u64,
}

impl Marks {
    /// Begins with the worst, as RFC 8257 §4.1 advises.
    pub(in crate::transport) fn new(g: f64) -> Marks {
        Marks { share: 1.0, g, acked: 0, marked: 0, window_end: 0 }
    }

    /// The share, 0 to 1: "alpha".
    pub(in crate::transport) fn share(&self) -> f64 {
        self.share
    }

    /// Bytes were acknowledged up to `una`, and `next` is the next one to be sent.
    #[inline]
    pub(in crate::transport) fn note(&mut self, bytes: u64, marked: bool, una: u64, next: u64) {
        self.acked += bytes;
        if marked {
            self.marked += bytes;
        }
        if una > self.window_end {
            if self.acked > 0 {
                let share = self.marked as f64 / self.acked as f64;
                self.share += self.g * (share - self.share);
            }
            self.acked = 0;
            self.marked = 0;
            self.window_end = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_by_a_sixteenth_a_window_toward_the_share_that_is_marked() {
        let mut marks = Marks::new(1.0 / 16.0);
        marks.note(1, false, 1, 101);
        assert_eq!(marks.share(), 15.0 / 16.0, "the first window is a single byte");
        marks.note(50, true, 51, 151);
        marks.note(50, false, 101, 201);
        assert_eq!(marks.share(), 15.0 / 16.0, "the window ends behind its last byte");
        marks.note(100, false, 201, 301);
        let expected = 15.0 / 16.0 + (0.25 - 15.0 / 16.0) / 16.0;
        assert!((marks.share() - expected).abs() < 1e-12, "{}", marks.share());
    }
}
