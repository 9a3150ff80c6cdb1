//! The project's own rules in `.docent/rules/*.yml`, reloaded when they change.

use super::project::Project;
use crate::files::{Kind, Problem, WalkOptions};
use docent_index::Digest;
use docent_syntax::analysis::rules::RuleSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Folder of the rules, in the first root.
const FOLDER: &str = ".docent/rules";
/// Maximum total size of the rules: each is matched against every node of every file.
const MOST_BYTES: u64 = 1 << 20;
/// Maximum number of rule files.
const MOST: usize = 200;

/// The rules as they were last read.
#[derive(Debug, Default)]
pub(crate) struct OwnRules(Mutex<Option<Kept>>);

/// Digest of the rule texts, the rules, and the problems found in them.
type Kept = (Digest, Arc<RuleSet>, Vec<Problem>);

impl OwnRules {
    /// Returns the built-in rules with the project's own, and the problems of the latter.
    pub(crate) fn read(&self, project: &Project) -> (Arc<RuleSet>, Vec<Problem>) {
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
        let wrong: Vec<Problem> = wrong
            .into_iter()
            .map(|one| Problem { path: format!("{}:{}", one.path, one.line), reason: one.reason })
            .collect();
        *kept() = Some((digest, Arc::clone(&rules), wrong.clone()));
        problems.extend(wrong);
        (rules, problems)
    }
}

fn texts(project: &Project) -> (Vec<(String, String)>, Vec<Problem>) {
    let (mut texts, mut problems) = (Vec::new(), Vec::new());
    let Ok(folder) = project.roots.resolve(FOLDER) else { return (texts, problems) };
    // Git ignores everything in `.docent`, but the rules are read anyway.
    let options = WalkOptions { ignored: true, ..WalkOptions::default() };
    let mut left = MOST_BYTES;
    for entry in project.roots.walk_with(&folder, options).take(MOST) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let name = entry.place.relative();
        let ending = name.rsplit('.').next().unwrap_or_default();
        if entry.kind != Kind::File || !matches!(ending, "yml" | "yaml") {
            continue;
        }
        match project.roots.read(&entry.place, left) {
            Ok(bytes) => {
                left = left.saturating_sub(bytes.len() as u64);
                texts.push((name.to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
            }
            Err(problem) => problems.push(Problem::from(&problem)),
        }
    }
    (texts, problems)
}
