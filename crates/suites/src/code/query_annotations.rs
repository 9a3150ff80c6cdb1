//! `query_annotations`: finds definitions by what they do.

use super::{
    address,
    parse_files::{count_noun, json_resource},
    project::CodeProject,
};
use crate::{
    apps,
    files::RootPath,
    indexing::{CODE, HitExplanation, IndexPhase, IndexSearchAnswer, digest_now, score},
};
use docent_index::{IndexHit, IndexQuery, IndexStoreError, PathPatterns, UnitFilter};
use docent_syntax::{Kind, Language};
use docent_tool::{AnswerBlock, CallContext, ToolAnswer, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

/// `query_annotations`.
#[derive(Debug)]
pub(crate) struct QueryAnnotations {
    pub(crate) project: Arc<CodeProject>,
}

/// Arguments of `query_annotations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryArgs {
    /// Natural language query, such as `functions that handle user authentication`, or a name.
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Search options.
    #[serde(default)]
    pub options: QueryOptions,
}

/// Options of `query_annotations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueryOptions {
    /// Maximum number of results.
    #[schemars(range(min = 1, max = 100))]
    pub limit: usize,
    /// Minimum similarity, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// Only definitions of this kind.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// Only definitions in this language.
    pub language: Option<Language>,
    /// Only files that match one of these patterns, such as `src/**/*.rs`.
    pub paths: Vec<String>,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { limit: 10, threshold: 0.7, kind: None, language: None, paths: Vec::new() }
    }
}

/// Answer of `query_annotations`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueryAnswer {
    /// Results at or above the threshold, best first.
    pub results: Vec<QueryHit>,
    /// Best results below the threshold, if none is above it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<QueryHit>,
    /// Threshold used.
    pub threshold: f64,
    /// Number of files in the index.
    pub files: u64,
    /// Generation of the index that was searched.
    pub generation: u64,
    /// Whether the index was up to date when it was searched.
    pub complete: bool,
    /// Remarks on the search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A matching definition.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QueryHit {
    /// Id; stable while other parts of the file change.
    pub id: String,
    /// Name.
    pub name: String,
    /// Kind of definition.
    #[serde(rename = "type")]
    pub kind: String,
    /// Path of its file.
    pub file: String,
    /// First line.
    pub line: u32,
    /// Similarity from 0 to 1, higher is better.
    pub similarity: f64,
    /// How the similarity was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<HitExplanation>,
    /// Signature on one line.
    pub signature: String,
    /// Doc comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Lines that match best.
    pub snippet: String,
    /// Line number of the snippet's first line.
    #[serde(rename = "snippetLine")]
    pub snippet_line: u32,
    /// Whether the file has changed since it was indexed; lines may have moved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Paths of files with near-identical definitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alike: Vec<String>,
}

impl QueryHit {
    fn new(hit: IndexHit, changed: bool) -> Self {
        let why = Some(HitExplanation::of(&hit));
        let unit = hit.found.unit;
        // The index keeps the qualified name with the signature.
        let qualified = unit.id.rsplit(':').next().unwrap_or_default();
        let qualified = qualified.split('#').next().unwrap_or(qualified);
        let signature =
            unit.signature.strip_prefix(qualified).map_or(unit.signature.as_str(), str::trim_start);
        Self {
            name: unit.name,
            kind: unit.kind,
            file: hit.found.path,
            line: unit.span.first,
            similarity: score(hit.similarity),
            why,
            signature: signature.to_owned(),
            id: unit.id,
            description: Some(unit.doc).filter(|doc| !doc.is_empty()),
            snippet: hit.snippet.text,
            snippet_line: hit.snippet.first,
            changed,
            alike: hit.alike.into_iter().map(|place| place.path).collect(),
        }
    }
}

impl TypedTool for QueryAnnotations {
    const NAME: &'static str = "query_annotations";
    const TITLE: &'static str = "Find code by meaning";
    const DESCRIPTION: &'static str = "Query the project's code by meaning, in plain words or by name: returns functions, classes and other definitions \
         with file, line, signature and matching lines. For a known name use read_symbol or find_references. Lower the threshold to see more.";
    const APP: Option<&'static str> = Some(apps::SEARCH.uri);
    type Args = QueryArgs;
    type Answer = QueryAnswer;

    async fn call(
        &self,
        args: QueryArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<QueryAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| query(&project, &args, context)).await
    }
}

fn query(
    project: &CodeProject,
    args: &QueryArgs,
    context: &CallContext,
) -> Result<ToolAnswer<QueryAnswer>, ToolError> {
    let options = &args.options;
    let wrong = |error: IndexStoreError| ToolError::argument("options.paths", error.to_string());
    // The query is the same whether the kind is an option or a word in it, so that scores stay comparable.
    let (named, question) = asked_for(&args.query);
    let kinds = options.kind.map_or(named, |kind| vec![kind]);
    let filter = UnitFilter {
        kinds: kinds.iter().map(|kind| kind.singular().to_owned()).collect(),
        collections: vec![CODE.to_owned()],
        languages: options.language.iter().map(|language| language.word().to_owned()).collect(),
        paths: PathPatterns::parse(&options.paths).map_err(wrong)?,
    };
    #[expect(clippy::cast_possible_truncation, reason = "a share needs no more digits")]
    let (limit, threshold) = (options.limit, options.threshold as f32);
    let query = IndexQuery { limit, threshold, filter, ..IndexQuery::new(question) };
    let mut found = project.live.search(&query, context)?;
    let mut changed = changed(project, &found);
    if !changed.is_empty() && found.phase == IndexPhase::UpToDate {
        project.live.refresh(changed.into_values(), found.answer.generation, context);
        found = project.live.search(&query, context)?;
        changed = self::changed(project, &found);
    }
    let IndexSearchAnswer { answer, phase } = found;
    let hit = |hit: IndexHit| {
        let changed = changed.contains_key(&hit.found.path);
        QueryHit::new(hit, changed)
    };
    let results: Vec<QueryHit> = answer.hits.into_iter().map(hit).collect();
    let nearest: Vec<QueryHit> = answer.below.into_iter().map(hit).collect();
    let mut notes = answer.notes;
    notes.extend(state(&phase));
    if results.iter().chain(&nearest).any(|hit| hit.changed) {
        notes.push(
            "Some of these files have changed since they were indexed; their lines may have moved."
                .into(),
        );
    }
    let mut text = text(args, &results, &nearest);
    for note in &notes {
        let _ok = write!(text, "\n\n{note}");
    }
    // A model that reads the hits does not need the score details.
    let bare: Vec<QueryHit> =
        results.iter().map(|hit| QueryHit { why: None, ..hit.clone() }).collect();
    let embedded = json_resource(address::QUERY_RESULTS, &bare)?;
    let structured = QueryAnswer {
        results,
        nearest,
        threshold: options.threshold,
        files: project.live.status().map_or(0, |status| status.sources),
        generation: answer.generation,
        complete: phase == IndexPhase::UpToDate,
        notes,
    };
    Ok(ToolAnswer::new(structured, text).with(AnswerBlock::Embedded(embedded)))
}

/// Words without content: "functions that handle logins" is about logins.
const GENERIC_WORDS: [&str; 16] = [
    "that",
    "which",
    "handle",
    "handles",
    "deal",
    "deals",
    "with",
    "do",
    "does",
    "perform",
    "performs",
    "implement",
    "implements",
    "for",
    "to",
    "about",
];

/// Splits "functions that …" into the kinds asked for (methods count as functions) and the rest of the query.
fn asked_for(query: &str) -> (Vec<Kind>, &str) {
    let (first, rest) = query.trim().split_once(' ').unwrap_or((query, ""));
    let second = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
    let kind = Kind::ALL.into_iter().find(|kind| kind.plural() == first.to_lowercase());
    let kinds = match kind.filter(|_| GENERIC_WORDS.contains(&second.as_str())) {
        Some(Kind::Function | Kind::Method) => vec![Kind::Function, Kind::Method],
        Some(Kind::Class | Kind::Struct) => vec![Kind::Class, Kind::Struct],
        Some(other) => vec![other],
        None => return (Vec::new(), query),
    };
    let mut left = rest.trim_start();
    while let Some((_, after)) = left
        .split_once(' ')
        .filter(|(word, _)| GENERIC_WORDS.contains(&word.to_lowercase().as_str()))
    {
        left = after.trim_start();
    }
    (kinds, left)
}

/// Describes an index that is not up to date.
pub(crate) fn state(phase: &IndexPhase) -> Option<String> {
    match phase {
        IndexPhase::UpToDate => None,
        IndexPhase::Idle | IndexPhase::Building(_, 0) => Some(
            "The index is being built: results may be incomplete. Ask again in a moment.".into(),
        ),
        IndexPhase::Building(done, total) => Some(format!(
            "The index is being built, {done} of {total} files so far: results may be incomplete. Ask again in a moment."
        )),
        IndexPhase::Failed(reason) => Some(format!("The index is not being updated: {reason}.")),
    }
}

/// Returns the files of hits that changed since they were indexed.
fn changed(project: &CodeProject, found: &IndexSearchAnswer) -> BTreeMap<String, RootPath> {
    let mut seen: BTreeMap<&str, Option<RootPath>> = BTreeMap::new();
    for hit in found.answer.hits.iter().chain(&found.answer.below) {
        let path = hit.found.path.as_str();
        seen.entry(path).or_insert_with(|| {
            let place = project.roots.parse(path).ok()?;
            let language = project.live.requested_language(&place);
            let same = digest_now(&project.roots, path, language) == Some(hit.found.digest);
            (!same).then_some(place)
        });
    }
    seen.into_iter().filter_map(|(path, place)| Some((path.to_owned(), place?))).collect()
}

fn text(args: &QueryArgs, passing: &[QueryHit], nearest: &[QueryHit]) -> String {
    let (query, threshold) = (&args.query, args.options.threshold);
    if let Some(first) = passing.first() {
        let kind = Kind::ALL.into_iter().find(|kind| kind.singular() == first.kind);
        let one_kind = kind.filter(|_| passing.iter().all(|hit| hit.kind == first.kind));
        let what = match (one_kind, passing.len()) {
            (Some(kind), 1) => format!("1 {}", kind.singular()),
            (Some(kind), n) => format!("{n} {}", kind.plural()),
            (None, n) => count_noun(n, "definition"),
        };
        let mut text = format!("Found {what} related to \"{query}\":\n");
        push_hits(&mut text, passing);
        let _ok = write!(text, "\n\nAll results have similarity score > {threshold}");
        return text;
    }
    if nearest.is_empty() {
        return format!("Found nothing related to \"{query}\"");
    }
    let mut text = format!(
        "Found nothing related to \"{query}\" with similarity score > {threshold}. Closest:\n"
    );
    push_hits(&mut text, nearest);
    let best = nearest.first().map_or(0.0, |hit| hit.similarity);
    let _ok = write!(
        text,
        "\n\nThe best has similarity score {best}; lower the threshold to include them."
    );
    text
}

fn push_hits(text: &mut String, hits: &[QueryHit]) {
    for (n, hit) in hits.iter().enumerate() {
        let _ok = write!(text, "\n{}. {} ({}:{})", n + 1, hit.name, hit.file, hit.line);
        let said = hit
            .description
            .as_deref()
            .and_then(|text| text.lines().next())
            .unwrap_or(&hit.signature);
        let _ok = write!(text, " - {said}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_may_say_which_kind_it_wants() {
        let functions = vec![Kind::Function, Kind::Method];
        let cases = [
            ("functions that handle user logins", functions.clone(), "user logins"),
            ("Methods which save", functions, "save"),
            ("enums for roles", vec![Kind::Enum], "roles"),
            ("functions", vec![], "functions"),
            ("type of a column", vec![], "type of a column"),
            ("types of columns", vec![], "types of columns"),
        ];
        for (query, kinds, rest) in cases {
            assert_eq!(asked_for(query), (kinds, rest), "{query}");
        }
    }
}
