//! Messages at fixed times, and when each was done.

use homarus_sim::transport::Message;
use homarus_sim::{Application, Time, Wishes};

/// One message of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) at: Time,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) length: u32,
    pub(crate) reply: Option<u32>,
}

/// A message that is not answered.
pub(crate) fn line(at: Time, from: u32, to: u32, length: u32) -> Line {
    Line { at, from, to, length, reply: None }
}

/// So many short and long messages between some of so many hosts; some are answered, and some hosts get much.
pub(crate) fn mixture(hosts: u32, messages: u32) -> Vec<Line> {
    let one = |number: u32| {
        let from = number * 7 % hosts;
        let to = if number.is_multiple_of(2) { number % 3 } else { number * 11 % hosts };
        let to = if to == from { (to + 1) % hosts } else { to };
        let length = [1, 900, 5_000, 40_000][number as usize / 2 % 4];
        let reply = (number.is_multiple_of(3)).then_some(2_000);
        Line { at: Time::from_micros(u64::from(number) * 3), from, to, length, reply }
    };
    (0..messages).map(one).collect()
}

/// A script at work.
#[derive(Debug)]
pub(crate) struct Script {
    lines: Vec<Line>,
    /// By line: when its last byte had arrived.
    pub(crate) done: Vec<Option<Time>>,
}

impl Script {
    pub(crate) fn new(lines: Vec<Line>) -> Script {
        Script { done: vec![None; lines.len()], lines }
    }

    /// How long a message took from its beginning.
    pub(crate) fn took(&self, line: usize) -> Time {
        let done = self.done[line].unwrap_or_else(|| panic!("message {line} never arrived"));
        done.since(self.lines[line].at)
    }
}

impl Application for Script {
    fn begin(&mut self, wishes: &mut Wishes) {
        for (number, line) in (0..).zip(&self.lines) {
            wishes.alarm(line.at, number);
        }
    }

    fn alarm(&mut self, _now: Time, number: u32, wishes: &mut Wishes) {
        let Line { from, to, length, reply, .. } = self.lines[number as usize];
        match reply {
            Some(reply) => wishes.call(from, to, length, reply, number),
            None => wishes.send(from, to, length, number),
        }
    }

    fn done(&mut self, now: Time, message: &Message, answered: bool, _wishes: &mut Wishes) {
        if answered == message.reply.is_some() {
            let done = &mut self.done[message.tag as usize];
            assert!(done.is_none(), "message {} was told of twice", message.tag);
            *done = Some(now);
        }
    }

    fn is_over(&self) -> bool {
        self.done.iter().all(Option::is_some)
    }
}
