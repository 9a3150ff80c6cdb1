//! Python: `pyproject.toml` of every build tool, `Pipfile`, and uv workspaces. Requirement lists, `setup` files and
//! lock files have their own modules.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestReader, RequestedDependency, toml},
    requirements::{self, package_at, parse, purpose_of},
    setup,
};
use std::collections::{BTreeMap, HashMap};
use toml::{Table, Value};

/// Build tools by backend module.
const BACKENDS: [(&str, &str); 9] = [
    ("hatchling", "hatch"),
    ("poetry", "poetry"),
    ("pdm", "pdm"),
    ("uv_build", "uv"),
    ("flit", "flit"),
    ("maturin", "maturin"),
    ("scikit_build_core", "scikit-build"),
    ("mesonpy", "meson"),
    ("setuptools", "setuptools"),
];

/// Managers by their settings table, which is more specific than the backend.
const TOOLS: [(&str, &str); 3] = [("poetry", "poetry"), ("pdm", "pdm"), ("uv", "uv")];

/// Reads every Python package manifest.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    read_projects(reading);
    for path in reading.files(PackageFileFormat::Pipfile) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Pipfile);
        let table = reading.text(path).and_then(|text| {
            let table = toml::<Table>(&text);
            reading.accept(path, table)
        });
        let table = table.unwrap_or_default();
        let lists = [("packages", Purpose::Runtime), ("dev-packages", Purpose::Development)];
        for (list, purpose) in lists {
            take_table(reading, table.get(list), purpose, &mut draft);
        }
        reading.drafts.push(draft);
    }
    setup::read(reading);
    requirements::read(reading);
}

fn read_projects(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::Pyproject);
    let folders = ManifestFolders::new(&paths);
    let mut drafts = BTreeMap::new();
    let mut workspaces = Vec::new();
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Pyproject);
        let table = reading.text(path).and_then(|text| {
            let table = toml::<Table>(&text);
            reading.accept(path, table)
        });
        if let Some(table) = table {
            // Many contain only settings of other tools.
            if !is_package(&table) {
                continue;
            }
            fill(reading, &table, &mut draft);
            let workspace = at(&table, &["tool", "uv", "workspace"]);
            if let Some(workspace) = workspace {
                let excluded = texts(workspace.get("exclude"));
                let excluded = excluded.into_iter().map(|pattern| format!("!{pattern}"));
                let patterns = texts(workspace.get("members")).into_iter().chain(excluded);
                workspaces.push((*path, patterns.collect::<Vec<_>>()));
            }
        }
        drafts.insert(*path, draft);
    }
    for (path, patterns) in workspaces {
        if let Some(root) = drafts.get_mut(path).filter(|_| !reading.is_over()) {
            let members = folders.matching(root.folder(), &patterns);
            root.manifest.members = members.into_iter().map(str::to_owned).collect();
        }
    }
    reading.drafts.extend(drafts.into_values());
}

fn is_package(table: &Table) -> bool {
    let tools = ["poetry", "uv", "pdm", "hatch", "setuptools", "flit"];
    ["project", "build-system", "dependency-groups"].iter().any(|key| table.contains_key(*key))
        || tools.iter().any(|tool| at(table, &["tool", tool]).is_some())
}

fn at<'t>(table: &'t Table, keys: &[&str]) -> Option<&'t Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn tables(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_table).into_iter().flatten()
}

fn fill(reading: &mut ManifestReader<'_>, table: &Table, draft: &mut ManifestDraft) {
    let tool = |keys: &[&str]| at(table, &[&["tool"], keys].concat());
    let project = table.get("project");
    let poetry = tool(&["poetry"]);
    let field = |key: &str| {
        let own = text(project.and_then(|project| project.get(key)));
        own.or_else(|| text(poetry.and_then(|poetry| poetry.get(key))))
    };
    draft.manifest.name = field("name");
    draft.manifest.description = field("description");
    draft.manifest.licence = field("license").or_else(|| licence(project));
    let version = field("version");
    draft.manifest.version = version.or_else(|| dynamic_version(reading, table, draft.folder()));
    take_list(project.and_then(|it| it.get("dependencies")), Purpose::Runtime, draft);
    for (extra, list) in tables(project.and_then(|it| it.get("optional-dependencies"))) {
        take_list(Some(list), purpose_of(extra, Purpose::Optional), draft);
    }
    for groups in [table.get("dependency-groups"), tool(&["pdm", "dev-dependencies"])] {
        for (_, list) in tables(groups) {
            take_list(Some(list), Purpose::Development, draft);
        }
    }
    take_list(tool(&["uv", "dev-dependencies"]), Purpose::Development, draft);
    for (_, environment) in tables(tool(&["hatch", "envs"])) {
        for list in ["dependencies", "extra-dependencies"] {
            take_list(environment.get(list), Purpose::Development, draft);
        }
    }
    take_list(at(table, &["build-system", "requires"]), Purpose::Build, draft);
    if let Some(poetry) = poetry {
        take_poetry(reading, poetry, draft);
    }
    take_sources(reading, tool(&["uv", "sources"]), draft);
    draft.likely_manager = likely_manager(table);
}

/// Reads a license that is a table or classifier.
fn licence(project: Option<&Value>) -> Option<String> {
    let table = project.and_then(|project| project.get("license"));
    text(table.and_then(|table| table.get("text"))).or_else(|| {
        let classifiers = texts(project.and_then(|project| project.get("classifiers")));
        classifiers.iter().find_map(|it| setup::classified_licence(it))
    })
}

/// Reads a version from a file named in the manifest.
fn dynamic_version(
    reading: &mut ManifestReader<'_>,
    table: &Table,
    folder: &str,
) -> Option<String> {
    let setuptools = at(table, &["tool", "setuptools", "dynamic", "version"]);
    let key = |key: &str| setuptools.and_then(|version| version.get(key));
    if let Some(name) = text(key("attr")) {
        return setup::attribute(reading, folder, &name);
    }
    if let Some(path) = text(key("file")).or_else(|| texts(key("file")).into_iter().next()) {
        return setup::whole_file(reading, folder, &path);
    }
    let path = ["hatch", "pdm"]
        .iter()
        .find_map(|tool| text(at(table, &["tool", tool, "version", "path"])));
    setup::in_source(reading, folder, &path?)
}

fn take_list(list: Option<&Value>, purpose: Purpose, draft: &mut ManifestDraft) {
    for (name, requirement) in texts(list).iter().filter_map(|line| parse(line)) {
        draft.want(name, requirement, purpose);
    }
}

fn take_poetry(reading: &ManifestReader<'_>, poetry: &Value, draft: &mut ManifestDraft) {
    take_table(reading, poetry.get("dependencies"), Purpose::Runtime, draft);
    take_table(reading, poetry.get("dev-dependencies"), Purpose::Development, draft);
    for (name, group) in tables(poetry.get("group")) {
        let purpose = if name == "main" { Purpose::Runtime } else { Purpose::Development };
        take_table(reading, group.get("dependencies"), purpose, draft);
    }
}

/// Reads a dependency table: a version, a table, or a list of tables for different platforms.
fn take_table(
    reading: &ManifestReader<'_>,
    list: Option<&Value>,
    purpose: Purpose,
    draft: &mut ManifestDraft,
) {
    for (name, wanted) in tables(list) {
        // Poetry lists the interpreter as a package.
        if name == "python" {
            continue;
        }
        let one = std::slice::from_ref(wanted);
        for wanted in wanted.as_array().map_or(one, Vec::as_slice) {
            let source = ["version", "path", "git", "url", "file"];
            let source = source.iter().find_map(|key| text(wanted.get(key)));
            let optional = wanted.get("optional").and_then(Value::as_bool) == Some(true);
            let purpose = if optional { Purpose::Optional } else { purpose };
            let path = text(wanted.get("path"));
            let target = path.and_then(|path| package_at(reading, draft.folder(), &path));
            let requirement = text(Some(wanted)).or(source);
            draft.wanted.push(
                RequestedDependency::new(name, requirement, purpose).with_local_manifest(target),
            );
        }
    }
}

/// Reads uv package sources that are folders.
fn take_sources(reading: &ManifestReader<'_>, sources: Option<&Value>, draft: &mut ManifestDraft) {
    let paths =
        tables(sources).filter_map(|(name, source)| Some((name, text(source.get("path"))?)));
    let paths: HashMap<_, _> = paths.collect();
    let folder = draft.folder().to_owned();
    for wanted in &mut draft.wanted {
        if let Some(path) = paths.get(&wanted.name) {
            let target = package_at(reading, &folder, path);
            *wanted = wanted.clone().with_local_manifest(target);
        }
    }
}

fn likely_manager(table: &Table) -> Option<&'static str> {
    let has = |tool: &str| at(table, &["tool", tool]).is_some();
    let tool = TOOLS.iter().find(|(tool, _)| has(tool)).map(|(_, manager)| *manager);
    tool.or_else(|| {
        let backend = at(table, &["build-system", "build-backend"])?.as_str()?;
        BACKENDS.iter().find(|(start, _)| backend.starts_with(start)).map(|(_, tool)| *tool)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn uv_workspaces_share_a_lock_file() {
        check(
            &[
                (
                    "pyproject.toml",
                    "[project]\nname='Root_App'\nversion='1.0'\ndescription='Does it.'\nlicense={text='BSD-3-Clause'}\n\
                     dependencies=['requests[socks]>=2,<3; python_version>\"3\"','lib-a','rich']\n\
                     [project.optional-dependencies]\nx=['numpy==1.0','root-app[x]']\ntest=['pytest']\n[dependency-groups]\ndev=['ruff',{include-group='x'}]\n\
                     [build-system]\nrequires=['hatchling']\nbuild-backend='hatchling.build'\n\
                     [tool.uv.sources]\nlib-a={workspace=true}\n[tool.uv.workspace]\nmembers=['libs/*']\nexclude=['libs/old']\n",
                ),
                ("libs/a/pyproject.toml", "[project]\nname='lib_a'\ndependencies=['lib-b']\n[tool.uv.sources]\nlib-b={path='../../other/b'}\n"),
                ("libs/old/pyproject.toml", "[project]\nname='old'\n"),
                ("other/b/setup.py", "from setuptools import setup\nsetup()\n"),
                (
                    "uv.lock",
                    "version=1\n[[package]]\nname='root-app'\nversion='1.0'\nsource={editable='.'}\n[[package]]\nname='requests'\nversion='2.31.0'\nsource={registry='r'}\n\
                     [[package]]\nname='pytest'\nversion='8.0.0'\nsource={registry='r'}\n",
                ),
            ],
            "pyproject.toml | Python uv | Root_App 1.0 | Does it. | BSD-3-Clause | libs/a/pyproject.toml | - | uv.lock
             + runtime requests >=2,<3 2.31.0
             + runtime lib-a - -
             + runtime rich - -
             + optional numpy ==1.0 -
             + optional root-app - -
             + build hatchling - -
             + development pytest - 8.0.0
             + development ruff - -
             libs/a/pyproject.toml | Python uv | lib_a - | - | - | - | pyproject.toml | uv.lock
             + runtime lib-b - -
             libs/old/pyproject.toml | Python - | old - | - | - | - | - | -
             other/b/setup.py | Python setuptools | - - | - | - | - | - | -
             = 4 direct, 2 development, 2 locked
             = libs/a/pyproject.toml > other/b/setup.py
             = pyproject.toml > libs/a/pyproject.toml
             = uv.lock of Python with 2",
        );
    }

    #[test]
    fn every_manager_has_its_tables() {
        check(
            &[
                (
                    "poetry/pyproject.toml",
                    "[tool.poetry]\nname='d'\nversion='0.1.0'\ndescription='D.'\nlicense='MIT'\n[tool.poetry.dependencies]\npython='^3'\nflask={version='^3.0'}\n\
                     extra={version='1',optional=true}\nnear={path='../pdm'}\nboth=[{version='1'},{version='2'}]\n[tool.poetry.group.dev.dependencies]\nruff='*'\n",
                ),
                (
                    "poetry/poetry.lock",
                    "[[package]]\nname='flask'\nversion='3.0.1'\n[[package]]\nname='both'\nversion='1.5'\n[[package]]\nname='both'\nversion='2.0'\n",
                ),
                (
                    "pdm/pyproject.toml",
                    "[project]\nname='p'\ndynamic=['version']\nclassifiers=['License :: OSI Approved :: MIT License']\n[tool.pdm.version]\nsource='file'\npath='src/p/v.py'\n\
                     [tool.pdm.dev-dependencies]\nx=['tox']\n",
                ),
                ("pdm/src/p/v.py", "__version__ = '4.5'\n"),
                ("pdm/pdm.lock", "[[package]]\nname='tox'\nversion='4.0'\n"),
                (
                    "hatch/pyproject.toml",
                    "[project]\nname='h'\n[tool.hatch.envs.default]\ndependencies=['coverage']\n[build-system]\nbuild-backend='hatchling.build'\n",
                ),
                (
                    "set/pyproject.toml",
                    "[project]\nname='s'\n[build-system]\nbuild-backend='setuptools.build_meta'\n[tool.setuptools.dynamic]\nversion={attr='s.core.__version__'}\n",
                ),
                ("set/src/s/core.py", "__version__: str = \"7.8\"\n"),
                ("env/Pipfile", "[packages]\nflask='*'\n[dev-packages]\npytest={version='>=8'}\n"),
                (
                    "env/Pipfile.lock",
                    r#"{"default":{"flask":{"version":"==3.0.0"}},"develop":{"pytest":{"version":"==8.1.0"}}}"#,
                ),
            ],
            "env/Pipfile | Python pipenv | - - | - | - | - | - | env/Pipfile.lock
             + runtime flask * 3.0.0
             + development pytest >=8 8.1.0
             hatch/pyproject.toml | Python hatch | h - | - | - | - | - | -
             + development coverage - -
             pdm/pyproject.toml | Python pdm | p 4.5 | - | MIT License | - | - | pdm/pdm.lock
             + development tox - 4.0
             poetry/pyproject.toml | Python poetry | d 0.1.0 | D. | MIT | - | - | poetry/poetry.lock
             + runtime flask ^3.0 3.0.1
             + runtime near ../pdm -
             + runtime both 1 1.5
             + runtime both 2 2.0
             + optional extra 1 -
             + development ruff * -
             set/pyproject.toml | Python setuptools | s 7.8 | - | - | - | - | -
             = 3 direct, 4 development, 6 locked
             = poetry/pyproject.toml > pdm/pyproject.toml
             = flask of Python by 2
             = env/Pipfile.lock of Python with 2
             = pdm/pdm.lock of Python with 1
             = poetry/poetry.lock of Python with 3",
        );
    }

    #[test]
    fn setup_files_are_read_as_far_as_they_are_written_out() {
        check(
            &[
                (
                    "a/setup.cfg",
                    "[metadata]\nname = a\nversion = file: VERSION\ndescription = Does a.\nlicense = MIT\n[options]\ninstall_requires =\n    six>=1\n    b ; python_version<'3'\n\
                     setup_requires = wheel; cython\ntests_require =\n    mock\n[options.extras_require]\nfast = orjson\ndev =\n    tox\n",
                ),
                ("a/VERSION", "3.2.1\n"),
                ("tool/setup.cfg", "[flake8]\nmax-line-length = 100\n"),
                (
                    "b/setup.py",
                    "import os\nfrom setuptools import setup, find_packages\nNEEDS = ['six>=1', \"requests\"]\nVERSION = '1.2'\n\
                     def read(): return open('x').read()\n\
                     setup(\n    name='b',  # the name\n    version=VERSION,\n    description='Does b.',\n    long_description=read(),\n    license='BSD',\n    \
                     packages=find_packages(),\n    install_requires=NEEDS,\n    tests_require=['pytest'] + read(),\n    extras_require={'fast': ['orjson'], 'docs': ['sphinx'], 'all': ALL},\n)\n",
                ),
                ("c/setup.py", "setup(name=NAME, install_requires=read())\n"),
            ],
            "a/setup.cfg | Python setuptools | a 3.2.1 | Does a. | MIT | - | - | -
             + runtime six >=1 -
             + runtime b - -
             + optional orjson - -
             + build wheel - -
             + build cython - -
             + development mock - -
             + development tox - -
             b/setup.py | Python setuptools | b 1.2 | Does b. | BSD | - | - | -
             + runtime six >=1 -
             + runtime requests - -
             + optional orjson - -
             + development pytest - -
             + development sphinx - -
             c/setup.py | Python setuptools | - - | - | - | - | - | -
             = 6 direct, 4 development, 0 locked
             = orjson of Python by 2
             = six of Python by 2",
        );
    }

    #[test]
    fn lists_include_limit_and_are_compiled() {
        check(
            &[
                (
                    "requirements.txt",
                    "# tools\nflask>=2 # web\n\n-r more.txt\n-c constraints.txt\n--index-url https://example.org\nplain prose here\n",
                ),
                (
                    "more.txt",
                    "django==4.2 \\\n    --hash=sha256:1\ngit+https://example.org/x.git#egg=far\n-r requirements.txt\n",
                ),
                ("constraints.txt", "Flask==2.3.1\nunused==1\n"),
                ("requirements-all.txt", "-e .\n-r requirements.txt\npytest\n./gone\n"),
                ("pyproject.toml", "[tool.black]\nline-length = 100\n"),
                ("setup.cfg", "[metadata]\nname=own\n"),
                ("docs/requirements.txt", "sphinx\nown\n"),
                ("pins/requirements.in", "flask\n"),
                (
                    "pins/requirements.txt",
                    "#\n# This file is autogenerated by pip-compile with Python 3.12\n#    pip-compile requirements.in\n#\nflask==3.0.0\n    # via -r requirements.in\nclick==8.1.0\n    # via flask\n",
                ),
            ],
            "requirements-all.txt | Python pip | - - | - | - | - | - | -
             + development . . -
             + development pytest - -
             requirements.txt | Python pip | - - | - | - | - | - | constraints.txt
             + runtime flask >=2 2.3.1
             + runtime django ==4.2 -
             + runtime far git+https://example.org/x.git -
             setup.cfg | Python setuptools | own - | - | - | - | - | -
             docs/requirements.txt | Python pip | - - | - | - | - | - | -
             + development sphinx - -
             + development own - -
             pins/requirements.in | Python pip | - - | - | - | - | - | pins/requirements.txt
             + runtime flask - 3.0.0
             pins/requirements.txt | Python pip-tools | - - | - | - | - | - | pins/requirements.txt
             = 3 direct, 2 development, 4 locked
             = docs/requirements.txt > setup.cfg
             = requirements-all.txt > setup.cfg
             = flask of Python by 2
             = constraints.txt of Python with 2
             = pins/requirements.txt of Python with 2",
        );
    }
}
