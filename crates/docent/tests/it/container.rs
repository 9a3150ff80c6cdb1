//! The Dockerfile and compose.yaml: what they start is started here with the binary under test, its folders in a
//! temporary one, and what they copy is all that the binary is made of.

use crate::{
    TestHome, program,
    serving::{ends_well, exchange, signal},
};
use docent_testenv::skip_part;
use docent_testkit::ChildTestClient;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tokio::process::Command;

const KEY: &str = "a-long-key-of-the-container";
/// Where the image has the project and the user's files.
const PROJECT: &str = "/project";
const HOME: &str = "/var/lib/docent";
const PORT: &str = "8001";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap()
}

/// The instructions of the Dockerfile, each with its arguments on one line.
fn instructions() -> Vec<(String, String)> {
    let text = read("Dockerfile").replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, arguments) = line.split_once(' ').unwrap();
            (name.to_owned(), arguments.trim().to_owned())
        })
        .collect()
}

/// What the last stage of the Dockerfile and the service of compose.yaml run, together.
struct DocentContainer {
    environment: BTreeMap<String, String>,
    command: Vec<String>,
    health: Vec<String>,
    user: String,
    work_dir: String,
}

impl DocentContainer {
    /// As it is started where the caller's environment has these variables; the error is what compose reports.
    fn new(variables: &[(&str, &str)]) -> Result<Self, String> {
        let all = instructions();
        let stage = all.iter().rposition(|(name, _)| name == "FROM").unwrap();
        let of_stage = |name: &str| {
            let mut found = all[stage..].iter().filter(|(other, _)| other == name);
            let (_, arguments) = found.next().unwrap_or_else(|| panic!("the image has no {name}"));
            assert!(found.next().is_none(), "two {name} in one stage");
            arguments.as_str()
        };
        let words = |name: &str| -> Vec<String> {
            let arguments = of_stage(name);
            let (_, words) =
                arguments.split_once('[').unwrap_or_else(|| panic!("{name} has the shell form"));
            serde_json::from_str(&format!("[{words}")).unwrap()
        };
        let service = service();
        for replaced in ["command", "entrypoint", "healthcheck", "user", "working_dir"] {
            assert!(
                service.get(replaced).is_none(),
                "compose.yaml replaces the image's {replaced}"
            );
        }
        let (name, value) = of_stage("ENV").split_once('=').unwrap();
        let mut environment = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        for (name, value) in service["environment"].as_object().unwrap() {
            environment.insert(name.clone(), interpolate(value.as_str().unwrap(), variables)?);
        }
        Ok(Self {
            environment,
            command: [words("ENTRYPOINT"), words("CMD")].concat(),
            health: words("HEALTHCHECK"),
            user: of_stage("USER").to_owned(),
            work_dir: of_stage("WORKDIR").to_owned(),
        })
    }

    /// Its command line on this machine: the same words and variables, with the binary under test, a place's folders
    /// and a free port.
    fn start(&self, place: &TestHome) -> Command {
        let here = |word: &str| match word {
            PROJECT => place.project().display().to_string(),
            HOME => place.0.path().display().to_string(),
            PORT => "0".to_owned(),
            other => other.to_owned(),
        };
        assert_eq!(self.command[0], "docent", "the image starts another program");
        let mut command = Command::new(program());
        command.args(self.command[1..].iter().map(|word| here(word)));
        command.current_dir(here(&self.work_dir)).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, here(value))));
        command
    }
}

/// The service `docent` of compose.yaml.
fn service() -> Value {
    let compose: Value = serde_saphyr::from_str(&read("compose.yaml")).unwrap();
    compose["services"]["docent"].clone()
}

/// A text of compose.yaml with its `${NAME:-default}` and `${NAME:?message}` replaced.
fn interpolate(text: &str, variables: &[(&str, &str)]) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, after) = after.split_once('}').unwrap();
        let (name, otherwise) = inner.split_once(':').unwrap();
        let set = variables.iter().find(|(variable, value)| *variable == name && !value.is_empty());
        let value = match (set, otherwise.split_at(1)) {
            (Some((_, value)), _) => value,
            (None, ("-", default)) => default,
            (None, ("?", message)) => return Err(message.to_owned()),
            (None, other) => panic!("{other:?}"),
        };
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    Ok(out + rest)
}

/// One POST of `tools/list` by a caller who knows the server by this name.
async fn list_tools(host: &str, port: &str, key: Option<&str>) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "method": "tools/list", "id": "list-1"}).to_string();
    let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nAccept: */*\r\n\
         Connection: close\r\n{key}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (status, _, body) = exchange(&format!("127.0.0.1:{port}"), &request).await;
    (status, serde_json::from_str(&body).unwrap())
}

#[tokio::test]
async fn the_container_serves_callers_with_the_key() {
    let place = TestHome::new();
    let container = DocentContainer::new(&[("MCP_API_KEY", KEY)]).unwrap();
    let mut server = ChildTestClient::spawn(container.start(&place)).unwrap();
    let line = server.log_line("listening on http://").await.unwrap();
    let (_, port) = line.trim().rsplit_once(':').unwrap();
    assert!(line.contains("http://0.0.0.0:"), "other containers reach it: {line}");
    // From the machine that the port is published on, and from another container.
    for host in ["localhost", "docent"] {
        let (status, listed) = list_tools(host, port, Some(KEY)).await;
        assert_eq!((status, &listed["id"]), (200, &json!("list-1")), "{host}: {listed}");
    }
    let (_, listed) = list_tools("localhost", port, Some(KEY)).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "search_documentation"), "{listed}");
    for wrong in [None, Some("another-key")] {
        let answer = list_tools("localhost", port, wrong).await;
        assert_eq!(answer, (401, json!({"detail": "Invalid API key"})), "{wrong:?}");
    }
    let health: Vec<String> =
        container.health.iter().map(|word| word.replace(PORT, port)).collect();
    let check =
        || Command::new(&health[0]).args(&health[1..]).stderr(std::process::Stdio::null()).status();
    match check().await {
        Ok(status) => assert!(status.success(), "{health:?}: {status}"),
        Err(error) => skip_part!("the health check: {} can't be started: {error}", health[0]),
    }
    // `docker stop` sends this.
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
    if let Ok(status) = check().await {
        assert!(!status.success(), "a server that has ended is healthy: {health:?}");
    }
}

#[test]
fn the_container_starts_only_with_a_key() {
    let missing = DocentContainer::new(&[]).err().unwrap();
    assert!(missing.starts_with("set MCP_API_KEY"), "{missing}");
    // Without compose, docent itself refuses.
    let mut container = DocentContainer::new(&[("MCP_API_KEY", KEY)]).unwrap();
    container.environment.remove("MCP_API_KEY");
    let run = crate::CliRun::of(container.start(&TestHome::new()).as_std_mut());
    run.ends(1).says("refusing to listen on 0.0.0.0 without auth").says("MCP_API_KEY");
}

#[test]
fn the_container_has_no_more_rights_than_it_needs() {
    let container = DocentContainer::new(&[("MCP_API_KEY", KEY)]).unwrap();
    assert!(container.user.starts_with(|first| ('1'..='9').contains(&first)), "root");
    let service = service();
    assert_eq!(service["read_only"], true);
    assert_eq!(service["cap_drop"], json!(["ALL"]));
    assert_eq!(service["security_opt"], json!(["no-new-privileges:true"]));
    let texts = |key: &str, variables: &[(&str, &str)]| -> Vec<String> {
        let all = service[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        all.map(|text| interpolate(text, variables).unwrap()).collect()
    };
    assert_eq!(texts("ports", &[]), ["127.0.0.1:8001:8001"]);
    assert_eq!(texts("ports", &[("MCP_SERVER_PORT", "9000")]), ["127.0.0.1:9000:8001"]);
    assert_eq!(texts("volumes", &[]), [".:/project:ro", "state:/var/lib/docent"]);
    assert_eq!(texts("volumes", &[("DOCENT_PROJECT", "/srv")])[0], "/srv:/project:ro");
}

#[test]
fn the_image_is_built_from_all_that_is_compiled_in() {
    let all = instructions();
    let sources: Vec<&str> = all
        .iter()
        .filter(|(name, arguments)| name == "COPY" && !arguments.starts_with("--from="))
        .flat_map(|(_, arguments)| {
            let words: Vec<&str> = arguments.split_whitespace().collect();
            words[..words.len() - 1].to_vec()
        })
        .collect();
    let ignored = read(".dockerignore");
    let rules: Vec<&str> = ignored.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rules[0], "*");
    let kept: Vec<&str> = rules[1..].iter().map(|rule| rule.trim_start_matches('!')).collect();
    assert_eq!(kept, sources, "the build's context and what it copies");
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let rust = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
    let base = &all.iter().find(|(name, _)| name == "FROM").unwrap().1;
    assert!(base.starts_with(&format!("rust:{rust}.")), "{base} is not Rust {rust}");
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let members = members.iter().map(|member| PathBuf::from(member.as_str().unwrap()));
    for needed in members.chain(compiled_in()) {
        let is_copied = sources.iter().any(|source| needed.starts_with(source));
        assert!(is_copied, "the Dockerfile copies {sources:?}, and not {}", needed.display());
    }
}

/// The files that sources outside of tests compile in by a path of their own, relative to the workspace.
fn compiled_in() -> Vec<PathBuf> {
    let root = workspace();
    let mut folders: Vec<PathBuf> = fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|member| member.unwrap().path().join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if !is_test && path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let names = ["include_str!(\"", "include_bytes!(\""].into_iter().flat_map(|call| {
                    text.split(call).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0))
                });
                found.extend(names.filter_map(|name| folder.join(name).canonicalize().ok()));
            }
        }
    }
    let found: Vec<PathBuf> =
        found.iter().filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_owned())).collect();
    assert!(found.iter().any(|path| path.starts_with("models")), "{found:?}");
    found
}
