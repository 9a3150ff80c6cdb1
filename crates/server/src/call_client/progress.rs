//! Sends the progress of one call to its client.

use super::{CallNotes, RemoteCallClient};
use crate::verbatim;
use docent_tool::{Object, Progress};
use rmcp::model::{ProgressNotification, ProgressNotificationParam, ServerNotification};
use serde_json::Value;
use std::future::pending;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The progress of an emitted piece: less than any step of the tool's own.
const PIECE_PROGRESS: f64 = 0.001;

impl RemoteCallClient {
    /// A step of the call. It is sent now, or later in place of earlier ones.
    pub(super) fn report(&self, step: Progress) {
        let mut notes = self.notes();
        // The protocol requires progress to increase with every step.
        if step.done.is_nan() || notes.progress.is_some_and(|last| step.done <= last) {
            return;
        }
        self.offer(&mut notes, step);
    }

    /// An emitted piece as a step, for clients that get the pieces with the whole answer.
    pub(super) fn report_piece(&self, message: String) {
        let mut notes = self.notes();
        let done = notes.progress.unwrap_or(0.0) + PIECE_PROGRESS;
        let total = notes.total.filter(|total| done < *total);
        self.offer(&mut notes, Progress { done, total, message, extra: Object::new() });
    }

    /// Called with the notes locked, so that no step overtakes another.
    fn offer(&self, notes: &mut CallNotes, step: Progress) {
        if self.token.is_none() {
            return;
        }
        notes.progress = Some(step.done);
        notes.total = step.total;
        match notes.pace.offer(step, Instant::now()) {
            Some(step) => self.send_step(step),
            // `send_notifications` looks when it is due.
            None => self.ready.notify_one(),
        }
    }

    /// A step without secrets and hidden characters.
    pub(super) fn screened(&self, step: Progress) -> Progress {
        let mut extra = Value::Object(step.extra);
        self.screening.fields(&mut extra);
        let extra = extra.as_object_mut().map(std::mem::take).unwrap_or_default();
        let message = self.screening.screen_text(&step.message);
        Progress { message, extra, ..step }
    }

    fn send_step(&self, step: Progress) {
        let Some(token) = &self.token else { return };
        let step = self.screened(step);
        let mut params = ProgressNotificationParam::new(token.clone(), step.done);
        params.total = step.total;
        params.message = (!step.message.is_empty()).then_some(step.message);
        let params = verbatim::keep(params, &step.extra.into());
        self.push(ServerNotification::ProgressNotification(ProgressNotification::new(params)));
    }

    /// Sends notifications until `finished` is cancelled and the rest has been sent.
    pub(crate) async fn send_notifications(&self, finished: &CancellationToken) {
        while !finished.is_cancelled() {
            let due = self.send_due_step();
            self.flush().await;
            let is_due = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = self.ready.notified() => {}
                () = finished.cancelled() => {}
                () = is_due => {}
            }
        }
        self.flush_all().await;
    }

    /// Sends the waiting step if it is due; otherwise returns when it is.
    fn send_due_step(&self) -> Option<Instant> {
        let mut notes = self.notes();
        if let Some(step) = notes.pace.take_due(Instant::now()) {
            self.send_step(step);
        }
        notes.pace.due()
    }

    /// Sends everything that waits, including the last step of the call.
    pub(crate) async fn flush_all(&self) {
        self.send_last_step();
        self.flush().await;
    }

    fn send_last_step(&self) {
        let mut notes = self.notes();
        if let Some(step) = notes.pace.take_last() {
            self.send_step(step);
        }
    }

    async fn flush(&self) {
        loop {
            let next = self.queue().pop_front();
            let Some(notification) = next else { return };
            if self.peer.send_notification(notification).await.is_err() {
                self.queue().clear();
            }
        }
    }
}
