//! Writes the TypeScript declarations of clients, for the model that writes a script.

use crate::check::ScriptModule;
use crate::names;
use crate::schema::{TypeDeclarations, comment};
use crate::{ScriptClient, ToolDoc};
use serde_json::Value;
use std::fmt::Write as _;

/// The result type of `$call`. Repeated in each module, so that modules are self-contained.
const RESULT_DECLARATION: &str = "  export interface CallToolResult {
    content: Array<{ type: string; text?: string; data?: string; mimeType?: string; [key: string]: unknown }>;
    structuredContent?: any;
    isError?: boolean;
    [key: string]: unknown;
  }
";

/// Returns the `.d.ts` of one client: its tools as functions, and `$call`.
pub fn declarations(client: &ScriptClient) -> String {
    let module = ScriptModule::of(client);
    let mut types = TypeDeclarations::new();
    let mut functions = String::new();
    for (tool, (function, _)) in client.tools.iter().zip(&module.tools) {
        functions.push_str(&declare(tool, function, &mut types));
    }
    let about = comment(client.about.as_deref().unwrap_or_default(), 0);
    let gap = if about.is_empty() { "" } else { "\n" };
    let name = Value::from(format!("{}{}", names::MODULE_PREFIX, client.id));
    let mut text = format!("{about}{gap}declare module {name} {{\n");
    for declared in types.into_declared() {
        let _written = writeln!(text, "  {declared}");
    }
    text.push_str(&functions);
    text.push_str("  /** Calls a tool by its own name; resolves to the raw result. */\n");
    let own: Vec<String> =
        client.tools.iter().map(|tool| Value::from(tool.name.as_str()).to_string()).collect();
    let own = if own.is_empty() { "string".to_owned() } else { own.join(" | ") };
    let _written = writeln!(
        text,
        "  export function {}(tool: {own}, args?: Record<string, unknown>): Promise<CallToolResult>;",
        names::RAW_CALL
    );
    text.push_str(RESULT_DECLARATION);
    text.push_str("}\n");
    text
}

/// Returns the `.d.ts` of several clients, and of the global `mcp` with all of them.
pub fn declarations_of_all(clients: &[ScriptClient]) -> String {
    let mut text = String::from(
        "// A function takes one object, and resolves to the structured content of the result, else to its text (parsed where\n\
         // that is JSON), else to the raw result. A result with isError rejects with an Error that has server, tool and result.\n",
    );
    for client in clients {
        text.push('\n');
        text.push_str(&declarations(client));
    }
    text.push_str("\n/** Every client, by its id. */\ndeclare const mcp: {\n");
    for client in clients {
        let id = Value::from(client.id.as_str());
        let module = Value::from(format!("{}{}", names::MODULE_PREFIX, client.id));
        let _written = writeln!(text, "  {id}: typeof import({module});");
    }
    text.push_str("};\n");
    text
}

fn declare(tool: &ToolDoc, function: &str, types: &mut TypeDeclarations) -> String {
    let given = types.of(&tool.input_schema, 1);
    let needed =
        matches!(tool.input_schema.get("required"), Some(Value::Array(names)) if !names.is_empty());
    // A tool always takes an object.
    let given = if given == "unknown" { "Record<string, unknown>".to_owned() } else { given };
    let given = if needed { format!("args: {given}") } else { format!("args?: {given}") };
    let result =
        tool.output_schema.as_ref().map_or_else(|| "any".to_owned(), |schema| types.of(schema, 1));
    let mut about = tool.about.clone().unwrap_or_default();
    if tool.name != function {
        about = format!("{about}\nThe tool {:?}.", tool.name);
    }
    let about = comment(&about, 1);
    let gap = if about.is_empty() { String::new() } else { format!("  {about}\n") };
    format!("{gap}  export function {function}({given}): Promise<{result}>;\n")
}
