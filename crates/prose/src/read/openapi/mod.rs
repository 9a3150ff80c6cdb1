//! `OpenAPI` 2, 3.0 and 3.1: a section for each tag, operation and schema.

mod schema;

use super::markdown::{self, Anchors, HeadingPlacement};
use crate::{
    document::{BlockKind, DocumentWriter, ProseDocument, squeeze},
    format::Unreadable,
};
use schema::Schemas;
use serde_json::{Map, Value};

const METHODS: [&str; 9] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// Bytes searched for the top-level key that identifies a description.
const SNIFF_BYTES: usize = 1 << 20;

const FORMAT: &str = "OpenAPI";
/// Maximum aliased nodes in a YAML file; more are an attack on memory.
const MAX_ALIASED_NODES: usize = 100_000;

/// Whether JSON or YAML has `openapi` or `swagger` as a key of its own.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let start = bytes.get(..SNIFF_BYTES).unwrap_or(bytes);
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('{') {
        return top_keys(text).any(|key| matches!(key, "openapi" | "swagger"));
    }
    text.lines().any(|line| {
        let key = line.split_once(':').map(|(key, _)| key.trim_end().trim_matches(['"', '\'']));
        matches!(key, Some("openapi" | "swagger"))
    })
}

/// The keys of the outermost object.
fn top_keys(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut depth = 0_usize;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(['"', '{', '}', '[', ']'])?;
            let (_, from) = rest.split_at_checked(at)?;
            let (mark, inside) = from.split_at_checked(1)?;
            rest = inside;
            match mark {
                "{" | "[" => depth += 1,
                "}" | "]" => depth = depth.saturating_sub(1),
                _ => {
                    let (string, after) = inside.split_at_checked(end_of_string(inside)?)?;
                    rest = after.get(1..)?;
                    if depth == 1 && rest.trim_start().starts_with(':') {
                        return Some(string);
                    }
                }
            }
        }
    })
}

fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Reads a description of an API.
pub(crate) fn read(path: &str, text: &str) -> Result<ProseDocument, Unreadable> {
    let api = parse(text)?;
    if !api.get("info").is_some_and(Value::is_object)
        && !api.get("paths").is_some_and(Value::is_object)
    {
        let reason = "it has neither `info` nor `paths`".to_owned();
        return Err(Unreadable::Damaged { format: FORMAT, reason });
    }
    let mut page = OpenApiWriter {
        api: &api,
        schemas: Schemas { api: &api },
        writer: DocumentWriter::default(),
        anchors: Anchors::default(),
    };
    page.info();
    page.operations();
    page.components();
    let title = api.pointer("/info/title").map(scalar);
    let mut document = page.writer.finish(title, path);
    let version = api.pointer("/info/version").map(|version| match version {
        // `1.10` is a number in YAML, and would lose its last digit.
        Value::Number(_) => written_version(text).unwrap_or_else(|| scalar(version)),
        version => scalar(version),
    });
    document.version = version.filter(|version| !version.is_empty());
    Ok(document)
}

fn parse(text: &str) -> Result<Value, Unreadable> {
    let damaged = |reason: String| Unreadable::Damaged { format: FORMAT, reason };
    if text.trim_start().starts_with('{')
        && let Ok(api) = serde_json::from_str(text)
    {
        return Ok(api);
    }
    let mut options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: 1_000_000,
            max_events: 4_000_000,
            max_recorded_anchor_events: MAX_ALIASED_NODES,
        },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    options.alias_limits.max_total_replayed_events = MAX_ALIASED_NODES;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or_default();
        damaged(reason.trim_start_matches("error: ").to_owned())
    })
}

/// The version below `info:` as it is written.
fn written_version(yaml: &str) -> Option<String> {
    let below = yaml.lines().skip_while(|line| !line.starts_with("info:")).skip(1);
    let mut below = below.take_while(|line| line.starts_with([' ', '#']) || line.is_empty());
    let value = below.find_map(|line| line.trim().strip_prefix("version:"))?;
    let value = value.split(" #").next()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// A string, or a scalar used as one in YAML: `version: 1.0` is a number there.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
        other => other.to_string(),
    }
}

/// A field as text; empty if missing.
pub(super) fn field(value: &Value, name: &str) -> String {
    value.get(name).map(scalar).unwrap_or_default()
}

/// Text on one line without links, as a cell of a table or an item of a list needs it.
pub(super) fn line(text: &str) -> String {
    let text = squeeze(text);
    if !text.contains("](") {
        return text.replace('|', "\\|");
    }
    let mut writer = DocumentWriter::default();
    markdown::write(&mut writer, &mut Anchors::default(), &text, HeadingPlacement::Bold);
    let document = writer.finish(None, "");
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let blocks: Vec<&str> = blocks.map(|block| block.text.plain.as_str()).collect();
    squeeze(&blocks.join(" ")).replace('|', "\\|")
}

struct OpenApiWriter<'a> {
    api: &'a Value,
    schemas: Schemas<'a>,
    writer: DocumentWriter,
    anchors: Anchors,
}

/// An operation and its position.
struct OpenApiOperation<'a> {
    method: String,
    path: &'a str,
    item: &'a Value,
    body: &'a Value,
}

impl<'a> OpenApiWriter<'a> {
    fn markdown(&mut self, text: &str, headings: HeadingPlacement) {
        markdown::write(&mut self.writer, &mut self.anchors, text, headings);
    }

    fn heading(&mut self, level: u8, text: &str, anchor: Option<String>) {
        if let Some(anchor) = &anchor {
            self.anchors.take(anchor);
        }
        let anchor = anchor.or_else(|| self.anchors.next_anchor(text));
        self.writer.heading(level, text, anchor);
    }

    fn list(&mut self, items: &[String]) {
        self.writer.plain(BlockKind::List, items.join("\n"));
    }

    fn info(&mut self) {
        let info = self.api.get("info").unwrap_or(&Value::Null);
        self.heading(1, &field(info, "title"), None);
        let servers: Vec<String> = self.servers();
        if !servers.is_empty() {
            self.writer.plain(BlockKind::Paragraph, "Servers:");
            self.list(&servers);
        }
        self.security_schemes();
        self.markdown(&field(info, "summary"), HeadingPlacement::Bold);
        self.markdown(&field(info, "description"), HeadingPlacement::Below(1));
    }

    fn servers(&self) -> Vec<String> {
        let servers = self.api.get("servers").and_then(Value::as_array).into_iter().flatten();
        let mut all: Vec<String> = servers
            .map(|server| {
                let about = line(&field(server, "description"));
                let about = if about.is_empty() { about } else { format!(": {about}") };
                format!("- {}{about}", field(server, "url"))
            })
            .collect();
        let host = field(self.api, "host");
        if !host.is_empty() {
            let schemes = self.api.get("schemes").and_then(|schemes| schemes.get(0)).map(scalar);
            let scheme = schemes.unwrap_or_else(|| "https".to_owned());
            all.push(format!("- {scheme}://{host}{}", field(self.api, "basePath")));
        }
        all
    }

    fn security_schemes(&mut self) {
        let places = ["/components/securitySchemes", "/securityDefinitions"];
        let schemes =
            places.iter().filter_map(|place| self.api.pointer(place)?.as_object()).flatten();
        let items: Vec<String> = schemes
            .map(|(name, scheme)| {
                let scheme = self.schemas.resolve(scheme);
                let parts = ["type", "scheme", "bearerFormat", "in", "name", "openIdConnectUrl"];
                let parts =
                    parts.iter().map(|part| field(scheme, part)).filter(|part| !part.is_empty());
                let about = line(&field(scheme, "description"));
                let about = if about.is_empty() { about } else { format!(": {about}") };
                format!("- {name} ({}){about}", parts.collect::<Vec<_>>().join(" "))
            })
            .collect();
        if !items.is_empty() {
            self.writer.plain(BlockKind::Paragraph, "Security schemes:");
            self.list(&items);
        }
    }

    /// All operations, each under its first tag.
    fn operations(&mut self) {
        let api = self.api;
        let mut groups: Vec<(String, Value, Vec<OpenApiOperation<'a>>)> = Vec::new();
        for tag in api.get("tags").and_then(Value::as_array).into_iter().flatten() {
            groups.push((field(tag, "name"), tag.clone(), Vec::new()));
        }
        let of = |name: &str| api.get(name).and_then(Value::as_object).into_iter().flatten();
        let called = of("paths").map(|(path, item)| ("", path, item));
        let calls =
            of("webhooks").chain(of("x-webhooks")).map(|(path, item)| ("Webhook ", path, item));
        for (who, path, item) in called.chain(calls) {
            let item = self.schemas.resolve(item);
            for method in METHODS {
                let Some(body) = item.get(method).filter(|body| body.is_object()) else { continue };
                let tag = body.pointer("/tags/0").map(scalar).filter(|tag| !tag.is_empty());
                let tag = tag.unwrap_or_else(|| "Operations".to_owned());
                let operation = OpenApiOperation {
                    method: format!("{who}{}", method.to_uppercase()),
                    path,
                    item,
                    body,
                };
                match groups.iter_mut().find(|(name, ..)| *name == tag) {
                    Some((.., operations)) => operations.push(operation),
                    None => groups.push((tag, Value::Null, vec![operation])),
                }
            }
        }
        for (name, tag, operations) in groups {
            self.heading(2, &name, None);
            self.markdown(&field(&tag, "description"), HeadingPlacement::Bold);
            for operation in &operations {
                self.operation(operation);
            }
        }
    }

    fn operation(&mut self, operation: &OpenApiOperation<'a>) {
        let OpenApiOperation { method, path, item, body } = operation;
        let summary = line(&field(body, "summary"));
        let call = format!("{method} {path}");
        let heading = if summary.is_empty() { call } else { format!("{call}: {summary}") };
        let id = Some(field(body, "operationId")).filter(|id| !id.is_empty());
        self.heading(3, &heading, id);
        if body.get("deprecated") == Some(&Value::Bool(true)) {
            self.writer.plain(BlockKind::Paragraph, "Deprecated.");
        }
        let about = Some(field(body, "description")).filter(|about| !about.is_empty());
        self.markdown(&about.unwrap_or_else(|| field(item, "description")), HeadingPlacement::Bold);
        self.parameters(item, body);
        self.request(body);
        self.responses(body);
        self.security(body);
    }

    fn parameters(&mut self, item: &Value, body: &Value) {
        let mut rows = Vec::new();
        let all = [item, body].map(|value| value.get("parameters").and_then(Value::as_array));
        for parameter in all.into_iter().flatten().flatten() {
            let parameter = self.schemas.resolve(parameter);
            let place = field(parameter, "in");
            if place == "body" {
                continue;
            }
            let kind = parameter
                .get("schema")
                .or_else(|| parameter.pointer("/content/application~1json/schema"));
            let kind = self.schemas.name(kind.unwrap_or(parameter));
            let required =
                if parameter.get("required") == Some(&Value::Bool(true)) { "yes" } else { "no" };
            let about = line(&field(parameter, "description"));
            rows.push(format!(
                "| {} | {place} | {} | {required} | {about} |",
                line(&field(parameter, "name")),
                line(&kind)
            ));
        }
        if !rows.is_empty() {
            let head = "| Parameter | In | Type | Required | Description |\n| --- | --- | --- | --- | --- |";
            self.writer.plain(BlockKind::Table, format!("{head}\n{}", rows.join("\n")));
        }
    }

    /// The request's body, and what it is made of.
    fn request(&mut self, body: &Value) {
        let old = body.get("parameters").and_then(Value::as_array).into_iter().flatten();
        let old = old.map(|parameter| self.schemas.resolve(parameter));
        let old = old.into_iter().find(|parameter| field(parameter, "in") == "body");
        let Some(request) = body.get("requestBody").map(|body| self.schemas.resolve(body)).or(old)
        else {
            return;
        };
        let required =
            if request.get("required") == Some(&Value::Bool(true)) { " (required)" } else { "" };
        let about = line(&field(request, "description"));
        let about = if about.is_empty() { about } else { format!(": {about}") };
        self.writer.plain(BlockKind::Paragraph, format!("Request body{required}{about}"));
        let lines = self.contents(request, 0);
        self.list(&lines);
    }

    /// What a body may be, a line for each media type with its properties below.
    fn contents(&self, body: &Value, depth: usize) -> Vec<String> {
        let indent = "  ".repeat(depth);
        let mut lines = Vec::new();
        let mut last: Option<&Value> = None;
        let media = body.get("content").and_then(Value::as_object).into_iter().flatten();
        let media = media.map(|(name, media)| (name.as_str(), media.get("schema")));
        let old = body.get("schema").map(|schema| ("", Some(schema)));
        for (name, schema) in media.chain(old) {
            let Some(schema) = schema else {
                lines.push(format!("{indent}- {name}"));
                continue;
            };
            let kind = self.schemas.name(schema);
            let named = if name.is_empty() { kind } else { format!("{name}: {kind}") };
            lines.push(format!("{indent}- {named}"));
            // The same schema in another media type has the same properties.
            if last != Some(schema) {
                lines.extend(self.schemas.outline(schema, depth + 1));
            }
            last = Some(schema);
        }
        lines
    }

    fn responses(&mut self, body: &Value) {
        let Some(responses) = body.get("responses").and_then(Value::as_object) else { return };
        let mut lines = Vec::new();
        for (status, response) in responses {
            let response = self.schemas.resolve(response);
            let about = line(&field(response, "description"));
            let about = if about.is_empty() { about } else { format!(": {about}") };
            lines.push(format!("- {status}{about}"));
            lines.extend(self.contents(response, 1));
        }
        if !lines.is_empty() {
            self.writer.plain(BlockKind::Paragraph, "Responses:");
            self.list(&lines);
        }
    }

    fn security(&mut self, body: &Value) {
        let security = body.get("security").or_else(|| self.api.get("security"));
        let Some(needs) = security.and_then(Value::as_array) else { return };
        let all = needs
            .iter()
            .filter_map(Value::as_object)
            .map(security_need)
            .filter(|need| !need.is_empty());
        let all: Vec<String> = all.collect();
        if !all.is_empty() {
            self.writer.plain(BlockKind::Paragraph, format!("Security: {}", all.join(" or ")));
        }
    }

    /// Schemas, each a section.
    fn components(&mut self) {
        let places = ["/components/schemas", "/definitions"];
        let schemas = places.iter().filter_map(|place| self.api.pointer(place)?.as_object());
        let schemas: Vec<(&String, &Value)> = schemas.flatten().collect();
        if schemas.is_empty() {
            return;
        }
        self.heading(2, "Schemas", None);
        for (name, schema) in schemas {
            self.heading(3, name, None);
            self.markdown(&field(schema, "description"), HeadingPlacement::Bold);
            let kind = line(&self.schemas.name(schema));
            let lines = self.schemas.outline_of(name, schema);
            if kind != "object" || lines.is_empty() {
                self.writer.plain(BlockKind::Paragraph, kind);
            }
            self.list(&lines);
        }
    }
}

/// `oauth (read, write) and key`
fn security_need(need: &Map<String, Value>) -> String {
    let parts = need.iter().map(|(name, scopes)| {
        let scopes: Vec<String> = scopes.as_array().into_iter().flatten().map(scalar).collect();
        if scopes.is_empty() { name.clone() } else { format!("{name} ({})", scopes.join(", ")) }
    });
    parts.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests;
