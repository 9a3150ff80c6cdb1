//! Documents that no longer match the code: mentions of things that no longer exist, and documents unchanged while the
//! code they mention changed.
//!
//! A wrong finding costs more than a missed one. Each rule looks a name up in every place where it could exist and
//! needs evidence; then the words around the name are read, because a document may mention on purpose what is gone.
//! This module does not know how documents and code are parsed.

mod cargo;
mod commands;
mod declaration;
mod effort;
mod files;
mod flags;
mod ignored;
mod known;
mod likeness;
mod names;
mod outdated;
mod phrases;
mod runners;
mod scope;
mod shell;
mod symbols;
mod tasks;

use super::{
    facts::{DocumentFacts, Symbol},
    history::Past,
    report::{Drift, Manifest, MentionKind, Project, Severity, Stale},
    tree::{Halt, Tree},
    words::Words,
};
use known::Known;
use scope::Surroundings;
use std::collections::{HashMap, HashSet};

/// More names than this are counted and not listed.
const STALE: usize = 300;

/// The current project that documents are compared with.
pub(super) struct Today<'a> {
    pub(super) tree: &'a Tree,
    /// Every word of the code.
    pub(super) words: &'a Words,
    /// Public symbols by file.
    pub(super) symbols: &'a HashMap<Box<str>, Vec<Symbol>>,
    pub(super) manifests: &'a [Manifest],
    pub(super) project: &'a Project,
    /// Git history, if available.
    pub(super) past: Option<&'a Past>,
}

/// A mention that seems to be gone, before its context is read.
#[derive(Debug)]
struct Doubt {
    line: u32,
    mention: String,
    kind: MentionKind,
    evidence: String,
    severity: Severity,
    suggestion: Option<String>,
    ground: Ground,
    family: Option<Family>,
}

/// Evidence for a suspect mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// It existed once, or can be nowhere else: only words about the past clear it.
    Certain,
    /// It was not found: words about an example, or about something to create, also clear it.
    Presumed,
}

/// Names checked in the same way: if most of them are not found, the check is wrong, not the documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Family {
    /// Options of a program.
    Flags(String),
    /// Variables with a prefix.
    Variables(String),
    /// Symbols by their whole name.
    Symbols,
    /// Subcommands of a program.
    Subcommands(String),
    /// Scripts and targets on a page for users, by page: they may belong to the reader's own project.
    Scripts(String),
}

/// Results of checking one document.
#[derive(Debug, Default)]
struct Found {
    checked: u64,
    /// Names by family that exist.
    here: Vec<(Family, String)>,
    doubts: Vec<Doubt>,
}

/// Distinct names of one family.
#[derive(Debug, Default)]
struct Tally {
    here: HashSet<String>,
    absent: HashSet<String>,
}

impl Tally {
    fn is_credible(&self, family: &Family) -> bool {
        let (least, share) = match family {
            // The first word after a program may be an argument: only many known ones prove otherwise.
            Family::Subcommands(_) => (4, 4),
            Family::Flags(_) | Family::Variables(_) => (2, 2),
            // The symbol's container is already known to belong to the project.
            Family::Symbols | Family::Scripts(_) => (1, 1),
        };
        self.here.len() >= least && self.here.len() >= share * self.absent.len()
    }
}

/// Checks the names in all documents until the deadline.
pub(super) fn find(today: &Today<'_>, documents: &[DocumentFacts], halt: Halt<'_>) -> Drift {
    let known = Known::new(today, halt);
    let mut drift = Drift::default();
    let mut tallies: HashMap<Family, Tally> = HashMap::new();
    let mut stale = Vec::new();
    for document in documents.iter().filter(|document| scope::is_of_today(document)) {
        if halt() {
            break;
        }
        known.effort.start(document.mentions.len());
        let Found { checked, here, doubts } = look(&known, document);
        drift.checked += checked;
        for (family, name) in here {
            tallies.entry(family).or_default().here.insert(name);
        }
        let doubts = confirm(&known, document, doubts);
        for doubt in &doubts {
            if let Some(family) = doubt.family.clone() {
                tallies.entry(family).or_default().absent.insert(doubt.mention.clone());
            }
        }
        stale.extend(doubts.into_iter().map(|doubt| (document, doubt)));
    }
    let credible = |family: &Family| tallies.get(family).is_some_and(|all| all.is_credible(family));
    stale.retain(|(_, doubt)| doubt.family.as_ref().is_none_or(credible));
    drift.stale = stale.into_iter().map(|(document, doubt)| tell(document, doubt)).collect();
    drift.stale.sort_by(|one, other| key(one).cmp(&key(other)));
    drift.stale_count = drift.stale.len() as u64;
    drift.stale.truncate(STALE);
    if let Some(past) = today.past {
        drift.outdated = outdated::find(&known, past, documents, halt);
    }
    drift
}

/// Checks everything that one document mentions.
fn look(known: &Known<'_>, document: &DocumentFacts) -> Found {
    let steps = shell::steps(known, document);
    let mut found = Found::default();
    files::look(known, document, &steps, &mut found);
    symbols::look(known, document, &steps, &mut found);
    flags::look(known, &steps, &mut found);
    commands::look(known, document, &steps, &mut found);
    found
}

/// Most certain first.
fn key(stale: &Stale) -> (Severity, u8, &str, u64, &str) {
    let kind = match stale.kind {
        MentionKind::File => 0,
        MentionKind::Command => 1,
        MentionKind::Flag => 2,
        MentionKind::Symbol => 3,
    };
    (stale.severity, kind, &stale.path, stale.line, &stale.mention)
}

/// Returns the mentions not explained by their context, without duplicates.
fn confirm(known: &Known<'_>, document: &DocumentFacts, mut doubts: Vec<Doubt>) -> Vec<Doubt> {
    if doubts.is_empty() {
        return doubts;
    }
    // Without the text, no context can clear a mention, so none is reported.
    let Ok(text) = known.today.tree.text(&document.path) else { return Vec::new() };
    let around = Surroundings::new(document, &text);
    let mut named = HashSet::new();
    doubts.retain(|doubt| {
        !around.clear(known, doubt) && named.insert((doubt.kind, doubt.mention.clone()))
    });
    doubts
}

fn tell(document: &DocumentFacts, doubt: Doubt) -> Stale {
    Stale {
        path: document.path.to_string(),
        line: u64::from(doubt.line),
        mention: doubt.mention,
        kind: doubt.kind,
        evidence: doubt.evidence,
        severity: doubt.severity,
        suggestion: doubt.suggestion,
    }
}

#[cfg(test)]
mod tests;
