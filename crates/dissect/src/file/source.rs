use super::ReadError;
use crate::FileError;
use std::io::{BufReader, ErrorKind, Read};

/// Bytes of a file, counted, so that every error names its place.
#[derive(Debug)]
pub(super) struct Source<R> {
    reader: BufReader<R>,
    position: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(reader: R) -> Source<R> {
        Source { reader: BufReader::with_capacity(1 << 16, reader), position: 0 }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Reads as many bytes as there are, up to `out.len()`.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < out.len() {
            match self.reader.read(&mut out[filled..]) {
                Ok(0) => break,
                Ok(read) => {
                    filled += read;
                    self.position += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(ReadError::Io { at: self.position, source }),
            }
        }
        Ok(filled)
    }

    /// Exactly `N` bytes, or an error that says how many came.
    pub(super) fn array<const N: usize>(&mut self, expected: &str, place: &str) -> Result<[u8; N], ReadError> {
        self.array_or_end(expected, place)?.ok_or_else(|| self.ended(expected, place, 0))
    }

    /// Exactly `N` bytes, or `None` if the file ends here.
    pub(super) fn array_or_end<const N: usize>(
        &mut self,
        expected: &str,
        place: &str,
    ) -> Result<Option<[u8; N]>, ReadError> {
        let mut out = [0; N];
        match self.fill(&mut out)? {
            0 if N > 0 => Ok(None),
            filled if filled == N => Ok(Some(out)),
            filled => Err(self.ended(expected, place, filled)),
        }
    }

    /// Replaces `out` by the next `length` bytes; the caller has checked that this is not absurd.
    pub(super) fn bytes(&mut self, out: &mut Vec<u8>, length: usize, place: &str) -> Result<(), ReadError> {
        out.clear();
        out.resize(length, 0);
        match self.fill(out)? {
            filled if filled == length => Ok(()),
            filled => Err(self.ended(&format!("{length} bytes"), place, filled)),
        }
    }

    /// Passes over bytes that are not needed, however many.
    pub(super) fn skip(&mut self, length: u64, place: &str) -> Result<(), ReadError> {
        let mut scratch = [0; 4096];
        let mut left = length;
        while left > 0 {
            let want = left.min(scratch.len() as u64) as usize;
            let filled = self.fill(&mut scratch[..want])?;
            left -= filled as u64;
            if filled < want {
                return Err(self.ended(&format!("{length} bytes"), place, (length - left) as usize));
            }
        }
        Ok(())
    }

    fn ended(&self, expected: &str, place: &str, found: usize) -> ReadError {
        let found = match found {
            0 => "the end of the file".to_owned(),
            bytes => format!("only {bytes} and the end of the file"),
        };
        self.wrong(self.position, place, expected, &found)
    }

    /// An error about what stands at `at`.
    pub(super) fn wrong(&self, at: u64, place: &str, expected: &str, found: &str) -> ReadError {
        FileError { at, place: place.to_owned(), expected: expected.to_owned(), found: found.to_owned() }.into()
    }
}
