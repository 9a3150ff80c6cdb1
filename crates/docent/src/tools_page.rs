//! Generates the reference page of the built-in tools, resource templates and prompts from their definitions.

use docent_suites::{SuiteOptions, docs::CollectionSettings, files::ServedRoots, web};
use docent_tool::{App, Object, PromptInfo, TemplateInfo, ToolHints, ToolInfo, ToolProvider};
use serde_json::Value;
use std::{fmt::Write as _, path::Path, sync::Arc};

/// The placeholder for the name of a configured collection.
const COLLECTION: &str = "COLLECTION";

const INTRODUCTION: &str = "\
# Tools

The tools that docent offers to clients. Arguments are validated against their schema before a tool runs; unknown
arguments are rejected. A result has its fields in `structuredContent` and the same as text in `content`. The
scope of a key is the name of a tool, a suite such as `code:*`, or `*`: see `server.auth.keys` in
[configuration.md](configuration.md). `COLLECTION` stands for the names under `docs.collections`.
";

const PAGES: &str = "
## Pages

Clients that support MCP Apps (`io.modelcontextprotocol/ui`, with `text/html;profile=mcp-app`) get these pages in lists of
resources, and in `_meta.ui.resourceUri` of the tools whose results they show. Other clients do not see them.

| address | shows | tools |
|---|---|---|
";

/// The template of files, whose real one contains the path of the root.
const FILE_TEMPLATE: &str = "file:///path/to/project/{+path}";

/// Returns the page in Markdown. `root` must exist; nothing in it is read.
pub(crate) fn reference_page(root: &Path) -> anyhow::Result<String> {
    let roots = ServedRoots::open(&[root.to_owned()])?;
    let collections = vec![CollectionSettings::new(COLLECTION, ".", "")];
    // No tool runs for this page, so no index is needed.
    let index = Arc::new(|| Err("there is no index here".into()));
    let (synonyms, web) = (Arc::default(), web::WebSettings::off());
    let options =
        SuiteOptions { roots, collections, synonyms, index, index_when_listed: false, web };
    Ok(page(&docent_suites::suites(options).providers))
}

fn page(providers: &[Arc<dyn ToolProvider>]) -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("\n| tool | suite | for |\n|---|---|---|\n");
    let tools: Vec<(&str, ToolInfo)> = providers
        .iter()
        .flat_map(|provider| provider.tools().into_iter().map(|tool| (provider.key(), tool.info())))
        .collect();
    for (suite, tool) in &tools {
        let title = tool.title.as_deref().unwrap_or_default();
        let name = &tool.name;
        line(&mut page, &format!("| [{name}](#{name}) | `{suite}` | {} |", cell(title)));
    }
    for (suite, tool) in &tools {
        describe_tool(suite, tool, &mut page);
    }
    page.push_str(
        "\n## Resource templates\n\n| address | contents | media type |\n|---|---|---|\n",
    );
    for template in providers.iter().flat_map(|provider| provider.templates()) {
        template_row(&template, &mut page);
    }
    describe_apps(providers, &mut page);
    page.push_str("\n## Prompts\n");
    for prompt in providers.iter().flat_map(|provider| provider.prompts()) {
        describe_prompt(&prompt, &mut page);
    }
    page
}

fn describe_tool(suite: &str, tool: &ToolInfo, page: &mut String) {
    let hints = tool.hints.map_or_else(String::new, |hints| format!(" {}", hint_words(hints)));
    line(page, &format!("\n## {}\n\nSuite `{suite}`.{hints}\n\n{}\n", tool.name, tool.description));
    page.push_str("| argument | type | required | default | accepted | meaning |\n|---|---|---|---|---|---|\n");
    for FieldRow { path, schema, required } in fields(&tool.input_schema, "", true) {
        let default = schema.get("default").map_or_else(String::new, |value| format!("`{value}`"));
        let row = [
            format!("`{path}`"),
            kind(schema),
            if required { "yes" } else { "no" }.to_owned(),
            default,
            accepted_values(schema),
            meaning(schema),
        ];
        line(page, &format!("| {} |", row.map(|text| cell(&text)).join(" | ")));
    }
    let Some(answer) = &tool.output_schema else { return };
    page.push_str("\n| field of the answer | type | always there | meaning |\n|---|---|---|---|\n");
    for FieldRow { path, schema, required } in fields(answer, "", false) {
        let always = if required { "yes" } else { "no" }.to_owned();
        let row = [format!("`{path}`"), kind(schema), always, meaning(schema)];
        line(page, &format!("| {} |", row.map(|text| cell(&text)).join(" | ")));
    }
}

fn template_row(template: &TemplateInfo, page: &mut String) {
    let about = template.about.as_deref().or(template.title.as_deref()).unwrap_or_default();
    let mime = template.mime.as_deref().map_or_else(String::new, |mime| format!("`{mime}`"));
    let is_file = template.uri_template.starts_with("file:");
    let uri = if is_file { FILE_TEMPLATE } else { &template.uri_template };
    line(page, &format!("| `{uri}` | {} | {mime} |", cell(about)));
}

fn describe_apps(providers: &[Arc<dyn ToolProvider>], page: &mut String) {
    let mut apps: Vec<App> = providers.iter().flat_map(|provider| provider.apps()).collect();
    apps.sort_by_key(|app| app.uri);
    apps.dedup_by_key(|app| app.uri);
    let tools: Vec<ToolInfo> =
        providers.iter().flat_map(|provider| provider.tools()).map(|tool| tool.info()).collect();
    page.push_str(PAGES);
    for app in apps {
        let shown = tools.iter().filter(|tool| tool.app == Some(app.uri));
        let shown: Vec<String> = shown.map(|tool| format!("[{0}](#{0})", tool.name)).collect();
        line(page, &format!("| `{}` | {} | {} |", app.uri, cell(app.about), shown.join(", ")));
    }
}

fn describe_prompt(prompt: &PromptInfo, page: &mut String) {
    let about = prompt.about.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
    line(page, &format!("\n### {}\n\n{about}\n", prompt.name));
    page.push_str("| argument | required | meaning |\n|---|---|---|\n");
    for argument in &prompt.arguments {
        let required = if argument.required { "yes" } else { "no" };
        let about = cell(argument.about.as_deref().unwrap_or_default());
        line(page, &format!("| `{}` | {required} | {about} |", argument.name));
    }
}

fn hint_words(hints: ToolHints) -> String {
    let changes = match hints {
        ToolHints { read_only: true, .. } => "Changes nothing",
        ToolHints { destructive: true, .. } => "May destroy something",
        _ => "Changes something",
    };
    let again = if hints.idempotent && !hints.read_only {
        "; a second call changes nothing more"
    } else {
        ""
    };
    let reach = if hints.open_world { "reaches the network" } else { "stays on this machine" };
    format!("{changes}{again}; {reach}.")
}

/// One row of a table.
struct FieldRow<'a> {
    path: String,
    schema: &'a Object,
    required: bool,
}

/// Returns the fields of an object; with `deep`, including nested fields.
fn fields<'a>(schema: &'a Object, prefix: &str, deep: bool) -> Vec<FieldRow<'a>> {
    let needed = schema.get("required").and_then(Value::as_array);
    let mut all = Vec::new();
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let Some(schema) = schema.as_object() else { continue };
        let required = needed.is_some_and(|names| names.iter().any(|needed| needed == name));
        let path = format!("{prefix}{name}");
        let inner = match (deep, schema.get("items").and_then(Value::as_object)) {
            (false, _) => Vec::new(),
            (true, Some(items)) => fields(items, &format!("{path}[]."), deep),
            (true, None) => fields(schema, &format!("{path}."), deep),
        };
        all.push(FieldRow { path, schema, required });
        all.extend(inner);
    }
    all
}

fn kind(schema: &Object) -> String {
    let of = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    match schema.get("items").and_then(Value::as_object) {
        Some(items) if of == "array" => format!("array of {}", kind(items)),
        _ => of.to_owned(),
    }
}

/// Describes the accepted values or bounds.
fn accepted_values(schema: &Object) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let words = values
            .iter()
            .map(|value| format!("`{}`", value.as_str().map_or(value.to_string(), str::to_owned)));
        return words.collect::<Vec<_>>().join(", ");
    }
    let mut all = Vec::new();
    for (least, most, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ] {
        match (schema.get(least), schema.get(most)) {
            (Some(least), Some(most)) => all.push(format!("{least} to {most}{unit}")),
            (Some(least), None) => all.push(format!("{least} or more{unit}")),
            (None, Some(most)) => all.push(format!("at most {most}{unit}")),
            (None, None) => {}
        }
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        all.push(format!("`{pattern}`"));
    }
    all.join(", ")
}

fn meaning(schema: &Object) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn line(page: &mut String, text: &str) {
    // Writing to a string can't fail.
    writeln!(page, "{text}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: &Value, want: &[&str]) {
        let rows: Vec<String> = fields(schema.as_object().unwrap(), "", true)
            .iter()
            .map(|field| {
                let needed = if field.required { "!" } else { "" };
                format!(
                    "{}{needed}: {} ({})",
                    field.path,
                    kind(field.schema),
                    accepted_values(field.schema)
                )
            })
            .collect();
        assert_eq!(rows, want, "{schema}");
    }

    #[test]
    fn schemas_become_rows() {
        check(&json!({}), &[]);
        check(
            &json!({"required": ["a"], "properties": {
                "a": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^x"},
                "b": {"type": "string", "enum": ["p", "q"]},
                "c": {"type": "integer", "minimum": 0},
                "d": {}
            }}),
            &[
                "a!: string (1 to 9 characters, `^x`)",
                "b: string (`p`, `q`)",
                "c: integer (0 or more)",
                "d: any ()",
            ],
        );
        let inner = json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "number", "maximum": 1}}});
        check(
            &json!({"properties": {"one": inner, "many": {"type": "array", "maxItems": 3, "items": inner}}}),
            &[
                "one: object ()",
                "one.x!: number (at most 1)",
                "many: array of object (at most 3 items)",
                "many[].x!: number (at most 1)",
            ],
        );
    }

    #[test]
    fn every_tool_template_and_prompt_has_its_place() {
        let root = tempfile::tempdir().unwrap();
        let page = reference_page(root.path()).unwrap();
        for want in [
            "\n## analyze_repository\n",
            "| `options.threshold` | number | no | `0.7` | 0.0 to 1.0 |",
            "`all`, `COLLECTION`",
            "Changes nothing; reaches the network.",
            "| `ast://project/{path}` |",
            "| `file:///path/to/project/{+path}` |",
            "| `ui://docent/search` |",
            "\n### answer_from_docs\n",
        ] {
            assert!(page.contains(want), "no {want:?} in\n{page}");
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0, "the root was written to");
    }

    #[test]
    fn a_cell_keeps_its_text_in_one_row() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
