//! `parse_files`: parses source files into annotations.

use super::{
    address,
    project::CodeProject,
    sweep::{ParseMode, ParseReport, ParseSweep, ParseTargets},
};
use crate::files::ReadFailure;
use docent_syntax::{Annotation, Kind, KindCounts, Language, Parameter, Summary};
use docent_tool::{
    AnswerBlock, CallContext, Contents, FailureKind, ToolAnswer, ToolError, ToolFailure, TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt::Write as _, sync::Arc};

/// Maximum number of files listed in the text; the structured answer has all of them.
const MAX_LISTED_FILES: usize = 50;
/// Maximum length of a signature or description; longer ones are truncated.
const MAX_TEXT_CHARS: usize = 300;
/// Maximum number of parameters per definition.
const MAX_PARAMETERS: usize = 20;

/// `parse_files`.
#[derive(Debug)]
pub(crate) struct ParseFiles {
    pub(crate) project: Arc<CodeProject>,
}

/// Arguments of `parse_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParseFilesArgs {
    /// List of file paths to parse; also folders, for the source files in them, and patterns such as `src/**/*.ts`.
    #[schemars(length(min = 1))]
    pub files: Vec<String>,
    /// Parse options.
    #[serde(default)]
    pub options: ParseFilesOptions,
}

/// Options of `parse_files`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct ParseFilesOptions {
    /// Include subfolders.
    pub recursive: bool,
    /// Include doc comments.
    pub include_comments: bool,
    /// Parse files as this language, and in folders only files of this language; default: by file name. Affects this call only, not the search index.
    pub language: Option<Language>,
}

impl Default for ParseFilesOptions {
    fn default() -> Self {
        Self { recursive: true, include_comments: true, language: None }
    }
}

/// Answer of `parse_files`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParseFilesAnswer {
    /// Number of files parsed.
    pub total_files: usize,
    /// Number of annotations found.
    pub total_annotations: usize,
    /// Annotations by kind.
    pub summary: Summary,
    /// Results per file.
    pub files: Vec<FileReport>,
    /// Files or folders that were skipped, and why.
    pub problems: Vec<FileProblem>,
    /// Generation of the index, which is updated in the background; 0 while it is being opened.
    pub generation: u64,
}

/// One parsed file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileReport {
    /// Path of the file.
    pub path: String,
    /// Number of annotations in the file.
    pub annotations: usize,
    /// Annotations by kind.
    pub summary: Summary,
    /// Definitions in source order; at most 200 for all files of a call.
    pub definitions: Vec<ParsedDefinition>,
    /// Number of omitted definitions; read `ast://project/<path>` for all of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Whether only parts could be parsed; `problems` gives the syntax errors.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One definition of a parsed file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParsedDefinition {
    /// Qualified name.
    pub name: String,
    /// Kind of definition.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Signature on one line.
    pub signature: String,
    /// Parameters; omitted if it is not callable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Parameter>>,
    /// Declared return type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_type: Option<String>,
    /// Doc comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// First line.
    pub line: u32,
}

impl From<Annotation> for ParsedDefinition {
    fn from(one: Annotation) -> Self {
        let first = |all: Vec<Parameter>| all.into_iter().take(MAX_PARAMETERS).collect();
        Self {
            name: one.qualified_name,
            kind: one.kind,
            signature: truncate_text(&one.signature),
            parameters: one.parameters.map(first),
            return_type: one.return_type.as_deref().map(truncate_text),
            description: one.description.as_deref().map(truncate_text),
            line: one.line,
        }
    }
}

fn truncate_text(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// A file or folder that was skipped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileProblem {
    /// Path of the file or folder.
    pub path: String,
    /// Reason.
    pub reason: String,
}

impl From<ReadFailure> for FileProblem {
    fn from(problem: ReadFailure) -> Self {
        Self { path: problem.path, reason: problem.reason }
    }
}

/// Contents of `ast://project/annotations`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Totals {
    pub(crate) total_files: usize,
    pub(crate) total_annotations: usize,
    pub(crate) summary: Summary,
}

impl TypedTool for ParseFiles {
    const NAME: &'static str = "parse_files";
    const TITLE: &'static str = "Parse source files";
    const DESCRIPTION: &'static str = "Parse source code files and extract AST annotations: functions, classes, interfaces and other definitions with \
         signature, parameters, doc comment and line. Takes paths, folders and patterns. Not needed before query_annotations; outline is shorter.";
    type Args = ParseFilesArgs;
    type Answer = ParseFilesAnswer;

    async fn call(
        &self,
        args: ParseFilesArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<ParseFilesAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| parse(&project, &args, context)).await
    }
}

fn parse(
    project: &Arc<CodeProject>,
    args: &ParseFilesArgs,
    context: &CallContext,
) -> Result<ToolAnswer<ParseFilesAnswer>, ToolError> {
    let reading =
        ParseMode { language: args.options.language, comments: args.options.include_comments };
    project.live.start();
    let mut targets = ParseTargets::new(project, reading, args.options.recursive, context);
    let mut refused = Vec::new();
    for raw in &args.files {
        match targets.add(raw) {
            Ok(()) => {}
            Err(stop @ ToolError::Stopped(_)) => return Err(stop),
            Err(error) => refused.push((raw, error)),
        }
    }
    let mut sweep = targets.parse()?;
    if reading.is_plain() {
        let named = sweep.reports.iter().filter(|(place, _)| sweep.by_name.contains(place));
        project.want(named.map(|(place, report)| (place.clone(), report.language)), context);
    }
    if sweep.reports.is_empty() && !sweep.partial {
        return Err(nothing(refused, &sweep.problems));
    }
    let problem = |(raw, error): (&String, ToolError)| ReadFailure {
        path: raw.clone(),
        reason: error.to_string(),
    };
    sweep.problems.extend(refused.into_iter().map(problem));
    answer(sweep, reading, project.live.status().map_or(0, |status| status.generation))
}

/// The error when no file was parsed.
fn nothing(mut refused: Vec<(&String, ToolError)>, problems: &[ReadFailure]) -> ToolError {
    if refused.len() == 1 && problems.is_empty() {
        return refused.remove(0).1;
    }
    let missing = |error: &ToolError| matches!(error, ToolError::Failed(failure) if failure.kind == FailureKind::NotFound);
    let all_missing = problems.is_empty()
        && !refused.is_empty()
        && refused.iter().all(|(_, error)| missing(error));
    let kind = if all_missing { FailureKind::NotFound } else { FailureKind::Parse };
    let reasons = refused
        .iter()
        .map(|(_, error)| error.to_string())
        .chain(problems.iter().map(ReadFailure::to_string));
    let reasons: Vec<String> = reasons.take(5).collect();
    let message = if reasons.is_empty() {
        "found no source file in a supported language".into()
    } else {
        reasons.join("; ")
    };
    let failure = ToolFailure::new(kind, format!("No file was parsed: {message}"));
    // The hint does not apply to a file that exists but can't be parsed.
    if problems.is_empty() {
        return failure
            .hint("give paths, folders or patterns of source files inside the root")
            .into();
    }
    failure.into()
}

fn answer(
    sweep: ParseSweep,
    reading: ParseMode,
    generation: u64,
) -> Result<ToolAnswer<ParseFilesAnswer>, ToolError> {
    let mut counts = KindCounts::default();
    sweep.reports.iter().for_each(|(_, report)| counts.merge(&report.counts));
    let text = text(&sweep, &counts, reading);
    let definitions = definitions_text(&sweep);
    let totals = Totals {
        total_files: sweep.reports.len(),
        total_annotations: counts.total(),
        summary: counts.summary(),
    };
    let embedded = json_resource(address::ANNOTATIONS, &totals)?;
    let file = |(_, report): (crate::files::RootPath, ParseReport)| FileReport {
        annotations: report.counts.total(),
        summary: report.counts.summary(),
        omitted: report.counts.total() - report.definitions.len(),
        partial: report.broken_at.is_some(),
        path: report.path,
        definitions: report.definitions.into_iter().map(Into::into).collect(),
    };
    let structured = ParseFilesAnswer {
        total_files: totals.total_files,
        total_annotations: totals.total_annotations,
        summary: totals.summary,
        files: sweep.reports.into_iter().map(file).collect(),
        problems: sweep.problems.into_iter().map(Into::into).collect(),
        generation,
    };
    let mut answer = ToolAnswer::new(structured, text).with(AnswerBlock::Embedded(embedded));
    if let Some(definitions) = definitions {
        answer = answer.with(AnswerBlock::text(definitions));
    }
    Ok(answer.partial(sweep.partial))
}

/// Serializes a value as the contents of a resource.
pub(crate) fn json_resource(uri: &str, value: &impl Serialize) -> Result<Contents, ToolError> {
    let text = serde_json::to_string(value).map_err(|error| ToolError::Bug(Box::new(error)))?;
    Ok(Contents::Text { uri: uri.to_owned(), mime: Some("application/json".into()), text })
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub(crate) fn count_noun(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn text(sweep: &ParseSweep, counts: &KindCounts, reading: ParseMode) -> String {
    let mut text = format!(
        "{} and extracted {}.",
        parse_summary(sweep),
        count_noun(counts.total(), "annotation")
    );
    if !sweep.reports.is_empty() {
        text.push_str("\n\nFiles processed:");
    }
    for (_, report) in sweep.reports.iter().take(MAX_LISTED_FILES) {
        let found = count_noun(report.counts.total(), "annotation");
        let kinds = report.counts.words();
        let kinds = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
        // Writing to a string can't fail.
        let part = if report.broken_at.is_some() { ", parsed partially" } else { "" };
        let _ok = write!(text, "\n- {}: {found}{kinds}{part}", report.path);
    }
    push_rest(&mut text, sweep.reports.len(), "files");
    push_problems(&mut text, &sweep.problems);
    if sweep.partial {
        text.push_str("\n\nThis is partial: time ran out before every file was parsed. Pass fewer files per call.");
    }
    if !reading.is_plain() {
        text.push_str(
            "\n\nThese options affect only this answer, not what query_annotations searches.",
        );
    } else if !sweep.partial {
        text.push_str("\n\nAnnotations are now available for querying.");
    }
    text
}

/// Summarizes how many files were parsed fully or partially.
fn parse_summary(sweep: &ParseSweep) -> String {
    let (done, found) = (sweep.reports.len(), sweep.definition_count);
    let broken = sweep.reports.iter().filter(|(_, report)| report.broken_at.is_some()).count();
    let files = if sweep.partial && found > 0 {
        format!("{done} of {}", count_noun(found, "file"))
    } else {
        count_noun(done, "file")
    };
    match broken {
        0 if sweep.problems.is_empty() && !sweep.partial => format!("Successfully parsed {files}"),
        0 => format!("Parsed {files}"),
        broken if broken == done => format!("Partially parsed {files}"),
        broken => format!("Parsed {files}, {broken} of them partially,"),
    }
}

/// Lists the definitions by file; `None` if there are none.
fn definitions_text(sweep: &ParseSweep) -> Option<String> {
    let shown: usize = sweep.reports.iter().map(|(_, report)| report.definitions.len()).sum();
    if shown == 0 {
        return None;
    }
    let mut text = "Definitions by line:".to_owned();
    let with_some = sweep.reports.iter().filter(|(_, report)| !report.definitions.is_empty());
    for (_, report) in with_some {
        let _ok = write!(text, "\n\n{}", report.path);
        for one in &report.definitions {
            let _ok = write!(text, "\n{}: {}", one.line, one.kind.singular());
            // A signature does not name the class of a method.
            if one.qualified_name != one.name {
                let _ok = write!(text, " {}", one.qualified_name);
            }
            let _ok = write!(text, ": {}", truncate_text(&one.signature));
            if let Some(line) = one.description.as_deref().and_then(|text| text.lines().next()) {
                let _ok = write!(text, " - {}", truncate_text(line));
            }
        }
    }
    let total: usize = sweep.reports.iter().map(|(_, report)| report.counts.total()).sum();
    if total > shown {
        let _ok = write!(
            text,
            "\n\n{} not shown: parse fewer files per call, read ast://project/<path>, or call outline.",
            count_noun(total - shown, "more definition")
                + if total - shown == 1 { " is" } else { " are" },
        );
    }
    Some(text)
}

fn push_rest(text: &mut String, all: usize, noun: &str) {
    if all > MAX_LISTED_FILES {
        let _ok = write!(text, "\n- and {} more {noun}", all - MAX_LISTED_FILES);
    }
}

/// Lists problems at the end of a text.
pub(crate) fn push_problems(text: &mut String, problems: &[ReadFailure]) {
    if problems.is_empty() {
        return;
    }
    text.push_str("\n\nProblems:");
    for problem in problems.iter().take(MAX_LISTED_FILES) {
        let _ok = write!(text, "\n- {problem}");
    }
    push_rest(text, problems.len(), "problems");
}
