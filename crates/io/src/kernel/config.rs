use super::layout::{MAX_PAGES, PAGE};
use std::io;

/// How a socket of the Linux Homa module is set up.
#[derive(Clone, Copy, Debug)]
pub struct KernelConfig {
    /// Memory for incoming messages, bytes: 1 MiB, which the longest message needs, to 1 GiB, rounded up to a multiple of
    /// 65,536. Messages that find no room wait in the kernel. Memory is used from the first message that it holds on.
    pub buffer: usize,
}

impl Default for KernelConfig {
    fn default() -> Self {
        KernelConfig { buffer: 32 << 20 }
    }
}

impl KernelConfig {
    /// Bytes of memory, a multiple of a page.
    pub(super) fn region(&self) -> io::Result<usize> {
        const LEAST: usize = MAX_PAGES * PAGE;
        const MOST: usize = 1 << 30;
        if !(LEAST..=MOST).contains(&self.buffer) {
            let message = format!("buffer is {}: expected {LEAST} to {MOST} bytes", self.buffer);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(self.buffer.next_multiple_of(PAGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_within_bounds() {
        let region = |buffer| KernelConfig { buffer }.region();
        assert_eq!(region((1 << 20) + 1).unwrap(), (1 << 20) + PAGE);
        assert_eq!(region(1 << 30).unwrap(), 1 << 30);
        for refused in [0, (1 << 20) - 1, (1 << 30) + 1, usize::MAX] {
            assert_eq!(region(refused).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert!(KernelConfig::default().region().is_ok());
    }
}
