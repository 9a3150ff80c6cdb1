//! A client of a child process over its pipes, one message per line.

use super::{INBOX_CAPACITY, MessageInbox, TestClient, TestClientError, TestTransport, deliver};
use docent_tool::BoxedFuture;
use std::process::{ExitStatus, Stdio};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    process::{ChildStdin, Command},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};

/// A client of a server process, which is killed when this is dropped.
pub type ChildTestClient = TestClient<ChildPipes>;

/// The pipes of a process.
#[derive(Debug)]
pub struct ChildPipes {
    process: tokio::process::Child,
    stdin: Option<ChildStdin>,
    log: watch::Receiver<Vec<String>>,
    readers: JoinSet<()>,
}

impl ChildTestClient {
    /// Starts a process with three pipes.
    pub fn spawn(mut command: Command) -> Result<Self, TestClientError> {
        let described = format!("starting {:?}", command.as_std());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut process =
            command.spawn().map_err(|e| TestClientError::broken(described)(e.into()))?;
        let (inbox, received) = mpsc::channel(INBOX_CAPACITY);
        let mut readers = JoinSet::new();
        if let Some(stdout) = process.stdout.take() {
            readers.spawn(read_messages(stdout, inbox));
        }
        let (lines, log) = watch::channel(Vec::new());
        if let Some(stderr) = process.stderr.take() {
            readers.spawn(read_log(stderr, lines));
        }
        let stdin = process.stdin.take();
        Ok(Self::new(ChildPipes { process, stdin, log, readers }, received))
    }

    /// Closes its input, as a finished client does.
    pub fn close_input(&mut self) {
        self.wire.stdin = None;
    }

    /// Awaits its end. Then all its messages have been received, and its log is complete.
    pub async fn end(&mut self) -> Result<ExitStatus, TestClientError> {
        let wire = &mut self.wire;
        let ending = async {
            let status = wire.process.wait().await;
            while wire.readers.join_next().await.is_some() {}
            status
        };
        match timeout(self.timeout, ending).await {
            Ok(status) => {
                status.map_err(|e| TestClientError::broken("waiting for the child")(e.into()))
            }
            Err(_) => Err(TestClientError::TimedOut {
                waiting_for: "the child's end".into(),
                patience: self.timeout,
                heard: self.received.clone(),
            }),
        }
    }

    /// Its process id, while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.wire.process.id()
    }

    /// The lines it has written to stderr.
    pub fn log(&self) -> Vec<String> {
        self.wire.log.borrow().clone()
    }

    /// Awaits a line on stderr that contains this text.
    pub async fn log_line(&mut self, text: &str) -> Result<String, TestClientError> {
        let find = |lines: &Vec<String>| lines.iter().find(|line| line.contains(text)).cloned();
        let awaited =
            timeout(self.timeout, self.wire.log.wait_for(|lines| find(lines).is_some())).await;
        if let Ok(Ok(lines)) = &awaited
            && let Some(line) = find(lines)
        {
            return Ok(line);
        }
        drop(awaited);
        let waiting_for = format!("a line with {text:?} on stderr, which has {:?}", self.log());
        Err(TestClientError::TimedOut {
            waiting_for,
            patience: self.timeout,
            heard: self.received.clone(),
        })
    }
}

impl TestTransport for ChildPipes {
    fn send(&mut self, mut text: String) -> BoxedFuture<'_, Result<(), TestClientError>> {
        text.push('\n');
        Box::pin(async move {
            let broken =
                |e: std::io::Error| TestClientError::broken("writing to the child")(e.into());
            let Some(stdin) = &mut self.stdin else {
                return Err(broken(std::io::ErrorKind::BrokenPipe.into()));
            };
            stdin.write_all(text.as_bytes()).await.map_err(broken)?;
            stdin.flush().await.map_err(broken)
        })
    }
}

async fn read_messages(stdout: impl AsyncRead + Unpin, inbox: MessageInbox) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if !deliver(&inbox, &line).await {
            return;
        }
    }
}

async fn read_log(stderr: impl AsyncRead + Unpin, log: watch::Sender<Vec<String>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.send_modify(|lines| lines.push(line));
    }
}
