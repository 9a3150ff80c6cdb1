//! `docent search`: searches the code and the documents of a folder.

use crate::{
    analyze::{Printed, UsageError},
    config::ConfigEnvironment,
    embedding::{self, UnreachableModel},
    indexing::{IndexTarget, count, repairs},
};
use clap::{Args, ValueEnum};
use docent_index::{
    EmbeddedStore, IndexHit, IndexQuery, IndexSearchResults, IndexStore as _, IndexStoreError,
    PathPatterns, UnitFilter,
    embed::{EmbedError, Embedder, EmbeddingTable},
};
use docent_suites::code::{Kind, Language};
use docent_suites::docs::CollectionSettings;
use docent_suites::indexing::{self, CODE, DOCS, IndexLag, IndexReport, SyncCallbacks};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

/// How long a search waits for another process that is writing the index.
const INDEX_WAIT: Duration = Duration::from_secs(1);

/// The flags of `docent search`.
#[derive(Args)]
pub(crate) struct SearchFlags {
    /// What to search for: a sentence, some words, or a name
    #[arg(value_name = "QUERY")]
    query: String,
    /// Folder to search [default: the configured roots, or else the working directory]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Search only code or only documents
    #[arg(long = "in", value_enum, value_name = "COLLECTION")]
    collection: Option<CollectionFlag>,
    /// Maximum number of hits
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    limit: u16,
    /// Minimum score of a hit, from 0 to 1
    #[arg(long, value_name = "SIMILARITY", default_value_t = 0.7, value_parser = parse_score)]
    threshold: f32,
    /// Kind of hit, such as function, class or section; may be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Programming language, such as python; may be repeated
    #[arg(long, value_name = "LANGUAGE")]
    language: Vec<String>,
    /// Path pattern, such as 'src/**/*.rs'; may be repeated
    #[arg(long, value_name = "GLOB")]
    path: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CollectionFlag {
    /// Definitions in source code
    Code,
    /// Sections of documents
    Docs,
}

fn parse_score(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 1".into())
}

/// An answer, and how fresh it is.
struct SearchOutcome {
    answer: IndexSearchResults,
    /// The report of the index update; `None` if the update failed.
    report: Option<IndexReport>,
    /// Changes to the files that the index does not have yet.
    behind: IndexLag,
}

/// Runs a search.
pub(crate) fn run(flags: &SearchFlags, environment: ConfigEnvironment) -> anyhow::Result<Printed> {
    let mut query = query(flags)?;
    let colors = io::stdout().is_terminal() && environment.get("NO_COLOR").is_none();
    let site = IndexTarget::open(flags.folder.as_deref(), environment)?;
    query.synonyms = Arc::clone(&site.config.synonyms);
    if flags.collection == Some(CollectionFlag::Docs) {
        query.filter.collections.extend(site.collections.iter().map(CollectionSettings::key));
    }
    let outcome = match embedding::connect(&site.config) {
        Ok(embedder) => sync_and_search(&site, &embedder, &query)?,
        Err(error) => search_words_only(&site, error, &query)?,
    };
    let found = !outcome.answer.hits.is_empty();
    let text =
        if flags.json { format!("{:#}\n", outcome.json(&query)) } else { outcome.text(colors) };
    Ok(Printed { text, code: ExitCode::from(u8::from(!found)) })
}

fn query(flags: &SearchFlags) -> Result<IndexQuery, UsageError> {
    if flags.query.trim().is_empty() {
        return Err(UsageError("the query is empty".into()));
    }
    let wrong = |error: IndexStoreError| match error {
        IndexStoreError::Pattern { pattern, source } => {
            UsageError(format!("invalid pattern in --path {pattern}: {}", source.kind()))
        }
        other => UsageError(other.to_string()),
    };
    let collection = flags.collection.map(|collection| match collection {
        CollectionFlag::Code => CODE,
        CollectionFlag::Docs => DOCS,
    });
    for kind in &flags.kind {
        if Kind::from_name(&kind.to_lowercase()).is_none() {
            let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.singular()).collect();
            return Err(UsageError(format!(
                "unknown kind {kind:?}; expected one of: {}",
                all.join(", ")
            )));
        }
    }
    for language in &flags.language {
        if Language::from_name(language).is_none() {
            let all: Vec<&str> = Language::ALL.iter().map(|one| one.word()).collect();
            return Err(UsageError(format!(
                "unsupported language {language:?}; expected one of: {}",
                all.join(", ")
            )));
        }
    }
    let languages = flags.language.iter().filter_map(|word| Language::from_name(word));
    let languages = languages.map(|language| language.word().to_owned()).collect();
    let lower = |words: &[String]| words.iter().map(|word| word.to_lowercase()).collect();
    let filter = UnitFilter {
        kinds: lower(&flags.kind),
        collections: collection.into_iter().map(str::to_owned).collect(),
        languages,
        paths: PathPatterns::parse(&flags.path).map_err(wrong)?,
    };
    let (limit, threshold) = (usize::from(flags.limit), flags.threshold);
    Ok(IndexQuery { limit, threshold, filter, ..IndexQuery::new(flags.query.trim()) })
}

/// Updates the index and searches it. If it can't be updated now, searches the index as it is.
fn sync_and_search(
    site: &IndexTarget,
    embedder: &Arc<dyn Embedder>,
    query: &IndexQuery,
) -> anyhow::Result<SearchOutcome> {
    let store = site.store(Arc::clone(embedder), INDEX_WAIT)?;
    let asks_docs = query.filter.collections != [CODE];
    let synced = site.sync(&store).and_then(|report| {
        if asks_docs && !site.collections.is_empty() {
            site.sync_docs(&store, &|_| true)?;
        }
        Ok(report)
    });
    let (report, reason) = match synced {
        Ok(report) => (Some(report), None),
        Err(IndexStoreError::Embedding(error)) if store.status()?.units == 0 => {
            return Err(error.into());
        }
        Err(error @ (IndexStoreError::Embedding(_) | IndexStoreError::Busy { .. })) => {
            (None, Some(error))
        }
        Err(error) => return Err(error.into()),
    };
    let behind =
        if report.is_some() { IndexLag::default() } else { pending_changes(site, &store)? };
    let mut answer = docent_index::search(&store, embedder.as_ref(), query)?;
    let mut notes = report.as_ref().map(repairs).unwrap_or_default();
    notes.extend(reason.map(|error| format!("The index was not updated: {error}.")));
    notes.append(&mut answer.notes);
    answer.notes = notes;
    Ok(SearchOutcome { answer, report, behind })
}

/// Searches the existing index by words only.
fn search_words_only(
    site: &IndexTarget,
    error: EmbedError,
    query: &IndexQuery,
) -> anyhow::Result<SearchOutcome> {
    let stored = site.store(EmbeddingTable::built_in(), INDEX_WAIT)?.status()?;
    if stored.units == 0 {
        return Err(error.into());
    }
    let away = Arc::new(UnreachableModel::new(&site.config, stored.identity, error));
    let store = site.store(Arc::clone(&away) as _, INDEX_WAIT)?;
    let behind = pending_changes(site, &store)?;
    let answer = docent_index::search(&store, away.as_ref(), query)?;
    Ok(SearchOutcome { answer, report: None, behind })
}

fn pending_changes(site: &IndexTarget, store: &EmbeddedStore) -> Result<IndexLag, IndexStoreError> {
    indexing::measure_lag(&site.roots, store, SyncCallbacks::default())
}

impl SearchOutcome {
    fn text(&self, colors: bool) -> String {
        let IndexSearchResults { hits, below, notes, .. } = &self.answer;
        let mut text = String::new();
        if hits.is_empty() && !below.is_empty() {
            text.push_str("No strong matches. Closest:\n\n");
        }
        for hit in hits.iter().chain(below) {
            writeln!(text, "{}", lines(hit, colors)).unwrap_or_default();
        }
        let IndexLag { changed, removed } = self.behind;
        let step = if self.behind == IndexLag::default() {
            "index up to date".to_owned()
        } else {
            format!("index out of date: {changed} changed and {removed} removed since")
        };
        let found = match hits.len() {
            0 => "No matches".to_owned(),
            found => count(found, "hit"),
        };
        writeln!(text, "{found} ({step})").unwrap_or_default();
        for note in notes {
            writeln!(text, "note: {note}").unwrap_or_default();
        }
        let problems = self.report.as_ref().map_or(0, |report| report.problems.len());
        if problems > 0 {
            let files = count(problems, "file");
            writeln!(text, "note: {files} could not be read; `docent index` lists them.")
                .unwrap_or_default();
        }
        text
    }

    fn json(&self, query: &IndexQuery) -> Value {
        let IndexSearchResults { hits, below, notes, generation } = &self.answer;
        let all = |hits: &[IndexHit]| hits.iter().map(value).collect::<Value>();
        json!({
            "query": query.text,
            "threshold": round(query.threshold),
            "generation": generation,
            "hits": all(hits),
            "below": all(below),
            "notes": notes,
            "behind": {"changed": self.behind.changed, "removed": self.behind.removed},
            "index": self.report,
        })
    }
}

/// Formats a hit as text: its name, kind and location, and the matching lines.
fn lines(hit: &IndexHit, colors: bool) -> String {
    let paint = |code: &str, text: &str| {
        if colors { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let unit = &hit.found.unit;
    // The path of headings to a section is more specific than the title of its page.
    let of_page = unit.span.first == 0 && !unit.signature.is_empty();
    let name = if of_page { &unit.signature } else { &unit.name };
    let place = match unit.span.first {
        0 => hit.found.path.clone(),
        line => format!("{}:{line}", hit.found.path),
    };
    let mut text = format!(
        "{}  {}  {}  {}\n",
        paint("32", &format!("{:.2}", hit.similarity)),
        paint("1", &printable(name)),
        printable(&unit.kind),
        paint("36", &printable(&place)),
    );
    let words: Vec<&str> = hit.matched.iter().map(|matched| matched.word.as_str()).collect();
    for line in hit.snippet.text.lines() {
        let line = printable(line);
        let line = if colors { highlight(&line, &words) } else { line };
        writeln!(text, "    {line}").unwrap_or_default();
    }
    if !hit.alike.is_empty() {
        let places: Vec<&str> = hit.alike.iter().map(|place| place.path.as_str()).collect();
        writeln!(text, "    also in {}", printable(&places.join(", "))).unwrap_or_default();
    }
    text
}

/// Returns the line with the words in bold that start with one of the query's stems.
fn highlight(line: &str, stems: &[&str]) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_alphanumeric()).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        text.push_str(before);
        text.push_str(&mark_word(word, stems));
        rest = after;
    }
    text + rest
}

/// Returns the word with the part that matches the query in bold: `getUserById` matches `user`.
fn mark_word(word: &str, stems: &[&str]) -> String {
    let lower = word.to_ascii_lowercase();
    let found = stems.iter().filter(|stem| stem.len() > 1).find_map(|stem| {
        let at = lower.find(stem)?;
        // Only at the start of a word part: `user` does not match `abuser`.
        let begins = at == 0 || word.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
        begins.then_some((at, at + stem.len()))
    });
    let parts = found
        .and_then(|(from, to)| Some((word.get(..from)?, word.get(from..to)?, word.get(to..)?)));
    match parts {
        Some((before, part, after)) => format!("{before}\u{1b}[1;33m{part}\u{1b}[0m{after}"),
        None => word.to_owned(),
    }
}

/// Replaces control characters, so that a file's contents can't act on the terminal.
fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// Converts a hit to JSON. Documents have no line numbers.
fn value(hit: &IndexHit) -> Value {
    let (found, unit) = (&hit.found, &hit.found.unit);
    let has_lines = unit.span.first > 0;
    let matched = hit.matched.iter().map(|one| json!({"word": one.word, "fields": one.fields}));
    let alike = hit
        .alike
        .iter()
        .map(|place| json!({"collection": place.collection, "path": place.path, "id": place.id}));
    json!({
        "collection": found.collection,
        "path": found.path,
        "lines": has_lines.then(|| json!({"first": unit.span.first, "last": unit.span.last})),
        "id": unit.id,
        "kind": unit.kind,
        "language": unit.language,
        "name": unit.name,
        "signature": unit.signature,
        "doc": unit.doc,
        "similarity": round(hit.similarity),
        "words": round(hit.parts.words),
        "meaning": round(hit.parts.meaning),
        "matched": matched.collect::<Value>(),
        "snippet": {"first": has_lines.then_some(hit.snippet.first), "text": hit.snippet.text},
        "alike": alike.collect::<Value>(),
    })
}

/// Rounds to four decimals: more would be noise.
fn round(number: f32) -> f64 {
    (f64::from(number) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_shares() {
        for (text, want) in [("0", Some(0.0)), ("0.7", Some(0.7)), ("1", Some(1.0))] {
            assert_eq!(parse_score(text).ok(), want, "{text}");
        }
        for text in ["-0.1", "1.1", "NaN", "inf", "much", ""] {
            assert!(parse_score(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_of_the_question_stand_out() {
        let cases = [
            ("return getUserById(id)", "return get\u{1b}[1;33mUser\u{1b}[0mById(id)"),
            ("# Users of it", "# \u{1b}[1;33mUser\u{1b}[0ms of it"),
            ("abuser_x", "abuser_x"),
        ];
        for (line, want) in cases {
            assert_eq!(highlight(line, &["user"]), want, "{line}");
        }
    }

    #[test]
    fn what_a_file_holds_does_not_reach_the_terminal_as_a_command() {
        assert_eq!(printable("a\tb\u{1b}[31mc\r"), "a\tb\u{fffd}[31mc\u{fffd}");
        assert_eq!(printable("größe 日本"), "größe 日本");
    }
}
