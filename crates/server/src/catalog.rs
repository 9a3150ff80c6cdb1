//! The catalog of tools by their full names: a public name is never split into parts.

use crate::{
    admission::RateLimiter,
    apps, convert,
    metrics::{Metrics, ToolStats},
    policy::ToolPolicy,
    request_caller::RequestCaller,
    setup::ServerSetupError,
    tasks::TaskUse,
    validate::SchemaChecker,
};
use docent_tool::{AnyTool, ToolInfo, ToolProvider};
use docent_transport::Principal;
use rmcp::{
    ErrorData,
    model::{ErrorCode, Tool},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

/// The tool behind a public name, with all its metadata.
pub(crate) struct ToolRoute {
    pub(crate) provider: Arc<str>,
    pub(crate) tool: Arc<dyn AnyTool>,
    pub(crate) info: ToolInfo,
    /// The tool as listed.
    pub(crate) listed: Tool,
    pub(crate) input: SchemaChecker,
    pub(crate) output: Option<SchemaChecker>,
    pub(crate) timeout: Duration,
    /// The timeout was set for this tool by name, so it applies to tasks too.
    pub(crate) timeout_is_own: bool,
    pub(crate) meter: Option<Arc<RateLimiter>>,
    pub(crate) stats: Arc<ToolStats>,
    pub(crate) tasks: TaskUse,
}

impl fmt::Debug for ToolRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRoute")
            .field("provider", &self.provider)
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}

/// An immutable snapshot: a running call keeps the catalog it started with.
#[derive(Debug, Default)]
pub(crate) struct ToolCatalog {
    by_name: HashMap<String, Arc<ToolRoute>>,
    /// In the order of providers and of their tools.
    routes: Vec<Arc<ToolRoute>>,
}

/// Settings for building a catalog.
pub(crate) struct CatalogBuilder {
    pub(crate) timeout: Duration,
    pub(crate) timeouts: BTreeMap<String, Duration>,
    /// Kept across catalogs, so that a change of tools does not reset the counts.
    pub(crate) rate_limiters: HashMap<String, Arc<RateLimiter>>,
}

/// Problems of tools that were left out of a catalog.
#[derive(Debug)]
pub(crate) struct CatalogProblems {
    /// Problems of built-in providers: a bug in docent.
    pub(crate) own: Vec<ServerSetupError>,
    /// Problems of represented providers. Other servers choose these names, and must not prevent a start.
    pub(crate) parts: Vec<ServerSetupError>,
}

impl CatalogBuilder {
    pub(crate) fn new(
        timeout: Duration,
        timeouts: BTreeMap<String, Duration>,
        rates: BTreeMap<String, NonZeroU32>,
    ) -> Self {
        let meter = |(name, rate)| (name, Arc::new(RateLimiter::per_minute(rate)));
        Self { timeout, timeouts, rate_limiters: rates.into_iter().map(meter).collect() }
    }

    /// Carries over the counts of another builder where the rate is the same.
    pub(crate) fn carry_over_counts(&mut self, other: &Self) {
        for (name, meter) in &mut self.rate_limiters {
            if let Some(known) =
                other.rate_limiters.get(name).filter(|known| known.rate() == meter.rate())
            {
                *meter = Arc::clone(known);
            }
        }
    }

    /// Every tool of every provider, and the problems of those that were left out.
    pub(crate) fn build(
        &self,
        providers: &[Arc<dyn ToolProvider>],
        metrics: &Metrics,
    ) -> (ToolCatalog, CatalogProblems) {
        let mut catalogue = ToolCatalog::default();
        let mut keys = HashSet::new();
        let parts: Vec<_> = providers.iter().flat_map(|provider| provider.parts()).collect();
        // Represented providers come last: another server cannot take a name from docent's own tools.
        let mut add =
            |all: &[Arc<dyn ToolProvider>]| self.add(&mut catalogue, &mut keys, all, metrics);
        let problems = CatalogProblems { own: add(providers), parts: add(&parts) };
        (catalogue, problems)
    }

    fn add(
        &self,
        catalogue: &mut ToolCatalog,
        keys: &mut HashSet<String>,
        providers: &[Arc<dyn ToolProvider>],
        metrics: &Metrics,
    ) -> Vec<ServerSetupError> {
        let mut problems = Vec::new();
        for provider in providers {
            if !keys.insert(provider.key().to_owned()) {
                problems.push(ServerSetupError::SameProvider(provider.key().to_owned()));
                continue;
            }
            let key: Arc<str> = provider.key().into();
            for tool in provider.tools() {
                if let Err(problem) = catalogue.add(self.route(&key, tool, metrics)) {
                    problems.push(problem);
                }
            }
        }
        problems
    }

    fn route(&self, provider: &Arc<str>, tool: Arc<dyn AnyTool>, metrics: &Metrics) -> ToolRoute {
        let info = tool.info();
        let own = self.timeouts.get(&info.name);
        ToolRoute {
            provider: Arc::clone(provider),
            listed: convert::tool(&info),
            input: SchemaChecker::new(&info.name, Arc::clone(&info.input_schema)),
            output: info
                .output_schema
                .as_ref()
                .map(|schema| SchemaChecker::new(&info.name, Arc::clone(schema))),
            timeout: own.copied().or(info.timeout).unwrap_or(self.timeout),
            timeout_is_own: own.is_some(),
            meter: self.rate_limiters.get(&info.name).cloned(),
            stats: metrics.tool(&info.name),
            tasks: TaskUse::of(info.meta.as_ref()),
            tool,
            info,
        }
    }
}

/// Every provider, each followed by those that it represents.
pub(crate) fn with_parts(providers: &[Arc<dyn ToolProvider>]) -> Vec<Arc<dyn ToolProvider>> {
    let mut all = Vec::with_capacity(providers.len());
    for provider in providers {
        all.push(Arc::clone(provider));
        all.extend(provider.parts());
    }
    all
}

impl ToolCatalog {
    /// Rejects a second tool with the same name.
    fn add(&mut self, route: ToolRoute) -> Result<(), ServerSetupError> {
        let name = &route.info.name;
        if !is_name(name) {
            return Err(ServerSetupError::BadName {
                provider: route.provider.to_string(),
                tool: name.clone(),
            });
        }
        if let Some(owner) = self.by_name.get(name) {
            return Err(ServerSetupError::Conflict {
                tool: name.clone(),
                first: owner.provider.to_string(),
                second: route.provider.to_string(),
            });
        }
        let route = Arc::new(route);
        self.by_name.insert(route.info.name.clone(), Arc::clone(&route));
        self.routes.push(route);
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<ToolRoute>> {
        self.by_name.get(name)
    }

    /// All routes.
    pub(crate) fn routes(&self) -> &[Arc<ToolRoute>] {
        &self.routes
    }

    /// The tools that this caller may use, as listed.
    pub(crate) fn listed(&self, guest: &RequestCaller, policy: &ToolPolicy) -> Vec<Tool> {
        let who = guest.principal();
        let shown = self.visible_to(who, policy).filter(|route| !route.info.hidden);
        // A page that cannot be read must not be named.
        let names = |route: &ToolRoute| guest.shows_apps && policy.may_see(who, &route.provider);
        let listed = |route: &Arc<ToolRoute>| match route.info.app {
            Some(app) if names(route) => apps::with_app(route.listed.clone(), app),
            _ => route.listed.clone(),
        };
        shown.map(listed).collect()
    }

    fn visible_to<'a>(
        &'a self,
        who: &'a Principal,
        policy: &'a ToolPolicy,
    ) -> impl Iterator<Item = &'a Arc<ToolRoute>> {
        self.routes.iter().filter(|route| policy.may_use(who, route))
    }

    /// The error for an unknown tool: lists the available tools and the most similar names.
    pub(crate) fn unknown_tool_error<'a>(
        &'a self,
        name: &str,
        guest: &'a RequestCaller,
        policy: &'a ToolPolicy,
    ) -> ErrorData {
        let who = guest.principal();
        let named = |route: &'a Arc<ToolRoute>| route.info.name.as_str();
        let closest = similar_names(name, self.visible_to(who, policy).map(named));
        let shown = self.visible_to(who, policy).filter(|route| !route.info.hidden);
        let available: Vec<&str> = shown.map(named).collect();
        let hint =
            closest.first().map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let mut data = json!({
            "parameter": "name", "reason": "is not a tool of this server", "tool": name,
            "details": "Validation failed for parameter 'name'",
            "closest": closest, "available": available,
        });
        if guest.dialect.is_plain() {
            data["method"] = name.into();
        }
        let code = ErrorCode(guest.dialect.unknown_tool_code());
        ErrorData::new(code, format!("Unknown tool: {}{hint}", truncate(name)), Some(data))
    }
}

fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(legal)
}

/// At most three similar names, most similar first.
pub(crate) fn similar_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // Comparing takes time proportional to the product of the lengths, and no name is longer than this.
    let name: String = name.chars().take(128).collect();
    let mut scored: Vec<(f64, &str)> = known
        .filter(|known| known.len() <= 128)
        .map(|known| (strsim::normalized_damerau_levenshtein(&name, known), known))
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Untrusted text, shortened to be included in an error.
pub(crate) fn truncate(text: &str) -> String {
    const MOST: usize = 120;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let known = ["analyze_repository", "parse_files", "query_annotations"];
        let cases = [
            ("analyze_repositroy", vec!["analyze_repository"]),
            ("parse_file", vec!["parse_files"]),
            ("zzz", vec![]),
            ("", vec![]),
        ];
        for (name, want) in cases {
            assert_eq!(similar_names(name, known.into_iter()), want, "{name}");
        }
    }

    #[test]
    fn names_that_clients_take() {
        for (name, want) in
            [("a", true), ("a.b/c-d_E9", true), ("", false), ("a b", false), ("ä", false)]
        {
            assert_eq!(is_name(name), want, "{name}");
        }
        assert!(is_name(&"a".repeat(128)) && !is_name(&"a".repeat(129)));
    }
}
