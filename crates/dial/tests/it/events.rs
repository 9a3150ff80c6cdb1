//! A listener that records events.

use docent_dial::{TransportEvent, TransportFailure, TransportListener};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout,
};

/// Longer than anything here takes, even on a busy machine.
pub(crate) const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct RecordedEvents {
    sender: mpsc::Sender<TransportEvent>,
    events: Mutex<mpsc::Receiver<TransportEvent>>,
}

impl TransportListener for RecordedEvents {
    fn event(&self, event: TransportEvent) {
        self.sender.try_send(event).unwrap();
    }
}

impl RecordedEvents {
    pub(crate) fn new() -> Arc<Self> {
        let (sender, events) = mpsc::channel(1000);
        Arc::new(Self { sender, events: Mutex::new(events) })
    }

    pub(crate) async fn next(&self) -> TransportEvent {
        timeout(EVENT_TIMEOUT, self.events.lock().await.recv())
            .await
            .expect("no event came")
            .unwrap()
    }

    pub(crate) async fn message(&self) -> Value {
        match self.next().await {
            TransportEvent::Message { message, .. } => message,
            other => panic!("not a message: {other:?}"),
        }
    }

    pub(crate) async fn lost(&self) -> (Value, TransportFailure) {
        match self.next().await {
            TransportEvent::Lost { id, failure } => (id, failure),
            other => panic!("no loss, but {other:?}"),
        }
    }

    /// Whether no more events have arrived.
    pub(crate) async fn is_quiet(&self) -> bool {
        self.events.lock().await.try_recv().is_err()
    }
}
