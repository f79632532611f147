use crate::Time;
use crate::cluster::{Application, Wishes};
use crate::transport::Message;

/// A client, host 0, that asks many servers at once, all of which answer; and again when all have.
#[derive(Debug)]
pub struct Incast<F> {
    hosts: u32,
    requests: u32,
    size: u32,
    rounds: u64,
    left: u32,
    began: Time,
    record: F,
}

/// Bytes of a request.
const REQUEST: u32 = 100;

impl<F: FnMut(Time)> Incast<F> {
    /// `record` is told how long each round took.
    pub fn new(hosts: u32, requests: u32, size: u32, rounds: u64, record: F) -> Incast<F> {
        Incast { hosts, requests, size, rounds, left: 0, began: Time::ZERO, record }
    }

    /// Rounds that are not over.
    pub fn rounds_left(&self) -> u64 {
        self.rounds
    }

    fn ask(&mut self, now: Time, wishes: &mut Wishes) {
        self.began = now;
        self.left = self.requests;
        for request in 0..self.requests {
            wishes.call(0, 1 + request % (self.hosts - 1), REQUEST, self.size, 0);
        }
    }
}

impl<F: FnMut(Time)> Application for Incast<F> {
    fn begin(&mut self, wishes: &mut Wishes) {
        self.ask(Time::ZERO, wishes);
    }

    fn alarm(&mut self, _now: Time, _token: u32, _wishes: &mut Wishes) {}

    fn done(&mut self, now: Time, _message: &Message, answered: bool, wishes: &mut Wishes) {
        if !answered {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            (self.record)(now - self.began);
            self.rounds -= 1;
            if self.rounds > 0 {
                self.ask(now, wishes);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.rounds == 0
    }
}
