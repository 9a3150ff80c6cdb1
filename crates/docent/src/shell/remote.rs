//! Connects to a server that is not configured, for the duration of one command.

use super::{
    args::ServerTarget,
    connection::{ReplyFuture, RpcError, ServerCard, ServerConnection, ServerNotice},
    questions::ClientRequestHandler,
};
use crate::{
    analyze::UsageError,
    config::Config,
    servers::{self, ServerDialer},
};
use anyhow::{anyhow, bail};
use docent_dial::TransportFailure;
use docent_hub::{
    Dialer as _, HandshakeResult, PeerRequest, RequestError, ServerEvents, ServerSpec,
    ServerTransport, StderrTail, StreamOwner, handshake,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};
use tokio::sync::mpsc;

/// How long a server may take to start.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(1);
/// Size of the queue of notifications to show.
const NOTICE_QUEUE_LEN: usize = 256;

/// A connection to a program or an address from the command line.
pub(super) struct RemoteConnection {
    peer: Arc<docent_hub::DownstreamPeer>,
    card: ServerCard,
    ear: Arc<RemoteEvents>,
    /// Kept because a program ends when this is dropped.
    _dial: ServerDialer,
}

/// Returns the hub's spec of a target.
pub(crate) fn spec(target: &ServerTarget, config: &Config) -> anyhow::Result<ServerSpec> {
    let text = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
    Ok(match target {
        ServerTarget::Docent => bail!("docent itself runs in this process"),
        ServerTarget::Server(name) => {
            let Some(entry) = config.servers.iter().find(|entry| entry.server.name == *name) else {
                bail!(UsageError(format!("unknown server {name:?}")));
            };
            if entry.of_a_project {
                bail!("{}", config.untrusted_server(name));
            }
            servers::spec_of(entry, config)
        }
        ServerTarget::Url { url, headers } => {
            let headers = headers.iter().cloned().collect();
            ServerSpec::new(
                "server",
                ServerTransport::Remote { url: url.clone(), sse: None, headers },
            )
        }
        ServerTarget::Program(words) => {
            let Some((command, args)) = words.split_first() else {
                bail!(UsageError("name a program after --".into()));
            };
            let (command, args) = (text(command), args.iter().map(text).collect());
            ServerSpec::new(
                "server",
                ServerTransport::Program { command, args, env: BTreeMap::new(), cwd: None },
            )
        }
    })
}

impl RemoteConnection {
    pub(super) async fn open(
        target: &ServerTarget,
        spec: ServerSpec,
        dial: ServerDialer,
        questions: Arc<ClientRequestHandler>,
    ) -> anyhow::Result<Self> {
        let stderr = Arc::new(StderrTail::default());
        let capabilities = questions.capabilities();
        let ear =
            Arc::new(RemoteEvents { questions, peer: OnceLock::new(), notes: Mutex::default() });
        let opening = async {
            let line = |listener| dial.dial(&spec, listener, Arc::clone(&stderr));
            let hears = Arc::clone(&ear) as Arc<dyn ServerEvents>;
            let opening =
                docent_hub::DownstreamPeer::open(&spec.name, hears, capabilities, None, line);
            let peer = Arc::new(opening.await?);
            ear.peer.get_or_init(|| Arc::downgrade(&peer));
            let opened = handshake(&peer, None).await?;
            Ok::<_, RequestError>((peer, opened))
        };
        let failed = |why: String| {
            let last = stderr.last(5);
            let words =
                if last.is_empty() { String::new() } else { format!("\n{}", last.join("\n")) };
            anyhow!("cannot connect to {}: {why}{words}", super::label(target))
        };
        match tokio::time::timeout(CONNECT_TIMEOUT, opening).await {
            Ok(Ok((peer, opened))) => Ok(Self { peer, card: card(&opened), ear, _dial: dial }),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => {
                Err(failed(format!("it did not start within {} s", CONNECT_TIMEOUT.as_secs())))
            }
        }
    }
}

/// Returns what a server reports about itself.
pub(super) fn card(opened: &HandshakeResult) -> ServerCard {
    let text =
        |name: &str| opened.info.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    ServerCard {
        name: text("name"),
        version: text("version"),
        protocol: opened.era.version().to_owned(),
        instructions: opened.instructions.clone(),
        capabilities: opened.capabilities.clone(),
    }
}

impl ServerConnection for RemoteConnection {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a> {
        Box::pin(async move {
            let params = match params {
                Value::Object(params) => params,
                _ => docent_tool::Object::new(),
            };
            let (sender, mut notes) = mpsc::channel(NOTICE_QUEUE_LEN);
            *self.ear.notes.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
            let progress = move |step: docent_tool::Progress| {
                let message = Some(step.message).filter(|text| !text.is_empty());
                // A slow terminal shows fewer notifications.
                drop(sender.try_send(ServerNotice::Progress {
                    done: step.done,
                    total: step.total,
                    message,
                }));
            };
            let is_call = method == "tools/call";
            let request = PeerRequest {
                progress: is_call.then(|| Box::new(progress) as _),
                ..PeerRequest::new(params)
            };
            let mut asked = std::pin::pin!(self.peer.request(method, request));
            let answer = loop {
                tokio::select! {
                    biased;
                    Some(note) = notes.recv() => on_note(note),
                    answer = &mut asked => break answer,
                }
            };
            while let Ok(note) = notes.try_recv() {
                on_note(note);
            }
            answer.map_err(|error| match error {
                RequestError::Rpc { code, message, data } => RpcError { code, message, data },
                other => RpcError { code: -32603, message: other.to_string(), data: None },
            })
        })
    }

    fn server(&self) -> &ServerCard {
        &self.card
    }
}

/// Handles the server's own requests and notifications.
struct RemoteEvents {
    questions: Arc<ClientRequestHandler>,
    peer: OnceLock<Weak<docent_hub::DownstreamPeer>>,
    notes: Mutex<Option<mpsc::Sender<ServerNotice>>>,
}

impl ServerEvents for RemoteEvents {
    fn on_request(&self, id: Value, method: &str, params: Value, _: StreamOwner) {
        let Some(peer) = self.peer.get().and_then(Weak::upgrade) else { return };
        let (questions, method) = (Arc::clone(&self.questions), method.to_owned());
        tokio::spawn(async move {
            // The user may take a while to answer.
            let asked = tokio::task::spawn_blocking(move || questions.answer(&method, &params));
            let answer = match asked.await {
                Ok(answer) => answer,
                Err(error) => {
                    Err(RpcError { code: -32603, message: error.to_string(), data: None })
                }
            };
            let answer = answer.map_err(|RpcError { code, message, data }| RequestError::Rpc {
                code,
                message,
                data,
            });
            peer.answer(id, answer).await;
        });
    }

    fn on_notification(&self, method: &str, params: Value, _: StreamOwner) {
        let message = serde_json::json!({"method": method, "params": params});
        if let Some(notes) = &*self.notes.lock().unwrap_or_else(PoisonError::into_inner) {
            drop(notes.try_send(ServerNotice::from_notification(message)));
        }
    }

    fn on_noise(&self, text: String) {
        tracing::debug!("{}", docent_screen::one_line(&text));
    }

    fn on_session_lost(&self) {}

    fn on_closed(&self, _: &TransportFailure) {}
}
