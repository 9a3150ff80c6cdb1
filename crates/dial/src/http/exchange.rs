//! Sends one message and handles its answer.

use super::{HttpState, Outgoing, SessionTerms, add_configured_headers, locked};
use crate::{
    TransportEvent, TransportFailure,
    answers::{self, AwaitedAnswers},
    events::EventReader,
    headers,
    http_sender::{HttpRequestDraft, content_type, insert_if_valid, transport_failure},
    message,
};
use reqwest::Response;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

/// How long a stream is read after its last answer, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// Maximum consecutive attempts to resume a stream that yield nothing.
const MAX_FRUITLESS_RESUMES: u32 = 5;
const FIRST_RESUME_PAUSE: Duration = Duration::from_secs(1);
const MAX_RESUME_PAUSE: Duration = Duration::from_secs(30);
/// Maximum pause that a server may request; it may exceed our own.
const MAX_REQUESTED_PAUSE: Duration = Duration::from_mins(5);

/// A message that was sent.
struct SentMessage {
    terms: SessionTerms,
    stateless: bool,
}

impl HttpState {
    /// Sends a request and follows its answer to the end.
    pub(super) async fn exchange(self: &Arc<Self>, outgoing: Outgoing, ids: Vec<Value>) {
        let mut awaited = AwaitedAnswers::new(ids);
        let outcome = self.round_trip(&outgoing, &mut awaited).await;
        let failure = match outcome {
            Ok(()) if awaited.is_empty() => return,
            Ok(()) => {
                TransportFailure::Malformed("it contains no answer to the request".to_owned())
            }
            Err(failure) => failure,
        };
        for id in awaited.unanswered() {
            self.listener.event(TransportEvent::Lost { id, failure: failure.clone() });
        }
    }

    /// Sends a notification, or an answer to a server's request, and waits until the server acknowledges it.
    pub(super) async fn send_one_way(
        self: &Arc<Self>,
        outgoing: Outgoing,
    ) -> Result<(), TransportFailure> {
        let limit = self.courier.idle_timeout;
        let sending = timeout(limit, self.post(&outgoing));
        let outcome = self.ending.run_until_cancelled(sending).await;
        let Some(outcome) = outcome else {
            return Err(TransportFailure::Lost("the connection is closed".to_owned()));
        };
        let (response, sent) = outcome.map_err(|_| {
            TransportFailure::Lost(format!("no acknowledgment within {} s", limit.as_secs_f32()))
        })??;
        if !response.status().is_success() {
            return Err(self.handle_refusal(response, &sent, &mut AwaitedAnswers::default()).await);
        }
        let method = outgoing.message.get("method").and_then(Value::as_str);
        if method == Some("notifications/initialized") && !sent.stateless {
            self.open_event_stream().await;
        }
        // No answer is expected, but messages from the server are delivered anyway.
        if content_type(&response) == "text/event-stream" {
            let post = Arc::clone(self);
            let ending = self.ending.clone();
            self.tasks.spawn(async move {
                let (mut reader, mut awaited) =
                    (EventReader::new(post.courier.message_bytes), AwaitedAnswers::default());
                ending.run_until_cancelled(post.read(response, &mut reader, &mut awaited)).await;
            });
        } else if let Ok(body) = self.courier.body(response, self.courier.message_bytes).await
            && body.first().is_some_and(|first| matches!(first, b'{' | b'['))
            && let Ok(value) = message::parse(&body)
            && is_json_rpc(&value)
        {
            answers::deliver(value, &mut AwaitedAnswers::default(), self.listener.as_ref());
        }
        Ok(())
    }

    async fn post(&self, outgoing: &Outgoing) -> Result<(Response, SentMessage), TransportFailure> {
        let message = &outgoing.message;
        let mut terms = self.terms();
        let starts = message.get("method").and_then(Value::as_str) == Some("initialize");
        let stateless =
            headers::is_stateless(message, terms.version.as_deref().filter(|_| !starts));
        let mut fields = headers::describe_message(message, terms.version.as_deref());
        if starts || stateless {
            // A request that starts a session has none.
            terms.session = None;
        }
        if let Some(session) = &terms.session {
            insert_if_valid(&mut fields, headers::SESSION_HEADER, session);
        }
        add_configured_headers(&mut fields, &outgoing.headers)?;
        let body = serde_json::to_vec(message).map_err(|error| {
            TransportFailure::Unreachable(format!("the message can't be written as JSON: {error}"))
        })?;
        let draft = HttpRequestDraft::post(&self.courier.url, body.into(), fields);
        let response = self.courier.send(&draft).await?;
        if starts && response.status().is_success() {
            let given =
                response.headers().get(headers::SESSION_HEADER).and_then(|id| id.to_str().ok());
            locked(&self.terms).session = given.map(str::to_owned);
            terms.session = given.map(str::to_owned);
        }
        Ok((response, SentMessage { terms, stateless }))
    }

    async fn round_trip(
        &self,
        outgoing: &Outgoing,
        awaited: &mut AwaitedAnswers,
    ) -> Result<(), TransportFailure> {
        let (response, sent) = self.post(outgoing).await?;
        let status = response.status();
        if !status.is_success() {
            let failure = self.handle_refusal(response, &sent, awaited).await;
            return if awaited.is_empty() { Ok(()) } else { Err(failure) };
        }
        match content_type(&response).as_str() {
            "text/event-stream" => self.follow(response, &sent, awaited).await,
            "application/json" | "" => {
                let body = self.courier.body(response, self.courier.message_bytes).await?;
                if body.is_empty() {
                    return self.accept_empty_answer(status.as_u16(), awaited);
                }
                let value = message::parse(&body).map_err(|error| {
                    TransportFailure::Malformed(format!("it is not valid JSON: {error}"))
                })?;
                answers::deliver(value, awaited, self.listener.as_ref());
                Ok(())
            }
            _ if matches!(status.as_u16(), 202 | 204) => {
                self.accept_empty_answer(status.as_u16(), awaited)
            }
            other => Err(TransportFailure::Malformed(format!(
                "it is `{other}`, neither JSON nor an event stream; is this the address of an MCP server?"
            ))),
        }
    }

    /// Handles a request that was accepted without an answer. Some servers send the answer on the event stream.
    fn accept_empty_answer(
        &self,
        status: u16,
        awaited: &mut AwaitedAnswers,
    ) -> Result<(), TransportFailure> {
        if locked(&self.event_stream).is_some() {
            awaited.clear();
            return Ok(());
        }
        Err(TransportFailure::Malformed(format!("it is empty, with status {status}")))
    }

    /// Handles a refusal: an answer, if it contains one, the end of the session, or a lost request.
    async fn handle_refusal(
        &self,
        response: Response,
        sent: &SentMessage,
        awaited: &mut AwaitedAnswers,
    ) -> TransportFailure {
        const METHOD_NOT_FOUND: i64 = -32601;
        let status = response.status().as_u16();
        let refusal = self.courier.refusal(response).await;
        let code = refusal.message.as_ref().and_then(|message| message["error"]["code"].as_i64());
        if status == 404
            && let Some(session) = &sent.terms.session
            && code != Some(METHOD_NOT_FOUND)
        {
            self.session_over(session);
            return TransportFailure::Refused {
                status,
                text: "it no longer knows the session".to_owned(),
            };
        }
        if let Some(message) = refusal.message
            && !awaited.is_empty()
        {
            answers::deliver(message, awaited, self.listener.as_ref());
        }
        refusal.failure
    }

    /// Reads a stream until the answers have arrived, and resumes it if it breaks and the server supports that.
    async fn follow(
        &self,
        response: Response,
        sent: &SentMessage,
        awaited: &mut AwaitedAnswers,
    ) -> Result<(), TransportFailure> {
        let mut reader = EventReader::new(self.courier.message_bytes);
        let mut ended = self.read(response, &mut reader, awaited).await?;
        let mut fruitless = 0;
        while !awaited.is_empty() {
            if sent.stateless || reader.last_id().is_none() {
                return Err(TransportFailure::Lost(format!("{} before the answer", ended.how)));
            }
            if !ended.made_progress {
                fruitless += 1;
            }
            if fruitless >= MAX_FRUITLESS_RESUMES {
                return Err(TransportFailure::Lost(format!(
                    "the stream broke {MAX_FRUITLESS_RESUMES} times in a row"
                )));
            }
            sleep(resume_pause(reader.retry_ms(), fruitless)).await;
            ended = match self.resume(&mut reader, sent).await? {
                Ok(response) => self.read(response, &mut reader, awaited).await?,
                Err(how) => StreamEnd { made_progress: false, how },
            };
            if ended.made_progress {
                fruitless = 0;
            }
        }
        Ok(())
    }

    /// Requests the rest of a stream. An unreachable server may be reachable next time; a refusal is final.
    async fn resume(
        &self,
        reader: &mut EventReader,
        sent: &SentMessage,
    ) -> Result<Result<Response, String>, TransportFailure> {
        let mut fields = Self::session_fields(&self.terms());
        if let Some(session) = &sent.terms.session {
            insert_if_valid(&mut fields, headers::SESSION_HEADER, session);
        }
        if let Some(id) = reader.last_id() {
            insert_if_valid(&mut fields, headers::LAST_EVENT_HEADER, id);
        }
        let draft = HttpRequestDraft::listen(&self.courier.url, fields);
        let response = match self.courier.send(&draft).await {
            Ok(response) => response,
            Err(TransportFailure::Unreachable(why) | TransportFailure::Lost(why)) => {
                return Ok(Err(why));
            }
            Err(failure) => return Err(failure),
        };
        let status = response.status();
        if status.is_server_error() {
            return Ok(Err(format!("the server answered {status}")));
        }
        if !status.is_success() {
            let why = self.handle_refusal(response, sent, &mut AwaitedAnswers::default()).await;
            return Err(TransportFailure::Lost(format!(
                "the stream broke and can't be resumed: {why}"
            )));
        }
        if content_type(&response) != "text/event-stream" {
            let kind = content_type(&response);
            return Err(TransportFailure::Malformed(format!("the rest of the stream is `{kind}`")));
        }
        reader.restart();
        Ok(Ok(response))
    }

    /// Reads a stream to its end, or until all awaited answers have arrived. The result is an error only if resuming
    /// makes no sense.
    pub(super) async fn read(
        &self,
        mut response: Response,
        reader: &mut EventReader,
        awaited: &mut AwaitedAnswers,
    ) -> Result<StreamEnd, TransportFailure> {
        let mut events = Vec::new();
        let mut heard = false;
        let waits = !awaited.is_empty();
        loop {
            let chunk = if waits && awaited.is_empty() {
                match timeout(DRAIN_TIMEOUT, response.chunk()).await {
                    Ok(chunk) => chunk,
                    Err(_) => Ok(None),
                }
            } else {
                response.chunk().await
            };
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => {
                    return Ok(StreamEnd {
                        made_progress: heard,
                        how: "the stream ended".to_owned(),
                    });
                }
                Err(error) => {
                    return Ok(StreamEnd {
                        made_progress: heard,
                        how: transport_failure(error).to_string(),
                    });
                }
            };
            let before = reader.last_id().map(str::to_owned);
            let read = reader.push(&chunk, &mut events);
            heard |= !events.is_empty() || reader.last_id() != before.as_deref();
            for event in events.drain(..) {
                if event.name.is_empty() || event.name == "message" {
                    answers::deliver_text(event.data.as_bytes(), awaited, self.listener.as_ref());
                }
            }
            read.map_err(|too_long| {
                TransportFailure::Malformed(format!("its stream contains {too_long}"))
            })?;
        }
    }
}

/// How a stream ended, and whether it delivered anything new.
pub(super) struct StreamEnd {
    pub(super) made_progress: bool,
    pub(super) how: String,
}

/// Returns how long to wait before a stream is resumed.
pub(super) fn resume_pause(asked_ms: Option<u64>, fruitless: u32) -> Duration {
    let first = asked_ms.map_or(FIRST_RESUME_PAUSE, Duration::from_millis).min(MAX_REQUESTED_PAUSE);
    let longer = first.saturating_mul(1_u32 << fruitless.min(6));
    longer.min(MAX_RESUME_PAUSE.max(first))
}

/// Whether a value is a JSON-RPC message: many servers put other JSON into acknowledgments.
fn is_json_rpc(value: &Value) -> bool {
    let one =
        |value: &Value| value.get("jsonrpc").is_some() && value.get("id") != Some(&Value::Null);
    match value {
        Value::Array(values) => !values.is_empty() && values.iter().all(one),
        value => one(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let check = |asked, fruitless, expected_ms| {
            assert_eq!(resume_pause(asked, fruitless), Duration::from_millis(expected_ms));
        };
        check(None, 0, 1000);
        check(None, 2, 4000);
        check(None, 40, 30_000);
        check(Some(500), 0, 500);
        check(Some(500), 1, 1000);
        check(Some(60_000), 3, 60_000);
        check(Some(u64::MAX), 0, 300_000);
        check(Some(0), 9, 0);
    }
}
