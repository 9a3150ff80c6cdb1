//! `analyze_code`: one file under one lens.

use super::{
    parse_files::counted,
    project::{Parsed, Project, Unread},
};
use crate::files::Kind;
use docent_syntax::{
    Language,
    analysis::{
        Source,
        complexity::{self, Complexity},
        dependencies::{self, Import},
        rules::{self, Analysis, Finding},
    },
    parse,
};
use docent_tool::{Answer, CallContext, Stop, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt::Write as _, sync::Arc};

/// The text shows this many; the structured answer has them all.
const SHOWN: usize = 30;

/// `analyze_code`.
#[derive(Debug)]
pub(crate) struct AnalyzeCode {
    pub(crate) project: Arc<Project>,
}

/// Which lens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnalysisType {
    /// How hard each function is to follow.
    Complexity,
    /// What the file needs.
    Dependencies,
    /// Idioms, designs and smells.
    Patterns,
    /// What an attacker could use.
    Security,
}

/// Arguments of `analyze_code`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AnalyzeArgs {
    /// File path to analyze.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Type of analysis to perform.
    pub analysis_type: AnalysisType,
}

/// Answer of `analyze_code`; of the last three, the one that was asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyzeAnswer {
    /// Which file.
    pub file: String,
    /// What it is written in.
    pub language: Language,
    /// Which analysis.
    pub analysis_type: AnalysisType,
    /// The line of the first syntax error; what follows may be incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syntax_error_line: Option<u32>,
    /// Figures of every function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// Every import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<Import>>,
    /// What the rules of patterns or security found, worst first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
}

impl Tool for AnalyzeCode {
    const NAME: &'static str = "analyze_code";
    const TITLE: &'static str = "Analyze a source file";
    const ABOUT: &'static str = "Perform detailed code analysis of one file: complexity of each function, dependencies resolved to files, patterns \
         and smells, or security findings, each with its line and what to do.";
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
    let stopped = || context.stop().is_some();
    let parsed = project.parse(&place, None, &stopped).map_err(|unread| match unread {
        Unread::Problem(problem) => ToolError::argument("file", problem.to_string()),
        stopped @ Unread::Stopped => stopped.into_tool_error(context.stop()),
    })?;
    let Parsed { path, language, text, tree } = &parsed;
    let language = *language;
    let source = Source { path, language, text, tree };
    let mut found = AnalyzeAnswer {
        file: path.clone(),
        language,
        analysis_type: args.analysis_type,
        syntax_error_line: parse::first_error(tree),
        complexity: None,
        dependencies: None,
        findings: None,
    };
    match args.analysis_type {
        AnalysisType::Complexity => found.complexity = Some(complexity::measure(&source)),
        AnalysisType::Dependencies => {
            let is_file = |path: &str| {
                let there = project
                    .roots
                    .parse(path)
                    .ok()
                    .and_then(|place| project.roots.kind(&place).ok());
                there == Some(Kind::File)
            };
            found.dependencies = Some(dependencies::imports(&source, &is_file));
        }
        AnalysisType::Patterns => {
            found.findings = Some(rules::check(&source, Analysis::Patterns, &stopped));
        }
        AnalysisType::Security => {
            found.findings = Some(rules::check(&source, Analysis::Security, &stopped));
        }
    }
    if context.stop() == Some(Stop::Cancelled) {
        return Err(ToolError::Stopped(Stop::Cancelled));
    }
    let mut told = tell(&found);
    let partial = stopped();
    if partial {
        told.push_str("\n\nThis is partial: time was up before every rule was tried.");
    }
    Ok(Answer::new(found, told).partial(partial))
}

fn tell(found: &AnalyzeAnswer) -> String {
    let mut text = format!("{} ({})", found.file, found.language.name());
    if let Some(line) = found.syntax_error_line {
        let _ok = write!(text, ", syntax error near line {line}: what follows may be incomplete");
    }
    if let Some(complexity) = &found.complexity {
        push_complexity(&mut text, complexity);
    }
    if let Some(imports) = &found.dependencies {
        push_imports(&mut text, imports);
    }
    if let Some(findings) = &found.findings {
        let lens =
            if found.analysis_type == AnalysisType::Security { "security" } else { "pattern" };
        push_findings(&mut text, findings, lens);
    }
    text
}

fn push_complexity(text: &mut String, complexity: &Complexity) {
    let functions = counted(complexity.functions.len(), "function");
    let _ok = write!(
        text,
        ": {functions}, {}, cyclomatic complexity {}",
        counted(complexity.lines as usize, "line"),
        complexity.cyclomatic
    );
    for one in complexity.functions.iter().take(SHOWN) {
        let grade = format!("{:?}", one.grade).to_lowercase();
        let _ok = write!(
            text,
            "\n- {} (line {}): cyclomatic {} ({grade}), nesting {}, {}, {}",
            one.name,
            one.line,
            one.cyclomatic,
            one.nesting,
            counted(one.parameters as usize, "parameter"),
            counted(one.length as usize, "line"),
        );
    }
    push_rest(text, complexity.functions.len());
}

fn push_imports(text: &mut String, imports: &[Import]) {
    let _ok = write!(text, ": {}", counted(imports.len(), "import"));
    for one in imports.iter().take(SHOWN) {
        let target = match (&one.file, one.local) {
            (Some(file), _) => file.as_str(),
            (None, true) => "no such file in the project",
            (None, false) => "package",
        };
        let _ok = write!(text, "\n- {} (line {}) -> {target}", one.module, one.line);
    }
    push_rest(text, imports.len());
}

fn push_findings(text: &mut String, findings: &[Finding], lens: &str) {
    let _ok = write!(text, ": {}", counted(findings.len(), &format!("{lens} finding")));
    for one in findings.iter().take(SHOWN) {
        let severity = format!("{:?}", one.severity).to_lowercase();
        let _ok = write!(
            text,
            "\n- line {} [{severity}] {}: {}. {}",
            one.line, one.rule, one.message, one.evidence
        );
        if !one.fix.starts_with("nothing") {
            let _ok = write!(text, "\n  fix: {}", one.fix);
        }
    }
    push_rest(text, findings.len());
}

fn push_rest(text: &mut String, all: usize) {
    if all > SHOWN {
        let _ok = write!(text, "\n- and {} more", all - SHOWN);
    }
}
