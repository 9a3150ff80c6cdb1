//! The tokei binary, with which docent's counts and speed are compared.

use crate::{
    install,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const RUN_LIMIT: Duration = Duration::from_mins(5);
/// The name of the row with the totals.
const TOTAL: &str = "Total";

/// Lines of code, comments and blanks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineCounts {
    pub(crate) code: u64,
    pub(crate) comments: u64,
    pub(crate) blanks: u64,
}

impl LineCounts {
    /// Reads the three numbers from an object; missing ones are zero.
    pub(crate) fn of(value: &Value) -> Self {
        let number = |key: &str| value[key].as_u64().unwrap_or_default();
        Self { code: number("code"), comments: number("comments"), blanks: number("blanks") }
    }

    /// The sum of all lines.
    pub(crate) fn total(self) -> u64 {
        self.code + self.comments + self.blanks
    }
}

/// The counts of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LanguageLines {
    pub(crate) files: usize,
    pub(crate) lines: LineCounts,
}

/// An installed tokei.
#[derive(Debug)]
pub(crate) struct Tokei {
    program: PathBuf,
}

impl Tokei {
    /// Installs tokei, compiling it the first time.
    pub(crate) fn install(workspace: &XtaskWorkspace) -> Result<Self> {
        Ok(Self { program: install::tokei(workspace)? })
    }

    /// Returns the command that counts everything docent reads too, hidden files included.
    pub(crate) fn count(&self, tree: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--hidden").arg(tree);
        // The user's own settings for tokei and git must not change the counts; no file can exist below a device.
        command.env_clear().env("HOME", "/dev/null").current_dir("/");
        command
    }

    /// Counts the files in languages that tokei knows.
    pub(crate) fn files(&self, tree: &Path) -> Result<u64> {
        let said =
            process::run(&mut self.count(tree), RUN_LIMIT, OutputMode::Kept)?.or_fail("tokei")?;
        total_files(&said).context("tokei printed no total")
    }

    /// Counts each language, without languages embedded in others.
    pub(crate) fn languages(&self, tree: &Path) -> Result<BTreeMap<String, LanguageLines>> {
        let mut command = self.count(tree);
        command.args(["--output", "json"]);
        let said = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)?.or_fail("tokei")?;
        let json = serde_json::from_str(&said).context("reading what tokei printed")?;
        Ok(languages(&json))
    }
}

/// Parses the total from the printed table.
fn total_files(table: &str) -> Option<u64> {
    let mut totals = table.lines().filter_map(|line| line.trim().strip_prefix(TOTAL));
    totals.next_back()?.split_whitespace().next()?.parse().ok()
}

fn languages(json: &Value) -> BTreeMap<String, LanguageLines> {
    let languages = json.as_object().into_iter().flatten().filter(|(name, _)| *name != TOTAL);
    languages
        .map(|(name, found)| {
            let files = found["reports"].as_array().map_or(0, Vec::len);
            (name.clone(), LanguageLines { files, lines: LineCounts::of(found) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_total_is_parsed_from_the_table() {
        let table =
            " Language  Files  Lines\n HTML  2  9\n (Total)  10\n====\n Total  40810  7885\n====\n";
        assert_eq!(total_files(table), Some(40810));
        assert_eq!(total_files(" Language  Files\n"), None);
    }

    #[test]
    fn languages_are_parsed_without_the_total() {
        let json = json!({
            "HTML": {"blanks": 3, "code": 2, "comments": 1, "reports": [{}, {}], "children": {"CSS": []}},
            "Total": {"blanks": 3, "code": 2, "comments": 1, "reports": []},
        });
        let lines = LineCounts { code: 2, comments: 1, blanks: 3 };
        let expected = BTreeMap::from([("HTML".to_owned(), LanguageLines { files: 2, lines })]);
        assert_eq!(languages(&json), expected);
    }
}
