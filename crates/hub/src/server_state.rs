//! State of servers between runs: what they offer, which protocol mode they use, and which tool definitions are
//! approved.

use crate::{
    ProtocolMode, ServerSpec,
    server::{Addresses, ServerCatalog, ToolDefinition},
};
use docent_files::{Durability, FileAccess, ManagedFolder};
use docent_tool::Object;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::PathBuf,
    sync::Arc,
};

/// Damaged files that are kept for one server.
const MAX_DAMAGED_FILES: usize = 100;

/// The stored state of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredServerState {
    /// Digest of the transport that this was learned from.
    pub way: String,
    /// Its protocol mode.
    pub era: Option<ProtocolMode>,
    /// Its name and version.
    pub info: serde_json::Value,
    /// Its capabilities; null if it was never connected.
    pub capabilities: serde_json::Value,
    /// Its instructions for a model.
    pub instructions: Option<String>,
    /// Its tools as approved, in the server's order.
    pub tools: Vec<Object>,
    /// Tools that it no longer lists, as approved, so that a tool that reappears is still compared with its pin.
    pub vanished: Vec<Object>,
    /// Definitions that differ from the approved ones, by tool name.
    pub held_back: BTreeMap<String, Object>,
    /// Held-back definitions that a person has refused.
    pub refused: BTreeMap<String, Object>,
    /// Tools that can't be used, by name, and the reason.
    pub left_out: BTreeMap<String, String>,
    /// Whether earlier approvals could not be read. Until everything that is held back is approved, new definitions are
    /// held back as well: first use does not approve them.
    pub doubted: bool,
    /// Its resources.
    pub resources: Vec<Object>,
    /// Its resource templates.
    pub templates: Vec<Object>,
    /// Its prompts.
    pub prompts: Vec<Object>,
}

impl StoredServerState {
    /// Whether the server was ever connected; false for a placeholder for approvals that could not be read.
    pub(crate) fn is_learned(&self) -> bool {
        self.era.is_some()
    }

    /// Lists the definitions that are held back: the tool, the approved definition, the server's current definition.
    pub fn held_definitions(&self) -> impl Iterator<Item = (&str, Option<&Object>, &Object)> {
        let named = self.tools.iter();
        let named = named.filter_map(|fields| Some((fields.get("name")?.as_str()?, fields)));
        let approved: HashMap<&str, &Object> = named.collect();
        let all = self.held_back.iter();
        all.map(move |(tool, now)| (tool.as_str(), approved.get(tool.as_str()).copied(), now))
    }

    /// Returns why a definition is held back, given its approved version, if any.
    pub fn hold_reason(&self, approved: Option<&Object>) -> &'static str {
        match approved {
            Some(_) => "its definition has changed since it was approved",
            None if self.doubted => "its approval can't be read",
            None => "it was added after the server's tools were approved",
        }
    }

    /// Lists the held-back definitions that are neither approved nor refused.
    pub fn undecided(&self) -> impl Iterator<Item = (&str, Option<&Object>, &Object)> {
        self.held_definitions().filter(|(tool, _, now)| self.refused.get(*tool) != Some(*now))
    }

    fn approve(&mut self, tool: &str) {
        self.refused.remove(tool);
        let Some(changed) = self.held_back.remove(tool) else { return };
        let is_it =
            |known: &&mut Object| known.get("name").and_then(|name| name.as_str()) == Some(tool);
        if let Some(approved) = self.tools.iter_mut().find(is_it) {
            *approved = changed;
        } else {
            // It is new, or its approved version could not be read.
            self.tools.push(changed);
        }
        self.doubted &= !self.held_back.is_empty();
    }

    fn refuse(&mut self, tool: &str) {
        let changed = self.held_back.get(tool).cloned();
        self.refused.extend(changed.map(|changed| (tool.to_owned(), changed)));
    }

    /// The names of held-back tools: all, or the given ones.
    fn select_held(&self, tools: &[String]) -> Vec<String> {
        let wanted = |tool: &&String| tools.is_empty() || tools.contains(tool);
        self.held_back.keys().filter(wanted).cloned().collect()
    }
}

/// Stores the state of servers in a folder, one file per server.
#[derive(Debug, Clone)]
pub struct ServerStateStore {
    folder: Option<ManagedFolder>,
}

impl ServerStateStore {
    /// Stores files in this folder, which is created when needed. Symbolic links in its path are resolved now and never
    /// again.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// Stores nothing.
    pub fn disabled() -> Self {
        Self { folder: None }
    }

    /// Returns the known tools of a server with the names that docent's clients use.
    pub fn tools(&self, spec: &ServerSpec) -> Vec<Object> {
        let Some(remembered) = self.load(spec) else { return Vec::new() };
        let known = ServerCatalog::new(remembered, spec, &Addresses::default());
        let tool = |definition: &Arc<ToolDefinition>| {
            let mut fields = definition.fields.clone();
            fields.insert("name".into(), definition.public.clone().into());
            if let Some(about) = spec.describe.get(&definition.name) {
                fields.insert("description".into(), about.clone().into());
            }
            fields
        };
        known.tools.iter().map(tool).collect()
    }

    /// Returns the file of a server.
    fn file(&self, name: &str) -> Option<ServerStateFile<'_>> {
        let folder = self.folder.as_ref()?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let safe: String = name.chars().map(|c| if plain(c) { c } else { '_' }).take(64).collect();
        let own = crate::spec::digest(&name.into());
        let short: String = own.chars().take(8).collect();
        Some(ServerStateFile { folder, name: format!("{safe}-{short}.json").into() })
    }

    /// Loads the state of a server for its configured transport.
    pub fn load(&self, spec: &ServerSpec) -> Option<StoredServerState> {
        let known = self.load_any(&spec.name)?;
        // A placeholder for unreadable approvals applies to every transport.
        (known.way == spec.digest() || !known.is_learned()).then_some(known)
    }

    /// Loads the approvals of a server for its configured transport, or for any transport if someone else may change
    /// it: an added variable must not turn every definition into a first use.
    pub(crate) fn load_approved(&self, spec: &ServerSpec) -> Option<StoredServerState> {
        if spec.keeps_pins { self.load_any(&spec.name) } else { self.load(spec) }
    }

    /// Loads the state of a server, whatever its transport was.
    pub fn load_any(&self, name: &str) -> Option<StoredServerState> {
        self.read(name).unwrap_or_else(|error| Some(self.set_unreadable_aside(name, &error)))
    }

    fn read(&self, name: &str) -> io::Result<Option<StoredServerState>> {
        let Some(file) = self.file(name) else { return Ok(None) };
        match file.folder.read_bytes(&file.name) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces unreadable approvals by a state without approvals, which the next start finds as well.
    fn set_unreadable_aside(&self, name: &str, error: &io::Error) -> StoredServerState {
        let known = StoredServerState { doubted: true, ..StoredServerState::default() };
        let Some(file) = self.file(name) else { return known };
        let path = file.path();
        // Only a file that was read and can't be parsed is damaged; one that can't be read now may be intact.
        if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) {
            tracing::warn!(server = name, %error, path = %path.display(), "cannot read the tool approvals; all tools are held back until docent can read the file and is restarted");
            return known;
        }
        match file.set_aside(&known) {
            Ok(aside) => {
                tracing::warn!(server = name, %error, kept = %aside.display(), "the tool approvals are corrupt and were moved aside; all tools are held back until `docent servers approve`");
            }
            Err(failed) => {
                tracing::warn!(server = name, %error, path = %path.display(), %failed, "cannot read or back up the tool approvals; all tools are held back. Fix the file, or delete it to approve whatever the server lists next");
            }
        }
        known
    }

    /// Saves the state of a server atomically. Never overwrites a file that can't be read, nor readable approvals with
    /// a placeholder for unreadable ones.
    pub fn save(&self, name: &str, known: &StoredServerState) {
        let Some(file) = self.file(name) else { return };
        let is_sound = |kept: StoredServerState| kept.is_learned() && !kept.doubted;
        let saved = self.read(name).and_then(|kept| {
            if known.doubted && kept.is_some_and(is_sound) { Ok(()) } else { file.replace(known) }
        });
        if let Err(error) = saved {
            tracing::warn!(path = %file.path().display(), %error, "cannot save the state of a server");
        }
    }

    /// Approves definitions that were shown to a person, and returns their names. If one has changed since, or is not
    /// held back any more, none of them is approved.
    pub fn approve_seen(
        &self,
        name: &str,
        seen: &BTreeMap<String, Object>,
    ) -> io::Result<Vec<String>> {
        let choose = |known: &StoredServerState| -> Vec<String> {
            let is_same = |(tool, now): (&String, &Object)| known.held_back.get(tool) == Some(now);
            if seen.iter().all(is_same) { seen.keys().cloned().collect() } else { Vec::new() }
        };
        self.decide(name, choose, StoredServerState::approve)
    }

    /// Refuses definitions that are held back, so that they are not offered for approval again. Returns their names.
    pub fn refuse(&self, name: &str, tools: &[String]) -> io::Result<Vec<String>> {
        self.decide(name, |known| known.select_held(tools), StoredServerState::refuse)
    }

    fn decide(
        &self,
        name: &str,
        choose: impl Fn(&StoredServerState) -> Vec<String>,
        decide: impl Fn(&mut StoredServerState, &str),
    ) -> io::Result<Vec<String>> {
        let Some(mut known) = self.read(name)? else { return Ok(Vec::new()) };
        let names = choose(&known);
        for tool in &names {
            decide(&mut known, tool);
        }
        if let Some(file) = self.file(name).filter(|_| !names.is_empty()) {
            file.replace(&known)?;
        }
        Ok(names)
    }

    /// Deletes the state of a server.
    pub fn forget(&self, name: &str) {
        if let Some(file) = self.file(name)
            && let Err(error) = file.folder.remove(&file.name)
            && !is_absent(&error)
        {
            tracing::warn!(path = %file.path().display(), %error, "cannot remove the saved state of a server");
        }
    }
}

/// Whether the file is absent, rather than unreadable.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The state file of a server.
struct ServerStateFile<'a> {
    folder: &'a ManagedFolder,
    name: PathBuf,
}

impl ServerStateFile<'_> {
    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Keeps the file under another name, which is returned, and puts a new one in its place. A file exists at every
    /// moment: without one, another process would treat the server as new.
    fn set_aside(&self, known: &StoredServerState) -> io::Result<PathBuf> {
        for number in 1..MAX_DAMAGED_FILES {
            let aside = self.name.with_extension(format!("damaged-{number}"));
            match self.folder.link(&self.name, &aside) {
                Ok(()) => {
                    return match self.replace(known) {
                        Ok(()) => Ok(self.folder.path().join(aside)),
                        Err(error) => {
                            // The damaged file is still in place; every attempt would leave one more link.
                            self.folder.remove(&aside).unwrap_or_default();
                            Err(error)
                        }
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("too many damaged copies next to it; remove them"))
    }

    fn replace(&self, known: &StoredServerState) -> io::Result<()> {
        self.folder.make(FileAccess::Private)?;
        let bytes = serde_json::to_vec(known)?;
        self.folder.replace(&self.name, &bytes, FileAccess::Private, Durability::Cached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerTransport;
    use serde_json::json;
    use std::{fs, os::unix::fs::symlink, process::Command};

    fn object(value: &serde_json::Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn state_is_loaded_for_the_same_transport_only() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().join("servers"));
        let way = |url: &str| ServerTransport::Remote {
            url: url.into(),
            sse: None,
            headers: BTreeMap::new(),
        };
        let spec = ServerSpec::new("a/b", way("http://127.0.0.1:1/"));
        assert_eq!(memory.load(&spec), None);
        let known = StoredServerState {
            way: spec.digest(),
            era: Some(ProtocolMode::Stateless),
            ..StoredServerState::default()
        };
        memory.save(&spec.name, &known);
        assert_eq!(memory.load(&spec), Some(known.clone()));
        assert_eq!(memory.load(&ServerSpec::new("a/b", way("http://127.0.0.1:2/"))), None);
        assert_eq!(memory.load(&ServerSpec::new("a_b", way("http://127.0.0.1:1/"))), None);
        let mut elsewhere = ServerSpec::new("a/b", way("http://127.0.0.1:2/"));
        assert_eq!(memory.load_approved(&elsewhere), None);
        elsewhere.keeps_pins = true;
        assert_eq!(memory.load(&elsewhere), None, "what it offers must be listed again");
        assert_eq!(memory.load_approved(&elsewhere), Some(known));
        memory.forget("a/b");
        assert_eq!(memory.load(&spec), None);
    }

    #[test]
    fn approving_puts_the_new_definition_in_the_place_of_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().to_owned());
        let tool = |name: &str, about: &str| object(&json!({"name": name, "description": about}));
        let held = |name: &str| (name.to_owned(), tool(name, "new"));
        let known = StoredServerState {
            tools: vec![tool("a", "old"), tool("b", "old")],
            held_back: [held("a"), held("b")].into(),
            ..StoredServerState::default()
        };
        memory.save("s", &known);
        assert_eq!(memory.approve_seen("s", &[held("b")].into()).unwrap(), ["b"]);
        let now = memory.read("s").unwrap().unwrap();
        assert_eq!(now.tools, [tool("a", "old"), tool("b", "new")]);
        assert_eq!(now.held_back.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(memory.refuse("s", &["a".into(), "c".into()]).unwrap(), ["a"]);
        let refused = memory.read("s").unwrap().unwrap();
        assert_eq!(refused.refused, refused.held_back, "it is held back all the same");
        assert_eq!(memory.approve_seen("s", &[held("a")].into()).unwrap(), ["a"]);
        assert!(memory.read("s").unwrap().unwrap().refused.is_empty());
        assert_eq!(memory.approve_seen("missing", &[held("a")].into()).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_another_than_was_seen_is_not_approved() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().to_owned());
        let tool = |name: &str, about: &str| object(&json!({"name": name, "description": about}));
        let held = |name: &str| (name.to_owned(), tool(name, "new"));
        let known = StoredServerState {
            tools: vec![tool("a", "old"), tool("b", "old")],
            held_back: [held("a"), held("b")].into(),
            ..StoredServerState::default()
        };
        memory.save("s", &known);
        let newer = ("b".to_owned(), tool("b", "newer"));
        for seen in [BTreeMap::from([held("a"), newer]), BTreeMap::from([held("c")])] {
            assert_eq!(memory.approve_seen("s", &seen).unwrap(), [""; 0]);
        }
        assert_eq!(memory.read("s").unwrap(), Some(known));
        assert_eq!(memory.approve_seen("s", &BTreeMap::from([held("b")])).unwrap(), ["b"]);
        assert_eq!(memory.read("s").unwrap().unwrap().tools, [tool("a", "old"), tool("b", "new")]);
    }

    #[test]
    fn approvals_that_can_t_be_read_are_kept_aside_and_nothing_is_approved() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().to_owned());
        let way =
            ServerTransport::Remote { url: String::new(), sse: None, headers: BTreeMap::new() };
        let spec = ServerSpec::new("s", way);
        let path = memory.file("s").unwrap().path();
        let doubted = StoredServerState { doubted: true, ..StoredServerState::default() };
        for number in 1..3 {
            fs::write(&path, "{\"tools\": [").unwrap();
            assert!(memory.approve_seen("s", &BTreeMap::new()).is_err());
            assert_eq!(memory.load(&spec), Some(doubted.clone()));
            let aside = path.with_extension(format!("damaged-{number}"));
            assert_eq!(fs::read_to_string(aside).unwrap(), "{\"tools\": [");
            assert_eq!(memory.load(&spec), Some(doubted.clone()), "the next start finds it too");
        }
        fs::write(&path, "{").unwrap();
        memory.save("s", &doubted);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{", "nothing takes its place unseen");
        fs::remove_file(&path).unwrap();
        assert_eq!(memory.load(&spec), None, "an absent file means a new server");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_written_to() {
        let place = tempfile::tempdir().unwrap();
        let (servers, victim) = (place.path().join("servers"), place.path().join("victim"));
        let memory = ServerStateStore::new(servers.clone());
        let known = StoredServerState {
            era: Some(ProtocolMode::Stateless),
            ..StoredServerState::default()
        };
        memory.save("s", &known);
        // A link in place of the file is neither read nor replaced: the approvals are unknown.
        let path = memory.file("s").unwrap().path();
        fs::write(&victim, serde_json::to_vec(&StoredServerState::default()).unwrap()).unwrap();
        let before = fs::read(&victim).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&victim, &path).unwrap();
        memory.save("s", &known);
        assert_eq!(fs::read(&victim).unwrap(), before);
        assert!(memory.read("s").unwrap_err().to_string().contains("symbolic link"));
        assert_eq!(memory.load_any("s").map(|kept| kept.doubted), Some(true));
        assert!(path.is_symlink());
        // A link in place of the folder is refused.
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::rename(&servers, place.path().join("moved")).unwrap();
        symlink(&elsewhere, &servers).unwrap();
        memory.save("s", &known);
        memory.forget("s");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_above_that_becomes_a_link_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let (state, elsewhere) = (place.path().join("state"), place.path().join("elsewhere"));
        let memory = ServerStateStore::new(state.join("servers"));
        let known = StoredServerState {
            era: Some(ProtocolMode::Stateless),
            ..StoredServerState::default()
        };
        memory.save("s", &known);
        fs::rename(&state, &elsewhere).unwrap();
        symlink(&elsewhere, &state).unwrap();
        assert!(memory.read("s").unwrap_err().to_string().contains("symbolic link"));
    }

    #[test]
    fn a_pipe_in_the_place_of_approvals_is_kept_aside_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().to_owned());
        let path = memory.file("s").unwrap().path();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let doubted = StoredServerState { doubted: true, ..StoredServerState::default() };
        assert_eq!(memory.load_any("s"), Some(doubted.clone()));
        assert!(path.with_extension("damaged-1").exists());
        assert_eq!(memory.read("s").unwrap(), Some(doubted));
    }

    #[test]
    fn approvals_that_can_t_be_read_for_now_stay_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().to_owned());
        let path = memory.file("s").unwrap().path();
        let doubted = StoredServerState { doubted: true, ..StoredServerState::default() };
        // A link to itself can't be opened by any user.
        symlink(&path, &path).unwrap();
        assert_eq!(memory.load_any("s"), Some(doubted.clone()));
        memory.save("s", &doubted);
        assert!(path.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is kept aside");
        fs::remove_file(&path).unwrap();
        let era = Some(ProtocolMode::Stateless);
        let known = StoredServerState { era: era.clone(), ..StoredServerState::default() };
        memory.save("s", &known);
        memory.save("s", &StoredServerState { era, ..doubted });
        assert_eq!(memory.load_any("s"), Some(known), "it could be read again");
    }

    #[test]
    fn approving_all_that_is_held_back_ends_the_doubt() {
        let tool = |name: &str| object(&json!({"name": name}));
        let held = |name: &str| (name.to_owned(), tool(name));
        let held_back = [held("a"), held("b")].into();
        let mut known =
            StoredServerState { held_back, doubted: true, ..StoredServerState::default() };
        known.approve("a");
        assert!(known.doubted);
        known.approve("b");
        assert!(!known.doubted);
        assert_eq!(known.tools, [tool("a"), tool("b")]);
    }
}
