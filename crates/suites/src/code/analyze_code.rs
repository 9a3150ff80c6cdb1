//! `analyze_code`: analyzes one file or the files of a folder.

mod rendering;

use super::{
    graph,
    parse_files::FileProblem,
    project::{CodeProject, ParseFailure, ParsedFile},
    sweep::stopped,
};
use crate::{
    apps,
    files::{PathKind, RootPath},
    worker_pools,
};
use docent_syntax::{
    Language,
    analysis::{
        complexity::{self, Complexity, FunctionFigures},
        dependencies::{FileDependencies, FolderDependencies, of_file, of_folder},
        patterns::{self, Pattern},
        rules::{self, RuleAnalysis, RuleFinding, RuleSet},
    },
    parse,
};
use docent_tool::{CallContext, CallStop, ToolAnswer, ToolError, TypedTool};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum number of files analyzed in a folder.
const MAX_FILES: usize = 5000;
/// Files analyzed between two deadline checks.
const FILES_PER_STOP_CHECK: usize = 64;
/// Maximum number of functions, files, findings and edges in an answer.
const MAX_RESULTS: usize = 200;

/// `analyze_code`.
#[derive(Debug)]
pub(crate) struct AnalyzeCode {
    pub(crate) project: Arc<CodeProject>,
}

/// Type of analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnalysisType {
    /// How hard each function is to follow.
    Complexity,
    /// What the file imports, and which files import it.
    Dependencies,
    /// Idioms, design patterns and code smells.
    Patterns,
    /// Code that an attacker could exploit.
    Security,
}

/// Arguments of `analyze_code`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AnalyzeCodeArgs {
    /// File path to analyze, or a folder to analyze the source files in it.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Type of analysis to perform.
    pub analysis_type: AnalysisType,
}

/// Answer of `analyze_code`; holds the results of the requested analysis only.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyzeCodeAnswer {
    /// The file or folder.
    pub file: String,
    /// Language of the file; omitted for a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Type of analysis performed.
    pub analysis_type: AnalysisType,
    /// Number of files analyzed.
    pub files: usize,
    /// Line of the first syntax error of the file; results after it may be incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syntax_error_line: Option<u32>,
    /// Complexity of the file and its functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// Most complex functions of the folder, worst first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardest: Option<Vec<InFile<FunctionFigures>>>,
    /// Imports of the file, and the files that import it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<FileDependencies>,
    /// Imports of the folder, and what imports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder_dependencies: Option<FolderDependencies>,
    /// Design patterns, idioms and code smells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patterns: Option<Vec<InFile<Pattern>>>,
    /// Findings of the pattern or security rules, worst first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<InFile<RuleFinding>>>,
    /// Total number of results, if not all are included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Unreadable files and unusable project rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

/// A result with its file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InFile<T> {
    /// Path of the file.
    pub file: String,
    /// The result.
    #[serde(flatten)]
    pub found: T,
}

impl TypedTool for AnalyzeCode {
    const NAME: &'static str = "analyze_code";
    const TITLE: &'static str = "Analyze source code";
    const DESCRIPTION: &'static str = "Perform detailed code analysis of a file or folder: complexity of each function and its causes; imports resolved to files and packages, \
         with dependents and cycles; patterns and code smells; or security findings with CWE, each with its line and a fix.";
    const APP: Option<&'static str> = Some(apps::CODE_MAP.uri);
    type Args = AnalyzeCodeArgs;
    type Answer = AnalyzeCodeAnswer;

    async fn call(
        &self,
        args: AnalyzeCodeArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<AnalyzeCodeAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| analyze(&project, &args, context)).await
    }
}

fn analyze(
    project: &CodeProject,
    args: &AnalyzeCodeArgs,
    context: &CallContext,
) -> Result<ToolAnswer<AnalyzeCodeAnswer>, ToolError> {
    let place = project.roots.resolve(&args.file).map_err(|error| error.into_tool_error("file"))?;
    let kind = project.roots.kind(&place).map_err(|problem| problem.into_tool_error("file"))?;
    let mut found = AnalyzeCodeAnswer {
        file: project.path_of(&place),
        language: None,
        analysis_type: args.analysis_type,
        files: 0,
        syntax_error_line: None,
        complexity: None,
        hardest: None,
        dependencies: None,
        folder_dependencies: None,
        patterns: None,
        findings: None,
        total: None,
        problems: Vec::new(),
    };
    let partial = if kind == PathKind::Folder {
        folder(project, &place, &mut found, context)?
    } else {
        file(project, &place, &mut found, context)?
    };
    let mut text = rendering::render(&found);
    if partial {
        text.push_str("\n\nThis is partial: time ran out before everything was analyzed.");
    }
    Ok(ToolAnswer::new(found, text).partial(partial))
}

fn file(
    project: &CodeProject,
    place: &RootPath,
    found: &mut AnalyzeCodeAnswer,
    context: &CallContext,
) -> Result<bool, ToolError> {
    let halt = || context.stop().is_some();
    let refuse = |unread: ParseFailure| match unread {
        ParseFailure::Problem(problem) => ToolError::argument("file", problem.to_string()),
        stopped @ ParseFailure::Stopped => stopped.into_tool_error(context.stop()),
    };
    let parsed = project.parse(place, None, &halt).map_err(refuse)?;
    found.language = Some(parsed.language);
    found.files = 1;
    found.syntax_error_line = parse::first_error(&parsed.tree);
    let source = parsed.source();
    match found.analysis_type {
        AnalysisType::Complexity => found.complexity = Some(complexity::measure(&source)),
        AnalysisType::Dependencies => {
            let needs = graph::needs(project, context)?;
            found.problems.extend(needs.problems.into_iter().map(Into::into));
            let imports = needs.imports.get(&parsed.path).map(|all| all.to_vec());
            let file = of_file(&needs.graph, &parsed.path, imports.unwrap_or_default());
            found.dependencies = Some(file);
            return Ok(needs.partial);
        }
        AnalysisType::Patterns | AnalysisType::Security => {
            let rules = rules_of(project, found);
            let looked = analyze_file(&parsed, found.analysis_type, &rules, &halt);
            found.add(looked);
        }
    }
    parsed.check().map_err(refuse)?;
    if context.stop() == Some(CallStop::Cancelled) {
        return Err(ToolError::Stopped(CallStop::Cancelled));
    }
    Ok(halt())
}

fn folder(
    project: &CodeProject,
    place: &RootPath,
    found: &mut AnalyzeCodeAnswer,
    context: &CallContext,
) -> Result<bool, ToolError> {
    if found.analysis_type == AnalysisType::Dependencies {
        let needs = graph::needs(project, context)?;
        found.problems.extend(needs.problems.into_iter().map(Into::into));
        let name = if place.is_top() { "" } else { found.file.as_str() };
        let folder = of_folder(&needs.graph, name);
        found.files = folder.files;
        found.folder_dependencies = Some(truncate_lists(folder));
        return Ok(needs.partial);
    }
    let (places, mut partial) = sources(project, place, found, context)?;
    let rules = if found.analysis_type == AnalysisType::Complexity {
        Arc::default()
    } else {
        rules_of(project, found)
    };
    let halt = || context.stop().is_some();
    for some in places.chunks(FILES_PER_STOP_CHECK) {
        if stopped(context)? {
            partial = true;
            break;
        }
        let kind = found.analysis_type;
        let read = |place: &RootPath| -> Result<FileAnalysis, ParseFailure> {
            if halt() {
                return Err(ParseFailure::Stopped);
            }
            let parsed = project.parse(place, None, &halt)?;
            let looked = analyze_file(&parsed, kind, &rules, &halt);
            parsed.check().map(|()| looked)
        };
        for read in worker_pools::run(|| some.par_iter().map(read).collect::<Vec<_>>()) {
            match read {
                Ok(looked) => {
                    found.files += 1;
                    found.add(looked);
                }
                Err(ParseFailure::Problem(problem)) => found.problems.push(problem.into()),
                Err(ParseFailure::Stopped) => partial = true,
            }
        }
        context.progress(found.files as u64, Some(places.len() as u64), "analyzing");
    }
    found.sort_and_truncate();
    Ok(partial)
}

/// Lists the source files of a folder. Also returns whether the list is incomplete. Unreadable entries become problems.
fn sources(
    project: &CodeProject,
    folder: &RootPath,
    found: &mut AnalyzeCodeAnswer,
    context: &CallContext,
) -> Result<(Vec<RootPath>, bool), ToolError> {
    let mut places = Vec::new();
    for entry in project.roots.walk(folder) {
        if stopped(context)? || places.len() >= MAX_FILES {
            return Ok((places, true));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(problem) => {
                found.problems.push(problem.into());
                continue;
            }
        };
        let language = Language::from_path(entry.place.relative());
        if entry.kind == PathKind::File && language.is_some_and(|one| !one.is_outline()) {
            places.push(entry.place);
        }
    }
    Ok((places, false))
}

fn rules_of(project: &CodeProject, found: &mut AnalyzeCodeAnswer) -> Arc<RuleSet> {
    let (rules, problems) = project.rules.read(project);
    found.problems.extend(problems.into_iter().map(Into::into));
    rules
}

/// Results for one file.
#[derive(Debug, Default)]
struct FileAnalysis {
    hardest: Vec<InFile<FunctionFigures>>,
    patterns: Vec<InFile<Pattern>>,
    findings: Vec<InFile<RuleFinding>>,
}

fn analyze_file(
    parsed: &ParsedFile,
    kind: AnalysisType,
    rules: &RuleSet,
    halt: &dyn Fn() -> bool,
) -> FileAnalysis {
    let source = parsed.source();
    let mut looked = FileAnalysis::default();
    let check = |analysis| in_file(parsed, rules::check_with(rules, &source, analysis, halt));
    match kind {
        AnalysisType::Complexity => {
            looked.hardest = in_file(parsed, complexity::measure(&source).functions);
        }
        AnalysisType::Patterns => {
            looked.patterns = in_file(parsed, patterns::find(&source, halt));
            if !halt() {
                looked.findings = check(RuleAnalysis::Patterns);
            }
        }
        AnalysisType::Security => looked.findings = check(RuleAnalysis::Security),
        // The dependency graph is not built file by file.
        AnalysisType::Dependencies => {}
    }
    looked
}

fn in_file<T>(parsed: &ParsedFile, all: Vec<T>) -> Vec<InFile<T>> {
    all.into_iter().map(|found| InFile { file: parsed.path.clone(), found }).collect()
}

impl AnalyzeCodeAnswer {
    fn add(&mut self, looked: FileAnalysis) {
        match self.analysis_type {
            AnalysisType::Complexity => self.hardest.get_or_insert_default().extend(looked.hardest),
            AnalysisType::Patterns => {
                self.patterns.get_or_insert_default().extend(looked.patterns);
                self.findings.get_or_insert_default().extend(looked.findings);
            }
            AnalysisType::Security => self.findings.get_or_insert_default().extend(looked.findings),
            AnalysisType::Dependencies => {}
        }
    }

    /// Sorts the results of all files, worst first, and truncates them to the size of an answer.
    fn sort_and_truncate(&mut self) {
        let mut total = 0;
        if let Some(hardest) = &mut self.hardest {
            hardest
                .sort_by_key(|one| std::cmp::Reverse((one.found.cognitive, one.found.cyclomatic)));
            total += hardest.len();
            hardest.truncate(MAX_RESULTS);
        }
        if let Some(findings) = &mut self.findings {
            findings.sort_by_key(|one| one.found.severity);
            total += findings.len();
            findings.truncate(MAX_RESULTS);
        }
        if let Some(patterns) = &mut self.patterns {
            total += patterns.len();
            patterns.truncate(MAX_RESULTS);
        }
        self.total = Some(total);
    }
}

/// Truncates the lists to the size of an answer.
fn truncate_lists(mut folder: FolderDependencies) -> FolderDependencies {
    folder.parts.truncate(MAX_RESULTS);
    folder.incoming.truncate(MAX_RESULTS);
    folder.outgoing.truncate(MAX_RESULTS);
    folder.packages.truncate(MAX_RESULTS);
    folder.cycles.truncate(MAX_RESULTS);
    folder.part_cycles.truncate(MAX_RESULTS);
    folder
}
