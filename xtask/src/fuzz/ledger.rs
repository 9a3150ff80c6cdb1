//! The CPU time spent on each target, kept in a file next to the targets and added up over many runs and machines.

use super::target::FuzzTarget;
use anyhow::{Context, Result};
use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::PathBuf, time::Duration};

const LEDGER_HEADER: &str = "\
# CPU time spent on each target, in seconds; `cargo xtask fuzz` adds to it.
";

/// The file and its contents.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    seconds: BTreeMap<String, u64>,
}

impl Ledger {
    /// Reads the file; a missing file is an empty ledger.
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("reading {}", path.display()))?,
        };
        let seconds =
            toml::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
        Ok(Self { path, seconds })
    }

    pub(super) fn time_used(&self, target: &str) -> Duration {
        Duration::from_secs(self.seconds.get(target).copied().unwrap_or(0))
    }

    /// Adds CPU time to a target and saves the file; returns the target's total.
    pub(super) fn add(&mut self, target: &str, used: Duration) -> Result<Duration> {
        // On a busy machine the last second is never used in full, and would be run again and again.
        *self.seconds.entry(target.to_owned()).or_default() += used.as_secs().max(1);
        let mut text = LEDGER_HEADER.to_owned();
        for (name, seconds) in &self.seconds {
            // Writing to a string cannot fail.
            writeln!(text, "{name} = {seconds}").ok();
        }
        fs::write(&self.path, text).with_context(|| format!("writing {}", self.path.display()))?;
        Ok(self.time_used(target))
    }

    /// Removes targets that no longer exist.
    pub(super) fn retain(&mut self, targets: &[FuzzTarget]) {
        self.seconds.retain(|name, _| targets.iter().any(|target| target.name == *name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_adds_up_over_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("time.toml");
        let open = || Ledger::read(path.clone()).unwrap();
        let add = |name, seconds| open().add(name, Duration::from_secs(seconds)).unwrap().as_secs();
        assert_eq!((add("frames", 90), add("gone", 5), add("frames", 30)), (90, 5, 120));
        let mut ledger = open();
        ledger.retain(&[FuzzTarget::with_name("frames")]);
        ledger.add("html", Duration::from_secs(7)).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            format!("{LEDGER_HEADER}frames = 120\nhtml = 7\n")
        );
    }

    #[test]
    fn an_invalid_ledger_is_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("time.toml");
        fs::write(&path, "frames = 'long'").unwrap();
        let said = format!("{:#}", Ledger::read(path).unwrap_err());
        assert!(said.contains("time.toml"), "{said}");
    }
}
