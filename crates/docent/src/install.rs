//! `docent install`: docent written into the configuration of MCP clients, shown first, backed up, and undone.

use crate::{
    analyze::{Printed, UsedWrongly},
    config::{self, Config, Flags, Inputs},
    servers::places,
};
use anyhow::{Context as _, bail};
use clap::Args;
use docent_registry::{
    Client, Folders, Plan, Receipt, Scope, Server, Source, candidates, is_installed, undo,
};
use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What can be typed after `docent install`.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct InstallFlags {
    /// claude-desktop, claude-code, vscode, cursor, windsurf, zed, codex, gemini or goose [default: show which are here]
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,
    /// Write to the project's file of the client instead of yours
    #[arg(long)]
    project: bool,
    /// The root that docent serves [default: the folder that the client starts it in]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// What the entry is called
    #[arg(long, default_value = "docent")]
    name: String,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Replace an entry of the same name that says something else, and make folders of clients that are not there
    #[arg(long)]
    force: bool,
    /// Take docent out again, as it was before
    #[arg(long)]
    undo: bool,
}

pub(crate) fn run(flags: &InstallFlags) -> anyhow::Result<Printed> {
    let inputs = config::inputs(Flags::default())?;
    if flags.clients.is_empty() {
        return overview(&inputs);
    }
    let mut clients = Vec::new();
    for word in &flags.clients {
        let known: Vec<&str> = Client::ALL.iter().map(|client| client.id()).collect();
        let unknown =
            || UsedWrongly(format!("{word:?} is no client; there are {}", known.join(", ")));
        clients.push(Client::parse(word).ok_or_else(unknown)?);
    }
    let mut text = String::new();
    for client in clients {
        let told = if flags.undo {
            uninstall(client, flags, &inputs)?
        } else {
            install(client, flags, &inputs)?
        };
        text.push_str(&told);
    }
    Ok(Printed { text, code: ExitCode::SUCCESS })
}

fn overview(inputs: &Inputs) -> anyhow::Result<Printed> {
    let places = places(inputs)?;
    let mut text = String::new();
    for client in Client::ALL {
        let here = if is_installed(client, &places) { "is here" } else { "is not here" };
        let path =
            candidates(client, &places).first().map(|source| source.path.display().to_string());
        writeln!(
            text,
            "{:15} {} {here}  {}",
            client.id(),
            client.title(),
            path.unwrap_or_default()
        )
        .unwrap_or_default();
    }
    text.push_str("Install with: docent install CLIENT…\n");
    Ok(Printed { text, code: ExitCode::SUCCESS })
}

/// The file to write to.
fn target(client: Client, flags: &InstallFlags, inputs: &Inputs) -> anyhow::Result<Source> {
    let scope = if flags.project { Scope::Project } else { Scope::User };
    let all = candidates(client, &places(inputs)?);
    let fits = |source: &&Source| source.scope == scope;
    let existing = all.iter().filter(fits).find(|source| source.path.is_file());
    let found = existing.or_else(|| all.iter().find(fits)).cloned();
    found.with_context(|| {
        format!(
            "{} has no such file{}",
            client.title(),
            if flags.project { " for a project" } else { "" }
        )
    })
}

fn entry(flags: &InstallFlags, inputs: &Inputs) -> anyhow::Result<Server> {
    let own = std::env::current_exe().context("can't find docent's own file")?;
    let mut args = vec!["serve".to_owned()];
    if let Some(root) = &flags.root {
        let root = inputs.working_dir.join(root);
        args.extend([
            "--root".to_owned(),
            root.canonicalize().unwrap_or(root).display().to_string(),
        ]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(Server::program(flags.name.clone(), &own.display().to_string(), &args))
}

fn install(client: Client, flags: &InstallFlags, inputs: &Inputs) -> anyhow::Result<String> {
    let source = target(client, flags, inputs)?;
    let plan = Plan::install(client, &source.path, &entry(flags, inputs)?, flags.force)?;
    if plan.is_empty() {
        return Ok(format!("{}: docent is there already\n", source.path.display()));
    }
    let diff = plan.diff();
    if flags.dry_run {
        return Ok(diff);
    }
    if !flags.yes && !agreed(&diff)? {
        return Ok(format!("{}: left as it is\n", source.path.display()));
    }
    let here = is_installed(client, &places(inputs)?) || flags.force || flags.project;
    let folders = if here { Folders::Make } else { Folders::Keep };
    let store = store(inputs)?;
    let receipt = plan.apply(&store.join("backups"), folders)?;
    keep(&store, client, &receipt)?;
    let mut told = if flags.yes { diff } else { String::new() };
    writeln!(
        told,
        "{}: installed; restart {} to see it, take it out with docent install --undo {}",
        source.path.display(),
        client.title(),
        client.id()
    )
    .unwrap_or_default();
    Ok(told)
}

/// Shows the change and asks.
fn agreed(diff: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("nobody is at the terminal to agree: look with --dry-run, and write with --yes");
    }
    let mut out = io::stderr();
    write!(out, "{diff}Write this? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn uninstall(client: Client, flags: &InstallFlags, inputs: &Inputs) -> anyhow::Result<String> {
    let store = store(inputs)?;
    let path = receipt_path(&store, client);
    let receipt: Option<Receipt> =
        fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(receipt) = &receipt {
        if flags.dry_run {
            return Ok(format!("{} would be put back as it was\n", receipt.path.display()));
        }
        if undo(receipt).is_ok() {
            fs::remove_file(&path).unwrap_or_default();
            return Ok(format!("{}: put back as it was\n", receipt.path.display()));
        }
    }
    // The file was changed since: the entry alone is taken out.
    let source = target(client, flags, inputs)?;
    let file = receipt.as_ref().map_or(&source.path, |receipt| &receipt.path);
    let drop_block = receipt.as_ref().is_some_and(|receipt| receipt.block);
    let plan = Plan::remove(client, file, &flags.name, drop_block)?;
    if plan.is_empty() {
        return Ok(format!("{}: docent is not there\n", file.display()));
    }
    if flags.dry_run {
        return Ok(plan.diff());
    }
    plan.apply(&store.join("backups"), Folders::Keep)?;
    fs::remove_file(&path).unwrap_or_default();
    Ok(format!("{}: taken out\n", file.display()))
}

/// Where backups and receipts are kept.
fn store(inputs: &Inputs) -> anyhow::Result<PathBuf> {
    let config = Config::load(inputs)?;
    let folder = config.cache_dir.context("there is no home directory to keep backups in")?;
    Ok(folder.join("install"))
}

fn receipt_path(store: &Path, client: Client) -> PathBuf {
    store.join(format!("{}.json", client.id()))
}

fn keep(store: &Path, client: Client, receipt: &Receipt) -> anyhow::Result<()> {
    fs::create_dir_all(store)?;
    fs::write(receipt_path(store, client), serde_json::to_vec_pretty(receipt)?)
        .context("the receipt can't be kept: undo will take the entry out instead")
}
