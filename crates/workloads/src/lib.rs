//! Message-size distributions of the published Homa workloads, and sampling from them
