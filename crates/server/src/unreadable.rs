//! Errors for requests that could not be parsed: an unknown method, or parameters of the wrong type.

use crate::{result_builder::invalid_params, validate::ArgumentProblem};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Value, json};

/// Methods with parameters, and the JSON type of each required parameter.
const REQUIRED_PARAMETERS: [(&str, &[(&str, &str)]); 16] = [
    ("initialize", &[]),
    ("tools/call", &[("name", "string")]),
    ("tools/list", &[]),
    ("resources/list", &[]),
    ("resources/templates/list", &[]),
    ("resources/read", &[("uri", "string")]),
    ("resources/subscribe", &[("uri", "string")]),
    ("resources/unsubscribe", &[("uri", "string")]),
    ("prompts/list", &[]),
    ("prompts/get", &[("name", "string")]),
    ("completion/complete", &[("ref", "object"), ("argument", "object")]),
    ("logging/setLevel", &[("level", "string")]),
    ("subscriptions/listen", &[("notifications", "object")]),
    ("tasks/get", &[("taskId", "string")]),
    ("tasks/update", &[("taskId", "string"), ("inputResponses", "object")]),
    ("tasks/cancel", &[("taskId", "string")]),
];

/// The error for an unknown method, or for parameters that could not be parsed.
pub(crate) fn unreadable_error(method: &str, params: Option<&Value>) -> ErrorData {
    let Some((_, needed)) = REQUIRED_PARAMETERS.iter().find(|(known, _)| *known == method) else {
        let message = format!("Method not found: {}", crate::catalog::truncate(method));
        return ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            message,
            Some(json!({"method": method})),
        );
    };
    for (name, kind) in *needed {
        let problem = match params.and_then(|params| params.get(name)) {
            None => "is required".to_owned(),
            Some(given) if !is_a(given, kind) => {
                format!("must be {} {kind}", if *kind == "object" { "an" } else { "a" })
            }
            Some(_) => continue,
        };
        return invalid_params(&ArgumentProblem::new(*name, problem));
    }
    let optional = [
        ("arguments", "object"),
        ("cursor", "string"),
        ("_meta", "object"),
        ("requestState", "string"),
    ];
    for (name, kind) in optional {
        if params.and_then(|params| params.get(name)).is_some_and(|given| !is_a(given, kind)) {
            let article = if kind == "object" { "an" } else { "a" };
            return invalid_params(&ArgumentProblem::new(
                name,
                format!("must be {article} {kind}"),
            ));
        }
    }
    if method == "logging/setLevel" {
        let levels = "debug, info, notice, warning, error, critical, alert, emergency";
        return invalid_params(&ArgumentProblem::new("level", format!("must be one of {levels}")));
    }
    invalid_params(&ArgumentProblem::new(
        "params",
        format!("do not have the form that {method} requires"),
    ))
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        _ => value.is_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_requests_name_the_problem() {
        let cases = [
            ("no/such", json!({}), -32601, "method", "no/such"),
            ("tools/call", json!({}), -32602, "parameter", "name"),
            ("tools/call", json!({"name": 5}), -32602, "parameter", "name"),
            ("tools/call", json!({"name": "a", "arguments": []}), -32602, "parameter", "arguments"),
            ("tools/list", json!({"cursor": 7}), -32602, "parameter", "cursor"),
            ("resources/read", json!({}), -32602, "parameter", "uri"),
            ("completion/complete", json!({"ref": {}}), -32602, "parameter", "argument"),
            (
                "completion/complete",
                json!({"ref": {}, "argument": {}}),
                -32602,
                "parameter",
                "params",
            ),
            ("prompts/get", json!(null), -32602, "parameter", "name"),
            ("logging/setLevel", json!({"level": "loud"}), -32602, "parameter", "level"),
        ];
        for (method, params, code, field, want) in cases {
            let error = unreadable_error(method, Some(&params));
            let data = error.data.unwrap();
            assert_eq!(
                (error.code.0, data[field].as_str()),
                (code, Some(want)),
                "{method} {params}"
            );
        }
    }
}
