//! Fields of another server's answer that no type here knows: they travel in `_meta`, and are put back where they were when
//! the answer is written.

use serde_json::{Map, Value};

/// Where they travel.
pub const EXTRA: &str = "docent/extra";

/// Members that hold a client's or server's own data: nothing travels in there.
const DATA: [&str; 5] = ["structuredContent", "inputSchema", "outputSchema", "arguments", "data"];

/// What was lost when `raw` was read into a type that writes `typed`: fields that the type does not know, at any depth, and
/// numbers that it writes in another way. Lists have a null for each item that lost nothing.
pub fn lost(raw: &Value, typed: &Value) -> Option<Value> {
    match (raw, typed) {
        (Value::Object(raw), Value::Object(typed)) => {
            let of = |(name, value): (&String, &Value)| {
                let left = match typed.get(name) {
                    Some(typed) => lost(value, typed),
                    // What is null is not there.
                    None => (!value.is_null()).then(|| value.clone()),
                };
                left.map(|left| (name.clone(), left))
            };
            let all: Map<String, Value> = raw.iter().filter_map(of).collect();
            (!all.is_empty()).then_some(Value::Object(all))
        }
        (Value::Array(raw), Value::Array(typed)) => {
            let pairs = raw.iter().zip(typed);
            let all: Vec<_> = pairs.map(|(raw, typed)| lost(raw, typed)).collect();
            let any = all.iter().any(Option::is_some);
            any.then(|| all.into_iter().map(Option::unwrap_or_default).collect())
        }
        (Value::Number(number), Value::Number(typed)) if number != typed => Some(raw.clone()),
        _ => None,
    }
}

/// Puts them back in the result of a message, or in its parameters.
pub fn put_back(message: &mut Value) {
    for member in ["result", "params"] {
        if let Some(value) = message.get_mut(member) {
            lift_all(value);
        }
    }
}

fn lift_all(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            lift(fields);
            let ours = fields.iter_mut().filter(|(name, _)| !DATA.contains(&name.as_str()));
            ours.for_each(|(_, value)| lift_all(value));
        }
        Value::Array(items) => items.iter_mut().for_each(lift_all),
        _ => {}
    }
}

fn lift(fields: &mut Map<String, Value>) {
    let Some(Value::Object(meta)) = fields.get_mut("_meta") else { return };
    let extra = meta.remove(EXTRA);
    if extra.is_some() && meta.is_empty() {
        fields.remove("_meta");
    }
    if let Some(Value::Object(extra)) = extra {
        add(fields, extra);
    }
}

/// What docent says itself is not overwritten, but for a number, which is as it came.
fn add(fields: &mut Map<String, Value>, extra: Map<String, Value>) {
    for (name, value) in extra {
        match fields.get_mut(&name) {
            Some(known) => add_to(known, value),
            None => drop(fields.insert(name, value)),
        }
    }
}

fn add_to(known: &mut Value, extra: Value) {
    match (known, extra) {
        (Value::Object(known), Value::Object(extra)) => add(known, extra),
        (Value::Array(known), Value::Array(extra)) => {
            known.iter_mut().zip(extra).for_each(|(known, extra)| add_to(known, extra));
        }
        (Value::Number(known), Value::Number(extra)) => *known = extra,
        _ => {}
    }
}

/// The same in what goes over HTTP: one message, or events with one in each. `None` where there is nothing to put back.
pub fn put_back_in_text(text: &str) -> Option<String> {
    if !text.contains(EXTRA) {
        return None;
    }
    let line = |line: &str| {
        let (mark, json) = match line.strip_prefix("data:") {
            Some(json) => ("data: ", json.trim_start()),
            None => ("", line),
        };
        let mut message: Value = serde_json::from_str(json).ok()?;
        put_back(&mut message);
        Some(format!("{mark}{message}"))
    };
    let lines = text.split('\n').map(|one| {
        if one.contains(EXTRA) {
            line(one).unwrap_or_else(|| one.to_owned())
        } else {
            one.to_owned()
        }
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_type_loses_comes_back() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!({"a": 1, "b": null}), json!({"a": 1}), None),
            (json!({"a": "x", "b": {"c": 2}}), json!({"a": "y"}), Some(json!({"b": {"c": 2}}))),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 2}}), Some(json!({"a": {"b": 1}}))),
            (
                json!({"a": [{"b": 1}, {}]}),
                json!({"a": [{}, {}]}),
                Some(json!({"a": [{"b": 1}, null]})),
            ),
            (json!({"a": 1, "b": 0.7}), json!({"a": 1.0, "b": 0.7}), Some(json!({"a": 1}))),
        ];
        for (raw, typed, want) in cases {
            let left = lost(&raw, &typed);
            assert_eq!(left, want, "{raw} {typed}");
            let mut params = typed.clone();
            params["_meta"] = json!({EXTRA: left});
            let mut message = json!({"params": params});
            put_back(&mut message);
            assert_eq!(lost(&raw, &message["params"]), None, "{message}");
        }
    }

    #[test]
    fn data_is_never_changed() {
        let data = json!({"_meta": {"docent/extra": {"a": 1}}});
        let message = json!({"result": {"structuredContent": data}, "params": {"data": data}});
        let mut same = message.clone();
        put_back(&mut same);
        assert_eq!(same, message);
    }

    #[test]
    fn fields_come_out_where_they_went_in() {
        let mut message = json!({"id": 1, "result": {
            "content": [{"type": "text", "text": "hi", "_meta": {"docent/extra": {"odd": 1}, "own": 2}}],
            "isError": false, "_meta": {"docent/extra": {"field": [1], "isError": true}},
        }});
        let text = format!("id: 7\ndata: {message}\n\n");
        put_back(&mut message);
        let want = json!({"id": 1, "result": {
            "content": [{"type": "text", "text": "hi", "_meta": {"own": 2}, "odd": 1}], "isError": false, "field": [1],
        }});
        assert_eq!(message, want);
        assert_eq!(put_back_in_text(&text), Some(format!("id: 7\ndata: {want}\n\n")));
        assert_eq!(put_back_in_text("data: {}\n\n"), None);
        assert_eq!(
            put_back_in_text("data: docent/extra {\n").as_deref(),
            Some("data: docent/extra {\n")
        );
    }
}
