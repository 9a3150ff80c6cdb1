//! `docent servers add` and `remove`: edits the entries in the user's own file.

use super::{
    approval_memory,
    command::{AddServerArgs, ServersCommonArgs},
};
use crate::{
    analyze::{Printed, UsageError},
    cli, config,
};
use anyhow::{Context as _, bail};
use docent_registry::{EntryTransport, McpServerEntry, RemoteKind, with_table, without_table};
use indexmap::IndexMap;
use serde_json::json;
use std::fmt::Write as _;

/// The URL schemes of servers.
const SERVER_SCHEMES: [&str; 4] = ["https://", "http://", "wss://", "ws://"];

pub(super) fn add(flags: &AddServerArgs) -> anyhow::Result<Printed> {
    let inputs = flags.common.inputs()?;
    let file = flags.common.file(&inputs, "add the entry under `mcpServers` by hand")?;
    if let Some(problem) = config::check_server_name(&flags.name) {
        bail!(UsageError(problem.to_string()));
    }
    let server = McpServerEntry::new(flags.name.clone(), endpoint(flags)?);
    let text = config::read_file(&file).ok();
    let edited = with_table(text.as_deref(), &server, flags.replace).map_err(|problem| {
        let is_there = !flags.replace && with_table(text.as_deref(), &server, true).is_ok();
        let more = if is_there { "; replace it with --replace" } else { "" };
        UsageError(format!("{problem}{more}"))
    })?;
    config::write_file(&file, &edited.text)?;
    let mut output =
        format!("Added to {}. To test it: docent servers test {}\n", file.display(), flags.name);
    let notes = entry_problems(&flags.name, &inputs);
    for note in &notes {
        writeln!(output, "note: {note}").unwrap_or_default();
    }
    Ok(flags.common.printed(output, &json!({"added": flags.name, "file": file, "notes": notes})))
}

/// Returns the problems of an entry as configured now, such as an unset variable.
fn entry_problems(name: &str, inputs: &config::ConfigInputs) -> Vec<String> {
    let faults = cli::load(inputs).map(|config| config.faults).unwrap_or_default();
    let its = faults.into_iter().filter(|fault| fault.server.as_deref() == Some(name));
    its.map(|fault| fault.message).collect()
}

fn endpoint(flags: &AddServerArgs) -> anyhow::Result<EntryTransport> {
    let refuse = |used: bool, flag: &str, whose: &str| -> anyhow::Result<()> {
        if used {
            bail!(UsageError(format!("{flag} only applies to {whose}: omit it")));
        }
        Ok(())
    };
    match (&flags.url, flags.program.split_first()) {
        (Some(url), _) => {
            refuse(!flags.env.is_empty(), "--env", "a program")?;
            refuse(flags.cwd.is_some(), "--cwd", "a program")?;
            let lower = url.to_ascii_lowercase();
            if !url.contains("${") && !SERVER_SCHEMES.iter().any(|scheme| lower.starts_with(scheme))
            {
                bail!(UsageError(format!(
                    "invalid server address {url:?}: it must begin with {}",
                    SERVER_SCHEMES.join(", ")
                )));
            }
            refuse(flags.sse && lower.starts_with("ws"), "--sse", "an http or https address")?;
            let kind = flags.sse.then_some(RemoteKind::Sse);
            Ok(EntryTransport::Remote {
                url: url.clone(),
                kind,
                headers: parse_pairs(&flags.header)?,
            })
        }
        (None, Some((command, args))) => {
            refuse(!flags.header.is_empty(), "--header", "an address")?;
            refuse(flags.sse, "--sse", "an address")?;
            Ok(EntryTransport::Program {
                command: command.clone(),
                args: args.to_vec(),
                env: parse_pairs(&flags.env)?,
                inherit: Vec::new(),
                cwd: flags.cwd.clone(),
            })
        }
        (None, None) => {
            bail!(UsageError("name a program after --, or an address with --url".into()))
        }
    }
}

fn parse_pairs(texts: &[String]) -> anyhow::Result<IndexMap<String, String>> {
    let pair = |text: &String| {
        let split = text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        split.ok_or_else(|| UsageError(format!("{text:?} must be NAME=VALUE")).into())
    };
    texts.iter().map(pair).collect()
}

pub(super) fn remove(name: &str, common: &ServersCommonArgs) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let file = common.file(&inputs, "remove the entry from `mcpServers` by hand")?;
    let text =
        config::read_file(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let edited = without_table(&text, name).map_err(|problem| UsageError(problem.to_string()))?;
    if !edited.changed {
        bail!(UsageError(format!("{} has no server {name:?}", file.display())));
    }
    config::write_file(&file, &edited.text)?;
    if let Ok(config) = cli::load(&inputs) {
        approval_memory(&config).forget(name);
    }
    let output = format!("Removed from {}.\n", file.display());
    Ok(common.printed(output, &json!({"removed": name, "file": file})))
}
