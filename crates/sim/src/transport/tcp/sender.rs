use super::messages::Messages;
use super::recovery::{Phase, Reduction};
use super::rto::Rto;
use super::scoreboard::Scoreboard;
use super::segment::Blocks;
use super::setup::TcpSetup;
use super::window::Window;
use crate::Time;

/// One direction of a connection, at the host that sends.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) board: Scoreboard,
    /// The next new byte to be sent, and the end of all that the application has written.
    next: u64,
    written: u64,
    pub(super) window: Window,
    pub(super) rto: Rto,
    phase: Phase,
    pub(super) messages: Messages,
    /// Marks count again when this byte is acknowledged: one reduction a window.
    reduced_until: u64,
    /// The next new segment tells of a reduction.
    tell_reduced: bool,
    pub(super) timer: Timer,
    pub(super) look_again: Time,
    /// A probe is due, or has been sent since something new was acknowledged.
    probe: Probe,
    last_sent: Time,
}

/// What happens when nothing is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    pub(super) at: Time,
    /// A probe and not yet the timeout.
    probe: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    None,
    Due,
    Sent,
}

/// A segment to be sent.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) seq: u64,
    pub(super) length: u16,
    /// It is sent for another time.
    pub(super) again: bool,
    pub(super) tell_reduced: bool,
}

/// What the passing of time led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    Nothing,
    Probe,
    Timeout,
}

const IDLE: Timer = Timer { at: Time::NEVER, probe: false };

impl Sender {
    pub(super) fn new(setup: &TcpSetup) -> Sender {
        Sender {
            board: Scoreboard::new(),
            next: 0,
            written: 0,
            window: Window::new(setup),
            rto: Rto::new(setup),
            phase: Phase::Open,
            messages: Messages::default(),
            reduced_until: 0,
            tell_reduced: false,
            timer: IDLE,
            look_again: Time::NEVER,
            probe: Probe::None,
            last_sent: Time::ZERO,
        }
    }

    /// The application writes a message. One of no bytes takes one: something must tell of it.
    pub(super) fn write(&mut self, now: Time, setup: &TcpSetup, id: u32, length: u32, interactive: bool) {
        if setup.slow_start_after_idle && self.board.is_empty() && self.written == self.next {
            let (idle, timeout) = (now - self.last_sent, self.rto.timeout());
            if idle > timeout {
                self.window.rest(idle, timeout);
            }
        }
        self.written += u64::from(length.max(1));
        self.messages.push(self.written, id, interactive);
    }

    /// Whether a segment could be sent now.
    #[inline]
    pub(super) fn may_send(&self, setup: &TcpSetup) -> bool {
        let room = self.board.in_flight() < self.window.segments();
        (room && (self.board.lost() > 0 || self.may_send_new(setup))) || self.probe == Probe::Due
    }

    /// Whether the application and the receiver allow a new segment.
    #[inline]
    fn may_send_new(&self, setup: &TcpSetup) -> bool {
        let open = self.board.una() + u64::from(setup.receive_window);
        self.next < self.written && self.next + u64::from(setup.mss) <= open
    }

    /// The next segment: a lost one first, then new bytes.
    #[inline]
    pub(super) fn next_chunk(&mut self, now: Time, setup: &TcpSetup) -> Option<Chunk> {
        if self.probe == Probe::Due {
            return self.send_probe(now, setup);
        }
        let in_flight = self.board.in_flight();
        if in_flight >= self.window.segments() {
            return None;
        }
        if self.board.lost() > 0 {
            let (seq, length) = self.board.repair(now)?;
            self.note_sent(now, setup, false);
            return Some(Chunk { seq, length, again: true, tell_reduced: false });
        }
        if !self.may_send_new(setup) {
            return None;
        }
        Some(self.send_new(now, setup))
    }

    #[inline]
    fn send_new(&mut self, now: Time, setup: &TcpSetup) -> Chunk {
        let seq = self.next;
        let length = u64::from(setup.mss).min(self.written - seq) as u16;
        self.board.push(now, seq, length);
        self.next += u64::from(length);
        self.window.note_sent(self.board.in_flight(), self.board.una(), self.next);
        self.note_sent(now, setup, true);
        Chunk { seq, length, again: false, tell_reduced: std::mem::take(&mut self.tell_reduced) }
    }

    #[inline]
    fn note_sent(&mut self, now: Time, setup: &TcpSetup, new: bool) {
        self.last_sent = now;
        if let Phase::Recovery { reduction, .. } = &mut self.phase {
            reduction.note_sent();
        }
        if self.timer.at == Time::NEVER || (new && self.timer.probe) {
            self.set_timer(now, setup);
        }
    }

    fn send_probe(&mut self, now: Time, setup: &TcpSetup) -> Option<Chunk> {
        self.probe = Probe::Sent;
        let chunk = if self.may_send_new(setup) {
            self.send_new(now, setup)
        } else {
            let (seq, length) = self.board.probe(now)?;
            self.last_sent = now;
            Chunk { seq, length, again: true, tell_reduced: false }
        };
        self.timer = Timer { at: now + self.rto.timeout(), probe: false };
        Some(chunk)
    }

    /// An acknowledgement has come, not an old one. Returns whether messages that are not answered are acknowledged to their
    /// ends.
    #[inline]
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        setup: &TcpSetup,
        ack: u64,
        blocks: Option<&Blocks>,
        marked: bool,
    ) -> bool {
        let bytes = ack - self.board.una();
        let news = self.board.acknowledge(now, ack);
        let mut arrived = news.segments;
        if let Some(blocks) = blocks {
            arrived += self.board.note_blocks(now, blocks);
        }
        if let Some(rtt) = news.rtt {
            self.rto.measure(rtt);
        }
        self.window.note_marks(bytes, marked, ack, self.next);
        if self.phase != Phase::Open || self.board.has_gaps() {
            self.repair(now, ack, arrived);
        }
        let slow_start = matches!(self.phase, Phase::Timeout { .. });
        if self.phase == Phase::Open || slow_start {
            if marked && ack > self.reduced_until && !slow_start {
                self.window.note_congestion();
                self.reduced_until = self.next;
                self.tell_reduced = true;
            } else if (ack >= self.reduced_until || slow_start) && bytes > 0 {
                self.window.watch_slow_start(now, ack, self.next, self.board.shortest_rtt());
                self.window.grow(now, arrived, self.rto.smoothed());
            }
        }
        if bytes == 0 {
            return false;
        }
        self.probe = Probe::None;
        self.rto.note_progress();
        if self.board.is_empty() {
            self.timer = IDLE;
            self.look_again = Time::NEVER;
        } else {
            self.set_timer(now, setup);
        }
        self.messages.forget(ack)
    }

    /// After an acknowledgement while something is missing.
    fn repair(&mut self, now: Time, ack: u64, arrived: u32) {
        match self.phase {
            Phase::Recovery { high, .. } if ack >= high => {
                self.window.settle();
                self.phase = Phase::Open;
            }
            Phase::Timeout { high } if ack >= high => self.phase = Phase::Open,
            _ => {}
        }
        self.judge(now);
        if let Phase::Recovery { reduction, .. } = &mut self.phase {
            reduction.follow(&mut self.window, arrived, self.board.in_flight(), false);
        }
    }

    /// Finds what is lost, and begins to repair it.
    fn judge(&mut self, now: Time) {
        self.look_again = self.board.judge(now, self.phase != Phase::Open);
        if self.phase == Phase::Open && self.board.lost() > 0 {
            let mut reduction = Reduction::new(self.window.segments());
            // A window that marks have just reduced has paid for this round trip.
            if self.board.una() >= self.reduced_until {
                self.window.note_loss();
            }
            self.reduced_until = self.next;
            self.tell_reduced = true;
            reduction.follow(&mut self.window, 0, self.board.in_flight(), true);
            self.phase = Phase::Recovery { high: self.next, reduction };
        }
    }

    /// When [`expire`](Self::expire) is to be called.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.timer.at.min(self.look_again)
    }

    /// Does what time demands.
    pub(super) fn expire(&mut self, now: Time, setup: &TcpSetup) -> Expired {
        if self.look_again <= now {
            self.judge(now);
        }
        if self.timer.at > now {
            return Expired::Nothing;
        }
        if self.timer.probe {
            self.timer = Timer { at: now + self.rto.timeout(), probe: false };
            self.probe = Probe::Due;
            return Expired::Probe;
        }
        if !matches!(self.phase, Phase::Timeout { .. }) {
            self.window.note_loss();
        }
        self.board.lose_all();
        self.window.collapse();
        self.phase = Phase::Timeout { high: self.next };
        self.probe = Probe::None;
        self.look_again = Time::NEVER;
        self.rto.back_off();
        self.set_timer(now, setup);
        Expired::Timeout
    }

    #[inline]
    fn set_timer(&mut self, now: Time, setup: &TcpSetup) {
        let timeout = self.rto.timeout();
        self.timer = Timer { at: now + timeout, probe: false };
        let smoothed = self.rto.smoothed();
        let probes = setup.tail_loss_probe && self.probe == Probe::None && self.phase == Phase::Open;
        if probes && smoothed > Time::ZERO && !self.board.has_gaps() {
            let single = self.board.outstanding() == 1;
            let extra = if single { setup.delayed_ack.unwrap_or(Time::ZERO) } else { Time::ZERO };
            let wait = smoothed * 2 + setup.probe_margin.max(extra);
            if wait < timeout {
                self.timer = Timer { at: now + wait, probe: true };
            }
        }
    }
}
