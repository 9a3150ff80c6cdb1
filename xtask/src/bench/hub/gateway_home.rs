//! A user's home and project for one measurement: the servers behind a gateway, written the way each gateway reads them.

use crate::docent::DocentProgram;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// How docent lists what the servers behind it have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchExposure {
    /// Every tool.
    Direct,
    /// Tools that find the others.
    Discover,
}

impl BenchExposure {
    /// As the configuration has it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Discover => "discover",
        }
    }
}

/// A server behind a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BenchDownstream {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

impl BenchDownstream {
    /// So many of a program that needs no arguments.
    pub(crate) fn many(program: &Path, count: usize) -> Vec<Self> {
        let name = |number| format!("s{number}");
        (0..count)
            .map(|number| Self {
                name: name(number),
                program: program.into(),
                arguments: Vec::new(),
            })
            .collect()
    }

    /// The server alone.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    fn json(&self) -> Value {
        let arguments: Vec<_> =
            self.arguments.iter().map(|argument| argument.to_string_lossy()).collect();
        json!({"command": self.program.to_string_lossy(), "args": arguments})
    }
}

/// A folder with everything that a gateway is to know, and nothing of the user who measures. It is gone when dropped.
#[derive(Debug)]
pub(crate) struct GatewayHome {
    folder: TempDir,
    pub(crate) servers: Vec<BenchDownstream>,
}

impl GatewayHome {
    /// Writes the configurations.
    pub(crate) fn new(servers: Vec<BenchDownstream>, exposure: BenchExposure) -> Result<Self> {
        Self::open(servers, exposure, &[])
    }

    /// The same where servers lie in folders that docent does not open to them by itself, as a user's cache.
    pub(crate) fn open(
        servers: Vec<BenchDownstream>,
        exposure: BenchExposure,
        folders: &[&Path],
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("docent-hub-").tempdir()?;
        let place = Self { folder, servers };
        let blocks: Map<String, Value> =
            place.servers.iter().map(|server| (server.name.clone(), server.json())).collect();
        let toml = toml::to_string(&json!({
            "mcp_servers": blocks,
            "hub": {"exposure": exposure.word()},
            "policy": {"sandbox": {"read": folders}},
        }))?;
        // `serve` is told where its file is. Commands without that option have it where a user's own lies; a home that
        // `serve` has too would have it read both.
        let own = place.user().join(".config/docent");
        for folder in [&own, &place.home(), &place.root()] {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        fs::write(place.docent_toml(), &toml)?;
        fs::write(own.join("docent.toml"), &toml)?;
        fs::write(place.mcp_json(), json!({"mcpServers": blocks}).to_string())?;
        Ok(place)
    }

    /// What gateways other than docent read.
    pub(crate) fn mcp_json(&self) -> PathBuf {
        self.folder.path().join("mcp.json")
    }

    /// A home with nothing in it.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn docent_toml(&self) -> PathBuf {
        self.folder.path().join("docent.toml")
    }

    fn user(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// docent with its servers, on pipes unless more is said.
    pub(crate) fn serve(&self, docent: &DocentProgram) -> Command {
        let mut command = docent.of_user(&self.home(), &self.root());
        command.args(["serve", "--rate-limit", "0", "--root"]).arg(self.root());
        command.arg("--config").arg(self.docent_toml());
        command
    }

    /// docent as somebody types it who has configured the servers.
    pub(crate) fn shell_command(&self, docent: &DocentProgram, arguments: &[&str]) -> Command {
        let mut command = docent.of_user(&self.user(), &self.root());
        command.args(arguments);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_configurations_name_every_server() {
        let mut servers = BenchDownstream::many(Path::new("/a b/echo"), 2);
        servers.push(BenchDownstream {
            name: "x-y".to_owned(),
            program: "/node".into(),
            arguments: vec!["it's".into(), "\"q\"".into()],
        });
        let place = GatewayHome::new(servers, BenchExposure::Discover).unwrap();
        let json: Value = serde_json::from_slice(&fs::read(place.mcp_json()).unwrap()).unwrap();
        let block = &json["mcpServers"];
        assert_eq!(block["s1"], json!({"command": "/a b/echo", "args": []}));
        assert_eq!(block["x-y"], json!({"command": "/node", "args": ["it's", "\"q\""]}));
        let text = fs::read_to_string(place.docent_toml()).unwrap();
        let toml: Value = toml::from_str(&text).unwrap();
        assert_eq!(toml["mcp_servers"], *block, "{text}");
        assert_eq!(toml["hub"]["exposure"], "discover");
        let folder = place.home();
        drop(place);
        assert!(!folder.exists());
    }
}
