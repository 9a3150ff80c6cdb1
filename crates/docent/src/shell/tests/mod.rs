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
    args::settle_json,
    console::Terminal,
    peer::{Answering, Note, ServerCard},
    *,
};
use clap::Parser;
use std::{
    ffi::OsString,
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: ShellCommand,
}

/// A buffer that both ends hold.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Messages that answer a method; `*` in place of one that is not named.
type Script = Vec<(&'static str, Vec<Value>)>;

#[derive(Clone)]
struct Scripted {
    card: ServerCard,
    script: Arc<Mutex<Script>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Peer for Scripted {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(Note) + Send + Sync),
    ) -> Answering<'a> {
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
                    return Err(RpcError::of(error));
                } else if message.get("method").is_some() {
                    on_note(Note::of(message));
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
struct Scene {
    folder: tempfile::TempDir,
    script: Script,
    terminal: Terminal,
    input: Vec<u8>,
    names: Vec<String>,
}

struct Ended {
    code: String,
    out: Shared,
    err: String,
    asked: Vec<(String, Value)>,
}

struct Stage {
    peer: Scripted,
    names: Vec<String>,
    memory: PathBuf,
}

impl Servers for Stage {
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn open<'a>(&'a self, target: &'a Target, _: Arc<Questions>) -> Opening<'a> {
        Box::pin(async move {
            if *target == Target::Server("broken".into()) {
                bail!("it does not start");
            }
            Ok(Box::new(self.peer.clone()) as Box<dyn Peer>)
        })
    }

    fn memory(&self, target: &Target) -> Option<PathBuf> {
        (*target != Target::Docent).then(|| self.memory.clone())
    }
}

const PIPE: Terminal =
    Terminal { stdin: false, stdout: false, stderr: false, colors: false, width: 100 };
const SCREEN: Terminal =
    Terminal { stdin: true, stdout: true, stderr: true, colors: false, width: 100 };

fn result(result: Value) -> Vec<Value> {
    vec![json!({"jsonrpc": "2.0", "id": 1, "result": result})]
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

impl Scene {
    fn new(script: Script) -> Self {
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

    fn on(self, terminal: Terminal) -> Self {
        Self { terminal, ..self }
    }

    fn typing(self, input: &str) -> Self {
        Self { input: input.as_bytes().to_vec(), ..self }
    }

    fn run(&self, words: &[&str]) -> Ended {
        let line = ["docent"].iter().chain(words).map(OsString::from).collect();
        let (out, err) = (Shared::default(), Shared::default());
        let (script, asked) = (Arc::new(Mutex::new(self.script.clone())), Arc::default());
        let card = json!({
            "protocolVersion": "2025-11-25", "serverInfo": {"name": "scripted", "version": "1"},
            "capabilities": {"tools": {}}, "instructions": "Ask nicely.",
        });
        let peer = Scripted { card: ServerCard::of(&card), script, asked: Arc::clone(&asked) };
        let stage = Stage {
            peer,
            names: self.names.clone(),
            memory: self.folder.path().join("memory/x.json"),
        };
        let command = match Line::try_parse_from(settle_json(line)) {
            Ok(line) => line.command,
            Err(error) => {
                let code =
                    format!("{:?}", ExitCode::from(u8::try_from(error.exit_code()).unwrap()));
                return Ended { code, out, err: error.to_string(), asked: Vec::new() };
            }
        };
        let input = Box::new(io::Cursor::new(self.input.clone()));
        let console =
            Console::on(self.terminal, Box::new(out.clone()), Box::new(err.clone()), input)
                .verbose(command.target().verbose);
        let console = Arc::new(console);
        let roots = vec![self.folder.path().to_owned()];
        let questions = Arc::new(Questions::new(Arc::clone(&console), roots));
        let (folder, servers) = (self.folder.path().to_owned(), self.names.clone());
        let desk = Desk { console, questions, folder, servers, memory: None };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(perform(&command, &stage, desk)).map_err(screened);
        let (code, message) = match outcome {
            Ok(code) => (code, String::new()),
            Err(error) => {
                let code = if error.is::<UsedWrongly>() { 2 } else { 1 };
                (ExitCode::from(code), format!("{error:#}"))
            }
        };
        let asked = asked.lock().unwrap().clone();
        Ended { code: format!("{code:?}"), err: err.text() + &message, out, asked }
    }
}

impl Ended {
    #[track_caller]
    fn code(&self, want: u8) -> &Self {
        let want = format!("{:?}", ExitCode::from(want));
        assert_eq!(self.code, want, "out: {}\nerr: {}", self.out.text(), self.err);
        self
    }

    #[track_caller]
    fn says(&self, want: &str) -> &Self {
        assert!(
            self.out.text().contains(want),
            "no {want:?} in {}\nerr: {}",
            self.out.text(),
            self.err
        );
        self
    }

    #[track_caller]
    fn tells(&self, want: &str) -> &Self {
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
