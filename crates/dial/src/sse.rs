//! HTTP with SSE, as in the first revision: one stream for all incoming messages, which names an endpoint for outgoing
//! ones.

use crate::{
    ClientTransport, HttpSettings, Outgoing, Running, TransportEvent, TransportFailure,
    TransportListener,
    answers::{self, AwaitedAnswers},
    events::{EventReader, ServerEvent},
    headers,
    http_sender::{HttpRequestDraft, HttpSender, content_type, transport_failure},
};
use http::HeaderMap;
use reqwest::Response;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

/// Opens the stream, and waits until it names the endpoint.
pub async fn open(
    settings: HttpSettings,
    listener: Arc<dyn TransportListener>,
) -> Result<Arc<dyn ClientTransport>, TransportFailure> {
    let courier = HttpSender::new(&settings)?;
    let draft = HttpRequestDraft::listen(&courier.url, HeaderMap::new());
    let response = timeout(courier.idle_timeout, courier.send(&draft))
        .await
        .map_err(|_| no_endpoint_failure())??;
    if !response.status().is_success() {
        return Err(courier.refusal(response).await.failure);
    }
    let kind = content_type(&response);
    if kind != "text/event-stream" {
        return Err(TransportFailure::Malformed(format!("it is `{kind}`, not an event stream")));
    }
    let mut stream = SseEventStream {
        response,
        reader: EventReader::new(courier.message_bytes),
        ready: VecDeque::new(),
    };
    let endpoint = timeout(courier.idle_timeout, endpoint(&mut stream, &courier.url))
        .await
        .map_err(|_| no_endpoint_failure())??;
    let way = Arc::new(SseConnection {
        courier,
        endpoint,
        listener,
        version: Mutex::new(None),
        ending: CancellationToken::new(),
        reading: TaskTracker::new(),
        posting: TaskTracker::new(),
    });
    let reading = Arc::clone(&way);
    way.reading.spawn(async move {
        let end = reading.ending.run_until_cancelled(reading.read(&mut stream)).await;
        reading.ending.cancel();
        reading.posting.close();
        reading.posting.wait().await;
        let failure = end.unwrap_or_else(|| TransportFailure::Lost("docent closed it".into()));
        reading.listener.event(TransportEvent::Closed(failure));
    });
    way.reading.close();
    Ok(Arc::new(SseTransport { way }))
}

fn no_endpoint_failure() -> TransportFailure {
    TransportFailure::Lost("the server named no endpoint for messages in time".to_owned())
}

struct SseTransport {
    way: Arc<SseConnection>,
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.way.ending.cancel();
    }
}

struct SseConnection {
    courier: HttpSender,
    endpoint: Url,
    listener: Arc<dyn TransportListener>,
    version: Mutex<Option<String>>,
    ending: CancellationToken,
    reading: TaskTracker,
    posting: TaskTracker,
}

impl ClientTransport for SseTransport {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>> {
        Box::pin(async move {
            let way = &self.way;
            if way.ending.is_cancelled() {
                return Err(TransportFailure::Unreachable("the connection is closed".to_owned()));
            }
            let id =
                outgoing.message.get("id").filter(|_| outgoing.message.get("method").is_some());
            if let Some(id) = id.cloned() {
                way.start_request(outgoing, id);
                return Ok(());
            }
            let sending = timeout(way.courier.idle_timeout, way.post(&outgoing));
            match way.ending.run_until_cancelled(sending).await {
                Some(Ok(outcome)) => outcome,
                Some(Err(_)) => Err(TransportFailure::Lost("no acknowledgment in time".to_owned())),
                None => Err(TransportFailure::Lost("the connection is closed".to_owned())),
            }
        })
    }

    fn set_revision(&self, version: &str) {
        *self.way.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            self.way.ending.cancel();
            self.way.reading.wait().await;
        })
    }
}

impl SseConnection {
    /// Sends a request concurrently: a server may acknowledge it only together with the answer.
    fn start_request(self: &Arc<Self>, outgoing: Outgoing, id: Value) {
        let way = Arc::clone(self);
        self.posting.spawn(async move {
            let posted = way.ending.run_until_cancelled(way.post(&outgoing)).await;
            if let Some(Err(failure)) = posted {
                way.listener.event(TransportEvent::Lost { id, failure });
            }
        });
    }

    /// Sends a message. The response tells whether the server accepted it; the answer comes on the stream.
    async fn post(&self, outgoing: &Outgoing) -> Result<(), TransportFailure> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let fields = headers::describe_message(&outgoing.message, version.as_deref());
        let body = serde_json::to_vec(&outgoing.message).map_err(|error| {
            TransportFailure::Unreachable(format!("the message can't be written as JSON: {error}"))
        })?;
        let draft = HttpRequestDraft::post(&self.endpoint, body.into(), fields);
        let response = self.courier.send(&draft).await?;
        if response.status().is_success() {
            return Ok(());
        }
        let refusal = self.courier.refusal(response).await;
        let id = outgoing.message.get("id").filter(|_| outgoing.message.get("method").is_some());
        let (Some(message), Some(id)) = (refusal.message, id) else { return Err(refusal.failure) };
        let mut awaited = AwaitedAnswers::new(vec![id.clone()]);
        answers::deliver(message, &mut awaited, self.listener.as_ref());
        if awaited.is_empty() { Ok(()) } else { Err(refusal.failure) }
    }

    /// Delivers all messages until the stream ends.
    async fn read(&self, stream: &mut SseEventStream) -> TransportFailure {
        loop {
            match stream.next().await {
                Ok(event) if event.name.is_empty() || event.name == "message" => {
                    let listener = self.listener.as_ref();
                    answers::deliver_text(
                        event.data.as_bytes(),
                        &mut AwaitedAnswers::default(),
                        listener,
                    );
                }
                // A second endpoint is ignored: the first one was checked, and messages are being sent to it.
                Ok(_) => {}
                Err(failure) => return failure,
            }
        }
    }
}

/// The stream, one event at a time.
struct SseEventStream {
    response: Response,
    reader: EventReader,
    ready: VecDeque<ServerEvent>,
}

impl SseEventStream {
    async fn next(&mut self) -> Result<ServerEvent, TransportFailure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let Some(chunk) = self.response.chunk().await.map_err(transport_failure)? else {
                return Err(TransportFailure::Lost("the server ended the stream".to_owned()));
            };
            let mut events = Vec::new();
            let read = self.reader.push(&chunk, &mut events);
            self.ready.extend(events);
            if self.ready.is_empty() {
                read.map_err(|long| {
                    TransportFailure::Malformed(format!("its stream contains {long}"))
                })?;
            }
        }
    }
}

/// Reads the endpoint that the stream names. It must be on the same server, because messages contain the token.
async fn endpoint(stream: &mut SseEventStream, base: &Url) -> Result<Url, TransportFailure> {
    loop {
        let event = stream.next().await?;
        if event.name != "endpoint" {
            continue;
        }
        let target = base.join(event.data.trim()).map_err(|error| {
            TransportFailure::Malformed(format!(
                "the endpoint for messages is not a valid URL ({error})"
            ))
        })?;
        if target.origin() != base.origin() {
            let origin = target.origin().ascii_serialization();
            return Err(TransportFailure::Malformed(format!(
                "its endpoint for messages is on another server, {origin}, and is not used"
            )));
        }
        return Ok(target);
    }
}
