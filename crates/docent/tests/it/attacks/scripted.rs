//! A downstream server with scripted tools, which records everything it receives.

use crate::TestHome;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

const PYTHON: &str = "/usr/bin/python3";

/// A tool of such a server that takes anything.
pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does what {name} says."), "inputSchema": {"type": "object"}})
}

/// One whose only argument is `x`, under a schema of its own.
pub(super) fn tool_with(name: &str, x: &Value) -> Value {
    let mut tool = tool(name);
    tool["inputSchema"]["properties"] = json!({"x": x});
    tool
}

/// The server: its folder, which lies in the project.
pub(super) struct ScriptedDownstream(PathBuf);

impl ScriptedDownstream {
    pub(super) fn new(place: &TestHome, tools: &[Value]) -> Self {
        let folder = place.project().join("scripted");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("server.py"), include_str!("scripted.py")).unwrap();
        let scripted = Self(folder);
        scripted.offer(tools);
        scripted
    }

    /// What it offers whenever it is asked from now on.
    pub(super) fn offer(&self, tools: &[Value]) {
        fs::write(self.0.join("tools.json"), json!(tools).to_string()).unwrap();
    }

    /// Replaces a part of what it offers, also by what is not JSON.
    pub(super) fn replace_in_list(&self, old: &[u8], new: &[u8]) {
        let path = self.0.join("tools.json");
        let list = fs::read(&path).unwrap();
        let at = list.windows(old.len()).position(|part| part == old).unwrap();
        fs::write(path, [&list[..at], new, &list[at + old.len()..]].concat()).unwrap();
    }

    /// The program and its arguments, as a registry names them.
    pub(super) fn command(&self) -> Value {
        let script = self.0.join("server.py").display().to_string();
        let folder = self.0.display().to_string();
        json!({"command": PYTHON, "args": ["-I", script, folder]})
    }

    /// Settings in which it is the server `odd`, and each of its tools is in the list.
    pub(super) fn settings(&self, more: &str) -> String {
        let command = self.command();
        format!(
            "hub.exposure = \"direct\"\n{more}\n[mcp_servers.odd]\ncommand = {}\nargs = {}\n",
            command["command"], command["args"]
        )
    }

    /// The environment that it was started with.
    pub(super) fn environment(&self) -> Value {
        let text = fs::read_to_string(self.0.join("environment.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Every message that it got, as it came.
    pub(super) fn heard(&self) -> String {
        fs::read_to_string(self.0.join("heard.jsonl")).unwrap()
    }
}
