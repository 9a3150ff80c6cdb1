//! Owns what the shell client writes and reads: standard output, standard error, standard input, and the bar that shows
//! how far a call is. Tests hand it memory in place of a terminal.

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

/// Bytes that standard input or a file may hand over as one argument.
pub(crate) const MAX_INPUT_BYTES: u64 = 64 << 20;
/// Bytes of one typed line.
const MAX_TYPED_BYTES: u64 = 64 << 10;
/// The width of a page that nobody looks at.
const DEFAULT_WIDTH: usize = 100;

/// What there is of a terminal.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the three streams are independent of each other"
)]
pub(crate) struct TerminalState {
    /// Whether a person types.
    pub(crate) stdin: bool,
    /// Whether a person reads the output.
    pub(crate) stdout: bool,
    /// Whether a person reads the messages.
    pub(crate) stderr: bool,
    /// Whether colours are wanted.
    pub(crate) colours: bool,
    /// Columns.
    pub(crate) width: usize,
}

impl TerminalState {
    /// The terminal of this process.
    pub(crate) fn of_process(no_colour: bool) -> Self {
        let stdout = io::stdout().is_terminal();
        let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns.into());
        Self {
            stdin: io::stdin().is_terminal(),
            stdout,
            stderr: io::stderr().is_terminal(),
            colours: stdout && !no_colour,
            width: columns.filter(|columns| *columns >= 40).unwrap_or(DEFAULT_WIDTH),
        }
    }
}

/// Standard output, error and input.
pub(crate) struct ShellConsole {
    /// What there is of a terminal.
    pub(crate) terminal: TerminalState,
    /// Whether log lines of the server are shown.
    pub(crate) verbose: bool,
    out: Mutex<Box<dyn Write + Send>>,
    err: Mutex<Box<dyn Write + Send>>,
    input: Mutex<Box<dyn BufRead + Send>>,
    bar: Mutex<Option<ProgressBar>>,
}

/// A lock that another thread's panic does not take away.
fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ShellConsole {
    /// The console of this process.
    pub(crate) fn of_process(no_colour: bool, verbose: bool) -> Self {
        let input = Box::new(io::BufReader::new(io::stdin()));
        let terminal = TerminalState::of_process(no_colour);
        Self::with_streams(terminal, Box::new(io::stdout()), Box::new(io::stderr()), input).verbose(verbose)
    }

    /// A console on any streams.
    pub(crate) fn with_streams(
        terminal: TerminalState,
        out: Box<dyn Write + Send>,
        err: Box<dyn Write + Send>,
        input: Box<dyn BufRead + Send>,
    ) -> Self {
        let (out, err, input) = (Mutex::new(out), Mutex::new(err), Mutex::new(input));
        Self { terminal, verbose: false, out, err, input, bar: Mutex::new(None) }
    }

    /// The same, with or without log lines.
    pub(crate) fn verbose(self, verbose: bool) -> Self {
        Self { verbose, ..self }
    }

    /// Writes to standard output as it is.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.print_bytes(text.as_bytes())
    }

    /// The same, for what may be no text.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        let bar = lock(&self.bar).clone();
        let write = || {
            let mut out = lock(&self.out);
            out.write_all(bytes).and_then(|()| out.flush())
        };
        match bar.map_or_else(write, |bar| bar.suspend(write)) {
            // The reader has seen enough, as `head` has.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("can't write to standard output"),
        }
    }

    /// A server's text for standard output: on a terminal, nothing in it acts on the terminal.
    pub(crate) fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.terminal.stdout { visible(text) } else { Cow::Borrowed(text) }
    }

    /// Writes a line to standard error. Whatever a server put into it can't act on the terminal.
    pub(crate) fn print_error(&self, text: &str) {
        let bar = lock(&self.bar).clone();
        let text = visible(text);
        // Where even that can't be written, nobody reads.
        let write = || writeln!(held(&self.err), "{text}").unwrap_or_default();
        bar.map_or_else(write, |bar| bar.suspend(write));
    }

    /// Shows what a server says while it works.
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
            ServerNotice::Other(message) if self.verbose => self.print_error(&one_line(&message.to_string())),
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
        // Shares are told as often as counts: a thousandth is fine enough for both.
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

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = lock(&self.bar).take() {
            bar.finish_and_clear();
        }
    }

    /// Whether a person can be asked something.
    pub(crate) fn is_interactive(&self) -> bool {
        self.terminal.stdin && self.terminal.stderr
    }

    /// Shows a prompt on standard error and reads a line; none where the input has ended.
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

    /// All of standard input.
    pub(crate) fn read_input(&self) -> io::Result<Vec<u8>> {
        read_bounded(&mut **lock(&self.input))
    }
}

/// The data of a log line for people: the sentence first, where the data has one, and the other fields after it.
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

/// Reads to the end, and refuses what is too much for one argument.
pub(crate) fn read_bounded(reader: &mut (impl io::Read + ?Sized)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        let told = format!("it holds more than {} MB", MOST_INPUT >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    Ok(bytes)
}
