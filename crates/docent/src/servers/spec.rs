//! A server as it is written, as the hub wants it.

use crate::config::{Config, Held, Secret, ServerEntry, SignIn};
use docent_hub::{About, Spec, Way};
use docent_registry::{RemoteKind, Sensitivity, Visibility};
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
    time::Duration,
};

/// Every server that may be started.
pub(crate) fn all(config: &Config) -> Vec<Spec> {
    let usable = |entry: &&ServerEntry| !entry.of_a_project && !entry.server.disabled;
    config.servers.iter().filter(usable).map(|entry| one(entry, config)).collect()
}

/// One server.
pub(crate) fn one(entry: &ServerEntry, config: &Config) -> Spec {
    let ServerEntry { server, extra, .. } = entry.clone();
    let way = match &server.way {
        docent_registry::Way::Program { command, args, env, cwd, .. } => Way::Program {
            command: command.clone(),
            args: args.clone(),
            env: env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            cwd: cwd.as_ref().map(PathBuf::from),
        },
        docent_registry::Way::Remote { url, kind, headers } => Way::Remote {
            url: url.clone(),
            sse: kind.map(|kind| kind == RemoteKind::Sse),
            headers: headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        },
    };
    let mut spec = Spec::new(server.name.clone(), way);
    let meta = &server.meta;
    spec.about = About {
        title: meta.title.clone(),
        description: meta.description.clone(),
        tags: meta.tags.clone(),
        domains: meta.domains.clone(),
        examples: meta.examples.clone(),
        priority: meta.priority.unwrap_or(0).into(),
        visibility: match meta.visibility {
            Visibility::Default => None,
            Visibility::OptIn => Some(docent_hub::Visibility::OptIn),
            Visibility::Experimental => Some(docent_hub::Visibility::Experimental),
        },
        on_request: meta.auto_discover == Some(false),
        sensitivity: match meta.sensitivity {
            Sensitivity::Low => None,
            Sensitivity::Medium => Some("medium".into()),
            Sensitivity::High => Some("high".into()),
        },
    };
    let time = Duration::from_millis;
    spec.warm = extra.warm;
    // 0 keeps it running.
    spec.idle = extra.idle_ms.map_or(spec.idle, |idle| (idle > 0).then(|| time(idle)));
    spec.start_timeout = server.start_timeout.unwrap_or(spec.start_timeout);
    spec.timeout = server.timeout.unwrap_or(config.limits.tool_timeout);
    spec.concurrency = extra.concurrency.unwrap_or(spec.concurrency);
    spec.cache = extra.cache_ms.map(time);
    spec.rename = extra.rename;
    spec.hide = extra.hide;
    spec.only = extra.only;
    spec.describe = extra.describe;
    spec.pinned = extra.pinned.unwrap_or(true);
    spec.roots = extra.roots;
    spec.other = other(&extra.sandbox, &extra.oauth);
    spec
}

/// Tells apart what the hub does not know of an entry. A secret is part of it, and is not told.
fn other(held: &Held, oauth: &SignIn) -> String {
    let mut hasher = DefaultHasher::new();
    format!("{held:?} {oauth:?}").hash(&mut hasher);
    oauth.client_secret.as_ref().map(Secret::expose).hash(&mut hasher);
    format!("{:x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Inputs;

    #[test]
    fn an_entry_as_the_hub_wants_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(".config/docent/docent.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let load = |secret: &str| {
            let text = format!(
                "[mcp_servers.a]\ncommand = \"x\"\nwarm = true\nidle_ms = 0\ntimeout_ms = 1500\n\
                 hide = [\"drop_*\"]\nconcurrency = \"many\"\n[mcp_servers.a.rename]\nold = \"new\"\n\
                 [mcp_servers.a.oauth]\nclient_secret = \"{secret}\"\n"
            );
            std::fs::write(&file, text).unwrap();
            let home = Some(place.path().to_owned());
            let inputs = Inputs { working_dir: place.path().into(), home, ..Inputs::default() };
            let config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
            all(&config).remove(0)
        };
        let spec = load("one-secret");
        assert!(spec.warm && spec.idle.is_none());
        assert_eq!(spec.timeout, Duration::from_millis(1500));
        assert_eq!(spec.rename["old"], "new");
        assert_eq!(spec.hide, ["drop_*"]);
        assert_eq!(spec.concurrency, 64, "a field of a wrong type costs no other");
        assert!(!format!("{spec:?}").contains("one-secret"));
        assert!(spec != load("another"), "another secret makes it start anew");
    }
}
