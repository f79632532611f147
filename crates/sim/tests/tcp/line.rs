use homarus_sim::net::{Ecn, Packet};
use homarus_sim::transport::tcp::{Tcp, TcpSegment, TcpSetup};
use homarus_sim::transport::{Message, Outcome, Transport};
use homarus_sim::{Agenda, Rate, Time};
use std::collections::BTreeSet;

/// Two hosts and a wire of each direction between them, which loses or marks the segments that a test names.
pub(crate) struct Line {
    pub(crate) hosts: [Tcp; 2],
    /// When messages and responses have arrived, in this order.
    pub(crate) arrived: Vec<Time>,
    pub(crate) answered: Vec<Time>,
    rate: Rate,
    delay: Time,
    busy_until: [Time; 2],
    agenda: Agenda<usize>,
    packets: Vec<Option<Packet<TcpSegment>>>,
    messages: Vec<Message>,
    now: Time,
    /// Segments with data from host 0 so far; the ones to lose and to mark, from 0.
    segments: usize,
    lose: BTreeSet<usize>,
    mark: BTreeSet<usize>,
}

/// No packet: a host is to be asked for packets.
const ASK: usize = usize::MAX;

impl Line {
    /// Both directions have this rate and delay.
    pub(crate) fn new(setup: &TcpSetup, rate: Rate, delay: Time) -> Line {
        Line {
            hosts: [Tcp::new(0, setup), Tcp::new(1, setup)],
            arrived: Vec::new(),
            answered: Vec::new(),
            rate,
            delay,
            busy_until: [Time::ZERO; 2],
            agenda: Agenda::default(),
            packets: Vec::new(),
            messages: Vec::new(),
            now: Time::ZERO,
            segments: 0,
            lose: BTreeSet::new(),
            mark: BTreeSet::new(),
        }
    }

    /// Loses these of host 0's segments with data, counted from 0.
    pub(crate) fn drop_segments(&mut self, numbers: &[usize]) {
        self.lose.extend(numbers);
    }

    /// Marks these of host 0's segments with data, counted from 0.
    pub(crate) fn mark_segments(&mut self, numbers: &[usize]) {
        self.mark.extend(numbers);
    }

    /// Host `from` sends a message to the other.
    pub(crate) fn send(&mut self, from: u32, length: u32, reply: Option<u32>) {
        let id = self.messages.len() as u32;
        let message = Message { id, from, to: 1 - from, length, reply, begun: self.now, tag: 0 };
        self.messages.push(message);
        self.hosts[from as usize].send(self.now, &message);
        self.pull();
    }

    /// The window of a host's first connection, segments.
    pub(crate) fn window(&self, host: usize) -> u32 {
        self.hosts[host].connections().next().map_or(0, |connection| connection.window)
    }

    /// Lets time pass.
    pub(crate) fn run_until(&mut self, until: Time) {
        loop {
            let timeout = self.hosts[0].next_timeout().min(self.hosts[1].next_timeout());
            let event = self.agenda.pop();
            let at = event.map_or(Time::NEVER, |(at, _)| at).min(timeout);
            if at > until {
                if let Some((at, slot)) = event {
                    self.agenda.push(at, slot);
                }
                break;
            }
            self.now = self.now.max(at);
            match event {
                Some((at, slot)) if at <= timeout => self.deliver(slot),
                _ => {
                    if let Some((at, slot)) = event {
                        self.agenda.push(at, slot);
                    }
                    self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
                }
            }
            self.pull();
        }
        self.now = until;
    }

    fn deliver(&mut self, slot: usize) {
        if slot == ASK {
            return;
        }
        let packet = self.packets[slot].take().expect("each packet arrives once");
        let host = packet.to as usize;
        let mut outcomes = Vec::new();
        self.hosts[host].receive(self.now, packet, &mut outcomes);
        for outcome in outcomes {
            match outcome {
                Outcome::Arrived(id) => {
                    self.arrived.push(self.now);
                    let message = self.messages[id as usize];
                    if message.reply.is_some() {
                        self.hosts[host].respond(self.now, &message);
                    }
                }
                Outcome::Answered(_) => self.answered.push(self.now),
            }
        }
    }

    fn pull(&mut self) {
        for host in 0..2 {
            while self.busy_until[host] <= self.now
                && let Some(mut packet) = self.hosts[host].next_packet(self.now)
            {
                self.busy_until[host] = self.now + self.rate.time_for(packet.wire);
                self.agenda.push(self.busy_until[host], ASK);
                if host == 0 && packet.message != Packet::<TcpSegment>::NO_MESSAGE {
                    let number = self.segments;
                    self.segments += 1;
                    if self.lose.contains(&number) {
                        continue;
                    }
                    if self.mark.contains(&number) && packet.ecn == Ecn::Capable {
                        packet.ecn = Ecn::Marked;
                    }
                }
                self.agenda.push(self.busy_until[host] + self.delay, self.packets.len());
                self.packets.push(Some(packet));
            }
        }
    }
}
