//! `query_annotations`: definitions found by what they do.

use super::{
    address,
    annotation::Kind,
    parse_files::{FileProblem, counted, json_resource, push_problems},
    project::{Match, Project},
    sweep::{self, Sweep},
};
use docent_tool::{Answer, Block, CallContext, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

/// How many are offered where nothing passes the threshold.
const NEAREST: usize = 3;

/// `query_annotations`.
#[derive(Debug)]
pub(crate) struct QueryAnnotations {
    pub(crate) project: Arc<Project>,
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
    /// Only what is more similar than this, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// Only this kind.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { limit: 10, threshold: 0.7, kind: None }
    }
}

/// Answer of `query_annotations`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueryAnswer {
    /// Best first, each more similar than the threshold.
    pub results: Vec<QueryHit>,
    /// The best below the threshold, where nothing is above it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<QueryHit>,
    /// The threshold that was used.
    pub threshold: f64,
    /// How many files were searched.
    pub files: usize,
    /// Grows with every change to what is known. The files of the results were compared with the disk just now.
    pub generation: u64,
    /// What was left out where the files were parsed for this query, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
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
    pub kind: Kind,
    /// Where it is.
    pub file: String,
    /// Its first line.
    pub line: u32,
    /// 0 to 1, higher is better.
    pub similarity: f64,
    /// Its head on one line.
    pub signature: String,
    /// Its doc comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its first lines.
    pub snippet: String,
}

impl From<Match> for QueryHit {
    fn from(found: Match) -> Self {
        let one = found.annotation;
        Self {
            id: one.id,
            name: one.name,
            kind: one.kind,
            file: found.path,
            line: one.line,
            similarity: (found.similarity * 10_000.0).round() / 10_000.0,
            signature: one.signature,
            description: one.description,
            snippet: found.snippet,
        }
    }
}

impl Tool for QueryAnnotations {
    const NAME: &'static str = "query_annotations";
    const TITLE: &'static str = "Find code by meaning";
    const ABOUT: &'static str = "Query parsed annotations by meaning: ask in plain words or by name and get functions, classes and other definitions \
         with file, line, signature and snippet. Parses the project first where nothing was parsed yet. Lower the threshold to see more.";
    type Args = QueryArgs;
    type Answer = QueryAnswer;

    async fn call(
        &self,
        args: QueryArgs,
        context: &CallContext,
    ) -> Result<Answer<QueryAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| query(&project, &args, context)).await
    }
}

fn query(
    project: &Arc<Project>,
    args: &QueryArgs,
    context: &CallContext,
) -> Result<Answer<QueryAnswer>, ToolError> {
    let mut swept = Sweep::default();
    if project.len() == 0 {
        swept = sweep::everything(project, context)?;
        project.announce_set();
    }
    let options = &args.options;
    let find = || project.find(&args.query, options.limit.max(NEAREST), options.kind);
    let mut found = find();
    let shown: BTreeSet<String> = found.iter().map(|one| one.path.clone()).collect();
    if project.bring_up_to_date(&shown) {
        found = find();
    }
    let hits: Vec<QueryHit> = found.into_iter().map(QueryHit::from).collect();
    let passing: Vec<QueryHit> = hits
        .iter()
        .filter(|hit| hit.similarity > options.threshold)
        .take(options.limit)
        .cloned()
        .collect();
    let nearest =
        if passing.is_empty() { hits.into_iter().take(NEAREST).collect() } else { Vec::new() };
    let mut text = text(args, &passing, &nearest);
    push_problems(&mut text, &swept.problems);
    if swept.partial {
        text.push_str("\n\nThis is partial: time was up before every file was parsed. Ask again to go on from here.");
    }
    let embedded = json_resource(address::QUERY_RESULTS, &passing)?;
    let structured = QueryAnswer {
        results: passing,
        nearest,
        threshold: options.threshold,
        files: project.len(),
        generation: project.generation(),
        problems: swept.problems.into_iter().map(Into::into).collect(),
    };
    Ok(Answer::new(structured, text).with(Block::Embedded(embedded)).partial(swept.partial))
}

fn text(args: &QueryArgs, passing: &[QueryHit], nearest: &[QueryHit]) -> String {
    let (query, threshold) = (&args.query, args.options.threshold);
    if let Some(first) = passing.first() {
        let one_kind = passing.iter().all(|hit| hit.kind == first.kind);
        let what = match (one_kind, passing.len()) {
            (true, 1) => format!("1 {}", first.kind.singular()),
            (true, count) => format!("{count} {}", first.kind.plural()),
            (false, count) => counted(count, "annotation"),
        };
        let mut text = format!("Found {what} related to \"{query}\":\n");
        push_hits(&mut text, passing);
        let _ok = write!(text, "\n\nAll results have similarity score > {threshold}");
        return text;
    }
    if nearest.is_empty() {
        return format!(
            "Found nothing related to \"{query}\": none of its words stands in a parsed file."
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
