//! docent's side of one program: its pipes, and the socket that ends it and reports its end.

use crate::{
    ProgramEnd,
    packet::{PacketInbox, PacketMessage, ReceiveOutcome, parts},
    protocol::{SupervisorAnswer, SupervisorRequest},
    supervisor::milliseconds,
};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};
use tokio::{
    io::Interest,
    net::{UnixStream, unix::pipe},
    sync::{Mutex, OnceCell},
};

/// A running program. Its parts can be used separately; dropping the process ends the program.
#[derive(Debug)]
pub struct SupervisedChild {
    /// The program's standard input.
    pub stdin: pipe::Sender,
    /// The program's standard output.
    pub stdout: pipe::Receiver,
    /// The program's standard error.
    pub stderr: pipe::Receiver,
    /// The process itself.
    pub process: SupervisedProcess,
}

impl SupervisedChild {
    /// Closes the pipes and ends the program, as [`SupervisedProcess::end`] does.
    pub async fn end(self, grace: Duration) -> ProgramEnd {
        let Self { stdin, stdout, stderr, process } = self;
        drop((stdin, stdout, stderr));
        process.end(grace).await
    }
}

/// A program's process. Dropping it ends the program with all descendants: it is asked to end, and killed after the
/// supervisor's grace.
#[derive(Debug)]
pub struct SupervisedProcess {
    pid: u32,
    warnings: Vec<String>,
    link: SupervisorLink,
    ended: OnceCell<ProgramEnd>,
}

impl SupervisedProcess {
    pub(crate) fn new(pid: u32, warnings: Vec<String>, link: SupervisorLink) -> Self {
        Self { pid, warnings, link, ended: OnceCell::new() }
    }

    /// Returns its pid. Only the supervisor may signal it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the controls of its sandbox that are not in force, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Waits until the program has ended; its descendants are then killed. Can be called any number of times, and
    /// cancelled.
    pub async fn ended(&self) -> ProgramEnd {
        let news = async {
            let message = self.link.receive().await.ok().flatten();
            match message.and_then(|message| serde_json::from_slice(&message.bytes).ok()) {
                Some(SupervisorAnswer::Ended(ended)) => ended,
                _ => ProgramEnd::KeeperGone,
            }
        };
        *self.ended.get_or_init(|| news).await
    }

    /// Ends the program, and returns when no descendant is left.
    ///
    /// Standard input should be closed by now, so that the program has `grace` to end by itself. Then its group is
    /// asked to end (SIGTERM), and killed after the same time again. The supervisor continues if the future is dropped;
    /// of several calls, the earliest end counts.
    pub async fn end(&self, grace: Duration) -> ProgramEnd {
        let request = SupervisorRequest::End { grace_ms: milliseconds(grace) };
        if let Ok(request) = serde_json::to_vec(&request) {
            // If the supervisor is gone, the next line reports it.
            self.link.send(&request).await.ok();
        }
        let ended = self.ended().await;
        // The supervisor closes its side when the descendants have ended as well.
        while let Ok(Some(_)) = self.link.receive().await {}
        ended
    }
}

/// A socket to the supervisor.
#[derive(Debug)]
pub(crate) struct SupervisorLink {
    /// Registers the socket with the runtime, which has no type for packet sockets. It is never read as a stream.
    socket: UnixStream,
    inbox: Mutex<PacketInbox>,
}

impl SupervisorLink {
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UnixStream::from_std(socket)?, inbox: Mutex::default() })
    }

    pub(crate) async fn send(&self, message: &[u8]) -> io::Result<()> {
        for part in parts(message) {
            let send = || part.send(self.socket.as_fd(), &[]);
            self.socket.async_io(Interest::WRITABLE, send).await?;
        }
        Ok(())
    }

    /// Reads the next message, or `None` at the end.
    pub(crate) async fn receive(&self) -> io::Result<Option<PacketMessage>> {
        let mut inbox = self.inbox.lock().await;
        loop {
            let receive = || inbox.receive(self.socket.as_fd(), false);
            match self.socket.async_io(Interest::READABLE, receive).await? {
                ReceiveOutcome::Message(message) => return Ok(Some(message)),
                ReceiveOutcome::Part => {}
                ReceiveOutcome::End => return Ok(None),
            }
        }
    }
}
