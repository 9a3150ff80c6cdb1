//! Runs script workers as processes: this executable with a hidden subcommand, started by the supervisor.

mod worker;

pub(crate) use worker::run as run_worker;

use crate::{
    config::{Config, ConfigEnvironment},
    sandbox,
    servers::{self, HubResources},
};
use docent_script::{StartWorker, StartedWorker, WorkerExit, WorkerProcess, Workers};
use docent_supervisor::{
    Confinement, ConfinementMode, Launch, OWN_EXECUTABLE, ProgramEnd, SupervisedChild,
    SupervisedProcess, Supervisor,
};
use docent_tool::BoxedFuture;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{io::AsyncReadExt, net::unix::pipe, sync::OnceCell};

/// The hidden subcommand of a worker.
pub(crate) const WORKER_SUBCOMMAND: &str = "__script";

/// Maximum bytes of a worker's standard error: it only shows why a worker ended.
const MAX_STDERR_BYTES: usize = 4096;

/// What Rust prints when it is out of memory, before it ends the process.
const OUT_OF_MEMORY_PREFIX: &str = "memory allocation of";

/// The signal that the kernel sends at the CPU time limit.
const SIGXCPU: i32 = 24;

/// How long standard error is read after a worker has ended.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);

/// The settings of a worker, passed at its start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkerSettings {
    mode: ConfinementMode,
    /// The configured memory limit of a script.
    memory_bytes: usize,
}

/// Returns the script workers of a hub.
pub(crate) fn workers(config: &Config, means: &HubResources) -> Arc<Workers> {
    // Scripts are sandboxed even if servers are not: they lose nothing by it.
    let mode = match sandbox::mode(config) {
        ConfinementMode::Strict => ConfinementMode::Strict,
        ConfinementMode::Auto | ConfinementMode::Off => ConfinementMode::Auto,
    };
    let description =
        WorkerSettings { mode, memory_bytes: config.hub.settings.script.memory_bytes };
    Workers::new(Arc::new(KeeperWorkers {
        keeper: OnceCell::new_with(means.keeper.clone()),
        config: config.clone(),
        environment: means.environment.clone(),
        description,
    }))
}

/// Starts workers through the supervisor.
struct KeeperWorkers {
    /// Started with docent, or with the first script if docent has no sandbox.
    keeper: OnceCell<Supervisor>,
    config: Config,
    environment: ConfigEnvironment,
    description: WorkerSettings,
}

impl fmt::Debug for KeeperWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeeperWorkers").finish_non_exhaustive()
    }
}

impl KeeperWorkers {
    async fn spawn(&self) -> Result<SupervisedChild, String> {
        let start = async { servers::keeper(&self.config, &self.environment) };
        let keeper = self.keeper.get_or_try_init(|| start).await.map_err(|error| {
            format!("the process that starts programs did not start with docent ({error:#}); restart docent")
        })?;
        let description =
            serde_json::to_string(&self.description).map_err(|error| error.to_string())?;
        // The worker sandboxes itself, more tightly than is possible before a program is loaded.
        let mut launch = Launch::new(
            OWN_EXECUTABLE,
            [WORKER_SUBCOMMAND, description.as_str()],
            Confinement::default(),
            ConfinementMode::Off,
        );
        launch.environment.kept.clear();
        launch.cwd = Some("/".into());
        keeper.spawn(&launch).await.map_err(|failed| failed.to_string())
    }
}

impl StartWorker for KeeperWorkers {
    fn start(&self) -> BoxedFuture<'_, Result<StartedWorker, String>> {
        Box::pin(async {
            let SupervisedChild { stdin, stdout, stderr, process } = self.spawn().await?;
            tracing::debug!(pid = process.pid(), "started a script worker");
            let said = Arc::new(Mutex::new(Vec::new()));
            let reading = tokio::spawn(read_stderr(stderr, Arc::clone(&said)));
            let process = KeptProcess { process, said, reading: Mutex::new(Some(reading)) };
            let (input, output) = (Box::new(stdin), Box::new(stdout));
            Ok(StartedWorker { input, output, process: Box::new(process) })
        })
    }
}

/// Keeps the beginning of a worker's standard error, and reads the rest so that the worker never blocks.
async fn read_stderr(mut stderr: pipe::Receiver, said: Arc<Mutex<Vec<u8>>>) {
    let mut part = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut part).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_STDERR_BYTES.saturating_sub(said.len());
        said.extend(part.iter().take(count.min(room)));
    }
}

/// A worker's process. It ends when this is dropped, or when docent ends.
struct KeptProcess {
    process: SupervisedProcess,
    said: Arc<Mutex<Vec<u8>>>,
    reading: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

impl WorkerProcess for KeptProcess {
    fn exit(&self) -> BoxedFuture<'_, WorkerExit> {
        Box::pin(async {
            let ended = self.process.ended().await;
            let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(reading) = reading {
                // The task ends with the process.
                let _read = tokio::time::timeout(STDERR_TIMEOUT, reading).await;
            }
            let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
            exit(ended, &String::from_utf8_lossy(&said))
        })
    }

    fn kill(&self) -> BoxedFuture<'_, ()> {
        Box::pin(async {
            let ended = self.process.end(Duration::ZERO).await;
            tracing::debug!(pid = self.process.pid(), %ended, "ended a script worker");
        })
    }
}

/// Returns why a worker ended by itself.
fn exit(ended: ProgramEnd, said: &str) -> WorkerExit {
    match ended {
        ProgramEnd::Signal(SIGXCPU) => WorkerExit::OutOfTime,
        _ if said.contains(OUT_OF_MEMORY_PREFIX) => WorkerExit::OutOfMemory,
        ended => {
            let said = docent_screen::one_line(said.trim());
            let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
            WorkerExit::Other(format!("{ended}{said}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_explained() {
        for (ended, said, want) in [
            (ProgramEnd::Signal(SIGXCPU), "", WorkerExit::OutOfTime),
            (
                ProgramEnd::Signal(6),
                "memory allocation of 7 bytes failed\n",
                WorkerExit::OutOfMemory,
            ),
            (
                ProgramEnd::Signal(9),
                "",
                WorkerExit::Other("it was ended by signal 9 (SIGKILL)".to_owned()),
            ),
            (
                ProgramEnd::Code(1),
                "docent: no\n",
                WorkerExit::Other("it ended with exit code 1 (docent: no)".to_owned()),
            ),
        ] {
            assert_eq!(exit(ended, said), want, "{ended:?} {said}");
        }
    }
}
