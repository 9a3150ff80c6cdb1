//! Child processes with a deadline: each runs in its own process group, and the whole group is killed when its leader
//! ends, when time is up, when its owner drops it and when xtask itself is interrupted.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{BufRead, BufReader, Read},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

/// Live process groups, for the signal handler.
static LIVE_PROCESS_GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// How long to wait for output after a child has ended: a process outside its group may keep the pipe open forever.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether a child's output is printed while it runs; it is recorded in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// Print it line by line.
    Shown,
    /// Only record it.
    Kept,
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct FinishedProcess {
    /// The exit code was 0 and the child ended in time.
    pub(crate) success: bool,
    /// "exit status: 1", or the deadline it missed.
    pub(crate) ending: String,
    /// Standard output and standard error, in order of arrival.
    pub(crate) text: String,
}

impl FinishedProcess {
    /// Returns the text, or an error with its last lines if the child failed.
    pub(crate) fn or_fail(self, what: &str) -> Result<String> {
        if self.success {
            return Ok(self.text);
        }
        bail!("{what} failed ({}):\n{}", self.ending, tail(&self.text, 20))
    }
}

/// Returns the last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

/// Quotes a path for a shell.
pub(crate) fn shell_word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Runs a command to its end.
pub(crate) fn run(
    command: &mut Command,
    limit: Duration,
    output: OutputMode,
) -> Result<FinishedProcess> {
    let mut background = BackgroundProcess::spawn(command, output)?;
    let deadline = Instant::now() + limit;
    let status = background.wait_until(deadline)?;
    let text = background.end();
    Ok(match status {
        Some(status) => {
            FinishedProcess { success: status.success(), ending: status.to_string(), text }
        }
        None => FinishedProcess {
            success: false,
            ending: format!("killed after {} s", limit.as_secs()),
            text,
        },
    })
}

/// Ends all live groups when xtask gets a signal to stop, so that nothing outlives it.
pub(crate) fn end_children_on_signals() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])
        .context("installing the signal handler")?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for group in groups().iter() {
                kill_group(*group);
            }
            #[expect(clippy::exit, reason = "the main thread is blocked on a child that is gone")]
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// A background child process. Dropping it kills its group.
#[derive(Debug)]
pub(crate) struct BackgroundProcess {
    child: Child,
    group: i32,
    text: Arc<Mutex<String>>,
    drained: mpsc::Receiver<()>,
}

impl BackgroundProcess {
    /// Starts the command in its own process group, without standard input.
    pub(crate) fn spawn(command: &mut Command, output: OutputMode) -> Result<Self> {
        let mut child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let group = i32::try_from(child.id()).context("a process id beyond i32")?;
        groups().insert(group);
        let text = Arc::new(Mutex::new(String::new()));
        let (done, drained) = mpsc::sync_channel(2);
        if let Some(pipe) = child.stdout.take() {
            read_lines(pipe, output, text.clone(), done.clone());
        }
        if let Some(pipe) = child.stderr.take() {
            read_lines(pipe, output, text.clone(), done);
        }
        Ok(Self { child, group, text, drained })
    }

    /// Starts a server and waits until its port accepts.
    pub(crate) fn listening(command: &mut Command, port: u16, limit: Duration) -> Result<Self> {
        let mut server = Self::spawn(command, OutputMode::Kept)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let deadline = Instant::now() + limit;
        while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!(
                    "the server ended ({status}) before port {port} opened:\n{}",
                    tail(&server.end(), 20)
                );
            }
            if Instant::now() > deadline {
                bail!(
                    "port {port} did not open in {} s:\n{}",
                    limit.as_secs(),
                    tail(&server.end(), 20)
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// The leader's process id.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// The output so far.
    pub(crate) fn output(&self) -> String {
        lock(&self.text).clone()
    }

    /// Sends SIGTERM to the leader and waits for it; `None` after the limit.
    pub(crate) fn terminate(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        if let Some(pid) = Pid::from_raw(self.group) {
            kill_process(pid, Signal::TERM).context("sending SIGTERM")?;
        }
        self.wait_until(Instant::now() + limit)
    }

    fn wait_until(&mut self, deadline: Instant) -> Result<Option<ExitStatus>> {
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Kills the rest of the group and returns its output.
    pub(crate) fn end(&mut self) -> String {
        kill_group(self.group);
        drop(self.child.wait());
        groups().remove(&self.group);
        let deadline = Instant::now() + OUTPUT_DRAIN_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.drained.recv_timeout(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => break,
            }
        }
        std::mem::take(&mut *lock(&self.text))
    }
}

impl Drop for BackgroundProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("looking for a free port")?;
    Ok(listener.local_addr()?.port())
}

fn read_lines(
    pipe: impl Read + Send + 'static,
    output: OutputMode,
    text: Arc<Mutex<String>>,
    done: mpsc::SyncSender<()>,
) {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let shown = String::from_utf8_lossy(&line);
            let shown = shown.trim_end_matches(['\n', '\r']);
            if output == OutputMode::Shown {
                println!("{shown}");
            }
            // Writing to a string cannot fail.
            writeln!(lock(&text), "{shown}").ok();
            line.clear();
        }
        drop(done);
    });
}

fn groups() -> MutexGuard<'static, BTreeSet<i32>> {
    lock(&LIVE_PROCESS_GROUPS)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill_group(group: i32) {
    if let Some(pid) = Pid::from_raw(group) {
        // It is fine if the group has already ended.
        kill_process_group(pid, Signal::KILL).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn alive(pid: &str) -> bool {
        // A killed process that has not been reaped yet is a zombie, which no longer runs.
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
            !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
        })
    }

    fn wait_for_end(pid: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while alive(pid) {
            assert!(Instant::now() < deadline, "process {pid} outlived its group");
            thread::yield_now();
        }
    }

    #[test]
    fn output_and_status_are_recorded() {
        let minute = Duration::from_mins(1);
        let done =
            run(&mut shell("echo out; echo err >&2; exit 3"), minute, OutputMode::Kept).unwrap();
        assert!(!done.success);
        let mut lines: Vec<&str> = done.text.lines().collect();
        lines.sort_unstable();
        assert_eq!((lines, done.ending.as_str()), (vec!["err", "out"], "exit status: 3"));
        let said = done.or_fail("the script").unwrap_err().to_string();
        assert!(said.starts_with("the script failed (exit status: 3):"), "{said}");
    }

    #[test]
    fn a_quoted_path_is_one_shell_word() {
        for path in ["/a", "/some dir/it's", "/$HOME`x`\"  y"] {
            let mut echo = shell(&format!("printf %s {}", shell_word(Path::new(path))));
            let done = run(&mut echo, Duration::from_mins(1), OutputMode::Kept).unwrap();
            assert_eq!(done.text.trim_end(), path);
        }
    }

    #[test]
    fn a_leader_gets_a_signal_to_end() {
        let check = |script: &str, limit, expected: Option<Option<i32>>| {
            let mut child = BackgroundProcess::spawn(&mut shell(script), OutputMode::Kept).unwrap();
            while !lock(&child.text).contains("ready") {
                thread::yield_now();
            }
            let status = child.terminate(limit).unwrap();
            assert_eq!(status.map(|status| status.code()), expected, "{script}");
        };
        let minute = Duration::from_mins(1);
        check(
            "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done",
            minute,
            Some(Some(3)),
        );
        check("trap '' TERM; echo ready; sleep 1000", Duration::from_millis(50), None);
    }

    #[test]
    fn a_deadline_kills_the_group_with_its_grandchildren() {
        let mut stuck = shell("sleep 1000 & echo $!; wait");
        let done = run(&mut stuck, Duration::from_secs(1), OutputMode::Kept).unwrap();
        assert!(!done.success);
        assert_eq!(done.ending, "killed after 1 s");
        wait_for_end(done.text.trim());
    }

    #[test]
    fn what_a_finished_child_leaves_behind_is_ended() {
        let done =
            run(&mut shell("sleep 1000 & echo $!"), Duration::from_mins(1), OutputMode::Kept)
                .unwrap();
        assert!(done.success);
        wait_for_end(done.text.trim());
    }

    #[test]
    fn a_server_that_dies_early_says_why() {
        let port = free_port().unwrap();
        let died = BackgroundProcess::listening(
            &mut shell("echo no luck; exit 1"),
            port,
            Duration::from_mins(1),
        );
        let said = died.unwrap_err().to_string();
        assert!(said.contains("exit status: 1") && said.contains("no luck"), "{said}");
    }
}
