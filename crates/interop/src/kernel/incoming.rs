use super::account::Why;
use std::ops::Range;

/// A message that is arriving, put together as the Linux module does it.
#[derive(Clone, Debug)]
pub struct Incoming {
    contents: Vec<u8>,
    /// End of the highest bytes received.
    end: u32,
    /// What is missing below it, in order.
    gaps: Vec<Range<u32>>,
    received: u32,
    /// What the first packet said that the sender sends without grants.
    unscheduled: u32,
    /// Bytes that the sender may send.
    pub(super) granted: u32,
    /// Priority of the last grant.
    pub(super) grant_priority: u8,
}

impl Incoming {
    /// A message of which nothing has come; `incoming` as in its first packet.
    pub fn new(length: u32, incoming: u32) -> Incoming {
        let unscheduled = incoming.min(length);
        Incoming {
            contents: vec![0; length as usize],
            end: 0,
            gaps: Vec::new(),
            received: 0,
            unscheduled,
            granted: unscheduled,
            grant_priority: 0,
        }
    }

    /// Bytes in the whole message.
    pub fn length(&self) -> u32 {
        self.contents.len() as u32
    }

    /// Distinct bytes received.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// Bytes that the sender may send, as far as we know.
    pub fn granted(&self) -> u32 {
        self.granted
    }

    /// Whether it ever needs a grant.
    pub fn is_scheduled(&self) -> bool {
        self.unscheduled < self.length()
    }

    /// Whether every byte is there.
    pub fn is_complete(&self) -> bool {
        self.received == self.length()
    }

    /// What is missing below the highest bytes received.
    pub fn gaps(&self) -> &[Range<u32>] {
        &self.gaps
    }

    /// What may be sent above them.
    pub fn tail(&self) -> Range<u32> {
        self.end..self.granted.max(self.end)
    }

    /// The message.
    pub fn into_contents(self) -> Vec<u8> {
        self.contents
    }

    /// Takes one packet, if the module would. It takes only what lies wholly inside a gap, or wholly beyond all that
    /// has come: a packet with new and old bytes is dropped as a whole.
    pub fn accept(&mut self, offset: u32, incoming: u32, contents: &[u8]) -> Result<(), Why> {
        let end = offset.checked_add(contents.len() as u32).filter(|end| *end <= self.length());
        let end = end.ok_or(Why::BeyondEnd { offset, length: self.length() })?;
        if contents.is_empty() {
            return Err(Why::Empty);
        }
        self.granted = self.granted.max(incoming.min(self.length()));
        self.place(offset..end)?;
        self.contents[offset as usize..end as usize].copy_from_slice(contents);
        self.received += end - offset;
        Ok(())
    }

    fn place(&mut self, new: Range<u32>) -> Result<(), Why> {
        if new.start >= self.end {
            if new.start > self.end {
                self.gaps.push(self.end..new.start);
            }
            self.end = new.end;
            return Ok(());
        }
        if new.end > self.end {
            return Err(Why::Straddles { packet: new, edge: self.end });
        }
        let Some(index) = self.gaps.iter().position(|gap| gap.start < new.end && new.start < gap.end) else {
            return Err(Why::Duplicate);
        };
        let gap = self.gaps[index].clone();
        if new.start < gap.start {
            return Err(Why::Straddles { packet: new, edge: gap.start });
        }
        if new.end > gap.end {
            return Err(Why::Straddles { packet: new, edge: gap.end });
        }
        let rest = [gap.start..new.start, new.end..gap.end].into_iter().filter(|rest| !rest.is_empty());
        self.gaps.splice(index..=index, rest.collect::<Vec<_>>());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(ranges: &[Range<u32>]) -> (Incoming, Vec<Result<(), Why>>) {
        let mut message = Incoming::new(10_000, 10_000);
        let results =
            ranges.iter().map(|range| message.accept(range.start, 10_000, &vec![7; range.len()])).collect::<Vec<_>>();
        (message, results)
    }

    #[test]
    fn a_packet_fills_a_gap_or_part_of_it() {
        let (message, results) = with(&[0..1000, 4000..5000, 2000..3000, 1000..1500, 3500..4000]);
        assert!(results.iter().all(Result::is_ok));
        assert_eq!(message.gaps(), [1500..2000, 3000..3500]);
        assert_eq!((message.received(), message.tail()), (4000, 5000..10_000));
    }

    #[test]
    fn a_packet_across_an_edge_is_dropped_whole() {
        for (packet, edge) in [(500..1500, 1000), (3500..4500, 4000), (4500..5500, 5000), (500..4500, 1000)] {
            let (message, results) = with(&[0..1000, 4000..5000, packet.clone()]);
            assert_eq!(results[2], Err(Why::Straddles { packet, edge }));
            assert_eq!(message.received(), 2000);
        }
    }

    #[test]
    fn duplicates_add_nothing() {
        let (message, results) = with(&[0..1000, 0..1000, 200..300]);
        assert_eq!(results[1..], [Err(Why::Duplicate), Err(Why::Duplicate)]);
        assert_eq!(message.received(), 1000);
    }
}
