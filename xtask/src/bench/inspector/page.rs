//! Measures the page in a browser: runs tests/inspector/measure.mjs and parses its output.

use crate::{
    bench::{
        hub::gateway::official_inspector,
        repo::table::{RepoTarget, TreeSection},
    },
    checks::inspector::InspectorChecks,
    docent::DocentProgram,
    install,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::time::Duration;

const RUN_LIMIT: Duration = Duration::from_mins(30);
const OURS: &str = "docent inspect";
const OFFICIAL: &str = "official inspector";
/// The label of the total size of the page's files, and its limit.
const PAGE_SIZE_TARGET: (&str, f64) = ("files of the page (kB)", 200.0);

/// The measurements, and the versions measured.
pub(super) struct PageMeasurements {
    pub(super) sections: Vec<TreeSection>,
    pub(super) versions: Vec<String>,
}

/// One line of the program's output.
#[derive(Debug, Deserialize)]
struct Sample {
    section: String,
    measure: String,
    subject: String,
    value: f64,
}

/// Opens both pages this many times.
pub(super) fn measure(
    workspace: &XtaskWorkspace,
    docent: &DocentProgram,
    openings: u32,
) -> Result<PageMeasurements> {
    let (page, chromium) = (InspectorChecks::install(workspace)?, install::chromium()?);
    let mut versions = Vec::new();
    let mut command = page.program("measure.mjs", docent.program(), &chromium);
    command.arg("--openings").arg(openings.to_string());
    let official = official_inspector(workspace);
    match &official {
        Ok((version, _, script)) => {
            versions.push(version.clone());
            command.arg("--official").args(script);
        }
        Err(problem) => eprintln!("without the official inspector: {problem:#}"),
    }
    let done = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)?;
    let text = done.or_fail("measure.mjs")?;
    versions
        .extend(text.lines().filter_map(|line| line.strip_prefix("version ")).map(str::to_owned));
    let mut sections = sections(&text)?;
    if let (Err(problem), Some(first)) = (official, sections.first_mut()) {
        first.lack(OFFICIAL, &format!("{problem:#}"));
    }
    Ok(PageMeasurements { sections, versions })
}

/// Parses the lines `sample {…}` into tables, in order of appearance.
fn sections(text: &str) -> Result<Vec<TreeSection>> {
    let mut found: Vec<(String, TreeSection)> = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("sample ")) {
        let sample: Sample = serde_json::from_str(line).with_context(|| line.to_owned())?;
        if !found.iter().any(|(title, _)| *title == sample.section) {
            found.push((sample.section.clone(), TreeSection::new(sample.section.clone(), OURS)));
        }
        let ours = sample.subject == OURS && sample.measure == PAGE_SIZE_TARGET.0;
        let aim = ours.then_some(RepoTarget::AtMost(PAGE_SIZE_TARGET.1));
        if let Some((_, section)) = found.iter_mut().find(|(title, _)| *title == sample.section) {
            section.add(&sample.measure, &sample.subject, aim, sample.value);
        }
    }
    Ok(found.into_iter().map(|(_, section)| section).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_tables() {
        let text = "starting\nsample {\"section\": \"Page\", \"measure\": \"files of the page (kB)\", \"subject\": \"docent inspect\", \"value\": 180}\n\
                    sample {\"section\": \"Page\", \"measure\": \"start (ms)\", \"subject\": \"official inspector\", \"value\": 3000.0}\n\
                    sample {\"section\": \"Memory\", \"measure\": \"RSS (MB)\", \"subject\": \"docent inspect\", \"value\": 20}\n";
        let found = sections(text).unwrap();
        let all: String = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{all}");
        assert!(all.contains("| files of the page (kB) | docent inspect | 180 | 180 – 180 | 1 | 1.00 | ≤ 200: yes |"), "{all}");
        assert!(all.contains("| start (ms) | official inspector | 3000 |"), "{all}");
        assert!(sections("sample {}").is_err());
    }
}
