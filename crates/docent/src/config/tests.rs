//! Every layer and every refusal, through `Config::load`.

use super::*;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

/// A home, a root, and what to load them with.
struct ConfigFixture {
    dir: TempDir,
    environment: Vec<(String, String)>,
    flags: Vec<(&'static str, &'static str, Value)>,
}

impl ConfigFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("root")).unwrap();
        fs::create_dir_all(dir.path().join("home/.config/docent")).unwrap();
        Self { dir, environment: Vec::new(), flags: Vec::new() }
    }

    /// A file of the root.
    fn root_file(self, name: &str, text: &str) -> Self {
        fs::write(self.root().join(name), text).unwrap();
        self
    }

    fn user_file(self, name: &str, text: &str) -> Self {
        fs::write(self.dir.path().join("home/.config/docent").join(name), text).unwrap();
        self
    }

    /// A registry in the home, which is all that the user has set.
    fn registry(self, name: &str, registry: &Value) -> Self {
        self.home_file(name, &registry.to_string())
            .user_file("docent.toml", &format!("hub.registries = [\"~/{name}\"]"))
    }

    fn home_file(self, name: &str, text: &str) -> Self {
        let file = self.dir.path().join("home").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, flag: &'static str, key: &'static str, value: Value) -> Self {
        self.flags.push((flag, key, value));
        self
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn inputs(&self) -> ConfigInputs {
        let overrides = self.flags.iter().map(|(flag, key, value)| ConfigOverride {
            flag,
            key,
            value: value.clone(),
        });
        ConfigInputs {
            environment: self.environment.iter().cloned().collect(),
            home: Some(self.dir.path().join("home")),
            working_dir: self.root(),
            flags: ConfigFlags { overrides: overrides.collect(), ..ConfigFlags::default() },
        }
    }

    #[track_caller]
    fn load(&self) -> Config {
        Config::load(&self.inputs()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The value and the source of one key as `config show` gives them, with the world's own path left out.
    #[track_caller]
    fn check(self, key: &str, want: &str) -> Self {
        let shown = self.load().show_json();
        let row = shown.get(key).unwrap_or_else(|| panic!("no {key} in {shown:#}"));
        let source = &row["source"];
        let name = source["name"].as_str().unwrap_or(source["kind"].as_str().unwrap());
        let got = format!("{} {name}", row["value"]);
        let base = format!("{}/", self.dir.path().display());
        assert_eq!(got.replace(&base, ""), want, "{key}");
        self
    }

    /// Returns the error of loading or of the check before serving.
    #[track_caller]
    fn refuses(&self, want: &str) {
        let refused = Config::load(&self.inputs()).and_then(|config| config.check_serving());
        let got = refused.expect_err("it was accepted").to_string();
        let base = format!("{}/", self.dir.path().display());
        assert_eq!(got.replace(&base, ""), want);
    }
}

#[test]
fn each_layer_wins_over_the_one_below() {
    ConfigFixture::new().check("server.port", "8001 default");
    let world = ConfigFixture::new()
        .user_file("docent.toml", "[server]\nport = 1\nhost = \"::1\"\n[limits]\nsessions = 7")
        .check("server.port", "1 home/.config/docent/docent.toml")
        .root_file("docent.json", r#"{"server": {"port": 2}}"#)
        .check("server.port", "2 root/docent.json")
        .check("server.host", "\"::1\" home/.config/docent/docent.toml")
        .env("MCP_SERVER_PORT", "3")
        .check("server.port", "3 MCP_SERVER_PORT")
        .env("DOCENT_SERVER_PORT", "4")
        .check("server.port", "4 DOCENT_SERVER_PORT")
        .flag("--port", "server.port", json!(5))
        .check("server.port", "5 --port")
        .check("limits.sessions", "7 home/.config/docent/docent.toml");
    assert_eq!(world.load().server.port, 5);
}

#[test]
fn the_users_directory_follows_xdg() {
    let world = ConfigFixture::new().user_file("docent.toml", "[server]\nport = 1");
    let elsewhere = world.dir.path().join("xdg");
    fs::create_dir_all(elsewhere.join("docent")).unwrap();
    fs::write(elsewhere.join("docent/docent.json"), r#"{"server":{"port":2}}"#).unwrap();
    let world = world.env("XDG_CONFIG_HOME", elsewhere.to_str().unwrap());
    let world = world.check("server.port", "2 xdg/docent/docent.json");
    assert_eq!(world.load().cache_dir.unwrap(), world.dir.path().join("home/.cache/docent"));
    ConfigFixture::new()
        .user_file("docent.toml", "[server]\nport = 1")
        .env("XDG_CONFIG_HOME", "relative")
        .check("server.port", "1 home/.config/docent/docent.toml");
}

#[test]
fn the_environment_sets_every_kind_of_key() {
    let world = ConfigFixture::new()
        .env("DOCENT_LIMITS_TOOL_TIMEOUT_MS", "500")
        .env("DOCENT_SERVER_TRANSPORT", "http, websocket")
        .env("DOCENT_SERVER_ALLOW_OPEN", "yes")
        .env(
            "DOCENT_SERVER_AUTH_KEYS",
            r#"[{"name":"ci","tokenEnv":"CI_KEY","scopes":["code:*","repo_tree"]}]"#,
        )
        .env("CI_KEY", "from-the-environment")
        .env("DOCENT_LIMITS_TOOLS", r#"{"code_search":{"timeoutMs":9}}"#)
        .env("DOCENT_MCP_SERVERS", r#"{"time":{"command":"t","env":{"KEY":"sekrit"}}}"#)
        .env("DOCENT_LIMITS_PAGE_BYTES", "")
        .check("limits.tool_timeout_ms", "500 DOCENT_LIMITS_TOOL_TIMEOUT_MS")
        .check("limits.page_bytes", "1048576 default")
        .check("limits.tools.code_search.timeout_ms", "9 DOCENT_LIMITS_TOOLS")
        .check("mcp_servers.time", r#"{"command":"t","env":{"KEY":"***"}} DOCENT_MCP_SERVERS"#);
    let config = world.load();
    assert_eq!(config.limits.tool_timeout, Duration::from_millis(500));
    assert_eq!(config.server.transports, [TransportKind::Http, TransportKind::WebSocket]);
    assert!(config.server.allow_open && config.server.auth.required);
    let key = &config.server.auth.keys[0];
    assert_eq!((key.name.as_str(), key.token.expose()), ("ci", "from-the-environment"));
    assert_eq!(key.scopes, [KeyScope::Suite("code".into()), KeyScope::Tool("repo_tree".into())]);
    assert_eq!(config.limits.tools["code_search"].timeout, Some(Duration::from_millis(9)));
    let docent_registry::EntryTransport::Program { env, .. } = &config.servers[0].server.way else {
        panic!()
    };
    assert_eq!(env["KEY"], "sekrit");
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn a_misspelt_variable_is_a_warning() {
    let config = ConfigFixture::new().env("DOCENT_LIMITS_TOOL_TIMEOUTMS", "5").load();
    let want = "unknown environment variable DOCENT_LIMITS_TOOL_TIMEOUTMS is ignored; did you mean DOCENT_LIMITS_TOOL_TIMEOUT_MS?";
    assert_eq!(config.warnings, [want]);
}

#[test]
fn the_server_block_works_as_other_servers_write_it() {
    let text = r#"{"server": {"port": 3001, "host": "localhost", "transport": "stdio",
        "auth": {"enabled": false, "token": "secretToken"},
        "rateLimit": {"enabled": true, "requests": 100, "window": 60000},
        "cors": {"enabled": false, "origins": ["https://localhost:3000"]},
        "logging": {"level": "info", "file": "mcp-server.log"}}}"#;
    let world = ConfigFixture::new().root_file("docent.json", text);
    let ServerConfig { port, host, transports, auth, rate_limit, cors, logging, .. } =
        world.load().server;
    assert_eq!(
        (port, host.as_str(), transports.as_slice()),
        (3001, "localhost", &[TransportKind::Stdio][..])
    );
    assert!(!auth.required && auth.keys.len() == 1);
    let window = Duration::from_mins(1);
    assert_eq!(rate_limit, Some(RateLimitConfig { requests: 100, window, holds_on_stdio: true }));
    assert!(!cors.enabled && cors.origins == ["https://localhost:3000"]);
    assert_eq!(logging.file.unwrap(), world.root().join("mcp-server.log"));
    world.check("server.auth.token", "\"***\" root/docent.json");
}

#[test]
fn the_shared_variables_work() {
    let world = ConfigFixture::new()
        .env("MCP_SERVER_HOST", "0.0.0.0")
        .env("MCP_AUTH_REQUIRED", "true")
        .env("MCP_API_KEY", "my-secret-key")
        .env("MCP_ALLOWED_ORIGINS", "https://App.example/, http://b:1")
        .check("server.auth.token", "\"***\" MCP_API_KEY");
    let config = world.load();
    assert_eq!(config.server.host, "0.0.0.0");
    assert!(config.server.auth.required && config.server.cors.enabled);
    assert_eq!(config.server.cors.origins, ["https://app.example", "http://b:1"]);
    assert_eq!(config.secrets()[0].expose(), "my-secret-key");
    config.check_serving().unwrap();
}

#[test]
fn an_env_file_is_read_only_where_it_is_asked_for() {
    let text = "MCP_SERVER_PORT=8055\nMCP_API_KEY=\"from-the-file\" # ours\nDATABASE_URL=x\nDOCENT_SERVER_PORT=9\n";
    let world =
        ConfigFixture::new().root_file(".env", text).env("MCP_API_KEY", "from-the-environment");
    let config = world.load();
    assert_eq!(config.server.port, 8001);
    let path = world.root().join(".env");
    let ignored = format!(
        "{} sets MCP_SERVER_PORT, which docent ignores; pass --env-file to read it if you trust the project",
        path.display()
    );
    assert_eq!(config.warnings, [ignored]);
    let load = |world: &ConfigFixture, file: EnvFile| {
        let mut inputs = world.inputs();
        inputs.flags.env_file = Some(file);
        Config::load(&inputs)
    };
    let elsewhere = world.dir.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    let missing = load(&world, EnvFile::OfRoot).err().unwrap().to_string();
    assert!(missing.starts_with(&format!("cannot read {}; ", path.display())), "{missing}");
    assert_eq!(world.load().warnings, Vec::<String>::new());
    fs::copy(&elsewhere, &path).unwrap();
    for file in [EnvFile::OfRoot, EnvFile::At("../elsewhere".into())] {
        let config = load(&world, file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.server.port, 8055);
        assert_eq!(config.secrets()[0].expose(), "from-the-environment");
        assert_eq!(config.warnings, Vec::<String>::new());
        let source = &config.show_json()["server.port"]["source"];
        assert_eq!(
            (&source["kind"], &source["name"]),
            (&"env file".into(), &"MCP_SERVER_PORT".into())
        );
        assert_eq!(config.files().len(), 1);
    }
    let world = world.root_file(".env", "A=1\nMCP_API_KEY sekrit\n");
    let refused = load(&world, EnvFile::OfRoot).err().unwrap().to_string();
    assert_eq!(refused, format!("{}:2: expected NAME=value, found no `=`", path.display()));
    let world = world.root_file(".env", "MCP_SERVER_PORT=many\n");
    let refused = load(&world, EnvFile::OfRoot).err().unwrap().to_string();
    let want =
        format!("MCP_SERVER_PORT in {}: `server.port` must be a whole number", path.display());
    assert!(refused.starts_with(&want), "{refused}");
}

#[test]
fn the_file_of_another_server_is_read_only_where_it_is_named() {
    const NAME: &str = ".ast-copilot-helper.json";
    let world = ConfigFixture::new().root_file(NAME, r#"{"server": {"port": 3001}}"#);
    let config = world.load();
    let ignored = format!(
        "docent ignores {}; pass --config {NAME} to read it if you trust the project",
        world.root().join(NAME).display()
    );
    assert_eq!((config.server.port, config.warnings), (8001, vec![ignored]));
    let mut inputs = world.inputs();
    inputs.flags.config_file = Some(world.root().join(NAME));
    let config = Config::load(&inputs).unwrap();
    assert_eq!((config.server.port, config.warnings.len()), (3001, 0));
    let world = world.root_file("docent.json", "{}");
    assert_eq!(world.load().warnings, Vec::<String>::new());
}

#[test]
fn auth_is_required_once_a_key_is_configured() {
    let required = |world: ConfigFixture| world.load().server.auth.required;
    assert!(!required(ConfigFixture::new()));
    assert!(required(ConfigFixture::new().env("MCP_API_KEY", "k")));
    assert!(!required(
        ConfigFixture::new().env("MCP_API_KEY", "k").env("MCP_AUTH_REQUIRED", "false")
    ));
}

#[test]
fn what_must_not_be_served_is_refused() {
    let world = ConfigFixture::new().env("MCP_AUTH_REQUIRED", "true").env("MCP_API_KEY", "");
    world.refuses("auth is required (by environment MCP_AUTH_REQUIRED) but no key is configured: set MCP_API_KEY, pass --auth TOKEN, or add server.auth.keys");
    let world = ConfigFixture::new().env("MCP_SERVER_HOST", "0.0.0.0").flag(
        "--transport",
        "server.transport",
        json!(["http"]),
    );
    world.refuses("refusing to listen on 0.0.0.0 without auth (environment MCP_SERVER_HOST): set MCP_API_KEY or pass --auth TOKEN, bind 127.0.0.1, or pass --allow-open if everyone who can reach it may use it");
    let off = ConfigFixture::new()
        .env("MCP_SERVER_HOST", "0.0.0.0")
        .env("MCP_AUTH_REQUIRED", "false")
        .env("MCP_API_KEY", "your-api-key-here")
        .flag("--transport", "server.transport", json!(["http"]));
    off.refuses("refusing to listen on 0.0.0.0 without auth (environment MCP_SERVER_HOST): a key is configured, but environment MCP_AUTH_REQUIRED turns auth off: set MCP_AUTH_REQUIRED=true or remove it, bind 127.0.0.1, or pass --allow-open if everyone who can reach it may use it");
    let open = world.flag("--allow-open", "server.allow_open", json!(true));
    open.load().check_serving().unwrap();
    let loopbacks = ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST"];
    for host in loopbacks {
        let world = ConfigFixture::new().flag("--host", "server.host", json!(host)).flag(
            "--transport",
            "server.transport",
            json!(["http"]),
        );
        world.load().check_serving().unwrap_or_else(|error| panic!("{host}: {error}"));
    }
}

#[test]
fn problems_name_their_place() {
    let both = ConfigFixture::new().root_file("docent.toml", "").root_file("docent.json", "{}");
    both.refuses("both root/docent.toml and root/docent.json exist; docent reads one of them: keep docent.toml and remove docent.json, or the other way round");
    ConfigFixture::new()
        .root_file("docent.toml", "[server]\nprot = 1\nport = \"x\"")
        .env("DOCENT_LIMITS_SESSIONS", "many")
        .refuses("root/docent.toml: unknown key `server.prot`; did you mean `server.port`?\nroot/docent.toml: `server.port` must be a whole number from 0 to 65535, but is the string \"x\"\nenvironment DOCENT_LIMITS_SESSIONS: `limits.sessions` must be a whole number from 1 to 4294967295, but is the string \"many\"");
    ConfigFixture::new()
        .root_file("docent.json", "{\n  \"server\": {,}\n}")
        .refuses("root/docent.json:2:14: not valid JSON: key must be a string");
    let file = |text: &str| ConfigFixture::new().root_file("docent.toml", text);
    let cases = [
        (
            "server.host = \"http://x\"",
            "`server.host` must be an address or a host name, without scheme and port, but is \"http://x\"",
        ),
        (
            "server.transport = []",
            "`server.transport` must name at least one of stdio, http, sse, websocket",
        ),
        (
            "server.cors.origins = [\"app.example\"]",
            "`server.cors.origins` has \"app.example\", which is not an origin; use scheme://host[:port], or * for every origin",
        ),
        (
            "server.auth.token = \"a b\"",
            "`server.auth.token` has a token with white space or non-ASCII characters",
        ),
        (
            "server.auth.keys = [{ name = \"a\", scopes = [\"*\"] }]",
            "`server.auth.keys` \"a\" needs exactly one of `token`, `token_env`, `token_file`",
        ),
        (
            "server.auth.keys = [{ name = \"a\", token = \"t\" }]",
            "`server.auth.keys` \"a\" needs `scopes`: tool names, suites such as \"code:*\", or \"*\" for everything",
        ),
        (
            "server.auth.keys = [{ name = \"a\", token_env = \"NOPE\", scopes = [\"*\"] }]",
            "`server.auth.keys` \"a\": the environment variable NOPE is not set",
        ),
        (
            "server.auth.keys = [{ token = \"t\", scopes = [\"*\"] }]",
            "`server.auth.keys` [0] needs a `name`",
        ),
        (
            "server.auth.keys = [{ name = \"a\", token = \"t\", scopes = [\"co de\"] }]",
            "`server.auth.keys` \"a\": the scope \"co de\" is not a tool name, a suite such as \"code:*\", or \"*\"",
        ),
        (
            "server.auth.keys = [{ name = \"a\", token = \"t\", scopes = [\"*\"] }, { name = \"a\", token = \"u\", scopes = [\"*\"] }]",
            "`server.auth.keys` has two keys named \"a\"; names must differ",
        ),
        (
            "telemetry.otlp_endpoint = \"https://x\"",
            "`telemetry.otlp_endpoint` is \"https://x\"; write http://host:port (spans are sent without TLS: run a collector near docent and let it forward them)",
        ),
        (
            "roots = [\"docent.toml\"]",
            "`roots` has root/docent.toml, which is not a directory; use its parent directory",
        ),
        (
            "docs.collections.pg.description = \"x\"",
            "`docs.collections.pg`: it needs a `path`, or a `url` to be fetched from",
        ),
        (
            "docs.collections.pg = {}",
            "`docs.collections.pg`: it needs a `path`, or a `url` to be fetched from",
        ),
        (
            "docs.collections.all.path = \"x\"",
            "`docs.collections.all`: `all` means every collection; choose another name",
        ),
        (
            "docs.collections.\"a/b\".path = \"x\"",
            "`docs.collections.\"a/b\"`: a name must not contain / \\ # ?: it is the first part of ids and URIs",
        ),
    ];
    for (text, want) in cases {
        file(text).refuses(&format!("root/docent.toml: {want}"));
    }
}

#[test]
fn paths_start_from_the_file_that_names_them() {
    let world = ConfigFixture::new()
        .user_file("docent.toml", "server.logging.file = \"user.log\"\naudit.file = \"~/audit.jsonl\"")
        .root_file("docent.toml", "roots = [\".\", \"inner\"]\n[docs.collections.z]\npath = \"docs\"\n[docs.collections.a]\nurl = \"https://a\"");
    fs::create_dir(world.root().join("inner")).unwrap();
    let config = world.load();
    let base = world.dir.path();
    assert_eq!(
        config.server.logging.file.as_deref(),
        Some(base.join("home/.config/docent/user.log").as_path())
    );
    assert_eq!(config.audit.file.as_deref(), Some(base.join("home/audit.jsonl").as_path()));
    let real = base.canonicalize().unwrap();
    assert_eq!(config.roots, [real.join("root"), real.join("root/inner")]);
    assert_eq!(config.collections.keys().collect::<Vec<_>>(), ["z", "a"], "in the order written");
    assert_eq!(config.collections["z"].path.as_deref(), Some(world.root().join("docs").as_path()));
}

#[test]
fn a_token_may_come_from_a_file() {
    let world = ConfigFixture::new()
        .root_file(
            "docent.toml",
            "server.auth.keys = [{ name = \"a\", token_file = \"key\", scopes = [\"*\"] }]",
        )
        .root_file("key", "  from-a-file\n");
    assert_eq!(world.load().server.auth.keys[0].token.expose(), "from-a-file");
    assert_eq!(format!("{:?}", world.load().server.auth.keys[0].token), "***");
}

#[test]
fn the_root_file_is_the_first_roots() {
    let world = ConfigFixture::new().root_file("docent.toml", "[server]\nport = 1");
    let other = world.dir.path().join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("docent.toml"), "[server]\nport = 2").unwrap();
    let port = |inputs: &ConfigInputs| {
        Config::load(inputs).map_or_else(|e| panic!("{e}"), |config| config.server.port)
    };
    let mut inputs = world.inputs();
    assert_eq!(port(&inputs), 1);
    inputs.environment = [("DOCENT_ROOTS", other.to_str().unwrap())].into_iter().collect();
    assert_eq!(port(&inputs), 2);
    inputs.flags.roots = vec![world.root()];
    assert_eq!(port(&inputs), 1);
    inputs.flags.config_file = Some(other.join("docent.toml"));
    assert_eq!(port(&inputs), 2);
    inputs.flags.config_file = Some("missing.toml".into());
    let error = Config::load(&inputs).err().unwrap().to_string();
    assert!(
        error.starts_with("cannot read the configuration file") && error.contains("missing.toml"),
        "{error}"
    );
}

#[test]
fn a_flag_without_effect_is_a_warning() {
    let world = ConfigFixture::new().flag("--port", "server.port", json!(9));
    assert_eq!(
        world.load().warnings,
        ["--port has no effect: stdio is the only transport; add --transport http"]
    );
}

#[test]
fn secrets_are_masked_wherever_they_are_shown() {
    let world = ConfigFixture::new().root_file(
        "docent.toml",
        "server.auth.token = \"sekrit-1\"\nserver.auth.keys = [{ name = \"a\", token = \"sekrit-2\", scopes = [\"*\"] }]\n\
         [mcp_servers.x]\nurl = \"https://x\"\nheaders = { Authorization = \"sekrit-3\" }",
    );
    let config = world.load();
    let shown = format!("{}{}", config.show_text(), config.show_json());
    assert!(!shown.contains("sekrit"), "{shown}");
    assert!(shown.contains("\"name\":\"a\"") && shown.contains("***"), "{shown}");
}

#[test]
fn what_only_looks_like_a_secret_is_masked_but_still_compared() {
    let world = |password: &str| {
        let text = format!("[docs.collections.x]\nurl = \"https://u:{password}@docs.test/\"");
        ConfigFixture::new().user_file("docent.toml", &text)
    };
    let (one, other) = (world("sekrit-1").load(), world("sekrit-2").load());
    let shown = format!("{}{}", one.show_text(), one.show_json());
    assert!(!shown.contains("sekrit") && shown.contains("@docs.test/"), "{shown}");
    assert_eq!(one.changed_keys(&other), ["docs.collections.x.url"]);
}

#[test]
fn one_text_is_checked_by_itself() {
    let check = |name: &str, text: &str| match check_text(Path::new(name), text) {
        Ok(()) => "fine".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(check("docent.json", "{}"), "fine");
    assert_eq!(check("docent.toml", "server.port = 1"), "fine");
    assert_eq!(
        check("docent.toml", "server.port = 1979-05-27"),
        "docent.toml: `server.port` must be a whole number from 0 to 65535, but is a date"
    );
    let deep = "[".repeat(100_000);
    assert!(check("docent.json", &deep).starts_with("docent.json:1:"));
    assert!(check("docent.toml", &format!("a = {deep}")).starts_with("docent.toml:1:"));
}

#[test]
fn an_endpoint_needs_an_address_and_a_model() {
    assert!(ConfigFixture::new().load().embedding.is_none(), "the table that is built in");
    let world = ConfigFixture::new()
        .user_file("docent.toml", "[embedding]\nkey_env = \"KEY\"")
        .root_file("docent.toml", "[embedding]\nurl = \"http://localhost:1/v1\"")
        .env("DOCENT_EMBEDDING_MODEL", "m")
        .env("DOCENT_EMBEDDING_TIMEOUT_MS", "5")
        .env("KEY", "sekrit")
        .check("embedding.url", "\"http://localhost:1/v1\" root/docent.toml")
        .check("embedding.model", "\"m\" DOCENT_EMBEDDING_MODEL")
        .check("embedding.key_env", "\"KEY\" home/.config/docent/docent.toml")
        .check("embedding.batch", "64 default");
    let config = world.load();
    let model = config.embedding.as_ref().unwrap();
    assert_eq!((model.batch, model.timeout), (64, Duration::from_millis(5)));
    assert_eq!(model.key.as_ref().map(SecretText::expose), Some("sekrit"));
    assert_eq!(config.secrets().len(), 1, "the key is masked in log lines");
    let shown = format!("{model:?}{}{}", config.show_text(), config.show_json());
    assert!(!shown.contains("sekrit"), "{shown}");
}

#[test]
fn a_project_does_not_say_where_code_is_sent() {
    let model = "model = \"m\"";
    let world = |keys: &str| {
        let text = format!("[embedding]\n{model}\n{keys}");
        ConfigFixture::new().env("KEY", "sekrit").root_file("docent.toml", &text)
    };
    for url in ["https://evil.example/v1", "http://localhost.evil.example", "http://10.0.0.1/v1"] {
        let config = world(&format!("url = {url:?}")).load();
        assert!(config.embedding.is_none(), "{url}");
        let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
        assert!(
            warning.contains("sets `embedding.url` (not on this machine), `embedding.model`"),
            "{warning}"
        );
    }
    let config = world("url = \"http://localhost:1/v1\"\nkey_env = \"KEY\"").load();
    assert_eq!(config.embedding.unwrap().key, None, "a project takes no key from the environment");
    assert!(
        config.warnings[0].contains("sets `embedding.key_env`, which"),
        "{:?}",
        config.warnings
    );
    for url in ["http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:8/v1"] {
        assert!(world(&format!("url = {url:?}")).load().embedding.is_some(), "{url}");
    }
    let user = format!("[embedding]\n{model}\nurl = \"https://x/v1\"");
    let both = world("url = \"https://evil.example/v1\"").user_file("docent.toml", &user).load();
    assert_eq!(both.embedding.unwrap().url, "https://x/v1", "what the user set counts");
}

#[test]
fn a_key_that_a_project_may_not_set_leaves_what_the_user_set() {
    let user = "policy.network.hosts = [\"docs.example.com\"]\npolicy.tools.deny = [\"fetch_page\"]\n\
                audit.file = \"/var/log/docent.jsonl\"\nserver.port = 1\nmcp_servers.mine.command = \"a\"";
    let project = "policy.network.hosts = [\"evil.example\"]\npolicy.redaction.secrets = false\naudit.file = \"x\"\n\
                   server.port = 2\nserver.logging.file = \"../x.log\"\nroots = [\"..\"]\n\
                   mcp_servers.mine.command = \"b\"\nmcp_servers.theirs.command = \"c\"";
    let world = ConfigFixture::new()
        .user_file("docent.toml", user)
        .root_file("docent.toml", project)
        .check("policy.network.hosts", "[\"docs.example.com\"] home/.config/docent/docent.toml")
        .check("policy.tools.deny", "[\"fetch_page\"] home/.config/docent/docent.toml")
        .check("policy.redaction.secrets", "true default")
        .check("audit.file", "\"/var/log/docent.jsonl\" home/.config/docent/docent.toml")
        .check("server.logging.file", "null default")
        .check("mcp_servers.mine", "{\"command\":\"a\"} home/.config/docent/docent.toml")
        .check("server.port", "2 root/docent.toml");
    let config = world.load();
    assert_eq!(config.roots, [world.root().canonicalize().unwrap()]);
    let servers = config.servers.iter();
    let servers: Vec<_> =
        servers.map(|entry| (entry.server.name.as_str(), entry.of_a_project)).collect();
    assert_eq!(servers, [("mine", false), ("theirs", true)]);
    let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
    let file = world.root().join("docent.toml").display().to_string();
    let keys = "`policy.network.hosts`, `policy.redaction.secrets`, `audit.file`, \
                `mcp_servers.mine` (your own settings have a server of that name), \
                `server.logging.file` (outside the project), `roots` (outside the project)";
    let mut want: Vec<&str> = keys.split(", ").collect();
    let start = format!("{file} sets ");
    let (named, rest) =
        warning.strip_prefix(&start).unwrap().split_once(", which docent ignores").unwrap();
    let mut named: Vec<&str> = named.split(", ").collect();
    want.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, want);
    let remedy = "Set them in ~/.config/docent/docent.toml or in the environment, or pass --config";
    assert!(rest.contains(remedy), "{rest}");
    let row = &config.show_json()["policy.network.hosts"];
    assert_eq!(row["ignored"], json!({"kind": "file", "name": file}), "{row}");
    assert!(config.show_json()["server.port"]["ignored"].is_null());
    assert!(config.show_text().contains(&format!(", ignored in {file}\n")));
    let named = ConfigInputs {
        flags: ConfigFlags { config_file: Some("docent.toml".into()), ..ConfigFlags::default() },
        ..world.inputs()
    };
    let named = Config::load(&named).unwrap_or_else(|error| panic!("{error}"));
    assert!(!named.policy.redaction.secrets && named.ignored_keys().is_none());
}

/// The address goes first: on this machine the project may choose the rest.
#[test]
fn a_project_opens_no_door_beyond_this_machine() {
    let project = "server.host = \"0.0.0.0\"\nserver.port = 9\nserver.auth.required = false\n\
                   server.tls = { certificate = \"a\", key = \"b\", client_ca = \"c\" }\n\
                   server.auth.certificates = [{ name = \"x\", subject = \"*\", scopes = [\"*\"] }]";
    let world = ConfigFixture::new()
        .root_file("docent.toml", project)
        .check("server.host", "\"127.0.0.1\" default")
        .check("server.port", "9 root/docent.toml")
        .check("server.auth.certificates", "[] default");
    assert!(world.load().server.tls.is_none());
    let world = world
        .user_file("docent.toml", "server.host = \"192.0.2.1\"\nserver.auth.token = \"mine\"")
        .check("server.host", "\"192.0.2.1\" home/.config/docent/docent.toml")
        .check("server.port", "8001 default");
    let config = world.load();
    assert!(config.server.auth.required && config.server.auth.certificates.is_empty());
    let warning = config.ignored_keys().unwrap();
    assert!(warning.contains("`server.port` (docent listens beyond this machine)"), "{warning}");
}

#[test]
fn hints_name_the_file_that_the_user_has() {
    let setting = |world: &ConfigFixture| world.load().policy.network.setting.to_string();
    assert_eq!(setting(&ConfigFixture::new()), "~/.config/docent/docent.toml");
    assert_eq!(
        setting(&ConfigFixture::new().user_file("docent.json", "{}")),
        "~/.config/docent/docent.json"
    );
    let world = ConfigFixture::new().env("XDG_CONFIG_HOME", "/x");
    assert_eq!(setting(&world), "/x/docent/docent.toml");
    let world = world.root_file("own.toml", "");
    let mut inputs = world.inputs();
    inputs.flags.config_file = Some("own.toml".into());
    let named = inputs.working_dir.join("own.toml").display().to_string();
    assert_eq!(Config::load(&inputs).unwrap().policy.network.setting.to_string(), named);
    let world = ConfigFixture::new().env("DOCENT_POLICY_NETWORK_HOSTS", "a.test");
    assert_eq!(setting(&world), "the environment variable DOCENT_POLICY_NETWORK_HOSTS");
    // A key set by a project file is not where hosts can be added.
    let world =
        ConfigFixture::new().root_file("docent.toml", "policy.network.hosts = [\"a.test\"]");
    assert_eq!(setting(&world), "~/.config/docent/docent.toml");
}

#[test]
fn half_an_endpoint_says_what_to_add() {
    ConfigFixture::new().env("DOCENT_EMBEDDING_URL", "http://localhost:1").refuses(
        "environment DOCENT_EMBEDDING_URL: `embedding.url` is set without a model: add `embedding.model`, the model's name at the endpoint",
    );
    ConfigFixture::new().env("DOCENT_EMBEDDING_MODEL", "m").refuses(
        "environment DOCENT_EMBEDDING_MODEL: `embedding.model` is set without an address: add `embedding.url`, such as http://localhost:11434/v1",
    );
    let world = || ConfigFixture::new().env("DOCENT_EMBEDDING_MODEL", "m");
    for url in ["localhost:1", "ftp://x", "http://", "http://me:sekrit@x/v1"] {
        world().env("DOCENT_EMBEDDING_URL", url).refuses(
            "environment DOCENT_EMBEDDING_URL: `embedding.url` must be http://host[:port]/path or https://…, without a user name",
        );
    }
    world()
        .env("DOCENT_EMBEDDING_URL", "https://x/v1")
        .env("DOCENT_EMBEDDING_KEY_ENV", "NO_SUCH")
        .refuses(
            "environment DOCENT_EMBEDDING_KEY_ENV: `embedding.key_env` names the environment variable NO_SUCH, which is not set: set it, or remove the key",
        );
}

#[test]
fn no_server_gets_what_lets_clients_in_to_docent() {
    let entry = |value: &str| {
        format!(
            "server.auth.keys = [{{name = \"ann\", token = \"inbound-token\", scopes = [\"*\"]}}]\n\
             [mcp_servers.a]\ncommand = \"x\"\nenv = {{ K = \"{value}\" }}"
        )
    };
    let load = |value: &str| {
        ConfigFixture::new()
            .user_file("docent.toml", &entry(value))
            .env("MCP_API_KEY", "from-the-environment")
            .env("DOCENT_OTHER_SECRET", "mine")
            .env("OWN", "its-own-token")
            .env("SAME", "inbound-token")
            .load()
    };
    for value in ["${MCP_API_KEY}", "${DOCENT_OTHER_SECRET}", "${SAME}", "Bearer inbound-token"] {
        let config = load(value);
        assert_eq!(config.servers, [], "{value}");
        assert!(!config.warnings.is_empty(), "{value}: no warning");
        assert!(
            !config.warnings.iter().any(|warning| warning.contains("inbound-token")),
            "{value}"
        );
    }
    for entry in [
        "command = \"${SAME}\"",
        "command = \"x\"\ncwd = \"/srv/${SAME}\"",
        "url = \"https://a.test/\"\noauth = { client_id = \"${SAME}\" }",
        "url = \"https://a.test/\"\noauth = { scopes = [\"inbound-token\"] }",
    ] {
        let key =
            "server.auth.keys = [{name = \"ann\", token = \"inbound-token\", scopes = [\"*\"]}]";
        let text = format!("{key}\n[mcp_servers.a]\n{entry}");
        let config = ConfigFixture::new()
            .user_file("docent.toml", &text)
            .env("SAME", "inbound-token")
            .load();
        assert_eq!(config.servers, [], "{entry}");
        assert!(config.warnings.iter().any(|warning| warning.contains("the key `ann`")), "{entry}");
    }
    let config = load("${OWN}");
    assert_eq!(config.servers.len(), 1, "{:?}", config.warnings);
    let masked = config.secrets().iter().any(|secret| secret.expose() == "its-own-token");
    assert!(masked, "what a variable holds may be a secret");
}

#[test]
fn credentials_are_known_before_they_are_there() {
    let world = ConfigFixture::new().env("XDG_CONFIG_HOME", "/x").env("XDG_CACHE_HOME", "/c");
    let places = world.load().secret_places;
    let home = world.dir.path().join("home");
    for want in [".ssh", ".kube/config", ".config/docent"].map(|place| home.join(place)) {
        assert!(places.contains(&want), "{}", want.display());
    }
    for want in ["/x/docent", "/c/docent/tokens"] {
        assert!(places.contains(&PathBuf::from(want)), "{want}");
    }
}

#[test]
fn a_registry_names_no_file_elsewhere() {
    let remote = |field: &str, value: Value| json!({"url": "https://a.test/", (field): value});
    let git = "~/.git-credentials";
    let cases = [
        ("registry/servers.json", remote("bearer_token_file", json!("key")), true),
        ("registry/servers.json", remote("bearer_token_file", json!(git)), false),
        ("registry/servers.json", remote("headers", json!({"X": {"file": "../key"}})), false),
        ("registry/servers.json", remote("oauth", json!({"client_secret_file": git})), false),
        ("registry/servers.json", json!({"command": "x", "env": {"K": {"file": git}}}), false),
        ("registry/servers.json", json!({"command": "x", "env_file": git}), false),
        // In a home lies more than the registry's own.
        ("servers.json", remote("bearer_token_file", json!("registry/key")), false),
        (".config/docent/servers.json", remote("bearer_token_file", json!("key")), true),
        (".config/docent/servers.json", remote("bearer_token_file", json!(git)), false),
    ];
    for (registry, entry, is_used) in cases {
        let config = ConfigFixture::new()
            .home_file("registry/key", "of-its-own\n")
            .home_file("key", "above-it\n")
            .home_file(".config/docent/key", "beside-docent-s\n")
            .home_file(".git-credentials", "K=sekrit\n")
            .registry(registry, &json!({"mcpServers": {"a": entry}}))
            .load();
        let warnings = config.warnings.join("\n");
        assert_eq!(config.servers.len(), usize::from(is_used), "{registry} {entry}: {warnings}");
        assert_eq!(warnings.contains("can only refer to files next to it"), !is_used, "{warnings}");
        let opened = config.secret_files.iter().any(|file| file.ends_with(".git-credentials"));
        assert!(!opened, "{entry}: docent's own sandbox opens it");
    }
    let own = format!("[mcp_servers.a]\nurl = \"https://a.test/\"\nbearer_token_file = {git:?}");
    let world = ConfigFixture::new().home_file(".git-credentials", "mine\n");
    assert_eq!(world.user_file("docent.toml", &own).load().servers.len(), 1);
}

#[test]
#[cfg(unix)]
fn a_registry_s_link_leads_to_no_file_elsewhere() {
    let entry =
        json!({"mcpServers": {"a": {"url": "https://a.test/", "bearer_token_file": "link"}}});
    let world = ConfigFixture::new()
        .home_file(".git-credentials", "sekrit\n")
        .registry("registry/servers.json", &entry);
    let link = world.dir.path().join("home/registry/link");
    std::os::unix::fs::symlink("../.git-credentials", link).unwrap();
    assert_eq!(world.load().servers, []);
}

#[test]
#[cfg(unix)]
fn a_pipe_or_a_device_holds_no_secret_of_a_server() {
    let world = ConfigFixture::new().user_file("long", &"x".repeat(70_000));
    let folder = world.dir.path().join("home/.config/docent");
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
    assert!(made.success());
    for (file, want) in [
        ("pipe", "not a regular file (named pipe)"),
        ("/dev/zero", "not a regular file (character device)"),
        ("long", "larger than 65536 bytes"),
    ] {
        let text =
            format!("[mcp_servers.a]\ncommand = \"x\"\nenv = {{ K = {{ file = {file:?} }} }}");
        fs::write(folder.join("docent.toml"), text).unwrap();
        let config = world.load();
        assert_eq!(config.servers, [], "{file}");
        assert!(config.warnings[0].contains(want), "{:?}", config.warnings);
    }
}

#[test]
fn a_registry_s_servers_for_one_project_are_passed_over() {
    let config = ConfigFixture::new()
        .registry(
            ".claude.json",
            &json!({
                "mcpServers": {"mine": {"command": "a"}},
                "projects": {"/p": {"mcpServers": {"theirs": {"command": "b"}}}},
            }),
        )
        .load();
    let names: Vec<&str> = config.servers.iter().map(|entry| entry.server.name.as_str()).collect();
    assert_eq!(names, ["mine"]);
    let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
    assert!(warning.contains("ignored: theirs; import them with"), "{warning}");
}

#[test]
fn a_registry_leads_no_program_to_other_settings() {
    let env = json!({
        "HOME": "/evil", "XDG_CONFIG_HOME": "/evil", "XDG_DATA_HOME": "${XDG_DATA_HOME}", "PLAIN": "v",
        "GIT_DIR": "/evil", "XDG_SESSION_TYPE": "x11",
    });
    let servers = json!({"a": {"command": "x", "env": env}});
    let given = |config: &Config| match &config.servers[0].server.way {
        docent_registry::EntryTransport::Program { env, .. } => {
            env.keys().cloned().collect::<Vec<_>>()
        }
        docent_registry::EntryTransport::Remote { .. } => Vec::new(),
    };
    let config = ConfigFixture::new()
        .env("XDG_DATA_HOME", "/data")
        .registry("registry/servers.json", &json!({"mcpServers": servers}))
        .load();
    assert_eq!(given(&config), ["XDG_DATA_HOME", "PLAIN", "XDG_SESSION_TYPE"]);
    let warning = config.warnings.join("\n");
    for name in ["HOME", "XDG_CONFIG_HOME", "GIT_DIR"] {
        assert!(warning.contains(&format!("`env.{name}`: ")), "{warning}");
    }
    let own = ConfigFixture::new()
        .env("XDG_DATA_HOME", "/data")
        .env("DOCENT_MCP_SERVERS", &servers.to_string())
        .load();
    assert_eq!((given(&own).len(), own.warnings.len()), (6, 0), "{:?}", own.warnings);
}

#[test]
fn a_secret_among_the_arguments_of_a_server_is_reported() {
    let text =
        "[mcp_servers.a]\ncommand = \"x\"\nargs = [\"${HOME_OF_X}/y\", \"--key=${API_KEY}\"]";
    let world = ConfigFixture::new().user_file("docent.toml", text).env("HOME_OF_X", "/srv/x");
    let config = world.env("API_KEY", "sekrit-1").load();
    let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
    assert!(warning.contains("the value of API_KEY in the process list"), "{warning}");
    assert!(!warning.contains("sekrit") && config.servers.len() == 1, "{warning}");
}

#[test]
fn a_project_names_no_server_that_is_started() {
    let servers = "[mcp_servers.a]\ncommand = \"x\"\nenv = { K = \"${OWN}\" }";
    let config =
        ConfigFixture::new().root_file("docent.toml", servers).env("OWN", "secret-of-mine").load();
    assert!(config.servers[0].of_a_project);
    assert!(!format!("{:?}", config.servers).contains("secret-of-mine"));
    assert_eq!(crate::servers::all_specs(&config), []);
}

#[test]
fn docent_behind_itself_ends() {
    let world = |within: &str| {
        let servers = "[mcp_servers.a]\ncommand = \"docent\"";
        ConfigFixture::new().user_file("docent.toml", servers).env("DOCENT_WITHIN", within)
    };
    for (within, count) in [("0", 1), ("2", 1), ("3", 0), ("9", 0)] {
        let config = world(within).load();
        assert_eq!((config.servers.len(), config.warnings.len()), (count, 1 - count), "{within}");
    }
}

#[test]
fn the_secret_of_a_sign_in_comes_from_a_variable_or_a_file() {
    let entry = |oauth: &str| {
        let text =
            format!("[mcp_servers.a]\nurl = \"https://a.test/\"\n[mcp_servers.a.oauth]\n{oauth}");
        ConfigFixture::new()
            .user_file("docent.toml", &text)
            .user_file("secret", "of-a-file\n")
            .env("SECRET", "of-a-variable")
            .load()
    };
    for (oauth, want) in [
        ("client_id = \"${SECRET}-id\"\nclient_secret = \"${SECRET}\"", "of-a-variable"),
        ("client_secret_env = \"SECRET\"", "of-a-variable"),
        ("client_secret_file = \"secret\"", "of-a-file"),
        ("client_secret = \"as-it-is\"", "as-it-is"),
    ] {
        let config = entry(oauth);
        assert_eq!(config.warnings, Vec::<String>::new(), "{oauth}");
        let signs_in = &config.servers[0].extra.oauth;
        assert_eq!(signs_in.client_secret.as_ref().map(SecretText::expose), Some(want), "{oauth}");
        assert!(config.secrets().iter().any(|secret| secret.expose() == want), "{oauth}");
        assert!(!format!("{signs_in:?}").contains(want) || oauth.contains("-id"), "{oauth}");
    }
    for (oauth, want) in [
        (
            "client_secret_env = \"NOPE\"",
            "\"a\", `oauth.client_secret_env`: the variable NOPE is not set; set NOPE, or write a default: ${NOPE:-…}",
        ),
        (
            "client_secret_env = \"SECRET\"\nclient_secret = \"x\"",
            "\"a\", `oauth`: the secret is set more than once; keep one of client_secret, client_secret_env and client_secret_file",
        ),
        (
            "client_secret_env = \"MCP_API_KEY\"",
            "\"a\", `oauth.client_secret_env`: the variable MCP_API_KEY is reserved for docent and not passed to servers; use a variable of another name for the server's key",
        ),
    ] {
        let config = entry(oauth);
        assert_eq!(
            (config.servers.len(), config.warnings.as_slice()),
            (0, [want.to_owned()].as_slice()),
            "{oauth}"
        );
        assert!(config.faults[0].fatal);
    }
}

#[test]
fn another_secret_of_a_server_is_not_another_key() {
    let text = "[mcp_servers.a]\ncommand = \"x\"\nenv = { K = { file = \"secret\" } }";
    let world =
        ConfigFixture::new().user_file("docent.toml", text).user_file("secret", "first-one");
    let first = world.load();
    let world = world.user_file("secret", "second-one");
    assert_eq!(first.changed_keys(&world.load()), ["mcp_servers"]);
}
