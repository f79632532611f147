//! The modelled host: it calls, it answers, and at the end it says what Linux would have dropped.

use crate::plan::{
    AT_ONCE, HANG, NUMBER, call_of, is_response, modelled_address, modelled_host, our_address, request, response, word,
};
use crate::wire::Wire;
use homarus_interop::kernel::{Event, Kernel, KernelConfig};
use homarus_proto::Instant;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Fifty times the module's: a machine that is busy must not make the model give up.
const TICK: Duration = Duration::from_millis(50);

pub(crate) fn run(stage: &Path) {
    let mut wire = Wire::open(modelled_host());
    let mut kernel = Kernel::new(KernelConfig {
        server_ports: vec![modelled_address().port()],
        ..KernelConfig::new(modelled_host())
    });
    std::fs::write(word(stage, "modelled-is-up"), "").expect("word is left");
    let began = std::time::Instant::now();
    let mut next_tick = TICK;
    let (mut calls, mut made, mut ended) = (BTreeMap::new(), 0, 0);
    while !(ended == NUMBER && word(stage, "ours-is-done").exists() && kernel.held() == (0, 0)) {
        assert!(began.elapsed() < HANG, "{ended} calls of {made} have ended, still held {:?}", kernel.held());
        // Before the other host is up, its namespace would say that it does not take the protocol.
        while word(stage, "ours-is-up").exists() && made < NUMBER && calls.len() < AT_ONCE {
            calls.insert(kernel.call(our_address(), request(made)), made);
            made += 1;
        }
        while let Some(sent) = kernel.poll_transmit() {
            wire.send(sent.to, sent.priority, &sent.bytes);
        }
        if let Some(came) = wire.receive() {
            let now = Instant::from_nanos(began.elapsed().as_nanos() as u64);
            kernel.handle(now, came.from, modelled_host(), came.priority, &came.homa);
        }
        while began.elapsed() >= next_tick {
            kernel.tick();
            next_tick += TICK;
        }
        while let Some(event) = kernel.poll_event() {
            match event {
                Event::Request { request, message } => {
                    let call = call_of(&message).expect("a request as it was sent");
                    kernel.respond(request, response(call));
                }
                Event::Response { id, result } => {
                    let call = calls.remove(&id).expect("one response to each request");
                    let message = result.expect("a response");
                    assert!(is_response(call, &message), "the response to call {call} came garbled");
                    ended += 1;
                }
            }
        }
        if ended == NUMBER {
            std::fs::write(word(stage, "modelled-is-done"), "").expect("word is left");
        }
    }
    std::fs::write(word(stage, "modelled-is-over"), "").expect("word is left");
    let drops: Vec<_> = kernel.drops().iter().filter(|drop| !drop.why.is_harmless()).take(5).collect();
    assert!(drops.is_empty(), "Linux drops {drops:?}");
    let breaches: Vec<_> = kernel.breaches().iter().take(5).collect();
    assert!(breaches.is_empty(), "Linux would not send {breaches:?}");
    println!("modelled host: {ended} calls in {:?}", began.elapsed());
}
