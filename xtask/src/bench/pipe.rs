//! Load over pipes: a bounded number of calls in flight, one thread, and one write for as many calls as were answered.

use super::{
    load::{Load, Stopwatch, Stretch},
    message,
};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// Calls that wait for their answer at any moment; they fit a pipe's buffer, so one thread can't block itself.
const IN_FLIGHT: u32 = 32;

/// A server on pipes, past the handshake. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    buffer: Vec<u8>,
    last_id: u32,
    open: BTreeSet<u32>,
}

impl Server {
    /// Starts the server and waits for the answer to `initialize`; the time is from exec to that answer.
    pub(crate) fn start(mut command: Command) -> Result<(Self, Duration)> {
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the child has no pipes");
        };
        let (buffer, open) = (Vec::new(), BTreeSet::new());
        let mut server =
            Self { child, input, output, buffer, last_id: message::INITIALIZE_ID, open };
        server.send(&(message::initialize() + "\n"))?;
        let mut answered = false;
        while !answered {
            server.receive(|line| {
                answered |= message::is_initialized(line)?;
                Ok(())
            })?;
        }
        let elapsed = began.elapsed();
        server.send(&format!("{}\n", message::INITIALIZED))?;
        Ok((server, elapsed))
    }

    /// Calls a tool and waits for what it gives back.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        let params = json!({"name": tool, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.send(&format!("{request}\n"))?;
        let mut found = None;
        while found.is_none() {
            self.receive(|line| {
                if let Some((answered, result)) = message::result(line)? {
                    ensure!(answered == id, "call {answered} was answered in place of {id}");
                    found = Some(serde_json::from_str(result.get())?);
                }
                Ok(())
            })?;
        }
        found.context("the call was not answered")
    }

    /// Keeps the server busy, first unmeasured, then measured.
    pub(crate) fn load(&mut self, warm: Stretch, measured: Stretch) -> Result<Load> {
        self.drive(warm)?;
        let watch = Stopwatch::start()?;
        let calls = self.drive(measured)?;
        watch.stop(calls)
    }

    fn drive(&mut self, stretch: Stretch) -> Result<u32> {
        let stretch = stretch.begin(1);
        self.ask(IN_FLIGHT)?;
        let mut calls = 0;
        while !self.open.is_empty() {
            let answered = self.answers()?;
            calls += answered;
            if stretch.goes_on(calls) {
                self.ask(answered)?;
            }
        }
        Ok(calls)
    }

    fn ask(&mut self, calls: u32) -> Result<()> {
        let mut lines = String::new();
        for _ in 0..calls {
            self.last_id += 1;
            self.open.insert(self.last_id);
            lines.push_str(&message::call(self.last_id));
            lines.push('\n');
        }
        self.send(&lines)
    }

    /// Waits for bytes and counts the answers in them.
    fn answers(&mut self) -> Result<u32> {
        let mut open = std::mem::take(&mut self.open);
        let mut answered = 0;
        self.receive(|line| {
            if let Some(id) = message::answered_call(line)? {
                ensure!(open.remove(&id), "call {id} was answered twice, or never made");
                answered += 1;
            }
            Ok(())
        })?;
        self.open = open;
        Ok(answered)
    }

    fn send(&mut self, lines: &str) -> Result<()> {
        self.input.write_all(lines.as_bytes()).context("writing to the server")
    }

    fn receive(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = [0; 16_384];
        let read = self.output.read(&mut bytes).context("reading from the server")?;
        ensure!(read > 0, "the server closed its output");
        self.buffer.extend_from_slice(bytes.get(..read).unwrap_or_default());
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let lines: Vec<u8> = self.buffer.drain(..=end).collect();
        lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).try_for_each(&mut each)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already is what was wanted.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
