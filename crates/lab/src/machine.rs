//! What machine a report comes from.

use serde::{Deserialize, Serialize};

/// The machine that a race was run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and release of its kernel.
    pub kernel: String,
    /// Processor model, as the kernel names it.
    pub processor: String,
    /// Cores.
    pub cores: usize,
    /// Memory, bytes.
    pub memory: u64,
    /// How the rack's namespaces were had: "as root" or "in a user namespace".
    pub privilege: String,
}

impl Machine {
    /// Looks at this machine.
    pub(crate) fn here() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let value = |text: &str, key: &str| -> Option<String> {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let processor =
            value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let memory = value(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0);
        Machine {
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            processor,
            cores: crate::cpu::cores(),
            memory: memory * 1024,
            privilege: crate::rack::means(),
        }
    }
}
