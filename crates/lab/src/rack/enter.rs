//! Moves the program into a network namespace of its own, with or without root.

use super::iproute;
use crate::sys::{self, Isolation};
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Tells the second incarnation of the program that it is inside.
const INSIDE: &str = "HOMARUS_LAB_INSIDE";

/// Which side of the namespace the caller is on.
#[derive(Debug)]
pub enum Entered {
    /// In a namespace: go on.
    Inside,
    /// Outside: the same command has run inside and ended with this code.
    Finished(ExitCode),
}

/// Re-runs the present command in fresh namespaces, unless this already is that second run.
///
/// Call it from the main thread before anything else is started. The second run is in a session of its own, so that its scheduling group
/// can be changed without touching the user's shell; it is killed by the kernel when the first ends for whatever reason.
///
/// # Errors
/// When neither root nor user namespaces are to be had, or iproute2 is missing; the message says what to do.
pub fn enter() -> Result<Entered> {
    if std::env::var_os(INSIDE).is_some() {
        settle()?;
        return Ok(Entered::Inside);
    }
    iproute::check()?;
    let _turn = wait_for_turn()?;
    let mut refusals = Vec::new();
    for (isolation, means) in [(Isolation::Network, "as root"), (Isolation::UserAndNetwork, "in a user namespace")] {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).env(INSIDE, means);
        sys::isolate(&mut command, isolation, true);
        match command.spawn() {
            Ok(mut child) => {
                let status = child.wait().context("cannot wait for the run inside the namespace")?;
                let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
                return Ok(Entered::Finished(ExitCode::from(code)));
            }
            Err(error) => refusals.push(format!("{means}: {}", refusal(&error))),
        }
    }
    bail!(no_rack(&refusals.join("; ")))
}

/// Waits until no other race runs on this machine: two would measure each other. The turn ends when the result is dropped.
fn wait_for_turn() -> Result<UnixDatagram> {
    // An abstract name belongs to the process that has bound it, and is free again when that process ends.
    let name = SocketAddr::from_abstract_name("homarus-lab").context("cannot make the name of the lab's lock")?;
    let mut told = false;
    loop {
        match UnixDatagram::bind_addr(&name) {
            Ok(lock) => return Ok(lock),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                if !told {
                    eprintln!("another race is running on this machine: waiting for its end");
                    told = true;
                }
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(error) => return Err(error).context("cannot find out whether another race is running"),
        }
    }
}

/// Why a namespace was refused. The system's own words for a limit speak of space on a device.
fn refusal(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => {
            "the limit on namespaces is reached, see sysctl user.max_net_namespaces and user.max_user_namespaces"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// What a user reads where no rack can be built.
fn no_rack(why: &str) -> String {
    format!(
        "a rack needs network namespaces of its own, and this system grants none ({why}). Run the command as root, \
         or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu also \
         kernel.apparmor_restrict_unprivileged_userns=0; in a container --privileged). \
         `homarus bench` compares the transports over loopback and needs neither."
    )
}

/// First steps inside: whether the namespace is usable, and the scheduling group.
fn settle() -> Result<()> {
    let probe = ["link set lo up".to_owned()];
    if let Err(error) = iproute::batch("ip", &probe) {
        bail!(no_rack(&format!("namespaces can be made but not configured: {error}")));
    }
    // Hosts that are real-time threads need no help from their scheduling group, and the idle-class spinners, which are in
    // the group too, must not hold up the kernel's own threads. Not every kernel has such groups.
    if sys::become_real_time().and_then(|()| sys::become_ordinary()).is_ok() {
        let _ = std::fs::write("/proc/self/autogroup", "19");
    }
    Ok(())
}

/// How the namespace was had, for the report: "as root" or "in a user namespace".
pub(crate) fn means() -> String {
    std::env::var(INSIDE).unwrap_or_else(|_| "by the caller".to_owned())
}
