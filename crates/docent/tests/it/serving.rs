//! A real `docent serve`: how tests start it, reach it, signal it and look at what it has open.

use crate::TestHome;
use docent_testkit::ChildTestClient;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
};

/// The only revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";
/// The newest revision with one.
pub(crate) const LEGACY: &str = "2025-11-25";

/// Starts `docent serve` in the place's project.
pub(crate) fn serve(
    place: &TestHome,
    args: &[&str],
    environment: &[(&str, &str)],
) -> ChildTestClient {
    let args: Vec<&str> = std::iter::once("serve").chain(args.iter().copied()).collect();
    let mut command = place.command(&args);
    command.envs(environment.iter().copied());
    ChildTestClient::spawn(Command::from(command)).unwrap()
}

/// Starts it on a free port, and gives its address as well.
pub(crate) async fn listen(
    place: &TestHome,
    args: &[&str],
    environment: &[(&str, &str)],
) -> (ChildTestClient, String) {
    let args: Vec<&str> = ["--port", "0"].into_iter().chain(args.iter().copied()).collect();
    let mut server = serve(place, &args, environment);
    let line = server.log_line("listening on http://").await.unwrap();
    let (_, address) = line.split_once("http://").unwrap();
    (server, address.trim().to_owned())
}

pub(crate) fn signal(server: &ChildTestClient, signal: Signal) {
    let id = server.process_id().expect("it runs");
    kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
}

/// Awaits an orderly end: by itself, with success, and with nothing left behind.
#[track_caller]
pub(crate) fn ends_well(server: &mut ChildTestClient) -> impl Future<Output = ()> + '_ {
    let place = std::panic::Location::caller();
    async move {
        let status = server.end().await.unwrap_or_else(|error| panic!("{place}: {error}"));
        let log = server.log().join("\n");
        assert_eq!(status.code(), Some(0), "{place}: {log}");
        assert!(!log.contains("were still running"), "{place}: something kept it: {log}");
    }
}

/// A file of source text under many names: to read them all takes longer than any test waits.
pub(crate) fn endless(place: &TestHome) {
    let folder = place.project().join("endless");
    fs::create_dir(&folder).unwrap();
    let first = folder.join("0.rs");
    fs::write(&first, "fn a() { /* TODO */ }\n".repeat(4_000)).unwrap();
    for n in 1..4000 {
        fs::hard_link(&first, folder.join(format!("{n}.rs"))).unwrap();
    }
}

/// A call that takes as long as it may, and tells how far it is.
pub(crate) fn endless_call() -> Value {
    json!({
        "name": "analyze_repository",
        "arguments": {"path": "endless", "depth": "deep"},
        "_meta": {"progressToken": "steps"},
    })
}

pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let mut params = json!({"name": tool});
    params["arguments"] = arguments;
    params
}

/// What the audit file holds at this moment.
pub(crate) fn audit_lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One GET: the status and the body.
pub(crate) async fn get(address: &str, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let (status, _, body) = exchange(address, &request).await;
    (status, body)
}

/// Sends a request as it is written, and reads to the end of the connection: status, head, body.
pub(crate) async fn exchange(address: &str, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, head.to_owned(), body.to_owned())
}

/// The local addresses of the process's listening sockets as the kernel has them, in hexadecimal.
pub(crate) fn listening_sockets(server: &ChildTestClient) -> Vec<String> {
    let home = format!("/proc/{}", server.process_id().expect("it runs"));
    let open: Vec<String> = fs::read_dir(format!("{home}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let tables = ["tcp", "tcp6"]
        .map(|name| fs::read_to_string(format!("{home}/net/{name}")).unwrap_or_default());
    let mut found = Vec::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (columns[1], columns[3], columns[9]);
        if state == "0A" && open.contains(&format!("socket:[{inode}]")) {
            found.push(local.split_once(':').unwrap().0.to_owned());
        }
    }
    found
}

/// The processor time that the process and its children have used, in clock ticks.
pub(crate) fn ticks(server: &ChildTestClient) -> u64 {
    let id = server.process_id().expect("it runs").to_string();
    used(&id).expect("it runs")
}

/// The same of any process; `None` where it is gone.
fn used(id: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second column is a name in brackets, which may hold anything.
    let (_, columns) = text.rsplit_once(") ")?;
    let columns: Vec<&str> = columns.split(' ').collect();
    // Its own, and that of children that have ended.
    let own: u64 = columns[11..15].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: u64 =
        children.flat_map(|all| all.split_whitespace().filter_map(used).collect::<Vec<_>>()).sum();
    Some(own + children)
}
