//! What a record says about where it was made.

use serde::Serialize;
use std::fs;

/// The machine of a run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Machine {
    /// Processor, as it names itself.
    pub(super) cpu: String,
    /// CPUs that the run could use.
    pub(super) cpus: usize,
    /// Whether the processor says that it is virtual.
    pub(super) is_virtual: bool,
    /// Memory, bytes.
    pub(super) memory: u64,
    /// Kernel release.
    pub(super) kernel: String,
}

impl Machine {
    /// This machine.
    pub(super) fn look(cpus: usize) -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |file: &str, name: &str| {
            file.lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let memory_kb = field(&meminfo, "MemTotal")
            .and_then(|value| value.strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok()));
        Machine {
            cpu: field(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cpus,
            is_virtual: field(&cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            memory: memory_kb.unwrap_or_default() * 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        }
    }
}
