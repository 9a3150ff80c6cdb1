//! `cargo xtask fuzz`: runs each fuzz target for its share of CPU time and records the totals.

mod ledger;
mod target;

use crate::{
    bench::usage,
    install,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use ledger::Ledger;
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use target::FuzzTarget;

/// The longest run of one process, and so the most work lost on an interruption.
const MAX_SLICE: Duration = Duration::from_mins(3);
/// libFuzzer counts in whole seconds.
const MIN_SLICE: Duration = Duration::from_secs(1);
const BUILD_LIMIT: Duration = Duration::from_hours(2);
const DISTIL_LIMIT: Duration = Duration::from_mins(30);

/// Options of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run only these targets
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Total CPU time per target, earlier runs included
    #[arg(long, default_value_t = 24.0)]
    minutes: f64,
    /// Run this many targets at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Print the CPU time of each target without running any
    #[arg(long)]
    list: bool,
    /// Minimize the corpora and pack them into fuzz/corpus/TARGET.tar.gz without running any target
    #[arg(long)]
    distil: bool,
}

/// Paths used by the fuzzing task.
struct FuzzPaths {
    fuzz: PathBuf,
    /// The folder of the builds and their findings.
    target: PathBuf,
}

impl FuzzPaths {
    fn of(workspace: &XtaskWorkspace) -> Self {
        Self { fuzz: workspace.root.join("fuzz"), target: workspace.target.join("fuzz") }
    }

    fn binary(&self, target: &FuzzTarget) -> PathBuf {
        self.target.join(triple()).join("release").join(&target.name)
    }

    /// The folder of the hand-written seeds.
    fn seeds(&self, target: &FuzzTarget) -> PathBuf {
        self.fuzz.join("corpus").join(&target.name)
    }

    /// The archive of the inputs added by runs.
    fn archive(&self, target: &FuzzTarget) -> PathBuf {
        self.fuzz.join("corpus").join(format!("{}.tar.gz", target.name))
    }

    /// The archive unpacked, with the inputs added on this machine since.
    fn corpus(&self, target: &FuzzTarget) -> Result<PathBuf> {
        let (found, packed) = (self.target.join("corpus").join(&target.name), self.archive(target));
        if !found.exists() {
            fs::create_dir_all(&found)?;
            if packed.is_file() {
                tar(Command::new("tar").arg("-xzf").arg(packed).arg("-C").arg(&found))?;
            }
        }
        Ok(found)
    }

    /// The folder of inputs that made a target fail.
    fn artifacts(&self) -> PathBuf {
        self.target.join("artifacts")
    }
}

fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// Runs the targets that have not had their CPU time; true when none failed.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options) -> Result<bool> {
    ensure!(options.minutes > 0.0 && options.jobs > 0, "--minutes and --jobs must be positive");
    let goal =
        Duration::try_from_secs_f64(options.minutes * 60.0).context("--minutes is out of range")?;
    let places = FuzzPaths::of(workspace);
    let manifest = fs::read_to_string(places.fuzz.join("Cargo.toml")).context("fuzz/Cargo.toml")?;
    let all = target::select_targets(&manifest, &[])?;
    let targets = target::select_targets(&manifest, &options.targets)?;
    let mut ledger = Ledger::read(places.fuzz.join("time.toml"))?;
    if options.list {
        for target in &targets {
            println!(
                "{:14} {:5.1} min",
                target.name,
                ledger.time_used(&target.name).as_secs_f64() / 60.0
            );
        }
        return Ok(true);
    }
    build(workspace, &places, &all)?;
    if options.distil {
        targets.iter().try_for_each(|target| distil(&places, target))?;
        return Ok(true);
    }
    ledger.retain(&all);
    let shift = FuzzWorkers {
        places: &places,
        goal,
        state: Mutex::new(FuzzProgress::new(targets, ledger)),
    };
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..options.jobs).map(|_| scope.spawn(|| shift.run_targets())).collect();
        for worker in workers {
            match worker.join() {
                Ok(done) => done?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(shift.state().failed.is_empty())
    })
}

/// Builds all targets at once, because building only some has other features and recompiles everything. Builds without
/// a sanitizer: these parsers are safe Rust, where bugs are panics, hangs and memory growth, and fuzzing is twice as
/// fast.
fn build(workspace: &XtaskWorkspace, places: &FuzzPaths, all: &[FuzzTarget]) -> Result<()> {
    let features: BTreeSet<&str> = all.iter().flat_map(FuzzTarget::features).collect();
    let features = features.into_iter().collect::<Vec<_>>().join(",");
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).arg(install::cargo_fuzz(workspace)?).args(["fuzz", "build"]);
    command.args(["--sanitizer", "none", "--target", &triple(), "--features", &features]);
    command.arg("--fuzz-dir").arg(&places.fuzz).arg("--target-dir").arg(&places.target);
    // These variables, set by cargo for this process, would select the toolchain that runs it.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    process::run(&mut command, BUILD_LIMIT, OutputMode::Shown)?.or_fail("cargo fuzz build")?;
    Ok(())
}

/// State shared by the workers.
struct FuzzWorkers<'a> {
    places: &'a FuzzPaths,
    goal: Duration,
    state: Mutex<FuzzProgress>,
}

struct FuzzProgress {
    /// Targets that no worker is running.
    idle: Vec<FuzzTarget>,
    ledger: Ledger,
    failed: Vec<String>,
}

impl FuzzProgress {
    const fn new(idle: Vec<FuzzTarget>, ledger: Ledger) -> Self {
        Self { idle, ledger, failed: Vec::new() }
    }

    /// Takes the target with the most missing CPU time; returns it with that time.
    fn take_neediest(&mut self, goal: Duration) -> Option<(FuzzTarget, Duration)> {
        let short = |target: &FuzzTarget| goal.saturating_sub(self.ledger.time_used(&target.name));
        let (at, left) = (0..self.idle.len())
            .map(|at| (at, short(&self.idle[at])))
            .max_by_key(|(at, left)| (*left, std::cmp::Reverse(*at)))?;
        (left >= MIN_SLICE).then(|| (self.idle.remove(at), left))
    }
}

impl FuzzWorkers<'_> {
    fn state(&self) -> MutexGuard<'_, FuzzProgress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs targets until none is missing CPU time.
    fn run_targets(&self) -> Result<()> {
        loop {
            let Some((target, left)) = self.state().take_neediest(self.goal) else { return Ok(()) };
            match self.run_slice(&target, left.min(MAX_SLICE)) {
                Ok(used) => {
                    let mut state = self.state();
                    let had = state.ledger.add(&target.name, used)?;
                    println!("{:14} {:5.1} min", target.name, had.as_secs_f64() / 60.0);
                    state.idle.push(target);
                }
                Err(problem) => {
                    eprintln!("{} failed and will not run again: {problem:#}", target.name);
                    self.state().failed.push(target.name);
                }
            }
        }
    }

    /// Runs one process; returns the CPU time it used.
    fn run_slice(&self, target: &FuzzTarget, wall: Duration) -> Result<Duration> {
        let (found, artifacts) = (self.places.corpus(target)?, self.places.artifacts());
        fs::create_dir_all(&artifacts)?;
        let mut command = Command::new(self.places.binary(target));
        command.arg(found).arg(self.places.seeds(target));
        command.arg(format!("-max_total_time={}", wall.as_secs()));
        command.args(["-timeout=25", "-rss_limit_mb=3072"]);
        command.arg(format!("-artifact_prefix={}/{}-", artifacts.display(), target.name));
        Ok(usage::run(&mut command)?.cpu)
    }
}

/// Packs the inputs that add coverage to the seeds.
fn distil(places: &FuzzPaths, target: &FuzzTarget) -> Result<()> {
    let (seeds, found) = (places.seeds(target), places.corpus(target)?);
    let fresh = tempfile::tempdir_in(&places.target)?;
    let mut copies = Vec::new();
    for entry in fs::read_dir(&seeds)? {
        let entry = entry?;
        copies.push(fresh.path().join(entry.file_name()));
        fs::copy(entry.path(), fresh.path().join(entry.file_name()))?;
    }
    let mut command = Command::new(places.binary(target));
    // Count edges only: hit counts would keep many times as many inputs.
    command.args(["-merge=1", "-use_counters=0"]).arg(fresh.path()).arg(&found);
    process::run(&mut command, DISTIL_LIMIT, OutputMode::Kept)?.or_fail("the merge")?;
    copies.iter().try_for_each(fs::remove_file)?;
    // The same inputs must give the same file.
    let mut pack = Command::new("tar");
    pack.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.args(["--use-compress-program=gzip -9n", "-cf"]).arg(places.archive(target));
    tar(pack.arg("-C").arg(fresh.path()).arg("."))?;
    println!("{:14} {} inputs", target.name, fs::read_dir(fresh.path())?.count());
    Ok(())
}

fn tar(command: &mut Command) -> Result<()> {
    process::run(command, DISTIL_LIMIT, OutputMode::Kept)?.or_fail("tar").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_with_the_least_time_runs_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::read(folder.path().join("time.toml")).unwrap();
        ledger.add("a", Duration::from_secs(50)).unwrap();
        ledger.add("b", Duration::from_secs(20)).unwrap();
        ledger.add("c", Duration::from_mins(1)).unwrap();
        let targets = ["a", "b", "c"].map(FuzzTarget::with_name).to_vec();
        let mut state = FuzzProgress::new(targets, ledger);
        let goal = Duration::from_mins(1);
        let mut next =
            || state.take_neediest(goal).map(|(target, left)| (target.name, left.as_secs()));
        assert_eq!(next(), Some(("b".to_owned(), 40)));
        assert_eq!(next(), Some(("a".to_owned(), 10)));
        assert_eq!(next(), None, "c has had its time");
    }
}
