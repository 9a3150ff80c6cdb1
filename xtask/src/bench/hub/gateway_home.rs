//! A user's home and project for one measurement, with the server configuration of each gateway.

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

/// How docent lists the tools of downstream servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BenchExposure {
    /// Every tool.
    Direct,
    /// Only tools that discover the others.
    Discover,
}

impl BenchExposure {
    /// The configuration value.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Discover => "discover",
        }
    }
}

/// A downstream server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BenchDownstream {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

impl BenchDownstream {
    /// Creates this many servers of a program without arguments.
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

    /// Returns the command that starts the server.
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

/// A folder with a gateway's configuration and nothing of the real user's; deleted when dropped.
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

    /// Also opens folders that docent doesn't open to servers by default, such as a user's cache.
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
        // `serve` gets the path of its file. Commands without that option read it from the user's home; with the same
        // home, `serve` would read both files.
        let own = place.user().join(".config/docent");
        for folder in [&own, &place.home(), &place.root()] {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        fs::write(place.docent_toml(), &toml)?;
        fs::write(own.join("docent.toml"), &toml)?;
        fs::write(place.mcp_json(), json!({"mcpServers": blocks}).to_string())?;
        Ok(place)
    }

    /// The configuration file of gateways other than docent.
    pub(crate) fn mcp_json(&self) -> PathBuf {
        self.folder.path().join("mcp.json")
    }

    /// An empty home.
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

    /// Returns the command that serves docent with its servers, over stdio by default.
    pub(crate) fn serve(&self, docent: &DocentProgram) -> Command {
        let mut command = docent.of_user(&self.home(), &self.root());
        command.args(["serve", "--rate-limit", "0", "--root"]).arg(self.root());
        command.arg("--config").arg(self.docent_toml());
        command
    }

    /// Returns a docent command as a user with configured servers would type it.
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
