//! Documents that the code has left behind: names in them of what is no longer there, and documents that were left alone
//! while the code that they name went on.
//!
//! A wrong finding costs more than a missed one. Each rule looks a name up in every place where it could still be, and
//! doubts it only on evidence; then the words around the name are read, for a document may well tell of what is gone.
//! How documents and code are read is not known here.

mod cargo;
mod commands;
mod declaration;
mod step_budget;
mod files;
mod flags;
mod gitignore;
mod project_index;
mod edit_distance;
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

/// What documents are held against.
pub(super) struct CurrentProject<'a> {
    pub(super) tree: &'a ProjectTree,
    /// Every word of the code.
    pub(super) words: &'a WordSet,
    /// Public symbols by file.
    pub(super) symbols: &'a HashMap<Box<str>, Vec<Symbol>>,
    pub(super) manifests: &'a [Manifest],
    pub(super) project: &'a Project,
    /// Where there is git.
    pub(super) past: Option<&'a ProjectPast>,
}

/// A name that seems to be gone, before the words around it are read.
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

/// What a doubt rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SuspicionBasis {
    /// It was here once, or can be nowhere else: only words that tell of the past clear it.
    Certain,
    /// It is not here: words that tell of an example, or of something that the reader is to make, clear it as well.
    Presumed,
}

/// Names that are looked for in the same way: where most of them are not found, the way is wrong, and not the documents.
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
    /// Scripts and targets that a page for users names, by page: they may be those of the reader's own project.
    Scripts(String),
}

/// What looking at one document gives.
#[derive(Debug, Default)]
struct DocumentDrift {
    checked: u64,
    /// Names of families that are there.
    here: Vec<(MentionFamily, String)>,
    doubts: Vec<SuspectMention>,
}

/// The names of one family, each once.
#[derive(Debug, Default)]
struct FamilyTally {
    here: HashSet<String>,
    absent: HashSet<String>,
}

impl FamilyTally {
    fn is_credible(&self, family: &MentionFamily) -> bool {
        let (least, share) = match family {
            // The first word after a program may as well be an argument: only many that are known tell otherwise.
            MentionFamily::Subcommands(_) => (4, 4),
            MentionFamily::Flags(_) | MentionFamily::Variables(_) => (2, 2),
            // What a symbol lies in is known to be the project's already.
            MentionFamily::Symbols | MentionFamily::Scripts(_) => (1, 1),
        };
        self.here.len() >= least && self.here.len() >= share * self.absent.len()
    }
}

/// Looks up what documents name, as far as there is time.
pub(super) fn find(today: &CurrentProject<'_>, documents: &[DocumentFacts], halt: HaltCheck<'_>) -> Drift {
    let known = ProjectIndex::new(today, halt);
    let mut drift = Drift::default();
    let mut tallies: HashMap<MentionFamily, FamilyTally> = HashMap::new();
    let mut stale = Vec::new();
    for document in documents.iter().filter(|document| scope::is_of_today(document)) {
        if halt() {
            break;
        }
        project_index.effort.start(document.mentions.len());
        let DocumentDrift { checked, here, doubts } = check_document(&project_index, document);
        drift.checked += checked;
        for (family, name) in here {
            tallies.entry(family).or_default().here.insert(name);
        }
        let doubts = confirm(&project_index, document, doubts);
        for doubt in &doubts {
            if let Some(family) = doubt.family.clone() {
                tallies.entry(family).or_default().absent.insert(doubt.mention.clone());
            }
        }
        stale.extend(doubts.into_iter().map(|doubt| (document, doubt)));
    }
    let credible = |family: &MentionFamily| tallies.get(family).is_some_and(|all| all.is_credible(family));
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

/// Everything that one document names.
fn check_document(known: &ProjectIndex<'_>, document: &DocumentFacts) -> DocumentDrift {
    let steps = shell::steps(known, document);
    let mut found = DocumentDrift::default();
    files::check_files(known, document, &steps, &mut found);
    symbols::check_symbols(known, document, &steps, &mut found);
    flags::check_flags(known, &steps, &mut found);
    commands::check_commands(known, document, &steps, &mut found);
    found
}

/// Surest first.
fn key(stale: &Stale) -> (Severity, u8, &str, u64, &str) {
    let kind = match stale.kind {
        MentionKind::File => 0,
        MentionKind::Command => 1,
        MentionKind::Flag => 2,
        MentionKind::Symbol => 3,
    };
    (stale.severity, kind, &stale.path, stale.line, &stale.mention)
}

/// Drops what the words around a name explain, and what is named twice.
fn confirm(known: &ProjectIndex<'_>, document: &DocumentFacts, mut doubts: Vec<SuspectMention>) -> Vec<SuspectMention> {
    if doubts.is_empty() {
        return doubts;
    }
    // A document that can't be read again gives no words that could clear a doubt, so that none can be upheld.
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
