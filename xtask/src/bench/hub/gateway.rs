//! The measured gateways: how each is installed and started in front of servers, and how it names their tools.

use super::gateway_home::GatewayHome;
use crate::{
    bench::{
        message::ECHO,
        peer::{command_output, pinned_version, sources},
        post::EchoEndpoint,
    },
    docent::DocentProgram,
    install,
    process::{BackgroundProcess, free_port},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::Value;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// A gateway that takes longer than this to listen is broken.
const START_LIMIT: Duration = Duration::from_mins(1);

const INSPECTOR_VERSION: &str = "2.12.0";

/// A gateway by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Gateway {
    /// `docent serve`.
    Docent,
    /// mcp-proxy, the Python program.
    PypiMcpProxy,
    /// mcp-proxy, the Node program.
    NpmMcpProxy,
    /// `fastmcp run` with a file that names servers.
    Fastmcp,
}

/// How a client reaches a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GatewayTransport {
    Stdio,
    Http,
}

impl Gateway {
    /// The name in tables.
    pub(super) const fn display_name(self) -> &'static str {
        match self {
            Self::Docent => "docent",
            Self::PypiMcpProxy => "PyPI mcp-proxy",
            Self::NpmMcpProxy => "npm mcp-proxy",
            Self::Fastmcp => "FastMCP",
        }
    }

    /// Whether the gateway supports this transport for stdio servers.
    pub(super) const fn has(self, front: GatewayTransport) -> bool {
        matches!((self, front), (Self::Docent | Self::Fastmcp, _) | (_, GatewayTransport::Http))
    }

    /// Returns the names of these servers' echo tools.
    pub(super) fn tools(self, servers: &[&str]) -> Vec<String> {
        match (self, servers) {
            (Self::Docent, _) => servers.iter().map(|name| format!("{name}__{ECHO}")).collect(),
            // The tools of a single server keep their names.
            (Self::Fastmcp, [_, _, ..]) => {
                servers.iter().map(|name| format!("{name}_{ECHO}")).collect()
            }
            _ => vec![ECHO.to_owned()],
        }
    }
}

/// An installed gateway.
#[derive(Debug)]
pub(super) struct InstalledGateway<'a> {
    pub(super) gateway: Gateway,
    pub(super) version: String,
    docent: &'a DocentProgram,
    program: PathBuf,
    script: Vec<OsString>,
}

impl<'a> InstalledGateway<'a> {
    /// Installs a gateway.
    pub(super) fn prepare(
        workspace: &XtaskWorkspace,
        docent: &'a DocentProgram,
        gateway: Gateway,
    ) -> Result<Self> {
        let (version, program, script) = match gateway {
            Gateway::Docent => {
                (docent.version(workspace)?, docent.program().to_path_buf(), Vec::new())
            }
            Gateway::PypiMcpProxy => python_program(workspace, "pypi-mcp-proxy", "mcp-proxy")?,
            Gateway::Fastmcp => python_program(workspace, "fastmcp", "fastmcp")?,
            Gateway::NpmMcpProxy => {
                let wanted = ("mcp-proxy", "dist/bin/mcp-proxy.mjs");
                node_program(workspace, "npm-mcp-proxy", wanted)?
            }
        };
        Ok(Self { gateway, version, docent, program, script })
    }

    /// Returns the command that runs the gateway over stdio.
    pub(super) fn on_pipes(&self, place: &GatewayHome) -> Command {
        let mut command = match self.gateway {
            Gateway::Docent => return place.serve(self.docent),
            _ => self.command(place),
        };
        // Besides docent, only FastMCP supports stdio.
        command.arg("run").arg(place.mcp_json()).args(["--no-banner", "--log-level", "ERROR"]);
        command
    }

    /// Starts the gateway over HTTP, in several processes if needed; returns the endpoints of the tools.
    pub(super) fn listen(
        &self,
        place: &GatewayHome,
    ) -> Result<(Vec<BackgroundProcess>, Vec<EchoEndpoint>)> {
        let names: Vec<&str> = place.servers.iter().map(|server| server.name.as_str()).collect();
        let tools = self.gateway.tools(&names);
        let (mut running, mut endpoints) = (Vec::new(), Vec::new());
        if self.gateway == Gateway::NpmMcpProxy {
            // It serves one server, so each server needs a process.
            for server in &place.servers {
                let port = free_port()?;
                let mut command = self.command(place);
                command.args(["--host", "127.0.0.1", "--port"]).arg(port.to_string()).arg("--");
                command.arg(&server.program).args(&server.arguments);
                running.push(BackgroundProcess::listening(&mut command, port, START_LIMIT)?);
                endpoints.push(EchoEndpoint::at(port));
            }
            return Ok((running, endpoints));
        }
        let port = free_port()?;
        let mut command = self.on_port(place, port);
        running.push(BackgroundProcess::listening(&mut command, port, START_LIMIT)?);
        if self.gateway == Gateway::PypiMcpProxy {
            // Each server has its own URL.
            endpoints.extend(names.iter().map(|name| EchoEndpoint {
                path: format!("/servers/{name}/mcp"),
                ..EchoEndpoint::at(port)
            }));
        } else {
            endpoints.push(EchoEndpoint { tools, ..EchoEndpoint::at(port) });
        }
        Ok((running, endpoints))
    }

    fn on_port(&self, place: &GatewayHome, port: u16) -> Command {
        let mut command = match self.gateway {
            Gateway::Docent => {
                let mut command = place.serve(self.docent);
                command.args(["--transport", "http"]);
                command
            }
            Gateway::Fastmcp => {
                let mut command = self.on_pipes(place);
                command.args(["--transport", "http"]);
                command
            }
            Gateway::PypiMcpProxy | Gateway::NpmMcpProxy => {
                let mut command = self.command(place);
                command.args(["--log-level", "ERROR", "--named-server-config"]);
                command.arg(place.mcp_json());
                command
            }
        };
        command.arg("--port").arg(port.to_string());
        command
    }

    fn command(&self, place: &GatewayHome) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.script).current_dir(place.home()).env("HOME", place.home());
        command
    }
}

/// A program's version, its executable or interpreter, and its arguments.
pub(crate) type Program = (String, PathBuf, Vec<OsString>);

/// Installs a pinned Python package and finds its program.
pub(super) fn python_program(
    workspace: &XtaskWorkspace,
    pins: &str,
    program: &str,
) -> Result<Program> {
    let requirements = sources(workspace, "hub").join(format!("{pins}.txt"));
    let python =
        install::python_environment(workspace, &format!("bench-hub-python-{pins}"), &requirements)?;
    let version = pinned_version(&fs::read_to_string(&requirements)?, program)
        .with_context(|| format!("{pins}.txt doesn't pin {program}"))?;
    let version =
        format!("{program} {version} on {}", command_output(Command::new(&python).arg("-V"))?);
    let script = python.parent().context("python has no folder")?.join(program);
    Ok((version, script, Vec::new()))
}

/// Installs a folder's pinned packages and finds the script of one.
pub(super) fn node_program(
    workspace: &XtaskWorkspace,
    pins: &str,
    (package, script): (&str, &str),
) -> Result<Program> {
    let (modules, node) = node_modules(workspace, pins)?;
    node_script(&modules.join(package), script, node)
}

/// Installs the official MCP inspector.
pub(crate) fn official_inspector(workspace: &XtaskWorkspace) -> Result<Program> {
    let pin = ("@modelcontextprotocol/inspector", INSPECTOR_VERSION);
    lone_node_program(workspace, pin, "clients/launcher/build/index.js")
}

/// Installs a package whose dependencies differ by machine, so that only the package itself is pinned.
fn lone_node_program(
    workspace: &XtaskWorkspace,
    (package, version): (&str, &str),
    script: &str,
) -> Result<Program> {
    let node = install::node(workspace)?;
    let name = format!("bench-hub-{}", package.rsplit('/').next().unwrap_or(package));
    let modules = install::npm_package(workspace, &name, &format!("{package}@{version}"))?;
    node_script(&modules.join(package), script, node.program)
}

fn node_script(folder: &Path, script: &str, node: PathBuf) -> Result<Program> {
    let about: Value = serde_json::from_slice(&fs::read(folder.join("package.json"))?)?;
    let word =
        |key: &str| about[key].as_str().with_context(|| format!("package.json has no {key}"));
    let running = command_output(Command::new(&node).arg("-v"))?;
    let version = format!("{} {} on node {running}", word("name")?, word("version")?);
    Ok((version, node, vec![folder.join(script).into()]))
}

/// Installs a folder's pinned packages; returns their folder and the Node that runs them.
pub(super) fn node_modules(workspace: &XtaskWorkspace, pins: &str) -> Result<(PathBuf, PathBuf)> {
    let node = install::node(workspace)?;
    let from = sources(workspace, "hub").join(pins);
    let folder = install::npm_packages(workspace, &node, &format!("bench-hub-{pins}"), &from)?;
    Ok((folder.join("node_modules"), node.program))
}

/// Resolves a program to the path that the kernel reports for it.
pub(crate) fn real(program: &Path) -> Result<PathBuf> {
    fs::canonicalize(program).with_context(|| format!("looking for {}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gateway_has_its_names() {
        let check = |gateway: Gateway, servers: &[&str], expected: &[&str]| {
            assert_eq!(gateway.tools(servers), expected, "{gateway:?} {servers:?}");
        };
        check(Gateway::Docent, &["a"], &["a__echo"]);
        check(Gateway::Docent, &["a", "b"], &["a__echo", "b__echo"]);
        check(Gateway::Fastmcp, &["a"], &["echo"]);
        check(Gateway::Fastmcp, &["a", "b"], &["a_echo", "b_echo"]);
        check(Gateway::PypiMcpProxy, &["a", "b"], &["echo"]);
        check(Gateway::NpmMcpProxy, &["a"], &["echo"]);
    }

    #[test]
    fn only_two_gateways_have_pipes() {
        let on_pipes = |gateway: &Gateway| gateway.has(GatewayTransport::Stdio);
        let found: Vec<_> = Gateway::value_variants().iter().copied().filter(on_pipes).collect();
        assert_eq!(found, [Gateway::Docent, Gateway::Fastmcp]);
        assert!(
            Gateway::value_variants().iter().all(|gateway| gateway.has(GatewayTransport::Http))
        );
    }
}
