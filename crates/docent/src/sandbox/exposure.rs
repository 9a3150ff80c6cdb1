//! Finds files that docent trusts but sandboxed servers can write to: the audit log and configuration files.

use super::{GuardedAccess, changeable_paths, guarded::caches, of_a_server};
use crate::config::{self, Config, ConfigInputs, path_components};
use docent_sandbox::ConfinementMode;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// Returns sandboxed servers that can write to this file, or to a component of its path.
pub(crate) fn writers<'a>(file: &Path, config: &'a Config, home: Option<&Path>) -> Vec<&'a str> {
    writers_in(file, &writable_paths(config, home))
}

fn writers_in<'a>(file: &Path, written: &[(&'a str, Vec<PathBuf>)]) -> Vec<&'a str> {
    let passed = path_components(file);
    let is_open = |place: &PathBuf| passed.iter().any(|step| step.starts_with(place));
    let writes = written.iter().filter(|(_, places)| places.iter().any(is_open));
    writes.map(|(server, _)| *server).collect()
}

/// Returns sandboxed servers with the real paths that they can write to.
fn writable_paths<'a>(config: &'a Config, home: Option<&Path>) -> Vec<(&'a str, Vec<PathBuf>)> {
    let open = GuardedAccess { write: caches(home), ..GuardedAccess::default() };
    let places = changeable_paths(config, &open.write);
    let usable =
        config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let held = usable.filter_map(|entry| {
        let docent_registry::EntryTransport::Program { cwd, .. } = &entry.server.way else {
            return None;
        };
        let cwd = cwd.as_deref().map(Path::new);
        let (confined, mode) = of_a_server(config, &entry.extra, cwd, &open, &places);
        let write = confined.write.into_iter();
        let write: Vec<PathBuf> =
            write.map(|place| place.canonicalize().unwrap_or(place)).collect();
        (mode != ConfinementMode::Off).then_some((entry.server.name.as_str(), write))
    });
    held.collect()
}

/// A file of the user's own settings that sandboxed servers can write to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExposedFile {
    pub(crate) file: PathBuf,
    servers: Vec<String>,
}

impl fmt::Display for ExposedFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.servers.as_slice() {
            [one] => format!("the server {one}"),
            all => format!("the servers {}", all.join(", ")),
        };
        write!(
            out,
            "{who} can write to {}, which is part of the configuration: changes are not applied while docent runs, but at \
             the next start or SIGHUP; move the file out of the roots and temporary folders, or set \
             `sandbox = \"strict\"` for {who}",
            self.file.display()
        )
    }
}

/// Returns the files that control which programs and callers docent accepts and that a server can write to: it could
/// turn off its own sandbox there. Project files don't count, because they can't set any of that.
pub(crate) fn exposed_files(config: &Config, inputs: &ConfigInputs) -> Vec<ExposedFile> {
    let named = inputs.flags.config_file.as_ref().map(|file| inputs.working_dir.join(file));
    let own = config::user_file(inputs).into_iter().chain(named);
    let written = writable_paths(config, inputs.home.as_deref());
    let mut found: Vec<ExposedFile> = Vec::new();
    for file in own.chain(config.secret_files.iter().cloned()) {
        let servers: Vec<String> =
            writers_in(&file, &written).into_iter().map(str::to_owned).collect();
        if !servers.is_empty() && !found.iter().any(|known| known.file == file) {
            found.push(ExposedFile { file, servers });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigFlags;
    use std::fs;

    #[test]
    fn who_may_write_to_the_record_is_known() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        fs::create_dir_all(root.join(".docent")).unwrap();
        let settings = "[mcp_servers]\nguarded = { command = \"x\" }\n\
                        more = { command = \"x\", sandbox = { write = [\"/var/lib/other\"] } }\n\
                        strict = { command = \"x\", sandbox = \"strict\" }\n\
                        off = { command = \"x\", sandbox = \"off\" }\n\
                        gone = { command = \"x\", disabled = true }\n\
                        remote = { url = \"https://example.org/mcp\" }\n";
        let file = home.path().join("docent.toml");
        fs::write(&file, settings).unwrap();
        let config = Config::load(&ConfigInputs {
            home: Some(home.path().to_owned()),
            working_dir: root.clone(),
            flags: ConfigFlags { config_file: Some(file), ..ConfigFlags::default() },
            ..ConfigInputs::default()
        });
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let someone = config::resolve_links(Path::new("/home/someone"));
        let writers = |file: &Path| writers(file, &config, Some(&someone));
        assert_eq!(writers(&root.join(".docent/audit.jsonl")), ["guarded", "more"]);
        assert_eq!(writers(Path::new("/var/lib/other/audit.jsonl")), ["more"]);
        assert_eq!(writers(&someone.join(".npm/a.json")), ["guarded", "more"]);
        assert!(writers(Path::new("/var/lib/docent/audit.jsonl")).is_empty());
    }
}
