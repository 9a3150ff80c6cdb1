//! Merges the layers, lowest first (defaults, user file, root file, `.env` file, environment, flags), into one tree in
//! which every value has its source.

use super::{
    check::{ConfigChecker, from_text},
    env_file::{self, EnvFile},
    environment::ConfigEnvironment,
    error::{ConfigError, ConfigProblem, ValueSource},
    keys::{self, KeyType, join},
    raw::RawConfig,
    regular, servers,
};
use anyhow::Context as _;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// Another server's file with the keys of `docent.json`, read only if named with `--config`.
const AST_COPILOT_CONFIG_FILE: &str = ".ast-copilot-helper.json";
/// Maximum size of a configuration file.
const MAX_CONFIG_BYTES: u64 = 4 << 20;

/// The inputs of the configuration besides files. Contains secrets, so it has no `Debug`.
#[derive(Default)]
pub struct ConfigInputs {
    /// The environment, or a substitute in tests.
    pub environment: ConfigEnvironment,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The directory that relative paths of flags and variables start from.
    pub working_dir: PathBuf,
    /// The flags of the command line.
    pub flags: ConfigFlags,
}

/// Flags of the command line that affect the configuration.
#[derive(Default)]
pub struct ConfigFlags {
    /// `--root`, in order.
    pub roots: Vec<PathBuf>,
    /// `--config`: read instead of the root's own file.
    pub config_file: Option<PathBuf>,
    /// `--env-file`: read for the variables that docent shares with other MCP servers.
    pub env_file: Option<EnvFile>,
    /// Flags that set one key each.
    pub overrides: Vec<ConfigOverride>,
}

/// One key set by one flag.
pub struct ConfigOverride {
    /// The flag as typed, such as `--port`.
    pub flag: &'static str,
    /// The dotted key.
    pub key: &'static str,
    /// The value.
    pub value: Value,
}

/// The merged layers.
#[derive(Clone)]
pub(super) struct MergedSettings {
    tree: Value,
    origins: IndexMap<String, ValueSource>,
    /// Files read, lowest layer first.
    pub(super) files: Vec<PathBuf>,
    pub(super) warnings: Vec<String>,
    /// The values replaced by the last file, by dotted key.
    replaced: IndexMap<String, OverriddenValue>,
    /// Ignored keys of a project file, in the order found.
    pub(super) ignored: Vec<IgnoredKey>,
}

/// The value of a key before a file set it.
#[derive(Clone)]
struct OverriddenValue {
    path: Vec<String>,
    /// `None` if it had no value.
    before: Option<(Value, ValueSource)>,
}

/// A key that a project file sets but may not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IgnoredKey {
    pub(super) key: String,
    /// The project file.
    pub(super) file: PathBuf,
    /// Why this value is not accepted; `None` where the key is the user's alone.
    pub(super) reason: Option<&'static str>,
}

impl MergedSettings {
    pub(super) fn gather(inputs: &ConfigInputs) -> Result<Self, ConfigError> {
        let mut settings = Self {
            tree: Value::Object(Map::new()),
            origins: IndexMap::new(),
            files: Vec::new(),
            warnings: Vec::new(),
            replaced: IndexMap::new(),
            ignored: Vec::new(),
        };
        let defaults = serde_json::to_value(RawConfig::default()).unwrap_or_default();
        settings.put_tree(keys::root(), &mut Vec::new(), defaults, &ValueSource::Default);
        let mut problems = Vec::new();
        for path in config_files(inputs)? {
            let mut checker = ConfigChecker::new(ValueSource::File(path.clone()));
            let value = checker.file(parse(&path, is_named(inputs, &path))?);
            problems.extend(checker.into_problems());
            settings.put_tree(
                keys::root(),
                &mut Vec::new(),
                value,
                &ValueSource::File(path.clone()),
            );
            settings.files.push(path);
        }
        if let Some(variables) = env_file::read(inputs)? {
            settings.add_env_file(variables, &mut problems);
        }
        settings.warnings.extend(env_file::ignored_file_warning(inputs));
        settings.warnings.extend(settings.unread_file_warning(inputs));
        settings.add_environment(&inputs.environment, &mut problems);
        settings.add_flags(inputs, &mut problems);
        if problems.is_empty() { Ok(settings) } else { Err(ConfigError::Problems(problems)) }
    }

    /// Returns the source of a dotted key; for a key inside a list, the source of the list.
    pub(super) fn origin(&self, path: &str) -> &ValueSource {
        self.origins.get(path).unwrap_or(&ValueSource::Default)
    }

    /// Reverts a key that a file set to its previous value. Returns `false` if no file has set it.
    pub(super) fn ignore(&mut self, key: &str, reason: Option<&'static str>) -> bool {
        let ValueSource::File(file) = self.origin(key).clone() else { return false };
        let Some(OverriddenValue { path, before }) = self.replaced.shift_remove(key) else {
            return false;
        };
        if let Some((value, source)) = before {
            place(&mut self.tree, &path).replace(value);
            self.origins.insert(key.to_owned(), source);
        } else {
            place(&mut self.tree, &path).remove();
            self.origins.shift_remove(key);
        }
        self.ignored.push(IgnoredKey { key: key.to_owned(), file, reason });
        true
    }

    /// Returns the project file whose value of a key is ignored.
    pub(super) fn ignored_file(&self, key: &str) -> Option<&Path> {
        self.ignored.iter().find(|one| one.key == key).map(|one| one.file.as_path())
    }

    /// Whether a lower layer than the file that sets a key also sets it, not counting the default.
    pub(super) fn replaces_another(&self, key: &str) -> bool {
        let before = self.replaced.get(key).and_then(|replaced| replaced.before.as_ref());
        before.is_some_and(|(_, source)| *source != ValueSource::Default)
    }

    /// Returns every key with its value and source.
    pub(super) fn origins(&self) -> impl Iterator<Item = (&str, &ValueSource)> {
        self.origins.iter().map(|(path, source)| (path.as_str(), source))
    }

    pub(super) fn tree(&self) -> &Value {
        &self.tree
    }

    /// Returns a warning about the root's [`AST_COPILOT_CONFIG_FILE`] if the root has no configuration file of its own.
    fn unread_file_warning(&self, inputs: &ConfigInputs) -> Option<String> {
        let root = first_root(inputs);
        let path = root.join(AST_COPILOT_CONFIG_FILE);
        let has_own = self.files.iter().any(|file| file.parent() == Some(root.as_path()));
        if inputs.flags.config_file.is_some() || has_own || !path.is_file() {
            return None;
        }
        Some(format!(
            "docent ignores {}; pass --config {AST_COPILOT_CONFIG_FILE} to read it if you trust the project",
            path.display()
        ))
    }

    fn add_env_file(
        &mut self,
        variables: env_file::EnvFileVariables,
        problems: &mut Vec<ConfigProblem>,
    ) {
        let path = variables.path;
        for (name, text) in variables.pairs {
            let is_it =
                |setting: &keys::LeafKey<'_>| setting.field.extra_env.as_ref() == Some(&name);
            if let Some(setting) = keys::settings().find(is_it) {
                let value = from_text(&setting.field.kind, &text);
                let source = ValueSource::EnvFile { path: path.clone(), name };
                self.put_setting(setting, value, &source, problems);
            }
        }
        self.files.push(path);
    }

    fn add_environment(
        &mut self,
        environment: &ConfigEnvironment,
        problems: &mut Vec<ConfigProblem>,
    ) {
        let mut known = Vec::new();
        for setting in keys::settings() {
            let derived = setting.env_name();
            // The derived name comes last, so it overrides a name shared with other programs.
            for name in setting.field.extra_env.iter().chain([&derived]) {
                if let Some(text) = environment.get(name) {
                    let value = from_text(&setting.field.kind, text);
                    self.put_setting(
                        setting,
                        value,
                        &ValueSource::Environment(name.clone()),
                        problems,
                    );
                }
            }
            known.push(derived);
        }
        known.push(servers::NESTING_VARIABLE.to_owned());
        for name in environment.names().filter(|name| name.starts_with("DOCENT_")) {
            if !known.iter().any(|known| known == name) {
                self.warnings.push(unknown_variable(name, &known));
            }
        }
    }

    fn add_flags(&mut self, inputs: &ConfigInputs, problems: &mut Vec<ConfigProblem>) {
        let roots: Vec<Value> =
            inputs.flags.roots.iter().map(|root| Value::from(root.to_string_lossy())).collect();
        let roots = (!roots.is_empty()).then(|| ("--root", "roots", Value::Array(roots)));
        let others = inputs.flags.overrides.iter().map(|o| (o.flag, o.key, o.value.clone()));
        for (flag, key, value) in roots.into_iter().chain(others) {
            match keys::settings().find(|setting| setting.path == key) {
                Some(setting) => {
                    self.put_setting(setting, value, &ValueSource::Flag(flag), problems);
                }
                None => problems.push(ConfigProblem {
                    source: ValueSource::Flag(flag),
                    message: format!("sets the unknown key `{key}`"),
                }),
            }
        }
    }

    fn put_setting(
        &mut self,
        setting: keys::LeafKey<'_>,
        value: Value,
        source: &ValueSource,
        problems: &mut Vec<ConfigProblem>,
    ) {
        let mut checker = ConfigChecker::new(source.clone());
        let value = checker.field(setting.path, setting.field, value);
        problems.extend(checker.into_problems());
        if let Some(value) = value {
            let mut path = setting.path.split('.').map(str::to_owned).collect();
            self.put_tree(&setting.field.kind, &mut path, value, source);
        }
    }

    /// Merges the values under `value`: tables merge key by key, everything else replaces.
    fn put_tree(
        &mut self,
        kind: &KeyType,
        path: &mut Vec<String>,
        value: Value,
        source: &ValueSource,
    ) {
        match (kind, value) {
            (KeyType::Table(fields), Value::Object(map)) if !map.is_empty() => {
                for (name, value) in map {
                    let Some(field) = fields.iter().find(|field| field.name == name) else {
                        continue;
                    };
                    path.push(name);
                    self.put_tree(&field.kind, path, value, source);
                    path.pop();
                }
            }
            (KeyType::Map(item), Value::Object(map)) if !map.is_empty() => {
                for (name, value) in map {
                    path.push(name);
                    self.put_tree(item, path, value, source);
                    path.pop();
                }
            }
            // An empty file adds nothing.
            (KeyType::Table(_), _) if path.is_empty() => {}
            // An empty table adds its name, but never clears the table of a lower layer.
            (KeyType::Table(_) | KeyType::Map(_), value) => {
                place(&mut self.tree, path).get_or_insert_with(|| value);
                if *source != ValueSource::Default {
                    self.origins.entry(dotted_path(path)).or_insert_with(|| source.clone());
                }
            }
            (_, Value::Null) => {}
            (_, value) => {
                let key = dotted_path(path);
                let before = place(&mut self.tree, path).replace(value);
                let origin = self.origins.insert(key.clone(), source.clone());
                if matches!(source, ValueSource::File(_)) {
                    let before =
                        before.map(|value| (value, origin.unwrap_or(ValueSource::Default)));
                    self.replaced.insert(key, OverriddenValue { path: path.clone(), before });
                }
            }
        }
    }
}

fn dotted_path(path: &[String]) -> String {
    path.iter().fold(String::new(), |at, name| join(&at, name))
}

/// A position in the tree, with or without a value.
struct SettingSlot<'a> {
    map: &'a mut Map<String, Value>,
    name: &'a str,
}

impl SettingSlot<'_> {
    fn replace(self, value: Value) -> Option<Value> {
        self.map.insert(self.name.to_owned(), value)
    }

    fn remove(self) {
        self.map.shift_remove(self.name);
    }

    fn get_or_insert_with(self, value: impl FnOnce() -> Value) {
        self.map.entry(self.name).or_insert_with(value);
    }
}

fn place<'a>(tree: &'a mut Value, path: &'a [String]) -> SettingSlot<'a> {
    let (name, tables) =
        path.split_last().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
    let map = tables.iter().fold(object(tree), |map, table| {
        object(map.entry(table.as_str()).or_insert_with(|| Value::Object(Map::new())))
    });
    SettingSlot { map, name }
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object just above"),
    }
}

fn unknown_variable(name: &str, known: &[String]) -> String {
    let near = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name));
    let near = near.map(String::as_str).unwrap_or_default();
    format!("unknown environment variable {name} is ignored; did you mean {near}?")
}

/// Returns the root whose configuration file is read.
pub(super) fn first_root(inputs: &ConfigInputs) -> PathBuf {
    let from_environment = || {
        let setting = keys::settings().find(|setting| setting.path == "roots")?;
        let text = inputs.environment.get(&setting.env_name())?;
        let value = ConfigChecker::new(ValueSource::Default).field(
            "roots",
            setting.field,
            from_text(&setting.field.kind, text),
        )?;
        value.get(0)?.as_str().map(PathBuf::from)
    };
    let root = inputs.flags.roots.first().cloned().or_else(from_environment);
    root.map_or_else(|| inputs.working_dir.clone(), |root| inputs.working_dir.join(root))
}

/// Returns the user's configuration directory for docent.
pub(super) fn user_dir(inputs: &ConfigInputs) -> Option<PathBuf> {
    let base = match inputs.environment.get("XDG_CONFIG_HOME").map(Path::new) {
        // The XDG specification requires ignoring a relative path.
        Some(path) if path.is_absolute() => path.to_owned(),
        _ => inputs.home.as_ref()?.join(".config"),
    };
    Some(base.join("docent"))
}

/// Returns the inputs of this process.
pub(crate) fn inputs(flags: ConfigFlags) -> anyhow::Result<ConfigInputs> {
    let working_dir = std::env::current_dir().context("cannot determine the working directory")?;
    let (environment, home) = (ConfigEnvironment::of_process(), std::env::home_dir());
    Ok(ConfigInputs { environment, home, working_dir, flags })
}

/// Returns the user's own file, whether it exists or not.
pub(crate) fn user_file(inputs: &ConfigInputs) -> Option<PathBuf> {
    Some(super::edit::config_file_in(&user_dir(inputs)?))
}

/// Returns every possible configuration file, whether it exists or not.
pub(crate) fn files_of(inputs: &ConfigInputs) -> Vec<PathBuf> {
    let both = |dir: &Path| [dir.join("docent.toml"), dir.join("docent.json")];
    let user = user_dir(inputs);
    let mut files: Vec<PathBuf> = user.iter().flat_map(|dir| both(dir)).collect();
    match &inputs.flags.config_file {
        Some(path) => files.push(inputs.working_dir.join(path)),
        None => files.extend(both(&first_root(inputs))),
    }
    files
}

/// Returns the files to read, lowest layer first.
pub(super) fn config_files(inputs: &ConfigInputs) -> Result<Vec<PathBuf>, ConfigError> {
    let user = user_dir(inputs).map(|dir| file_in(&dir)).transpose()?.flatten();
    let root = match &inputs.flags.config_file {
        Some(path) => Some(inputs.working_dir.join(path)),
        None => file_in(&first_root(inputs))?,
    };
    Ok(user.into_iter().chain(root).collect())
}

fn file_in(dir: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let (toml, json) = (dir.join("docent.toml"), dir.join("docent.json"));
    let found = match (toml.exists(), json.exists()) {
        (true, true) => return Err(ConfigError::BothFiles { toml, json }),
        (true, false) => toml,
        (false, true) => json,
        (false, false) => return Ok(None),
    };
    Ok(Some(found))
}

/// Whether this is the file of `--config`.
fn is_named(inputs: &ConfigInputs, path: &Path) -> bool {
    inputs.flags.config_file.as_ref().is_some_and(|named| inputs.working_dir.join(named) == path)
}

/// Reads one file; the format depends on its name. A pipe is read only if the user names it: a project may contain one
/// in place of its file.
fn parse(path: &Path, is_named: bool) -> Result<Value, ConfigError> {
    let text = if is_named { read_named(path) } else { read(path) };
    let text = text.map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    parse_text(path, &text)
}

/// Reads the text of a configuration file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    regular::read_text(path, MAX_CONFIG_BYTES)
}

/// Reads the text of the file that the user names. A pipe, such as `<(...)` in a shell, can be read only once, so its
/// contents are kept for as long as the process runs.
pub(super) fn read_named(path: &Path) -> io::Result<String> {
    static PIPED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let mut piped = PIPED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = piped.get(path) {
        return Ok(text.clone());
    }
    if path.metadata()?.is_file() {
        return read(path);
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_CONFIG_BYTES + 1).read_to_string(&mut text)?;
    regular::check_length(text.len(), MAX_CONFIG_BYTES)?;
    piped.insert(path.to_owned(), text.clone());
    Ok(text)
}

pub(super) fn parse_text(path: &Path, text: &str) -> Result<Value, ConfigError> {
    let syntax = |format, (line, column), message| ConfigError::Syntax {
        path: path.to_owned(),
        format,
        line,
        column,
        message,
    };
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        return serde_json::from_str(text).map_err(|error| {
            let place = (error.line(), error.column());
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            syntax("JSON", place, message)
        });
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        syntax("TOML", line_and_column(text, start), error.message().to_owned())
    })
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..).map_or(0, |line| line.chars().count());
    (before.matches('\n').count() + 1, column + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_syntax(name: &str, text: &str, want: &str) {
        let got =
            parse_text(Path::new(name), text).map_or_else(|e| e.to_string(), |v| v.to_string());
        assert_eq!(got, want);
    }

    #[test]
    fn both_forms_give_the_same_values_and_errors_with_a_place() {
        check_syntax("docent.toml", "[server]\nport = 1", r#"{"server":{"port":1}}"#);
        check_syntax("docent.json", r#"{"server": {"port": 1}}"#, r#"{"server":{"port":1}}"#);
        check_syntax(
            "docent.toml",
            "[docs.collections.z]\n[docs.collections.a]",
            r#"{"docs":{"collections":{"z":{},"a":{}}}}"#,
        );
        check_syntax(
            "docent.json",
            "{\"server\": }",
            "docent.json:1:12: not valid JSON: expected value",
        );
        let secret = "a = 1\n[server]\ntoken = sekrit";
        let got = parse_text(Path::new("docent.toml"), secret).unwrap_err().to_string();
        assert!(got.starts_with("docent.toml:3:9: not valid TOML: "), "{got}");
        assert!(!got.contains("sekrit"), "{got}");
    }

    #[test]
    #[cfg(unix)]
    fn a_project_s_file_that_is_not_a_file_is_not_read() {
        for target in ["/dev/zero", "pipe", "large", "."] {
            let root = tempfile::tempdir().unwrap();
            let pipe = root.path().join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            let large = File::create(root.path().join("large")).unwrap();
            large.set_len(MAX_CONFIG_BYTES + 1).unwrap();
            std::os::unix::fs::symlink(target, root.path().join("docent.toml")).unwrap();
            let read = file_in(root.path()).and_then(|file| parse(&file.unwrap(), false));
            assert!(matches!(read, Err(ConfigError::Read { .. })), "{target}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_that_the_user_names_is_read_once() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, "limits.sessions = 7").unwrap()
        });
        for _ in 0..2 {
            assert_eq!(parse(&pipe, true).unwrap()["limits"]["sessions"], 7);
        }
        writer.join().unwrap();
    }
}
