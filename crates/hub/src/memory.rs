//! What was learned of servers, kept between runs: what they offer, how they are spoken to, and which definitions of tools
//! have been approved.

use crate::{
    Era, Spec,
    server::{Addresses, Definition, Known},
};
use docent_tool::Object;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What is kept of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// The way that all of this was learned on.
    pub way: String,
    /// How it is spoken to.
    pub era: Option<Era>,
    /// Its name and version.
    pub info: serde_json::Value,
    /// What it can do; null where that was never heard.
    pub capabilities: serde_json::Value,
    /// How a model should use it.
    pub instructions: Option<String>,
    /// Its tools as they were approved, in its order.
    pub tools: Vec<Object>,
    /// Tools that it no longer lists, as they were approved: leaving one out must not make another of it.
    pub vanished: Vec<Object>,
    /// Definitions that differ from the approved ones, by the tool's name.
    pub held_back: BTreeMap<String, Object>,
    /// Those of them that a person has looked at and refused.
    pub refused: BTreeMap<String, Object>,
    /// Its resources.
    pub resources: Vec<Object>,
    /// Its families of resources.
    pub templates: Vec<Object>,
    /// Its prompts.
    pub prompts: Vec<Object>,
}

impl Remembered {
    /// Definitions that nobody has decided on: the tool, what was approved, what the server says now.
    pub fn undecided(&self) -> impl Iterator<Item = (&str, Option<&Object>, &Object)> {
        let approved = |tool: &str| {
            let is_it =
                |known: &&Object| known.get("name").and_then(|name| name.as_str()) == Some(tool);
            self.tools.iter().find(is_it)
        };
        let open =
            self.held_back.iter().filter(|(tool, now)| self.refused.get(*tool) != Some(*now));
        open.map(move |(tool, now)| (tool.as_str(), approved(tool), now))
    }
}

/// A folder with a file for each server.
#[derive(Debug, Clone)]
pub struct Memory {
    folder: Option<PathBuf>,
}

impl Memory {
    /// Keeps files in this folder, which is made when it is needed.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: Some(folder) }
    }

    /// Forgets everything at once.
    pub fn none() -> Self {
        Self { folder: None }
    }

    /// The tools of a server as docent's clients have them, as far as they are known.
    pub fn tools(&self, spec: &Spec) -> Vec<Object> {
        let Some(remembered) = self.load(spec) else { return Vec::new() };
        let known = Known::new(remembered, spec, &Addresses::default());
        let tool = |definition: &Arc<Definition>| {
            let mut fields = definition.fields.clone();
            fields.insert("name".into(), definition.public.clone().into());
            if let Some(about) = spec.describe.get(&definition.name) {
                fields.insert("description".into(), about.clone().into());
            }
            fields
        };
        known.tools.iter().map(tool).collect()
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let safe: String = name.chars().map(|c| if plain(c) { c } else { '_' }).take(64).collect();
        let own = crate::spec::digest(&name.into());
        let short: String = own.chars().take(8).collect();
        Some(self.folder.as_ref()?.join(format!("{safe}-{short}.json")))
    }

    /// What is known of a server on the way that is configured now.
    pub fn load(&self, spec: &Spec) -> Option<Remembered> {
        let known = self.read(&spec.name)?;
        (known.way == spec.digest()).then_some(known)
    }

    fn read(&self, name: &str) -> Option<Remembered> {
        let path = self.path(name)?;
        let text = fs::read(&path).ok()?;
        serde_json::from_slice(&text)
            .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "what was remembered of a server can't be read, and is learned anew"))
            .ok()
    }

    /// Keeps what is known, all at once.
    pub fn save(&self, name: &str, known: &Remembered) {
        let Some(path) = self.path(name) else { return };
        if let Err(error) = replace(&path, known) {
            tracing::warn!(path = %path.display(), %error, "what was learned of a server can't be kept");
        }
    }

    /// Approves the definitions of a server that are held back, all or those named. Returns their names.
    pub fn approve(&self, name: &str, tools: &[String]) -> io::Result<Vec<String>> {
        self.decide(name, tools, |known, tool| {
            known.refused.remove(tool);
            let Some(changed) = known.held_back.remove(tool) else { return };
            let is_it = |known: &&mut Object| {
                known.get("name").and_then(|name| name.as_str()) == Some(tool)
            };
            if let Some(approved) = known.tools.iter_mut().find(is_it) {
                *approved = changed;
            }
        })
    }

    /// Refuses definitions that are held back: nobody is asked about them again. Returns their names.
    pub fn refuse(&self, name: &str, tools: &[String]) -> io::Result<Vec<String>> {
        self.decide(name, tools, |known, tool| {
            let changed = known.held_back.get(tool).cloned();
            known.refused.extend(changed.map(|changed| (tool.to_owned(), changed)));
        })
    }

    fn decide(
        &self,
        name: &str,
        tools: &[String],
        decide: impl Fn(&mut Remembered, &str),
    ) -> io::Result<Vec<String>> {
        let Some(mut known) = self.read(name) else { return Ok(Vec::new()) };
        let wanted = |tool: &String| tools.is_empty() || tools.contains(tool);
        let names: Vec<String> =
            known.held_back.keys().filter(|tool| wanted(tool)).cloned().collect();
        for tool in &names {
            decide(&mut known, tool);
        }
        if let Some(path) = self.path(name).filter(|_| !names.is_empty()) {
            replace(&path, &known)?;
        }
        Ok(names)
    }

    /// Forgets a server.
    pub fn forget(&self, name: &str) {
        if let Some(path) = self.path(name)
            && let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "what was remembered of a server can't be removed");
        }
    }
}

fn replace(path: &Path, known: &Remembered) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, known)?;
    file.flush()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Way;
    use serde_json::json;

    fn object(value: &serde_json::Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_kept_holds_for_the_same_way_alone() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::new(folder.path().join("servers"));
        let way = |url: &str| Way::Remote { url: url.into(), sse: None, headers: BTreeMap::new() };
        let spec = Spec::new("a/b", way("http://127.0.0.1:1/"));
        assert_eq!(memory.load(&spec), None);
        let known =
            Remembered { way: spec.digest(), era: Some(Era::Stateless), ..Remembered::default() };
        memory.save(&spec.name, &known);
        assert_eq!(memory.load(&spec), Some(known));
        assert_eq!(memory.load(&Spec::new("a/b", way("http://127.0.0.1:2/"))), None);
        assert_eq!(memory.load(&Spec::new("a_b", way("http://127.0.0.1:1/"))), None);
        memory.forget("a/b");
        assert_eq!(memory.load(&spec), None);
    }

    #[test]
    fn approving_puts_the_new_definition_in_the_place_of_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::new(folder.path().to_owned());
        let tool = |name: &str, about: &str| object(&json!({"name": name, "description": about}));
        let known = Remembered {
            tools: vec![tool("a", "old"), tool("b", "old")],
            held_back: [("a".to_owned(), tool("a", "new")), ("b".to_owned(), tool("b", "new"))]
                .into(),
            ..Remembered::default()
        };
        memory.save("s", &known);
        assert_eq!(memory.approve("s", &["b".into(), "c".into()]).unwrap(), ["b"]);
        let now = memory.read("s").unwrap();
        assert_eq!(now.tools, [tool("a", "old"), tool("b", "new")]);
        assert_eq!(now.held_back.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(memory.refuse("s", &["a".into(), "c".into()]).unwrap(), ["a"]);
        let refused = memory.read("s").unwrap();
        assert_eq!(refused.refused, refused.held_back, "it is held back all the same");
        assert_eq!(memory.approve("s", &[]).unwrap(), ["a"]);
        assert!(memory.read("s").unwrap().refused.is_empty());
        assert_eq!(memory.approve("nobody", &[]).unwrap(), [""; 0]);
    }
}
