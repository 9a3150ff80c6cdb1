//! Detects the transport of a URL: Streamable HTTP first, then the older HTTP with SSE.

use crate::{
    ClientTransport, HttpSettings, Outgoing, Running, TransportEvent, TransportFailure,
    TransportListener, http, sse,
};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio_util::task::TaskTracker;

/// Opens the line. Nothing is sent before the first message. If the first `initialize` is refused with 400, 404 or 405,
/// as by a server without Streamable HTTP, it is repeated over HTTP with SSE, which then carries everything else.
pub async fn open_detecting(
    settings: HttpSettings,
    listener: Arc<dyn TransportListener>,
) -> Result<Arc<dyn ClientTransport>, TransportFailure> {
    let gate = Arc::new(DetectionListener { listener, probe: Mutex::default() });
    let first = http::open(settings.clone(), gate.clone()).await?;
    let detecting =
        TransportDetector { settings, gate, line: RwLock::new(first), falling: TaskTracker::new() };
    Ok(Arc::new(DetectingTransport(Arc::new(detecting))))
}

struct DetectingTransport(Arc<TransportDetector>);

struct TransportDetector {
    settings: HttpSettings,
    gate: Arc<DetectionListener>,
    line: RwLock<Arc<dyn ClientTransport>>,
    falling: TaskTracker,
}

/// Intercepts the events of the first transport until it is known whether it is the right one.
struct DetectionListener {
    listener: Arc<dyn TransportListener>,
    probe: Mutex<DetectionState>,
}

#[derive(Default)]
enum DetectionState {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// `initialize` was sent. If it is refused, `fall_back` continues.
    Waiting { id: Value, fall_back: Box<dyn FnOnce(TransportFailure) + Send> },
    /// The server uses Streamable HTTP, or the line was replaced.
    Known,
}

impl DetectionListener {
    fn probe(&self) -> MutexGuard<'_, DetectionState> {
        self.probe.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TransportListener for DetectionListener {
    fn event(&self, event: TransportEvent) {
        let mut probe = self.probe();
        match (&event, &*probe) {
            (
                TransportEvent::Lost {
                    id,
                    failure: failure @ TransportFailure::Refused { status: 400 | 404 | 405, .. },
                },
                DetectionState::Waiting { id: asked, .. },
            ) if id == asked => {
                let failure = failure.clone();
                let DetectionState::Waiting { fall_back, .. } =
                    std::mem::replace(&mut *probe, DetectionState::Known)
                else {
                    return;
                };
                drop(probe);
                fall_back(failure);
                return;
            }
            (TransportEvent::Message { .. }, _) => *probe = DetectionState::Known,
            (TransportEvent::Lost { id, .. }, DetectionState::Waiting { id: asked, .. })
                if id == asked =>
            {
                // The server is unreachable or failed otherwise, so its transport remains unknown.
                *probe = DetectionState::Unknown;
            }
            _ => {}
        }
        drop(probe);
        self.listener.event(event);
    }
}

impl TransportDetector {
    fn line(&self) -> Arc<dyn ClientTransport> {
        Arc::clone(&self.line.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Watches the first `initialize`, whose refusal decides.
    fn watch(self: &Arc<Self>, outgoing: &Outgoing) {
        let message = &outgoing.message;
        let Some(id) = message.get("id") else { return };
        let mut probe = self.gate.probe();
        if !matches!(*probe, DetectionState::Unknown) || message["method"] != "initialize" {
            return;
        }
        // Weak, so that a pending probe does not keep a dropped line alive.
        let (detecting, outgoing, asked) = (Arc::downgrade(self), outgoing.clone(), id.clone());
        let fall_back = Box::new(move |failure| {
            let Some(detecting) = detecting.upgrade() else { return };
            let tasks = detecting.falling.clone();
            tasks.spawn(async move { detecting.fall_back(outgoing, asked, failure).await });
        });
        *probe = DetectionState::Waiting { id: id.clone(), fall_back };
    }

    /// Tries the older transport. If that fails too, the refusal of the newer one is reported.
    async fn fall_back(&self, outgoing: Outgoing, id: Value, refusal: TransportFailure) {
        let listener = Arc::clone(&self.gate.listener);
        let line = match sse::open(self.settings.clone(), Arc::clone(&listener)).await {
            Ok(line) => line,
            Err(failure @ TransportFailure::Unauthorized(_)) => {
                return listener.event(TransportEvent::Lost { id, failure });
            }
            Err(failure) => {
                tracing::debug!("HTTP with SSE failed as well: {failure}");
                return listener.event(TransportEvent::Lost { id, failure: refusal });
            }
        };
        *self.line.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&line);
        if let Err(failure) = line.send(outgoing).await {
            listener.event(TransportEvent::Lost { id, failure });
        }
    }
}

impl ClientTransport for DetectingTransport {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>> {
        self.0.watch(&outgoing);
        let line = self.0.line();
        Box::pin(async move { line.send(outgoing).await })
    }

    fn set_revision(&self, version: &str) {
        self.0.line().set_revision(version);
    }

    fn cancels_by_closing(&self) -> bool {
        self.0.line().cancels_by_closing()
    }

    fn abandon(&self, id: &Value) {
        self.0.line().abandon(id);
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            self.0.falling.close();
            self.0.falling.wait().await;
            self.0.line().close().await;
        })
    }
}
