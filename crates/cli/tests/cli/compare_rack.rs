//! Races that are watched from outside: their processes, namespaces and files.

use crate::program::homarus;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// An empty folder that is removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("homarus-test-{}-{number}", std::process::id()));
        fs::create_dir(&folder).expect("a folder for the test");
        Scratch(folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Path of a file in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn open_to_all(&self) {
        fs::set_permissions(&self.0, fs::Permissions::from_mode(0o777)).expect("its own folder");
    }

    /// Names of the files in it.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder").flatten();
        let names: BTreeSet<String> = entries.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.into_iter().collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether no rack can be built here, which is then told.
pub(crate) fn skipped_without_rack() -> bool {
    let possible =
        |args: &[&str]| Command::new("unshare").args(args).output().is_ok_and(|output| output.status.success());
    let namespaces =
        possible(&["--net", "ip", "link"]) || possible(&["--user", "--map-root-user", "--net", "ip", "link"]);
    if !namespaces {
        eprintln!("SKIPPED: this system grants no network namespaces, or has no iproute2 or no `unshare`");
    }
    !namespaces
}

/// A race whose processes are known by a mark in their environment.
pub(crate) struct Marked {
    mark: String,
    child: Child,
    says: BufReader<ChildStderr>,
}

impl Marked {
    pub(crate) fn start(scratch: &Scratch) -> Marked {
        let mark = format!("HOMARUS_TEST_RUN={}", scratch.folder().display());
        let (name, value) = mark.split_once('=').expect("it has one");
        let mut child = homarus(&["compare", "--seconds", "20", "--workload", "1000", "--transports", "homa"])
            .env(name, value)
            .env("TMPDIR", scratch.folder())
            .current_dir(scratch.folder())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let says = BufReader::new(child.stderr.take().expect("piped"));
        Marked { mark, child, says }
    }

    /// Reads on until it says this. It may have to wait for other races on the machine.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let mut heard = String::new();
        while !heard.contains(text) {
            let length = self.says.read_line(&mut heard).expect("text");
            assert!(length > 0, "it ended before it said {text:?}: {heard}");
        }
    }

    /// Ids of the processes that run for it.
    fn processes(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let ids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        ids.filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|id| {
                let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
                environment.split(|&byte| byte == 0).any(|entry| entry == self.mark.as_bytes())
            })
            .collect()
    }

    /// Network namespaces that its processes have, other than this one's.
    pub(crate) fn namespaces(&self) -> BTreeSet<PathBuf> {
        let own = fs::read_link("/proc/self/ns/net").expect("a namespace");
        let links = self.processes().into_iter().filter_map(|id| fs::read_link(format!("/proc/{id}/ns/net")).ok());
        links.filter(|namespace| *namespace != own).collect()
    }

    /// Sends a signal to the process that the user started, and to no other.
    pub(crate) fn end(&mut self, signal: &str) {
        let sent = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill starts").success());
        let status = self.child.wait().expect("it ends");
        assert!(!status.success(), "a race that was ended is no success");
    }

    /// Waits for the kernel to end its processes, which it begins at once. A namespace ends with its last process unless it is mounted; its
    /// number may then be given to another.
    pub(crate) fn assert_gone(&self, namespaces: &BTreeSet<PathBuf>) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let processes = self.processes();
            if processes.is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "left behind: processes {processes:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        for namespace in namespaces {
            assert!(!mounts.contains(&*namespace.to_string_lossy()), "{} is still mounted", namespace.display());
        }
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
