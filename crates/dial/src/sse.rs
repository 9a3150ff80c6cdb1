//! HTTP with SSE, as in the first revision: one stream for all incoming messages, which names an endpoint for outgoing
//! ones.

use crate::{
    Event, Failure, HttpSettings, Line, Listener, Outgoing, Running,
    answers::{self, Awaited},
    courier::{Courier, Draft, content_type, failure},
    events::{Events, ServerEvent},
    headers,
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
    listener: Arc<dyn Listener>,
) -> Result<Arc<dyn Line>, Failure> {
    let courier = Courier::new(&settings)?;
    let draft = Draft::listen(&courier.url, HeaderMap::new());
    let response =
        timeout(courier.idle_timeout, courier.send(&draft)).await.map_err(|_| silent())??;
    if !response.status().is_success() {
        return Err(courier.refusal(response).await.failure);
    }
    let kind = content_type(&response);
    if kind != "text/event-stream" {
        return Err(Failure::Malformed(format!("it is `{kind}`, not an event stream")));
    }
    let mut stream =
        Stream { response, reader: Events::new(courier.message_bytes), ready: VecDeque::new() };
    let endpoint = timeout(courier.idle_timeout, endpoint(&mut stream, &courier.url))
        .await
        .map_err(|_| silent())??;
    let way = Arc::new(Way {
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
        let failure = end.unwrap_or_else(|| Failure::Lost("docent closed it".into()));
        reading.listener.event(Event::Closed(failure));
    });
    way.reading.close();
    Ok(Arc::new(SseLine { way }))
}

fn silent() -> Failure {
    Failure::Lost("the server named no endpoint for messages in time".to_owned())
}

struct SseLine {
    way: Arc<Way>,
}

impl Drop for SseLine {
    fn drop(&mut self) {
        self.way.ending.cancel();
    }
}

struct Way {
    courier: Courier,
    endpoint: Url,
    listener: Arc<dyn Listener>,
    version: Mutex<Option<String>>,
    ending: CancellationToken,
    reading: TaskTracker,
    posting: TaskTracker,
}

impl Line for SseLine {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), Failure>> {
        Box::pin(async move {
            let way = &self.way;
            if way.ending.is_cancelled() {
                return Err(Failure::Unreachable("the connection is closed".to_owned()));
            }
            let id =
                outgoing.message.get("id").filter(|_| outgoing.message.get("method").is_some());
            if let Some(id) = id.cloned() {
                way.ask(outgoing, id);
                return Ok(());
            }
            let sending = timeout(way.courier.idle_timeout, way.post(&outgoing));
            match way.ending.run_until_cancelled(sending).await {
                Some(Ok(outcome)) => outcome,
                Some(Err(_)) => Err(Failure::Lost("no acknowledgment in time".to_owned())),
                None => Err(Failure::Lost("the connection is closed".to_owned())),
            }
        })
    }

    fn agreed(&self, version: &str) {
        *self.way.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            self.way.ending.cancel();
            self.way.reading.wait().await;
        })
    }
}

impl Way {
    /// Sends a request concurrently: a server may acknowledge it only together with the answer.
    fn ask(self: &Arc<Self>, outgoing: Outgoing, id: Value) {
        let way = Arc::clone(self);
        self.posting.spawn(async move {
            let posted = way.ending.run_until_cancelled(way.post(&outgoing)).await;
            if let Some(Err(failure)) = posted {
                way.listener.event(Event::Lost { id, failure });
            }
        });
    }

    /// Sends a message. The response tells whether the server accepted it; the answer comes on the stream.
    async fn post(&self, outgoing: &Outgoing) -> Result<(), Failure> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let fields = headers::describing(&outgoing.message, version.as_deref());
        let body = serde_json::to_vec(&outgoing.message).map_err(|error| {
            Failure::Unreachable(format!("the message can't be written as JSON: {error}"))
        })?;
        let draft = Draft::post(&self.endpoint, body.into(), fields);
        let response = self.courier.send(&draft).await?;
        if response.status().is_success() {
            return Ok(());
        }
        let refusal = self.courier.refusal(response).await;
        let id = outgoing.message.get("id").filter(|_| outgoing.message.get("method").is_some());
        let (Some(message), Some(id)) = (refusal.message, id) else { return Err(refusal.failure) };
        let mut awaited = Awaited::new(vec![id.clone()]);
        answers::deliver(message, &mut awaited, self.listener.as_ref());
        if awaited.is_empty() { Ok(()) } else { Err(refusal.failure) }
    }

    /// Delivers all messages until the stream ends.
    async fn read(&self, stream: &mut Stream) -> Failure {
        loop {
            match stream.next().await {
                Ok(event) if event.name.is_empty() || event.name == "message" => {
                    let listener = self.listener.as_ref();
                    answers::deliver_text(event.data.as_bytes(), &mut Awaited::default(), listener);
                }
                // A second endpoint is ignored: the first one was checked, and messages are being sent to it.
                Ok(_) => {}
                Err(failure) => return failure,
            }
        }
    }
}

/// The stream, one event at a time.
struct Stream {
    response: Response,
    reader: Events,
    ready: VecDeque<ServerEvent>,
}

impl Stream {
    async fn next(&mut self) -> Result<ServerEvent, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let Some(chunk) = self.response.chunk().await.map_err(failure)? else {
                return Err(Failure::Lost("the server ended the stream".to_owned()));
            };
            let mut events = Vec::new();
            let read = self.reader.push(&chunk, &mut events);
            self.ready.extend(events);
            if self.ready.is_empty() {
                read.map_err(|long| Failure::Malformed(format!("its stream contains {long}")))?;
            }
        }
    }
}

/// Reads the endpoint that the stream names. It must be on the same server, because messages contain the token.
async fn endpoint(stream: &mut Stream, base: &Url) -> Result<Url, Failure> {
    loop {
        let event = stream.next().await?;
        if event.name != "endpoint" {
            continue;
        }
        let target = base.join(event.data.trim()).map_err(|error| {
            Failure::Malformed(format!("the endpoint for messages is not a valid URL ({error})"))
        })?;
        if target.origin() != base.origin() {
            let origin = target.origin().ascii_serialization();
            return Err(Failure::Malformed(format!(
                "its endpoint for messages is on another server, {origin}, and is not used"
            )));
        }
        return Ok(target);
    }
}
