//! Load over pipes: a bounded number of calls in flight, one thread, and one write for all calls answered so far.

use super::{
    load::{LoadResult, LoadStretch, RunningStretch, Stopwatch},
    message,
};
use crate::process::tail;
use anyhow::{Context, Error, Result, bail, ensure};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::retry_on_intr,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read, Seek as _, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Calls in flight; they fit a pipe's buffer, so one thread can't block itself.
const IN_FLIGHT: u32 = 32;
/// A server that is silent for longer is stuck.
const ANSWER_TIMEOUT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
/// A server that takes longer to end after its input closes is killed.
const END_LIMIT: Duration = Duration::from_secs(6);
/// Lines of standard error shown with a failure.
const MAX_STDERR_LINES: usize = 5;

/// A server on pipes, after the handshake. Dropping it ends the server.
#[derive(Debug)]
pub(crate) struct PipeServer {
    child: Child,
    /// `None` once the input has been closed to end the server.
    input: Option<ChildStdin>,
    output: ChildStdout,
    complaint: File,
    buffer: Vec<u8>,
    /// The names of the echo tools; calls take turns among them.
    tools: Vec<String>,
    last_id: u32,
    open: BTreeSet<u32>,
}

impl PipeServer {
    /// Starts the server and waits for the answer to `initialize`; returns the time from exec to that answer.
    pub(crate) fn start(mut command: Command) -> Result<(Self, Duration)> {
        let complaint = tempfile::tempfile().context("making a file for standard error")?;
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaint.try_clone()?)
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the child has no pipes");
        };
        let mut server = Self {
            child,
            input: Some(input),
            output,
            complaint,
            buffer: Vec::new(),
            tools: vec![message::ECHO.to_owned()],
            last_id: message::INITIALIZE_ID,
            open: BTreeSet::new(),
        };
        match server.shake_hands() {
            Ok(()) => {
                let elapsed = began.elapsed();
                server.send(&format!("{}\n", message::INITIALIZED))?;
                Ok((server, elapsed))
            }
            Err(problem) => Err(server.explain(problem)),
        }
    }

    fn shake_hands(&mut self) -> Result<()> {
        self.send(&(message::initialize() + "\n"))?;
        let mut answered = false;
        while !answered {
            self.receive(|line| {
                answered |= message::is_initialized(line)?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Adds the last lines of the server's standard error to a problem.
    pub(crate) fn explain(mut self, problem: Error) -> Error {
        self.child.kill().ok();
        let mut said = Vec::new();
        // If standard error can't be read, return just the problem.
        if self.complaint.rewind().is_ok() {
            self.complaint.read_to_end(&mut said).ok();
        }
        let said = tail(String::from_utf8_lossy(&said).trim(), MAX_STDERR_LINES);
        if said.is_empty() { problem } else { problem.context(said) }
    }

    /// Closes its input and waits for it to end by itself, so that it can save its state.
    pub(crate) fn end(mut self) -> Result<()> {
        drop(self.input.take());
        let deadline = Instant::now() + END_LIMIT;
        while self.child.try_wait()?.is_none() {
            ensure!(
                Instant::now() < deadline,
                "the server did not end within {} s after its input closed",
                END_LIMIT.as_secs()
            );
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Makes calls take turns among these names of the echo tool.
    pub(crate) fn with_tools(mut self, tools: Vec<String>) -> Self {
        self.tools = tools;
        self
    }

    /// Calls a tool and waits for its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&format!("{request}\n"))?;
        let mut found = None;
        while found.is_none() {
            self.receive(|line| {
                if let Some((answered, result)) = message::result(line)? {
                    ensure!(answered == id, "call {answered} was answered instead of {id}");
                    found = Some(serde_json::from_str(result.get())?);
                }
                Ok(())
            })?;
        }
        found.context("the call was not answered")
    }

    /// Keeps the server busy, first unmeasured, then measured.
    pub(crate) fn load(&mut self, warm: LoadStretch, measured: LoadStretch) -> Result<LoadResult> {
        self.drive(IN_FLIGHT, warm)?;
        let watch = Stopwatch::start()?;
        let calls = self.drive(IN_FLIGHT, measured)?;
        watch.stop(calls)
    }

    /// Keeps this many calls in flight; the CPU time is that of all processes except those that run `without`.
    pub(crate) fn load_with(
        &mut self,
        in_flight: u32,
        stretch: LoadStretch,
        without: Option<&Path>,
    ) -> Result<LoadResult> {
        let watch = Stopwatch::start_without(without)?;
        let calls = self.drive(in_flight, stretch)?;
        watch.stop(calls)
    }

    /// Makes one call after another; returns the duration of each.
    pub(crate) fn times(&mut self, stretch: RunningStretch) -> Result<Vec<Duration>> {
        let (mut times, mut calls) = (Vec::new(), 0);
        while calls == 0 || stretch.continues(calls) {
            let began = Instant::now();
            self.ask(1)?;
            while !self.open.is_empty() {
                self.answers()?;
            }
            times.push(began.elapsed());
            calls += 1;
        }
        Ok(times)
    }

    fn drive(&mut self, in_flight: u32, stretch: LoadStretch) -> Result<u32> {
        let stretch = stretch.begin(1);
        self.ask(in_flight)?;
        let mut calls = 0;
        while !self.open.is_empty() {
            let answered = self.answers()?;
            calls += answered;
            if stretch.continues(calls) {
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
            let tool = message::tool_for(&self.tools, self.last_id);
            lines.push_str(&message::call(tool, self.last_id));
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
        let input = self.input.as_mut().context("the server's input is closed")?;
        input.write_all(lines.as_bytes()).context("writing to the server")
    }

    fn receive(&mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = [0; 16_384];
        let ready = retry_on_intr(|| {
            poll(&mut [PollFd::new(&self.output, PollFlags::IN)], Some(&ANSWER_TIMEOUT))
        })?;
        ensure!(ready > 0, "the server has been silent for {} s", ANSWER_TIMEOUT.tv_sec);
        let read = self.output.read(&mut bytes).context("reading from the server")?;
        ensure!(read > 0, "the server closed its output");
        self.buffer.extend_from_slice(bytes.get(..read).unwrap_or_default());
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let lines: Vec<u8> = self.buffer.drain(..=end).collect();
        lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).try_for_each(&mut each)
    }
}

impl Drop for PipeServer {
    fn drop(&mut self) {
        // It is fine if the server has already ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
