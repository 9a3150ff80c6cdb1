//! Which process the kernel kills when memory runs out: a program rather than the supervisor.
//!
//! Without privileges a process can only raise its score, and lower it back to its previous value. So the supervisor
//! raises its own while it starts a program, which inherits the score. With privileges the supervisor is also made less
//! likely to be killed.

use std::fs;

const OOM_SCORE_FILE: &str = "/proc/self/oom_score_adj";

/// How much more likely than docent a program is to be killed, in thousandths of the memory.
const PROGRAM_PENALTY: i32 = 100;
/// How much less likely than docent the supervisor is to be killed, if the kernel permits it.
const KEEPER_BONUS: i32 = 500;
/// Limits of the kernel. The lowest value would make the supervisor unkillable, and is not used.
const MIN_SCORE: i32 = -999;
const MAX_SCORE: i32 = 1000;

/// The scores of the supervisor and its programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct OomScores {
    keeper: i32,
    program: i32,
}

impl OomScores {
    /// Lowers the score of this process if possible.
    pub(super) fn apply() -> Self {
        let inherited =
            fs::read_to_string(OOM_SCORE_FILE).ok().and_then(|text| text.trim().parse().ok());
        let inherited: i32 = inherited.unwrap_or_default();
        let lower = (inherited - KEEPER_BONUS).max(MIN_SCORE);
        let keeper = if write(lower) { lower } else { inherited };
        Self { keeper, program: (inherited + PROGRAM_PENALTY).min(MAX_SCORE) }
    }

    /// Runs `start`; processes that it starts get the score of programs.
    pub(super) fn for_program<T>(self, start: impl FnOnce() -> T) -> T {
        write(self.program);
        let started = start();
        write(self.keeper);
        started
    }
}

/// Sets the score of this process. False if the kernel refuses, which only loses the preference.
fn write(score: i32) -> bool {
    fs::write(OOM_SCORE_FILE, score.to_string()).is_ok()
}
