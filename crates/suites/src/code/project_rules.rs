//! The project's own rules in `.docent/rules/*.yml`, reloaded when they change.

use super::project::CodeProject;
use crate::files::{PathKind, ReadFailure, WalkOptions};
use docent_index::Digest;
use docent_syntax::analysis::rules::RuleSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Folder of the rules, in the first root.
const FOLDER: &str = ".docent/rules";
/// Maximum total size of the rules: each is matched against every node of every file.
const MAX_RULE_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of rule files.
const MAX_RULE_FILES: usize = 200;

/// The rules as they were last read.
#[derive(Debug, Default)]
pub(crate) struct OwnRules(Mutex<Option<CachedRules>>);

/// Digest of the rule texts, the rules, and the problems found in them.
type CachedRules = (Digest, Arc<RuleSet>, Vec<ReadFailure>);

impl OwnRules {
    /// Returns the built-in rules with the project's own, and the problems of the latter.
    pub(crate) fn read(&self, project: &CodeProject) -> (Arc<RuleSet>, Vec<ReadFailure>) {
        let (texts, mut problems) = texts(project);
        let parts: Vec<&[u8]> =
            texts.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]).collect();
        let digest = Digest::of(&parts);
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules, wrong)) = kept().as_ref().filter(|(before, ..)| *before == digest) {
            problems.extend(wrong.iter().cloned());
            return (Arc::clone(rules), problems);
        }
        // Parsing rules takes a while; other calls do not wait for it.
        let (rules, wrong) = RuleSet::with(&texts);
        let rules = Arc::new(rules);
        let wrong: Vec<ReadFailure> = wrong
            .into_iter()
            .map(|one| ReadFailure {
                path: format!("{}:{}", one.path, one.line),
                reason: one.reason,
            })
            .collect();
        *kept() = Some((digest, Arc::clone(&rules), wrong.clone()));
        problems.extend(wrong);
        (rules, problems)
    }
}

fn texts(project: &CodeProject) -> (Vec<(String, String)>, Vec<ReadFailure>) {
    let (mut texts, mut problems) = (Vec::new(), Vec::new());
    let Ok(folder) = project.roots.resolve(FOLDER) else { return (texts, problems) };
    // Git ignores everything in `.docent`, but the rules are read anyway.
    let options = WalkOptions { ignored: true, ..WalkOptions::default() };
    let mut left = MAX_RULE_FILE_BYTES;
    for entry in project.roots.walk_with(&folder, options).take(MAX_RULE_FILES) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let name = entry.place.relative();
        let ending = name.rsplit('.').next().unwrap_or_default();
        if entry.kind != PathKind::File || !matches!(ending, "yml" | "yaml") {
            continue;
        }
        match project.roots.read(&entry.place, left) {
            Ok(bytes) => {
                left = left.saturating_sub(bytes.len() as u64);
                texts.push((name.to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
            }
            Err(problem) => problems.push(ReadFailure::from(&problem)),
        }
    }
    (texts, problems)
}
