//! What the configuration names and this server does not have. None of it stops the server, and all of it would
//! otherwise show only as something that silently never happens.

use crate::config::{CollectionConfig, Config, KeyScope};
use docent_suites::files::PathKind;
use docent_tool::ToolProvider;
use std::{path::PathBuf, sync::Arc};

/// One sentence for each, with what to do.
pub(crate) fn dangling_settings(config: &Config, providers: &[Arc<dyn ToolProvider>]) -> Vec<String> {
    let mut all = Vec::new();
    let keys = &config.server.auth.keys;
    if !config.limits.tools.is_empty() || !keys.is_empty() {
        let servers = config.servers.iter().map(|entry| entry.server.name.as_str());
        let keys_of_all = providers.iter().map(|provider| provider.key()).chain(servers);
        let suites: Vec<String> = keys_of_all.map(|key| format!("{key}:*")).collect();
        // What a server offers is not known yet.
        let is_of_a_server = |tool: &str| {
            let named = tool.split_once("__").map(|(server, _)| format!("{server}:*"));
            named.is_some_and(|server| suites.contains(&server))
        };
        let tools = providers.iter().flat_map(|provider| provider.tools());
        let tools: Vec<String> = tools.map(|tool| tool.name().to_owned()).collect();
        for name in config
            .limits
            .tools
            .keys()
            .filter(|name| !tools.contains(*name) && !is_of_a_server(name))
        {
            all.push(format!("`limits.tools.{name}` bounds no tool; {}", nearest(name, &tools)));
        }
        for key in keys {
            for scope in &key.scopes {
                let text = scope.to_string();
                let known = match scope {
                    KeyScope::Everything => continue,
                    KeyScope::Suite(_) => &suites,
                    KeyScope::Tool(_) => &tools,
                };
                if !known.contains(&text) && !is_of_a_server(&text) {
                    let (name, near) = (&key.name, nearest(&text, known));
                    all.push(format!(
                        "the key `{name}` has the scope `{text}`, which opens nothing; {near}"
                    ));
                }
            }
        }
    }
    for (name, collection) in &config.collections {
        let problem = collection_problem(collection, &config.roots);
        all.extend(problem.map(|problem| format!("`docs.collections.{name}` {problem}")));
    }
    for entry in config.servers.iter().filter(|entry| entry.of_a_project) {
        all.push(config.untrusted_server(&entry.server.name));
    }
    all
}

fn nearest(name: &str, known: &[String]) -> String {
    let near = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name));
    near.map_or_else(|| "there is none".to_owned(), |near| format!("the nearest is `{near}`"))
}

fn collection_problem(collection: &CollectionConfig, roots: &[PathBuf]) -> Option<String> {
    let Some(path) = &collection.path else { return None };
    let shown = path.display();
    match path.canonicalize() {
        Ok(real) if collection.of_a_project && !roots.iter().any(|root| real.starts_with(root)) => {
            Some(format!(
                "names {shown}, which lies outside the roots, and a project's own file can't open that; add it with `docent docs add`, or add the directory to `roots`"
            ))
        }
        Ok(real) => match real.metadata().map(|found| PathKind::of_open(&found)) {
            Ok(found @ PathKind::Special(_)) => {
                Some(format!("names {shown}, which is not a regular file or directory ({found})"))
            }
            _ => None,
        },
        Err(error) => Some(format!("names {shown}, which can't be opened: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ConfigInputs, serve};

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        std::fs::create_dir_all(root.join("docs")).unwrap();
        std::fs::write(root.join("docent.toml"), text).unwrap();
        let inputs = ConfigInputs { working_dir: root, ..ConfigInputs::default() };
        let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        let found = dangling_settings(&config, &serve::suites(&config).unwrap().providers);
        assert_eq!(found.len(), want.len(), "{found:#?}");
        for (found, want) in found.iter().zip(want) {
            assert!(found.contains(want), "no {want:?} in {found:?}");
        }
    }

    #[test]
    fn what_is_named_in_vain_is_told() {
        check("", &[]);
        check("docs.collections.a.path = \"docs\"", &[]);
        check(
            "limits.tools.analyse_repository.timeout_ms = 5",
            &[
                "`limits.tools.analyse_repository` bounds no tool; the nearest is `analyze_repository`",
            ],
        );
        check(
            "server.auth.keys = [{name = \"k\", token = \"t\", scopes = [\"*\", \"docs:*\", \"doc:*\", \"parse_file\"]}]",
            &[
                "`doc:*`, which opens nothing; the nearest is `docs:*`",
                "the nearest is `parse_files`",
            ],
        );
        check("docs.collections.a.path = \"nowhere\"", &["which can't be opened"]);
        check("docs.collections.a.path = \"docent.toml\"", &[]);
        check("docs.collections.a.path = \"..\"", &["outside the roots"]);
        check("docs.collections.a.url = \"https://example.com\"", &[]);
        check("mcp_servers.a.command = \"x\"", &["and not started"]);
    }
}
