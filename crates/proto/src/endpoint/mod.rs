//! The state machine: commands and packets go in, packets and events are polled out.
//!
//! | file | what it does |
//! |---|---|
//! | `app` | requests, responses, cancelling, closing |
//! | `rx` | packets from the network |
//! | `tx` | packets to the network |
//! | `grants` | which incoming messages may send how much |
//! | `timeout` | deadlines, retransmission requests, dead peers |
//! | `lifecycle` | RPCs begin, change and end: everything that keeps the structures in step |
//! | `view` | a look at the state, for tools and tests |

mod app;
mod grants;
mod lifecycle;
mod limits;
mod rx;
mod timeout;
mod tx;
mod types;
mod view;

pub use types::{CallOptions, Event, IncomingRpc, RpcId};
pub use view::{PeerView, View};

use crate::peer::{Peers, ReplyCredit, Rtt};
use crate::recv::{Arrivals, Cutoffs, Granter};
use crate::rpc::{RpcKey, Rpcs};
use crate::send::{Pacer, SendQueue};
use crate::stats::Stats;
use crate::timers::Timers;
use crate::transmit::Transmit;
use crate::{Config, ConfigError, Instant};
use std::collections::VecDeque;

/// One end of the Homa protocol: a client of any number of servers, and a server of any number of clients.
///
/// An endpoint does no I/O and reads no clock. Its driver
///
/// 1. hands it packets ([`handle_packet`](Self::handle_packet), [`handle_datagram`](Self::handle_datagram)) and calls
///    of the application ([`send_request`](Self::send_request), …), in any order,
/// 2. calls [`handle_timeout`](Self::handle_timeout) when the time of [`poll_timeout`](Self::poll_timeout) has come,
/// 3. after each of these takes what came out: [`poll_event`](Self::poll_event) and
///    [`poll_transmit`](Self::poll_transmit), until they give `None`.
///
/// No packet, however malformed, makes it panic, and every structure in it is bounded by [`Config`].
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    /// This side's port in headers.
    port: u16,
    /// The latest time seen; time never runs backwards here.
    now: Instant,
    next_id: u64,
    next_born: u64,
    peers: Peers,
    rpcs: Rpcs,
    send_queue: SendQueue,
    granter: Granter,
    arrivals: Arrivals,
    /// Round trips to all peers.
    rtt: Rtt,
    cutoffs: Cutoffs,
    pacer: Pacer,
    timers: Timers,
    /// Timers being handled; kept for its memory.
    fired: Vec<(Instant, RpcKey)>,
    /// Messages being granted; kept for its memory.
    active: Vec<RpcKey>,
    /// Control packets to send.
    control: VecDeque<Transmit>,
    events: VecDeque<Event>,
    /// What may be answered to hosts that are not peers.
    stranger_credit: ReplyCredit,
    /// Bytes of outgoing messages held.
    send_buffer: usize,
    /// Bytes reserved for incoming messages.
    receive_buffer: usize,
    /// Bytes of message contents that have come, duplicates too.
    received_total: u64,
    /// Requests of which no byte of the response has come, and how many bytes of a response usually come unscheduled.
    responses_awaited: u64,
    usual_response: u32,
    /// When any contents came, and when the last that had been granted did.
    data_at: Instant,
    granted_data_at: Instant,
    /// When a grant of each priority last left.
    granted_at: [Instant; 8],
    /// Most bytes that may be under way toward us.
    max_incoming: u64,
    closed: bool,
    stats: Stats,
}

impl Endpoint {
    /// An endpoint whose packets say that they come from `port`. RPC ids begin at a place that `seed` determines: a
    /// restarted endpoint must have another seed, so that its requests are not taken for its predecessor's.
    pub fn new(config: Config, port: u16, seed: u64) -> Result<Endpoint, ConfigError> {
        config.validate()?;
        let scattered = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(Endpoint {
            port,
            now: Instant::ZERO,
            // Even, not 0, and far from overflow.
            next_id: (scattered >> 2 & !1) + 2,
            next_born: 0,
            peers: Peers::new(&config, scattered),
            rpcs: Rpcs::new(scattered),
            send_queue: SendQueue::new(config.send_fifo_percent),
            granter: Granter::new(config.grant_fifo_percent, scattered),
            arrivals: Arrivals::default(),
            rtt: Rtt::default(),
            cutoffs: Cutoffs::new(config.priorities),
            pacer: Pacer::new(config.pacing),
            timers: Timers::new(),
            fired: Vec::new(),
            active: Vec::new(),
            control: VecDeque::new(),
            events: VecDeque::new(),
            stranger_credit: ReplyCredit::default(),
            send_buffer: 0,
            receive_buffer: 0,
            received_total: 0,
            responses_awaited: 0,
            usual_response: config.unscheduled_start,
            data_at: Instant::ZERO,
            granted_data_at: Instant::ZERO,
            granted_at: [Instant::ZERO; 8],
            max_incoming: u64::from(config.max_incoming),
            closed: false,
            stats: Stats::default(),
            config,
        })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Next thing that the application should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counters since the endpoint began.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Moves the endpoint's time on; a clock that ran backwards counts as standing still.
    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }
}
