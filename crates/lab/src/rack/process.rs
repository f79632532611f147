//! A host of the rack: a process in a network namespace, ruled through its standard input and output.

use crate::control::{Order, Reply};
use crate::sys::{self, Isolation};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// First argument of the program when it is to be a host.
pub(crate) const HOST_ARGUMENT: &str = "lab-host";

/// One host. Dropping it ends its process, and with that its namespace and link.
#[derive(Debug)]
pub(crate) struct HostProcess {
    index: usize,
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl HostProcess {
    /// Starts this program again as host `index`. Call it from the main thread: the host dies with the thread.
    pub(crate) fn start(index: usize) -> Result<HostProcess> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.arg(HOST_ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped());
        sys::isolate(&mut command, Isolation::Network, false);
        let mut child =
            command.spawn().with_context(|| format!("cannot start host {index} in a network namespace of its own"))?;
        let (Some(orders), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("host {index} has no standard input or output");
        };
        Ok(HostProcess { index, child, orders, replies: BufReader::new(replies) })
    }

    /// Its process id, by which its namespace is found.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives an order; the reply is to be fetched with [`reply`](Self::reply).
    pub(crate) fn order(&mut self, order: &Order) -> Result<()> {
        let mut line = serde_json::to_vec(order).context("cannot write an order")?;
        line.push(b'\n');
        self.orders.write_all(&line).with_context(|| format!("host {} takes no orders any more", self.index))
    }

    /// Waits for the reply to the oldest order that has none. A failure on the host is an error here.
    pub(crate) fn reply(&mut self) -> Result<Reply> {
        let mut line = String::new();
        let length = self.replies.read_line(&mut line).with_context(|| format!("cannot hear host {}", self.index))?;
        if length == 0 {
            bail!("host {} has ended by itself; its messages, if any, are above", self.index);
        }
        match serde_json::from_str(&line).with_context(|| format!("host {} said {line:?}", self.index))? {
            Reply::Failed(why) => bail!("host {}: {why}", self.index),
            reply => Ok(reply),
        }
    }

    /// Gives an order and waits for the reply.
    pub(crate) fn ask(&mut self, order: &Order) -> Result<Reply> {
        self.order(order)?;
        self.reply()
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
