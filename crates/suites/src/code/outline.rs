//! `outline`: shows the nested definitions of a file or folder within a token budget.

use super::{
    parse_files::{FileProblem, count_noun},
    project::{CodeProject, ParseFailure},
    sweep::stopped,
};
use crate::{
    apps,
    files::{PathKind as EntryKind, ReadFailure, RootPath},
    worker_pools,
};
use docent_syntax::{Annotation, Kind, Language, parse};
use docent_tool::{CallContext, ToolAnswer, ToolError, TypedTool};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::Arc,
};

/// Maximum number of files read in a folder; for a larger one, the caller must name subfolders.
const MAX_FILES: usize = 2000;
/// Average number of letters per token.
const LETTERS_PER_TOKEN: usize = 4;
/// Maximum number of problems listed in the text.
const MAX_LISTED_PROBLEMS: usize = 10;

/// `outline`.
#[derive(Debug)]
pub(crate) struct OutlineTool {
    pub(crate) project: Arc<CodeProject>,
}

/// Arguments of `outline`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct OutlineArgs {
    /// File or folder; default: the whole project.
    #[serde(default = "top")]
    pub path: String,
    /// Approximate maximum size of the answer in tokens; innermost details are dropped first.
    #[serde(default = "budget")]
    #[schemars(range(min = 100, max = 50000))]
    pub max_tokens: usize,
}

fn top() -> String {
    ".".into()
}

fn budget() -> usize {
    4000
}

/// Answer of `outline`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutlineAnswer {
    /// The requested file or folder.
    pub path: String,
    /// Outline per file.
    pub files: Vec<FileOutline>,
    /// Total number of source files.
    pub total_files: usize,
    /// Total number of definitions.
    pub total_definitions: usize,
    /// Level of detail.
    pub detail: Detail,
    /// Approximate size in tokens.
    pub tokens: usize,
    /// Files that were skipped, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

/// Level of detail of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Only folders, with counts.
    Folders,
    /// Files, with counts.
    Files,
    /// Top-level definitions.
    Top,
    /// All definitions.
    Whole,
}

/// Outline of a file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FileOutline {
    /// Path of the file, or of the folder if files do not fit.
    pub path: String,
    /// Definitions in source order; omitted if they do not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<OutlineItem>,
    /// Number of definitions.
    pub definitions: usize,
}

/// A definition.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Item")]
pub struct OutlineItem {
    /// Name.
    pub name: String,
    /// Kind of definition.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// First line.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Signature on one line.
    pub signature: String,
    /// Nested definitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<OutlineItem>,
}

impl TypedTool for OutlineTool {
    const NAME: &'static str = "outline";
    const TITLE: &'static str = "Outline of a file or folder";
    const DESCRIPTION: &'static str = "Show the definitions of a file, a folder or the whole project, nested, with line numbers, in as much detail as fits the token limit: from \
         every method down to folders with counts. Use it before reading files.";
    const APP: Option<&'static str> = Some(apps::CODE_MAP.uri);
    type Args = OutlineArgs;
    type Answer = OutlineAnswer;

    async fn call(
        &self,
        args: OutlineArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<OutlineAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| outline(&project, &args, context)).await
    }
}

fn outline(
    project: &CodeProject,
    args: &OutlineArgs,
    context: &CallContext,
) -> Result<ToolAnswer<OutlineAnswer>, ToolError> {
    let place = project.roots.resolve(&args.path).map_err(|error| error.into_tool_error("path"))?;
    let kind = project.roots.kind(&place).map_err(|problem| problem.into_tool_error("path"))?;
    let single = kind != EntryKind::Folder;
    let mut problems = Vec::new();
    let (places, more) = if single {
        (vec![place.clone()], false)
    } else {
        files(project, &place, &mut problems, context)?
    };
    let mut all = Vec::with_capacity(places.len());
    let read = |place: &RootPath| file(project, place, context);
    for read in worker_pools::run(|| places.par_iter().map(read).collect::<Vec<_>>()) {
        match read {
            Ok(file) => all.push(file),
            Err(unread) if single => {
                return Err(match unread {
                    ParseFailure::Problem(problem) => {
                        ToolError::argument("path", problem.to_string())
                    }
                    stopped @ ParseFailure::Stopped => stopped.into_tool_error(context.stop()),
                });
            }
            Err(ParseFailure::Problem(problem)) => problems.push(problem),
            Err(ParseFailure::Stopped) => {}
        }
    }
    let partial = stopped(context)?;
    let path = project.path_of(&place);
    let (total_files, total_definitions) =
        (all.len(), all.iter().map(|file| file.definitions).sum());
    let head = format!(
        "{path}: {}, {}",
        count_noun(total_files, "file"),
        count_noun(total_definitions, "definition")
    );
    let (shown, detail, mut text) = fit(&head, &path, all, args.max_tokens * LETTERS_PER_TOKEN);
    if detail < Detail::Whole {
        text.push_str(
            "\n\nNot everything fits: set path to a folder or file inside it, or raise maxTokens.",
        );
    }
    if more {
        let _ok = write!(
            text,
            "\n\nThere are more than {MAX_FILES} source files; the rest were not read."
        );
    }
    push_problems(&mut text, &problems);
    let tokens = text.len() / LETTERS_PER_TOKEN;
    let problems = problems.into_iter().map(Into::into).collect();
    let answer = OutlineAnswer {
        path,
        files: shown,
        total_files,
        total_definitions,
        detail,
        tokens,
        problems,
    };
    Ok(ToolAnswer::new(answer, text).partial(partial))
}

/// Lists the first problems; the structured answer has all of them.
fn push_problems(text: &mut String, problems: &[ReadFailure]) {
    if problems.is_empty() {
        return;
    }
    text.push_str("\n\nProblems:");
    for problem in problems.iter().take(MAX_LISTED_PROBLEMS) {
        let _ok = write!(text, "\n- {problem}");
    }
    if let Some(more @ 1..) = problems.len().checked_sub(MAX_LISTED_PROBLEMS) {
        let _ok = write!(text, "\n- and {more} more");
    }
}

/// Lists the source files of a folder. Also returns whether there are more. Unreadable entries become problems.
fn files(
    project: &CodeProject,
    folder: &RootPath,
    problems: &mut Vec<ReadFailure>,
    context: &CallContext,
) -> Result<(Vec<RootPath>, bool), ToolError> {
    let mut places = Vec::new();
    for entry in project.roots.walk(folder) {
        if stopped(context)? || places.len() > MAX_FILES {
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let language = Language::from_path(entry.place.relative());
        if entry.kind == EntryKind::File && language.is_some_and(|one| one.settings().searched) {
            places.push(entry.place);
        }
    }
    let more = places.len() > MAX_FILES;
    places.truncate(MAX_FILES);
    Ok((places, more))
}

fn file(
    project: &CodeProject,
    place: &RootPath,
    context: &CallContext,
) -> Result<FileOutline, ParseFailure> {
    let halt = || context.stop().is_some();
    let parsed = project.parse(place, None, &halt)?;
    if halt() {
        return Err(ParseFailure::Stopped);
    }
    let all = parse::definitions(parsed.language, &parsed.path, &parsed.text, &parsed.tree);
    parsed.check()?;
    let definitions = all.len();
    let items = nest(all.into_iter().map(|one| one.annotation).collect());
    Ok(FileOutline { path: parsed.path, items, definitions })
}

/// Nests definitions. The input is in source order, outer definitions first.
fn nest(annotations: Vec<Annotation>) -> Vec<OutlineItem> {
    let mut by_id: HashMap<String, usize> = HashMap::new();
    let mut parents: Vec<Option<usize>> = Vec::new();
    let mut items: Vec<Option<OutlineItem>> = Vec::new();
    for one in annotations {
        parents.push(one.parent.as_ref().and_then(|parent| by_id.get(parent).copied()));
        by_id.insert(one.id, items.len());
        items.push(Some(OutlineItem {
            name: one.name,
            kind: one.kind,
            line: one.line,
            end_line: one.end_line,
            signature: one.signature,
            items: Vec::new(),
        }));
    }
    // From last to first, so that an item is complete before it moves into its parent.
    let mut top = Vec::new();
    for n in (0..items.len()).rev() {
        let Some(mut item) = items[n].take() else { continue };
        item.items.reverse();
        match parents[n].and_then(|parent| items[parent].as_mut()) {
            Some(parent) => parent.items.push(item),
            None => top.push(item),
        }
    }
    top.reverse();
    top
}

/// Picks the most detailed outline that fits into `letters`.
fn fit(
    head: &str,
    path: &str,
    all: Vec<FileOutline>,
    letters: usize,
) -> (Vec<FileOutline>, Detail, String) {
    let top_only: Vec<FileOutline> = all.iter().map(without_members).collect();
    let files_only: Vec<FileOutline> =
        all.iter().map(|file| FileOutline { items: Vec::new(), ..file.clone() }).collect();
    let folders = folders(path, &all);
    let steps = [
        (all, Detail::Whole),
        (top_only, Detail::Top),
        (files_only, Detail::Files),
        (folders, Detail::Folders),
    ];
    let mut last = (Vec::new(), Detail::Folders, head.to_owned());
    for (shown, detail) in steps {
        let text = render(head, &shown);
        if text.len() <= letters {
            return (shown, detail, text);
        }
        last = (shown, detail, text);
    }
    // Even the folders do not fit: keep as many as do.
    let (mut shown, detail, mut text) = last;
    while text.len() > letters && shown.len() > 1 {
        shown.truncate(shown.len() * letters / text.len().max(1));
        text = render(head, &shown);
    }
    (shown, detail, text)
}

fn without_members(file: &FileOutline) -> FileOutline {
    let bare = |item: &OutlineItem| OutlineItem { items: Vec::new(), ..item.clone() };
    FileOutline { items: file.items.iter().map(bare).collect(), ..file.clone() }
}

/// Sums up definitions by direct subfolder.
fn folders(path: &str, all: &[FileOutline]) -> Vec<FileOutline> {
    let mut sums: BTreeMap<String, usize> = BTreeMap::new();
    for file in all {
        let rest = file
            .path
            .strip_prefix(path)
            .map_or(file.path.as_str(), |rest| rest.trim_start_matches('/'));
        let folder = match rest.split_once('/') {
            Some((first, _)) if path == "." => format!("{first}/"),
            Some((first, _)) => format!("{path}/{first}/"),
            None => file.path.clone(),
        };
        *sums.entry(folder).or_default() += file.definitions;
    }
    let folder = |(path, definitions)| FileOutline { path, items: Vec::new(), definitions };
    sums.into_iter().map(folder).collect()
}

fn render(head: &str, files: &[FileOutline]) -> String {
    let mut text = head.to_owned();
    for file in files {
        let _ok = write!(text, "\n{}", file.path);
        if file.items.is_empty() && file.definitions > 0 {
            let _ok = write!(text, ": {}", count_noun(file.definitions, "definition"));
        }
        let mut pending: Vec<(&OutlineItem, usize)> =
            file.items.iter().rev().map(|item| (item, 1)).collect();
        while let Some((item, depth)) = pending.pop() {
            let lines = if item.line == item.end_line {
                item.line.to_string()
            } else {
                format!("{}-{}", item.line, item.end_line)
            };
            let _ok = write!(text, "\n{}{lines} {}", "  ".repeat(depth), item.signature);
            pending.extend(item.items.iter().rev().map(|inner| (inner, depth + 1)));
        }
    }
    text
}
