//! `docent tools`: lists tools with their arguments and token costs.

use super::{
    args::ToolsFlags,
    connection::{ListCost, ServerCard},
    console::ShellConsole,
    layout::{self, ListRow},
    results::print_json,
    schema::{ArgumentSchema, JsonType, SchemaProperty, display_value},
};
use docent_hub::estimate_tokens;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// How tokens are counted.
const TOKEN_ESTIMATE_NOTE: &str = "Estimated from each definition as compact JSON, as sent to clients; within 7 % of OpenAI's o200k_base in our checks.";
/// Maximum depth of objects in a table of arguments.
const MAX_TABLE_DEPTH: usize = 4;
/// Maximum number of rows in a table.
const MAX_TABLE_ROWS: usize = 300;

/// The tools of one server.
pub(crate) struct ToolList {
    /// The server's name for the user.
    pub(crate) label: String,
    /// What the server reports about itself.
    pub(crate) card: ServerCard,
    /// The definitions, as sent.
    pub(crate) tools: Vec<Value>,
    /// The cost of the lists per exposure mode.
    pub(crate) exposed: Option<ListCost>,
}

/// Prints the lists of one or more servers.
pub(crate) fn show(
    servers: &[ToolList],
    flags: &ToolsFlags,
    console: &ShellConsole,
) -> anyhow::Result<()> {
    if flags.json {
        return print_json(console, &as_json(servers, flags.tokens));
    }
    let mut text = String::new();
    for server in servers {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&head(server, servers.len() > 1, console));
        if flags.tokens {
            text.push_str(&costs(server, console));
        } else {
            let rows: Vec<ListRow> = server.tools.iter().map(row).collect();
            text.push_str(&layout::rows(&rows, &console.terminal));
        }
    }
    let has_required = !flags.tokens && text.contains('*');
    if flags.tokens {
        text.push_str(&sums(servers));
    }
    console.print(&text)?;
    if has_required && console.terminal.stdout {
        console.print_error("* required; `docent tools NAME` tells all about one");
    }
    Ok(())
}

fn name(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the schema of the arguments, also in the spelling of older servers.
pub(crate) fn input_schema(tool: &Value) -> &Value {
    tool.get("inputSchema").or_else(|| tool.get("input_schema")).unwrap_or(&Value::Null)
}

fn head(server: &ToolList, several: bool, console: &ShellConsole) -> String {
    let ServerCard { name, version, protocol, .. } = &server.card;
    let label = if several && server.label != *name {
        format!("{}: ", server.label)
    } else {
        String::new()
    };
    let count = server.tools.len();
    let plural = if count == 1 { "" } else { "s" };
    let line = format!("{label}{name} {version} ({protocol}), {count} tool{plural}");
    let instructions = server.card.instructions.as_deref().filter(|_| console.verbose);
    let instructions = instructions.map(layout::indent).unwrap_or_default();
    let line = layout::bold(&docent_screen::one_line(&line), &console.terminal);
    format!("{line}\n{instructions}")
}

fn row(tool: &Value) -> ListRow {
    let text = |key: &str| tool.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let arguments = layout::arguments(ArgumentSchema::of(input_schema(tool)), true);
    let hints = hints(tool).join(", ");
    let notes = match (arguments.is_empty(), hints.is_empty()) {
        (true, true) => "no arguments".into(),
        (true, false) => format!("no arguments [{hints}]"),
        (false, true) => arguments,
        (false, false) => format!("{arguments} [{hints}]"),
    };
    let about = text("description").or(text("title")).unwrap_or_default();
    ListRow { name: name(tool).into(), about: about.into(), notes }
}

/// Describes the annotations of a definition; missing ones are not guessed.
fn hints(tool: &Value) -> Vec<&'static str> {
    let hint = |key: &str| tool.pointer(&format!("/annotations/{key}")).and_then(Value::as_bool);
    let words = [
        ("readOnlyHint", "read-only", "writes"),
        ("destructiveHint", "may destroy", "destroys nothing"),
        ("idempotentHint", "repeatable", ""),
        ("openWorldHint", "reaches out", ""),
    ];
    let reads_only = hint("readOnlyHint") == Some(true);
    let mut all = Vec::new();
    for (key, yes, no) in words {
        // The protocol defines these two only for tools that change something.
        if reads_only && matches!(key, "destructiveHint" | "idempotentHint") {
            continue;
        }
        match hint(key) {
            Some(true) => all.push(yes),
            Some(false) if !no.is_empty() => all.push(no),
            _ => {}
        }
    }
    all
}

fn cost(tool: &Value) -> usize {
    estimate_tokens(&tool.to_string())
}

/// Returns the cost of the part of a definition that most clients show to a model.
fn essential_cost(tool: &Value) -> usize {
    let keys = ["name", "description", "inputSchema", "input_schema"];
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), tool.get(*key)?.clone())));
    estimate_tokens(&Value::Object(kept.collect::<Map<_, _>>()).to_string())
}

fn costs(server: &ToolList, console: &ShellConsole) -> String {
    let mut all: Vec<(usize, &Value)> =
        server.tools.iter().map(|tool| (cost(tool), tool)).collect();
    all.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    let sum: usize = all.iter().map(|(cost, _)| cost).sum();
    let mut lines: Vec<Vec<String>> =
        all.iter().map(|(cost, tool)| vec![format!("{cost:>7}"), name(tool).to_owned()]).collect();
    lines.push(vec![format!("{sum:>7}"), "total".into()]);
    layout::table(&lines, &console.terminal)
}

fn sums(servers: &[ToolList]) -> String {
    let all = || servers.iter().flat_map(|server| &server.tools);
    let total: usize = all().map(cost).sum();
    let essential: usize = all().map(essential_cost).sum();
    let mut text = String::from("\n");
    if servers.len() > 1 {
        // Writing to a string can't fail.
        let _ok = writeln!(text, "{total} tokens in all {} servers.", servers.len());
    }
    let _ok = writeln!(
        text,
        "{essential} of them for names, descriptions and arguments, which is what most clients show a model."
    );
    for ListCost { direct, discover, set, now } in servers.iter().filter_map(|one| one.exposed) {
        let chosen = if set == now { String::new() } else { format!(", which picks {now}") };
        let _ok = writeln!(
            text,
            "direct {direct}, discover {discover}: all tools of other servers in docent's list, or four that find them. hub.exposure is {set}{chosen}."
        );
    }
    text + TOKEN_ESTIMATE_NOTE + "\n"
}

fn as_json(servers: &[ToolList], with_tokens: bool) -> Value {
    let one = |server: &ToolList| {
        let mut all = json!({"tools": server.tools});
        if with_tokens {
            let each: Map<String, Value> = server
                .tools
                .iter()
                .map(|tool| (name(tool).to_owned(), cost(tool).into()))
                .collect();
            let total: usize = server.tools.iter().map(cost).sum();
            let essential: usize = server.tools.iter().map(essential_cost).sum();
            all["tokens"] = json!({
                "total": total, "essential": essential, "tools": each, "counted": TOKEN_ESTIMATE_NOTE,
            });
            if let Some(ListCost { direct, discover, set, now }) = server.exposed {
                all["tokens"]["exposure"] =
                    json!({"direct": direct, "discover": discover, "set": set, "now": now});
            }
        }
        all
    };
    if let [server] = servers {
        return one(server);
    }
    let all = servers.iter().map(|server| (server.label.clone(), one(server)));
    json!({"servers": all.collect::<Map<_, _>>()})
}

/// Describes one tool in detail. `named` selects its server on a command line.
pub(crate) fn describe(
    tool: &Value,
    named: &str,
    flags: &ToolsFlags,
    console: &ShellConsole,
) -> anyhow::Result<()> {
    if flags.json {
        let mut shown = tool.clone();
        if flags.tokens {
            shown = json!({"tool": tool, "tokens": {"total": cost(tool), "essential": essential_cost(tool), "counted": TOKEN_ESTIMATE_NOTE}});
        }
        return print_json(console, &shown);
    }
    let terminal = &console.terminal;
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    let title = [
        text("title"),
        tool.pointer("/annotations/title").and_then(Value::as_str).unwrap_or_default(),
    ];
    let title = title.into_iter().find(|title| !title.is_empty() && *title != name(tool));
    let title = title.map_or_else(String::new, |title| format!("  {title}"));
    let line = docent_screen::one_line(&format!("{}{title}", name(tool))).into_owned();
    let mut page = format!("{}\n", layout::bold(&line, terminal));
    page.push_str(&layout::indent(text("description")));
    let hints = hints(tool);
    if !hints.is_empty() {
        let _ok = writeln!(page, "\n  Hints: {}.", hints.join(", "));
    }
    let schema = ArgumentSchema::of(input_schema(tool));
    let _ok = writeln!(page, "\n{}", layout::bold("Arguments", terminal));
    let mut lines = Vec::new();
    fields(schema, "", MAX_TABLE_DEPTH, &mut lines);
    if lines.is_empty() {
        page.push_str("  none\n");
    }
    page.push_str(&layout::table(&lines, terminal));
    let _ok = writeln!(page, "\n{}\n  {}", layout::bold("Example", terminal), example(tool, named));
    if let Some(answer) = tool.get("outputSchema").filter(|schema| schema.is_object()) {
        let mut lines = Vec::new();
        fields(ArgumentSchema::of(answer), "", MAX_TABLE_DEPTH, &mut lines);
        let _ok = writeln!(page, "\n{}", layout::bold("Answer", terminal));
        page.push_str(&layout::table(&lines, terminal));
    }
    if flags.tokens {
        let (cost, essential) = (cost(tool), essential_cost(tool));
        let _ok = writeln!(
            page,
            "\n{cost} tokens; {essential} for the name, the description and the arguments alone.\n{TOKEN_ESTIMATE_NOTE}"
        );
    }
    console.print(&page)
}

/// Adds a row for each field, and for the fields inside it.
fn fields(schema: ArgumentSchema<'_>, prefix: &str, depth: usize, lines: &mut Vec<Vec<String>>) {
    for SchemaProperty { name, schema, required } in schema.properties() {
        if lines.len() >= MAX_TABLE_ROWS {
            return;
        }
        let path = format!("{prefix}{name}");
        let mut about: Vec<String> = Vec::new();
        about.extend(schema.text("description").map(str::to_owned));
        let accepted = schema.accepted();
        about.extend((!accepted.is_empty()).then(|| format!("({accepted})")));
        about.extend(
            schema.get("default").map(|value| format!("[default: {}]", display_value(value))),
        );
        let needed = if required { "required" } else { "" };
        lines.push(vec![path.clone(), schema.kind_words(), needed.to_owned(), about.join(" ")]);
        if depth > 0 {
            match schema.members() {
                Some(members) => fields(members, &format!("{path}[]."), depth - 1, lines),
                None => fields(schema, &format!("{path}."), depth - 1, lines),
            }
        }
    }
}

/// Returns a command line that calls the tool, with example values from the schema if it has any.
fn example(tool: &Value, named: &str) -> String {
    let required =
        ArgumentSchema::of(input_schema(tool)).properties().into_iter().filter(|one| one.required);
    let words: Vec<String> = required.map(|one| word(&one)).collect();
    let all =
        [&["docent".to_owned(), "call".to_owned(), shell_quote(name(tool))][..], &words].concat();
    docent_screen::one_line(&format!("{}{named}", all.join(" "))).into_owned()
}

fn word(one: &SchemaProperty<'_>) -> String {
    let kind = one.schema.branches().first().map_or(JsonType::Any, |branch| branch.kind);
    let named = one.schema.items("examples").first().or_else(|| one.schema.get("default"));
    let value = named.or_else(|| one.schema.all_choices().first().copied());
    if let Some(value) = value {
        let raw = if value.is_array() || value.is_object() { ":=" } else { "=" };
        return format!("{}{raw}{}", one.name, shell_quote(&display_value(value)));
    }
    match kind {
        JsonType::String | JsonType::Any => format!("{}=TEXT", one.name),
        JsonType::Number | JsonType::Integer => format!("{}=1", one.name),
        JsonType::Boolean => format!("{}=true", one.name),
        JsonType::Null => format!("{}:=null", one.name),
        JsonType::Array => format!("{}:='[…]'", one.name),
        JsonType::Object => format!("{}:='{{…}}'", one.name),
    }
}

/// Quotes text for a shell.
pub(crate) fn shell_quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
