use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// The program with these arguments.
pub(crate) fn homarus(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_homarus"));
    command.args(args).env_remove("RUST_LOG");
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Ended {
    Ended::from(homarus(args).output().expect("the program starts"))
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("output is UTF-8"),
        }
    }
}

impl Ended {
    pub(crate) fn is_success(&self) {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
    }

    /// One clear paragraph: no panic, no backtrace.
    pub(crate) fn is_clear_failure(&self, says: &str) {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        let text = self.stdout.clone() + &self.stderr;
        assert!(text.contains(says), "expected '{says}' in:\n{text}");
        assert!(!text.contains("panicked") && !text.contains("has a bug"), "{text}");
    }
}

/// A running `homarus serve`, killed when dropped.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Server {
    /// Serves on a free port of the loopback interface.
    pub(crate) fn start() -> Server {
        Server::start_with(&["127.0.0.1:0"])
    }

    /// Serves with these arguments, the first an address.
    pub(crate) fn start_with(args: &[&str]) -> Server {
        let mut child = homarus(&[&["serve", "--json"], args].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let address = listening(&mut stdout);
        Server { child, stdout, address }
    }

    /// The address that it says next that it listens on.
    pub(crate) fn next_address(&mut self) -> String {
        listening(&mut self.stdout)
    }

    /// Interrupts it, as Ctrl-C does; what it printed last, and how it ended.
    pub(crate) fn interrupt(mut self) -> (serde_json::Value, Option<i32>) {
        interrupt(&mut self.child);
        let last = (&mut self.stdout).lines().map_while(Result::ok).last().expect("a last line");
        let status = self.child.wait().expect("it ends");
        (serde_json::from_str(&last).expect("JSON"), status.code())
    }
}

fn listening(stdout: &mut impl BufRead) -> String {
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    let listening: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    listening["address"].as_str().expect("an address").to_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends SIGINT, as Ctrl-C does, once the program is ready to catch it, unless it ends before.
pub(crate) fn interrupt(child: &mut Child) {
    for _ in 0..1000 {
        if catches_interrupt(child) {
            break;
        }
        if child.try_wait().expect("it can be waited for").is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

fn catches_interrupt(child: &Child) -> bool {
    const SIGINT: u32 = 2;
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (SIGINT - 1) & 1 == 1)
}
