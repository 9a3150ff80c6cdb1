//! Cargo: manifests, workspaces with inheritance, and `Cargo.lock`.

use super::{
    super::{report::Purpose, tree::folder_of},
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestError, ManifestReader, RequestedDependency, toml},
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use toml::{Table, Value};

/// Package fields that members can inherit from a workspace.
const FIELDS: [&str; 3] = ["version", "description", "license"];

/// A dependency before its workspace is resolved.
#[derive(Debug, Clone)]
struct CargoDependency {
    /// Name in the manifest.
    key: String,
    /// Original package name.
    package: Option<String>,
    requirement: Option<String>,
    path: Option<String>,
    inherited: bool,
    purpose: Purpose,
}

/// Settings that members inherit from a workspace.
#[derive(Debug, Default)]
struct CargoWorkspace {
    members: Vec<String>,
    exclude: Vec<String>,
    fields: [Option<String>; 3],
    dependencies: Vec<CargoDependency>,
    /// Index in `dependencies` by name.
    index: HashMap<String, usize>,
    /// Folders that replace packages with that name.
    patches: HashMap<String, String>,
}

/// A manifest before its workspace is resolved.
#[derive(Debug)]
struct CargoManifest {
    draft: ManifestDraft,
    inherited: [bool; 3],
    entries: Vec<CargoDependency>,
    /// Folder of its workspace, if named.
    named_workspace: Option<String>,
    workspace: Option<CargoWorkspace>,
}

/// Reads every `Cargo.toml`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::CargoManifest);
    let folders = ManifestFolders::new(&paths);
    let mut all = BTreeMap::new();
    for path in &paths {
        let table = reading.text(path).and_then(|text| {
            let table = toml::<Table>(&text);
            reading.accept(path, table)
        });
        all.insert(*path, CargoManifest::new(path, &table.unwrap_or_default()));
    }
    let mut roots: HashMap<&str, &str> = HashMap::new();
    for path in &paths {
        if reading.is_over() {
            break;
        }
        let members = members(path, &all, &folders);
        for member in &members {
            roots.insert(member, path);
        }
        if let Some(own) = all.get_mut(path) {
            own.draft.manifest.members = members.into_iter().map(str::to_owned).collect();
        }
    }
    let inherited: Vec<_> = all
        .iter()
        .map(|(path, own)| inherit(own, roots.get(path).copied().unwrap_or(path), &all, &folders))
        .collect();
    for (mut own, (fields, wanted)) in all.into_values().zip(inherited) {
        let manifest = &mut own.draft.manifest;
        [manifest.version, manifest.description, manifest.licence] = fields;
        own.draft.wanted = wanted;
        reading.drafts.push(own.draft);
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl CargoManifest {
    fn new(path: &str, table: &Table) -> Self {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::CargoManifest);
        let package = table.get("package").or_else(|| table.get("project"));
        let field = |key: &str| package.and_then(|package| package.get(key));
        draft.manifest.name = text(field("name"));
        let inherited = FIELDS.map(|key| field(key).is_some_and(is_inherited));
        let manifest = &mut draft.manifest;
        [manifest.version, manifest.description, manifest.licence] =
            FIELDS.map(|key| text(field(key)));
        let mut entries = Vec::new();
        take_tables(table, &mut entries);
        let targets = table.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flat_map(Table::values).filter_map(Value::as_table) {
            take_tables(target, &mut entries);
        }
        let named_workspace = text(field("workspace"));
        let workspace = table.get("workspace").and_then(Value::as_table);
        let workspace = workspace.map(|shared| CargoWorkspace::new(shared, table.get("patch")));
        Self { draft, inherited, entries, named_workspace, workspace }
    }
}

impl CargoWorkspace {
    fn new(table: &Table, patch: Option<&Value>) -> Self {
        let mut dependencies = Vec::new();
        take_list(table.get("dependencies"), Purpose::Workspace, &mut dependencies);
        let names = dependencies.iter().enumerate();
        let patches = patch.and_then(Value::as_table).into_iter().flat_map(Table::values);
        let patches = patches.filter_map(Value::as_table).flatten();
        Self {
            members: texts(table.get("members")),
            exclude: texts(table.get("exclude")),
            fields: FIELDS
                .map(|key| text(table.get("package").and_then(|package| package.get(key)))),
            index: names.map(|(at, entry)| (entry.key.clone(), at)).collect(),
            dependencies,
            patches: patches
                .filter_map(|(name, patch)| Some((name.clone(), text(patch.get("path"))?)))
                .collect(),
        }
    }

    /// Returns the workspace entry that a member inherits.
    fn shared(&self, entry: &CargoDependency) -> Option<&CargoDependency> {
        let at = self.index.get(&entry.key).filter(|_| entry.inherited)?;
        self.dependencies.get(*at)
    }

    /// Whether a folder, relative to the workspace, is excluded from its members.
    fn excludes(&self, folder: &str) -> bool {
        self.exclude.iter().any(|left_out| {
            let left_out = left_out.trim_start_matches("./").trim_end_matches('/');
            folder
                .strip_prefix(left_out)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn take_tables(table: &Table, into: &mut Vec<CargoDependency>) {
    let either = |one: &str, other: &str| table.get(one).or_else(|| table.get(other)).cloned();
    take_list(table.get("dependencies"), Purpose::Runtime, into);
    let development = either("dev-dependencies", "dev_dependencies");
    take_list(development.as_ref(), Purpose::Development, into);
    let build = either("build-dependencies", "build_dependencies");
    take_list(build.as_ref(), Purpose::Build, into);
}

fn take_list(list: Option<&Value>, purpose: Purpose, into: &mut Vec<CargoDependency>) {
    for (key, wanted) in list.and_then(Value::as_table).into_iter().flatten() {
        let optional = wanted.get("optional").and_then(Value::as_bool) == Some(true);
        let source = ["version", "path", "git"].iter().find_map(|key| text(wanted.get(key)));
        into.push(CargoDependency {
            key: key.clone(),
            package: text(wanted.get("package")),
            requirement: text(Some(wanted)).or(source),
            path: text(wanted.get("path")),
            inherited: is_inherited(wanted),
            purpose: if optional { Purpose::Optional } else { purpose },
        });
    }
}

/// Returns the members of a declared workspace: those it names, and those that members reach by path.
fn members<'a>(
    root: &str,
    all: &BTreeMap<&'a str, CargoManifest>,
    folders: &ManifestFolders<'a>,
) -> BTreeSet<&'a str> {
    let mut members = BTreeSet::new();
    let folder = folder_of(root);
    let Some(own) = all.get(root) else { return members };
    let Some(workspace) = &own.workspace else { return members };
    let inside = |path: &str| match folder_of(path).strip_prefix(folder) {
        Some(rest) if folder.is_empty() || rest.starts_with('/') => {
            !workspace.excludes(rest.trim_start_matches('/'))
        }
        _ => false,
    };
    let is_open = |path: &str| all.get(path).is_some_and(|own| own.workspace.is_none());
    let named = folders.matching(folder, &workspace.members).into_iter();
    // A pattern may match an excluded folder; an explicit path overrides the exclusion.
    let spelt = workspace.members.iter().filter_map(|path| folders.from(folder, path));
    let spelt: BTreeSet<_> = spelt.collect();
    let mut open: Vec<_> = named.filter(|path| inside(path) || spelt.contains(path)).collect();
    let mut next = Some(root);
    while let Some(path) = next {
        let own = all.get(path);
        for entry in own.iter().flat_map(|own| &own.entries) {
            let found = target(entry, path, root, workspace, folders);
            open.extend(found.filter(|found| inside(found)));
        }
        next = None;
        while let Some(path) = open.pop() {
            if path != root && is_open(path) && members.insert(path) {
                next = Some(path);
                break;
            }
        }
    }
    members
}

/// Returns the manifest of a path dependency.
fn target<'a>(
    entry: &CargoDependency,
    path: &str,
    root: &str,
    workspace: &CargoWorkspace,
    folders: &ManifestFolders<'a>,
) -> Option<&'a str> {
    if let Some(own) = &entry.path {
        return folders.from(folder_of(path), own);
    }
    let shared = workspace.shared(entry);
    let name = shared.unwrap_or(entry).package.as_ref().unwrap_or(&entry.key);
    let patched = || workspace.patches.get(name);
    let from_root = shared.and_then(|shared| shared.path.as_ref()).or_else(patched)?;
    folders.from(folder_of(root), from_root)
}

/// Resolves what a manifest inherits from its workspace.
fn inherit(
    own: &CargoManifest,
    root: &str,
    all: &BTreeMap<&str, CargoManifest>,
    folders: &ManifestFolders<'_>,
) -> ([Option<String>; 3], Vec<RequestedDependency>) {
    let named = own.named_workspace.as_ref();
    let named = named.and_then(|named| folders.from(own.draft.folder(), named));
    let root = named.unwrap_or(root);
    let nothing = CargoWorkspace::default();
    let workspace = all.get(root).and_then(|own| own.workspace.as_ref()).unwrap_or(&nothing);
    let manifest = &own.draft.manifest;
    let mut fields =
        [&manifest.version, &manifest.description, &manifest.licence].map(Option::clone);
    for ((field, inherited), shared) in fields.iter_mut().zip(own.inherited).zip(&workspace.fields)
    {
        // A virtual workspace is described by its inheritable settings.
        if inherited || (manifest.name.is_none() && own.workspace.is_some()) {
            field.clone_from(shared);
        }
    }
    let mut wanted: Vec<_> = own
        .entries
        .iter()
        .map(|entry| {
            let source = workspace.shared(entry).unwrap_or(entry);
            let name = source.package.as_ref().unwrap_or(&entry.key);
            let target = target(entry, &manifest.path, root, workspace, folders);
            RequestedDependency::new(name, source.requirement.clone(), entry.purpose)
                .with_local_manifest(target.map(str::to_owned))
        })
        .collect();
    let offered = own.workspace.iter().flat_map(|workspace| &workspace.dependencies);
    wanted.extend(offered.map(|entry| {
        let name = entry.package.as_ref().unwrap_or(&entry.key);
        RequestedDependency::new(name, entry.requirement.clone(), Purpose::Workspace)
    }));
    (fields, wanted)
}

#[derive(Deserialize)]
struct CargoLockFile {
    #[serde(default)]
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    source: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

/// Parses `Cargo.lock`.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: CargoLockFile = toml(text)?;
    let (mut all, mut fixed, mut exact) =
        (LockedVersions::default(), LockedVersions::default(), LockedVersions::default());
    for package in &file.package {
        all.add(&package.name, &package.version);
        // A package without a source belongs to this repository.
        if package.source.is_some() {
            fixed.add(&package.name, &package.version);
        }
    }
    for package in file.package.iter().filter(|package| package.source.is_none()) {
        for dependency in &package.dependencies {
            // A second word distinguishes two versions of one package.
            let mut words = dependency.split(' ');
            let Some(name) = words.next() else { continue };
            if let Some(version) = words.next().or_else(|| all.version(name, None)) {
                exact.add(key(&package.name, name), version);
            }
        }
    }
    Ok(ParsedLockFile {
        fixed,
        exact,
        keys: |asker, wanted| vec![key(asker.name, &wanted.name)],
        name: Some(str::to_owned),
    })
}

fn key(package: &str, dependency: &str) -> String {
    format!("{package} {dependency}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn a_package_by_itself() {
        check(
            &[
                (
                    "Cargo.toml",
                    "[package]\nname='a'\nversion='1.0.0'\ndescription='Does a.'\nlicense='MIT'\n\
                     [dependencies]\nserde='1'\nrand={version='0.9',optional=true}\nold={package='rand',version='0.8'}\n\
                     far={git='https://example.org/far'}\n[dev-dependencies]\ntempfile='3'\n[build-dependencies]\ncc='1'\n\
                     [target.'cfg(unix)'.dependencies]\nlibc='0.2'\n[target.'cfg(windows)'.dependencies]\nlibc='0.2'\n",
                ),
                (
                    "Cargo.lock",
                    "version = 4\n[[package]]\nname='a'\nversion='1.0.0'\ndependencies=['cc','libc','rand 0.8.5','rand 0.9.1','serde','tempfile']\n\
                     [[package]]\nname='rand'\nversion='0.8.5'\nsource='r'\n[[package]]\nname='rand'\nversion='0.9.1'\nsource='r'\n\
                     [[package]]\nname='serde'\nversion='1.0.200'\nsource='r'\n[[package]]\nname='libc'\nversion='0.2.150'\nsource='r'\n\
                     [[package]]\nname='tempfile'\nversion='3.1.0'\nsource='r'\n",
                ),
            ],
            "Cargo.toml | Cargo cargo | a 1.0.0 | Does a. | MIT | - | - | Cargo.lock
             + runtime serde 1 1.0.200
             + runtime rand 0.8 0.8.5
             + runtime far https://example.org/far -
             + runtime libc 0.2 0.2.150
             + optional rand 0.9 0.9.1
             + build cc 1 -
             + development tempfile 3 3.1.0
             = 5 direct, 1 development, 5 locked
             = Cargo.lock of Cargo with 5",
        );
    }

    #[test]
    fn members_inherit_from_their_workspace() {
        check(
            &[
                (
                    "Cargo.toml",
                    "[workspace]\nmembers=['crates/*']\nexclude=['crates/old']\n[workspace.package]\nversion='2.0.0'\nlicense='Apache-2.0'\ndescription='Shared.'\n\
                     [workspace.dependencies]\nserde='1'\nb={path='crates/b'}\nshort={package='long-name',version='3'}\n",
                ),
                (
                    "crates/a/Cargo.toml",
                    "[package]\nname='a'\nversion.workspace=true\nlicense={workspace=true}\n[dependencies]\nserde={workspace=true,optional=true}\n\
                     b.workspace=true\nshort={workspace=true}\nc={path='../../more/c'}\nunknown.workspace=true\n",
                ),
                (
                    "crates/b/Cargo.toml",
                    "[package]\nname='b'\nversion='0.1.0'\ndescription.workspace=true\n[dev-dependencies]\nserde.workspace=true\nb={path='.'}\n",
                ),
                ("crates/old/Cargo.toml", "[package]\nname='old'\n[dependencies]\nserde='0.9'\n"),
                ("more/c/Cargo.toml", "[package]\nname='c'\nversion='0.0.1'\n"),
                ("more/d/Cargo.toml", "[package]\nname='d'\nversion.workspace=true\n"),
            ],
            "Cargo.toml | Cargo cargo | - 2.0.0 | Shared. | Apache-2.0 | crates/a/Cargo.toml crates/b/Cargo.toml more/c/Cargo.toml | - | -
             + workspace serde 1 -
             + workspace b crates/b -
             + workspace long-name 3 -
             crates/a/Cargo.toml | Cargo cargo | a 2.0.0 | - | Apache-2.0 | - | Cargo.toml | -
             + runtime b crates/b -
             + runtime long-name 3 -
             + runtime c ../../more/c -
             + runtime unknown - -
             + optional serde 1 -
             crates/b/Cargo.toml | Cargo cargo | b 0.1.0 | Shared. | - | - | Cargo.toml | -
             + development serde 1 -
             + development b . -
             crates/old/Cargo.toml | Cargo cargo | old - | - | - | - | - | -
             + runtime serde 0.9 -
             more/c/Cargo.toml | Cargo cargo | c 0.0.1 | - | - | - | Cargo.toml | -
             more/d/Cargo.toml | Cargo cargo | d - | - | - | - | - | -
             = 3 direct, 0 development, 0 locked
             = crates/a/Cargo.toml > crates/b/Cargo.toml
             = crates/a/Cargo.toml > more/c/Cargo.toml
             = serde of Cargo by 3",
        );
    }

    #[test]
    fn the_lock_file_of_a_workspace_serves_its_members() {
        check(
            &[
                (
                    "Cargo.toml",
                    "[workspace]\nmembers=['a']\n[package]\nname='root'\n[dependencies]\na={path='a',version='1'}\n[patch.crates-io]\nz={path='z'}\n",
                ),
                ("a/Cargo.toml", "[package]\nname='a'\n[dependencies]\nx='1'\nz='1'\n"),
                ("a/Cargo.lock", "version = 4\n"),
                ("z/Cargo.toml", "[package]\nname='z'\n"),
                ("examples/e/Cargo.toml", "[package]\nname='e'\n[dependencies]\nroot='1'\nx='1'\n"),
                (
                    "Cargo.lock",
                    "[[package]]\nname='a'\nversion='1.0.0'\ndependencies=['x','z']\n[[package]]\nname='x'\nversion='1.2.3'\nsource='r'\n[[package]]\nname='z'\nversion='1.0.0'\n",
                ),
            ],
            "Cargo.toml | Cargo cargo | root - | - | - | a/Cargo.toml z/Cargo.toml | - | Cargo.lock
             + runtime a 1 -
             a/Cargo.toml | Cargo cargo | a - | - | - | - | Cargo.toml | Cargo.lock
             + runtime x 1 1.2.3
             + runtime z 1 1.0.0
             z/Cargo.toml | Cargo cargo | z - | - | - | - | Cargo.toml | Cargo.lock
             examples/e/Cargo.toml | Cargo cargo | e - | - | - | - | - | -
             + runtime root 1 -
             + runtime x 1 -
             = 1 direct, 0 development, 1 locked
             = Cargo.toml > a/Cargo.toml
             = a/Cargo.toml > z/Cargo.toml
             = examples/e/Cargo.toml > Cargo.toml
             = x of Cargo by 2
             = Cargo.lock of Cargo with 1
             = a/Cargo.lock of Cargo with 0",
        );
    }
}
