//! `find_references`: finds every occurrence of a symbol.

use super::{
    parse_files::{FileProblem, count_noun},
    project::CodeProject,
    references::{self, Occurrence},
};
use docent_syntax::references::{Role, is_called};
use docent_tool::{CallContext, ToolAnswer, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

/// `find_references`.
#[derive(Debug)]
pub(crate) struct FindReferences {
    pub(crate) project: Arc<CodeProject>,
}

/// Arguments of `find_references`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReferencesArgs {
    /// Name (`save`), qualified name (`Row.save`) or annotation id.
    #[schemars(length(min = 1, max = 500))]
    pub symbol: String,
    /// Only references in this file or folder.
    #[serde(default)]
    pub path: Option<String>,
    /// Only references with these roles: definition, call, import, use.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// Maximum number of references.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: usize,
}

/// Maximum number of skipped files listed in the text.
const MAX_PROBLEMS: usize = 10;

fn hundred() -> usize {
    100
}

/// Answer of `find_references`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReferencesAnswer {
    /// Name that was searched for.
    pub name: String,
    /// References, by file and line.
    pub references: Vec<Occurrence>,
    /// Total number of references.
    pub total: usize,
    /// Qualified names of all definitions with this name; a reference may be to any of them.
    pub definitions: Vec<String>,
    /// Number of files searched.
    pub files: usize,
    /// Files that contain the name but could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

impl TypedTool for FindReferences {
    const NAME: &'static str = "find_references";
    const TITLE: &'static str = "Find references to a symbol";
    const DESCRIPTION: &'static str = "Find every place where a function, type or other symbol is defined, called, imported or used, with file, line and the \
         enclosing definition. Reads the current files; ignores comments and strings. Matching is by name only: the answer lists \
         all definitions with that name.";
    type Args = ReferencesArgs;
    type Answer = ReferencesAnswer;

    async fn call(
        &self,
        args: ReferencesArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<ReferencesAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| find(&project, &args, context)).await
    }
}

/// Returns the last name of a symbol, and the symbol without the prefix and suffix of an id.
pub(crate) fn name_of(symbol: &str) -> (String, String) {
    let parts: Vec<&str> = symbol.splitn(3, ':').collect();
    let path = match parts.as_slice() {
        [kind, file, path]
            if docent_syntax::Kind::from_name(kind).is_some() && !file.is_empty() =>
        {
            path
        }
        _ => symbol,
    };
    // `f#2` is the second `f` of its file; `#f` is a private name.
    let path = match path.rsplit_once('#') {
        Some((before, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            before
        }
        _ => path,
    };
    let last = path.rsplit(['.', ':', '/', '\\']).next().unwrap_or(path);
    (last.trim_end_matches("()").to_owned(), path.trim_end_matches("()").to_owned())
}

fn find(
    project: &CodeProject,
    args: &ReferencesArgs,
    context: &CallContext,
) -> Result<ToolAnswer<ReferencesAnswer>, ToolError> {
    let (name, path) = name_of(&args.symbol);
    if name.is_empty() {
        return Err(ToolError::argument("symbol", "give a name, such as save or Row.save"));
    }
    let within = args.path.as_deref().map(|path| {
        let place = project.roots.resolve(path).map_err(|error| error.into_tool_error("path"));
        place.map(|place| project.path_of(&place))
    });
    let within = within.transpose()?;
    let known = references::find(project, &name, context)?;
    let definitions: BTreeSet<String> =
        known.definitions.iter().map(|one| one.annotation.qualified_name.clone()).collect();
    let is_one = |one: &references::SymbolDefinition| is_called(&one.annotation, &path);
    if path != name && !definitions.is_empty() && !known.definitions.iter().any(is_one) {
        let all: Vec<String> = definitions.iter().take(10).cloned().collect();
        return Err(ToolError::not_found(format!(
            "no definition named {path}; definitions named {name}: {}",
            all.join(", ")
        )));
    }
    let takes = |one: &Occurrence| {
        let here = within.as_ref().is_none_or(|folder| {
            let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
            folder == "." || one.file.strip_prefix(folder.as_str()).is_some_and(below)
        });
        here && (args.roles.is_empty() || args.roles.contains(&one.role))
    };
    let all: Vec<Occurrence> = known.places.into_iter().filter(takes).collect();
    let total = all.len();
    let answer = ReferencesAnswer {
        name,
        references: all.into_iter().take(args.limit).collect(),
        total,
        definitions: definitions.into_iter().collect(),
        files: known.files,
        problems: known.problems.into_iter().map(FileProblem::from).collect(),
    };
    let mut text = render(&answer);
    for FileProblem { path, reason } in answer.problems.iter().take(MAX_PROBLEMS) {
        let _ok = write!(text, "\n{path}: {reason}");
    }
    if known.partial {
        text.push_str("\n\nThis is partial: time ran out before every file was searched.");
    }
    Ok(ToolAnswer::new(answer, text).partial(known.partial))
}

fn render(answer: &ReferencesAnswer) -> String {
    let ReferencesAnswer { name, references, total, definitions, files, .. } = answer;
    if *total == 0 {
        return format!(
            "No references to {name} ({} searched; strings and comments not searched)",
            count_noun(*files, "file")
        );
    }
    let mut text =
        format!("{} to {name} in {}", count_noun(*total, "reference"), count_noun(*files, "file"));
    if definitions.len() > 1 {
        let some: Vec<&str> = definitions.iter().take(8).map(String::as_str).collect();
        let more = if definitions.len() > 8 { ", …" } else { "" };
        let _ok = write!(
            text,
            "; {} definitions have this name: {}{more}",
            definitions.len(),
            some.join(", ")
        );
    }
    let mut file = "";
    for one in references {
        if one.file != file {
            file = &one.file;
            let _ok = write!(text, "\n{file}");
        }
        let role = format!("{:?}", one.role).to_lowercase();
        let inside = one.inside.as_ref().map_or_else(String::new, |inside| format!(" in {inside}"));
        let _ok = write!(text, "\n  {} {role}{inside}: {}", one.line, one.text);
    }
    if references.len() < *total {
        let _ok = write!(text, "\nand {} more; raise limit, or set path", total - references.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_looked_for() {
        let cases = [
            ("save", "save", "save"),
            ("Row.save", "save", "Row.save"),
            ("shop::Table::len", "len", "shop::Table::len"),
            ("method:src/t.rs:Table::len", "len", "Table::len"),
            ("function:src/a.py:f#2", "f", "f"),
            ("save()", "save", "save"),
            ("A.#secret", "#secret", "A.#secret"),
        ];
        for (symbol, name, path) in cases {
            assert_eq!(name_of(symbol), (name.to_owned(), path.to_owned()), "{symbol}");
        }
    }
}
