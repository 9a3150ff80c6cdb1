//! Serves the files of the roots as `file://` resources that can be read and subscribed to.
//!
//! Owns which URI is such a file and how its contents are sent. Accesses files only through [`crate::files`], so that
//! the same rules apply as for every tool: roots, secrets, special files, symbolic and hard links.

mod media;
mod subscriptions;

use crate::files::{PathError, PathKind, ReadProblem, RootPath, ServedRoots};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use docent_tool::{
    BoxedFuture, CallContext, CompletionRequest, CompletionTarget, CompletionValues, Contents,
    ProviderChange, ResourceReading, TemplateInfo, ToolError, ToolProvider, no_client,
};
use std::sync::Arc;
use subscriptions::Subscriptions;
use tokio::sync::broadcast;

/// Maximum file size: a binary file is sent in one message of up to 10 MB, and base64 adds a third.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Minimum number of bytes per NUL in a text file; with more NULs it is binary.
const MIN_BYTES_PER_NUL: usize = 1000;

/// Provides the files of the roots as resources. Has no tools.
#[derive(Debug)]
pub struct FileSuite {
    roots: ServedRoots,
    subscriptions: Arc<Subscriptions>,
}

impl FileSuite {
    /// Creates the suite for these roots. Reads and watches nothing until a client requests it.
    pub fn new(roots: ServedRoots) -> Self {
        let subscriptions = Subscriptions::new(roots.clone());
        Self { roots, subscriptions }
    }
}

impl ToolProvider for FileSuite {
    fn key(&self) -> &'static str {
        "file"
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let about = "Contents of a file of the project: text as it is, anything else as base64. Secrets and files \
                     over 4 MiB are refused. Changes can be subscribed to.";
        let template = |top: RootPath| TemplateInfo {
            uri_template: template(&self.roots, &top),
            name: "file".into(),
            title: Some("Project file".into()),
            about: Some(about.into()),
            ..TemplateInfo::default()
        };
        self.roots.tops().map(template).collect()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(async move {
            // A file that is outside the roots or missing may be a resource of another server.
            match resolve(&self.roots, uri)? {
                Err(PathError::Outside { .. } | PathError::Missing { .. }) => None,
                Err(refused) => Some(Err(ToolError::not_found(format!("{uri}: {refused}")))),
                Ok(place) => {
                    let (roots, uri) = (self.roots.clone(), uri.to_owned());
                    let work = move |_: &CallContext| read_file(&roots, &place, uri);
                    Some(context.blocking(work).await.map(|file| vec![file].into()))
                }
            }
        })
    }

    fn watch(&self, uri: &str) -> bool {
        let place = regular_file(&self.roots, uri);
        place.is_some_and(|place| self.subscriptions.add(uri, &place))
    }

    fn can_watch(&self, uri: &str) -> bool {
        self.owns(uri)
    }

    fn owns(&self, uri: &str) -> bool {
        regular_file(&self.roots, uri).is_some()
    }

    fn unwatch(&self, uri: &str) {
        self.subscriptions.remove(uri);
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        let is_ours = |top: &RootPath| matches!(target, CompletionTarget::Template(one) if *one == template(&self.roots, top));
        let Some(top) = self.roots.tops().find(is_ours).filter(|_| argument == "path") else {
            return Box::pin(std::future::ready(CompletionValues::default()));
        };
        let (roots, typed) = (self.roots.clone(), typed.to_owned());
        Box::pin(async move {
            let look = move |context: &CallContext| {
                Ok(roots.complete(&top, &typed, PathKind::File, &|| context.stop().is_some()))
            };
            no_client().blocking(look).await.unwrap_or_default().into()
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        Some(self.subscriptions.changes())
    }
}

/// The URI template of the files under one root.
fn template(roots: &ServedRoots, top: &RootPath) -> String {
    format!("{}/{{+path}}", roots.uri(top).trim_end_matches('/'))
}

/// Resolves a `file://` URI, or returns why it is refused; `None` for any other URI.
fn resolve(roots: &ServedRoots, uri: &str) -> Option<Result<RootPath, PathError>> {
    let (scheme, _) = uri.split_once("://")?;
    scheme.eq_ignore_ascii_case("file").then(|| roots.resolve(uri))
}

/// The file at a URI, if it may be read.
fn regular_file(roots: &ServedRoots, uri: &str) -> Option<RootPath> {
    let place = resolve(roots, uri)?.ok()?;
    // Opened as for reading, because a secret may have another name here. Nothing is read.
    roots.read_start(&place, 0).ok().map(|_| place)
}

fn read_file(roots: &ServedRoots, place: &RootPath, uri: String) -> Result<Contents, ToolError> {
    let bytes = roots.read(place, MAX_FILE_BYTES).map_err(|problem| match problem {
        ReadProblem::Denied { .. } => ToolError::not_found(format!("{uri}: {problem}")),
        problem => problem.into_tool_error("uri"),
    })?;
    let media = media::by_name(place.name());
    Ok(match decode(bytes) {
        Ok(text) => {
            let mime = Some(media.unwrap_or("text/plain").to_owned());
            Contents::Text { uri, mime, text }
        }
        Err(bytes) => {
            let mime = Some(media.unwrap_or("application/octet-stream").to_owned());
            Contents::Blob { uri, mime, blob: STANDARD.encode(bytes) }
        }
    })
}

/// The text of a file, or its bytes if it is not text. Decodes encodings other than UTF-8 and tolerates a few NULs,
/// because secrets are redacted only in text.
fn decode(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if let Some(text) = wide_text(&bytes) {
        return Ok(text);
    }
    let nuls = memchr::memchr_iter(0, &bytes).count();
    match String::from_utf8(bytes) {
        Ok(text) if nuls <= text.len() / MIN_BYTES_PER_NUL => Ok(text),
        Ok(text) => Err(text.into_bytes()),
        Err(error) => {
            let bytes = error.into_bytes();
            docent_prose::decode_markup(&bytes).map_err(|_| bytes)
        }
    }
}

/// Decodes UTF-16 without a byte order mark, if most of it is ASCII.
fn wide_text(bytes: &[u8]) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let is_ascii = |unit: &u16| (0x20..0x7f).contains(unit) || [0x9, 0xa, 0xd].contains(unit);
    let decode = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        let ascii = units.iter().filter(|unit| is_ascii(unit)).count();
        let is_text = ascii > units.len() / 4 * 3 && !units.contains(&0);
        is_text.then(|| String::from_utf16(&units).ok()).flatten()
    };
    let has_nul = || memchr::memchr(0, bytes).is_some();
    if !rest.is_empty() || !has_nul() {
        return None;
    }
    decode(u16::from_le_bytes).or_else(|| decode(u16::from_be_bytes))
}

#[cfg(test)]
mod tests;
