//! Paths inside a root, and how callers write them.

use super::SpecialFile;
use docent_tool::ToolError;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::{borrow::Cow, fmt, io, path::Path};

/// A path inside a root, with `/` between its parts and no `..` among them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RootPath {
    root: usize,
    relative: String,
}

impl RootPath {
    pub(crate) fn top(root: usize) -> Self {
        Self { root, relative: String::new() }
    }

    /// Index of the root, from 0.
    pub fn root(&self) -> usize {
        self.root
    }

    /// Path inside the root; `.` is the root itself.
    pub fn relative(&self) -> &str {
        if self.relative.is_empty() { "." } else { &self.relative }
    }

    /// Whether this is the root itself.
    pub fn is_top(&self) -> bool {
        self.relative.is_empty()
    }

    /// The last part of the path; `.` at the top.
    pub fn name(&self) -> &str {
        self.relative().rsplit('/').next().unwrap_or(".")
    }

    /// The folder that contains it; `None` at the top.
    pub fn parent(&self) -> Option<Self> {
        if self.is_top() {
            return None;
        }
        let parent = self.relative.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(Self { root: self.root, relative: parent.to_owned() })
    }

    /// The entry with this name in this folder.
    pub(super) fn child(&self, name: &str) -> Self {
        let relative = match self.relative.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        Self { root: self.root, relative }
    }

    /// Joins `path`, which may contain `.` and `..`; `None` if the result is outside the root.
    pub fn join(&self, path: &str) -> Option<Self> {
        let mut parts: Vec<&str> =
            self.relative.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                name => parts.push(name),
            }
        }
        Some(Self { root: self.root, relative: parts.join("/") })
    }

    /// Path relative to a folder above; `None` if that folder is not above.
    pub fn below(&self, folder: &Self) -> Option<&str> {
        if self.root != folder.root {
            return None;
        }
        if folder.is_top() {
            return Some(self.relative());
        }
        let rest = self.relative.strip_prefix(&folder.relative)?;
        if rest.is_empty() { Some(".") } else { rest.strip_prefix('/') }
    }
}

impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.relative())
    }
}

/// Why an external path is rejected. Names the roots, never the target of the path.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// Outside the roots.
    #[error(
        "the path is outside the served roots ({roots}); give a path inside them, without `..`"
    )]
    Outside {
        /// All roots.
        roots: String,
    },
    /// Does not exist.
    #[error("{path} does not exist under {root}")]
    Missing {
        /// Path inside the root.
        path: String,
        /// The root.
        root: String,
    },
    /// Its name marks it as a secret.
    #[error("{path} is not served, because {rule}")]
    Denied {
        /// Path inside the root.
        path: String,
        /// The rule.
        rule: &'static str,
    },
    /// A pipe, socket or device, which is never opened.
    #[error("{path} is not a regular file or directory ({found}); name one that is")]
    Special {
        /// Path inside the root.
        path: String,
        /// What it is instead.
        found: SpecialFile,
    },
    /// Not a path that docent accepts.
    #[error("not a usable path: {problem}")]
    Malformed {
        /// What is wrong, and what is accepted.
        problem: &'static str,
    },
    /// The file system returned an error.
    #[error("{path} under {root} can't be read: {}", super::reason(source))]
    Unreadable {
        /// Path inside the root.
        path: String,
        /// The root.
        root: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl PathError {
    /// Converts the error into that of a call with this path in the argument `field`.
    pub fn into_tool_error(self, field: &str) -> ToolError {
        match self {
            Self::Missing { .. } => ToolError::not_found(self.to_string()),
            Self::Unreadable { .. } => ToolError::failed(self.to_string()),
            _ => ToolError::argument(field, self.to_string()),
        }
    }
}

const fn malformed(problem: &'static str) -> PathError {
    PathError::Malformed { problem }
}

/// Extracts the path from what a caller wrote: a path, or a `file://` URI.
pub(super) fn plain_path(raw: &str) -> Result<Cow<'_, str>, PathError> {
    if raw.is_empty() {
        return Err(malformed("it is empty; `.` is the root"));
    }
    let path = match raw.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            Cow::Owned(address_path(rest)?)
        }
        Some((scheme, _)) if is_scheme(scheme) => {
            return Err(malformed("only paths and `file://` URIs are accepted"));
        }
        _ => Cow::Borrowed(raw),
    };
    if path.contains('\0') {
        return Err(malformed("it contains a NUL character"));
    }
    if cfg!(not(windows)) && is_windows(&path) {
        return Err(malformed("it is a Windows path, but the roots are not on Windows"));
    }
    // A percent-encoded path is an ordinary name here, but `%2e%2e` is an attempt to leave the root.
    if let Some(decoded) = decode(&path)
        && (climbs(&decoded) || decoded.contains('\0'))
        && !climbs(&path)
    {
        return Err(malformed("it contains percent-encoded `..` or NUL"));
    }
    Ok(match path {
        Cow::Borrowed(path) => with_slashes(path),
        Cow::Owned(path) => Cow::Owned(with_slashes(&path).into_owned()),
    })
}

/// The same path with `/` between its parts.
pub(super) fn with_slashes(path: &str) -> Cow<'_, str> {
    if cfg!(windows) && path.contains('\\') {
        Cow::Owned(path.replace('\\', "/"))
    } else {
        Cow::Borrowed(path)
    }
}

/// Whether a part of the path is `..`, with either slash as separator.
pub(super) fn climbs(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == "..")
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn is_windows(path: &str) -> bool {
    let mut start = path.chars();
    let drive = matches!((start.next(), start.next()), (Some(letter), Some(':')) if letter.is_ascii_alphabetic());
    let after = start.next();
    (drive && matches!(after, None | Some('\\' | '/'))) || path.starts_with(r"\\")
}

fn address_path(rest: &str) -> Result<String, PathError> {
    let (host, path) = rest.split_once('/').ok_or(malformed("the URI has no path"))?;
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Err(malformed("the URI names another host"));
    }
    let path = format!("/{path}");
    let hides = ["%2f", "%5c", "%00"].iter().any(|code| path.to_ascii_lowercase().contains(code));
    if hides || path.contains(['?', '#']) {
        return Err(malformed("the URI contains an encoded slash or NUL, a query or a fragment"));
    }
    let decoded = decode(&path).ok_or(malformed("the URI is not percent-encoded UTF-8"))?;
    Ok(if cfg!(windows) { decoded.trim_start_matches('/').to_owned() } else { decoded })
}

/// Decodes percent-encoding once; `None` if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

/// Characters that are percent-encoded in a path.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// The `file://` URI of an absolute path.
pub(super) fn file_uri(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = with_slashes(&text);
    let scheme = if text.starts_with('/') { "file://" } else { "file:///" };
    format!("{scheme}{}", utf8_percent_encode(&text, PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_stays_inside() {
        let cases = [
            ("", "a/b", Some("a/b")),
            ("a", "./b//c/", Some("a/b/c")),
            ("a/b", "../c", Some("a/c")),
            ("a", "..", Some(".")),
            ("a", "../..", None),
            ("", "..", None),
        ];
        for (from, path, want) in cases {
            let place = RootPath::top(0).join(from).unwrap();
            assert_eq!(place.join(path).as_ref().map(RootPath::relative), want, "{from} + {path}");
        }
    }

    #[test]
    fn below_needs_a_whole_name() {
        let at = |path: &str| RootPath::top(0).join(path).unwrap();
        assert_eq!(at("a/b/c").below(&at("a")), Some("b/c"));
        assert_eq!(at("ab/c").below(&at("a")), None);
        assert_eq!(at("a").below(&at("a")), Some("."));
        assert_eq!(at("a").below(&at(".")), Some("a"));
        assert_eq!(at("a").below(&RootPath::top(1)), None);
    }

    #[test]
    fn addresses_are_encoded_and_read_back() {
        let uri = file_uri(Path::new("/a b/ü#?.md"));
        assert_eq!(uri, "file:///a%20b/%C3%BC%23%3F.md");
        assert_eq!(plain_path(&uri).unwrap(), "/a b/ü#?.md");
    }
}
