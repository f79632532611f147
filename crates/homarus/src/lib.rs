//! Homa for applications: request/response messages with low tail latency, async and blocking
