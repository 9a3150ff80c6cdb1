//! `docent docs`: adds, lists, removes and syncs documentation collections.

use crate::{
    analyze::{Printed, UsageError},
    cli, collections,
    config::{self, Config, ConfigEnvironment, ConfigFlags, ConfigInputs},
    embedding,
    indexing::{IndexTarget, count},
};
use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use docent_index::{EmbeddedStoreSettings, IndexStore as _};
use docent_net::{CrawlEnd, CrawlReport, parse_url};
use docent_suites::{
    docs::{self, CollectionOrigin, CollectionReport, CollectionSettings, DocsReport},
    files::PathKind,
};
use serde_json::{Map, Value, json};
use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Problems of a collection that are listed; more are counted.
const MAX_LISTED_PROBLEMS: usize = 10;

/// The subcommands of `docent docs`.
#[derive(Subcommand)]
pub(crate) enum DocsCommand {
    /// Add a collection to the configuration and index it
    Add(Box<AddCollectionArgs>),
    /// List collections with their location, size, and whether they are up to date
    List {
        #[command(flatten)]
        common: DocsCommonArgs,
    },
    /// Remove a collection from the configuration and the index; its files stay
    Remove {
        /// Name of the collection
        name: String,
        #[command(flatten)]
        common: DocsCommonArgs,
    },
    /// Update the index of the collections; pages on the web are fetched
    Sync {
        /// Collections to sync [default: all]
        names: Vec<String>,
        #[command(flatten)]
        common: DocsCommonArgs,
    },
}

/// The flags of `docent docs add`.
#[derive(Args)]
pub(crate) struct AddCollectionArgs {
    /// Name of the collection, used as a `doc_type` value and as the prefix of its document ids
    name: String,
    /// Folder, file or archive with the documents, or the URL of a site
    #[arg(value_name = "PLACE")]
    place: String,
    /// Display title, such as "Python Documentation"
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Topic, for when several collections cover the same one
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Version that the documentation describes
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// One-sentence description for clients
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// URL of the same documents on the web, for links in answers
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Pattern of files to include; may be repeated
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Pattern of files to exclude; may be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Write to your own settings, for every project, instead of the project's
    #[arg(long)]
    user: bool,
    #[command(flatten)]
    common: DocsCommonArgs,
}

/// Flags of every command.
#[derive(Args)]
pub(crate) struct DocsCommonArgs {
    /// Root whose configuration and index to use [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DocsCommonArgs {
    fn inputs(&self, environment: ConfigEnvironment) -> anyhow::Result<ConfigInputs> {
        Ok(ConfigInputs {
            environment,
            home: std::env::home_dir(),
            working_dir: std::env::current_dir()
                .context("cannot determine the working directory")?,
            flags: ConfigFlags {
                roots: self.root.iter().cloned().collect(),
                ..ConfigFlags::default()
            },
        })
    }
}

/// Runs one of the commands.
pub(crate) fn run(command: DocsCommand, environment: ConfigEnvironment) -> anyhow::Result<Printed> {
    match command {
        DocsCommand::Add(flags) => add(&flags, environment),
        DocsCommand::List { common } => list(&common, environment),
        DocsCommand::Remove { name, common } => remove(&name, &common, environment),
        DocsCommand::Sync { names, common } => {
            let inputs = common.inputs(environment)?;
            let config = cli::load(&inputs)?;
            sync(&names, &inputs, &config)?.print(common.json)
        }
    }
}

fn add(flags: &AddCollectionArgs, environment: ConfigEnvironment) -> anyhow::Result<Printed> {
    if let Some(problem) = CollectionSettings::name_problem(&flags.name) {
        return Err(UsageError(problem.into()).into());
    }
    let inputs = flags.common.inputs(environment)?;
    let config = cli::load(&inputs)?;
    if config.collections.contains_key(&flags.name) {
        let what = format!(
            "collection {} already exists; remove it first, or choose another name",
            flags.name
        );
        return Err(UsageError(what).into());
    }
    check_address(flags, &config)?;
    let (keys, outside) = keys(flags, &inputs, &config)?;
    let of_the_user = flags.user || outside;
    let fetched = is_address(&flags.place).then(|| fetch_new(flags, &config)).transpose()?;
    let edited = config::add_collection(&inputs, of_the_user, &flags.name, &keys)?;
    let synced = match fetched {
        Some(fetched) => run_sync(&inputs, &|one| one.name == flags.name)
            .map(|(_, report)| CollectionSync { report, ..fetched }),
        None => Config::load(&inputs)
            .map_err(anyhow::Error::from)
            .and_then(|config| sync(std::slice::from_ref(&flags.name), &inputs, &config)),
    };
    if is_address(&flags.place)
        && let Some(why) = no_pages_reason(&synced)
    {
        undo_add(&flags.name, &edited, &inputs)?;
        bail!("{why}; {} was not added", flags.name);
    }
    let mut printed = synced?.print(flags.common.json)?;
    if !flags.common.json {
        let why = if outside && !flags.user { ", because it lies outside the roots" } else { "" };
        let added = format!("Added to {}{why}.\n", edited.path.display());
        printed.text.insert_str(0, &added);
    }
    Ok(printed)
}

/// Refuses an address that the policy does not name, before anything is written.
fn check_address(flags: &AddCollectionArgs, config: &Config) -> anyhow::Result<()> {
    if !is_address(&flags.place) {
        return Ok(());
    }
    let url = parse_url(&flags.place).map_err(|error| error.to_string());
    let checked = url
        .and_then(|url| config.policy.network.check(&url).map_err(|refusal| refusal.to_string()));
    let name = &flags.name;
    checked.map_err(|why| anyhow!("cannot fetch {name}: {why}; {name} was not added"))
}

/// Fetches the pages of a new collection. It is not configured before: a crawl that is interrupted leaves no empty
/// collection behind, and continues when the collection is added again.
fn fetch_new(flags: &AddCollectionArgs, config: &Config) -> anyhow::Result<CollectionSync> {
    let AddCollectionArgs { name, place, url, include, exclude, .. } = flags;
    let url = url.as_ref().unwrap_or(place);
    let fetched = collections::fetch_pages(config, name, url, include, exclude).map(|crawled| {
        CollectionSync {
            fetched: vec![(name.clone(), crawled)],
            is_configured: true,
            ..CollectionSync::default()
        }
    });
    let has_pages = |synced: &CollectionSync| {
        synced.fetched.iter().any(|(_, crawled)| crawled.fetched + crawled.unchanged > 0)
    };
    if fetched.as_ref().is_ok_and(has_pages) {
        return fetched;
    }
    remove_pages(name, config)?;
    let why = no_pages_reason(&fetched).unwrap_or_default();
    bail!("{why}; {name} was not added");
}

/// Returns why no page of a new collection was fetched; `None` if some were.
fn no_pages_reason(synced: &anyhow::Result<CollectionSync>) -> Option<String> {
    let synced = match synced {
        Ok(synced) => synced,
        Err(error) => return Some(format!("{error:#}")),
    };
    if synced.report.collections.iter().any(|one| one.documents > 0) {
        return None;
    }
    let crawled = synced.fetched.iter().flat_map(|(_, crawled)| &crawled.problems);
    let failed = crawled.map(|problem| format!("{}: {}", problem.url, problem.reason));
    let why = synced.unfetched.iter().cloned().chain(failed).next();
    Some(why.unwrap_or_else(|| "the site has no page that can be read".to_owned()))
}

/// Removes a collection that was just added from the configuration, the pages and the index.
fn undo_add(
    name: &str,
    edited: &config::EditedConfigFile,
    inputs: &ConfigInputs,
) -> anyhow::Result<()> {
    if !edited.undo()? {
        config::remove_collection(inputs, name)?;
    }
    clear(name, inputs)
}

/// Removes the pages of a collection that is no longer configured, and its part of the index.
fn clear(name: &str, inputs: &ConfigInputs) -> anyhow::Result<()> {
    // With no collection named, only those that are no longer configured are removed from the index.
    let (site, _) = run_sync(inputs, &|_| false)?;
    remove_pages(name, &site.config)
}

fn remove_pages(name: &str, config: &Config) -> anyhow::Result<()> {
    match collections::mirrors(config).remove_all(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let mirror = collections::mirror(config, name);
            Err(error).with_context(|| format!("cannot remove {}", mirror.display()))
        }
        _ => Ok(()),
    }
}

/// The keys of a new collection, and whether its files lie outside the roots.
fn keys(
    flags: &AddCollectionArgs,
    inputs: &ConfigInputs,
    config: &Config,
) -> anyhow::Result<(Map<String, Value>, bool)> {
    let mut keys = Map::new();
    let mut outside = false;
    if is_address(&flags.place) {
        keys.insert("url".into(), json!(flags.place));
    } else {
        let path = inputs.working_dir.join(&flags.place).canonicalize().with_context(|| {
            format!("cannot read {}: name a folder or a file that exists", flags.place)
        })?;
        if let Ok(found @ PathKind::Special(_)) =
            path.metadata().map(|found| PathKind::of_open(&found))
        {
            bail!(
                "{} is not a regular file or directory ({found}): name one that is",
                path.display()
            );
        }
        outside = !config.roots.iter().any(|root| path.starts_with(root));
        // Others who share the project have it elsewhere.
        let shown = match path.strip_prefix(config.first_root()) {
            Ok(inside) if inside.as_os_str().is_empty() && !flags.user => Path::new("."),
            Ok(inside) if !flags.user => inside,
            _ => &path,
        };
        keys.insert("path".into(), json!(shown.to_string_lossy()));
    }
    let texts = [
        ("title", &flags.title),
        ("type", &flags.kind),
        ("version", &flags.version),
        ("description", &flags.description),
        ("url", &flags.url),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            keys.insert(key.into(), json!(text));
        }
    }
    for (key, all) in [("include", &flags.include), ("exclude", &flags.exclude)] {
        if !all.is_empty() {
            keys.insert(key.into(), json!(all));
        }
    }
    Ok((keys, outside))
}

fn is_address(place: &str) -> bool {
    place.starts_with("https://") || place.starts_with("http://")
}

fn remove(
    name: &str,
    common: &DocsCommonArgs,
    environment: ConfigEnvironment,
) -> anyhow::Result<Printed> {
    let inputs = common.inputs(environment)?;
    let known = cli::load(&inputs)?.collections;
    let Some(path) = config::remove_collection(&inputs, name)? else {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(UsageError(format!("unknown collection {name}; known: {known}")).into());
    };
    clear(name, &inputs)?;
    let text = if common.json {
        format!("{:#}\n", json!({"removed": name, "file": path}))
    } else {
        format!("Removed {name} from {} and from the index.\n", path.display())
    };
    Ok(Printed { text, code: ExitCode::SUCCESS })
}

/// The result of a sync: pages fetched, and changes to the index.
#[derive(Default)]
struct CollectionSync {
    fetched: Vec<(String, CrawlReport)>,
    /// Why collections could not be fetched.
    unfetched: Vec<String>,
    report: DocsReport,
    /// Whether there is any collection.
    is_configured: bool,
}

fn sync(
    names: &[String],
    inputs: &ConfigInputs,
    config: &Config,
) -> anyhow::Result<CollectionSync> {
    if let Some(name) = names.iter().find(|name| !config.collections.contains_key(*name)) {
        let known: Vec<&str> = config.collections.keys().map(String::as_str).collect();
        let what = format!("unknown collection {name}; known: {}", known.join(", "));
        return Err(UsageError(what).into());
    }
    let mut synced = CollectionSync {
        is_configured: !config.collections.is_empty(),
        ..CollectionSync::default()
    };
    if !synced.is_configured {
        return Ok(synced);
    }
    let wanted = |one: &CollectionSettings| names.is_empty() || names.contains(&one.name);
    for one in collections::configured_collections(config).iter().filter(|one| wanted(one)) {
        // A collection that can't be fetched does not stop the others.
        match collections::fetch(config, &one.name) {
            Ok(Some(crawled)) => synced.fetched.push((one.name.clone(), crawled)),
            Ok(None) => {}
            Err(error) => synced.unfetched.push(format!("{error:#}")),
        }
    }
    (_, synced.report) = run_sync(inputs, &wanted)?;
    Ok(synced)
}

impl CollectionSync {
    fn print(&self, as_json: bool) -> anyhow::Result<Printed> {
        if !self.is_configured {
            let text = "No documentation is configured: run `docent docs add NAME FOLDER`.\n";
            let text = if as_json { "{\"collections\": []}\n".into() } else { text.to_owned() };
            return Ok(Printed { text, code: ExitCode::SUCCESS });
        }
        let text = if as_json {
            let mut shown = serde_json::to_value(&self.report)?;
            let fetched = self.fetched.iter();
            let fetched = fetched.map(|(name, crawled)| (name.clone(), crawl_json(crawled)));
            shown["fetched"] = Value::Object(fetched.collect());
            shown["unfetched"] = json!(self.unfetched);
            format!("{shown:#}\n")
        } else {
            let fetched = self.fetched.iter().map(|(name, crawled)| crawl_text(name, crawled));
            let unfetched = self.unfetched.iter().map(|reason| format!("{reason}\n"));
            fetched.chain(unfetched).collect::<String>() + &format_report(&self.report)
        };
        let empty = |one: &CollectionReport| one.documents == 0 && !one.problems.is_empty();
        let failed = !self.unfetched.is_empty() || self.report.collections.iter().any(empty);
        Ok(Printed { text, code: ExitCode::from(u8::from(failed)) })
    }
}

fn run_sync(
    inputs: &ConfigInputs,
    wanted: &(dyn Fn(&CollectionSettings) -> bool + Sync),
) -> anyhow::Result<(IndexTarget, DocsReport)> {
    let site = IndexTarget::from_config(Config::load(inputs)?)?;
    let store = site
        .store(embedding::connect(&site.config)?, EmbeddedStoreSettings::default().lock_timeout)?;
    let report = site.sync_docs(&store, wanted)?;
    Ok((site, report))
}

fn crawl_json(crawled: &CrawlReport) -> Value {
    let CrawlReport { fetched, unchanged, gone, refused, failed, skipped, .. } = crawled;
    let problem = |one: &docent_net::CrawlProblem| json!({"url": one.url, "reason": one.reason});
    json!({
        "pages": fetched, "unchanged": unchanged, "gone": gone, "refused": refused, "failed": failed,
        "skipped": skipped, "end": format!("{:?}", crawled.end).to_lowercase(),
        "problems": crawled.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn crawl_text(name: &str, crawled: &CrawlReport) -> String {
    let CrawlReport { fetched, unchanged, gone, refused, failed, .. } = crawled;
    let pages = count(*fetched, "page");
    let end = match crawled.end {
        CrawlEnd::Complete => "",
        CrawlEnd::Full => {
            "; the site has more pages than the limit: narrow it with include and exclude"
        }
        CrawlEnd::Stopped => "; stopped, continues next time",
        CrawlEnd::GaveUp => "; the site stopped answering, the next sync continues from here",
    };
    let mut text = format!(
        "{name}: fetched {pages} ({unchanged} unchanged, {gone} gone, {refused} refused, {failed} failed{end})\n"
    );
    for problem in crawled.problems.iter().take(MAX_LISTED_PROBLEMS) {
        // Writing to a string can't fail.
        let _ok = writeln!(text, "  {}: {}", problem.url, problem.reason);
    }
    text
}

fn format_report(report: &DocsReport) -> String {
    let mut text = String::new();
    for one in &report.collections {
        text.push_str(&format_collection(one));
    }
    if let Some(reason) = &report.rebuilt {
        // Writing to a string can't fail.
        let _ok = writeln!(text, "The index was rebuilt: {reason}.");
    }
    let stopped = if report.stopped { ", stopped before the end" } else { "" };
    let _ok = writeln!(text, "Indexed in {:.2} s{stopped}.", report.seconds);
    text
}

fn format_collection(one: &CollectionReport) -> String {
    let mut text = format!("{}: {}", one.name, count(one.documents, "document"));
    let (new, changed) = (one.added, one.changed - one.added);
    let _ok = write!(text, " ({new} new, {changed} changed, {} gone", one.removed);
    if one.skipped > 0 {
        let _ok = write!(text, "; {} skipped", count(one.skipped, "other file"));
    }
    text.push_str(")\n");
    for problem in one.problems.iter().take(MAX_LISTED_PROBLEMS) {
        let _ok = writeln!(text, "  {}: {}", problem.path, problem.reason);
    }
    if one.problems.len() > MAX_LISTED_PROBLEMS {
        let _ok =
            writeln!(text, "  and {} more problems", one.problems.len() - MAX_LISTED_PROBLEMS);
    }
    text
}

fn list(common: &DocsCommonArgs, environment: ConfigEnvironment) -> anyhow::Result<Printed> {
    let site = IndexTarget::from_config(cli::load(&common.inputs(environment)?)?)?;
    let store = site.store(
        docent_index::embed::EmbeddingTable::built_in(),
        EmbeddedStoreSettings::default().lock_timeout,
    )?;
    let mut shown = Vec::new();
    for one in &site.collections {
        let (documents, chunks) = docs::indexed_counts(one, &store)?;
        let (changed, gone) = docs::outdated_counts(&site.roots, one, &store)?;
        shown.push(json!({
            "name": one.name,
            "docType": one.doc_type(),
            "version": one.version,
            "description": one.description,
            "path": match &one.origin {
                CollectionOrigin::Roots(path) => path.clone(),
                CollectionOrigin::Anywhere(path) => path.display().to_string(),
            },
            "url": one.url,
            "documents": documents,
            "chunks": chunks,
            "changed": changed,
            "gone": gone,
        }));
    }
    let generation = store.status()?.generation;
    let text = if common.json {
        format!("{:#}\n", json!({"collections": shown, "generation": generation}))
    } else if shown.is_empty() {
        "No documentation is configured: run `docent docs add NAME FOLDER`.\n".into()
    } else {
        shown.iter().map(line).collect()
    };
    Ok(Printed { text, code: ExitCode::SUCCESS })
}

fn line(one: &Value) -> String {
    let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let number =
        |key: &str| usize::try_from(one[key].as_u64().unwrap_or_default()).unwrap_or_default();
    let version =
        if one["version"].is_null() { String::new() } else { format!(" {}", text("version")) };
    let (changed, gone) = (number("changed"), number("gone"));
    let step = if changed + gone == 0 {
        "up to date".to_owned()
    } else {
        format!("{changed} new or changed and {gone} gone since: run `docent docs sync`")
    };
    let about = if text("description").is_empty() {
        String::new()
    } else {
        format!("  {}\n", text("description"))
    };
    format!(
        "{}{version}: {}, {}, {step}\n{about}  {}\n",
        text("name"),
        count(number("documents"), "document"),
        count(number("chunks"), "chunk"),
        text("path"),
    )
}
