//! Documents that no longer match the code: mentions of things that no longer exist, and documents unchanged while the
//! code they mention changed.
//!
//! A wrong finding costs more than a missed one. Each rule looks a name up in every place where it could exist and
//! needs evidence; then the words around the name are read, because a document may mention on purpose what is gone.
//! This module does not know how documents and code are parsed.

mod cargo;
mod commands;
mod declaration;
mod edit_distance;
mod files;
mod flags;
mod gitignore;
mod names;
mod outdated;
mod phrases;
mod project_index;
mod runners;
mod scope;
mod shell;
mod step_budget;
mod symbols;
mod tasks;

use super::{
    facts::{DocumentFacts, Symbol},
    history::ProjectPast,
    report::{Drift, Manifest, MentionKind, Project, Severity, Stale},
    tree::{HaltCheck, ProjectTree},
    words::WordSet,
};
use project_index::ProjectIndex;
use scope::MentionContext;
use std::collections::{HashMap, HashSet};

/// More names than this are counted and not listed.
const MAX_LISTED_STALE: usize = 300;

/// The current project that documents are compared with.
pub(super) struct CurrentProject<'a> {
    pub(super) tree: &'a ProjectTree,
    /// Every word of the code.
    pub(super) words: &'a WordSet,
    /// Public symbols by file.
    pub(super) symbols: &'a HashMap<Box<str>, Vec<Symbol>>,
    pub(super) manifests: &'a [Manifest],
    pub(super) project: &'a Project,
    /// Git history, if available.
    pub(super) past: Option<&'a ProjectPast>,
}

/// A mention that seems to be gone, before its context is read.
#[derive(Debug)]
struct SuspectMention {
    line: u32,
    mention: String,
    kind: MentionKind,
    evidence: String,
    severity: Severity,
    suggestion: Option<String>,
    ground: SuspicionBasis,
    family: Option<MentionFamily>,
}

/// Evidence for a suspect mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SuspicionBasis {
    /// It existed once, or can be nowhere else: only words about the past clear it.
    Certain,
    /// It was not found: words about an example, or about something to create, also clear it.
    Presumed,
}

/// Names checked in the same way: if most of them are not found, the check is wrong, not the documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum MentionFamily {
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
struct DocumentDrift {
    checked: u64,
    /// Names by family that exist.
    here: Vec<(MentionFamily, String)>,
    doubts: Vec<SuspectMention>,
}

/// Distinct names of one family.
#[derive(Debug, Default)]
struct FamilyTally {
    here: HashSet<String>,
    absent: HashSet<String>,
}

impl FamilyTally {
    fn is_credible(&self, family: &MentionFamily) -> bool {
        let (least, share) = match family {
            // The first word after a program may be an argument: only many known ones prove otherwise.
            MentionFamily::Subcommands(_) => (4, 4),
            MentionFamily::Flags(_) | MentionFamily::Variables(_) => (2, 2),
            // The symbol's container is already known to belong to the project.
            MentionFamily::Symbols | MentionFamily::Scripts(_) => (1, 1),
        };
        self.here.len() >= least && self.here.len() >= share * self.absent.len()
    }
}

/// Checks the names in all documents until the deadline.
pub(super) fn find(
    today: &CurrentProject<'_>,
    documents: &[DocumentFacts],
    halt: HaltCheck<'_>,
) -> Drift {
    let known = ProjectIndex::new(today, halt);
    let mut drift = Drift::default();
    let mut tallies: HashMap<MentionFamily, FamilyTally> = HashMap::new();
    let mut stale = Vec::new();
    for document in documents.iter().filter(|document| scope::is_current(document)) {
        if halt() {
            break;
        }
        known.effort.start(document.mentions.len());
        let DocumentDrift { checked, here, doubts } = check_document(&known, document);
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
    let credible =
        |family: &MentionFamily| tallies.get(family).is_some_and(|all| all.is_credible(family));
    stale.retain(|(_, doubt)| doubt.family.as_ref().is_none_or(credible));
    drift.stale = stale.into_iter().map(|(document, doubt)| to_stale(document, doubt)).collect();
    drift.stale.sort_by(|one, other| key(one).cmp(&key(other)));
    drift.stale_count = drift.stale.len() as u64;
    drift.stale.truncate(MAX_LISTED_STALE);
    if let Some(past) = today.past {
        drift.outdated = outdated::find(&known, past, documents, halt);
    }
    drift
}

/// Checks everything that one document mentions.
fn check_document(known: &ProjectIndex<'_>, document: &DocumentFacts) -> DocumentDrift {
    let steps = shell::steps(known, document);
    let mut found = DocumentDrift::default();
    files::check_files(known, document, &steps, &mut found);
    symbols::check_symbols(known, document, &steps, &mut found);
    flags::check_flags(known, &steps, &mut found);
    commands::check_commands(known, document, &steps, &mut found);
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
fn confirm(
    known: &ProjectIndex<'_>,
    document: &DocumentFacts,
    mut doubts: Vec<SuspectMention>,
) -> Vec<SuspectMention> {
    if doubts.is_empty() {
        return doubts;
    }
    // Without the text, no context can clear a mention, so none is reported.
    let Ok(text) = known.today.tree.text(&document.path) else { return Vec::new() };
    let around = MentionContext::new(document, &text);
    let mut named = HashSet::new();
    doubts.retain(|doubt| {
        !around.clear(known, doubt) && named.insert((doubt.kind, doubt.mention.clone()))
    });
    doubts
}

fn to_stale(document: &DocumentFacts, doubt: SuspectMention) -> Stale {
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
