//! Captured conversations of the Linux module, played to an endpoint that takes the place of one side.
//!
//! The packets of the other side come when they came then; what the endpoint sends goes to a [puppet](crate::kernel::Kernel::puppet)
//! of the other side, which knows what that side had sent so far, and so takes or drops packets as it would have. When
//! the capture is over the puppet wakes and behaves like the model, so that whatever is left can end.
//!
//! The endpoint's application does what the captured one did: as a client it sends the same requests at the same times;
//! as a server it gives the same responses when the captured server did. Ids and ports of the other side's packets are
//! replaced by the endpoint's own. What cannot be seen in a capture, which packets were lost behind the place where it
//! was taken, stands in `facts`.
//!
//! # What is acceptable
//!
//! 1. No packet that Linux drops, unless it is harmless ([`Why::is_harmless`](crate::kernel::Why::is_harmless)), and
//!    none that breaks a [`Rule`](crate::kernel::Rule).
//! 2. Each packet of the other side that the captured peer answered is answered at the same instant, by what this table
//!    says; other packets may be sent besides. Where the captured peer gave no answer, none is demanded.
//!
//!    | it comes | and the captured peer answered | acceptable |
//!    |---|---|---|
//!    | RESEND | BUSY | BUSY |
//!    | RESEND | UNKNOWN | UNKNOWN |
//!    | RESEND | DATA again | DATA again that holds the range, in the packets in which it was first sent; or BUSY, if it may still be under way |
//!    | NEED_ACK | ACK | ACK of that RPC |
//!    | NEED_ACK | RESEND | RESEND or BUSY; ACK if the endpoint has the whole response by then |
//!    | UNKNOWN to a client | DATA again | DATA again, from the first byte |
//!    | DATA with another version | CUTOFFS | CUTOFFS, unless they were sent to this peer within the last millisecond |
//!
//! 3. A request arrives once and as it was sent, and its response arrives at the puppet as it was given; a request that
//!    we send ends once: with the captured response; with the error that ICMP names; or, where nothing ever came, with
//!    the verdict that the peer is dead.
//! 4. Ten seconds later at the latest, nothing is held and nothing more is sent.

mod answers;
mod apps;
mod course;
mod facts;
mod pcap;
mod stage;

pub use facts::CAPTURES;
pub use pcap::{Capture, Content, Frame};
pub use stage::{Replayed, replay};

/// Which side the endpoint plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that asks.
    Client,
    /// The one that answers.
    Server,
}
