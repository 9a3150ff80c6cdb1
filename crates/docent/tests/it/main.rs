//! The real binary: exit codes, what it prints, what it writes.

#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod analyze;
mod attacks;
mod bounds;
mod code_mode;
mod confined;
mod container;
mod convergence;
mod docs;
mod endpoints;
mod faults;
mod hostile_deadline;
#[cfg(target_os = "linux")]
mod hostile_files;
mod hostile_scripts;
mod inspect;
mod install;
mod links;
mod masking;
mod modes;
mod nested;
mod peers;
mod policy;
mod records;
mod search;
mod seed_000;
mod seed_001;
mod seed_002;
mod seed_003;
mod seed_004;
mod seeds;
mod servers;
mod serving;
mod shell;
mod shutdown;
mod sign_in;
mod teams;
mod waiting;
mod web;

use docent_testenv::or_skip;
use serde_json::Value;
use std::{
    fs,
    io::Read,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::mpsc,
    time::Duration,
};
use tempfile::TempDir;

/// A home and a project of its own for one run of the binary.
struct TestHome(TempDir);

impl TestHome {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("project")).unwrap();
        Self(dir)
    }

    /// The same outside of the temporary folders, which every guarded server may read and write to.
    fn outside_temporary() -> Result<Self, String> {
        let dir = docent_testenv::folder_outside_temporary()?;
        fs::create_dir_all(dir.path().join("project")).unwrap();
        Ok(Self(dir))
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// The folder of the one index that is in the project; its name is the user's secret.
    fn index(&self) -> PathBuf {
        let entries = fs::read_dir(self.project().join(".docent")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path()).filter(|path| {
            path.is_dir() && path.file_name().unwrap().to_str().unwrap().starts_with("index")
        });
        let found = paths.next().unwrap();
        assert_eq!(paths.next(), None);
        found
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        fs::write(self.project().join(name), text).unwrap();
        self
    }

    /// Writes the user's own settings.
    fn settings(&self, text: &str) -> &Self {
        let folder = self.0.path().join(".config/docent");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("docent.toml"), text).unwrap();
        self
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.project()).env_clear().env("HOME", self.0.path());
        command
    }

    fn run(&self, args: &[&str]) -> CliRun {
        CliRun::of(&mut self.command(args))
    }
}

/// The program under test: the one that was built with the tests, or the one that `DOCENT_BINARY` names.
fn program() -> PathBuf {
    std::env::var_os("DOCENT_BINARY")
        .map_or_else(|| env!("CARGO_BIN_EXE_docent").into(), Into::into)
}

/// Whether the kernel has all that the sandbox uses; the error is the reason to skip a test of what it refuses.
fn kernel_can_confine() -> Result<(), String> {
    use docent_sandbox::{Confinement, ConfinementMode, PortSet, SandboxSupport, plan};
    let everything = Confinement::default().connect(PortSet::Some(vec![443])).unix_sockets(true);
    let planned = plan(&everything, ConfinementMode::Strict, &SandboxSupport::look());
    planned.map(drop).map_err(|refused| refused.to_string())
}

/// How a run ended.
struct CliRun {
    code: i32,
    out: String,
    err: String,
}

impl CliRun {
    fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        Self {
            code: status.code().expect("ended by a signal"),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    #[track_caller]
    fn ends(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    #[track_caller]
    fn says(&self, want: &str) -> &Self {
        assert!(self.err.contains(want), "no {want:?} in stderr: {}", self.err);
        assert_eq!(self.out, "", "an error belongs on stderr");
        self
    }

    #[track_caller]
    fn prints(&self, want: &str) -> &Self {
        assert!(self.out.contains(want), "no {want:?} in stdout: {}", self.out);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

#[test]
fn used_wrongly_is_two() {
    let place = TestHome::new();
    for args in
        [&["serve", "--port", "x"][..], &["nonsense"], &["serve", "--transport", "pigeon"], &[]]
    {
        let run = place.run(args);
        run.ends(2);
        assert!(!run.err.is_empty() && run.out.is_empty(), "{args:?}");
    }
    place.run(&["serve", "--transport", "pigeon"]).says("stdio, http, sse, websocket");
    place.run(&["--version"]).ends(0).prints(concat!("docent ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn config_show_prints_every_source() {
    let place = TestHome::new();
    place.write(
        "docent.toml",
        "[limits]\npage_bytes = 2048\n[server.auth]\ntoken = \"sekrit-token\"",
    );
    let mut command = place.command(&["config", "show", "--port", "9", "--json"]);
    let run = CliRun::of(command.env("MCP_SERVER_HOST", "::1"));
    let shown = run.ends(0).json();
    let source = |key: &str| shown[key]["source"]["kind"].as_str().unwrap().to_owned();
    assert_eq!(source("server.port"), "flag");
    assert_eq!(source("server.host"), "environment");
    assert_eq!(source("limits.page_bytes"), "file");
    assert_eq!(source("limits.sessions"), "default");
    assert_eq!(shown["server.auth.token"]["value"], "***");
    let text = place.run(&["config", "show"]);
    text.ends(0).prints("limits.page_bytes = 2048").prints("docent.toml").prints("# default");
    assert!(!text.out.contains("sekrit") && !run.out.contains("sekrit"));
}

#[test]
fn config_init_writes_once() {
    let place = TestHome::new();
    place.run(&["config", "init"]).ends(0).prints("wrote ");
    place.run(&["config", "show"]).ends(0).prints("server.port = 8001");
    place
        .run(&["config", "init"])
        .ends(1)
        .says("docent.toml already exists; edit it, or pass --force");
    place.run(&["config", "init", "--force"]).ends(0);
    place.run(&["config", "init", "--json"]).ends(1).says("reads only one file here");
    fs::remove_file(place.project().join("docent.toml")).unwrap();
    place.run(&["config", "init", "--json"]).ends(0);
    place.run(&["config", "show"]).ends(0).prints("docent.json");
}

#[test]
fn a_bad_file_is_one_and_says_what_to_mend() {
    let cases = [
        ("[server]\nprot = 1", "unknown key `server.prot`; did you mean `server.port`?"),
        (
            "[server]\nport = \"x\"",
            "`server.port` must be a whole number from 0 to 65535, but is the string \"x\"",
        ),
        ("[server\n", "docent.toml:1:8: not valid TOML"),
    ];
    for (text, want) in cases {
        let place = TestHome::new();
        place.write("docent.toml", text);
        for args in [&["config", "show"][..], &["serve"]] {
            place.run(args).ends(1).says(want).says("docent.toml");
        }
        place.run(&["doctor"]).ends(1).prints("fail  configuration").prints(want);
    }
}

#[test]
fn an_empty_file_changes_nothing() {
    for (name, text) in [("docent.toml", ""), ("docent.toml", "# nothing\n"), ("docent.json", "{}")]
    {
        let place = TestHome::new();
        place.write(name, text);
        place.run(&["config", "show"]).ends(0).prints("server.port = 8001");
    }
}

#[test]
fn two_files_in_one_place_are_refused() {
    let place = TestHome::new();
    place.write("docent.toml", "").write("docent.json", "{}");
    place.run(&["config", "show"]).ends(1).says("keep docent.toml and remove docent.json");
}

#[test]
fn serving_is_refused_without_a_key_and_on_an_open_door() {
    let place = TestHome::new();
    let mut command = place.command(&["serve", "--transport", "http", "--port", "0"]);
    CliRun::of(command.env("MCP_AUTH_REQUIRED", "true").env("MCP_API_KEY", ""))
        .ends(1)
        .says("but no key is configured")
        .says("MCP_API_KEY");
    // A variable that is not set makes an empty key of it, and no open door.
    place
        .run(&["serve", "--transport", "http", "--port", "0", "--auth", ""])
        .ends(1)
        .says("but no key is configured");
    let open = ["serve", "--transport", "http", "--port", "0", "--host", "0.0.0.0"];
    place
        .run(&open)
        .ends(1)
        .says("refusing to listen on 0.0.0.0 without auth")
        .says("--allow-open");
}

#[test]
fn what_cannot_be_served_is_said_with_a_remedy() {
    let place = TestHome::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let serve = |args: &[&str]| place.run(&[&["serve"], args].concat());
    serve(&["--transport", "http", "--port", &port])
        .ends(1)
        .says(&format!("cannot listen on 127.0.0.1:{port} (another program uses the port"));
    // An address for documentation, which no machine has.
    serve(&["--transport", "http", "--host", "192.0.2.1", "--allow-open"])
        .ends(1)
        .says("no interface of this machine has that address");
    serve(&["--root", "nowhere"]).ends(1).says("nowhere").says("name a directory that exists");
    serve(&["--config", "nowhere.toml"]).ends(1).says("nowhere.toml").says("docent config init");
    serve(&["--host", "http://x"]).ends(1).says("but is \"http://x\"");
}

#[test]
fn dangling_settings_are_reported_at_the_start() {
    let place = TestHome::new();
    place.write("docent.toml", "limits.tools.serch.timeout_ms = 5");
    let mut command = place.command(&["serve"]);
    let run = CliRun::of(command.stdin(std::process::Stdio::null()));
    run.ends(0).says("`limits.tools.serch` matches no tool");
    place.run(&["doctor", "--port", "0"]).ends(0).prints("`limits.tools.serch` matches no tool");
}

#[test]
fn doctor_reports_each_control() {
    let place = TestHome::new();
    let report = place.run(&["doctor", "--json", "--port", "0"]).ends(0).json();
    assert_eq!(report["ok"], true);
    let findings = report["findings"].as_array().unwrap();
    let checks: Vec<&str> = findings.iter().map(|f| f["check"].as_str().unwrap()).collect();
    for check in [
        "version",
        "platform",
        "configuration",
        "root",
        "state",
        "audit",
        "port",
        "auth",
        "limits",
        "sandbox",
    ] {
        assert!(checks.contains(&check), "no {check} in {checks:?}");
    }
    let details: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["check"] == "sandbox")
        .map(|finding| finding["detail"].as_str().unwrap())
        .collect();
    for control in ["files", "seccomp", "limits"] {
        assert!(details.iter().any(|line| line.contains(control)), "no {control} in {details:#?}");
    }
    assert!(details.last().unwrap().starts_with("strict mode would"), "{details:#?}");
    let details: Vec<&str> = findings.iter().map(|f| f["detail"].as_str().unwrap()).collect();
    for want in [
        "not required; stdio is the only transport",
        "off (no hosts allowed); to allow one, add it to policy.network.hosts in ~/.config/docent/docent.toml",
        "not served: files that usually hold secrets",
        "every program can be started as a server",
        "a call that can't be recorded continues and is counted (audit.on_full)",
        "the hash chain has no key",
        "0 rules in addition to the scopes",
    ] {
        assert!(details.iter().any(|detail| detail.contains(want)), "no {want:?} in {details:#?}");
    }
    for misleads in ["off while serving", "only TCP sockets", "from this machine only"] {
        assert!(!details.iter().any(|detail| detail.contains(misleads)), "{details:#?}");
    }
    let state = place.project().join(".docent");
    assert_eq!(fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    assert_eq!(fs::read_dir(state).unwrap().count(), 1, "doctor left files behind");
}

#[test]
fn doctor_reports_sandboxes_of_servers_and_the_operator_s_settings() {
    let place = or_skip!(TestHome::outside_temporary());
    place.settings(
        r#"
        policy.network.hosts = ["example.org"]
        policy.filesystem.deny = ["/drafts/"]
        policy.filesystem.allow = [".env.example"]
        policy.downstream = { commands = ["node", "x"], deny = ["curl"] }
        limits.tools.outline = { rate_per_minute = 7, timeout_ms = 500 }
        audit.on_full = "refuse"
        audit.sync = true

        [[policy.rules]]
        tools = ["outline"]
        action = "deny"

        [mcp_servers]
        guarded = { command = "x" }
        closed = { command = "x", sandbox = { network = false } }
        strict = { command = "x", sandbox = "strict" }
        loose = { command = "x", sandbox = "off" }
        gone = { command = "x", disabled = true }
        remote = { url = "https://example.org/mcp?key=sekrit" }
        more = { command = "x", cwd = "/srv", sandbox = { write = ["~/project", "~/none"], network = false } }
        "#,
    );
    let run = place.run(&["doctor", "--port", "0"]);
    let (project, none) = (place.project(), place.0.path().join("none"));
    let (project, none) = (project.display(), none.display());
    let writes = format!("and caches and to {project}, {none}, /srv, and has no network");
    let ineffective = format!("`mcp_servers.more.sandbox.write` cannot open {none} to servers");
    run.prints(&writes).prints(&ineffective);
    for want in [
        "guarded: guarded; ",
        "closed: guarded; ",
        "caches, and has no network; strict would allow only reading the roots",
        "strict: strict; ",
        "loose: no sandbox: it can read credentials",
        "gone: disabled",
        "remote: at example.org, outside",
        "the servers guarded, loose can use the whole network",
        "the server strict can reach any host, but only on the ports of policy.network",
        "1 host rule for docent's own tools",
        "and 1 pattern from policy.filesystem.deny: /drafts/; allowed nevertheless: .env.example",
        "node, x but curl can be started as a server (policy.downstream)",
        "per tool: outline 7 calls per minute per client, 500 ms per call",
        "a call that can't be recorded is refused (audit.on_full); synced to disk before",
        "1 rule in addition to the scopes",
        "udp: not restricted while serving",
    ] {
        run.ends(0).prints(want);
    }
    run.prints(&format!("warn  {:13}  loose: no sandbox", "server"));
    assert!(!run.out.contains("sekrit"), "{}", run.out);
    assert!(!run.out.contains("part of the configuration"), "no server may write: {}", run.out);
    place.write("own.toml", "mcp_servers.writer.command = \"x\"\n");
    place
        .run(&["doctor", "--port", "0", "--config", "own.toml"])
        .ends(0)
        .prints("writer can write to ")
        .prints("own.toml, which is part of the configuration");
}

/// What is installed may not work, so a program is started in it.
#[cfg(target_os = "linux")]
#[test]
fn doctor_tries_bubblewrap_where_it_is_asked_for() {
    or_skip!(kernel_can_confine());
    let place = TestHome::new();
    let ask = |mode: &str| {
        let text = format!("[policy.sandbox]\nmode = \"{mode}\"\nbubblewrap = true\n");
        place.write("own.toml", &text).run(&["doctor", "--port", "0", "--config", "own.toml"])
    };
    if let Some(bubblewrap) = docent_sandbox::SandboxSupport::look().bubblewrap {
        let mut probe = Command::new(bubblewrap);
        let ran = probe.args(["--unshare-all", "--ro-bind", "/", "/", "true"]).output().unwrap();
        let (code, detail) = if ran.status.success() {
            (0, "bubblewrap: active for other programs")
        } else {
            (1, "programs don't start in it")
        };
        ask("strict").ends(code).prints(detail);
    } else {
        ask("strict").ends(1).prints("bubblewrap is not installed");
        ask("auto").ends(0).prints("warn  sandbox").prints("other programs start without it");
    }
}

#[test]
fn doctor_fails_on_what_would_stop_the_server() {
    let place = TestHome::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = place.run(&["doctor", "--transport", "http", "--port", &port]);
    run.ends(1).prints("fail  port").prints("is in use; choose another with --port");
    place.run(&["doctor", "--port", &port]).ends(0).prints("warn  port");
    let open = place.run(&["doctor", "--transport", "http", "--port", "0", "--host", "0.0.0.0"]);
    open.ends(1).prints("fail  auth").prints("refusing to listen on 0.0.0.0");
    // A directory in place of the file can't be appended to, not even by root.
    fs::create_dir_all(place.project().join("log")).unwrap();
    place.run(&["doctor", "--port", "0", "--log-file", "log"]).ends(1).prints("fail  log file");
    place.settings("server.tls = { certificate = \"none.pem\", key = \"none.key\" }\n");
    place.run(&["doctor", "--port", "0"]).ends(1).prints("fail  tls").prints("none.pem");
}

#[test]
fn completions_are_printed_for_every_shell() {
    let place = TestHome::new();
    for shell in ["powershell", "elvish"] {
        place.run(&["completions", shell]).ends(0).prints("docent").prints("allow-open");
    }
    // These ask docent itself.
    for shell in ["bash", "zsh", "fish"] {
        place.run(&["completions", shell]).ends(0).prints(&format!("__complete {shell} -- "));
        let words: &[&str] =
            if shell == "bash" { &["docent serve --allow-o"] } else { &["serve", "--allow-o"] };
        place.run(&[&["__complete", shell, "--"], words].concat()).ends(0).prints("--allow-open");
    }
    place.run(&["completions", "nosuchshell"]).ends(2);
}

#[test]
fn no_colors_reach_a_pipe() {
    let place = TestHome::new();
    for args in [&["doctor"][..], &["--help"], &["config", "show"], &["nonsense"]] {
        let run = place.run(args);
        assert!(!format!("{}{}", run.out, run.err).contains('\u{1b}'), "{args:?}");
    }
}

/// The committed references are what the binary prints.
#[test]
fn references_have_not_drifted() {
    let place = TestHome::new();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let cases = [
        ("schema", "docent.schema.json"),
        ("reference", "configuration.md"),
        ("cli-reference", "cli.md"),
        ("tools-reference", "tools.md"),
    ];
    for (command, file) in cases {
        let run = place.run(&["config", command]);
        let committed = fs::read_to_string(docs.join(file)).unwrap_or_default();
        assert!(
            run.ends(0).out == committed,
            "docs/reference/{file} is out of date; refresh it with `cargo xtask docs`"
        );
    }
}

/// A collector that hands over the first request it gets.
fn collector() -> (String, mpsc::Receiver<Vec<u8>>) {
    collector_that_says("200 OK".to_owned())
}

/// The same with another status, and headers.
fn collector_that_says(head: String) -> (String, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        sender.send(read_request(stream, &head)).unwrap();
    });
    (address, receiver)
}

fn read_request(mut stream: TcpStream, answer: &str) -> Vec<u8> {
    use std::io::Write;
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read = stream.read(&mut chunk).unwrap();
        request.extend(&chunk[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some(head) = text.find("\r\n\r\n") else { continue };
        let length = text.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.unwrap().parse().unwrap();
        if read == 0 || request.len() >= head + 4 + length {
            break;
        }
    }
    let end = "content-length: 0\r\nconnection: close\r\n\r\n";
    write!(stream, "HTTP/1.1 {answer}\r\n{end}").unwrap();
    request
}

/// Spans, log lines and masking in one process of their own, since logging is set up once for a whole process.
#[test]
fn spans_are_exported_and_lines_are_masked() {
    let place = TestHome::new();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let moved = format!("302 Found\r\nlocation: http://{}/", elsewhere.local_addr().unwrap());
    let (endpoint, spans) = collector_that_says(moved);
    place.write(
        "docent.toml",
        "server.auth.token = \"sekrit-token\"\nserver.logging.file = \"logs/docent.log\"",
    );
    let inputs = docent::config::ConfigInputs {
        environment: [
            ("DOCENT_TELEMETRY_OTLP_ENDPOINT", endpoint.as_str()),
            ("DOCENT_TELEMETRY_SERVICE_NAME", "a-docent"),
            ("DEBUG", "mcp:protocol"),
        ]
        .into_iter()
        .collect(),
        home: None,
        working_dir: place.project(),
        flags: docent::config::ConfigFlags::default(),
    };
    let config = docent::config::Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
    let guard = docent::logging::init(&config).unwrap();
    let span = tracing::info_span!(target: "docent::server", "tools/call");
    docent::logging::set_parent(&span, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    span.in_scope(|| {
        tracing::debug!(target: "mcp::protocol", "<- {{\"auth\":{{\"token\":\"other\"}}}} sekrit-token");
        tracing::info!(target: "docent::server", "an event with sekrit-token in it");
        tracing::debug!(target: "mcp::session", "not asked for");
    });
    drop(span);
    drop(guard);
    let request = spans.recv_timeout(Duration::from_secs(10)).expect("no spans came");
    let text = String::from_utf8_lossy(&request);
    assert!(text.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{text}");
    // Its headers may hold a key, which is meant for the collector that is named.
    elsewhere.set_nonblocking(true).unwrap();
    assert!(elsewhere.accept().is_err(), "the collector's redirect was followed");
    assert!(text.contains("tools/call") && text.contains("a-docent"), "{text}");
    let trace = [
        0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31,
        0x9c,
    ];
    assert!(request.windows(16).any(|window| window == trace), "the parent's trace was not joined");
    assert!(!text.contains("sekrit"), "{text}");
    let log = fs::read_to_string(place.project().join("logs/docent.log")).unwrap();
    assert!(log.contains(r#"<- {"auth":{"token":"[redacted: "#), "{log}");
    assert!(!log.contains("other\"") && !log.contains("sekrit"), "{log}");
    assert!(!log.contains("not asked for"), "{log}");
}
