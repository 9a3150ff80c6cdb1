//! Converts configured servers to the hub's specs.

use crate::config::{Config, ConfiguredServer, SecretText, ServerExtension};
use docent_hub::{RetryPolicy, ServerDescription, ServerSpec, ServerTransport};
use docent_registry::{EntryVisibility, RemoteKind, Sensitivity};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
    time::Duration,
};

/// Names of docent's own tools, which no other tool may have.
const DOCENT_TOOLS: [&str; 18] = [
    "analyze_repository",
    "check_documentation",
    "parse_files",
    "query_annotations",
    "analyze_code",
    "read_symbol",
    "find_references",
    "outline",
    "index_status",
    "search_documentation",
    "get_document",
    "list_collections",
    "web_search",
    "fetch_page",
    "list_mcp_capabilities",
    "describe_mcp",
    "call_mcp_tool",
    "execute_mcp_code",
];

/// Returns every server that may be started.
pub(crate) fn all_specs(config: &Config) -> Vec<ServerSpec> {
    let usable = |entry: &&ConfiguredServer| !entry.of_a_project && !entry.server.disabled;
    let mut specs: Vec<ServerSpec> =
        config.servers.iter().filter(usable).map(|entry| spec_of(entry, config)).collect();
    for problem in drop_invalid_renames(&mut specs) {
        tracing::warn!("{problem}");
    }
    specs
}

/// Drops invalid new names, and returns why: a tool then keeps its own name rather than being hidden.
fn drop_invalid_renames(specs: &mut [ServerSpec]) -> Vec<String> {
    let servers: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for spec in specs {
        let own = spec.name.clone();
        spec.rename.retain(|tool, name| {
            let key = format!("mcp_servers.{own}.rename.{tool}");
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
            let other = servers.iter().find(|other| {
                **other != own
                    && name.strip_prefix(*other).is_some_and(|rest| rest.starts_with("__"))
            });
            let problem = if !(1..=128).contains(&name.len()) || !name.bytes().all(legal) {
                "is not a valid name: use 1-128 of A-Z a-z 0-9 _ - . /".to_owned()
            } else if DOCENT_TOOLS.contains(&name.as_str()) {
                "is the name of one of docent's own tools: choose another".to_owned()
            } else if let Some(other) = other {
                format!("is a name of the server `{other}`: choose another")
            } else if let Some(first) = given.get(name) {
                format!("is also used by `{first}`: choose another")
            } else {
                given.insert(name.clone(), key);
                return true;
            };
            problems.push(format!("`{key}` is ignored: {name:?} {problem}"));
            false
        });
    }
    problems
}

/// Converts one server.
pub(crate) fn spec_of(entry: &ConfiguredServer, config: &Config) -> ServerSpec {
    let ConfiguredServer { server, extra, .. } = entry.clone();
    let way = match &server.way {
        docent_registry::EntryTransport::Program { command, args, env, cwd, .. } => {
            ServerTransport::Program {
                command: command.clone(),
                args: args.clone(),
                env: env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
                cwd: cwd.as_ref().map(PathBuf::from),
            }
        }
        docent_registry::EntryTransport::Remote { url, kind, headers } => ServerTransport::Remote {
            url: url.clone(),
            sse: kind.map(|kind| kind == RemoteKind::Sse),
            headers: headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        },
    };
    let mut spec = ServerSpec::new(server.name.clone(), way);
    let meta = &server.meta;
    spec.about = ServerDescription {
        title: meta.title.clone(),
        description: meta.description.clone(),
        tags: meta.tags.clone(),
        domains: meta.domains.clone(),
        examples: meta.examples.clone(),
        priority: meta.priority.unwrap_or(0).into(),
        visibility: match meta.visibility {
            EntryVisibility::Default => None,
            EntryVisibility::OptIn => Some(docent_hub::DiscoveryVisibility::OptIn),
            EntryVisibility::Experimental => Some(docent_hub::DiscoveryVisibility::Experimental),
        },
        on_request: meta.auto_discover == Some(false),
        sensitivity: match meta.sensitivity {
            Sensitivity::Low => None,
            Sensitivity::Medium => Some("medium".into()),
            Sensitivity::High => Some("high".into()),
        },
    };
    let time = Duration::from_millis;
    spec.other_settings = pin_context(&extra, config);
    spec.warm = extra.warm;
    // 0 keeps it running.
    spec.idle = extra.idle_ms.map_or(spec.idle, |idle| (idle > 0).then(|| time(idle)));
    spec.start_timeout = server.start_timeout.unwrap_or(spec.start_timeout);
    spec.timeout = server.timeout.unwrap_or(config.limits.tool_timeout);
    spec.max_timeout = extra.max_timeout_ms.map(time);
    spec.retry = extra.retry.map(|retry| RetryPolicy {
        codes: retry.codes,
        attempts: retry.attempts,
        backoff: time(retry.backoff_ms),
    });
    spec.concurrency = extra.concurrency.unwrap_or(spec.concurrency);
    spec.cache = extra.cache_ms.map(time);
    spec.rename = extra.rename;
    spec.hide = extra.hide;
    spec.only = extra.only;
    spec.describe = extra.describe;
    spec.pinned = extra.pinned.unwrap_or(true);
    spec.accepts_new_tools = extra.accept_new_tools.unwrap_or(false);
    spec.keeps_pins = extra.of_a_registry;
    spec.roots = extra.roots;
    spec
}

/// Hashes the settings of an entry that the hub does not know, and the sandbox that results from the configuration, so
/// that a change restarts the server. The hash includes a secret without revealing it.
fn pin_context(extra: &ServerExtension, config: &Config) -> String {
    let mut hasher = DefaultHasher::new();
    let ServerExtension { sandbox, oauth, of_a_registry, .. } = extra;
    let held = (sandbox, of_a_registry, &config.policy.sandbox, &config.roots);
    format!("{held:?} {oauth:?}").hash(&mut hasher);
    oauth.client_secret.as_ref().map(SecretText::expose).hash(&mut hasher);
    format!("{:x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigInputs, SandboxMode};
    use docent_tool::ToolProvider as _;

    #[test]
    fn what_a_program_is_held_to_is_part_of_it() {
        let place = tempfile::tempdir().unwrap();
        let inputs =
            ConfigInputs { working_dir: place.path().to_owned(), ..ConfigInputs::default() };
        let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        let extra = ServerExtension::default();
        let with = |change: fn(&mut Config)| {
            let mut config = config.clone();
            change(&mut config);
            pin_context(&extra, &config)
        };
        let same = pin_context(&extra, &config);
        assert_eq!(with(|_| ()), same);
        assert_ne!(with(|config| config.policy.sandbox.mode = SandboxMode::Strict), same);
        assert_ne!(with(|config| config.policy.sandbox.write.push("/srv".into())), same);
        assert_ne!(with(|config| config.roots.push("/srv".into())), same);
        let of_a_registry = ServerExtension { of_a_registry: true, ..ServerExtension::default() };
        assert_ne!(pin_context(&of_a_registry, &config), same);
    }

    #[test]
    fn invalid_new_names_are_dropped_and_reported() {
        let server = |name: &str, renames: &[(&str, &str)]| {
            let (url, headers) = (String::new(), BTreeMap::new());
            let mut spec =
                ServerSpec::new(name, ServerTransport::Remote { url, sse: None, headers });
            let pair = |(tool, name): &(&str, &str)| ((*tool).to_owned(), (*name).to_owned());
            spec.rename = renames.iter().map(pair).collect();
            spec
        };
        let long = "x".repeat(129);
        let mut specs = [
            server(
                "a",
                &[("one", "bad name!"), ("two", "outline"), ("three", "plus"), ("x", &long)],
            ),
            server("b", &[("four", "plus"), ("five", "a__one"), ("six", "b__own"), ("e", "")]),
        ];
        let problems = drop_invalid_renames(&mut specs).join("\n");
        for want in [
            "`mcp_servers.a.rename.one` is ignored: \"bad name!\" is not a valid name",
            "`mcp_servers.a.rename.two` is ignored: \"outline\" is the name of one of docent's own",
            "`mcp_servers.a.rename.x` is ignored",
            "`mcp_servers.b.rename.four` is ignored: \"plus\" is also used by `mcp_servers.a.rename.three`",
            "`mcp_servers.b.rename.five` is ignored: \"a__one\" is a name of the server `a`",
            "`mcp_servers.b.rename.e` is ignored",
        ] {
            assert!(problems.contains(want), "no {want} in {problems}");
        }
        assert_eq!(problems.lines().count(), 6, "{problems}");
        let [a, b] = specs;
        assert_eq!(a.rename, server("a", &[("three", "plus")]).rename);
        assert_eq!(b.rename, server("b", &[("six", "b__own")]).rename);
    }

    #[tokio::test]
    async fn every_tool_of_docent_s_own_is_known_here() {
        let place = tempfile::tempdir().unwrap();
        let inputs = ConfigInputs { working_dir: place.path().into(), ..Default::default() };
        let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        let means = crate::servers::HubResources::new(&config, None, inputs.environment.clone());
        let (hub, _dial) = crate::servers::hub(&config, means, None);
        let headers = BTreeMap::new();
        hub.configure(vec![ServerSpec::new(
            "s",
            ServerTransport::Remote { url: String::new(), sse: None, headers },
        )]);
        let providers = crate::serve::suites(&config).unwrap().providers;
        let own = providers.iter().flat_map(|provider| provider.tools()).chain(hub.tools());
        let mut own: Vec<String> = own.map(|tool| tool.name().to_owned()).collect();
        let mut known = DOCENT_TOOLS.to_vec();
        own.sort_unstable();
        known.sort_unstable();
        assert_eq!(own, known);
    }

    #[test]
    fn another_way_of_a_registry_drops_no_pins() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("servers.json");
        std::fs::write(&file, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
        let environment = [
            ("DOCENT_HUB_REGISTRIES", file.to_str().unwrap()),
            ("DOCENT_MCP_SERVERS", r#"{"b": {"command": "y"}}"#),
        ];
        let environment = environment.into_iter().collect();
        let inputs = ConfigInputs {
            working_dir: place.path().into(),
            environment,
            ..ConfigInputs::default()
        };
        let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        let specs = all_specs(&config);
        let kept: Vec<(&str, bool)> =
            specs.iter().map(|spec| (spec.name.as_str(), spec.keeps_pins)).collect();
        assert_eq!(kept, [("b", false), ("a", true)]);
    }

    #[test]
    fn an_entry_as_the_hub_wants_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(".config/docent/docent.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let load = |secret: &str| {
            let text = format!(
                "[mcp_servers.a]\ncommand = \"x\"\nwarm = true\nidle_ms = 0\ntimeout_ms = 1500\n\
                 max_timeout_ms = 9000\naccept_new_tools = true\nretry = {{ attempts = 3 }}\n\
                 hide = [\"drop_*\"]\nconcurrency = \"many\"\n[mcp_servers.a.rename]\nold = \"new\"\n\
                 [mcp_servers.a.oauth]\nclient_secret = \"{secret}\"\n"
            );
            std::fs::write(&file, text).unwrap();
            let home = Some(place.path().to_owned());
            let inputs =
                ConfigInputs { working_dir: place.path().into(), home, ..ConfigInputs::default() };
            let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
            all_specs(&config).remove(0)
        };
        let spec = load("one-secret");
        assert!(spec.warm && spec.idle.is_none());
        assert_eq!(spec.timeout, Duration::from_millis(1500));
        assert_eq!(spec.max_timeout, Some(Duration::from_secs(9)));
        assert!(spec.pinned && spec.accepts_new_tools);
        let backoff = Duration::from_secs(1);
        assert_eq!(spec.retry, Some(RetryPolicy { codes: vec![-32603], attempts: 3, backoff }));
        assert_eq!(spec.rename["old"], "new");
        assert_eq!(spec.hide, ["drop_*"]);
        assert_eq!(spec.concurrency, 64, "a field of a wrong type costs no other");
        assert!(!format!("{spec:?}").contains("one-secret"));
        assert!(spec != load("another"), "another secret restarts it");
    }
}
