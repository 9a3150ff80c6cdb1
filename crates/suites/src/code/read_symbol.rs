//! `read_symbol`: reads the source of one symbol, with its callers, callees and tests.

use super::{
    find_references::name_of,
    parse_files::count_noun,
    project::{CodeProject, ParseFailure, ParsedFile},
    references::{self, Occurrence, SymbolDefinition, SymbolReferences},
};
use crate::indexing::CODE;
use docent_index::{FoundUnit, StoreView, UnitFilter, units_named};
use docent_syntax::{
    Annotation, Kind, annotate,
    references::{Role, is_called},
};
use docent_tool::{CallContext, ToolAnswer, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    sync::Arc,
};

/// Maximum number of source lines; the rest is truncated.
const MAX_SOURCE_LINES: usize = 400;
/// Maximum number of callers, callees and tests listed.
const MAX_LISTED: usize = 30;
/// Maximum number of candidates for a called name.
const MAX_CALLEE_CANDIDATES: usize = 50;

/// `read_symbol`.
#[derive(Debug)]
pub(crate) struct ReadSymbol {
    pub(crate) project: Arc<CodeProject>,
}

/// Arguments of `read_symbol`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SymbolArgs {
    /// Name (`save`), qualified name (`Row.save`) or annotation id.
    #[schemars(length(min = 1, max = 500))]
    pub symbol: String,
    /// File that defines it, if several definitions have this name.
    #[serde(default)]
    pub file: Option<String>,
}

/// Answer of `read_symbol`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SymbolAnswer {
    /// Annotation of the symbol.
    pub annotation: Annotation,
    /// Path of its file.
    pub file: String,
    /// Current source.
    pub source: String,
    /// Number of lines truncated at the end of the source.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: usize,
    /// Callers, except tests.
    pub callers: Vec<Occurrence>,
    /// Definitions it calls.
    pub callees: Vec<Callee>,
    /// Tests that use it.
    pub tests: Vec<Occurrence>,
    /// Ids of other definitions with this name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// A called definition.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Callee {
    /// Name.
    pub name: String,
    /// Id of the definition, matched by name; omitted if the project does not define it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// File of the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// First line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Number of definitions with this name.
    pub candidates: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl TypedTool for ReadSymbol {
    const NAME: &'static str = "read_symbol";
    const TITLE: &'static str = "Read one symbol";
    const DESCRIPTION: &'static str = "Read the source of one function, class or other symbol instead of its whole file, with signature, doc comment, \
         callers, callees and tests. Takes a name, a qualified name or an id from query_annotations.";
    type Args = SymbolArgs;
    type Answer = SymbolAnswer;

    async fn call(
        &self,
        args: SymbolArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<SymbolAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| read(&project, &args, context)).await
    }
}

fn read(
    project: &CodeProject,
    args: &SymbolArgs,
    context: &CallContext,
) -> Result<ToolAnswer<SymbolAnswer>, ToolError> {
    let (name, path) = name_of(&args.symbol);
    if name.is_empty() {
        return Err(ToolError::argument("symbol", "give a name, such as save or Row.save"));
    }
    let known = references::find(project, &name, context)?;
    let (chosen, others) = choose(project, args, &path, &known)?;
    let stopped = || context.stop().is_some();
    let parsed = project.parse(&chosen.place, None, &stopped);
    let parsed = parsed.map_err(|unread: ParseFailure| unread.into_tool_error(context.stop()))?;
    let ParsedFile { path: file, language, text, tree } = &parsed;
    let whole = annotate::file(*language, file, text, tree);
    parsed.check().map_err(|unread| unread.into_tool_error(context.stop()))?;
    let annotation = whole.annotations.iter().find(|one| one.id == chosen.annotation.id);
    let annotation = annotation.cloned().ok_or_else(|| {
        ToolError::failed(format!("{file} changed while it was being read; try again"))
    })?;
    let (source, cut) = source(text, &annotation);
    let view = project.live.view(context).ok().map(|(view, _)| view);
    let called = callees(view.as_deref(), &annotation, file, &whole.annotations);
    let (tests, callers): (Vec<Occurrence>, Vec<Occurrence>) = known
        .places
        .into_iter()
        .filter(|one| one.role != Role::Definition && one.role != Role::Import)
        .filter(|one| one.role == Role::Call || !annotation.kind.is_callable())
        .partition(is_test);
    let answer = SymbolAnswer {
        file: file.clone(),
        source,
        cut,
        callers: callers.into_iter().take(MAX_LISTED).collect(),
        callees: called,
        tests: tests.into_iter().take(MAX_LISTED).collect(),
        others: others.into_iter().map(|one| one.annotation.id).take(MAX_LISTED).collect(),
        annotation,
    };
    let text = render(&answer);
    Ok(ToolAnswer::new(answer, text).partial(known.partial))
}

/// Picks the definition by id, or else by the end of its qualified name. Also returns the other candidates.
fn choose(
    project: &CodeProject,
    args: &SymbolArgs,
    path: &str,
    known: &SymbolReferences,
) -> Result<(SymbolDefinition, Vec<SymbolDefinition>), ToolError> {
    let file = args.file.as_deref().map(|raw| {
        let place = project.roots.resolve(raw).map_err(|error| error.into_tool_error("file"));
        place.map(|place| project.path_of(&place))
    });
    let file = file.transpose()?;
    let by_id = known.definitions.iter().find(|one| one.annotation.id == args.symbol);
    if let Some(one) = by_id {
        return Ok((one.clone(), Vec::new()));
    }
    let in_file = |one: &&SymbolDefinition| {
        file.as_ref().is_none_or(|file| project.path_of(&one.place) == *file)
    };
    let mut fitting: Vec<SymbolDefinition> = known
        .definitions
        .iter()
        .filter(|one| is_called(&one.annotation, path))
        .filter(in_file)
        .cloned()
        .collect();
    // The public API is meant more often than a definition of the same name in tests or examples.
    fitting.sort_by_key(|one| {
        let place = project.path_of(&one.place);
        let depth = one.annotation.qualified_name.split(['.', ':']).count();
        let folders = place.split('/').count();
        (is_test_path(&place), !one.annotation.exported, depth, folders, place)
    });
    if fitting.is_empty() {
        let all: Vec<&str> =
            known.definitions.iter().take(10).map(|one| one.annotation.id.as_str()).collect();
        let hint = if all.is_empty() {
            "use query_annotations to find symbols by what they do".to_owned()
        } else {
            format!("definitions with that name: {}", all.join(", "))
        };
        return Err(ToolError::not_found(format!("no definition named {path}; {hint}")));
    }
    let chosen = fitting.remove(0);
    Ok((chosen, fitting))
}

fn source(text: &str, annotation: &Annotation) -> (String, usize) {
    let first = annotation.line.saturating_sub(1) as usize;
    let lines = (annotation.end_line.saturating_sub(annotation.line) + 1) as usize;
    let shown: Vec<&str> = text.lines().skip(first).take(lines.min(MAX_SOURCE_LINES)).collect();
    (shown.join("\n"), lines.saturating_sub(MAX_SOURCE_LINES))
}

/// Resolves what a definition calls: in its own file first, then anywhere in the index, by name.
fn callees(
    view: Option<&dyn StoreView>,
    annotation: &Annotation,
    file: &str,
    here: &[Annotation],
) -> Vec<Callee> {
    let inside =
        |one: &&Annotation| one.line >= annotation.line && one.end_line <= annotation.end_line;
    let mut seen = HashSet::new();
    let calls = here.iter().filter(inside).flat_map(|one| &one.calls);
    let names = calls.filter(|name| seen.insert(name.as_str()));
    let filter = UnitFilter { collections: vec![CODE.to_owned()], ..UnitFilter::default() };
    let callee = |name: &String| {
        let own: Vec<&Annotation> =
            here.iter().filter(|one| one.name == *name && is_callable(one.kind)).collect();
        if let Some(first) = own.first() {
            let (id, line) = (Some(first.id.clone()), Some(first.line));
            return Callee {
                name: name.clone(),
                id,
                file: Some(file.to_owned()),
                line,
                candidates: own.len(),
            };
        }
        let found = view
            .and_then(|view| units_named(view, name, &filter, MAX_CALLEE_CANDIDATES).ok())
            .unwrap_or_default();
        let found: Vec<FoundUnit> = found
            .into_iter()
            .filter(|one| Kind::from_name(&one.unit.kind).is_some_and(is_callable))
            .collect();
        let nearest = found.iter().min_by_key(|one| (distance(&one.path, file), one.path.clone()));
        Callee {
            name: name.clone(),
            id: nearest.map(|one| one.unit.id.clone()),
            file: nearest.map(|one| one.path.clone()),
            line: nearest.map(|one| one.unit.span.first),
            candidates: found.len(),
        }
    };
    names.take(MAX_LISTED).map(callee).collect()
}

/// Whether a definition of this kind can be called; classes can.
fn is_callable(kind: Kind) -> bool {
    kind.is_callable() || matches!(kind, Kind::Class | Kind::Struct | Kind::Macro)
}

/// Number of folders between two files.
fn distance(a: &str, b: &str) -> usize {
    let shared = a.split('/').zip(b.split('/')).take_while(|(a, b)| a == b).count();
    a.split('/').count() + b.split('/').count() - 2 * shared
}

fn is_test(one: &Occurrence) -> bool {
    let inside = one.inside.as_deref().unwrap_or_default();
    is_test_path(&one.file)
        || inside
            .rsplit(['.', ':'])
            .next()
            .is_some_and(|name| name.to_ascii_lowercase().starts_with("test"))
        || inside.split("::").any(|part| part == "tests")
}

fn is_test_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let folder = lower.split('/').any(|part| {
        matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__" | "testing" | "testdata")
    });
    folder
        || name.starts_with("test_")
        || ["_test.", ".test.", ".spec.", "_spec.", "tests."].iter().any(|mark| name.contains(mark))
}

fn render(answer: &SymbolAnswer) -> String {
    let SymbolAnswer { annotation, file, source, cut, .. } = answer;
    let mut text = format!(
        "{} {} ({file}:{}-{})",
        annotation.kind.singular(),
        annotation.qualified_name,
        annotation.line,
        annotation.end_line
    );
    let _ok = write!(text, "\n\n{source}");
    if *cut > 0 {
        let _ok = write!(text, "\n… {} more", count_noun(*cut, "line"));
    }
    push_places(&mut text, "Called by", &answer.callers);
    push_callees(&mut text, &answer.callees);
    push_places(&mut text, "Tests", &answer.tests);
    if !answer.others.is_empty() {
        let _ok =
            write!(text, "\n\nOther definitions with this name: {}", answer.others.join(", "));
    }
    text
}

fn push_places(text: &mut String, title: &str, places: &[Occurrence]) {
    if places.is_empty() {
        return;
    }
    let _ok = write!(text, "\n\n{title}:");
    let mut by_definition: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for one in places {
        let inside = one.inside.as_deref().unwrap_or("top level");
        by_definition.entry((&one.file, inside)).or_default().push(one.line);
    }
    for ((file, inside), lines) in by_definition {
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let _ok = write!(text, "\n- {inside} ({file}:{})", lines.join(", "));
    }
}

fn push_callees(text: &mut String, callees: &[Callee]) {
    let (here, elsewhere): (Vec<&Callee>, Vec<&Callee>) =
        callees.iter().partition(|one| one.file.is_some());
    if !here.is_empty() {
        text.push_str("\n\nCalls:");
    }
    for one in here {
        let place = one.file.as_deref().unwrap_or_default();
        let line = one.line.unwrap_or_default();
        let several = if one.candidates > 1 {
            format!(", or one of {} others", one.candidates - 1)
        } else {
            String::new()
        };
        let _ok = write!(text, "\n- {} ({place}:{line}{several})", one.name);
    }
    if !elsewhere.is_empty() {
        let names: Vec<&str> = elsewhere.iter().map(|one| one.name.as_str()).collect();
        let _ok = write!(text, "\n\nCalls from outside the project: {}", names.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_recognized_by_path_or_name() {
        for path in [
            "tests/a.py",
            "pkg/test_a.py",
            "src/a.test.ts",
            "a_test.go",
            "src/__tests__/a.js",
            "spec/a_spec.rb",
        ] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["src/a.py", "src/contest.py", "latest/a.py"] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn nearer_files_are_nearer() {
        assert!(distance("a/b/c.rs", "a/b/d.rs") < distance("a/e/c.rs", "a/b/d.rs"));
    }
}
