//! Reads the docent-specific fields of a server's entry. The registry crate knows the fields that all clients share.

use super::SecretText;
use docent_registry::{EntryProblem, McpServerEntry, Requirement};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::PathBuf};

/// Names of docent's own providers, which no server may have: scopes for the one would match the other.
const RESERVED_SERVER_NAMES: [&str; 7] = ["repo", "code", "docs", "web", "file", "prompts", "hub"];

/// The fields and their formats.
const FIELD_FORMATS: [(&str, &str); 15] = [
    ("warm", "true or false"),
    ("idle_ms", "a whole number of milliseconds, 0 to keep it running"),
    ("max_timeout_ms", "a whole number of milliseconds"),
    (
        "retry",
        "a table { codes = [-32603], attempts = 2, backoff_ms = 1000 }: error codes, 1 to 10 further attempts, and a pause of up to 60000 ms that grows with each",
    ),
    ("concurrency", "a whole number"),
    ("cache_ms", "a whole number of milliseconds"),
    ("rename", "other names of tools: { old = \"new\" }"),
    ("hide", "a list of tools: [\"drop_*\"]"),
    ("only", "a list of tools: [\"read_*\"]"),
    ("describe", "descriptions of tools: { tool = \"what it does\" }"),
    ("pinned", "true or false"),
    ("accept_new_tools", "true or false"),
    ("roots", "a list of folders"),
    ("sandbox", "off, guarded or strict, or a table with level, read, write and network"),
    ("oauth", "a table with client_id, client_secret, scopes and redirect_port"),
];

/// Fields that restrict a server: an entry with an invalid one is not used.
const RESTRICTING_FIELDS: [&str; 3] = ["hide", "only", "sandbox"];

/// The remedy for fields that a registry may not set.
pub(super) const MOVE_TO_USER_CONFIG: &str = "add the server to `mcp_servers` in your own docent.toml (`docent servers add`), and set it there";

/// The fields of `oauth`.
const OAUTH_FIELDS: [&str; 6] = [
    "client_id",
    "client_secret",
    "client_secret_env",
    "client_secret_file",
    "scopes",
    "redirect_port",
];

/// The docent-specific fields of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServerExtension {
    /// Whether it is started with docent and kept running.
    pub warm: bool,
    /// How long it may be idle before it is stopped; 0 keeps it running.
    #[serde(alias = "idleMs")]
    pub idle_ms: Option<u64>,
    /// The maximum duration of a call, regardless of progress.
    #[serde(alias = "maxTimeoutMs")]
    pub max_timeout_ms: Option<u64>,
    /// Which failed calls are retried.
    pub retry: Option<RetryRule>,
    /// Maximum number of concurrent calls.
    pub concurrency: Option<usize>,
    /// How long results are cached.
    #[serde(alias = "cacheMs")]
    pub cache_ms: Option<u64>,
    /// New names of its tools.
    pub rename: BTreeMap<String, String>,
    /// Tools to hide.
    pub hide: Vec<String>,
    /// The only tools to offer.
    pub only: Vec<String>,
    /// Replacement descriptions.
    pub describe: BTreeMap<String, String>,
    /// Whether changed definitions and new tools are held back.
    pub pinned: Option<bool>,
    /// Whether new tools are offered without approval.
    pub accept_new_tools: Option<bool>,
    /// Folders to report as roots.
    pub roots: Vec<String>,
    /// The sandbox.
    pub sandbox: SandboxSetting,
    /// Whether it comes from a registry, which may tighten the sandbox but not loosen it.
    #[serde(skip)]
    pub of_a_registry: bool,
    /// The OAuth settings.
    pub oauth: ServerOauth,
}

/// Retries of calls after certain errors, for servers that do not annotate which tools are safe to retry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawRetry")]
pub struct RetryRule {
    /// The error codes.
    pub codes: Vec<i64>,
    /// Number of retries.
    pub attempts: u32,
    /// The pause before the first retry; it doubles with each further one.
    pub backoff_ms: u64,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawRetry {
    codes: Vec<i64>,
    attempts: u32,
    #[serde(alias = "backoffMs")]
    backoff_ms: u64,
}

impl Default for RawRetry {
    fn default() -> Self {
        Self { codes: vec![-32603], attempts: 2, backoff_ms: 1000 }
    }
}

impl TryFrom<RawRetry> for RetryRule {
    type Error = &'static str;

    fn try_from(RawRetry { codes, attempts, backoff_ms }: RawRetry) -> Result<Self, Self::Error> {
        if codes.is_empty() || !(1..=10).contains(&attempts) || backoff_ms > 60_000 {
            return Err("a value is out of range");
        }
        Ok(Self { codes, attempts, backoff_ms })
    }
}

/// The sandbox of a server: a level, or the guarded level with extra paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum SandboxSetting {
    /// `off`, `guarded` or `strict`.
    Word(SandboxLevel),
    /// A level with extra access.
    More {
        /// The level.
        #[serde(default)]
        level: SandboxLevel,
        /// Additional paths to read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        read: Vec<PathBuf>,
        /// Additional paths to write.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        write: Vec<PathBuf>,
        /// Whether it may use the network.
        #[serde(skip_serializing_if = "Option::is_none")]
        network: Option<bool>,
    },
    /// The policy's setting.
    #[default]
    Unsaid,
}

impl SandboxSetting {
    /// Keeps only the parts that tighten the sandbox, and returns whether anything was dropped.
    fn tighten(&mut self) -> bool {
        let (held, loosens) = match std::mem::take(self) {
            Self::Unsaid | Self::Word(SandboxLevel::Guarded) => (Self::Unsaid, false),
            Self::Word(SandboxLevel::Off) => (Self::Unsaid, true),
            Self::Word(SandboxLevel::Strict) => (Self::Word(SandboxLevel::Strict), false),
            Self::More { level, read, write, network } => {
                let loosens = level == SandboxLevel::Off
                    || network == Some(true)
                    || !read.is_empty()
                    || !write.is_empty();
                let network = network.filter(|open| !open);
                let held = match (level, network) {
                    (SandboxLevel::Strict, _) | (_, Some(false)) => {
                        let level =
                            if level == SandboxLevel::Off { SandboxLevel::Guarded } else { level };
                        Self::More { level, read: Vec::new(), write: Vec::new(), network }
                    }
                    _ => Self::Unsaid,
                };
                (held, loosens)
            }
        };
        *self = held;
        loosens
    }
}

/// The level of a server's sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// No sandbox.
    Off,
    /// No credentials, writes only where servers usually write, unrestricted network.
    #[default]
    Guarded,
    /// Reads the roots and nothing else.
    Strict,
}

/// OAuth settings for a server that requires sign-in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServerOauth {
    /// docent's client id, if it is registered already.
    #[serde(alias = "clientId")]
    pub client_id: Option<String>,
    /// The client secret.
    #[serde(alias = "clientSecret")]
    pub client_secret: Option<SecretText>,
    /// The environment variable with the client secret.
    #[serde(alias = "clientSecretEnv")]
    pub(super) client_secret_env: Option<String>,
    /// The file with the client secret.
    #[serde(alias = "clientSecretFile")]
    pub(super) client_secret_file: Option<String>,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The port of the redirect address.
    #[serde(alias = "redirectPort")]
    pub redirect_port: Option<u16>,
}

/// A problem of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntryProblem {
    /// The server; `None` for a problem of a whole file.
    pub server: Option<String>,
    /// What is wrong, and what to do.
    pub message: String,
    /// Whether the entry or file is unusable because of it.
    pub fatal: bool,
}

impl ServerEntryProblem {
    pub(super) fn of(problem: &EntryProblem, fatal: bool) -> Self {
        Self { server: problem.entry.clone(), message: problem.to_string(), fatal }
    }
}

/// Returns why a server may not have this name.
pub(crate) fn check_server_name(name: &str) -> Option<EntryProblem> {
    let (what, remedy) = if RESERVED_SERVER_NAMES.contains(&name) {
        ("it is the name of one of docent's own suites", "choose another name")
    } else if name.contains("__") {
        // Its tools could get the names of another server's tools.
        (
            "its name contains `__`, which separates a server's name from a tool's",
            "choose another name",
        )
    } else {
        return None;
    };
    Some(EntryProblem::new(what, remedy).in_entry(name))
}

/// Reads the fields of an entry. `own` means a file written for docent; other files may have fields of other clients.
pub(super) fn read(
    server: &McpServerEntry,
    own: bool,
) -> (ServerExtension, Vec<ServerEntryProblem>) {
    let (mut known, mut faults) =
        (ServerExtension { of_a_registry: !own, ..ServerExtension::default() }, Vec::new());
    let mut wrong = |field: &str, what: String, remedy: String, fatal: bool| {
        let problem = EntryProblem::new(what, remedy).in_field(field).in_entry(&server.name);
        faults.push(ServerEntryProblem::of(&problem, fatal));
    };
    for (name, value) in &server.unknown {
        let one = json!({ (name.clone()): value });
        match (field_format(name), serde_json::from_value::<ServerExtension>(one)) {
            (Some(_), Ok(read)) => {
                known.take(name, read);
                for (field, nearest) in unknown_oauth_fields(name, value) {
                    wrong(
                        &field,
                        "unknown field".into(),
                        format!("did you mean `{nearest}`?"),
                        false,
                    );
                }
            }
            (Some((field, form)), Err(_)) => {
                let fatal = RESTRICTING_FIELDS.contains(&field);
                let until = if fatal { "; the server is skipped until then" } else { "" };
                wrong(name, "invalid value".into(), format!("expected {form}{until}"), fatal);
            }
            (None, _) => {
                let (nearest, near) = nearest(name, names());
                if own || near {
                    wrong(
                        name,
                        "unknown field, ignored".into(),
                        format!("did you mean `{nearest}`?"),
                        false,
                    );
                }
            }
        }
    }
    if !own {
        for (field, what) in known.tighten() {
            let what = format!("ignored, because a registry {what}");
            wrong(field, what, MOVE_TO_USER_CONFIG.into(), false);
        }
    }
    if !server.meta.always_allow.is_empty() {
        let remedy = "configure which calls are allowed or need approval in `policy.rules`";
        wrong("always_allow", "no effect in docent".into(), remedy.into(), false);
    }
    (known, faults)
}

/// Strips the fields from an imported entry that would loosen restrictions in the user's own file. Returns notes on
/// these, on other problems, and on the files that the server can read.
pub(crate) fn strip_loosening(server: &mut McpServerEntry) -> Vec<String> {
    let (mut known, faults) = read(server, true);
    let mut notes: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
    for (field, what) in known.tighten() {
        let is_sandbox = field == "sandbox";
        let tighter = is_sandbox.then(|| serde_json::to_value(&known.sandbox).unwrap_or_default());
        let tighter = tighter.unwrap_or_default();
        if tighter.is_null() {
            server.unknown.shift_remove(field);
        } else {
            server.unknown.insert(field.to_owned(), tighter);
        }
        let what = format!("dropped, because an imported file {what}");
        let problem = EntryProblem::new(what, "add it to your own file if you want it");
        notes.push(problem.in_field(field).in_entry(&server.name).to_string());
    }
    // They are shown nowhere else.
    let files = server.needs().into_iter().filter_map(|need| match need {
        Requirement::File(path) => Some(path),
        _ => None,
    });
    let files = files.chain(known.oauth.client_secret_file);
    notes.extend(
        files.map(|path| format!("it gets the contents of {path:?}: check that this is intended")),
    );
    notes
}

/// Whether docent reads a field of this name.
pub(crate) fn is_read(name: &str) -> bool {
    field_format(name).is_some()
}

/// Returns a field's name and format. Names in camel case are those of JSON.
fn field_format(name: &str) -> Option<(&'static str, &'static str)> {
    let name = match name {
        "idleMs" => "idle_ms",
        "cacheMs" => "cache_ms",
        "maxTimeoutMs" => "max_timeout_ms",
        name => name,
    };
    FIELD_FORMATS.into_iter().find(|(field, _)| *field == name)
}

fn names() -> impl Iterator<Item = &'static str> {
    FIELD_FORMATS.into_iter().map(|(field, _)| field).chain(docent_registry::ENTRY_FIELDS)
}

/// Returns the most similar name, and whether the difference looks like a typo.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> (&'static str, bool) {
    let score = |known: &str| strsim::jaro_winkler(known, name);
    let nearest = known.max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or_default();
    (nearest, strsim::damerau_levenshtein(nearest, name) <= 2)
}

/// Returns the unknown fields of `oauth`, each with the most similar known one.
fn unknown_oauth_fields(name: &str, value: &Value) -> Vec<(String, &'static str)> {
    let table = value.as_object().filter(|_| name == "oauth");
    let snake = |key: &str| {
        key.chars().fold(String::new(), |mut text, c| {
            if c.is_ascii_uppercase() {
                text.push('_');
            }
            text.push(c.to_ascii_lowercase());
            text
        })
    };
    let keys = table.into_iter().flat_map(|table| table.keys());
    let unknown = keys.filter(|key| !OAUTH_FIELDS.contains(&snake(key).as_str()));
    unknown.map(|key| (format!("oauth.{key}"), nearest(key, OAUTH_FIELDS.into_iter()).0)).collect()
}

impl ServerExtension {
    /// Strips fields that an untrusted file may not set. Returns them with what such a file may not do.
    fn tighten(&mut self) -> Vec<(&'static str, &'static str)> {
        let mut fields = Vec::new();
        if self.sandbox.tighten() {
            fields.push(("sandbox", "can't loosen the sandbox"));
        }
        if self.pinned.take_if(|pinned| !*pinned).is_some() {
            fields.push(("pinned", "can't turn off definition pins"));
        }
        if self.accept_new_tools.take_if(|accepts| *accepts).is_some() {
            fields.push(("accept_new_tools", "can't accept new tools"));
        }
        // Policy rules name tools: a renamed one would no longer match.
        if !std::mem::take(&mut self.rename).is_empty() {
            fields.push(("rename", "can't rename tools"));
        }
        fields
    }

    fn take(&mut self, name: &str, read: Self) {
        match name {
            "warm" => self.warm = read.warm,
            "idle_ms" | "idleMs" => self.idle_ms = read.idle_ms,
            "max_timeout_ms" | "maxTimeoutMs" => self.max_timeout_ms = read.max_timeout_ms,
            "retry" => self.retry = read.retry,
            "concurrency" => self.concurrency = read.concurrency,
            "cache_ms" | "cacheMs" => self.cache_ms = read.cache_ms,
            "rename" => self.rename = read.rename,
            "hide" => self.hide = read.hide,
            "only" => self.only = read.only,
            "describe" => self.describe = read.describe,
            "pinned" => self.pinned = read.pinned,
            "accept_new_tools" => self.accept_new_tools = read.accept_new_tools,
            "roots" => self.roots = read.roots,
            "sandbox" => self.sandbox = read.sandbox,
            "oauth" => self.oauth = read.oauth,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_entry(entry: &Value, own: bool) -> (ServerExtension, Vec<(String, bool)>) {
        let tables = json!({ "a": entry });
        let reading = docent_registry::read_tables(std::path::Path::new("t"), &tables);
        let (extra, faults) = read(&reading.servers[0], own);
        (extra, faults.into_iter().map(|fault| (fault.message, fault.fatal)).collect())
    }

    #[test]
    fn problems_are_reported_and_affect_nothing_else() {
        let check = |field: &str, value: Value, want: &str, fatal: bool| {
            let (extra, faults) =
                read_entry(&json!({"command": "x", "warm": true, (field): value}), true);
            let message = format!("\"a\", `{field}`: {want}");
            assert_eq!(faults, [(message, fatal)]);
            assert!(extra.warm, "{field}");
        };
        let unknown = "unknown field, ignored; did you mean";
        check("concurency", json!(3), &format!("{unknown} `concurrency`?"), false);
        check("comand", json!("x"), &format!("{unknown} `command`?"), false);
        check(
            "idle_ms",
            json!("x"),
            "invalid value; expected a whole number of milliseconds, 0 to keep it running",
            false,
        );
        let until = "; the server is skipped until then";
        let form = "invalid value; expected off, guarded or strict, or a table with level, read, write and network";
        check("sandbox", json!("loose"), &format!("{form}{until}"), true);
        check("sandbox", json!({"wirte": ["/data"]}), &format!("{form}{until}"), true);
        check(
            "hide",
            json!("drop_*"),
            &format!("invalid value; expected a list of tools: [\"drop_*\"]{until}"),
            true,
        );
        check(
            "always_allow",
            json!(["t"]),
            "no effect in docent; configure which calls are allowed or need approval in `policy.rules`",
            false,
        );
        let (_, faults) = read_entry(
            &json!({"url": "https://a/", "oauth": {"clientId": "i", "client_secrt": "s"}}),
            true,
        );
        assert_eq!(
            faults,
            [(
                "\"a\", `oauth.client_secrt`: unknown field; did you mean `client_secret`?".into(),
                false
            )]
        );
    }

    #[test]
    fn a_retry_is_read_with_its_defaults_or_refused() {
        let retry = |value: Value| {
            let (extra, faults) = read_entry(&json!({"command": "x", "retry": value}), true);
            let message = faults.into_iter().map(|(message, _)| message).collect::<String>();
            (extra.retry.map(|retry| (retry.codes, retry.attempts, retry.backoff_ms)), message)
        };
        let ok = |codes: &[i64], attempts, pause| {
            (Some((codes.to_vec(), attempts, pause)), String::new())
        };
        assert_eq!(retry(json!({})), ok(&[-32603], 2, 1000));
        assert_eq!(
            retry(json!({"codes": [-32603, -32000], "attempts": 1, "backoffMs": 0})),
            ok(&[-32603, -32000], 1, 0)
        );
        for bad in [
            json!(2),
            json!({"attempts": 0}),
            json!({"attempts": 11}),
            json!({"codes": []}),
            json!({"codes": ["x"]}),
            json!({"backoff_ms": 60_001}),
            json!({"backof_ms": 1}),
        ] {
            let (read, message) = retry(bad.clone());
            assert_eq!(read, None, "{bad}");
            assert!(
                message.starts_with(
                    "\"a\", `retry`: invalid value; expected a table { codes = [-32603]"
                ),
                "{bad}: {message}"
            );
        }
    }

    #[test]
    fn files_of_others_may_say_more() {
        let (_, faults) =
            read_entry(&json!({"command": "x", "owner": "me", "concurency": 1}), false);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].0.contains("concurency"), "{faults:?}");
    }

    #[test]
    fn a_registry_loosens_no_sandbox() {
        let check = |sandbox: Value, want: SandboxSetting, is_reported: bool| {
            let entry = json!({"command": "x", "sandbox": sandbox});
            let (extra, faults) = read_entry(&entry, false);
            assert_eq!(extra.sandbox, want, "{entry}");
            assert_eq!(!faults.is_empty(), is_reported, "{faults:?}");
            let is_about_it = |message: &str| message.contains("can't loosen the sandbox");
            assert!(faults.iter().all(|(message, fatal)| !fatal && is_about_it(message)));
            let (own, faults) = read_entry(&entry, true);
            assert_eq!((own.sandbox == want, faults), (!is_reported, vec![]), "{entry}");
        };
        let more =
            |level, network| SandboxSetting::More { level, read: vec![], write: vec![], network };
        check(json!("off"), SandboxSetting::Unsaid, true);
        check(json!("strict"), SandboxSetting::Word(SandboxLevel::Strict), false);
        check(json!({"write": ["/"]}), SandboxSetting::Unsaid, true);
        check(json!({"read": ["/"], "network": true}), SandboxSetting::Unsaid, true);
        check(json!({"network": false}), more(SandboxLevel::Guarded, Some(false)), false);
        check(
            json!({"level": "off", "network": false}),
            more(SandboxLevel::Guarded, Some(false)),
            true,
        );
        check(json!({"level": "strict", "network": true}), more(SandboxLevel::Strict, None), true);
    }

    #[test]
    fn a_registry_lets_no_definition_change() {
        let check = |pinned: bool, own: bool, want: Option<bool>, reported: usize| {
            let (extra, faults) = read_entry(&json!({"command": "x", "pinned": pinned}), own);
            assert_eq!(
                (extra.pinned, faults.len()),
                (want, reported),
                "{pinned} {own}: {faults:?}"
            );
            assert!(
                faults.iter().all(|(message, fatal)| !fatal && message.contains("docent.toml"))
            );
        };
        check(false, false, None, 1);
        check(true, false, Some(true), 0);
        check(false, true, Some(false), 0);
    }

    #[test]
    fn a_registry_lets_no_new_tool_in() {
        let check = |accepts: bool, own: bool, want: Option<bool>, reported: usize| {
            let entry = json!({"command": "x", "accept_new_tools": accepts});
            let (extra, faults) = read_entry(&entry, own);
            assert_eq!(
                (extra.accept_new_tools, faults.len()),
                (want, reported),
                "{entry} {faults:?}"
            );
            assert!(
                faults.iter().all(|(message, fatal)| !fatal && message.contains("docent.toml"))
            );
        };
        check(true, false, None, 1);
        check(false, false, Some(false), 0);
        check(true, true, Some(true), 0);
    }

    #[test]
    fn a_registry_gives_no_tool_another_name() {
        let entry = json!({"command": "x", "rename": {"delete_file": "tidy"}});
        let (extra, faults) = read_entry(&entry, false);
        assert!(extra.rename.is_empty());
        assert!(matches!(faults.as_slice(), [(message, false)] if message.contains("docent.toml")));
        let (own, faults) = read_entry(&entry, true);
        assert_eq!((own.rename["delete_file"].as_str(), faults), ("tidy", vec![]));
    }

    #[test]
    fn what_loosens_is_not_taken_over() {
        let check = |entry: Value, want: Value, reported: &[&str]| {
            let tables = json!({ "a": entry });
            let reading = docent_registry::read_tables(std::path::Path::new("t"), &tables);
            let mut server = reading.servers[0].clone();
            let notes = strip_loosening(&mut server);
            assert_eq!(Value::Object(server.unknown), want, "{entry}");
            assert_eq!(notes.len(), reported.len(), "{notes:?}");
            for (note, field) in notes.iter().zip(reported) {
                assert!(note.starts_with(&format!("\"a\", `{field}`: ")), "{note}");
            }
        };
        check(
            json!({
                "command": "x", "sandbox": "off", "pinned": false, "accept_new_tools": true,
                "rename": {"a": "b"}, "hide": ["c"],
            }),
            json!({"hide": ["c"]}),
            &["sandbox", "pinned", "accept_new_tools", "rename"],
        );
        check(
            json!({"command": "x", "sandbox": {"level": "strict", "write": ["/"], "network": true}}),
            json!({"sandbox": {"level": "strict"}}),
            &["sandbox"],
        );
        check(
            json!({"command": "x", "sandbox": {"level": "off", "network": false}}),
            json!({"sandbox": {"level": "guarded", "network": false}}),
            &["sandbox"],
        );
        let tight = json!({"sandbox": "strict", "pinned": true, "warm": true});
        let mut entry = tight.clone();
        entry["command"] = json!("x");
        check(entry, tight, &[]);
    }

    #[test]
    fn the_files_of_an_imported_entry_are_reported() {
        let tables = json!({"a": {
            "url": "https://a/", "bearer_token_file": "~/.token", "oauth": {"client_secret_file": "s"},
        }});
        let reading = docent_registry::read_tables(std::path::Path::new("t"), &tables);
        let notes = strip_loosening(&mut reading.servers[0].clone());
        let want = ["~/.token", "s"]
            .map(|path| format!("it gets the contents of {path:?}: check that this is intended"));
        assert_eq!(notes, want);
    }

    #[test]
    fn what_docent_alone_reads() {
        let (extra, faults) = read_entry(
            &json!({
                "command": "x", "idle_ms": 0, "rename": {"old": "new"}, "cacheMs": 5, "sandbox": {"write": ["/data"]},
            }),
            true,
        );
        assert_eq!(faults, []);
        assert_eq!(
            (extra.idle_ms, extra.cache_ms, extra.rename["old"].as_str()),
            (Some(0), Some(5), "new")
        );
        assert!(
            matches!(extra.sandbox, SandboxSetting::More { write, .. } if write == [PathBuf::from("/data")])
        );
    }
}
