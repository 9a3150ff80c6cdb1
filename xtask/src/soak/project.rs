//! The served project, created in a temporary folder together with the keys, the log and the audit log.

use super::{
    flaky_server,
    questions::{LONG_FOLDER, SoakIdentity, SoakPrincipal},
};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Files in the folder that is slow to parse.
const LONG_FILES: usize = 60;
/// Functions in each of them.
const LONG_FUNCTIONS: usize = 60;

/// The project's folder; deleted when dropped.
#[derive(Debug)]
pub(super) struct SoakProject(TempDir);

impl SoakProject {
    /// Creates the project for this many clients.
    pub(super) fn make(clients: usize) -> Result<Self> {
        let project = Self(tempfile::tempdir().context("making a folder for the project")?);
        let root = project.root();
        for folder in ["clients", "src", "docs", LONG_FOLDER] {
            fs::create_dir_all(root.join(folder))?;
        }
        for folder in ["home", "state", "desks"] {
            fs::create_dir_all(project.0.path().join(folder))?;
        }
        for number in 0..clients {
            let asker = SoakIdentity::numbered(number);
            let name = &asker.name;
            let source = format!(
                "/** What desk {name} does. */\nexport function task_{name}(days: number): string {{\n  return \"{name}\" + days;\n}}\n"
            );
            fs::write(root.join(asker.source()), source)?;
            let page = format!(
                "# Desk {name}\n\n## Opening hours\n\nThe opening hours of desk {name} are from nine to five.\n"
            );
            fs::write(root.join(format!("docs/{name}.md")), page)?;
        }
        fs::write(
            root.join("src/fees.ts"),
            "/** The late fee for a book. */\nexport function lateFee(days: number): number {\n  return days * 10;\n}\n",
        )?;
        for file in 0..LONG_FILES {
            let mut text = String::new();
            for function in 0..LONG_FUNCTIONS {
                writeln!(
                    text,
                    "/** Step {function}. */\nexport function step{file}x{function}(input: number): number {{\n  if (input > {function}) {{ return input; }}\n  return {file};\n}}\n"
                )?;
            }
            fs::write(root.join(LONG_FOLDER).join(format!("part{file}.ts")), text)?;
        }
        fs::write(project.config(), serde_json::to_string_pretty(&project.settings()?)?)?;
        Ok(project)
    }

    /// Where the sources are.
    pub(super) fn root(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// The audit log.
    pub(super) fn audit(&self) -> PathBuf {
        self.state().join("audit.jsonl")
    }

    /// The log file.
    pub(super) fn log(&self) -> PathBuf {
        self.state().join("docent.log")
    }

    /// The folder where the downstream servers write; only their arguments contain it.
    pub(super) fn servers_folder(&self) -> PathBuf {
        self.0.path().join("desks")
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("docent.json")
    }

    fn settings(&self) -> Result<Value> {
        let key = |principal: SoakPrincipal| json!({"name": principal.name(), "token": principal.token(), "scopes": principal.scopes()});
        Ok(json!({
            "server": {
                "auth": {"keys": [key(SoakPrincipal::Alpha), key(SoakPrincipal::Beta)]},
                "rate_limit": {"enabled": false},
                "logging": {"file": self.log()},
            },
            // Sessions that clients abandon must end during the soak, not after it.
            "limits": {"session_idle_ms": 30_000},
            // If docent rotated a file itself, it would replace the previous one and lines would be lost.
            "audit": {"file": self.audit(), "max_bytes": 1_u64 << 40},
            "docs": {"collections": {"desks": {"path": self.root().join("docs")}}},
            "mcp_servers": flaky_server::entries(&self.servers_folder())?,
        }))
    }

    /// Returns the command that serves this project, without any other configuration.
    pub(super) fn serve(&self, docent: &Path, port: u16) -> Command {
        let home = self.0.path().join("home");
        let mut command = Command::new(docent);
        command.env_clear().env("HOME", &home).env("NO_COLOR", "1");
        for name in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"] {
            command.env(name, home.join(name));
        }
        command.args(["serve", "--transport", "http,sse,websocket", "--config"]).arg(self.config());
        command.arg("--root").arg(self.root()).args(["--port", &port.to_string()]);
        command.current_dir(self.root());
        command
    }

    /// Reads every line of the audit log, including renamed files.
    pub(super) fn audit_lines(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(self.state()).context("reading the folder of the audit")? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("audit.") {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("reading {}", path.display()))?;
                lines.extend(text.lines().map(str::to_owned));
            }
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_files_and_no_file_contains_a_mark() {
        let project = SoakProject::make(3).unwrap();
        let config = fs::read_to_string(project.config()).unwrap();
        assert!(config.contains(SoakPrincipal::Beta.token()), "{config}");
        for number in 0..3 {
            let asker = SoakIdentity::numbered(number);
            let text = fs::read_to_string(project.root().join(asker.source())).unwrap();
            assert!(text.contains(&asker.name) && !text.contains("mark-"), "{text}");
        }
    }

    #[test]
    fn a_renamed_audit_is_still_read() {
        let project = SoakProject::make(1).unwrap();
        fs::write(project.audit(), "new\n").unwrap();
        fs::write(project.audit().with_extension("rotated-1"), "old\nolder\n").unwrap();
        fs::write(project.log(), "no line of the audit\n").unwrap();
        let mut lines = project.audit_lines().unwrap();
        lines.sort_unstable();
        assert_eq!(lines, ["new", "old", "older"]);
    }
}
