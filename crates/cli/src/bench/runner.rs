//! Runs one trial as a pair of child processes.

use super::link::Link;
use super::plan::Contender;
use crate::trial::{Listening, Outcome, Role, Spec};
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// Longest that a process may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Programs and places that trials run in.
pub(super) struct Runner {
    /// Between client and server.
    pub(super) link: Link,
    /// This program.
    pub(super) own: PathBuf,
    /// The program with other libraries, if it was found.
    pub(super) peers: Option<PathBuf>,
    /// CPU of the client.
    pub(super) client_cpu: usize,
    /// CPU of the server.
    pub(super) server_cpu: usize,
}

impl Runner {
    /// Runs one trial, or says why it could not be run.
    pub(super) async fn run(&self, contender: &Contender, spec: &Spec) -> Result<Outcome> {
        if contender.is_alone() {
            return self.drive(contender, spec, self.link.listen()).await;
        }
        let mut server =
            self.command(contender, spec, Role::Serve, self.link.listen())?.spawn().context("cannot start a server")?;
        let listening = self.listening(&mut server).await?;
        let outcome = self.drive(contender, spec, listening).await;
        // Closing its standard input ends it.
        drop(server.stdin.take());
        if timeout(PATIENCE, server.wait()).await.is_err() {
            server.kill().await.context("a server did not end")?;
        }
        outcome
    }

    fn command(&self, contender: &Contender, spec: &Spec, role: Role, address: SocketAddr) -> Result<Command> {
        let program = match contender.is_peer() {
            true => self.peers.as_ref().context("the program homarus-peers was not found")?,
            false => &self.own,
        };
        let (mut command, cpu) = match role {
            Role::Serve => (self.link.for_server(program.as_os_str()), self.server_cpu),
            Role::Drive => (Command::new(program), self.client_cpu),
        };
        if !contender.is_peer() {
            command.arg("bench-trial");
        }
        command
            .arg(contender.transport)
            .arg(name_of(role))
            .arg(address.to_string())
            .args(["--cpu".to_owned(), cpu.to_string()])
            .args(["--mode".to_owned(), name_of(spec.mode)])
            .args(["--job".to_owned(), name_of(spec.job)])
            .args(["--size".to_owned(), spec.size.to_string()])
            .args(["--outstanding".to_owned(), spec.outstanding.to_string()])
            .args(["--mtu".to_owned(), spec.mtu.to_string()])
            .args(["--warmup-ms".to_owned(), spec.warmup_ms.to_string()])
            .args(["--measure-ms".to_owned(), spec.measure_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Ok(command)
    }

    async fn listening(&self, server: &mut Child) -> Result<SocketAddr> {
        let mut line = String::new();
        let stdout = server.stdout.take().context("a server has no standard output")?;
        timeout(PATIENCE, BufReader::new(stdout).read_line(&mut line))
            .await
            .map_err(|_| anyhow!("the server was not ready after {PATIENCE:?}"))??;
        match serde_json::from_str::<Listening>(&line) {
            Ok(ready) => Ok(ready.listening),
            Err(_) => bail!("the server did not start: {}", last_words(server.stderr.take()).await),
        }
    }

    async fn drive(&self, contender: &Contender, spec: &Spec, server: SocketAddr) -> Result<Outcome> {
        let mut client =
            self.command(contender, spec, Role::Drive, server)?.spawn().context("cannot start a client")?;
        let mut line = String::new();
        let mut stdout = client.stdout.take().context("a client has no standard output")?;
        let limit = spec.warmup() + spec.measure() + PATIENCE;
        timeout(limit, stdout.read_to_string(&mut line))
            .await
            .map_err(|_| anyhow!("the client had no result after {limit:?}"))??;
        match serde_json::from_str(&line) {
            Ok(outcome) => Ok(outcome),
            Err(_) => bail!("the client failed: {}", last_words(client.stderr.take()).await),
        }
    }
}

fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What a failed process wrote to standard error.
async fn last_words(stderr: Option<ChildStderr>) -> String {
    let mut words = String::new();
    if let Some(mut stderr) = stderr {
        // A process that hangs on to the pipe must not hold up the message.
        let _ = timeout(Duration::from_secs(1), stderr.read_to_string(&mut words)).await;
    }
    match words.trim() {
        "" => "it said nothing".to_owned(),
        words => words.trim_start_matches("error: ").to_owned(),
    }
}
