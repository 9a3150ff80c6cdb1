use super::*;
use crate::repo::{
    report::{Manifest, Presence},
    tree::ProjectTree,
};
use std::fs;

/// Checks the targets in these files: command, folder, path and line.
fn check(files: &[(&str, &str)], ecosystem: &str, want: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let tree = ProjectTree::of(folder.path());
    let path = files[0].0.to_owned();
    let manifests = [Manifest { path, ecosystem: ecosystem.into(), ..Manifest::default() }];
    let manifests = if ecosystem.is_empty() { &[][..] } else { &manifests[..] };
    let presence = Presence::default();
    let sources = ProjectSources::gather(&tree, manifests, &presence, &|| false);
    let (offers, problems) = offers(&sources);
    assert_eq!(problems, []);
    let found = offers.iter().map(|offer| {
        let line = offer.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{} in {:?} by {}{line}", offer.command, offer.folder(), offer.path)
    });
    assert_eq!(found.collect::<Vec<_>>(), want);
}

#[test]
fn makefiles() {
    check(
        &[
            (
                "Makefile",
                "include common.mk\n-include $(LOCAL)\n\nA = b\nB := c\n.PHONY: go\ngo: ; true\ntest lint: dep\n\ttrue\nout.txt: in.txt\n\ttrue\ndocs/a:\n\ttrue\nother:\n\ttrue\n",
            ),
            ("common.mk", "test:\n\ttrue\nfmt:\n\ttrue\n"),
        ],
        "",
        &[
            "make go in \"\" by Makefile:7",
            "make test in \"\" by Makefile:8",
            "make lint in \"\" by Makefile:8",
            "make fmt in \"\" by common.mk:3",
        ],
    );
}

#[test]
fn justfiles() {
    check(
        &[(
            "web/justfile",
            "alias t := test\nexport A := \"x:y\"\nimport 'a.just'\n\n@test filter='a:b' *rest:\n  cargo test\n\ndeploy place +hosts: test\n  true\n\n_hidden:\n  true\n\n[private]\nsecret:\n  true\n",
        )],
        "",
        &[
            "just test in \"web\" by web/justfile:5",
            "just deploy <place> <hosts> in \"web\" by web/justfile:8",
        ],
    );
}

#[test]
fn taskfiles() {
    check(
        &[(
            "Taskfile.yml",
            "version: '3'\ntasks:\n  default:\n    cmds: [task: test]\n  test: go test ./...\n  hidden:\n    internal: true\n  build:*:\n    cmds: [x]\n  lint:\n    - golangci-lint run\n",
        )],
        "",
        &[
            "task in \"\" by Taskfile.yml:3",
            "task test in \"\" by Taskfile.yml:5",
            "task lint in \"\" by Taskfile.yml:10",
        ],
    );
}

#[test]
fn tasks_of_cargo() {
    check(
        &[
            (
                "Makefile.toml",
                "[tasks.test]\ncommand = \"cargo\"\n\n[tasks.inner]\nprivate = true\n",
            ),
            (".cargo/config.toml", "[alias]\nci = [\"test\", \"--all\"]\n"),
        ],
        "",
        &["cargo make test in \"\" by Makefile.toml:1", "cargo ci in \"\" by .cargo/config.toml:2"],
    );
}

#[test]
fn task_files_of_python() {
    check(
        &[(
            "tox.ini",
            "[tox]\nenvlist = py312, lint\n\n[testenv]\ncommands = pytest\n\n[testenv:lint]\ncommands =\n    ruff check\n\n[testenv:py312-x]\ncommands = pytest\n",
        )],
        "",
        &["tox in \"\" by tox.ini:1", "tox -e lint in \"\" by tox.ini:7"],
    );
    check(&[("tox.ini", "[flake8]\nmax-line-length = 100\n")], "", &[]);
    check(
        &[(
            "noxfile.py",
            "import nox\n\n@nox.session\ndef tests(session):\n    pass\n\n@nox.session(\n    name=\"type-check\",\n)\ndef types(session):\n    pass\n\ndef helper():\n    pass\n",
        )],
        "",
        &[
            "nox in \"\" by noxfile.py",
            "nox -s tests in \"\" by noxfile.py:4",
            "nox -s type-check in \"\" by noxfile.py:10",
        ],
    );
    check(
        &[("tasks.py", "from invoke import task\n\n@task\ndef run_tests(c):\n    pass\n")],
        "",
        &["invoke run-tests in \"\" by tasks.py:4"],
    );
    check(&[("tasks.py", "@task\ndef celery():\n    pass\n")], "", &[]);
    check(
        &[("pixi.toml", "[tasks]\ntest = \"pytest\"\n_inner = \"x\"\n")],
        "",
        &["pixi run test in \"\" by pixi.toml:2"],
    );
}

#[test]
fn tasks_of_pyproject() {
    check(
        &[(
            "pyproject.toml",
            "[tool.pdm.scripts]\nlint = {cmd = \"ruff check\"}\n\n[tool.hatch.envs.default.scripts]\ntest = \"pytest\"\n\n[tool.hatch.envs.docs.scripts]\nbuild = \"mkdocs build\"\n\n[tool.taskipy.tasks]\nrun = \"x\"\n",
        )],
        "Python",
        &[
            "pdm run lint in \"\" by pyproject.toml:2",
            "task run in \"\" by pyproject.toml:11",
            "hatch run test in \"\" by pyproject.toml:5",
            "hatch run docs:build in \"\" by pyproject.toml:8",
        ],
    );
}

#[test]
fn scripts_of_manifests() {
    check(
        &[("deno.json", "{\n  \"tasks\": {\n    \"dev\": \"deno run a.ts\"\n  }\n}\n")],
        "Deno",
        &["deno task dev in \"\" by deno.json:3"],
    );
    check(
        &[(
            "package.json",
            "{\"scripts\": {\"test\": \"jest\", \"start\": \"node .\", \"a\": \"b\"}}",
        )],
        "npm",
        &[
            "npm test in \"\" by package.json",
            "npm start in \"\" by package.json",
            "npm run a in \"\" by package.json",
        ],
    );
}

#[test]
fn rakefiles() {
    check(
        &[
            (
                "Rakefile",
                "task :console do\nend\ntask \"site\" => :build do\nend\ntask lint: [:a]\nRake::TestTask.new\n  task :inner\n",
            ),
            ("README", ""),
        ],
        "",
        &[
            "rake console in \"\" by Rakefile:1",
            "rake site in \"\" by Rakefile:3",
            "rake lint in \"\" by Rakefile:5",
            "rake test in \"\" by Rakefile:6",
        ],
    );
}

#[test]
fn scripts_that_are_called_after_what_they_do() {
    check(
        &[
            ("script/test", "#!/bin/sh\n"),
            ("scripts/lint.sh", "#!/bin/sh\n"),
            ("scripts/test.py", "#!/usr/bin/env python\n"),
            ("scripts/build", "no interpreter\n"),
            ("bin/tool", "#!/bin/sh\n"),
        ],
        "",
        &["./script/test in \"\" by script/test", "./scripts/lint.sh in \"\" by scripts/lint.sh"],
    );
}
