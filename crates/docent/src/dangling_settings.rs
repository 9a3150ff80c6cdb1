//! Finds settings that refer to something this server does not have. They don't stop the server, and would otherwise
//! silently have no effect.

use crate::config::{CollectionConfig, Config, KeyScope};
use docent_suites::files::PathKind;
use docent_tool::ToolProvider;
use std::{path::PathBuf, sync::Arc};

/// Returns one sentence per dangling setting, with what to do.
pub(crate) fn dangling_settings(
    config: &Config,
    providers: &[Arc<dyn ToolProvider>],
) -> Vec<String> {
    let mut all = Vec::new();
    let keys = &config.server.auth.keys;
    if !config.limits.tools.is_empty() || !keys.is_empty() {
        let servers = config.servers.iter().map(|entry| entry.server.name.as_str());
        let keys_of_all = providers.iter().map(|provider| provider.key()).chain(servers);
        let suites: Vec<String> = keys_of_all.map(|key| format!("{key}:*")).collect();
        // The tools of downstream servers are not known yet.
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
            all.push(format!("`limits.tools.{name}` matches no tool; {}", nearest(name, &tools)));
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
                        "the key `{name}` has the scope `{text}`, which matches nothing; {near}"
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
    near.map_or_else(|| "there are none".to_owned(), |near| format!("did you mean `{near}`?"))
}

fn collection_problem(collection: &CollectionConfig, roots: &[PathBuf]) -> Option<String> {
    let Some(path) = &collection.path else { return None };
    let shown = path.display();
    match path.canonicalize() {
        Ok(real) if collection.of_a_project && !roots.iter().any(|root| real.starts_with(root)) => {
            Some(format!(
                "names {shown}, which is outside the roots, and a project file can't allow that; add it with `docent docs add`, or add the directory to `roots`"
            ))
        }
        Ok(real) => match real.metadata().map(|found| PathKind::of_open(&found)) {
            Ok(found @ PathKind::Special(_)) => {
                Some(format!("names {shown}, which is not a regular file or directory ({found})"))
            }
            _ => None,
        },
        Err(error) => Some(format!("names {shown}, which cannot be opened: {error}")),
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
    fn dangling_settings_are_reported() {
        check("", &[]);
        check("docs.collections.a.path = \"docs\"", &[]);
        check(
            "limits.tools.analyse_repository.timeout_ms = 5",
            &[
                "`limits.tools.analyse_repository` matches no tool; did you mean `analyze_repository`?",
            ],
        );
        check(
            "server.auth.keys = [{name = \"k\", token = \"t\", scopes = [\"*\", \"docs:*\", \"doc:*\", \"parse_file\"]}]",
            &[
                "`doc:*`, which matches nothing; did you mean `docs:*`?",
                "did you mean `parse_files`?",
            ],
        );
        check("docs.collections.a.path = \"nowhere\"", &["which cannot be opened"]);
        check("docs.collections.a.path = \"docent.toml\"", &[]);
        check("docs.collections.a.path = \"..\"", &["outside the roots"]);
        check("docs.collections.a.url = \"https://example.com\"", &[]);
        check("mcp_servers.a.command = \"x\"", &["and not started"]);
    }
}
