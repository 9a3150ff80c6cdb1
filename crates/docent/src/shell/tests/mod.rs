//! The shell client against a server that is a script: what it sends is JSON as servers write it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a table of values reads best without references"
)]

mod answers;
mod lists_of_servers;
mod own;
mod questions_asked;
mod words;

use super::{
    args::join_json_value,
    connection::{ReplyFuture, ServerCard, ServerNotice},
    console::TerminalState,
    *,
};
use clap::Parser;
use std::{
    ffi::OsString,
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

#[derive(Parser)]
struct TestCommandLine {
    #[command(subcommand)]
    command: ShellCommand,
}

/// A buffer that both ends hold.
#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl SharedOutput {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Messages that answer a method; `*` in place of one that is not named.
type ScriptedReplies = Vec<(&'static str, Vec<Value>)>;

#[derive(Clone)]
struct ScriptedConnection {
    card: ServerCard,
    script: Arc<Mutex<ScriptedReplies>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl ServerConnection for ScriptedConnection {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a> {
        Box::pin(async move {
            self.asked.lock().unwrap().push((method.to_owned(), params));
            let mut script = self.script.lock().unwrap();
            let at = script.iter().position(|(name, _)| *name == method);
            let messages = at.map(|at| {
                // The last answer to a method is given again.
                let last = script.iter().filter(|(name, _)| *name == method).count() == 1;
                if last { script[at].1.clone() } else { script.remove(at).1 }
            });
            drop(script);
            for mut message in messages.into_iter().flatten() {
                if let Some(error) = message.get("error") {
                    return Err(RpcError::from_value(error));
                } else if message.get("method").is_some() {
                    on_note(ServerNotice::from_notification(message));
                } else {
                    return Ok(message["result"].take());
                }
            }
            Err(RpcError { code: -32601, message: "Method not found".into(), data: None })
        })
    }

    fn server(&self) -> &ServerCard {
        &self.card
    }
}

/// A place to run command lines in.
struct ShellScenario {
    folder: tempfile::TempDir,
    script: ScriptedReplies,
    terminal: TerminalState,
    input: Vec<u8>,
    names: Vec<String>,
}

struct ShellRun {
    code: String,
    out: SharedOutput,
    err: String,
    asked: Vec<(String, Value)>,
}

struct ScriptedServers {
    peer: ScriptedConnection,
    names: Vec<String>,
    memory: PathBuf,
}

impl ServerDirectory for ScriptedServers {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn open<'a>(
        &'a self,
        target: &'a ServerTarget,
        _: Arc<ClientRequestHandler>,
    ) -> OpenFuture<'a> {
        Box::pin(async move {
            if *target == ServerTarget::Server("broken".into()) {
                bail!("it does not start");
            }
            Ok(Box::new(self.peer.clone()) as Box<dyn ServerConnection>)
        })
    }

    fn memory(&self, target: &ServerTarget) -> Option<PathBuf> {
        (*target != ServerTarget::Docent).then(|| self.memory.clone())
    }
}

const PIPE: TerminalState =
    TerminalState { stdin: false, stdout: false, stderr: false, colors: false, width: 100 };
const SCREEN: TerminalState =
    TerminalState { stdin: true, stdout: true, stderr: true, colors: false, width: 100 };

fn result(result: Value) -> Vec<Value> {
    vec![json!({"jsonrpc": "2.0", "id": 1, "result": result})]
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

impl ShellScenario {
    fn new(script: ScriptedReplies) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            folder,
            script,
            terminal: PIPE,
            input: Vec::new(),
            names: vec!["time".into(), "broken".into()],
        }
    }

    /// With the tools of `tools()`, and this answer to a call.
    fn calls(answer: Value) -> Self {
        Self::new(vec![
            ("tools/list", result(json!({"tools": tools()}))),
            ("tools/call", result(answer)),
        ])
    }

    fn on(self, terminal: TerminalState) -> Self {
        Self { terminal, ..self }
    }

    fn typing(self, input: &str) -> Self {
        Self { input: input.as_bytes().to_vec(), ..self }
    }

    fn run(&self, words: &[&str]) -> ShellRun {
        let line = ["docent"].iter().chain(words).map(OsString::from).collect();
        let (out, err) = (SharedOutput::default(), SharedOutput::default());
        let (script, asked) = (Arc::new(Mutex::new(self.script.clone())), Arc::default());
        let card = json!({
            "protocolVersion": "2025-11-25", "serverInfo": {"name": "scripted", "version": "1"},
            "capabilities": {"tools": {}}, "instructions": "Ask nicely.",
        });
        let peer = ScriptedConnection {
            card: ServerCard::from_result(&card),
            script,
            asked: Arc::clone(&asked),
        };
        let stage = ScriptedServers {
            peer,
            names: self.names.clone(),
            memory: self.folder.path().join("memory/x.json"),
        };
        let command = match TestCommandLine::try_parse_from(join_json_value(line)) {
            Ok(line) => line.command,
            Err(error) => {
                let code =
                    format!("{:?}", ExitCode::from(u8::try_from(error.exit_code()).unwrap()));
                return ShellRun { code, out, err: error.to_string(), asked: Vec::new() };
            }
        };
        let input = Box::new(io::Cursor::new(self.input.clone()));
        let console = ShellConsole::with_streams(
            self.terminal,
            Box::new(out.clone()),
            Box::new(err.clone()),
            input,
        )
        .verbose(command.target().verbose);
        let console = Arc::new(console);
        let roots = vec![self.folder.path().to_owned()];
        let questions = Arc::new(ClientRequestHandler::new(Arc::clone(&console), roots));
        let (folder, servers) = (self.folder.path().to_owned(), self.names.clone());
        let desk = ShellContext { console, questions, folder, servers, memory: None };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(perform(&command, &stage, desk)).map_err(escape_error);
        let (code, message) = match outcome {
            Ok(code) => (code, String::new()),
            Err(error) => {
                let code = if error.is::<UsageError>() { 2 } else { 1 };
                (ExitCode::from(code), format!("{error:#}"))
            }
        };
        let asked = asked.lock().unwrap().clone();
        ShellRun { code: format!("{code:?}"), err: err.text() + &message, out, asked }
    }
}

impl ShellRun {
    #[track_caller]
    fn code(&self, want: u8) -> &Self {
        let want = format!("{:?}", ExitCode::from(want));
        assert_eq!(self.code, want, "out: {}\nerr: {}", self.out.text(), self.err);
        self
    }

    #[track_caller]
    fn prints_out(&self, want: &str) -> &Self {
        assert!(
            self.out.text().contains(want),
            "no {want:?} in {}\nerr: {}",
            self.out.text(),
            self.err
        );
        self
    }

    #[track_caller]
    fn prints_err(&self, want: &str) -> &Self {
        assert!(self.err.contains(want), "no {want:?} in {}", self.err);
        self
    }

    /// The arguments that the tool was called with.
    #[track_caller]
    fn sent(&self, want: &Value) {
        let last = self.asked.last().unwrap_or_else(|| panic!("nothing was asked: {}", self.err));
        assert_eq!(&last.1["arguments"], want, "{last:?} {}", self.err);
    }
}

fn tools() -> Value {
    json!([
        {"name": "echo", "description": "Says it again. And nothing else.", "inputSchema": {
            "type": "object", "required": ["message"], "properties": {
                "message": {"type": "string", "description": "What to say"},
                "times": {"type": "integer", "minimum": 1, "default": 1},
                "loud": {"type": "boolean"},
                "mood": {"type": "string", "enum": ["glad", "sad"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "deep": {"type": "object", "properties": {
                    "a": {"type": "integer"}, "b.c": {"type": "string"},
                    "more": {"type": "object", "additionalProperties": {"type": "number"}},
                }},
                "blob": {"type": "string", "contentEncoding": "base64"},
                "any": {},
                "a.dot": {"type": "integer"},
            },
        }, "annotations": {"readOnlyHint": true, "openWorldHint": false}},
        {"name": "two", "inputSchema": {"type": "object", "required": ["x", "y"],
            "properties": {"x": {"type": "number"}, "y": {"type": ["integer", "null"]}}}},
        {"name": "free", "inputSchema": {"type": "object"}},
    ])
}
