//! Owns the shell client's input and output: standard output, standard error, standard input, and the progress bar of
//! a call. Tests use buffers instead of a terminal.

use super::connection::ServerNotice;
use anyhow::Context as _;
use docent_screen::{one_line, visible};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::{
    borrow::Cow,
    io::{self, BufRead, IsTerminal as _, Read as _, Write},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Maximum size of an argument from standard input or a file, in bytes.
pub(crate) const MAX_INPUT_BYTES: u64 = 64 << 20;
/// Maximum size of a typed line, in bytes.
const MAX_TYPED_BYTES: u64 = 64 << 10;
/// The width of output that does not go to a terminal.
const DEFAULT_WIDTH: usize = 100;

/// Which streams are a terminal, and how it displays text.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the three streams are independent of each other"
)]
pub(crate) struct TerminalState {
    /// Whether standard input is a terminal.
    pub(crate) stdin: bool,
    /// Whether standard output is a terminal.
    pub(crate) stdout: bool,
    /// Whether standard error is a terminal.
    pub(crate) stderr: bool,
    /// Whether to use colors.
    pub(crate) colors: bool,
    /// The width in columns.
    pub(crate) width: usize,
}

impl TerminalState {
    /// The terminal of this process.
    pub(crate) fn of_process(no_color: bool) -> Self {
        let stdout = io::stdout().is_terminal();
        let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns.into());
        Self {
            stdin: io::stdin().is_terminal(),
            stdout,
            stderr: io::stderr().is_terminal(),
            colors: stdout && !no_color,
            width: columns.filter(|columns| *columns >= 40).unwrap_or(DEFAULT_WIDTH),
        }
    }
}

/// Standard output, error and input.
pub(crate) struct ShellConsole {
    /// Which streams are a terminal, and how it displays text.
    pub(crate) terminal: TerminalState,
    /// Whether log lines of the server are shown.
    pub(crate) verbose: bool,
    out: Mutex<Box<dyn Write + Send>>,
    err: Mutex<Box<dyn Write + Send>>,
    input: Mutex<Box<dyn BufRead + Send>>,
    bar: Mutex<Option<ProgressBar>>,
}

/// Locks a mutex, even if another thread panicked while it was locked.
fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ShellConsole {
    /// The console of this process.
    pub(crate) fn of_process(no_color: bool, verbose: bool) -> Self {
        let input = Box::new(io::BufReader::new(io::stdin()));
        let terminal = TerminalState::of_process(no_color);
        Self::with_streams(terminal, Box::new(io::stdout()), Box::new(io::stderr()), input)
            .verbose(verbose)
    }

    /// A console on the given streams.
    pub(crate) fn with_streams(
        terminal: TerminalState,
        out: Box<dyn Write + Send>,
        err: Box<dyn Write + Send>,
        input: Box<dyn BufRead + Send>,
    ) -> Self {
        let (out, err, input) = (Mutex::new(out), Mutex::new(err), Mutex::new(input));
        Self { terminal, verbose: false, out, err, input, bar: Mutex::new(None) }
    }

    /// Sets whether log lines are shown.
    pub(crate) fn verbose(self, verbose: bool) -> Self {
        Self { verbose, ..self }
    }

    /// Writes text to standard output unchanged.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes bytes to standard output unchanged.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let bar = lock(&self.bar).clone();
        let write = || {
            let mut out = lock(&self.out);
            out.write_all(bytes).and_then(|()| out.flush())
        };
        match bar.map_or_else(write, |bar| bar.suspend(write)) {
            // The reader closed the pipe, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write to standard output"),
        }
    }

    /// Escapes a server's text for standard output, so that it can't act on a terminal.
    pub(crate) fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.terminal.stdout { visible(text) } else { Cow::Borrowed(text) }
    }

    /// Writes a line to standard error, escaped so that a server's text can't act on the terminal.
    pub(crate) fn print_error(&self, text: &str) {
        let bar = lock(&self.bar).clone();
        let text = visible(text);
        // If even standard error fails, there is nothing left to do.
        let write = || writeln!(lock(&self.err), "{text}").unwrap_or_default();
        bar.map_or_else(write, |bar| bar.suspend(write));
    }

    /// Shows a server's progress or log message.
    pub(crate) fn show_notice(&self, note: ServerNotice) {
        match note {
            ServerNotice::Progress { done, total, message } => {
                self.step(done, total, &message.unwrap_or_default());
            }
            ServerNotice::Log { level, logger, data } if self.verbose => {
                let logger = logger.map_or_else(String::new, |logger| format!(" {logger}:"));
                let data = log_line(data);
                self.print_error(&one_line(&format!("[{level}]{logger} {data}")));
            }
            ServerNotice::Other(message) if self.verbose => {
                self.print_error(&one_line(&message.to_string()));
            }
            ServerNotice::Log { .. } | ServerNotice::Other(_) => {}
        }
    }

    fn step(&self, done: f64, total: Option<f64>, message: &str) {
        if !self.terminal.stderr {
            return;
        }
        let mut slot = lock(&self.bar);
        let bar = slot.get_or_insert_with(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        // Servers report fractions as often as counts: a thousandth is precise enough for both.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a bar's length"
        )]
        let thousandths = |count: f64| (count * 1000.0) as u64;
        if let Some(total) = total.filter(|total| *total > 0.0) {
            if bar.length().is_none() {
                let style = ProgressStyle::with_template("{spinner} {wide_bar} {percent}% {msg}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            }
            bar.set_length(thousandths(total));
        }
        bar.set_position(thousandths(done));
        bar.set_message(one_line(message).into_owned());
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        if let Some(bar) = lock(&self.bar).take() {
            bar.finish_and_clear();
        }
    }

    /// Whether the user can be asked questions.
    pub(crate) fn is_interactive(&self) -> bool {
        self.terminal.stdin && self.terminal.stderr
    }

    /// Shows a prompt on standard error and reads a line; `None` at the end of input.
    pub(crate) fn ask(&self, prompt: &str) -> Option<String> {
        let bar = lock(&self.bar).clone();
        let read = || {
            let mut err = lock(&self.err);
            write!(err, "{}", visible(prompt)).and_then(|()| err.flush()).ok()?;
            drop(err);
            let mut line = Vec::new();
            let mut input = lock(&self.input);
            let read = (&mut *input).take(MAX_TYPED_BYTES).read_until(b'\n', &mut line).ok()?;
            let line = String::from_utf8_lossy(&line);
            (read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned())
        };
        bar.map_or_else(read, |bar| bar.suspend(read))
    }

    /// Reads all of standard input.
    pub(crate) fn read_input(&self) -> io::Result<Vec<u8>> {
        read_bounded(&mut **lock(&self.input))
    }
}

/// Formats the data of a log message: its message first, if it has one, then the other fields.
fn log_line(data: Value) -> String {
    match data {
        Value::String(text) => text,
        Value::Object(mut fields) if fields.get("message").is_some_and(Value::is_string) => {
            let message = fields.shift_remove("message").unwrap_or_default();
            let message = message.as_str().unwrap_or_default();
            if fields.is_empty() {
                message.to_owned()
            } else {
                format!("{message} {}", Value::Object(fields))
            }
        }
        other => other.to_string(),
    }
}

/// Reads to the end, and fails if the input is too large for one argument.
pub(crate) fn read_bounded(reader: &mut (impl io::Read + ?Sized)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        let message = format!("larger than {} MB", MAX_INPUT_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
