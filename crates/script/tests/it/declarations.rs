//! Declarations: types from schemas, good and bad ones.

use docent_script::{ScriptClient, ToolDoc, declarations, declarations_of_all};
use serde_json::{Value, json};

fn tool(name: &str, input: Value, output: Option<Value>) -> ToolDoc {
    ToolDoc { name: name.into(), about: None, input_schema: input, output_schema: output }
}

fn client(tools: Vec<ToolDoc>) -> ScriptClient {
    ScriptClient { id: "c".into(), about: None, tools }
}

/// The type that a schema becomes, as a property's.
#[track_caller]
fn check(schema: &Value, want: &str) {
    let input = json!({ "type": "object", "properties": { "p": schema }, "required": ["p"] });
    let text = declarations(&client(vec![tool("t", input, None)]));
    let line = text.lines().find_map(|line| line.strip_prefix("  export function t(args: { p: "));
    let got = line.and_then(|line| line.strip_suffix(" }): Promise<any>;"));
    assert_eq!(got, Some(want), "{text}");
}

#[test]
fn schemas_become_types() {
    check(&json!({ "type": "string" }), "string");
    check(&json!({ "type": "integer" }), "number");
    check(&json!({ "type": ["string", "null"] }), "string | null");
    check(
        &json!({ "type": "array", "items": { "type": ["string", "number"] } }),
        "(string | number)[]",
    );
    check(
        &json!({ "type": "array", "items": { "type": "object", "properties": { "a": {} } } }),
        "{ a?: unknown }[]",
    );
    check(&json!({ "type": "array" }), "unknown[]");
    check(
        &json!({ "prefixItems": [{ "type": "string" }, {}], "items": false }),
        "[string, unknown]",
    );
    check(&json!({ "prefixItems": [{ "type": "string" }] }), "[string, ...unknown[]]");
    check(&json!({ "enum": ["a", "b\"", 1, null, true] }), r#""a" | "b\"" | 1 | null | true"#);
    check(&json!({ "const": "x" }), r#""x""#);
    check(
        &json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }),
        "string | string[]",
    );
    check(&json!({ "oneOf": [{ "const": 1 }, { "const": 2 }], "description": "" }), "1 | 2");
    check(
        &json!({ "allOf": [{ "type": "object", "properties": { "a": { "type": "string" } } }, { "anyOf": [{ "type": "string" }, { "type": "null" }] }] }),
        "{ a?: string } & (string | null)",
    );
    check(&json!({ "type": "object" }), "Record<string, unknown>");
    check(
        &json!({ "type": "object", "additionalProperties": { "type": "number" } }),
        "{ [key: string]: number }",
    );
    check(&json!({ "type": "object", "additionalProperties": false }), "Record<string, never>");
    check(
        &json!({ "properties": { "a-b": {} }, "required": ["a-b", "z", "z"], "additionalProperties": true }),
        "{ \"a-b\": unknown; z: unknown; [key: string]: unknown }",
    );
    check(&json!({ "type": "string", "nullable": true }), "string | null");
    check(&json!({ "type": "boolean", "title": "x" }), "boolean");
    check(&json!(true), "unknown");
    check(&json!(false), "never");
    check(&json!({}), "unknown");
    check(&json!({ "type": "date" }), "unknown");
    check(
        &json!({ "type": 5, "enum": "x", "anyOf": {}, "properties": 7 }),
        "Record<string, unknown>",
    );
    check(&json!({ "$ref": "https://example.com/x.json" }), "unknown");
    check(&json!({ "$ref": "#/nowhere" }), "unknown");
    check(&json!({ "anyOf": [{}, { "type": "string" }] }), "unknown");
    check(&json!({ "anyOf": [] }), "unknown");
    check(&json!({ "enum": [] }), "unknown");
    check(&json!({ "enum": (0..101).collect::<Vec<_>>(), "type": "integer" }), "number");
}

#[test]
fn a_module_in_whole() {
    let node = json!({
        "type": "object",
        "properties": { "root": { "$ref": "#/$defs/tree-node" }, "depth": { "type": "integer", "default": 3, "description": "How deep. */ evil" } },
        "required": ["root"],
        "$defs": { "tree-node": { "description": "A node.", "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/tree-node" } } } } },
    });
    let client = ScriptClient {
        id: "tree\"s".into(),
        about: Some("Trees.\nMany\u{202e} of them.".into()),
        tools: vec![
            ToolDoc {
                name: "walk-tree".into(),
                about: Some("Walks.".into()),
                input_schema: node.clone(),
                output_schema: Some(
                    json!({ "type": "object", "properties": { "count": { "type": "number" } }, "required": ["count"] }),
                ),
            },
            tool("other", node, None),
            tool("delete", Value::Null, None),
        ],
    };
    let want = r#"/**
 * Trees.
 * Many of them.
 */
declare module "mcp-clients/tree\"s" {
  /** A node. */
  export type TreeNode = { children?: TreeNode[] };
  /**
   * Walks.
   * The tool "walk-tree".
   */
  export function walkTree(args: {
    root: TreeNode;
    /** How deep. *\/ evil (default: 3) */
    depth?: number;
  }): Promise<{ count: number }>;
  export function other(args: {
    root: TreeNode;
    /** How deep. *\/ evil (default: 3) */
    depth?: number;
  }): Promise<any>;
  /** The tool "delete". */
  export function delete_(args?: Record<string, unknown>): Promise<any>;
  /** Calls a tool by its own name; resolves to the raw result. */
  export function $call(tool: "walk-tree" | "other" | "delete", args?: Record<string, unknown>): Promise<CallToolResult>;
  export interface CallToolResult {
    content: Array<{ type: string; text?: string; data?: string; mimeType?: string; [key: string]: unknown }>;
    structuredContent?: any;
    isError?: boolean;
    [key: string]: unknown;
  }
}
"#;
    assert_eq!(declarations(&client), want);
    let all = declarations_of_all(&[client]);
    assert!(
        all.ends_with(
            "declare const mcp: {\n  \"tree\\\"s\": typeof import(\"mcp-clients/tree\\\"s\");\n};\n"
        ),
        "{all}"
    );
}

#[test]
fn endless_schemas_end() {
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    let text = declarations(&client(vec![
        tool("deep", deep, None),
        tool("me", json!({ "$ref": "#" }), None),
        tool(
            "each",
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
            None,
        ),
        tool(
            "promise",
            json!({ "properties": { "x": { "$ref": "#/$defs/Promise" } }, "$defs": { "Promise": { "type": "string" } } }),
            None,
        ),
    ]));
    assert!(text.contains("a?: unknown"), "{text}");
    assert!(text.contains("export type Promise2 = string;"), "{text}");
    for name in ["Whole", "A", "B"] {
        assert!(text.contains(&format!("export type {name} = unknown;")), "{name} in {text}");
    }
    let chain: serde_json::Map<String, Value> = (0..50_000)
        .map(|at| (format!("d{at}"), json!({ "$ref": format!("#/$defs/d{}", at + 1) })))
        .collect();
    let text = declarations(&client(vec![tool(
        "chain",
        json!({ "$ref": "#/$defs/d0", "$defs": chain }),
        None,
    )]));
    assert!(text.contains("export type D0 = D1;") && text.contains("export type D299 = unknown;"));
}
