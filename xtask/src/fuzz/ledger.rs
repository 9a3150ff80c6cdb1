//! How much processor time each target has had, in a file beside the targets: it grows over many runs and machines.

use super::target::FuzzTarget;
use anyhow::{Context, Result};
use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::PathBuf, time::Duration};

const LEDGER_HEADER: &str = "\
# Seconds of processor time that each target has had; `cargo xtask fuzz` adds to them.
";

/// The file, and what is in it.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    seconds: BTreeMap<String, u64>,
}

impl Ledger {
    /// One that is not there is empty.
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

    /// Writes down that a target has had more; gives back what it has had in all.
    pub(super) fn add(&mut self, target: &str, used: Duration) -> Result<Duration> {
        // On a busy machine the last second of a target is never used in full, and would be run over and over.
        *self.seconds.entry(target.to_owned()).or_default() += used.as_secs().max(1);
        let mut text = LEDGER_HEADER.to_owned();
        for (name, seconds) in &self.seconds {
            // Writing to a string cannot fail.
            writeln!(text, "{name} = {seconds}").ok();
        }
        fs::write(&self.path, text).with_context(|| format!("writing {}", self.path.display()))?;
        Ok(self.time_used(target))
    }

    /// Leaves out targets that are gone.
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
        ledger.forget_all_but(&[FuzzTarget::with_name("frames")]);
        ledger.add("html", Duration::from_secs(7)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{HEAD}frames = 120\nhtml = 7\n"));
    }

    #[test]
    fn a_file_that_is_no_ledger_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("time.toml");
        fs::write(&path, "frames = 'long'").unwrap();
        let said = format!("{:#}", Ledger::read(path).unwrap_err());
        assert!(said.contains("time.toml"), "{said}");
    }
}
