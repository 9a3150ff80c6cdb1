//! The event stream for messages that a server with sessions sends on its own.

use super::{
    HttpState,
    exchange::{StreamEnd, resume_pause},
    locked,
};
use crate::{
    TransportFailure,
    answers::AwaitedAnswers,
    events::EventReader,
    headers,
    http_sender::{HttpRequestDraft, content_type, insert_if_valid},
};
use std::sync::Arc;
use tokio::{
    sync::oneshot,
    time::{Duration, sleep, timeout},
};

/// Minimum pause before a stream is reopened, whatever the server asks for.
const MIN_REOPEN_PAUSE: Duration = Duration::from_millis(50);
/// How long to wait for the first connection.
const FIRST_OPEN_TIMEOUT: Duration = Duration::from_secs(1);

impl HttpState {
    /// Opens the stream, replacing a previous one. Messages are lost before it is open, so this waits for it, but only
    /// briefly: some servers answer only with their first message.
    pub(super) async fn open_event_stream(self: &Arc<Self>) {
        let (opening, opened) = oneshot::channel();
        self.spawn_event_stream(opening);
        // An error means that the server has no stream.
        let _opened = timeout(FIRST_OPEN_TIMEOUT, opened).await;
    }

    fn spawn_event_stream(self: &Arc<Self>, opening: oneshot::Sender<()>) {
        let token = self.ending.child_token();
        if let Some(former) = locked(&self.event_stream).replace(token.clone()) {
            former.cancel();
        }
        let post = Arc::clone(self);
        self.tasks.spawn(async move {
            let ended = token.run_until_cancelled(post.run_event_stream(opening)).await;
            if ended.is_some() && !token.is_cancelled() {
                // The server has no such stream, so no answer can arrive on it. A cancelled stream has been replaced.
                *locked(&post.event_stream) = None;
            }
        });
    }

    async fn run_event_stream(self: &Arc<Self>, opening: oneshot::Sender<()>) {
        let mut reader = EventReader::new(self.courier.message_bytes);
        let (mut fruitless, mut opening) = (0, Some(opening));
        loop {
            match self.read_event_stream_once(&mut reader, &mut opening).await {
                Ok(ended) if ended.made_progress => fruitless = 0,
                Ok(ended) => {
                    fruitless += 1;
                    tracing::debug!("the event stream broke: {}", ended.how);
                }
                Err(failure) => {
                    tracing::debug!("no event stream: {failure}");
                    return;
                }
            }
            sleep(resume_pause(reader.retry_ms(), fruitless).max(MIN_REOPEN_PAUSE)).await;
        }
    }

    /// Runs one connection of the stream, and reports the first one on `opening`. An error means that the server has no
    /// stream.
    async fn read_event_stream_once(
        &self,
        reader: &mut EventReader,
        opening: &mut Option<oneshot::Sender<()>>,
    ) -> Result<StreamEnd, TransportFailure> {
        let terms = self.terms();
        let mut fields = Self::session_fields(&terms);
        if let Some(id) = reader.last_id() {
            insert_if_valid(&mut fields, headers::LAST_EVENT_HEADER, id);
        }
        let draft = HttpRequestDraft::listen(&self.courier.url, fields);
        let response = match self.courier.send(&draft).await {
            Ok(response) => response,
            Err(failure @ (TransportFailure::Unreachable(_) | TransportFailure::Lost(_))) => {
                return Ok(StreamEnd { made_progress: false, how: failure.to_string() });
            }
            Err(failure) => return Err(failure),
        };
        let status = response.status();
        if status.is_server_error() && status != http::StatusCode::NOT_IMPLEMENTED {
            return Ok(StreamEnd {
                made_progress: false,
                how: format!("the server answered {status}"),
            });
        }
        if let Some(session) = &terms.session
            && status == http::StatusCode::NOT_FOUND
            && opening.is_none()
        {
            // A server without the stream may answer 404 the first time; one that had it has lost the session.
            self.session_over(session);
        }
        if !status.is_success() {
            return Err(TransportFailure::Refused { status: status.as_u16(), text: String::new() });
        }
        let kind = content_type(&response);
        if kind != "text/event-stream" {
            return Err(TransportFailure::Malformed(format!("it is `{kind}`")));
        }
        if let Some(opening) = opening.take() {
            // The receiver may have stopped waiting.
            let _unheard = opening.send(());
        }
        reader.restart();
        let read = self.read(response, reader, &mut AwaitedAnswers::default()).await;
        // An event that is too long ends this connection, not the stream.
        Ok(read
            .unwrap_or_else(|failure| StreamEnd { made_progress: false, how: failure.to_string() }))
    }
}
