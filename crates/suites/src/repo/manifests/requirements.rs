//! Python requirements: single ones, and files that list them (`requirements.txt`, `requirements.in`, constraints).

use super::{
    super::{
        report::Purpose,
        tree::{folder_of, join, name_of},
    },
    format::PackageFileFormat,
    lock::LockedVersions,
    reading::{ManifestDraft, ManifestReader, RequestedDependency},
};
use pep508_rs::{Pep508Url, Requirement, VersionOrUrl};
use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    fmt,
    path::Path,
    str::FromStr,
};

/// Maximum depth of included lists.
const MAX_INCLUDE_DEPTH: usize = 20;

/// Words in the names of development lists and extras.
const DEVELOPMENT: [&str; 18] = [
    "dev",
    "develop",
    "development",
    "test",
    "tests",
    "testing",
    "lint",
    "linting",
    "doc",
    "docs",
    "ci",
    "typing",
    "mypy",
    "style",
    "bench",
    "benchmark",
    "benchmarks",
    "quality",
];

/// Manifests that make a folder a Python package, most specific first.
const PACKAGES: [&str; 3] = ["pyproject.toml", "setup.cfg", "setup.py"];

/// A URL as written. The parser's own type would insert the values of environment variables.
#[derive(Debug)]
struct RequirementUrl(String);

impl fmt::Display for RequirementUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Pep508Url for RequirementUrl {
    type Err = Infallible;

    fn parse_url(url: &str, _: Option<&Path>) -> Result<Self, Infallible> {
        Ok(Self(url.to_owned()))
    }
}

/// Normalizes a package name.
pub(super) fn normal_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Returns the purpose of a list or extra by name.
pub(super) fn purpose_of(name: &str, otherwise: Purpose) -> Purpose {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    if words.any(|word| DEVELOPMENT.contains(&word)) { Purpose::Development } else { otherwise }
}

/// Parses a requirement: `name[extra] >=1,<2 ; marker`; `None` if invalid.
pub(super) fn parse(line: &str) -> Option<(String, Option<String>)> {
    let line = line.trim();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let end = line.find(|c| !is_part(c)).unwrap_or(line.len());
    let (name, rest) = line.split_at_checked(end)?;
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let wanted = match Requirement::<RequirementUrl>::from_str(line) {
        Ok(strict) => strict.version_or_url.map(|wanted| match wanted {
            VersionOrUrl::VersionSpecifier(versions) => {
                versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            }
            VersionOrUrl::Url(RequirementUrl(address)) => address,
        }),
        Err(_) => Some(lenient(rest)?),
    };
    Some((name.to_owned(), wanted.filter(|wanted| !wanted.is_empty())))
}

/// Parses versions that the standard no longer allows: `foo>=1.0.*`, `foo==2.0-custom`; empty for none, `None` if it is
/// not a requirement.
fn lenient(rest: &str) -> Option<String> {
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => extras.split_once(']')?.1.trim_start(),
        None => rest,
    };
    let rest = rest.split(';').next().unwrap_or_default().trim();
    let rest = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    let known = rest.is_empty() || rest.starts_with(['=', '<', '>', '!', '~', '@']);
    known.then(|| rest.trim_start_matches('@').trim().to_owned())
}

/// Returns the manifest of the package at a path.
pub(super) fn package_at(reading: &ManifestReader<'_>, folder: &str, path: &str) -> Option<String> {
    let target = join(folder, path)?;
    let inside = |name: &&str| join(&target, name);
    PACKAGES.iter().filter_map(inside).find(|path| reading.has(path))
}

/// One logical line of a list, without comments.
enum RequirementLine {
    Package(RequestedDependency),
    /// The package next to the list, in development mode.
    Own(RequestedDependency),
    Include(String),
    Constraint(String),
}

/// Returns the non-empty logical lines of a list.
fn lines(
    reading: &ManifestReader<'_>,
    text: &str,
    folder: &str,
    purpose: Purpose,
) -> Vec<RequirementLine> {
    let mut found = Vec::new();
    let mut whole = String::new();
    for line in text.lines() {
        let line = match line.find(" #") {
            Some(at) => line.get(..at).unwrap_or_default(),
            None if line.trim_start().starts_with('#') => "",
            None => line,
        };
        if let Some(start) = line.trim_end().strip_suffix('\\') {
            whole.push_str(start);
            continue;
        }
        whole.push_str(line);
        found.extend(read_line(reading, whole.trim(), folder, purpose));
        whole.clear();
    }
    found
}

fn read_line(
    reading: &ManifestReader<'_>,
    line: &str,
    folder: &str,
    purpose: Purpose,
) -> Option<RequirementLine> {
    let option = |names: [&str; 2]| {
        let value = names.iter().find_map(|name| line.strip_prefix(name))?;
        let value = value.strip_prefix('=').unwrap_or(value).trim();
        Some(value.trim_matches('"').to_owned())
    };
    if let Some(path) = option(["--requirement", "-r"]) {
        return Some(RequirementLine::Include(path));
    }
    if let Some(path) = option(["--constraint", "-c"]) {
        return Some(RequirementLine::Constraint(path));
    }
    let editable = option(["--editable", "-e"]);
    let line = editable.as_deref().unwrap_or(line);
    let line = line.split(" --").next().unwrap_or_default().trim();
    if line.is_empty() || line.starts_with('-') {
        return None;
    }
    if let Some((address, name)) = line.split_once("#egg=") {
        let name = name.split(['&', '[']).next().unwrap_or_default();
        let wanted = RequestedDependency::new(name, Some(address.to_owned()), purpose);
        return (!name.is_empty()).then_some(RequirementLine::Package(wanted));
    }
    if line.starts_with('.') || editable.is_some() {
        let path = line.split('[').next().unwrap_or_default();
        let target = package_at(reading, folder, path)?;
        let wanted = RequestedDependency::new(path, Some(path.to_owned()), purpose);
        // A package under development is installed in place.
        let own = editable.is_some() && folder_of(&target) == folder;
        let wanted = wanted.with_local_manifest(Some(target));
        return Some(if own {
            RequirementLine::Own(wanted)
        } else {
            RequirementLine::Package(wanted)
        });
    }
    let (name, requirement) = parse(line)?;
    Some(RequirementLine::Package(RequestedDependency::new(name, requirement, purpose)))
}

/// Returns the versions pinned by a list.
fn pinned(text: &str) -> LockedVersions {
    let mut fixed = LockedVersions::default();
    for line in text.lines() {
        let line = line.split([' ', ';', '#', '\\']).next().unwrap_or_default();
        if let Some((name, version)) = line.split_once("==") {
            let name = name.split('[').next().unwrap_or_default();
            fixed.add(normal_name(name), version.trim_start_matches('='));
        }
    }
    fixed
}

/// Returns the program that compiled a list, and the words of its command.
fn compiler(text: &str) -> Option<(&'static str, Vec<&str>)> {
    let head = text.lines().take_while(|line| line.starts_with('#') || line.starts_with("--"));
    let head: Vec<_> = head.take(12).collect();
    let says = |what: &str| head.iter().any(|line| line.contains(what));
    let program = if says("autogenerated by uv") || says("uv pip compile") {
        "uv"
    } else if says("pip-compile") {
        "pip-tools"
    } else {
        return None;
    };
    Some((program, head.iter().flat_map(|line| line.split_whitespace()).collect()))
}

/// Reads every requirements list. The source of a compiled list is searched among existing drafts.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let mut constraints: HashMap<String, LockedVersions> = HashMap::new();
    let mut compiled = Vec::new();
    for path in reading.files(PackageFileFormat::Requirements) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Requirements);
        let Some(text) = reading.text(path) else {
            reading.drafts.push(draft);
            continue;
        };
        if let Some((program, words)) = compiler(&text) {
            draft.manifest.manager = Some(program.to_owned());
            draft.manifest.lock_file = Some(path.to_owned());
            let words = words.into_iter().filter(|word| word.contains('.')).map(str::to_owned);
            compiled.push((path, words.collect::<Vec<_>>(), pinned(&text)));
        } else {
            let folders = folder_of(path).split('/');
            let purpose = if folders.into_iter().any(|folder| DEVELOPMENT.contains(&folder)) {
                Purpose::Development
            } else {
                purpose_of(name_of(path), Purpose::Runtime)
            };
            fill(reading, &text, purpose, &mut draft, &mut constraints);
        }
        reading.drafts.push(draft);
    }
    for (path, fixed) in constraints {
        reading.constraints.push((path, PackageFileFormat::Requirements, fixed));
    }
    fix_sources(reading, compiled);
    reading.constraints.sort_by(|one, other| one.0.cmp(&other.0));
    reading.constraints.dedup_by(|one, other| one.0 == other.0);
    // Constraints are not dependencies.
    let limits: HashSet<_> = reading.constraints.iter().map(|(path, ..)| path.as_str()).collect();
    let asks = |path: &str| !(limits.contains(path) && name_of(path).contains("constraint"));
    reading.drafts.retain(|draft| asks(&draft.manifest.path));
}

fn fill(
    reading: &mut ManifestReader<'_>,
    text: &str,
    purpose: Purpose,
    draft: &mut ManifestDraft,
    constraints: &mut HashMap<String, LockedVersions>,
) {
    let folder = draft.folder().to_owned();
    let mut open = lines(reading, text, &folder, purpose);
    let mut seen = HashSet::new();
    let mut limits = Vec::new();
    let mut is_workshop = false;
    open.reverse();
    while let Some(line) = open.pop() {
        match line {
            RequirementLine::Package(wanted) => draft.wanted.push(wanted),
            RequirementLine::Own(wanted) => {
                draft.wanted.push(wanted);
                is_workshop = true;
            }
            RequirementLine::Constraint(path) => limits.extend(join(&folder, &path)),
            RequirementLine::Include(path) => {
                // A list that is a manifest itself is reported separately.
                let path = join(&folder, &path).filter(|path| {
                    PackageFileFormat::by_path(path).is_none()
                        && reading.has(path)
                        && seen.len() < MAX_INCLUDE_DEPTH
                });
                let Some(path) = path.filter(|path| seen.insert(path.clone())) else { continue };
                let text = reading.text(&path).unwrap_or_default();
                open.extend(lines(reading, &text, folder_of(&path), purpose).into_iter().rev());
            }
        }
    }
    for wanted in draft.wanted.iter_mut().filter(|_| is_workshop) {
        wanted.purpose = Purpose::Development;
    }
    limits.retain(|path: &String| reading.has(path));
    for path in limits.into_iter().take(MAX_INCLUDE_DEPTH) {
        if !constraints.contains_key(&path) {
            let text = reading.text(&path).unwrap_or_default();
            constraints.insert(path.clone(), pinned(&text));
        }
        if let Some(fixed) = constraints.get(&path) {
            fix(draft, &path, fixed);
        }
    }
}

fn fix(draft: &mut ManifestDraft, path: &str, fixed: &LockedVersions) {
    draft.manifest.lock_file.get_or_insert_with(|| path.to_owned());
    for wanted in draft.wanted.iter_mut().filter(|wanted| wanted.locked.is_none()) {
        let version = fixed.version(&normal_name(&wanted.name), wanted.requirement.as_deref());
        wanted.locked = version.map(str::to_owned);
    }
}

/// Applies the versions of compiled lists to their sources.
fn fix_sources(
    reading: &mut ManifestReader<'_>,
    compiled: Vec<(&str, Vec<String>, LockedVersions)>,
) {
    let drafts = reading.drafts.iter().enumerate();
    let by_path: HashMap<_, _> =
        drafts.map(|(at, draft)| (draft.manifest.path.clone(), at)).collect();
    for (path, words, fixed) in compiled {
        for word in words {
            // The command ran in the list's folder or the root.
            let places = [join(folder_of(path), &word), join("", &word)];
            let source = places.iter().flatten().find_map(|place| by_path.get(place));
            let Some(at) = source.filter(|at| reading.drafts[**at].manifest.path != path) else {
                continue;
            };
            let draft = &reading.drafts[*at];
            let beside =
                |name: &&&str| join(draft.folder(), name).is_some_and(|it| reading.has(&it));
            let has_lock = draft.manifest.lock_file.is_some()
                || draft.format.locks().iter().any(|name| beside(&name));
            if !has_lock {
                fix(&mut reading.drafts[*at], path, &fixed);
            }
        }
        reading.constraints.push((path.to_owned(), PackageFileFormat::Requirements, fixed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_split() {
        let cases = [
            ("requests", "requests -"),
            (
                " requests[socks,security] >= 2.8.1, < 3 ; python_version > '3'",
                "requests >=2.8.1,<3",
            ),
            ("Flask_Login(>=1)", "Flask_Login >=1"),
            (
                "pip @ https://example.org/pip.zip ; sys_platform == 'win32'",
                "pip https://example.org/pip.zip",
            ),
            ("a @ https://example.org/${HOME}/a.zip", "a https://example.org/${HOME}/a.zip"),
            ("old >=1.0.*", "old >=1.0.*"),
            ("odd==2.0-custom_build; extra == 'x'", "odd ==2.0-custom_build"),
            ("x[y", "none"),
            ("some prose here", "none"),
            ("", "none"),
            ("-e .", "none"),
        ];
        for (line, want) in cases {
            let got = parse(line).map_or("none".into(), |(name, wanted)| {
                format!("{name} {}", wanted.as_deref().unwrap_or("-"))
            });
            assert_eq!(got, want, "{line}");
        }
    }

    #[test]
    fn names_have_one_form() {
        for name in ["Foo.Bar_baz", "foo-bar-baz", "foo__bar--baz"] {
            assert_eq!(normal_name(name), "foo-bar-baz");
        }
    }

    #[test]
    fn words_give_purposes() {
        let cases = [
            ("requirements.txt", Purpose::Runtime),
            ("requirements-dev.txt", Purpose::Development),
            ("doc-requirements.in", Purpose::Development),
            ("latest", Purpose::Runtime),
        ];
        for (name, want) in cases {
            assert_eq!(purpose_of(name, Purpose::Runtime), want, "{name}");
        }
    }
}
