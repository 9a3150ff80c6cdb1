//! `analyze_code`: analyzes one file or the files of a folder.

mod told;

use super::{
    graph,
    parse_files::FileProblem,
    project::{Parsed, Project, Unread},
    sweep::stopped,
};
use crate::{
    apps,
    files::{Kind, Place},
    lanes,
};
use docent_syntax::{
    Language,
    analysis::{
        complexity::{self, Complexity, FunctionFigures},
        dependencies::{FileDependencies, FolderDependencies, of_file, of_folder},
        patterns::{self, Pattern},
        rules::{self, Analysis, Finding, RuleSet},
    },
    parse,
};
use docent_tool::{Answer, CallContext, Stop, Tool, ToolError};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum number of files analyzed in a folder.
const MOST_FILES: usize = 5000;
/// Files analyzed between two deadline checks.
const AT_ONCE: usize = 64;
/// Maximum number of functions, files, findings and edges in an answer.
const MOST: usize = 200;

/// `analyze_code`.
#[derive(Debug)]
pub(crate) struct AnalyzeCode {
    pub(crate) project: Arc<Project>,
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
pub struct AnalyzeArgs {
    /// File path to analyze, or a folder to analyze the source files in it.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Type of analysis to perform.
    pub analysis_type: AnalysisType,
}

/// Answer of `analyze_code`; holds the results of the requested analysis only.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyzeAnswer {
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
    pub findings: Option<Vec<InFile<Finding>>>,
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

impl Tool for AnalyzeCode {
    const NAME: &'static str = "analyze_code";
    const TITLE: &'static str = "Analyze source code";
    const ABOUT: &'static str = "Perform detailed code analysis of a file or folder: complexity of each function and its causes; imports resolved to files and packages, \
         with dependents and cycles; patterns and code smells; or security findings with CWE, each with its line and a fix.";
    const APP: Option<&'static str> = Some(apps::CODE_MAP.uri);
    type Args = AnalyzeArgs;
    type Answer = AnalyzeAnswer;

    async fn call(
        &self,
        args: AnalyzeArgs,
        context: &CallContext,
    ) -> Result<Answer<AnalyzeAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| analyze(&project, &args, context)).await
    }
}

fn analyze(
    project: &Project,
    args: &AnalyzeArgs,
    context: &CallContext,
) -> Result<Answer<AnalyzeAnswer>, ToolError> {
    let place = project.roots.resolve(&args.file).map_err(|error| error.into_tool_error("file"))?;
    let kind = project.roots.kind(&place).map_err(|problem| problem.into_tool_error("file"))?;
    let mut found = AnalyzeAnswer {
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
    let partial = if kind == Kind::Folder {
        folder(project, &place, &mut found, context)?
    } else {
        file(project, &place, &mut found, context)?
    };
    let mut text = told::tell(&found);
    if partial {
        text.push_str("\n\nThis is partial: time ran out before everything was analyzed.");
    }
    Ok(Answer::new(found, text).partial(partial))
}

fn file(
    project: &Project,
    place: &Place,
    found: &mut AnalyzeAnswer,
    context: &CallContext,
) -> Result<bool, ToolError> {
    let halt = || context.stop().is_some();
    let refuse = |unread: Unread| match unread {
        Unread::Problem(problem) => ToolError::argument("file", problem.to_string()),
        stopped @ Unread::Stopped => stopped.into_tool_error(context.stop()),
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
            let looked = look(&parsed, found.analysis_type, &rules, &halt);
            found.take(looked);
        }
    }
    parsed.check().map_err(refuse)?;
    if context.stop() == Some(Stop::Cancelled) {
        return Err(ToolError::Stopped(Stop::Cancelled));
    }
    Ok(halt())
}

fn folder(
    project: &Project,
    place: &Place,
    found: &mut AnalyzeAnswer,
    context: &CallContext,
) -> Result<bool, ToolError> {
    if found.analysis_type == AnalysisType::Dependencies {
        let needs = graph::needs(project, context)?;
        found.problems.extend(needs.problems.into_iter().map(Into::into));
        let name = if place.is_top() { "" } else { found.file.as_str() };
        let folder = of_folder(&needs.graph, name);
        found.files = folder.files;
        found.folder_dependencies = Some(bounded(folder));
        return Ok(needs.partial);
    }
    let (places, mut partial) = sources(project, place, found, context)?;
    let rules = if found.analysis_type == AnalysisType::Complexity {
        Arc::default()
    } else {
        rules_of(project, found)
    };
    let halt = || context.stop().is_some();
    for some in places.chunks(AT_ONCE) {
        if stopped(context)? {
            partial = true;
            break;
        }
        let kind = found.analysis_type;
        let read = |place: &Place| -> Result<Looked, Unread> {
            if halt() {
                return Err(Unread::Stopped);
            }
            let parsed = project.parse(place, None, &halt)?;
            let looked = look(&parsed, kind, &rules, &halt);
            parsed.check().map(|()| looked)
        };
        for read in lanes::run(|| some.par_iter().map(read).collect::<Vec<_>>()) {
            match read {
                Ok(looked) => {
                    found.files += 1;
                    found.take(looked);
                }
                Err(Unread::Problem(problem)) => found.problems.push(problem.into()),
                Err(Unread::Stopped) => partial = true,
            }
        }
        context.progress(found.files as u64, Some(places.len() as u64), "analyzing");
    }
    found.settle();
    Ok(partial)
}

/// Lists the source files of a folder. Also returns whether the list is incomplete. Unreadable entries become problems.
fn sources(
    project: &Project,
    folder: &Place,
    found: &mut AnalyzeAnswer,
    context: &CallContext,
) -> Result<(Vec<Place>, bool), ToolError> {
    let mut places = Vec::new();
    for entry in project.roots.walk(folder) {
        if stopped(context)? || places.len() >= MOST_FILES {
            return Ok((places, true));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(problem) => {
                found.problems.push(problem.into());
                continue;
            }
        };
        let language = Language::of(entry.place.relative());
        if entry.kind == Kind::File && language.is_some_and(|one| !one.is_outline()) {
            places.push(entry.place);
        }
    }
    Ok((places, false))
}

fn rules_of(project: &Project, found: &mut AnalyzeAnswer) -> Arc<RuleSet> {
    let (rules, problems) = project.rules.read(project);
    found.problems.extend(problems.into_iter().map(Into::into));
    rules
}

/// Results for one file.
#[derive(Debug, Default)]
struct Looked {
    hardest: Vec<InFile<FunctionFigures>>,
    patterns: Vec<InFile<Pattern>>,
    findings: Vec<InFile<Finding>>,
}

fn look(parsed: &Parsed, kind: AnalysisType, rules: &RuleSet, halt: &dyn Fn() -> bool) -> Looked {
    let source = parsed.source();
    let mut looked = Looked::default();
    let check = |analysis| in_file(parsed, rules::check_with(rules, &source, analysis, halt));
    match kind {
        AnalysisType::Complexity => {
            looked.hardest = in_file(parsed, complexity::measure(&source).functions);
        }
        AnalysisType::Patterns => {
            looked.patterns = in_file(parsed, patterns::find(&source, halt));
            if !halt() {
                looked.findings = check(Analysis::Patterns);
            }
        }
        AnalysisType::Security => looked.findings = check(Analysis::Security),
        // The dependency graph is not built file by file.
        AnalysisType::Dependencies => {}
    }
    looked
}

fn in_file<T>(parsed: &Parsed, all: Vec<T>) -> Vec<InFile<T>> {
    all.into_iter().map(|found| InFile { file: parsed.path.clone(), found }).collect()
}

impl AnalyzeAnswer {
    fn take(&mut self, looked: Looked) {
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
    fn settle(&mut self) {
        let mut total = 0;
        if let Some(hardest) = &mut self.hardest {
            hardest
                .sort_by_key(|one| std::cmp::Reverse((one.found.cognitive, one.found.cyclomatic)));
            total += hardest.len();
            hardest.truncate(MOST);
        }
        if let Some(findings) = &mut self.findings {
            findings.sort_by_key(|one| one.found.severity);
            total += findings.len();
            findings.truncate(MOST);
        }
        if let Some(patterns) = &mut self.patterns {
            total += patterns.len();
            patterns.truncate(MOST);
        }
        self.total = Some(total);
    }
}

/// Truncates the lists to the size of an answer.
fn bounded(mut folder: FolderDependencies) -> FolderDependencies {
    folder.parts.truncate(MOST);
    folder.incoming.truncate(MOST);
    folder.outgoing.truncate(MOST);
    folder.packages.truncate(MOST);
    folder.cycles.truncate(MOST);
    folder.part_cycles.truncate(MOST);
    folder
}
