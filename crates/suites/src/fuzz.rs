//! Addresses of resources, for the fuzz targets.

use crate::{code, docs, repo};

/// The path that an address of a parsed file has for this one, read back from it.
pub fn file_again(path: &str) -> Option<String> {
    code::address::path(&code::address::of(path))?.ok()
}

/// Every path that an address has, whosever it is: of a parsed file, of a report, of a document.
pub fn paths(address: &str) -> Vec<String> {
    let file = code::address::path(address).and_then(Result::ok);
    let report = repo::address::parse(address).map(|(_, path)| path);
    let document = docs::address::parse(address).and_then(Result::ok).and_then(|found| found.path);
    [file, report, document].into_iter().flatten().collect()
}
