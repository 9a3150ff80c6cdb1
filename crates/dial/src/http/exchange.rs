//! Sends one message and handles its answer.

use super::{Outgoing, Post, Terms, extra, locked};
use crate::{
    Event, Failure,
    answers::{self, Awaited},
    courier::{Draft, content_type, echo, failure},
    events::Events,
    headers, message,
};
use reqwest::Response;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

/// How long a stream is read after its last answer, so that its connection can be reused.
const LINGER: Duration = Duration::from_millis(200);
/// Maximum consecutive attempts to resume a stream that yield nothing.
const RESUMES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Maximum pause that a server may request; it may exceed our own.
const LONGEST_ASKED: Duration = Duration::from_mins(5);

/// A message that was sent.
struct Sent {
    terms: Terms,
    stateless: bool,
}

impl Post {
    /// Sends a request and follows its answer to the end.
    pub(super) async fn exchange(self: &Arc<Self>, outgoing: Outgoing, ids: Vec<Value>) {
        let mut awaited = Awaited::new(ids);
        let outcome = self.round_trip(&outgoing, &mut awaited).await;
        let failure = match outcome {
            Ok(()) if awaited.is_empty() => return,
            Ok(()) => Failure::Malformed("it contains no answer to the request".to_owned()),
            Err(failure) => failure,
        };
        for id in awaited.unanswered() {
            self.listener.event(Event::Lost { id, failure: failure.clone() });
        }
    }

    /// Sends a notification, or an answer to a server's request, and waits until the server acknowledges it.
    pub(super) async fn tell(self: &Arc<Self>, outgoing: Outgoing) -> Result<(), Failure> {
        let limit = self.courier.idle_timeout;
        let sending = timeout(limit, self.post(&outgoing));
        let outcome = self.ending.run_until_cancelled(sending).await;
        let Some(outcome) = outcome else {
            return Err(Failure::Lost("the connection is closed".to_owned()));
        };
        let (response, sent) = outcome.map_err(|_| {
            Failure::Lost(format!("no acknowledgment within {} s", limit.as_secs_f32()))
        })??;
        if !response.status().is_success() {
            return Err(self.refused(response, &sent, &mut Awaited::default()).await);
        }
        let method = outgoing.message.get("method").and_then(Value::as_str);
        if method == Some("notifications/initialized") && !sent.stateless {
            self.stand_by().await;
        }
        // No answer is expected, but messages from the server are delivered anyway.
        if content_type(&response) == "text/event-stream" {
            let post = Arc::clone(self);
            let ending = self.ending.clone();
            self.tasks.spawn(async move {
                let (mut reader, mut awaited) =
                    (Events::new(post.courier.message_bytes), Awaited::default());
                ending.run_until_cancelled(post.read(response, &mut reader, &mut awaited)).await;
            });
        } else if let Ok(body) = self.courier.body(response, self.courier.message_bytes).await
            && body.first().is_some_and(|first| matches!(first, b'{' | b'['))
            && let Ok(value) = message::parse(&body)
            && speaks(&value)
        {
            answers::deliver(value, &mut Awaited::default(), self.listener.as_ref());
        }
        Ok(())
    }

    async fn post(&self, outgoing: &Outgoing) -> Result<(Response, Sent), Failure> {
        let message = &outgoing.message;
        let mut terms = self.terms();
        let starts = message.get("method").and_then(Value::as_str) == Some("initialize");
        let stateless =
            headers::is_stateless(message, terms.version.as_deref().filter(|_| !starts));
        let mut fields = headers::describing(message, terms.version.as_deref());
        if starts || stateless {
            // A request that starts a session has none.
            terms.session = None;
        }
        if let Some(session) = &terms.session {
            echo(&mut fields, headers::SESSION, session);
        }
        extra(&mut fields, &outgoing.headers)?;
        let body = serde_json::to_vec(message).map_err(|error| {
            Failure::Unreachable(format!("the message can't be written as JSON: {error}"))
        })?;
        let draft = Draft::post(&self.courier.url, body.into(), fields);
        let response = self.courier.send(&draft).await?;
        if starts && response.status().is_success() {
            let given = response.headers().get(headers::SESSION).and_then(|id| id.to_str().ok());
            locked(&self.terms).session = given.map(str::to_owned);
            terms.session = given.map(str::to_owned);
        }
        Ok((response, Sent { terms, stateless }))
    }

    async fn round_trip(&self, outgoing: &Outgoing, awaited: &mut Awaited) -> Result<(), Failure> {
        let (response, sent) = self.post(outgoing).await?;
        let status = response.status();
        if !status.is_success() {
            let failure = self.refused(response, &sent, awaited).await;
            return if awaited.is_empty() { Ok(()) } else { Err(failure) };
        }
        match content_type(&response).as_str() {
            "text/event-stream" => self.follow(response, &sent, awaited).await,
            "application/json" | "" => {
                let body = self.courier.body(response, self.courier.message_bytes).await?;
                if body.is_empty() {
                    return self.silent(status.as_u16(), awaited);
                }
                let value = message::parse(&body)
                    .map_err(|error| Failure::Malformed(format!("it is not valid JSON: {error}")))?;
                answers::deliver(value, awaited, self.listener.as_ref());
                Ok(())
            }
            _ if matches!(status.as_u16(), 202 | 204) => self.silent(status.as_u16(), awaited),
            other => Err(Failure::Malformed(format!(
                "it is `{other}`, neither JSON nor an event stream; is this the address of an MCP server?"
            ))),
        }
    }

    /// Handles a request that was accepted without an answer. Some servers send the answer on the event stream.
    fn silent(&self, status: u16, awaited: &mut Awaited) -> Result<(), Failure> {
        if locked(&self.standing).is_some() {
            awaited.clear();
            return Ok(());
        }
        Err(Failure::Malformed(format!("it is empty, with status {status}")))
    }

    /// Handles a refusal: an answer, if it contains one, the end of the session, or a lost request.
    async fn refused(&self, response: Response, sent: &Sent, awaited: &mut Awaited) -> Failure {
        const METHOD_NOT_FOUND: i64 = -32601;
        let status = response.status().as_u16();
        let refusal = self.courier.refusal(response).await;
        let code = refusal.message.as_ref().and_then(|message| message["error"]["code"].as_i64());
        if status == 404
            && let Some(session) = &sent.terms.session
            && code != Some(METHOD_NOT_FOUND)
        {
            self.session_over(session);
            return Failure::Refused { status, text: "it no longer knows the session".to_owned() };
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
        sent: &Sent,
        awaited: &mut Awaited,
    ) -> Result<(), Failure> {
        let mut reader = Events::new(self.courier.message_bytes);
        let mut ended = self.read(response, &mut reader, awaited).await?;
        let mut fruitless = 0;
        while !awaited.is_empty() {
            if sent.stateless || reader.last_id().is_none() {
                return Err(Failure::Lost(format!("{} before the answer", ended.how)));
            }
            if !ended.heard {
                fruitless += 1;
            }
            if fruitless >= RESUMES {
                return Err(Failure::Lost(format!("the stream broke {RESUMES} times in a row")));
            }
            sleep(pause(reader.retry_ms(), fruitless)).await;
            ended = match self.resume(&mut reader, sent).await? {
                Ok(response) => self.read(response, &mut reader, awaited).await?,
                Err(how) => Ended { heard: false, how },
            };
            if ended.heard {
                fruitless = 0;
            }
        }
        Ok(())
    }

    /// Requests the rest of a stream. An unreachable server may be reachable next time; a refusal is final.
    async fn resume(
        &self,
        reader: &mut Events,
        sent: &Sent,
    ) -> Result<Result<Response, String>, Failure> {
        let mut fields = Self::session_fields(&self.terms());
        if let Some(session) = &sent.terms.session {
            echo(&mut fields, headers::SESSION, session);
        }
        if let Some(id) = reader.last_id() {
            echo(&mut fields, headers::LAST_EVENT, id);
        }
        let draft = Draft::listen(&self.courier.url, fields);
        let response = match self.courier.send(&draft).await {
            Ok(response) => response,
            Err(Failure::Unreachable(why) | Failure::Lost(why)) => return Ok(Err(why)),
            Err(failure) => return Err(failure),
        };
        let status = response.status();
        if status.is_server_error() {
            return Ok(Err(format!("the server answered {status}")));
        }
        if !status.is_success() {
            let why = self.refused(response, sent, &mut Awaited::default()).await;
            return Err(Failure::Lost(format!(
                "the stream broke and can't be resumed: {why}"
            )));
        }
        if content_type(&response) != "text/event-stream" {
            let kind = content_type(&response);
            return Err(Failure::Malformed(format!("the rest of the stream is `{kind}`")));
        }
        reader.restart();
        Ok(Ok(response))
    }

    /// Reads a stream to its end, or until all awaited answers have arrived. The result is an error only if resuming
    /// makes no sense.
    pub(super) async fn read(
        &self,
        mut response: Response,
        reader: &mut Events,
        awaited: &mut Awaited,
    ) -> Result<Ended, Failure> {
        let mut events = Vec::new();
        let mut heard = false;
        let waits = !awaited.is_empty();
        loop {
            let chunk = if waits && awaited.is_empty() {
                match timeout(LINGER, response.chunk()).await {
                    Ok(chunk) => chunk,
                    Err(_) => Ok(None),
                }
            } else {
                response.chunk().await
            };
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(Ended { heard, how: "the stream ended".to_owned() }),
                Err(error) => return Ok(Ended { heard, how: failure(error).to_string() }),
            };
            let before = reader.last_id().map(str::to_owned);
            let read = reader.push(&chunk, &mut events);
            heard |= !events.is_empty() || reader.last_id() != before.as_deref();
            for event in events.drain(..) {
                if event.name.is_empty() || event.name == "message" {
                    answers::deliver_text(event.data.as_bytes(), awaited, self.listener.as_ref());
                }
            }
            read.map_err(|too_long| Failure::Malformed(format!("its stream contains {too_long}")))?;
        }
    }
}

/// How a stream ended, and whether it delivered anything new.
pub(super) struct Ended {
    pub(super) heard: bool,
    pub(super) how: String,
}

/// Returns how long to wait before a stream is resumed.
pub(super) fn pause(asked_ms: Option<u64>, fruitless: u32) -> Duration {
    let first = asked_ms.map_or(PAUSE, Duration::from_millis).min(LONGEST_ASKED);
    let longer = first.saturating_mul(1_u32 << fruitless.min(6));
    longer.min(LONGEST_PAUSE.max(first))
}

/// Whether a value is a JSON-RPC message: many servers put other JSON into acknowledgments.
fn speaks(value: &Value) -> bool {
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
            assert_eq!(pause(asked, fruitless), Duration::from_millis(expected_ms));
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
