//! What lies between client and server: the loopback interface, or two namespaces and a veth pair.

use super::plan::Offloads;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

/// The client's end of the pair, in this process's namespace.
const NEAR: &str = "near";
/// The server's end, in a namespace of its own.
const FAR: &str = "far";
/// The client's address. It is known in these two namespaces only.
const NEAR_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The server's address.
const FAR_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// Where servers run, and how clients reach them.
pub(super) enum Link {
    /// The loopback interface.
    Loopback,
    /// A veth pair; it goes away with the namespaces.
    Veth(FarNamespace),
}

impl Link {
    /// Builds a veth pair from this process's network namespace, which must be its own, to a new one.
    pub(super) fn veth() -> Result<Link> {
        let far = FarNamespace::new()?;
        let namespace = far.process.id().to_string();
        run("ip", &["link", "add", NEAR, "type", "veth", "peer", "name", FAR, "netns", &namespace])?;
        run("ip", &["addr", "add", &format!("{NEAR_ADDRESS}/24"), "dev", NEAR])?;
        run("ip", &["link", "set", NEAR, "up"])?;
        far.run("ip", &["addr", "add", &format!("{FAR_ADDRESS}/24"), "dev", FAR])?;
        far.run("ip", &["link", "set", FAR, "up"])?;
        Ok(Link::Veth(far))
    }

    /// Its name in tables and records.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Link::Loopback => "loopback",
            Link::Veth(_) => "veth",
        }
    }

    /// Where servers listen.
    pub(super) fn listen(&self) -> SocketAddr {
        let address = match self {
            Link::Loopback => Ipv4Addr::LOCALHOST,
            Link::Veth(_) => FAR_ADDRESS,
        };
        (IpAddr::V4(address), 0).into()
    }

    /// Its MTU, bytes of IP packet.
    pub(super) fn mtu(&self) -> usize {
        match self {
            Link::Loopback => 65_536,
            Link::Veth(_) => 1500,
        }
    }

    /// What can be measured on it, in the order in which it is.
    pub(super) fn offloads(&self) -> &'static [Offloads] {
        match self {
            // They cannot be switched without changing the user's own interface.
            Link::Loopback => &[Offloads::On],
            Link::Veth(_) => &[Offloads::On, Offloads::Off],
        }
    }

    /// Lets the pair carry super-packets of many segments, or one packet at a time as the wire does.
    pub(super) fn set_offloads(&self, offloads: Offloads) -> Result<()> {
        let Link::Veth(far) = self else { return Ok(()) };
        // With one segment at most, the kernel cuts every super-packet before the device; a veth device puts none
        // together again unless it is told to.
        let segments = match offloads {
            Offloads::On => "65535",
            Offloads::Off => "1",
        };
        run("ip", &["link", "set", NEAR, "gso_max_segs", segments])?;
        far.run("ip", &["link", "set", FAR, "gso_max_segs", segments])
    }

    /// What to start `program` with, so that it runs where servers do.
    pub(super) fn for_server(&self, program: &OsStr) -> tokio::process::Command {
        match self {
            Link::Loopback => tokio::process::Command::new(program),
            Link::Veth(far) => {
                let mut command = tokio::process::Command::new("nsenter");
                command.arg(far.enter()).arg("--").arg(program);
                command
            }
        }
    }
}

/// A network namespace without a name, which lives as long as a process in it.
pub(super) struct FarNamespace {
    process: Child,
}

impl FarNamespace {
    fn new() -> Result<FarNamespace> {
        let mut process = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start `unshare` of util-linux: install it")?;
        // Once it echoes, it is in its namespace.
        let echoed = match (&mut process.stdin, &mut process.stdout) {
            (Some(stdin), Some(stdout)) => stdin.write_all(b"?").and_then(|()| stdout.read_exact(&mut [0])),
            _ => bail!("`unshare` has no pipes"),
        };
        let far = FarNamespace { process };
        echoed.context("`unshare --net` could not make a network namespace")?;
        Ok(far)
    }

    /// Argument of `nsenter`.
    fn enter(&self) -> String {
        format!("--net=/proc/{}/ns/net", self.process.id())
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        run("nsenter", &[&[self.enter().as_str(), "--", program], args].concat())
    }
}

impl Drop for FarNamespace {
    fn drop(&mut self) {
        // It ends by itself when its standard input closes, which this process's end does too.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    let output =
        Command::new(program).args(args).stdin(Stdio::null()).output().with_context(|| {
            format!("cannot start `{program}`, which --veth needs: install iproute2 and util-linux")
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{program} {}` failed: {}", args.join(" "), said.trim());
    }
    Ok(())
}
