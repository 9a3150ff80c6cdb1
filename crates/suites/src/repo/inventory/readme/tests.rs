use super::*;
use crate::repo::{
    facts::Mention,
    inventory::tests::facts,
    report::{Manifest, Presence, Project},
};

use Severity::{High, Low, Medium};

/// A report on a library with code and tests.
fn report() -> Report {
    Report {
        name: "acme".into(),
        primary_language: Some("Rust".into()),
        project: Some(Project { kind: ProjectKind::Library, ..Project::default() }),
        presence: Presence { test_files: 1, ..Presence::default() },
        manifests: vec![Manifest { name: Some("acme".into()), ..Manifest::default() }],
        ..Report::default()
    }
}

fn judged(report: &Report, name: &str, text: &str) -> Readme {
    let folder = tempfile::tempdir().unwrap();
    judge(&ProjectTree::of(folder.path()), report, &[], name, text)
}

fn item(readme: &Readme, name: &str) -> (bool, Option<u64>, String) {
    let item = readme.items.iter().find(|item| item.item == name).unwrap();
    (item.found, item.line, item.evidence.clone())
}

const COMPLETE: &str = "# Acme\n\n\
    [![Build Status](https://img.shields.io/ci.svg)](https://ci)\n\n\
    Acme turns roads into rockets. It is quick.\n\n\
    ## Installation\n\nNeeds Rust 1.80 or newer.\n\n```sh\n$ cargo add acme\n```\n\n\
    ## Usage\n\n```rust\nacme::launch();\n```\n\n\
    Set `ACME_FUEL` first.\n\n\
    ## Tests\n\nRun `cargo test`.\n\n\
    ## More\n\n[Documentation](https://docs.rs/acme), [issues](https://github.com/a/acme/issues), \
    [how to take part](CONTRIBUTING.md).\n\n## License\n\nMIT\n";

#[test]
fn a_complete_readme_has_every_item() {
    let mut report = report();
    report.project.as_mut().unwrap().environment = vec!["ACME_FUEL".into()];
    let readme = judged(&report, "README.md", COMPLETE);
    let found_items: Vec<_> = readme
        .items
        .iter()
        .map(|item| {
            (item.item.as_str(), item.found, item.line, item.evidence.as_str(), item.severity)
        })
        .collect();
    assert_eq!(
        found_items,
        [
            ("title", true, Some(1), "heading `Acme`", Low),
            ("purpose", true, Some(5), "`Acme turns roads into rockets.`", High),
            ("status", true, Some(3), "badge `Build Status`", Low),
            ("requirements", true, Some(9), "`Needs Rust 1.80 or newer.`", Medium),
            ("installation", true, Some(12), "`cargo add acme`", High),
            ("usage", true, Some(15), "section `Usage`", High),
            ("example", true, Some(17), "code block in `rust`", Medium),
            ("configuration", true, Some(21), "names `ACME_FUEL`", Medium),
            ("tests", true, Some(25), "`cargo test`", Medium),
            ("documentation", true, Some(29), "link `Documentation` to https://docs.rs/acme", Low),
            ("help", true, Some(29), "link to https://github.com/a/acme/issues", Low),
            ("contributing", true, Some(29), "link `how to take part` to CONTRIBUTING.md", Low),
            ("licence", true, Some(31), "section `License`", Medium),
        ]
    );
    assert_eq!(readme.path, "README.md");
    assert_eq!((readme.words, readme.code_blocks, readme.score), (32, 2, 100));
}

#[test]
fn what_is_missing_is_named_and_costs() {
    let readme = judged(&report(), "README.md", "# Acme\n");
    assert_eq!((readme.words, readme.code_blocks), (1, 0));
    assert_eq!(item(&readme, "title"), (true, Some(1), "heading `Acme`".into()));
    let missing = |name: &str| {
        let (found, line, evidence) = item(&readme, name);
        assert!(!found && line.is_none() && evidence.starts_with("looked for "), "{name}");
    };
    let items = "purpose, status, requirements, installation, usage, example, tests, documentation, \
        help, contributing, licence";
    items.split(", ").for_each(missing);
    // 4 of 95: nothing is configured.
    assert_eq!((readme.items.len(), readme.score), (12, 4));
    assert_eq!(judged(&report(), "README.md", "").score, 0);
}

#[test]
fn empty_sections_and_promises_do_not_count() {
    let cases = [
        ("## Installation\n\n## Usage\n\nCall it with care.\n", "installation", false),
        ("## Installation\n\nTODO\n", "installation", false),
        ("## Installation\n\n### Linux\n\nUnpack the archive anywhere.\n", "installation", true),
        ("## License\n\n", "licence", false),
        ("## License\n\nISC\n", "licence", true),
        ("## Usage\n\nComing soon!\n", "usage", false),
        ("## Tests\n\n<!-- none -->\n", "tests", false),
    ];
    for (text, name, want) in cases {
        let readme = judged(&report(), "README.md", &format!("# Acme\n\n{text}"));
        assert_eq!(item(&readme, name).0, want, "{text}");
    }
}

#[test]
fn items_are_judged_by_their_contents() {
    let cases = [
        ("installation", "Get it: `pip install acme`.", Some("`pip install acme`")),
        ("installation", "```toml\n[dependencies]\nacme = \"1\"\n```", Some("`[dependencies]`")),
        ("installation", "```sh\nnpm i -g npm\n```\n```sh\nnpm i acme\n```", Some("`npm i acme`")),
        (
            "installation",
            "See [the guide](https://acme.dev/install).",
            Some("link `the guide` to https://acme.dev/install"),
        ),
        (
            "installation",
            "First read `docs/install.md`.",
            Some("link `docs/install.md` to docs/install.md"),
        ),
        ("installation", "## Development\n\n```\ngit clone x\n```", Some("`git clone x`")),
        ("installation", "```\ncurl https://api.acme.dev/users\n```", None),
        ("usage", "```sh\nnpm install acme\n```", None),
        ("usage", "```toml\n[dependencies]\nacme = \"1\"\nother = \"2\"\nmore = \"3\"\n```", None),
        ("usage", "```js\nacme()\n```", Some("code block in `js`")),
        ("example", "See [examples](examples/).", Some("link `examples` to examples/")),
        ("example", "![A screenshot](shot.png)", Some("picture `A screenshot`")),
        ("example", "![CI](https://img.shields.io/demo.svg)", None),
        ("requirements", "Works on Windows Terminal with 16 colours.", None),
        ("requirements", "Tested with Node.js 18.", Some("`Tested with Node.js 18.`")),
        ("requirements", "![py](https://img.shields.io/pypi/pyversions/acme)", Some("badge `py`")),
        ("status", "It handles alpha transparency.", None),
        ("status", "This is experimental.", Some("`This is experimental.`")),
        ("documentation", "See [regex](https://en.wikipedia.org/wiki/Regex).", None),
        ("documentation", "Uses [other](https://other.readthedocs.io).", None),
        (
            "documentation",
            "At [home](https://acme.readthedocs.io).",
            Some("link `home` to https://acme.readthedocs.io"),
        ),
        ("help", "Fixes [this](https://github.com/a/acme/issues/7).", None),
        ("help", "Please open an issue.", Some("`Please open an issue.`")),
        ("contributing", "Pull requests are welcome.", Some("`Pull requests are welcome.`")),
        ("licence", "Licensed under MIT.", Some("`Licensed under MIT.`")),
        ("licence", "MIT OR Apache-2.0.", Some("`MIT OR Apache-2.0`")),
        ("licence", "![l](https://img.shields.io/license.svg)", Some("badge `l`")),
        ("tests", "```\npython manage.py test\n```", Some("`python manage.py test`")),
    ];
    for (name, text, want) in cases {
        let readme = judged(&report(), "README.md", &format!("# Acme\n\n{text}\n"));
        let (found, _, evidence) = item(&readme, name);
        assert_eq!(found.then_some(evidence.as_str()), want, "{name}: {text}");
    }
}

#[test]
fn titles_and_purposes_are_where_readers_look() {
    let cases = [
        (
            "<p align=center><img src=a.svg alt=\"Acme logo\"></p>\n\n## Table of contents\n\n- one\n",
            Some("picture `Acme logo`"),
            None,
        ),
        ("## Installation\n\nUnpack the archive anywhere you like.\n", None, None),
        (
            "# Acme - roads into rockets for everyone\n",
            Some("heading `Acme - roads into rockets for everyone`"),
            Some("heading `Acme - roads into rockets for everyone`"),
        ),
        (
            "# Acme\n\n[One](a) | [Two](b) | [Three](c) | [Four](d)\n\n## About\n\nIt turns roads into rockets.\n",
            Some("heading `Acme`"),
            Some("`It turns roads into rockets.`"),
        ),
        (
            "# Acme\n\n## Sponsors\n\nWe thank these people very much.\n",
            Some("heading `Acme`"),
            None,
        ),
        (
            "# 工具\n\n这是一个把道路变成火箭的工具。\n",
            Some("heading `工具`"),
            Some("`这是一个把道路变成火箭的工具。`"),
        ),
    ];
    for (text, title, purpose) in cases {
        let readme = judged(&report(), "README.md", text);
        for (name, want) in [("title", title), ("purpose", purpose)] {
            let (found, _, evidence) = item(&readme, name);
            assert_eq!(found.then_some(evidence.as_str()), want, "{name}: {text}");
        }
    }
}

#[test]
fn other_languages_are_understood() {
    let topics =
        ["installation", "usage", "requirements", "tests", "contributing", "licence", "help"];
    let cases = [
        ["安装", "使用方法", "环境要求", "测试", "贡献", "许可证", "帮助"],
        ["インストール", "使い方", "必要条件", "テスト", "貢献", "ライセンス", "サポート"],
        ["Instalación", "Uso", "Requisitos", "Pruebas", "Contribuir", "Licencia", "Ayuda"],
        ["Installation", "Utilisation", "Prérequis", "Tests", "Contribuer", "Licence", "Aide"],
        ["Installation", "Verwendung", "Voraussetzungen", "Tests", "Mitwirken", "Lizenz", "Hilfe"],
        ["Instalação", "Como usar", "Requisitos", "Testes", "Contribuindo", "Licença", "Suporte"],
        ["Установка", "Использование", "Требования", "Тесты", "Участие", "Лицензия", "Помощь"],
        ["설치", "사용법", "요구 사항", "테스트", "기여", "라이선스", "도움말"],
    ];
    for headings in cases {
        let sections: Vec<String> =
            headings.iter().map(|heading| format!("## {heading}\n\nxx yy zz\n")).collect();
        let readme = judged(&report(), "README.md", &format!("# Acme\n\n{}", sections.join("\n")));
        for (topic, heading) in topics.iter().zip(headings) {
            assert_eq!(item(&readme, topic).2, format!("section `{heading}`"), "{topic}");
        }
    }
}

#[test]
fn other_formats_are_understood() {
    let cases = [
        (
            "README.rst",
            "Acme\n====\n\nIt turns roads into rockets.\n\nInstall\n-------\n\n::\n\n    pip install acme\n",
        ),
        (
            "README.adoc",
            "= Acme\n\nIt turns roads into rockets.\n\n== Install\n\n----\npip install acme\n----\n",
        ),
        (
            "README.org",
            "* Acme\nIt turns roads into rockets.\n** Install\n#+BEGIN_SRC sh\npip install acme\n#+END_SRC\n",
        ),
        ("README", "ACME\n\nIt turns roads into rockets.\n\nINSTALL\n\n    pip install acme\n"),
    ];
    for (name, text) in cases {
        let readme = judged(&report(), name, text);
        for (item_name, want) in
            [("purpose", "`It turns roads into rockets.`"), ("installation", "`pip install acme`")]
        {
            assert_eq!(item(&readme, item_name).2, want, "{name}");
        }
        assert!(item(&readme, "title").0, "{name}");
    }
}

#[test]
fn items_that_do_not_fit_are_not_asked() {
    let names = |report: &Report| {
        judged(report, "README.md", "# Acme\n")
            .items
            .into_iter()
            .map(|it| it.item)
            .collect::<Vec<_>>()
    };
    let documents = Report {
        project: Some(Project { kind: ProjectKind::Documentation, ..Project::default() }),
        ..report()
    };
    assert_eq!(names(&documents), ["title", "purpose", "licence"]);
    let program = Report {
        project: Some(Project { kind: ProjectKind::CommandLine, ..Project::default() }),
        presence: Presence::default(),
        ..report()
    };
    let asked = names(&program);
    for name in ["tests", "documentation", "configuration"] {
        assert!(!asked.iter().any(|it| it == name), "{name}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.example.toml"), "").unwrap();
    let readme = judge(&ProjectTree::of(folder.path()), &program, &[], "README.md", "# Acme\n");
    assert!(!item(&readme, "configuration").0);
}

#[test]
fn the_contributors_guide_may_say_how_to_test() {
    let mut guide = facts("CONTRIBUTING.md", "# Contributing\n");
    guide.mentions = vec![Mention { line: 9, text: "cargo nextest run".into(), command: true }];
    let mut report = report();
    report.presence.contributing = Some("CONTRIBUTING.md".into());
    let folder = tempfile::tempdir().unwrap();
    let tree = ProjectTree::of(folder.path());
    let guides = [guide];
    let linked =
        judge(&tree, &report, &guides, "README.md", "# A\n\nSee [this](CONTRIBUTING.md).\n");
    let want = (true, Some(3), "`cargo nextest run` in CONTRIBUTING.md:9".into());
    assert_eq!(item(&linked, "tests"), want);
    let alone = judge(&tree, &report, &guides, "README.md", "# A\n");
    assert!(!item(&alone, "tests").0);
}

#[test]
fn long_evidence_is_cut() {
    let text = format!("# A\n\nIt is {}.\n", "very ".repeat(40));
    let (_, _, evidence) = item(&judged(&report(), "README.md", &text), "purpose");
    assert!(evidence.ends_with("…`") && evidence.chars().count() <= 104, "{evidence}");
}
