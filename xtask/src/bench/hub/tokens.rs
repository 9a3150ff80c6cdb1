//! The tokens that the tool lists of five real servers cost a model: directly, through docent in full, and with
//! discovery tools.

use super::{
    HubBench,
    gateway::{node_modules, python_program},
    gateway_home::{BenchDownstream, BenchExposure, GatewayHome},
    listing,
};
use crate::{
    bench::{
        peer::{command_output, eprint_step, sources},
        pipe::PipeServer,
        repo::table::{RepoTarget, TreeSection},
    },
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const LISTING_TIMEOUT: Duration = Duration::from_mins(2);
const DIRECT: &str = "docent, direct";
const DISCOVER: &str = "docent, discover";
const SERVERS: &str = "the servers themselves";
/// The tools that `discover` lists instead of all others.
const DISCOVERY_TOOLS: [&str; 4] =
    ["list_mcp_capabilities", "describe_mcp", "call_mcp_tool", "execute_mcp_code"];
const TOKENS: &str = "tokens of tools/list";
const BYTES: &str = "bytes of tools/list";
const TOOLS: &str = "tools";

/// Adds the section.
pub(super) fn measure(bench: &HubBench<'_>) -> Result<TreeSection> {
    eprint_step("once: tokens");
    let mut section = TreeSection::new("Tokens: five real servers", DIRECT);
    let counter = TokenCounter::install(bench.workspace);
    section.describe(format!(
        "the JSON of the tools in `tools/list`, without spaces and without docent's own tools, counted by {}",
        counter.shown()
    ));
    let work = tempfile::tempdir()?;
    let servers = match servers(bench.workspace, work.path()) {
        Ok(servers) => servers,
        Err(problem) => {
            section.lack(SERVERS, &format!("{problem:#}"));
            return Ok(section);
        }
    };
    let mut all = Vec::new();
    for server in &servers {
        match list_directly(server) {
            Ok(tools) => {
                add(&mut section, (&server.name, None), &tools, &counter)?;
                all.extend(tools);
            }
            Err(problem) => section.lack(&server.name, &format!("{problem:#}")),
        }
    }
    add(&mut section, (SERVERS, None), &all, &counter)?;
    for (subject, exposure, aim) in [
        (DIRECT, BenchExposure::Direct, None),
        (DISCOVER, BenchExposure::Discover, Some(RepoTarget::TimesBaseAtMost(0.05))),
    ] {
        match list_through_docent(bench, &servers, exposure) {
            Ok(tools) => add(&mut section, (subject, aim), &tools, &counter)?,
            Err(problem) => section.lack(subject, &format!("{problem:#}")),
        }
    }
    Ok(section)
}

fn add(
    section: &mut TreeSection,
    (subject, aim): (&str, Option<RepoTarget>),
    tools: &[Value],
    counter: &TokenCounter,
) -> Result<()> {
    let text = serde_json::to_string(tools)?;
    section.add(TOKENS, subject, aim, counter.count(&text)?);
    section.add(BYTES, subject, None, size(&text)?);
    section.add(TOOLS, subject, None, f64::from(u32::try_from(tools.len())?));
    Ok(())
}

fn list_directly(server: &BenchDownstream) -> Result<Vec<Value>> {
    let (mut running, _) = PipeServer::start(server.command())?;
    listing::tools(&mut running)
}

/// Lists the tools that docent adds for the servers.
fn list_through_docent(
    bench: &HubBench<'_>,
    servers: &[BenchDownstream],
    exposure: BenchExposure,
) -> Result<Vec<Value>> {
    let own = {
        let place = GatewayHome::new(Vec::new(), exposure)?;
        let (mut server, _) = PipeServer::start(place.serve(bench.docent))?;
        let tools = listing::tools(&mut server)?;
        tools.iter().map(|tool| listing::name(tool).to_owned()).collect()
    };
    let tools = bench.workspace.tools();
    let place = GatewayHome::open(servers.to_vec(), exposure, &[&tools])?;
    let (mut server, _) = PipeServer::start(place.serve(bench.docent))?;
    let whole = |tools: &[Value]| match exposure {
        BenchExposure::Direct => {
            let named = |tool: &Value, server: &BenchDownstream| {
                listing::name(tool).starts_with(&format!("{}__", server.name))
            };
            servers.iter().all(|server| tools.iter().any(|tool| named(tool, server)))
        }
        BenchExposure::Discover => DISCOVERY_TOOLS
            .iter()
            .all(|finder| tools.iter().any(|tool| listing::name(tool) == *finder)),
    };
    match listing::until(&mut server, LISTING_TIMEOUT, whole) {
        Ok((tools, ..)) => Ok(without_own_tools(tools, &own)),
        Err(problem) => Err(server.explain(problem)),
    }
}

/// Removes docent's own tools, but not the discovery tools.
fn without_own_tools(tools: Vec<Value>, own: &BTreeSet<String>) -> Vec<Value> {
    let counts = |tool: &Value| {
        let name = listing::name(tool);
        DISCOVERY_TOOLS.contains(&name) || !own.contains(name)
    };
    tools.into_iter().filter(counts).collect()
}

fn servers(workspace: &XtaskWorkspace, work: &Path) -> Result<Vec<BenchDownstream>> {
    let (modules, node) = node_modules(workspace, "servers")?;
    let (_, time, _) = python_program(workspace, "servers", "mcp-server-time")?;
    let git = time.with_file_name("mcp-server-git");
    let script = |name: &str| {
        modules.join("@modelcontextprotocol").join(format!("server-{name}")).join("dist/index.js")
    };
    let on_node = |name: &str| {
        let arguments = vec![script(name).into()];
        BenchDownstream { name: name.to_owned(), program: node.clone(), arguments }
    };
    let python = |name: &str, program: PathBuf| BenchDownstream {
        name: name.to_owned(),
        program,
        arguments: Vec::new(),
    };
    let mut filesystem = on_node("filesystem");
    filesystem.arguments.push(work.into());
    let all = vec![
        on_node("everything"),
        filesystem,
        on_node("memory"),
        python("time", time),
        python("git", git),
    ];
    for server in &all {
        ensure!(server.program.is_file(), "{} is missing", server.program.display());
    }
    Ok(all)
}

/// How tokens are counted.
enum TokenCounter {
    /// With a tokenizer script.
    Script { node: PathBuf, script: PathBuf },
    /// Four bytes per token, because the tokenizer is unavailable.
    Bytes(String),
}

impl TokenCounter {
    fn install(workspace: &XtaskWorkspace) -> Self {
        let install = || {
            let (modules, node) = node_modules(workspace, "tokenizer")?;
            // Node looks for packages starting at the script's folder.
            let script = modules.with_file_name("count.mjs");
            fs::copy(sources(workspace, "hub").join("tokenizer/count.mjs"), &script)
                .context("copying count.mjs")?;
            Ok(Self::Script { node, script })
        };
        install().unwrap_or_else(|problem: anyhow::Error| Self::Bytes(format!("{problem:#}")))
    }

    fn shown(&self) -> String {
        match self {
            Self::Script { .. } => "gpt-tokenizer's o200k_base".to_owned(),
            Self::Bytes(problem) => format!("four bytes per token, because: {problem}"),
        }
    }

    fn count(&self, text: &str) -> Result<f64> {
        match self {
            Self::Script { node, script } => {
                let mut file = tempfile::NamedTempFile::new()?;
                std::io::Write::write_all(&mut file, text.as_bytes())?;
                let said = command_output(Command::new(node).arg(script).arg(file.path()))?;
                let count = said.parse::<u32>();
                Ok(count.with_context(|| format!("count.mjs printed {said:?}"))?.into())
            }
            Self::Bytes(_) => Ok((size(text)? / 4.0).ceil()),
        }
    }
}

fn size(text: &str) -> Result<f64> {
    Ok(f64::from(u32::try_from(text.len())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn docents_own_tools_do_not_count() {
        let tools = |names: &[&str]| -> Vec<Value> {
            names.iter().map(|name| json!({ "name": name })).collect()
        };
        let own = ["search_code", "describe_mcp"].map(str::to_owned).into();
        let left = without_own_tools(tools(&["search_code", "describe_mcp", "time__now"]), &own);
        assert_eq!(left, tools(&["describe_mcp", "time__now"]));
    }

    #[test]
    fn without_a_tokenizer_bytes_are_counted() {
        let counter = TokenCounter::Bytes("no network".to_owned());
        assert!(counter.shown().contains("no network"));
        for (text, expected) in [("", "0"), ("abcd", "1"), ("abcde", "2")] {
            assert_eq!(format!("{:.0}", counter.count(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn the_target_is_a_share_of_the_full_list() {
        let mut section = TreeSection::new("Tokens", DIRECT);
        let counter = TokenCounter::Bytes(String::new());
        let tools: Vec<Value> = (0..200).map(|number| json!({"name": number})).collect();
        add(&mut section, (DIRECT, None), &tools, &counter).unwrap();
        let aim = Some(RepoTarget::TimesBaseAtMost(0.05));
        add(&mut section, (DISCOVER, aim), tools.get(..4).unwrap(), &counter).unwrap();
        let text = section.to_string();
        assert!(text.contains("≤ 0.05 × docent, direct: yes"), "{text}");
    }
}
