//! The model of the Linux module and a real endpoint, each in a process and a network namespace of its own, over a real
//! link: IP protocol 146, raw sockets on both ends. What decides is what arrives, never how fast.

mod hosts;
mod kernel_host;
mod our_host;
mod plan;
mod wire;

/// Set inside, to the directory where the two hosts leave word for each other.
const STAGE: &str = "HOMARUS_INTEROP_STAGE";

#[test]
fn both_directions_over_a_real_link() {
    match std::env::var(STAGE) {
        Ok(stage) => our_host::run(stage.as_ref()),
        Err(_) => hosts::start("both_directions_over_a_real_link", "the_modelled_host"),
    }
}

/// The other process of the test above; alone it has nothing to do.
#[test]
fn the_modelled_host() {
    if let Ok(stage) = std::env::var(STAGE) {
        kernel_host::run(stage.as_ref());
    }
}
