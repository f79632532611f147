use crate::Time;
use crate::net::{Event, Network};
use crate::transport::{Message, Outcome, Transport};

/// Hosts on a network, and what they do.
#[derive(Debug)]
pub struct Cluster<T: Transport> {
    network: Network<T::Segment>,
    hosts: Vec<T>,
    /// When each host's transport will be called next.
    wakes: Vec<Time>,
    messages: Messages,
    /// What is on its way to each host.
    expected: Vec<Expected>,
    now: Time,
    /// Whether the application has been told to begin.
    begun: bool,
    outcomes: Vec<Outcome>,
}

/// What an application asks for.
#[derive(Debug, Default)]
pub struct Wishes {
    sends: Vec<Wish>,
    alarms: Vec<(Time, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Wish {
    from: u32,
    to: u32,
    length: u32,
    reply: Option<u32>,
    tag: u32,
}

impl Wishes {
    /// Sends a message now.
    pub fn send(&mut self, from: u32, to: u32, length: u32, tag: u32) {
        self.sends.push(Wish { from, to, length, reply: None, tag });
    }

    /// Sends a request now, to be answered with `reply` bytes.
    pub fn call(&mut self, from: u32, to: u32, length: u32, reply: u32, tag: u32) {
        self.sends.push(Wish { from, to, length, reply: Some(reply), tag });
    }

    /// Asks to be called at a time.
    pub fn alarm(&mut self, at: Time, token: u32) {
        self.alarms.push((at, token));
    }
}

/// What sends messages: a workload.
pub trait Application {
    /// The run begins.
    fn begin(&mut self, wishes: &mut Wishes);

    /// An alarm that was asked for goes off.
    fn alarm(&mut self, now: Time, token: u32, wishes: &mut Wishes);

    /// A message has arrived whole, or a response has: then `answered`.
    fn done(&mut self, now: Time, message: &Message, answered: bool, wishes: &mut Wishes);

    /// Whether all that counts is done.
    fn is_over(&self) -> bool;
}

/// For how long messages have been on their way to a host.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    messages: i64,
    since: Time,
    total: Time,
}

impl Expected {
    fn change(&mut self, now: Time, by: i64) {
        self.total = self.until(now);
        self.since = now;
        self.messages += by;
    }

    fn until(&self, now: Time) -> Time {
        if self.messages > 0 { self.total + (now - self.since) } else { self.total }
    }
}

/// Messages under way. Numbers are used again.
#[derive(Debug, Default)]
struct Messages {
    slots: Vec<Option<Message>>,
    free: Vec<u32>,
}

impl Messages {
    fn insert(&mut self, now: Time, wish: Wish) -> Message {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        let Wish { from, to, length, reply, tag } = wish;
        let message = Message { id, from, to, length, reply, begun: now, tag };
        self.slots[id as usize] = Some(message);
        message
    }

    fn get(&self, id: u32) -> Option<Message> {
        self.slots.get(id as usize).copied().flatten()
    }

    fn remove(&mut self, id: u32) {
        if let Some(slot) = self.slots.get_mut(id as usize)
            && slot.take().is_some()
        {
            self.free.push(id);
        }
    }
}

impl<T: Transport> Cluster<T> {
    /// Hosts that do nothing yet; as many as the network has.
    pub fn new(network: Network<T::Segment>, hosts: Vec<T>) -> Cluster<T> {
        assert_eq!(hosts.len(), network.topology().hosts() as usize, "a transport for each host");
        let wakes = vec![Time::NEVER; hosts.len()];
        let expected = vec![Expected::default(); hosts.len()];
        let messages = Messages::default();
        Cluster { network, hosts, wakes, messages, expected, now: Time::ZERO, begun: false, outcomes: Vec::new() }
    }

    /// Share of the time in which a host's link was idle although a message was on its way to it, over all hosts.
    pub fn wasted(&self) -> f64 {
        let expected: f64 = self.expected.iter().map(|host| host.until(self.now).as_secs()).sum();
        let busy: f64 = self.network.busy_downlinks().as_secs();
        let all = self.now.as_secs() * self.hosts.len() as f64;
        if all > 0.0 { ((expected - busy) / all).max(0.0) } else { 0.0 }
    }

    /// The time reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The network, to look at.
    pub fn network(&self) -> &Network<T::Segment> {
        &self.network
    }

    /// The hosts, to look at.
    pub fn hosts(&self) -> &[T] {
        &self.hosts
    }

    /// Runs until the application is over, nothing more can happen, or `until`. Returns whether it was over.
    pub fn run(&mut self, application: &mut impl Application, until: Time) -> bool {
        let mut wishes = Wishes::default();
        if !std::mem::replace(&mut self.begun, true) {
            application.begin(&mut wishes);
            self.grant(application, &mut wishes);
        }
        while !application.is_over() {
            // Events of one time keep their order wherever a run pauses.
            if self.network.agenda.next_at().is_none_or(|at| at > until) {
                return false;
            }
            let Some((now, event)) = self.network.agenda.pop() else {
                return false;
            };
            self.now = now;
            match event {
                Event::Arrive { port, slot } => {
                    if let Some(packet) = self.network.arrive(now, port, slot) {
                        let host = packet.to;
                        self.hosts[host as usize].receive(now, packet, &mut self.outcomes);
                        self.settle(host, application, &mut wishes);
                    }
                }
                Event::Free { port } => {
                    if self.network.freed(now, port) && (port as usize) < self.hosts.len() {
                        self.pull(port);
                    }
                }
                Event::Outside { slot } => {
                    if let Some(packet) = self.network.take(slot) {
                        let host = packet.to;
                        self.hosts[host as usize].receive(now, packet, &mut self.outcomes);
                        self.settle(host, application, &mut wishes);
                    }
                }
                Event::Wake { host } => {
                    let due = &mut self.wakes[host as usize];
                    if *due <= now {
                        *due = Time::NEVER;
                        self.hosts[host as usize].handle_timeout(now);
                        self.settle(host, application, &mut wishes);
                    }
                }
                Event::Signal { port, class, signal } => {
                    if let Some((host, go)) = self.network.heard(now, port, class, signal) {
                        self.hosts[host as usize].uplink(now, class, go);
                        self.pull(host);
                    }
                }
                Event::Alarm { token } => {
                    application.alarm(now, token, &mut wishes);
                    self.grant(application, &mut wishes);
                }
            }
        }
        true
    }

    /// Does what the application has asked for.
    fn grant(&mut self, application: &mut impl Application, wishes: &mut Wishes) {
        for (at, token) in wishes.alarms.drain(..) {
            self.network.agenda.push(at, Event::Alarm { token });
        }
        let mut sends = std::mem::take(&mut wishes.sends);
        for wish in sends.drain(..) {
            let message = self.messages.insert(self.now, wish);
            self.expected[wish.to as usize].change(self.now, 1);
            self.hosts[wish.from as usize].send(self.now, &message);
            self.settle(wish.from, application, wishes);
        }
        if wishes.sends.is_empty() {
            wishes.sends = sends;
        }
    }

    /// After something changed at a host: tells the application, and lets the host send.
    fn settle(&mut self, host: u32, application: &mut impl Application, wishes: &mut Wishes) {
        if !self.outcomes.is_empty() {
            let mut outcomes = std::mem::take(&mut self.outcomes);
            for outcome in outcomes.drain(..) {
                let (id, answered) = match outcome {
                    Outcome::Arrived(id) => (id, false),
                    Outcome::Answered(id) => (id, true),
                };
                let Some(message) = self.messages.get(id) else { continue };
                self.network.note(self.now, id);
                self.expected[host as usize].change(self.now, -1);
                if answered || message.reply.is_none() {
                    self.messages.remove(id);
                } else {
                    self.expected[message.from as usize].change(self.now, 1);
                    self.hosts[host as usize].respond(self.now, &message);
                }
                application.done(self.now, &message, answered, wishes);
            }
            self.outcomes = outcomes;
            self.pull(host);
            self.grant(application, wishes);
        } else {
            self.pull(host);
        }
    }

    /// Takes packets from a host as long as its uplink is free, and notes when it wants to be called.
    fn pull(&mut self, host: u32) {
        let transport = &mut self.hosts[host as usize];
        while self.network.uplink_is_free(self.now, host) {
            match transport.next_packet(self.now) {
                Some(packet) => self.network.send(self.now, packet),
                None => break,
            }
        }
        if !self.network.uplink_is_free(self.now, host) {
            self.network.wake_when_free(host);
        }
        let due = transport.next_timeout();
        if due < self.wakes[host as usize] {
            self.wakes[host as usize] = due;
            self.network.agenda.push(due.max(self.now), Event::Wake { host });
        }
    }
}
