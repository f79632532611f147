//! The applications on both sides of a replay: what they are told, and what they do.

use super::facts::stays_silent;
use super::stage::{Stage, Waiting};
use crate::kernel::Event as KernelEvent;
use homarus_proto::Event;
use std::time::Duration;

impl Stage<'_> {
    pub(super) fn take_events(&mut self) {
        while let Some(event) = self.events.pop_front() {
            match event {
                Event::Request { rpc, message } => {
                    let course = self.theirs.remove(&rpc.id()).and_then(|id| self.courses.get(&id));
                    let Some(course) = course.filter(|course| course.request == message.as_slice()) else {
                        self.outcome.faults.push(format!("request {:x} came garbled or twice", rpc.id()));
                        continue;
                    };
                    self.waiting.push((course.responded, Waiting::Endpoint(rpc, course.response.clone())));
                }
                Event::Response { rpc, result } => {
                    let course = self.theirs.remove(&rpc.as_u64()).and_then(|id| self.courses.get(&id));
                    match (course, result) {
                        (Some(course), Ok(message)) if course.response == message.as_slice() => {
                            self.outcome.answered += 1
                        }
                        (Some(_), Err(error)) => self.outcome.failed.push(error),
                        _ => self.outcome.faults.push(format!("response {:x} came garbled or twice", rpc.as_u64())),
                    }
                }
            }
        }
    }

    pub(super) fn take_puppet_event(&mut self, event: KernelEvent) {
        match event {
            KernelEvent::Request { request, message } => {
                let course = self.theirs.get(&request.id).and_then(|id| self.courses.get(id));
                match course.filter(|course| course.request == message) {
                    Some(course) => {
                        self.waiting.push((course.responded, Waiting::Puppet(request, course.response.clone())));
                    }
                    None => self.outcome.faults.push(format!("the puppet got request {:x} garbled", request.id)),
                }
            }
            KernelEvent::Response { id, result } => {
                let course = &self.courses[&id];
                if result.as_ref() == Ok(&course.response) {
                    self.outcome.answered += 1;
                } else if !stays_silent(&self.capture.name) {
                    self.outcome.faults.push(format!("the puppet's request {id:x} ended wrongly"));
                }
            }
        }
    }

    /// Gives the responses whose time has come.
    pub(super) fn respond(&mut self) {
        let elapsed = self.now.saturating_since(self.began);
        let (due, later) = std::mem::take(&mut self.waiting).into_iter().partition(|(at, _)| *at <= elapsed);
        self.waiting = later;
        let due: Vec<(Duration, Waiting)> = due;
        for (_, waiting) in due {
            match waiting {
                Waiting::Endpoint(rpc, response) => {
                    let sent = self.endpoint.send_response(self.now, rpc, response);
                    self.outcome.faults.extend(sent.err().map(|why| format!("a response was refused: {why}")));
                }
                Waiting::Puppet(request, response) => {
                    self.puppet.respond(request, response);
                }
            }
        }
    }
}
