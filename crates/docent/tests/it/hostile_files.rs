//! Named pipes, sockets, devices, directories and broken links wherever docent takes or finds a path, on the running
//! binary: every tool, every resource scheme, every prompt, over every transport.
//!
//! Tools and their arguments come from `tools/list`, so that a new tool is covered without a change here.
//! `DOCENT_BINARY` names another binary to drive, such as a release build.

mod command_line;
mod matrix;
mod schema;
mod walks;

use crate::{TestHome, serving::LEGACY};
use docent_testkit::{
    ChildTestClient, HttpTestClient, SseTestClient, TestClient, TestTransport, WsTestClient,
};
use serde_json::{Value, json};
use std::{
    fs::{self, OpenOptions},
    os::unix::{
        fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// A folder of devices that exists without any right to make one.
const DEVICES: &str = "/dev/pts";
const DEVICE: &str = "/dev/pts/ptmx";

/// How long a call of a release build takes at most, for the median of all calls: a busy machine may hold up one of
/// them.
const MAX_MEDIAN_CALL: Duration = Duration::from_millis(100);

/// How long any call may take. A call that opens a pipe never returns. A debug build on a busy machine gets more.
fn max_call() -> Duration {
    Duration::from_secs(if is_release() { 2 } else { 10 })
}

/// Whether a release build is tested.
fn is_release() -> bool {
    std::env::var_os("DOCENT_BINARY").is_some()
}

/// The binary under test.
fn program() -> PathBuf {
    std::env::var_os("DOCENT_BINARY")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_docent")), PathBuf::from)
}

fn command(place: &TestHome, args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).current_dir(place.project()).env_clear().env("HOME", place.0.path());
    command
}

/// How a run of the binary ended; one that does not end in time is killed and fails the test.
#[track_caller]
fn run(place: &TestHome, args: &[&str]) -> (i32, String) {
    let mut command = command(place, args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command starts, reads its configuration, walks and ends: that is more than one call.
    let end = Instant::now() + max_call() * 3;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{args:?} did not end: {}", String::from_utf8_lossy(&output.stderr));
        }
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().expect("ended by a signal"), String::from_utf8(text).unwrap())
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success(), "{}", path.display());
}

/// A socket. The path of one is short, so that it is bound elsewhere and moved.
fn socket(path: &Path) -> UnixListener {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let folder = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    let short = folder.path().join("s");
    let listener = UnixListener::bind(&short).unwrap();
    if fs::rename(&short, path).is_err() {
        // Another file system than that of the temporary folder.
        return UnixListener::bind(path).unwrap();
    }
    listener
}

/// A program that waits to write to a pipe. It continues as soon as anything opens the pipe for reading, even for a
/// moment.
struct PipeWriter {
    pipe: PathBuf,
    opened: mpsc::Receiver<bool>,
}

impl PipeWriter {
    fn wait_at(pipe: PathBuf) -> Self {
        let (sender, opened) = mpsc::channel();
        let path = pipe.clone();
        thread::spawn(move || sender.send(OpenOptions::new().write(true).open(path).is_ok()));
        Self { pipe, opened }
    }

    /// Fails where the pipe was opened, and lets the writer go.
    #[track_caller]
    fn was_not_woken(self) {
        assert!(self.opened.try_recv().is_err(), "{} was opened", self.pipe.display());
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let _reader = OpenOptions::new().read(true).custom_flags(flags).open(self.pipe).unwrap();
        assert!(self.opened.recv_timeout(Duration::from_mins(1)).unwrap(), "the check works");
    }
}

/// A file that is not a regular one, or can't be read.
struct HostilePath {
    /// As a caller writes it.
    path: String,
    /// What an error about it says; `None` where the path may be usable. A directory is usable unless a file is wanted.
    want: Option<&'static str>,
}

/// A project in which `src/` and `manual/` hold one of each kind.
struct HostileProject {
    place: TestHome,
    hostile: Vec<HostilePath>,
    writer: PipeWriter,
    _listener: UnixListener,
}

impl HostileProject {
    fn new() -> Self {
        let place = TestHome::new();
        let project = place.project();
        for folder in ["src", "manual", "src/folder.py"] {
            fs::create_dir(project.join(folder)).unwrap();
        }
        place.write("src/plain.py", "def plain():\n    return 1\n");
        place.write("manual/plain.md", "# Plain\n\nA page of the manual.\n");
        place.write("src/unreadable.py", "def hidden():\n    return 1\n");
        for name in ["src/pipe.py", "src/waited.py", "manual/pipe.md"] {
            pipe(&project.join(name));
        }
        let listener = socket(&project.join("src/socket.py"));
        for (target, link) in [
            ("pipe.py", "src/to_pipe.py"),
            ("/dev/zero", "src/to_zero.py"),
            ("/dev/tty", "src/to_tty.py"),
            ("nowhere.py", "src/dangling.py"),
            ("loop.py", "src/loop.py"),
        ] {
            symlink(target, project.join(link)).unwrap();
        }
        let closed = project.join("src/unreadable.py");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        place.write("docent.toml", "[docs.collections.manual]\npath = \"manual\"\n");
        place.settings("server.rate_limit.enabled = false\n");
        let mut hostile = vec![
            ("src/pipe.py", Some("named pipe")),
            ("src/waited.py", Some("named pipe")),
            ("manual/pipe.md", Some("named pipe")),
            ("src/socket.py", Some("(socket)")),
            ("src/to_pipe.py", Some("named pipe")),
            ("src/to_zero.py", Some("outside the served roots")),
            ("src/to_tty.py", Some("outside the served roots")),
            ("src/dangling.py", Some("does not exist")),
            ("src/loop.py", Some("can't be read")),
            ("src/folder.py", None),
            // The superuser reads it.
            ("src/unreadable.py", None),
        ];
        if has_devices() {
            hostile.push((DEVICE, Some("character device")));
        }
        let hostile =
            hostile.into_iter().map(|(path, want)| HostilePath { path: path.to_owned(), want });
        let writer = PipeWriter::wait_at(project.join("src/waited.py"));
        Self { place, hostile: hostile.collect(), writer, _listener: listener }
    }

    /// Roots to serve: the project, and the devices where there are some.
    fn roots(&self) -> Vec<String> {
        let project = self.place.project().display().to_string();
        let mut args = vec!["--root".to_owned(), project];
        if has_devices() {
            args.extend(["--root".to_owned(), DEVICES.to_owned()]);
        }
        args
    }
}

fn has_devices() -> bool {
    fs::symlink_metadata(DEVICE).is_ok_and(|found| found.file_type().is_char_device())
}

/// How docent is reached.
#[derive(Debug, Clone, Copy)]
enum TransportUnderTest {
    Stdio,
    Http,
    Sse,
    WebSocket,
}

/// A session with a server of its own, which is killed with it.
struct HostileSession {
    peer: TestClient<Box<dyn TestTransport>>,
    _server: Option<ChildTestClient>,
    /// How long each call took.
    times: Vec<Duration>,
}

impl HostileSession {
    async fn open(place: &TestHome, roots: &[String], way: TransportUnderTest) -> Self {
        let mut args: Vec<&str> = vec!["serve"];
        args.extend(roots.iter().map(String::as_str));
        if !matches!(way, TransportUnderTest::Stdio) {
            args.extend(["--port", "0", "--transport", "http,sse,websocket"]);
        }
        let mut server =
            ChildTestClient::spawn(tokio::process::Command::from(command(place, &args))).unwrap();
        let (peer, server) = if let TransportUnderTest::Stdio = way {
            (server.boxed(), None)
        } else {
            let line = server.log_line("listening on http://").await.unwrap();
            let address = line.split_once("http://").unwrap().1.trim().to_owned();
            let peer = match way {
                TransportUnderTest::Http => {
                    HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap().boxed()
                }
                TransportUnderTest::Sse => {
                    SseTestClient::connect_sse(&format!("http://{address}/sse"))
                        .await
                        .unwrap()
                        .boxed()
                }
                _ => WsTestClient::connect_ws(&format!("ws://{address}/ws")).await.unwrap().boxed(),
            };
            (peer, Some(server))
        };
        let mut session = Self { peer, _server: server, times: Vec::new() };
        session.peer.open(LEGACY).await.unwrap();
        session.settle().await;
        // Starting a server and building an index takes longer than a call may.
        session.peer = session.peer.with_timeout(max_call());
        session.times.clear();
        session
    }

    /// Waits until the index is built, so that no measured call has to wait for it.
    async fn settle(&mut self) {
        for tool in ["index_status", "list_collections"] {
            let end = Instant::now() + Duration::from_mins(1);
            loop {
                let answer = self.call(tool, json!({})).await.to_string();
                if !answer.contains("\"building\"") && !answer.contains("being built") {
                    break;
                }
                assert!(Instant::now() < end, "the index is not built: {answer}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    /// The whole answer, which comes in time.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        let what = format!("{place}: {method} {params}");
        async move {
            let began = Instant::now();
            let answer = self.peer.ask(method, params).await;
            self.times.push(began.elapsed());
            answer.unwrap_or_else(|error| panic!("{what}: {error}"))
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Everything that a list has, page by page.
    async fn list(&mut self, what: &str) -> Vec<Value> {
        let (method, key) = match what {
            "templates" => ("resources/templates/list".to_owned(), "resourceTemplates"),
            other => (format!("{other}/list"), other),
        };
        let (mut all, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = self.ask(&method, params).await;
            let result = &answer["result"];
            all.extend(result[key].as_array().unwrap_or_else(|| panic!("{answer}")).clone());
            match &result["nextCursor"] {
                Value::String(cursor) => params = json!({"cursor": cursor}),
                _ => return all,
            }
        }
    }

    /// Many calls were made, and a release build answered most of them at once.
    #[track_caller]
    fn check_times(&mut self) {
        self.times.sort_unstable();
        assert!(self.times.len() > 200, "only {} calls were made", self.times.len());
        let median = self.times[self.times.len() / 2];
        assert!(!is_release() || median <= MAX_MEDIAN_CALL, "the median is {median:?}");
    }
}

/// Whether an answer is an error, of the protocol or of a tool.
fn is_error(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}
