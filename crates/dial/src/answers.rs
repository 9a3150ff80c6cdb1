//! Answers to a message: delivers values to the listener one by one, and tracks the ids that are still awaited.

use crate::{TransportEvent, TransportListener, http_sender::shorten, message};
use serde_json::Value;

/// The answers that are still awaited on one stream.
#[derive(Debug, Default)]
pub(crate) struct AwaitedAnswers {
    ids: Vec<Value>,
    /// The request that the stream belongs to.
    request: Option<Value>,
}

impl AwaitedAnswers {
    /// Creates the state for the stream of a request or a batch.
    pub(crate) fn new(ids: Vec<Value>) -> Self {
        let request = match ids.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        Self { ids, request }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Stops waiting for answers on this stream.
    pub(crate) fn clear(&mut self) {
        self.ids.clear();
    }

    /// Returns the ids without an answer.
    pub(crate) fn unanswered(self) -> Vec<Value> {
        self.ids
    }
}

/// Delivers every message in `value` to the listener, and removes the ids that it answers.
pub(crate) fn deliver(
    value: Value,
    awaited: &mut AwaitedAnswers,
    listener: &dyn TransportListener,
) {
    match value {
        Value::Array(values) => {
            for value in values {
                deliver_one(value, awaited, listener);
            }
        }
        value => deliver_one(value, awaited, listener),
    }
}

fn deliver_one(mut value: Value, awaited: &mut AwaitedAnswers, listener: &dyn TransportListener) {
    let Some(message) = value.as_object_mut() else {
        listener.event(TransportEvent::Noise(shorten(&value.to_string())));
        return;
    };
    if !message.contains_key("method") {
        let nameless = message.get("id").is_none_or(Value::is_null);
        // An error without an id answers the request if only one is awaited.
        if nameless
            && message.contains_key("error")
            && let [only] = awaited.ids.as_slice()
        {
            message.insert("id".to_owned(), only.clone());
        }
        // After a part of an answer, the rest is still awaited.
        let is_part = message.get("result").and_then(|result| result.get("partial"));
        if let Some(id) = message.get("id").filter(|_| is_part != Some(&Value::Bool(true))) {
            awaited.ids.retain(|other| other != id);
        }
    }
    listener.event(TransportEvent::Message { message: value, request: awaited.request.clone() });
}

/// Delivers text that should be JSON.
pub(crate) fn deliver_text(
    text: &[u8],
    awaited: &mut AwaitedAnswers,
    listener: &dyn TransportListener,
) {
    match message::parse(text) {
        Ok(value) => deliver(value, awaited, listener),
        Err(_) => listener.event(TransportEvent::Noise(shorten(&String::from_utf8_lossy(text)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Mutex;

    #[derive(Default)]
    struct RecordingListener(Mutex<Vec<String>>);

    impl TransportListener for RecordingListener {
        fn event(&self, event: TransportEvent) {
            self.0.lock().unwrap().push(match event {
                TransportEvent::Message { message, request } => match request {
                    Some(request) => format!("{message} on {request}"),
                    None => message.to_string(),
                },
                TransportEvent::Noise(text) => format!("noise {text}"),
                other => format!("{other:?}"),
            });
        }
    }

    #[test]
    fn answers_remove_ids() {
        let check = |text: &str, awaited: Vec<Value>, left: &[Value], heard: &[&str]| {
            let (listener, mut awaited) =
                (RecordingListener::default(), AwaitedAnswers::new(awaited));
            deliver_text(text.as_bytes(), &mut awaited, &listener);
            assert_eq!(awaited.unanswered(), left, "{text}");
            assert_eq!(*listener.0.lock().unwrap(), heard, "{text}");
        };
        let one = r#"{"id":1,"result":{}}"#;
        let on = |message: &str, request: &str| format!("{message} on {request}");
        check(one, vec![json!(1)], &[], &[&on(one, "1")]);
        check(one, vec![json!("1")], &[json!("1")], &[&on(one, "\"1\"")]);
        let part = r#"{"id":1,"result":{"partial":true}}"#;
        check(part, vec![json!(1)], &[json!(1)], &[&on(part, "1")]);
        let last = r#"{"id":1,"result":{"partial":false}}"#;
        check(last, vec![json!(1)], &[], &[&on(last, "1")]);
        let asked = r#"{"id":1,"method":"ping"}"#;
        check(asked, vec![json!(1)], &[json!(1)], &[&on(asked, "1")]);
        let both = [on(one, "7"), on(asked, "7")];
        let both = both.each_ref().map(String::as_str);
        check(&format!("[{one},{asked}]"), vec![json!(7)], &[json!(7)], &both);
        check(&format!("[{one},5]"), vec![json!(1), json!(2)], &[json!(2)], &[one, "noise 5"]);
        let filled = r#"{"id":7,"error":{"code":-1}}"#;
        check(r#"{"id":null,"error":{"code":-1}}"#, vec![json!(7)], &[], &[&on(filled, "7")]);
        let late = [on(filled, "7"), on(asked, "7")];
        let late = late.each_ref().map(String::as_str);
        check(&format!("[{filled},{asked}]"), vec![json!(7)], &[], &late);
        let nameless = r#"{"error":{"code":-1}}"#;
        check(nameless, vec![json!(7), json!(8)], &[json!(7), json!(8)], &[nameless]);
        check("<html>", vec![json!(1)], &[json!(1)], &["noise <html>"]);
    }
}
