//! A downstream server that the soak kills repeatedly: this program, run with a hidden subcommand.
//!
//! It has a tool for each kind of side effect (`look` is read-only, `stamp` is idempotent, `sign` is neither), answers
//! out of order, and logs what it has signed.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, BufRead as _, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "soak-desk";
/// The number of downstream servers.
pub(super) const FLAKY_SERVERS: u32 = 3;

/// The side effects that a tool declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SideEffects {
    /// Read-only.
    Reads,
    /// Idempotent.
    Repeats,
    /// Not idempotent: calling twice would be wrong.
    None,
}

impl SideEffects {
    pub(super) const ALL: [Self; 3] = [Self::Reads, Self::Repeats, Self::None];

    /// The tool's name on its server.
    pub(super) const fn tool(self) -> &'static str {
        match self {
            Self::Reads => "look",
            Self::Repeats => "stamp",
            Self::None => "sign",
        }
    }

    fn listed(self) -> Value {
        let annotations = match self {
            Self::Reads => json!({"readOnlyHint": true}),
            Self::Repeats => json!({"readOnlyHint": false, "idempotentHint": true}),
            Self::None => json!({"readOnlyHint": false, "idempotentHint": false}),
        };
        json!({
            "name": self.tool(),
            "description": "Answers with the text it was given",
            "inputSchema": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "pause_ms": {"type": "integer"}},
                "required": ["text"],
            },
            "annotations": annotations,
        })
    }
}

/// Returns a server's name in docent's configuration.
pub(super) fn name(number: u32) -> String {
    format!("desk{}", number % FLAKY_SERVERS)
}

/// Returns the file in which a server logs what it has signed.
fn signed_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.signed"))
}

/// Returns the server entries of docent's configuration. The first server always runs, the others run on demand.
pub(super) fn entries(folder: &Path) -> Result<Value> {
    let program = std::env::current_exe().context("finding this program")?;
    let entry = |number: u32| {
        let name = name(number);
        let one = json!({
            "command": program, "args": [SUBCOMMAND, name, folder], "warm": number == 0,
            "sandbox": {"write": [folder]},
        });
        (name, one)
    };
    Ok(Value::Object((0..FLAKY_SERVERS).map(entry).collect()))
}

/// Counts how often each text was signed, over all servers.
pub(super) fn signed(folder: &Path) -> BTreeMap<String, u32> {
    let mut times = BTreeMap::new();
    for number in 0..FLAKY_SERVERS {
        // A server that never signed has no file.
        let text = fs::read_to_string(signed_file(folder, &name(number))).unwrap_or_default();
        for line in text.lines() {
            *times.entry(line.to_owned()).or_default() += 1;
        }
    }
    times
}

/// Serves on standard input and output until the input ends.
pub(crate) fn run(name: &str, folder: &Path) -> Result<()> {
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let file = signed_file(folder, name);
        // One thread per request, so that answers are out of order.
        thread::spawn(move || answer(&message, &file));
    }
    Ok(())
}

fn answer(message: &Value, file: &Path) -> Result<()> {
    let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
        return Ok(());
    };
    let params = &message["params"];
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "desk", "version": "1"},
        }),
        "tools/list" => json!({"tools": SideEffects::ALL.map(SideEffects::listed)}),
        "tools/call" => call(params, file)?,
        "ping" => json!({}),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn call(params: &Value, file: &Path) -> Result<Value> {
    let (tool, arguments) = (&params["name"], &params["arguments"]);
    let text = arguments["text"].as_str().unwrap_or_default();
    if tool == SideEffects::None.tool() {
        let mut file = OpenOptions::new().append(true).create(true).open(file)?;
        // A single write, so that the line is complete or missing whenever the process is killed.
        file.write_all(format!("{text}\n").as_bytes())?;
    }
    thread::sleep(Duration::from_millis(arguments["pause_ms"].as_u64().unwrap_or(0)));
    let said = format!("{} {text} by {}", tool.as_str().unwrap_or_default(), std::process::id());
    Ok(json!({"content": [{"type": "text", "text": said}]}))
}

/// Writes one line; a lock keeps the lines of several threads apart.
fn say(message: &Value) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_logged() {
        let folder = tempfile::tempdir().unwrap();
        let file = signed_file(folder.path(), &name(1));
        let ask = |tool: &str, text: &str| {
            let params = json!({"name": tool, "arguments": {"text": text}});
            call(&params, &file).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
        };
        assert!(ask("look", "a").starts_with("look a by "));
        assert!(ask("sign", "b").starts_with("sign b by "));
        ask("sign", "c");
        ask("sign", "b");
        let found = signed(folder.path());
        assert_eq!(found, BTreeMap::from([("b".to_owned(), 2), ("c".to_owned(), 1)]));
    }

    #[test]
    fn every_server_has_an_entry() {
        let entries = entries(Path::new("/folder")).unwrap();
        assert_eq!(entries.as_object().unwrap().len(), FLAKY_SERVERS as usize);
        assert_eq!(entries["desk0"]["warm"], true);
        assert_eq!(entries["desk2"]["args"], json!([SUBCOMMAND, "desk2", "/folder"]));
    }
}
