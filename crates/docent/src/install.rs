//! `docent install`: adds docent to the configuration of MCP clients, with a preview, a backup and undo.

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
use docent_files::{Durability, FileAccess, ManagedFolder};
use docent_registry::{
    ChangeReceipt, ConfigChange, ConfigFile, ConfigFormat, ConfigScope, EntryTransport, McpClient,
    McpServerEntry, MissingFolders, candidates, is_installed, undo,
};
use std::{
    fmt::Write as _,
    fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The name of the entry, and of the program.
const ENTRY_NAME: &str = "docent";

/// The flags of `docent install`.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct InstallFlags {
    /// claude-desktop, claude-code, vscode, cursor, windsurf, zed, codex, gemini or goose [default: list clients]
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,
    /// Write to the client's project file instead of your user file
    #[arg(long)]
    project: bool,
    /// Root for docent to serve [default: the folder that the client starts it in]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Name of the entry
    #[arg(long, default_value = ENTRY_NAME)]
    name: String,
    /// Show what would change without writing anything
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
    /// Replace or remove an entry of the same name that is not docent's, and create missing client folders
    #[arg(long)]
    force: bool,
    /// Remove docent again and restore the previous state
    #[arg(long)]
    undo: bool,
}

pub(crate) fn run(flags: &InstallFlags) -> anyhow::Result<Printed> {
    let inputs = config::inputs(ConfigFlags::default())?;
    if flags.clients.is_empty() {
        if flags.undo {
            bail!(UsageError("which client? e.g. docent install --undo cursor".into()));
        }
        return overview(&inputs);
    }
    let mut clients = Vec::new();
    for word in &flags.clients {
        let known: Vec<&str> = McpClient::ALL.iter().map(|client| client.id()).collect();
        let unknown =
            || UsageError(format!("unknown client {word:?}; choose from {}", known.join(", ")));
        clients.push(McpClient::parse(word).ok_or_else(unknown)?);
    }
    let one = |client| {
        let done = if flags.undo { uninstall } else { install };
        done(client, flags, &inputs)
    };
    if let [client] = clients.as_slice() {
        return Ok(Printed { text: one(*client)?, code: ExitCode::SUCCESS });
    }
    // A client that fails does not stop the others.
    let (mut text, mut code) = (String::new(), ExitCode::SUCCESS);
    for client in clients {
        match one(client) {
            Ok(summary) => text.push_str(&summary),
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
        let state = if is_installed(client, &places) { "installed" } else { "not found" };
        let path =
            candidates(client, &places).first().map(|source| source.path.display().to_string());
        writeln!(
            text,
            "{:15} {}: {state}  {}",
            client.id(),
            client.title(),
            path.unwrap_or_default()
        )
        .unwrap_or_default();
    }
    text.push_str("To add docent: docent install CLIENT…\n");
    Ok(Printed { text, code: ExitCode::SUCCESS })
}

/// The file to write to.
fn target(
    client: McpClient,
    flags: &InstallFlags,
    inputs: &ConfigInputs,
) -> anyhow::Result<ConfigFile> {
    let scope = if flags.project { ConfigScope::Project } else { ConfigScope::User };
    let all = candidates(client, &places(inputs)?);
    let fits = |source: &&ConfigFile| source.scope == scope;
    let existing = all.iter().filter(fits).find(|source| source.path.is_file());
    let found = existing.or_else(|| all.iter().find(fits)).cloned();
    found.with_context(|| {
        format!(
            "{} has no {}-level config",
            client.title(),
            if flags.project { "project" } else { "user" }
        )
    })
}

fn entry(flags: &InstallFlags, inputs: &ConfigInputs) -> anyhow::Result<McpServerEntry> {
    let own = std::env::current_exe().context("cannot locate the docent executable")?;
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

fn install(
    client: McpClient,
    flags: &InstallFlags,
    inputs: &ConfigInputs,
) -> anyhow::Result<String> {
    let path = target(client, flags, inputs)?.path;
    let plan = ConfigChange::install(client, &path, &entry(flags, inputs)?, flags.force);
    let plan = match plan {
        // In a project, a link may have been placed by an untrusted author.
        Ok(plan) if flags.project => plan.refusing_links(),
        Err(error) if !flags.force && existing_entry(client, &path, &flags.name).is_some() => {
            bail!("{error}: replace it with --force, or choose another name with --name")
        }
        other => other?,
    };
    if plan.is_empty() {
        return Ok(format!("{}: already installed\n", path.display()));
    }
    let diff = plan.diff();
    if flags.dry_run {
        return Ok(diff);
    }
    let here = is_installed(client, &places(inputs)?) || flags.force || flags.project;
    let folders = if here { MissingFolders::Make } else { MissingFolders::Keep };
    // Fail before asking if the file can't be written.
    plan.check_folder(folders)?;
    if !flags.yes && !confirm(&diff)? {
        return Ok(format!("{}: unchanged\n", path.display()));
    }
    let store = ReceiptStore::open(inputs)?;
    let receipt = plan.apply(&store.backups(), folders)?;
    let backup = receipt.backup.clone();
    store.keep(receipt, &plan)?;
    let mut text = if flags.yes { diff } else { String::new() };
    let kept = backup_note(backup.as_deref());
    let named =
        if flags.name == ENTRY_NAME { String::new() } else { format!(" --name {}", flags.name) };
    let project = if flags.project { " --project" } else { "" };
    // Writing to a string can't fail.
    let _ok = write!(
        text,
        "{}: installed; restart {} to see it; to undo: docent install --undo {}{project}{named}\n{kept}",
        path.display(),
        client.title(),
        client.id()
    );
    Ok(text)
}

/// Describes where the backup of the file is.
fn backup_note(backup: Option<&Path>) -> String {
    backup.map_or_else(String::new, |backup| format!("  Backup: {}\n", backup.display()))
}

/// Shows the change and asks.
fn confirm(diff: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("not a terminal: use --yes (or --dry-run to preview)");
    }
    let mut out = io::stderr();
    write!(out, "{diff}Write this? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn uninstall(
    client: McpClient,
    flags: &InstallFlags,
    inputs: &ConfigInputs,
) -> anyhow::Result<String> {
    let store = ReceiptStore::open(inputs)?;
    let path = installed_path(client, flags, inputs, &store)?;
    let receipt = store.find(client, &path, &flags.name);
    let restored = receipt.as_ref().and_then(|kept| ConfigChange::restore(&kept.receipt).ok());
    // A file that was changed since is not restored: only the entry is removed.
    let plan = match &restored {
        Some(plan) => plan.clone(),
        None => plan_removal(client, flags, &path, receipt.as_ref())?,
    };
    if plan.is_empty() {
        delete_receipt(receipt);
        return Ok(format!("{}: docent is not installed\n", path.display()));
    }
    let diff = plan.diff();
    if flags.dry_run {
        return Ok(diff);
    }
    if !flags.yes && !confirm(&diff)? {
        return Ok(format!("{}: unchanged\n", path.display()));
    }
    let mut text = if flags.yes { diff } else { String::new() };
    if let (Some(_), Some(kept)) = (&restored, &receipt) {
        undo(&kept.receipt)?;
        let _ok = writeln!(text, "{}: restored", path.display());
    } else {
        let backup = plan.apply(&store.backups(), MissingFolders::Keep)?.backup;
        let _ok = write!(text, "{}: removed\n{}", path.display(), backup_note(backup.as_deref()));
    }
    delete_receipt(receipt);
    Ok(text)
}

/// Plans the removal of the entry alone, provided it is docent's.
fn plan_removal(
    client: McpClient,
    flags: &InstallFlags,
    path: &Path,
    kept: Option<&StoredReceipt>,
) -> anyhow::Result<ConfigChange> {
    let name = &flags.name;
    if let Some(there) =
        existing_entry(client, path, name).filter(|there| !is_ours(there) && !flags.force)
    {
        bail!(
            "{}: the entry {name:?} is not docent's ({}): name another with --name, or remove it with --force",
            path.display(),
            there.summary()
        );
    }
    let plan =
        ConfigChange::remove(client, path, name, kept.is_some_and(|kept| kept.receipt.block))?;
    Ok(if flags.project { plan.refusing_links() } else { plan })
}

/// Returns the entry of this name in a client's file.
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

/// Returns the file that docent was installed in: the one in a receipt, or else the current target.
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

/// The folder of backups and receipts. Not the cache: clearing a cache must not lose anyone's file.
struct ReceiptStore(PathBuf);

/// A receipt and its file.
struct StoredReceipt {
    file: PathBuf,
    receipt: ChangeReceipt,
}

impl ReceiptStore {
    fn open(inputs: &ConfigInputs) -> anyhow::Result<Self> {
        let folder = config::state_folder(inputs);
        let folder = folder.context("no home directory to keep backups in")?;
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
                tracing::warn!(path = %file.display(), %error, "cannot read a receipt: remove it, or restore its contents");
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

    /// Stores a receipt, merged with an existing one for the same entry.
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
            .context("cannot store the receipt: undo will only remove the entry")
    }

    fn free_backup_path(&self, client: McpClient) -> PathBuf {
        let name = |number: u32| self.0.join(format!("receipts/{}-{number}.json", client.id()));
        (1..u32::MAX).map(name).find(|file| !file.exists()).unwrap_or_else(|| name(0))
    }
}

fn delete_receipt(kept: Option<StoredReceipt>) {
    if let Some(kept) = kept {
        // A receipt that stays behind no longer matches any file.
        fs::remove_file(kept.file).unwrap_or_default();
    }
}
