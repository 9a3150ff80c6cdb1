//! A supervisor to test, orders for it, and checks for live processes.

use docent_supervisor::{
    CommandPolicy, Confinement, ConfinementMode, Launch, LaunchError, SupervisedChild, Supervisor,
    SupervisorSettings,
};
use std::{
    fs, thread,
    time::{Duration, Instant},
};
use tokio::io::{AsyncBufReadExt, BufReader};

/// The program for every role.
pub(crate) const PROBE: &str = env!("CARGO_BIN_EXE_docent-supervisor-probe");

/// Timeout, long enough for a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A supervisor, closed at the end of its test.
pub(crate) struct SupervisorFixture {
    pub(crate) keeper: Supervisor,
}

impl SupervisorFixture {
    pub(crate) fn new() -> Self {
        Self::with(CommandPolicy::default(), 256)
    }

    pub(crate) fn with(commands: CommandPolicy, most: usize) -> Self {
        let settings =
            SupervisorSettings { commands, max_programs: most, ..SupervisorSettings::new(PROBE) };
        Self { keeper: Supervisor::start(settings).unwrap() }
    }

    /// The pid of the supervisor itself, which is the guard's only child.
    pub(crate) fn keeper_pid(&self) -> u32 {
        let guard = self.keeper.guard_pid();
        let begin = Instant::now();
        loop {
            let children = fs::read_to_string(format!("/proc/{guard}/task/{guard}/children"));
            let children = children.unwrap();
            if let Some(pid) = children.split_whitespace().next() {
                return pid.parse().unwrap();
            }
            assert!(begin.elapsed() < TEST_TIMEOUT, "the guard has no child");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Starts the probe in a role.
    pub(crate) async fn start(&self, role: &[&str]) -> SupervisedChild {
        self.keeper.spawn(&launch(PROBE, role)).await.unwrap()
    }

    /// Why a program is not started.
    pub(crate) async fn refusal(&self, launch: &Launch) -> LaunchError {
        self.keeper.spawn(launch).await.unwrap_err()
    }
}

/// An order without a sandbox.
pub(crate) fn launch(program: &str, args: &[&str]) -> Launch {
    Launch::new(program, args.iter().copied(), Confinement::default(), ConfinementMode::Off)
}

/// The next `count` lines of a program.
pub(crate) async fn lines(child: &mut SupervisedChild, count: usize) -> Vec<String> {
    let mut lines = BufReader::new(&mut child.stdout).lines();
    let mut found = Vec::new();
    for _ in 0..count {
        let line = tokio::time::timeout(TEST_TIMEOUT, lines.next_line()).await;
        found.push(line.expect("no line").unwrap().expect("no more lines"));
    }
    found
}

/// The pids in lines of the form `role pid`.
pub(crate) fn pids(lines: &[String]) -> Vec<u32> {
    lines.iter().filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect()
}

/// Whether the process is alive: it exists, is not a zombie, and is the same process.
pub(crate) fn alive(pid: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    let ours = fs::read_to_string(format!("/proc/{pid}/cmdline"));
    !matches!(state, Some('Z' | 'X'))
        && ours.is_ok_and(|line| line.contains("docent-supervisor-probe"))
}

/// Waits until none of the processes is alive, and returns how long that took.
pub(crate) fn wait_until_gone(pids: &[u32]) -> Duration {
    let begin = Instant::now();
    loop {
        let left: Vec<&u32> = pids.iter().filter(|pid| alive(**pid)).collect();
        if left.is_empty() {
            return begin.elapsed();
        }
        assert!(begin.elapsed() < TEST_TIMEOUT, "{left:?} of {pids:?} are alive");
        thread::sleep(Duration::from_millis(5));
    }
}
