//! Connects to a server that is not configured, for the duration of one command.

use super::{
    args::Target,
    peer::{Answering, Note, Peer, RpcError, ServerCard},
    questions::Questions,
};
use crate::{
    analyze::UsedWrongly,
    config::Config,
    servers::{self, Dial},
};
use anyhow::{anyhow, bail};
use docent_dial::Failure;
use docent_hub::{
    Dialer as _, Hears, Opened, Request, RequestError, Spec, Stream, Tail, Way, handshake,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};
use tokio::sync::mpsc;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);
/// Size of the queue of notifications to show.
const NOTES: usize = 256;

/// A connection to a program or an address from the command line.
pub(super) struct Remote {
    peer: Arc<docent_hub::Peer>,
    card: ServerCard,
    ear: Arc<Ear>,
    /// Kept because a program ends when this is dropped.
    _dial: Dial,
}

/// Returns the hub's spec of a target.
pub(crate) fn spec(target: &Target, config: &Config) -> anyhow::Result<Spec> {
    let text = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
    Ok(match target {
        Target::Docent => bail!("docent itself runs in this process"),
        Target::Server(name) => {
            let Some(entry) = config.servers.iter().find(|entry| entry.server.name == *name) else {
                bail!(UsedWrongly(format!("unknown server {name:?}")));
            };
            if entry.of_a_project {
                bail!("{}", config.untrusted_server(name));
            }
            servers::one(entry, config)
        }
        Target::Url { url, headers } => {
            let headers = headers.iter().cloned().collect();
            Spec::new("server", Way::Remote { url: url.clone(), sse: None, headers })
        }
        Target::Program(words) => {
            let Some((command, args)) = words.split_first() else {
                bail!(UsedWrongly("name a program after --".into()));
            };
            let (command, args) = (text(command), args.iter().map(text).collect());
            Spec::new("server", Way::Program { command, args, env: BTreeMap::new(), cwd: None })
        }
    })
}

impl Remote {
    pub(super) async fn open(
        target: &Target,
        (spec, dial): (Spec, Dial),
        questions: Arc<Questions>,
    ) -> anyhow::Result<Self> {
        let stderr = Arc::new(Tail::default());
        let capabilities = questions.capabilities();
        let ear = Arc::new(Ear { questions, peer: OnceLock::new(), notes: Mutex::default() });
        let opening = async {
            let line = |listener| dial.dial(&spec, listener, Arc::clone(&stderr));
            let hears = Arc::clone(&ear) as Arc<dyn Hears>;
            let opening = docent_hub::Peer::open(&spec.name, hears, capabilities, None, line);
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
        match tokio::time::timeout(PATIENCE, opening).await {
            Ok(Ok((peer, opened))) => Ok(Self { peer, card: card(&opened), ear, _dial: dial }),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed(format!("it did not start within {} s", PATIENCE.as_secs()))),
        }
    }
}

/// Returns what a server reports about itself.
pub(super) fn card(opened: &Opened) -> ServerCard {
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

impl Peer for Remote {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(Note) + Send + Sync),
    ) -> Answering<'a> {
        Box::pin(async move {
            let params = match params {
                Value::Object(params) => params,
                _ => docent_tool::Object::new(),
            };
            let (sender, mut notes) = mpsc::channel(NOTES);
            *self.ear.notes.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender.clone());
            let progress = move |step: docent_tool::Progress| {
                let message = Some(step.message).filter(|text| !text.is_empty());
                // A slow terminal shows fewer notifications.
                drop(sender.try_send(Note::Progress {
                    done: step.done,
                    total: step.total,
                    message,
                }));
            };
            let is_call = method == "tools/call";
            let request = Request {
                progress: is_call.then(|| Box::new(progress) as _),
                ..Request::new(params)
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
struct Ear {
    questions: Arc<Questions>,
    peer: OnceLock<Weak<docent_hub::Peer>>,
    notes: Mutex<Option<mpsc::Sender<Note>>>,
}

impl Hears for Ear {
    fn asked(&self, id: Value, method: &str, params: Value, _: Stream) {
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

    fn told(&self, method: &str, params: Value, _: Stream) {
        let message = serde_json::json!({"method": method, "params": params});
        if let Some(notes) = &*self.notes.lock().unwrap_or_else(PoisonError::into_inner) {
            drop(notes.try_send(Note::of(message)));
        }
    }

    fn noise(&self, text: String) {
        tracing::debug!("{}", docent_screen::one_line(&text));
    }

    fn session_lost(&self) {}

    fn closed(&self, _: &Failure) {}
}
