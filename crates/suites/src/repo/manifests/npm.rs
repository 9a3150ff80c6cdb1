//! npm and compatible managers (pnpm, yarn, bun): `package.json`, workspaces and catalogs. Lock files are in
//! `npm_lock`.

use super::{
    super::{
        report::Purpose,
        tree::{folder_of, join},
    },
    format::PackageFileFormat,
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestError, ManifestReader, RequestedDependency, yaml},
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Dependency tables, and their purposes.
const TABLES: [(&str, Purpose); 4] = [
    ("dependencies", Purpose::Runtime),
    ("devDependencies", Purpose::Development),
    ("peerDependencies", Purpose::Peer),
    ("optionalDependencies", Purpose::Optional),
];

/// Managers in the `packageManager` field.
const MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// Keys of a file that only configures module loading.
const MARKERS: [&str; 9] =
    ["type", "sideEffects", "main", "module", "types", "private", "exports", "browser", "typings"];

/// Prefixes of a folder requirement.
const FOLDERS: [&str; 3] = ["file:", "link:", "portal:"];

/// Requirements by catalog and package; the unnamed catalog is `default`.
type Catalogues = HashMap<String, HashMap<String, String>>;

/// Workspace settings in a manifest.
#[derive(Debug, Default)]
struct NpmWorkspace {
    patterns: Vec<String>,
    catalogues: Catalogues,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PnpmWorkspace {
    packages: Option<Vec<String>>,
    catalog: Option<HashMap<String, String>>,
    catalogs: Option<Catalogues>,
}

/// Reads every `package.json`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::PackageJson);
    let folders = ManifestFolders::new(&paths);
    let mut workspaces: BTreeMap<&str, NpmWorkspace> = BTreeMap::new();
    let mut drafts: BTreeMap<&str, ManifestDraft> = BTreeMap::new();
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::PackageJson);
        let value = reading.text(path).and_then(|text| {
            let value = serde_json::from_str(&text).map_err(ManifestError::from);
            reading.accept(path, value)
        });
        let value: Value = value.unwrap_or_default();
        let keys = value.as_object();
        if keys.is_some_and(|keys| keys.keys().all(|key| MARKERS.contains(&key.as_str()))) {
            continue;
        }
        if let Some(workspace) = fill(&value, &mut draft) {
            workspaces.insert(path, workspace);
        }
        drafts.insert(path, draft);
    }
    read_aids(reading, &folders, &mut workspaces, &mut drafts);
    let mut roots: HashMap<&str, &str> = HashMap::new();
    for path in &paths {
        let Some(workspace) = workspaces.get(path).filter(|_| !reading.is_over()) else { continue };
        let members = folders.matching(folder_of(path), &workspace.patterns);
        // Of two nested workspaces, the inner one comes later and wins.
        roots.extend(members.iter().map(|member| (*member, *path)));
        if let Some(root) = drafts.get_mut(path) {
            root.manifest.members = members.into_iter().map(str::to_owned).collect();
        }
    }
    for (path, mut draft) in drafts {
        let root = roots.get(path).copied().unwrap_or(path);
        let folder = draft.folder().to_owned();
        for wanted in &mut draft.wanted {
            resolve(wanted, &folder, workspaces.get(root), &folders);
        }
        reading.drafts.push(draft);
    }
}

/// Reads files next to a manifest with more workspace settings.
fn read_aids<'a>(
    reading: &mut ManifestReader<'_>,
    folders: &ManifestFolders<'a>,
    workspaces: &mut BTreeMap<&'a str, NpmWorkspace>,
    drafts: &mut BTreeMap<&'a str, ManifestDraft>,
) {
    for path in reading.files(PackageFileFormat::PnpmWorkspace) {
        let found = reading.text(path).and_then(|text| {
            let found = yaml::<PnpmWorkspace>(&text);
            reading.accept(path, found)
        });
        let (Some(found), Some(root)) = (found, folders.get(folder_of(path))) else { continue };
        if let Some(draft) = drafts.get_mut(root) {
            draft.likely_manager = PackageFileFormat::PnpmWorkspace.manager();
        }
        let workspace = workspaces.entry(root).or_default();
        if let Some(packages) = found.packages {
            workspace.patterns = packages;
        }
        workspace.catalogues.extend(found.catalogs.unwrap_or_default());
        let default = workspace.catalogues.entry("default".into()).or_default();
        default.extend(found.catalog.unwrap_or_default());
    }
    for path in reading.files(PackageFileFormat::Lerna) {
        let found = reading.text(path).and_then(|text| {
            let found = serde_json::from_str::<Value>(&text).map_err(ManifestError::from);
            reading.accept(path, found)
        });
        let (Some(found), Some(root)) = (found, folders.get(folder_of(path))) else { continue };
        let patterns = texts(found.get("packages"));
        if !patterns.is_empty() && !workspaces.contains_key(root) {
            workspaces.insert(root, NpmWorkspace { patterns, catalogues: Catalogues::new() });
        }
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Reads a manifest's data and dependencies, and its workspace, if any.
fn fill(value: &Value, draft: &mut ManifestDraft) -> Option<NpmWorkspace> {
    let manifest = &mut draft.manifest;
    manifest.name = text(value.get("name"));
    manifest.version = text(value.get("version"));
    manifest.description = text(value.get("description"));
    manifest.licence = licence(value);
    let manager = value.get("packageManager").and_then(Value::as_str);
    let manager = manager.and_then(|manager| manager.split('@').next());
    manifest.manager = manager.filter(|manager| MANAGERS.contains(manager)).map(str::to_owned);
    for (table, purpose) in TABLES {
        for (name, wanted) in value.get(table).and_then(Value::as_object).into_iter().flatten() {
            draft.want(name, text(Some(wanted)), purpose);
        }
    }
    let declared = value.get("workspaces")?;
    let list = if declared.is_array() { Some(declared) } else { declared.get("packages") };
    Some(NpmWorkspace { patterns: texts(list), catalogues: catalogues(declared) })
}

/// Bun and yarn define catalogs next to the members.
fn catalogues(workspaces: &Value) -> Catalogues {
    let requirements = |table: &Value| -> HashMap<String, String> {
        let entries = table.as_object().into_iter().flatten();
        entries.filter_map(|(name, wanted)| Some((name.clone(), text(Some(wanted))?))).collect()
    };
    let named = workspaces.get("catalogs").and_then(Value::as_object).into_iter().flatten();
    let mut all: Catalogues =
        named.map(|(name, table)| (name.clone(), requirements(table))).collect();
    if let Some(table) = workspaces.get("catalog") {
        all.insert("default".into(), requirements(table));
    }
    all
}

/// Reads a string, `{ "type": … }`, or a list of those.
fn licence(value: &Value) -> Option<String> {
    let one = |value: &Value| text(Some(value)).or_else(|| text(value.get("type")));
    value.get("license").and_then(one).or_else(|| {
        let all: Vec<_> = value.get("licenses")?.as_array()?.iter().filter_map(one).collect();
        (!all.is_empty()).then(|| all.join(" OR "))
    })
}

/// Resolves a requirement that refers to the workspace.
fn resolve(
    wanted: &mut RequestedDependency,
    folder: &str,
    workspace: Option<&NpmWorkspace>,
    folders: &ManifestFolders<'_>,
) {
    let Some(requirement) = &wanted.requirement else { return };
    if let Some(catalogue) = requirement.strip_prefix("catalog:") {
        let catalogue = if catalogue.is_empty() { "default" } else { catalogue };
        let catalogue = workspace.and_then(|workspace| workspace.catalogues.get(catalogue));
        if let Some(found) = catalogue.and_then(|catalogue| catalogue.get(&wanted.name)) {
            wanted.requirement = Some(found.clone());
        }
    } else if let Some(path) = FOLDERS.iter().find_map(|start| requirement.strip_prefix(start)) {
        let target = join(folder, path).and_then(|target| folders.get(&target));
        *wanted = wanted.clone().with_local_manifest(target.map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::check, *};

    #[test]
    fn a_package_by_itself() {
        check(
            &[
                (
                    "package.json",
                    r#"{"name":"b","version":"2.0.0","description":"Does b.","license":"ISC","packageManager":"npm@10.1.0",
                        "dependencies":{"express":"^4","near":"file:./near"},"devDependencies":{"jest":"29"},
                        "peerDependencies":{"react":"*"},"optionalDependencies":{"fsevents":"2","odd":{"a":1}}}"#,
                ),
                (
                    "package-lock.json",
                    r#"{"packages":{"":{"version":"2.0.0"},"node_modules/express":{"version":"4.19.2"},"node_modules/jest":{"version":"29.7.0"},
                        "node_modules/jest/node_modules/ms":{"version":"2.0.0"},"node_modules/near":{"link":true,"resolved":"near"}}}"#,
                ),
                ("yarn.lock", "# yarn lockfile v1\n\nms@2:\n  version \"2.0.0\"\n"),
                ("near/package.json", r#"{"name":"near"}"#),
                ("esm/package.json", r#"{"type":"module"}"#),
            ],
            "package.json | npm npm | b 2.0.0 | Does b. | ISC | - | - | package-lock.json
             + runtime express ^4 4.19.2
             + runtime near file:./near -
             + optional fsevents 2 -
             + optional odd - -
             + peer react * -
             + development jest 29 29.7.0
             near/package.json | npm - | near - | - | - | - | - | -
             = 4 direct, 1 development, 3 locked
             = package.json > near/package.json
             = package-lock.json of npm with 3
             = yarn.lock of npm with 1",
        );
    }

    #[test]
    fn pnpm_workspaces_share_a_lock_file_and_catalogues() {
        check(
            &[
                ("package.json", r#"{"name":"root","private":true,"devDependencies":{"typescript":"catalog:"}}"#),
                (
                    "pnpm-workspace.yaml",
                    "packages:\n  - 'packages/*'\n  - '!packages/old'\ncatalog:\n  typescript: 5.10\ncatalogs:\n  react17:\n    react: ^17.0.0\n",
                ),
                (
                    "packages/a/package.json",
                    r#"{"name":"@s/a","version":"1.0.0","dependencies":{"@s/b":"workspace:*","react":"catalog:react17","none":"catalog:none"}}"#,
                ),
                ("packages/b/package.json", r#"{"name":"@s/b","devDependencies":{"typescript":"catalog:","react":"^18"}}"#),
                ("packages/old/package.json", r#"{"name":"old","dependencies":{"@s/b":"1"}}"#),
                (
                    "pnpm-lock.yaml",
                    "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    devDependencies:\n      typescript:\n        specifier: 'catalog:'\n        version: 5.10.2\n\n  packages/a:\n    dependencies:\n      \
                     '@s/b':\n        specifier: workspace:*\n        version: link:../b\n      react:\n        specifier: catalog:react17\n        version: 17.0.2\n\n  packages/b:\n    devDependencies:\n      \
                     react:\n        specifier: ^18\n        version: 18.2.0\n\npackages:\n\n  react@17.0.2:\n    resolution: {integrity: x}\n\n  react@18.2.0:\n    resolution: {integrity: x}\n\n  typescript@5.10.2:\n    resolution: {integrity: x}\n",
                ),
            ],
            "package.json | npm pnpm | root - | - | - | packages/a/package.json packages/b/package.json | - | pnpm-lock.yaml
             + development typescript 5.10 5.10.2
             packages/a/package.json | npm pnpm | @s/a 1.0.0 | - | - | - | package.json | pnpm-lock.yaml
             + runtime @s/b workspace:* -
             + runtime react ^17.0.0 17.0.2
             + runtime none catalog:none -
             packages/b/package.json | npm pnpm | @s/b - | - | - | - | package.json | pnpm-lock.yaml
             + development typescript 5.10 -
             + development react ^18 18.2.0
             packages/old/package.json | npm - | old - | - | - | - | - | -
             + runtime @s/b 1 -
             = 3 direct, 1 development, 3 locked
             = packages/a/package.json > packages/b/package.json
             = react of npm by 2
             = typescript of npm by 2
             = pnpm-lock.yaml of npm with 3",
        );
    }

    #[test]
    fn managers_come_from_lock_files_and_the_workspace() {
        check(
            &[
                (
                    "package.json",
                    r#"{"packageManager":"yarn@4.0.0","workspaces":{"packages":["a"],"catalog":{"x":"^1"}}}"#,
                ),
                ("a/package.json", r#"{"name":"a","dependencies":{"x":"catalog:"}}"#),
                ("bun/package.json", r#"{"name":"c"}"#),
                ("bun/bun.lockb", "\u{0}"),
                ("lerna/package.json", r#"{"name":"l"}"#),
                ("lerna/lerna.json", r#"{"packages":["modules/*"]}"#),
                ("lerna/modules/m/package.json", r#"{"name":"m","dependencies":{"l":"1"}}"#),
            ],
            "package.json | npm yarn | - - | - | - | a/package.json | - | -
             a/package.json | npm yarn | a - | - | - | - | package.json | -
             + runtime x ^1 -
             bun/package.json | npm bun | c - | - | - | - | - | bun/bun.lockb
             lerna/package.json | npm - | l - | - | - | lerna/modules/m/package.json | - | -
             lerna/modules/m/package.json | npm - | m - | - | - | - | lerna/package.json | -
             + runtime l 1 -
             = 1 direct, 0 development, 0 locked
             = lerna/modules/m/package.json > lerna/package.json",
        );
    }

    #[test]
    fn licenses_are_kept_as_written() {
        let cases = [
            (r#"{"license":"MIT"}"#, Some("MIT")),
            (r#"{"license":{"type":"ISC","url":"x"}}"#, Some("ISC")),
            (r#"{"licenses":[{"type":"MIT"},{"type":"GPL-2.0"}]}"#, Some("MIT OR GPL-2.0")),
            (r#"{"licenses":[]}"#, None),
            (r#"{"license":7}"#, None),
            ("[]", None),
        ];
        for (json, want) in cases {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(licence(&value).as_deref(), want, "{json}");
        }
    }
}
