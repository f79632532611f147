#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| homarus_swarm::cases::pair(bytes));
