//! `docent install`: docent written into the configuration of MCP clients, shown first, backed up, and undone.

use crate::{
    analyze::{Printed, UsageError},
    config::{
        self, ConfigFlags, ConfigInputs,
        regular::{self, MAX_REGISTRY_BYTES},
    },
    servers::places,
};
use anyhow::{Context as _, bail};
use clap::Args;
use docent_files::{FileAccess, Durability, ManagedFolder};
use docent_registry::{
    McpClient, MissingFolders, ConfigFormat, ConfigChange, ChangeReceipt, ConfigScope, McpServerEntry, ConfigFile, EntryTransport, candidates, is_installed,
    undo,
};
use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What the entry is called, and the program.
const ENTRY_NAME: &str = "docent";

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
    #[arg(long, default_value = NAME)]
    name: String,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Replace or take out an entry of the same name that is not docent's, and make folders of clients that are not there
    #[arg(long)]
    force: bool,
    /// Take docent out again, as it was before
    #[arg(long)]
    undo: bool,
}

pub(crate) fn run(flags: &InstallFlags) -> anyhow::Result<Printed> {
    let inputs = config::inputs(ConfigFlags::default())?;
    if flags.clients.is_empty() {
        if flags.undo {
            bail!(UsageError("name the client that docent is to be taken out of".into()));
        }
        return overview(&inputs);
    }
    let mut clients = Vec::new();
    for word in &flags.clients {
        let known: Vec<&str> = McpClient::ALL.iter().map(|client| client.id()).collect();
        let unknown =
            || UsageError(format!("{word:?} is no client; there are {}", known.join(", ")));
        clients.push(McpClient::parse(word).ok_or_else(unknown)?);
    }
    let one = |client| {
        let done = if flags.undo { uninstall } else { install };
        done(client, flags, &inputs)
    };
    if let [client] = clients.as_slice() {
        return Ok(Printed { text: one(*client)?, code: ExitCode::SUCCESS });
    }
    // One that fails keeps none of the others from being done, or from being told.
    let (mut text, mut code) = (String::new(), ExitCode::SUCCESS);
    for client in clients {
        match one(client) {
            Ok(told) => text.push_str(&told),
            Err(error) => {
                writeln!(io::stderr(), "error: {}: {error:#}", client.id())?;
                code = ExitCode::from(1);
            }
        }
    }
    Ok(Printed { text, code })
}

fn overview(inputs: &ConfigInputs) -> anyhow::Result<Printed> {
    let places = places(inputs)?;
    let mut text = String::new();
    for client in McpClient::ALL {
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
fn target(client: McpClient, flags: &InstallFlags, inputs: &ConfigInputs) -> anyhow::Result<ConfigFile> {
    let scope = if flags.project { ConfigScope::Project } else { ConfigScope::User };
    let all = candidates(client, &places(inputs)?);
    let fits = |source: &&ConfigFile| source.scope == scope;
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

fn entry(flags: &InstallFlags, inputs: &ConfigInputs) -> anyhow::Result<McpServerEntry> {
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
    Ok(McpServerEntry::program(flags.name.clone(), &own.display().to_string(), &args))
}

fn install(client: McpClient, flags: &InstallFlags, inputs: &ConfigInputs) -> anyhow::Result<String> {
    let path = target(client, flags, inputs)?.path;
    let plan = ConfigChange::install(client, &path, &entry(flags, inputs)?, flags.force);
    let plan = match plan {
        // In a project its author decides where a link leads.
        Ok(plan) if flags.project => plan.refusing_links(),
        Err(error) if !flags.force && existing_entry(client, &path, &flags.name).is_some() => {
            bail!("{error}: --force replaces it, --name gives docent another name")
        }
        other => other?,
    };
    if plan.is_empty() {
        return Ok(format!("{}: docent is there already\n", path.display()));
    }
    let diff = plan.diff();
    if flags.dry_run {
        return Ok(diff);
    }
    let here = is_installed(client, &places(inputs)?) || flags.force || flags.project;
    let folders = if here { MissingFolders::Make } else { MissingFolders::Keep };
    // What can't be written is not asked about.
    plan.check_folder(folders)?;
    if !flags.yes && !confirm(&diff)? {
        return Ok(format!("{}: left as it is\n", path.display()));
    }
    let store = ReceiptStore::of(inputs)?;
    let receipt = plan.apply(&store.backups(), folders)?;
    let backup = receipt.backup.clone();
    store.keep(receipt, &plan)?;
    let mut told = if flags.yes { diff } else { String::new() };
    let kept = backup_note(backup.as_deref());
    let named = if flags.name == ENTRY_NAME { String::new() } else { format!(" --name {}", flags.name) };
    let project = if flags.project { " --project" } else { "" };
    // Writing to a string can't fail.
    let _ok = write!(
        told,
        "{}: installed; restart {} to see it, take it out with docent install --undo {}{project}{named}\n{kept}",
        path.display(),
        client.title(),
        client.id()
    );
    Ok(told)
}

/// Where the file as it was can be found.
fn backup_note(backup: Option<&Path>) -> String {
    backup.map_or_else(String::new, |backup| {
        format!("  As it was, it is kept in {}\n", backup.display())
    })
}

/// Shows the change and asks.
fn confirm(diff: &str) -> anyhow::Result<bool> {
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

fn uninstall(client: McpClient, flags: &InstallFlags, inputs: &ConfigInputs) -> anyhow::Result<String> {
    let store = ReceiptStore::of(inputs)?;
    let path = installed_path(client, flags, inputs, &store)?;
    let receipt = store.find(client, &path, &flags.name);
    let restored = receipt.as_ref().and_then(|kept| ConfigChange::restore(&kept.receipt).ok());
    // A file that was changed since is not put back: the entry alone is taken out.
    let plan = match &restored {
        Some(plan) => plan.clone(),
        None => plan_removal(client, flags, &path, receipt.as_ref())?,
    };
    if plan.is_empty() {
        delete_receipt(receipt);
        return Ok(format!("{}: docent is not there\n", path.display()));
    }
    let diff = plan.diff();
    if flags.dry_run {
        return Ok(diff);
    }
    if !flags.yes && !confirm(&diff)? {
        return Ok(format!("{}: left as it is\n", path.display()));
    }
    let mut told = if flags.yes { diff } else { String::new() };
    if let (Some(_), Some(kept)) = (&restored, &receipt) {
        undo(&kept.receipt)?;
        let _ok = writeln!(told, "{}: put back as it was", path.display());
    } else {
        let backup = plan.apply(&store.backups(), MissingFolders::Keep)?.backup;
        let _ok = write!(told, "{}: taken out\n{}", path.display(), kept_in(backup.as_deref()));
    }
    delete_receipt(receipt);
    Ok(told)
}

/// The plan that takes out the entry alone, where it is docent's.
fn plan_removal(
    client: McpClient,
    flags: &InstallFlags,
    path: &Path,
    kept: Option<&StoredReceipt>,
) -> anyhow::Result<ConfigChange> {
    let name = &flags.name;
    if let Some(there) = existing_entry(client, path, name).filter(|there| !is_ours(there) && !flags.force) {
        bail!(
            "{}: the entry {name:?} is not docent's, it has {}: name another with --name, or take it out with --force",
            path.display(),
            there.summary()
        );
    }
    let plan = ConfigChange::remove(client, path, name, kept.is_some_and(|kept| kept.receipt.block))?;
    Ok(if flags.project { plan.refusing_links() } else { plan })
}

/// The entry of this name that a client's file has.
fn existing_entry(client: McpClient, path: &Path, name: &str) -> Option<McpServerEntry> {
    let bytes = regular::read(path, MAX_REGISTRY_BYTES).ok()?;
    let reading = docent_registry::read(ConfigFormat::Client(client), path, &bytes);
    reading.servers.into_iter().find(|server| server.name == name)
}

/// Whether an entry starts docent as a server.
fn is_ours(server: &McpServerEntry) -> bool {
    let EntryTransport::Program { command, args, .. } = &server.way else { return false };
    let own = std::env::current_exe().is_ok_and(|own| own == Path::new(command));
    let named = Path::new(command).file_stem().is_some_and(|stem| stem == ENTRY_NAME);
    (own || named) && args.first().is_some_and(|word| word == "serve")
}

/// The file that docent was written to: the one of a receipt, or else the one that it would be written to.
fn installed_path(
    client: McpClient,
    flags: &InstallFlags,
    inputs: &ConfigInputs,
    store: &ReceiptStore,
) -> anyhow::Result<PathBuf> {
    let scope = if flags.project { ConfigScope::Project } else { ConfigScope::User };
    let all = candidates(client, &places(inputs)?);
    let paths = all.into_iter().filter(|source| source.scope == scope).map(|source| source.path);
    let kept = |path: &PathBuf| store.find(client, path, &flags.name).is_some();
    match paths.into_iter().find(kept) {
        Some(path) => Ok(path),
        None => Ok(target(client, flags, inputs)?.path),
    }
}

/// Where backups and receipts are kept. Not in the cache: what is lost there is to cost nobody their own file.
struct ReceiptStore(PathBuf);

/// A receipt and where it lies.
struct StoredReceipt {
    file: PathBuf,
    receipt: ChangeReceipt,
}

impl ReceiptStore {
    fn open(inputs: &ConfigInputs) -> anyhow::Result<Self> {
        let folder = config::state_folder(inputs);
        let folder = folder.context("there is no home directory to keep backups in")?;
        Ok(Self(folder.join("install")))
    }

    fn backups(&self) -> PathBuf {
        self.0.join("backups")
    }

    /// The receipt for an entry of a file.
    fn find(&self, client: McpClient, path: &Path, name: &str) -> Option<StoredReceipt> {
        let folder = ManagedFolder::from(self.0.join("receipts"));
        let read = folder.names().ok()?.into_iter().filter_map(|name| {
            let file = folder.path().join(&name);
            let unreadable = |error: &io::Error| {
                tracing::warn!(path = %file.display(), %error, "a receipt can't be read: remove it, or put back what it was");
            };
            let bytes = folder.read_bytes(&name).inspect_err(unreadable).ok()?;
            let receipt = serde_json::from_slice(&bytes).ok()?;
            Some(StoredReceipt { file, receipt })
        });
        let is_it = |kept: &StoredReceipt| {
            let ChangeReceipt { client: of, path: at, name: called, .. } = &kept.receipt;
            *of == client && at == path && called == name
        };
        read.into_iter().find(is_it)
    }

    /// Keeps a receipt; one that is there for the same entry goes on.
    fn keep(&self, receipt: ChangeReceipt, plan: &ConfigChange) -> anyhow::Result<()> {
        let older = self.find(receipt.client, &receipt.path, &receipt.name);
        let (file, receipt) = match older {
            Some(older) => (older.file, receipt.since(older.receipt, plan)),
            None => (self.free_backup_path(receipt.client), receipt),
        };
        let folder = ManagedFolder::from(self.0.join("receipts"));
        let name = file.file_name().unwrap_or_default();
        let bytes = serde_json::to_vec_pretty(&receipt)?;
        folder
            .make(FileAccess::Private)
            .and_then(|()| folder.replace(name, &bytes, FileAccess::Private, Durability::Synced))
            .context("the receipt can't be kept: undo will take the entry out instead")
    }

    fn free_backup_path(&self, client: McpClient) -> PathBuf {
        let name = |number: u32| self.0.join(format!("receipts/{}-{number}.json", client.id()));
        (1..u32::MAX).map(name).find(|file| !file.exists()).unwrap_or_else(|| name(0))
    }
}

fn delete_receipt(kept: Option<StoredReceipt>) {
    if let Some(kept) = kept {
        // One that stays fits no file any more.
        fs::remove_file(kept.file).unwrap_or_default();
    }
}
