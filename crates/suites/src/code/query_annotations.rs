//! `query_annotations`: definitions found by what they do.

use super::{
    address,
    parse_files::{count_noun, json_resource},
    project::CodeProject,
};
use crate::{
    apps,
    files::RootPath,
    indexing::{CODE, IndexPhase, IndexSearchAnswer, HitExplanation, digest_now, score},
};
use docent_index::{UnitFilter, IndexHit, PathPatterns, IndexQuery, IndexStoreError};
use docent_syntax::{Kind, Language};
use docent_tool::{ToolAnswer, AnswerBlock, CallContext, TypedTool, ToolError};
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
    /// How to answer.
    #[serde(default)]
    pub options: QueryOptions,
}

/// Options of `query_annotations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueryOptions {
    /// At most this many.
    #[schemars(range(min = 1, max = 100))]
    pub limit: usize,
    /// Only what is at least this similar, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// Only this kind.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// Only this language.
    pub language: Option<Language>,
    /// Only files that one of these patterns fits, such as `src/**/*.rs`.
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
    /// Best first, each at least as similar as the threshold.
    pub results: Vec<QueryHit>,
    /// The best below the threshold, where nothing is above it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<QueryHit>,
    /// The threshold that was used.
    pub threshold: f64,
    /// How many files can be found.
    pub files: u64,
    /// The generation of the index that was searched.
    pub generation: u64,
    /// Whether the index knew every file when it was searched.
    pub complete: bool,
    /// What the reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One definition that matches.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct QueryHit {
    /// Stable while other parts of its file change.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is.
    pub file: String,
    /// Its first line.
    pub line: u32,
    /// 0 to 1, higher is better.
    pub similarity: f64,
    /// What that is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<HitExplanation>,
    /// Its head on one line.
    pub signature: String,
    /// Its doc comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The lines that answer best.
    pub snippet: String,
    /// The number of the snippet's first line.
    #[serde(rename = "snippetLine")]
    pub snippet_line: u32,
    /// Whether its file has changed since it was indexed: lines may have moved.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// Others that say the same, by path.
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
    const DESCRIPTION: &'static str = "Query the project's code by meaning: ask in plain words or by name and get functions, classes and other definitions \
         with file, line, signature and the lines that answer. The index builds by itself on first use and follows the files. Lower the threshold to see more.";
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
    // The question is the same whether its kind is an option or a word of it, so that one definition has one score.
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
    // A model that reads the hits has no use for how their scores came about.
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

/// Words that say nothing of what is looked for: "functions that handle logins" are about logins.
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

/// Whoever asks for "functions that …" wants functions, and takes methods as well; what is left is the question.
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
    while let Some((_, after)) =
        left.split_once(' ').filter(|(word, _)| GENERIC_WORDS.contains(&word.to_lowercase().as_str()))
    {
        left = after.trim_start();
    }
    (kinds, left)
}

/// What there is to say of an index that is not in step.
pub(crate) fn state(phase: &IndexPhase) -> Option<String> {
    match phase {
        IndexPhase::UpToDate => None,
        IndexPhase::Idle | IndexPhase::Building(_, 0) => {
            Some("The index is being built: this is what is ready. Ask again in a moment.".into())
        }
        IndexPhase::Building(done, total) => Some(format!(
            "The index is being built, {done} of {total} files so far: this is what is ready. Ask again in a moment."
        )),
        IndexPhase::Failed(reason) => {
            Some(format!("The index is not kept in step with the files: {reason}."))
        }
    }
}

/// The files of hits that are not as they were indexed.
fn changed(project: &CodeProject, found: &IndexSearchAnswer) -> BTreeMap<String, RootPath> {
    let mut seen: BTreeMap<&str, Option<RootPath>> = BTreeMap::new();
    for hit in found.answer.hits.iter().chain(&found.answer.below) {
        let path = hit.found.path.as_str();
        seen.entry(path).or_insert_with(|| {
            let place = project.roots.parse(path).ok()?;
            let language = project.live.wanted(&place);
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
        return format!(
            "Found nothing related to \"{query}\": no code was found that could be about it"
        );
    }
    let mut text = format!(
        "Found nothing related to \"{query}\" with similarity score > {threshold}. Nearest below it:\n"
    );
    push_hits(&mut text, nearest);
    let best = nearest.first().map_or(0.0, |hit| hit.similarity);
    let _ok = write!(
        text,
        "\n\nThe best has similarity score {best}; ask with a lower threshold to take them."
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
