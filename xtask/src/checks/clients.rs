//! The step that connects the official clients, over every transport and era that each supports, to the release binary
//! and to the conformance fixture.

use super::{CheckContext, Npm, tally};
use crate::{
    process::{self, BackgroundProcess, OutputMode},
    report::CheckCounts,
};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

pub(super) const PYTHON_VERSIONS: [&str; 2] = ["v1", "v2"];

const START_LIMIT: Duration = Duration::from_secs(20);
const RUN_LIMIT: Duration = Duration::from_mins(3);
const PROJECT: &str = "tests/clients/project";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientProgram {
    PythonV1,
    PythonV2,
    TypeScriptClient,
    TypeScriptSdk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairingTransport {
    Stdio,
    Http,
    Sse,
    WebSocket,
}

/// How the client opens: with `initialize`, or with the stateless requests of 2026-07-28.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProtocolEra {
    Legacy,
    Modern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairingServer {
    Docent,
    Fixture,
}

/// What each client supports. Only older majors still ship a WebSocket transport; only newer ones know the modern era.
const MATRIX: [(ClientProgram, PairingTransport, ProtocolEra); 18] = {
    use ClientProgram::{PythonV1, PythonV2, TypeScriptClient, TypeScriptSdk};
    use PairingTransport::{Http, Sse, Stdio, WebSocket};
    use ProtocolEra::{Legacy, Modern};
    [
        (PythonV1, Stdio, Legacy),
        (PythonV1, Http, Legacy),
        (PythonV1, Sse, Legacy),
        (PythonV1, WebSocket, Legacy),
        (PythonV2, Stdio, Legacy),
        (PythonV2, Stdio, Modern),
        (PythonV2, Http, Legacy),
        (PythonV2, Http, Modern),
        (PythonV2, Sse, Legacy),
        (TypeScriptSdk, Stdio, Legacy),
        (TypeScriptSdk, Http, Legacy),
        (TypeScriptSdk, Sse, Legacy),
        (TypeScriptSdk, WebSocket, Legacy),
        (TypeScriptClient, Stdio, Legacy),
        (TypeScriptClient, Stdio, Modern),
        (TypeScriptClient, Http, Legacy),
        (TypeScriptClient, Http, Modern),
        (TypeScriptClient, Sse, Legacy),
    ]
};

/// One cell of the matrix: a client, a server and how they connect.
#[derive(Debug, Clone, Copy)]
struct ClientPairing {
    program: ClientProgram,
    transport: PairingTransport,
    era: ProtocolEra,
    server: PairingServer,
}

impl fmt::Display for ClientPairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, transport, era, server } = self;
        write!(f, "{} {} {} {}", program.name(), transport.name(), era.name(), server.name())
    }
}

impl ClientProgram {
    const fn name(self) -> &'static str {
        match self {
            Self::PythonV1 => "python-v1",
            Self::PythonV2 => "python-v2",
            Self::TypeScriptClient => "typescript-client",
            Self::TypeScriptSdk => "typescript-sdk",
        }
    }

    const fn script(self) -> &'static str {
        match self {
            Self::PythonV1 => "client_v1.py",
            Self::PythonV2 => "client_v2.py",
            Self::TypeScriptClient => "client.mjs",
            Self::TypeScriptSdk => "sdk.mjs",
        }
    }
}

impl PairingTransport {
    const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "websocket",
        }
    }

    fn url(self, port: u16) -> String {
        match self {
            Self::Stdio => String::new(),
            Self::Http => format!("http://127.0.0.1:{port}/mcp"),
            Self::Sse => format!("http://127.0.0.1:{port}/sse"),
            Self::WebSocket => format!("ws://127.0.0.1:{port}/ws"),
        }
    }
}

impl ProtocolEra {
    const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }
}

impl PairingServer {
    const fn name(self) -> &'static str {
        match self {
            Self::Docent => "docent",
            Self::Fixture => "fixture",
        }
    }
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let bench = PairingSetup::prepare(context)?;
    let mut total = Vec::new();
    for server in [PairingServer::Docent, PairingServer::Fixture] {
        for (program, transport, era) in MATRIX {
            let pairing = ClientPairing { program, transport, era, server };
            if context.filter.is_some_and(|word| !pairing.to_string().contains(word)) {
                continue;
            }
            let counts = bench.run_pairing(pairing).unwrap_or_else(|problem| {
                println!("FAIL  {pairing}: {problem:#}");
                CheckCounts::ONE_FAILED
            });
            println!("{pairing}: {counts}");
            total.push(counts);
        }
    }
    Ok(total.into_iter().sum())
}

/// Everything needed to connect a client to a server.
struct PairingSetup<'a> {
    context: &'a CheckContext<'a>,
    npm: Npm,
    python: [PathBuf; 2],
    docent: PathBuf,
    fixture: PathBuf,
    /// The TypeScript programs, next to the packages they import.
    typescript: PathBuf,
}

impl<'a> PairingSetup<'a> {
    fn prepare(context: &'a CheckContext<'a>) -> Result<Self> {
        let npm = context.npm()?;
        // Node looks for packages next to the importing file, and nothing may be installed into the repository.
        let typescript = npm.folder.join("programs");
        copy_folder(&context.path("tests/clients/typescript"), &typescript)?;
        let [v1, v2] = PYTHON_VERSIONS;
        Ok(Self {
            python: [context.python(v1)?, context.python(v2)?],
            docent: context.release_binary("docent")?,
            fixture: context.release_binary("conformance")?,
            context,
            npm,
            typescript,
        })
    }

    fn run_pairing(&self, pairing: ClientPairing) -> Result<CheckCounts> {
        let expectations = self
            .context
            .path("tests/clients/expect")
            .join(pairing.server.name())
            .with_extension("json");
        let project = tempfile::tempdir().context("making a folder for the project")?;
        copy_folder(&self.context.path(PROJECT), project.path())?;
        fill(project.path(), &expectations)?;

        let port = process::free_port()?;
        let mut server = None;
        let address = if pairing.transport == PairingTransport::Stdio {
            let command = self.stdio_server(pairing.server, project.path());
            json!(command).to_string()
        } else {
            let mut command = self.network_server(pairing.server, project.path(), port);
            server = Some(BackgroundProcess::listening(&mut command, port, START_LIMIT)?);
            pairing.transport.url(port)
        };

        let mut client = self.client(pairing.program);
        client.args(["--transport", pairing.transport.name(), "--era", pairing.era.name()]);
        client.args(["--address", &address]).arg("--expect").arg(&expectations);
        client.arg("--project").arg(project.path());
        let done = process::run(&mut client, RUN_LIMIT, OutputMode::Kept)?;
        let log = server.map(|mut server| server.end());

        let counts = tally::count(&tally::cases(&done.text)).with_status(done.success);
        if counts.failed > 0 {
            println!("{}\n({})", done.text.trim_end(), done.ending);
            if let Some(log) = log {
                println!("the server's last lines:\n{}", process::tail(&log, 20));
            }
        }
        Ok(counts)
    }

    fn client(&self, program: ClientProgram) -> Command {
        let python = |interpreter: &Path| {
            let mut command = Command::new(interpreter);
            command.arg("-B").arg(self.context.path("tests/clients/python").join(program.script()));
            command
        };
        match program {
            ClientProgram::PythonV1 => python(&self.python[0]),
            ClientProgram::PythonV2 => python(&self.python[1]),
            ClientProgram::TypeScriptClient | ClientProgram::TypeScriptSdk => {
                self.npm.script(&self.typescript.join(program.script()))
            }
        }
    }

    fn stdio_server(&self, server: PairingServer, project: &Path) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        match server {
            PairingServer::Docent => {
                vec![text(&self.docent), "serve".into(), "--root".into(), text(project)]
            }
            PairingServer::Fixture => vec![text(&self.fixture), "--stdio".into()],
        }
    }

    fn network_server(&self, server: PairingServer, project: &Path, port: u16) -> Command {
        let mut command = match server {
            PairingServer::Docent => {
                let mut command = Command::new(&self.docent);
                command.args(["serve", "--transport", "http,sse,websocket", "--root"]).arg(project);
                command
            }
            PairingServer::Fixture => Command::new(&self.fixture),
        };
        command.args(["--port", &port.to_string()]).current_dir(project);
        command
    }
}

/// Writes the copies listed in the expectations' `copies`, so that long calls have enough work.
fn fill(project: &Path, expectations: &Path) -> Result<()> {
    let text = fs::read_to_string(expectations)
        .with_context(|| format!("reading {}", expectations.display()))?;
    let read: Value = serde_json::from_str(&text)
        .with_context(|| format!("reading {}", expectations.display()))?;
    for copies in read["copies"].as_array().into_iter().flatten() {
        let field =
            |key: &str| copies[key].as_str().with_context(|| format!("`copies` has no {key}"));
        let number =
            |key: &str| copies[key].as_u64().with_context(|| format!("`copies` has no {key}"));
        let from = fs::read_to_string(project.join(field("of")?))?;
        let body = from.repeat(usize::try_from(number("repeat")?)?);
        let folder = project.join(field("folder")?);
        fs::create_dir_all(&folder)?;
        for index in 0..number("files")? {
            fs::write(folder.join(format!("copy{index}.ts")), &body)?;
        }
    }
    Ok(())
}

pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)
                .with_context(|| format!("copying to {}", target.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pairing_is_listed_once() {
        for (index, cell) in MATRIX.iter().enumerate() {
            assert!(!MATRIX[..index].contains(cell), "{cell:?} is listed twice");
            assert!(
                cell.2 == ProtocolEra::Legacy
                    || matches!(cell.1, PairingTransport::Stdio | PairingTransport::Http),
                "{cell:?}: the modern era has neither SSE nor WebSocket"
            );
        }
    }

    #[test]
    fn projects_are_copied_and_filled() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::write(from.join("src/a.ts"), "x;\n").unwrap();
        let expectations = folder.path().join("expect.json");
        fs::write(
            &expectations,
            r#"{"copies":[{"of":"src/a.ts","folder":"many","files":3,"repeat":2}]}"#,
        )
        .unwrap();
        copy_folder(&from, &to).unwrap();
        fill(&to, &expectations).unwrap();
        assert_eq!(fs::read_to_string(to.join("src/a.ts")).unwrap(), "x;\n");
        assert_eq!(fs::read_to_string(to.join("many/copy2.ts")).unwrap(), "x;\nx;\n");
        assert_eq!(fs::read_dir(to.join("many")).unwrap().count(), 3);
    }
}
