//! Converts configured collections for the documentation suite, and fetches the pages of those on the web.

use crate::{
    config::{self, Config},
    indexing::progress,
    state::StateDir,
};
use anyhow::{Context as _, bail};
use docent_files::{FileAccess, ManagedFolder};
use docent_net::{
    CrawlEnd, CrawlObserver, CrawlReport, CrawlSite, FetchLimits, FolderPageStore, GuardedClient,
    PAGES_FOLDER, crawl, parse_url,
};
use docent_suites::docs::{CollectionOrigin, CollectionSettings};
use std::{collections::BTreeMap, path::PathBuf};

/// Returns every collection, in the order configured.
pub(crate) fn configured_collections(config: &Config) -> Vec<CollectionSettings> {
    config.collections.iter().map(|(name, one)| collection(config, name, one)).collect()
}

fn collection(config: &Config, name: &str, one: &config::CollectionConfig) -> CollectionSettings {
    let is_fetched = one.path.is_none();
    CollectionSettings {
        name: name.to_owned(),
        title: one.title.clone(),
        kind: one.kind.clone(),
        version: one.version.clone(),
        description: one.description.clone().unwrap_or_default(),
        origin: origin(config, name, one),
        url: one.url.clone().filter(|_| !is_fetched),
        addresses: if is_fetched { addresses(config, name) } else { BTreeMap::new() },
        // For a site they select which pages are fetched.
        include: if is_fetched { Vec::new() } else { one.include.clone() },
        exclude: if is_fetched { Vec::new() } else { one.exclude.clone() },
    }
}

fn origin(config: &Config, name: &str, one: &config::CollectionConfig) -> CollectionOrigin {
    let Some(path) = &one.path else {
        let pages = mirror(config, name).join(PAGES_FOLDER);
        // Pages outside the state folder, behind a link, were not fetched by docent.
        let state = mirror(config, "").canonicalize().ok();
        let real = pages.canonicalize().ok();
        let leads_out = state.zip(real).is_some_and(|(state, real)| !real.starts_with(state));
        let nowhere = || mirror(config, name).join("not-fetched");
        return CollectionOrigin::Anywhere(if leads_out { nowhere() } else { pages });
    };
    let inside = config.roots.iter().any(|root| path.starts_with(root));
    if one.of_a_project || inside {
        CollectionOrigin::Roots(path.to_string_lossy().into_owned())
    } else {
        CollectionOrigin::Anywhere(path.clone())
    }
}

/// Returns the folder of the pages of a collection fetched from the web.
pub(crate) fn mirror(config: &Config, name: &str) -> PathBuf {
    mirrors(config).join(name).path().to_owned()
}

/// Returns the folder of the pages of all collections.
pub(crate) fn mirrors(config: &Config) -> ManagedFolder {
    let state = StateDir::open(config).map(|state| state.folder().clone());
    state
        .unwrap_or_else(|_| ManagedFolder::resolve(config.first_root()).join(".docent"))
        .join("web")
}

/// Returns the URL that each page came from.
fn addresses(config: &Config, name: &str) -> BTreeMap<String, String> {
    let pages = FolderPageStore::new(mirrors(config).join(name)).pages().unwrap_or_default();
    let within = |file: String| match file.strip_prefix(PAGES_FOLDER) {
        Some(rest) => rest.trim_start_matches('/').to_owned(),
        None => file,
    };
    pages.into_iter().map(|page| (within(page.file), page.url)).collect()
}

/// Fetches the pages of a collection on the web, politely, and only if the policy allows its host.
pub(crate) fn fetch(config: &Config, name: &str) -> anyhow::Result<Option<CrawlReport>> {
    let Some(one) = config.collections.get(name).filter(|one| one.path.is_none()) else {
        return Ok(None);
    };
    let Some(url) = &one.url else { return Ok(None) };
    fetch_pages(config, name, url, &one.include, &one.exclude).map(Some)
}

/// Fetches the pages of a site into the folder of the named collection, which need not be configured yet.
pub(crate) fn fetch_pages(
    config: &Config,
    name: &str,
    url: &str,
    include: &[String],
    exclude: &[String],
) -> anyhow::Result<CrawlReport> {
    let wrong = || format!("docs.collections.{name}.url is not a valid URL: {url}");
    let mut site = CrawlSite::new(parse_url(url).with_context(wrong)?);
    site.include = include.to_vec();
    site.exclude = exclude.to_vec();
    let folder = mirrors(config).join(name);
    let failed = || format!("cannot create {}", folder.path().display());
    folder.make(FileAccess::Private).with_context(failed)?;
    let client = GuardedClient::new(config.policy.network.clone(), FetchLimits::default());
    let mut shelf = FolderPageStore::new(folder);
    let crawled = progress(|callbacks| {
        let mut progress = |done, known| (callbacks.progress)(done, known);
        let watch = CrawlObserver { progress: &mut progress, stop: callbacks.stopped };
        crawl(&client, &site, &mut shelf, watch)
    });
    let crawled = crawled.with_context(|| format!("cannot fetch {name}"))?;
    if crawled.fetched + crawled.unchanged == 0 && crawled.end == CrawlEnd::GaveUp {
        let why = crawled.problems.first().map(|problem| problem.reason.as_str());
        bail!("cannot fetch {name}: {}", why.unwrap_or("the site does not respond"));
    }
    Ok(crawled)
}
