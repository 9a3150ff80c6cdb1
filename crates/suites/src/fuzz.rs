//! Resource URIs, for the fuzz targets.

use crate::{code, docs, repo};

/// Encodes a path into the URI of a parsed file and decodes it again.
pub fn file_again(path: &str) -> Option<String> {
    code::address::path(&code::address::annotation_uri(path))?.ok()
}

/// Decodes a URI as a parsed file, a report and a document, and returns the paths.
pub fn paths(address: &str) -> Vec<String> {
    let file = code::address::path(address).and_then(Result::ok);
    let report = repo::address::parse(address).map(|(_, path)| path);
    let document = docs::address::parse(address).and_then(Result::ok).and_then(|found| found.path);
    [file, report, document].into_iter().flatten().collect()
}
