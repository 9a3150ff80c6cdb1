//! Walks the path to a file component by component, as the kernel does: a user who can change one controls the
//! target.

use super::{ConfiguredServer, resolve::Resolver};
use docent_registry::EntryTransport;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Folders that any program can write to.
pub(crate) const TEMPORARY_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Walks the path to a file until `stops` returns true for a folder and the next component. Returns the path so far,
/// with the rest appended.
fn walk_path(file: &Path, mut stops: impl FnMut(&Path, &Path) -> bool) -> PathBuf {
    // The kernel's limit on links.
    let mut links = 40;
    let (mut at, mut ahead) = (PathBuf::from("/"), file.to_owned());
    loop {
        let mut parts = ahead.components();
        let Some(part) = parts.next() else { return at };
        let rest = parts.as_path().to_owned();
        ahead = match part {
            Component::Normal(name) => {
                let next = at.join(name);
                if stops(&at, &next) {
                    return next.components().chain(rest.components()).collect();
                }
                if let Some(target) = fs::read_link(&next).ok().filter(|_| links > 0) {
                    links -= 1;
                    target.join(rest)
                } else {
                    at = next;
                    rest
                }
            }
            Component::ParentDir => {
                at.pop();
                rest
            }
            Component::RootDir => {
                at = PathBuf::from("/");
                rest
            }
            Component::CurDir | Component::Prefix(_) => rest,
        };
    }
}

/// Returns every folder, link and file on the path to a file: a change of any of them changes what is read.
pub(crate) fn path_components(file: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    walk_path(file, |_, next| {
        all.push(next.to_owned());
        false
    });
    all
}

/// Resolves the links of a path, even if its last components don't exist.
pub(crate) fn resolve_links(path: &Path) -> PathBuf {
    walk_path(path, |_, _| false)
}

/// The same up to the first of `places`. Links inside those are untrusted, and are left as they are.
pub(crate) fn resolve_links_until(path: &Path, places: &[PathBuf]) -> PathBuf {
    walk_path(path, |at, _| places.iter().any(|place| at.starts_with(place)))
}

/// Whether no component of a path is in one of `places`, so that its target can be trusted.
pub(crate) fn is_fixed(path: &Path, places: &[PathBuf]) -> bool {
    let is_in = |step: &PathBuf, place: &PathBuf| step != place && step.starts_with(place);
    !path_components(path).iter().any(|step| places.iter().any(|place| is_in(step, place)))
}

impl Resolver<'_> {
    /// Rejects a root reached through a link in another root or in a temporary folder: servers can write there, and
    /// could replace the link to choose another root at the next start.
    pub(super) fn check_ways(&mut self, roots: &[String], servers: &[ConfiguredServer]) {
        let runs = |entry: &ConfiguredServer| {
            let is_program = matches!(entry.server.way, EntryTransport::Program { .. });
            is_program && !entry.of_a_project && !entry.server.disabled
        };
        if !servers.iter().any(runs) {
            return;
        }
        let roots: Vec<PathBuf> = roots.iter().map(|root| self.path("roots", root)).collect();
        let ends: Vec<PathBuf> = roots.iter().map(|root| resolve_links(root)).collect();
        let temporary = TEMPORARY_FOLDERS.iter().map(|place| resolve_links(Path::new(place)));
        let places: Vec<PathBuf> = temporary.chain(ends.iter().cloned()).collect();
        for (root, end) in roots.iter().zip(&ends) {
            let way = resolve_links_until(root, &places);
            let left =
                places.iter().find(|place| way.starts_with(place) && !end.starts_with(place));
            if let Some(place) = left {
                let (place, end) = (place.display(), end.display());
                let what = format!(
                    "has {}, which a link in {place} redirects to {end}: servers can write there and change the link; use {end} instead",
                    root.display()
                );
                self.problem("roots", what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigFlags, ConfigInputs};
    use std::os::unix::fs::symlink;

    #[test]
    fn every_step_on_the_way_to_a_file_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        for folder in ["root", "kept"] {
            fs::create_dir(at.join(folder)).unwrap();
        }
        symlink("../kept", at.join("root/folder")).unwrap();
        symlink(at.join("root/folder/b"), at.join("kept/a")).unwrap();
        symlink("itself", at.join("itself")).unwrap();
        let passes =
            |file: &str, want: &str| path_components(&at.join(file)).contains(&at.join(want));
        assert!(passes("kept/a", "root/folder"), "{:?}", path_components(&at.join("kept/a")));
        assert!(passes("kept/a", "kept/b") && passes("root/../kept/b", "kept/b"));
        assert!(!passes("kept/b", "root") && passes("itself", "itself"));
    }

    #[test]
    fn links_are_resolved_up_to_where_they_can_be_changed() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("kept/inner")).unwrap();
        fs::create_dir(at.join("open")).unwrap();
        symlink(at.join("open/link/x"), at.join("kept/way")).unwrap();
        symlink("/", at.join("open/link")).unwrap();
        symlink("kept/inner", at.join("near")).unwrap();
        let open = [at.join("open")];
        for (path, expected) in [
            ("near", "kept/inner"),
            ("near/none/such", "kept/inner/none/such"),
            ("near/../inner", "kept/inner"),
            ("open", "open"),
            ("open/link", "open/link"),
            ("open/../kept/inner", "kept/inner"),
            ("kept/way", "open/link/x"),
        ] {
            assert_eq!(resolve_links_until(&at.join(path), &open), at.join(expected), "{path}");
        }
        assert_eq!(resolve_links(&at.join("kept/way")), Path::new("/x"));
        for (path, fixed) in
            [("near", true), ("open", true), ("open/x", false), ("kept/way", false)]
        {
            assert_eq!(is_fixed(&at.join(path), &open), fixed, "{path}");
        }
        // With a stroke at its end it would have to be a folder.
        assert!(!resolve_links_until(&at.join("kept/way"), &open).to_string_lossy().ends_with('/'));
    }

    #[test]
    fn no_root_is_chosen_by_a_link_that_servers_may_change() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("project/sub")).unwrap();
        let other = tempfile::tempdir().unwrap();
        let load = |second: &Path, servers: &str| {
            let roots = [at.join("project"), second.to_owned()];
            let file = at.join("own.toml");
            fs::write(&file, format!("roots = {roots:?}\n{servers}")).unwrap();
            let flags = ConfigFlags { config_file: Some(file), ..ConfigFlags::default() };
            let inputs = ConfigInputs { working_dir: at.clone(), flags, ..ConfigInputs::default() };
            Config::load(&inputs).map(|config| config.roots).map_err(|error| error.to_string())
        };
        let (sub, server) = (at.join("project/sub"), "mcp_servers.a.command = \"x\"\n");
        assert_eq!(load(&sub, server).unwrap(), [at.join("project"), sub.clone()]);
        fs::rename(&sub, at.join("project/moved")).unwrap();
        symlink(other.path(), &sub).unwrap();
        let refused = load(&sub, server).unwrap_err();
        assert!(refused.contains(&other.path().display().to_string()), "{refused}");
        assert!(load(other.path(), server).is_ok());
        // Without a program to run, nothing can change it.
        for none in [
            "",
            "mcp_servers.a = { command = \"x\", disabled = true }\n",
            "mcp_servers.a.url = \"https://example.org/mcp\"\n",
        ] {
            assert!(load(&sub, none).is_ok(), "{none}");
        }
    }
}
