//! Deterministic simulation of Homa endpoints on a hostile network
