//! Renders an analysis as text.

use super::{AnalysisType, AnalyzeCodeAnswer, InFile};
use crate::code::parse_files::count_noun;
use docent_syntax::{
    Language,
    analysis::{
        complexity::{Complexity, FunctionFigures},
        dependencies::{Cycle, External, FileDependencies, FolderDependencies, Import},
        patterns::Pattern,
        rules::RuleFinding,
    },
};
use std::fmt::Write as _;

/// Maximum number of entries per list in the text; the structured answer has more.
const MAX_SHOWN: usize = 30;

pub(super) fn render(found: &AnalyzeCodeAnswer) -> String {
    let what = found
        .language
        .map_or_else(|| count_noun(found.files, "file"), |one| Language::name(one).to_owned());
    let mut text = format!("{} ({what})", found.file);
    if let Some(line) = found.syntax_error_line {
        let _ok =
            write!(text, ", syntax error near line {line}: results after it may be incomplete");
    }
    let in_folder = found.language.is_none();
    if let Some(complexity) = &found.complexity {
        push_complexity(&mut text, complexity);
    }
    if let Some(hardest) = &found.hardest {
        let _ok = write!(
            text,
            ": {}, most complex first",
            count_noun(found.total.unwrap_or_default(), "function")
        );
        for one in hardest.iter().take(MAX_SHOWN) {
            push_function(&mut text, &one.found, Some(&one.file));
        }
        push_rest(&mut text, found.total.unwrap_or(hardest.len()));
    }
    if let Some(file) = &found.dependencies {
        push_file(&mut text, file);
    }
    if let Some(folder) = &found.folder_dependencies {
        push_folder(&mut text, folder);
    }
    if let Some(patterns) = &found.patterns {
        push_patterns(&mut text, patterns, in_folder);
    }
    if let Some(findings) = &found.findings {
        push_findings(&mut text, findings, found.analysis_type, in_folder);
    }
    if !found.problems.is_empty() {
        let _ok = write!(text, "\n\nProblems:");
        for problem in found.problems.iter().take(MAX_SHOWN) {
            let _ok = write!(text, "\n- {}: {}", problem.path, problem.reason);
        }
    }
    text
}

fn push_complexity(text: &mut String, complexity: &Complexity) {
    let _ok = write!(
        text,
        ": {}, {}, cyclomatic complexity {}, cognitive {}",
        count_noun(complexity.functions.len(), "function"),
        count_noun(complexity.lines as usize, "line"),
        complexity.cyclomatic,
        complexity.cognitive,
    );
    for one in complexity.functions.iter().take(MAX_SHOWN) {
        push_function(text, one, None);
    }
    push_rest(text, complexity.functions.len());
}

fn push_function(text: &mut String, one: &FunctionFigures, file: Option<&str>) {
    let grade = format!("{:?}", one.grade).to_lowercase();
    let place =
        file.map_or_else(|| format!("line {}", one.line), |file| format!("{file}:{}", one.line));
    let _ok = write!(
        text,
        "\n- {} ({place}): cyclomatic {} ({grade}), cognitive {}, nesting {}, {}, {}",
        one.name,
        one.cyclomatic,
        one.cognitive,
        one.nesting,
        count_noun(one.parameters as usize, "parameter"),
        count_noun(one.length as usize, "line"),
    );
    for reason in one.why.iter().take(3) {
        let _ok = write!(text, "\n    line {}: {} (+{})", reason.line, reason.what, reason.adds);
    }
}

fn push_file(text: &mut String, file: &FileDependencies) {
    let _ok = write!(
        text,
        ": {}, imported by {}",
        count_noun(file.imports.len(), "import"),
        count_noun(file.dependents.len(), "file")
    );
    for one in file.imports.iter().take(MAX_SHOWN) {
        let _ok = write!(text, "\n- {} (line {}) -> {}", one.module, one.line, target(one));
    }
    push_rest(text, file.imports.len());
    if !file.dependents.is_empty() {
        let shown: Vec<&str> = file.dependents.iter().take(MAX_SHOWN).map(String::as_str).collect();
        let _ok = write!(text, "\nImported by: {}", shown.join(", "));
    }
    if let Some(cycle) = &file.cycle {
        let _ok = write!(text, "\nCycle: {}", path(cycle));
    }
}

fn target(one: &Import) -> String {
    let targets: Vec<&str> = one.targets().take(4).collect();
    match &one.package {
        _ if !targets.is_empty() => targets.join(", "),
        Some(External { standard: true, .. }) => "part of the language".into(),
        Some(External { name, version: Some(version), .. }) => format!("package {name} {version}"),
        Some(External { name, version: None, .. }) => format!("package {name}"),
        None if one.local => "no such file in the project".into(),
        None => "package".into(),
    }
}

fn path(cycle: &Cycle) -> String {
    cycle.path.join(" -> ")
}

fn push_folder(text: &mut String, folder: &FolderDependencies) {
    let _ok = write!(text, ": {} between files", count_noun(folder.edges, "edge"));
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ok = write!(text, "\n{title}:");
            for line in lines.iter().take(MAX_SHOWN) {
                let _ok = write!(text, "\n- {line}");
            }
        }
    };
    list(
        "Between its parts",
        folder
            .parts
            .iter()
            .map(|one| format!("{} -> {} ({})", one.from, one.to, one.edges))
            .collect(),
    );
    list(
        "Imported by",
        folder.incoming.iter().map(|one| format!("{} ({})", one.path, one.edges)).collect(),
    );
    list(
        "Imports",
        folder.outgoing.iter().map(|one| format!("{} ({})", one.path, one.edges)).collect(),
    );
    let outside = folder.packages.iter().filter(|one| !one.package.standard);
    list(
        "Packages",
        outside
            .map(|one| {
                let version = one.package.version.as_deref().unwrap_or_default();
                format!("{} {version} in {}", one.package.name, count_noun(one.files, "file"))
                    .replace("  ", " ")
            })
            .collect(),
    );
    list(
        "Most imported",
        folder
            .most_needed
            .iter()
            .map(|one| format!("{} by {}", one.file, count_noun(one.dependents, "file")))
            .collect(),
    );
    list("Cycles", folder.cycles.iter().map(path).collect());
}

fn push_patterns(text: &mut String, patterns: &[InFile<Pattern>], in_folder: bool) {
    let _ok = write!(text, ": {}", count_noun(patterns.len(), "pattern"));
    for one in patterns.iter().take(MAX_SHOWN) {
        let Pattern { name, sort, confidence, message, lines, fix } = &one.found;
        let (sort, sure) =
            (format!("{sort:?}").to_lowercase(), format!("{confidence:?}").to_lowercase());
        let lines: Vec<String> = lines.iter().take(6).map(u32::to_string).collect();
        let file = if in_folder { format!("{} ", one.file) } else { String::new() };
        let _ok = write!(
            text,
            "\n- {file}line {} [{sort}, {sure} confidence] {name}: {message}",
            lines.join(", ")
        );
        if let Some(fix) = fix {
            let _ok = write!(text, "\n  fix: {fix}");
        }
    }
    push_rest(text, patterns.len());
}

fn push_findings(
    text: &mut String,
    findings: &[InFile<RuleFinding>],
    kind: AnalysisType,
    in_folder: bool,
) {
    let lens = if kind == AnalysisType::Security { "security" } else { "rule" };
    let lead = if kind == AnalysisType::Security { ":" } else { "\nAnd" };
    let _ok = write!(text, "{lead} {}", count_noun(findings.len(), &format!("{lens} finding")));
    for one in findings.iter().take(MAX_SHOWN) {
        let found = &one.found;
        let severity = format!("{:?}", found.severity).to_lowercase();
        let cwe = found.cwe.as_ref().map_or_else(String::new, |cwe| format!(", {cwe}"));
        let file = if in_folder { format!("{} ", one.file) } else { String::new() };
        let _ok = write!(
            text,
            "\n- {file}line {} [{severity}{cwe}] {}: {}. {}",
            found.line, found.rule, found.message, found.evidence
        );
        if !found.fix.is_empty() {
            let _ok = write!(text, "\n  fix: {}", found.fix);
        }
    }
    push_rest(text, findings.len());
}

fn push_rest(text: &mut String, all: usize) {
    if all > MAX_SHOWN {
        let _ok = write!(text, "\n- and {} more", all - MAX_SHOWN);
    }
}
