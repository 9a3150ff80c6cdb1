//! Health of a server, measured on its real traffic.

use super::{DownstreamServer, locked};
use docent_tool::Object;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Whether a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    /// Not running; started when needed.
    Idle,
    /// Running.
    Ready,
    /// Failed; retried after a while.
    Waiting,
}

/// Health counters of a server.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// Number of starts or connections.
    pub starts: u64,
    /// Number of lost connections.
    pub losses: u64,
    /// Answered requests.
    pub answers: u64,
    /// Refused or lost requests.
    pub failures: u64,
    /// Timed-out requests.
    pub timeouts: u64,
    /// Pieces of output that are not JSON-RPC.
    pub noise: u64,
    /// The last one.
    pub last_noise: Option<String>,
    /// Why it last failed.
    pub last_failure: Option<String>,
    /// Milliseconds since it last answered.
    pub answered_ms_ago: Option<u64>,
}

/// A held-back definition.
#[derive(Debug, Clone, Serialize)]
pub struct HeldDefinition {
    /// The tool.
    pub tool: String,
    /// The approved definition; `None` for a new tool, or if its approval can't be read.
    pub before: Option<Object>,
    /// The server's current definition.
    pub after: Object,
}

impl HeldDefinition {
    fn new((tool, before, after): (&str, Option<&Object>, &Object)) -> Self {
        Self { tool: tool.to_owned(), before: before.cloned(), after: after.clone() }
    }
}

/// Status of a server for `docent servers list` and the inspector.
#[derive(Debug, Clone, Serialize)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// Whether it runs.
    pub state: ServerState,
    /// Its protocol revision, once known.
    pub protocol: Option<String>,
    /// Its name and version, as it reports them.
    pub server: serde_json::Value,
    /// How many tools it offers.
    pub tools: usize,
    /// Tools whose definition is new or changed, and neither approved nor refused.
    pub held_back: Vec<HeldDefinition>,
    /// Tools that are left out because they can't be used, by name, and the reason.
    pub left_out: BTreeMap<String, String>,
    /// Suspicious tools, prompts and instructions, and the reasons.
    pub flagged: Vec<(String, Vec<&'static str>)>,
    /// Its health counters.
    pub health: Health,
    /// The last lines of its standard error.
    pub stderr: Vec<String>,
}

#[derive(Default)]
pub(super) struct HealthCounters {
    pub(super) starts: AtomicU64,
    pub(super) losses: AtomicU64,
    answers: AtomicU64,
    failures: AtomicU64,
    timeouts: AtomicU64,
    noise: AtomicU64,
    last_noise: Mutex<Option<String>>,
    last_failure: Mutex<Option<String>>,
    answered: Mutex<Option<Instant>>,
}

impl HealthCounters {
    pub(super) fn record_answer(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
        *locked(&self.answered) = Some(Instant::now());
    }

    pub(super) fn record_failure(&self, why: String) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *locked(&self.last_failure) = Some(why);
    }

    pub(super) fn record_timeout(&self, why: String) {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
        *locked(&self.last_failure) = Some(why);
    }

    /// Records noise; returns whether it is the first.
    pub(super) fn record_noise(&self, text: &str) -> bool {
        let before = self.noise.fetch_add(1, Ordering::Relaxed);
        *locked(&self.last_noise) = Some(docent_screen::one_line(text).into_owned());
        before == 0
    }

    pub(super) fn last_failure(&self) -> Option<String> {
        locked(&self.last_failure).clone()
    }
}

impl DownstreamServer {
    /// Returns its status.
    pub fn status(&self) -> ServerStatus {
        let known = self.known();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.counters;
        let ago = |at: Instant| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let state = match (self.live(), locked(&self.backoff).is_waiting()) {
            (_, true) => ServerState::Waiting,
            (Some(_), false) => ServerState::Ready,
            (None, false) => ServerState::Idle,
        };
        let flagged = known.tools.iter().filter(|tool| !tool.flags().is_empty());
        ServerStatus {
            name: self.name().to_owned(),
            state,
            protocol: known.remembered.era.as_ref().map(|era| era.version().to_owned()),
            server: known.remembered.info.clone(),
            tools: known.tools.len(),
            held_back: known.remembered.undecided().map(HeldDefinition::new).collect(),
            left_out: known.remembered.left_out.clone(),
            flagged: flagged
                .map(|tool| (tool.name.clone(), tool.flags().to_vec()))
                .chain(known.flagged_beside_tools().iter().cloned())
                .collect(),
            health: Health {
                starts: count(&counters.starts),
                losses: count(&counters.losses),
                answers: count(&counters.answers),
                failures: count(&counters.failures),
                timeouts: count(&counters.timeouts),
                noise: count(&counters.noise),
                last_noise: locked(&counters.last_noise).clone(),
                last_failure: counters.last_failure(),
                answered_ms_ago: locked(&counters.answered).map(ago),
            },
            stderr: self.stderr.last(20),
        }
    }
}
