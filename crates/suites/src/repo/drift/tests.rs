//! A small project with history, and documents that are right or wrong about it.

use super::*;
use crate::repo::{
    facts::{CodeBlock, DocumentFormat, DocumentHeading, DocumentLink, Mention},
    history::FilePast,
    report::{Dependency, EntryKind, EntryPoint, Outdated, Purpose},
};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::fs;

const DAY: i64 = 24 * 60 * 60;
/// 2024-03-01.
const MARCH: i64 = 1_709_251_200;

/// The project under test.
const FILES: [(&str, &str); 44] = [
    (".gitignore", "*.log\n/generated.rs\nlocal.toml\n"),
    (".cargo/config.toml", "[alias]\nxtask = \"run -p xtask --\"\n"),
    (
        "Cargo.toml",
        "[package]\nname = \"orchard\"\n[features]\nfull = []\n[dependencies]\ntokio = { version = \"1\", optional = true }\n\
         [[example]]\nname = \"fancy-web\"\npath = \"examples/web/start.rs\"\n",
    ),
    ("xtask/Cargo.toml", "[package]\nname = \"xtask\"\n"),
    ("xtask/src/main.rs", "enum Task { CheckLinks, Bench }"),
    (
        "src/lib.rs",
        "pub mod parser;\n#[derive(Debug, Clone)]\npub struct Basket { pub apples: u32 }\nimpl Basket { pub fn pick_apple(&self) {} }\n\
         #[derive(Debug, Parser)]\npub struct Arguments;\npub fn grow_orchard() {}\npub const LIMIT: u32 = 1;\n\
         pub enum Fruit { Rgb }\nconst ROOT: [&str; 2] = [\"ORCHARD_ROOT\", \"ORCHARD_HOME\"];\n",
    ),
    (
        "src/main.rs",
        "struct Command { dry_run: bool, keep_leaves: bool, #[arg(long)] allowed_host: String }\nfn serve() {}\nfn opt_prune_roots() {}\n",
    ),
    ("src/parser/mod.rs", "pub struct Tokenizer;\nimpl Tokenizer { pub fn next_token() {} }\n"),
    ("src/parser/tokens.rs", "pub struct Token;\n"),
    ("src/sap.rs", "pub use other::*;\n"),
    ("examples/basic.rs", "fn main() {}"),
    ("examples/web/start.rs", "fn main() {}"),
    ("benches/speed.rs", "fn main() {}"),
    ("scripts/publish.sh", "#!/bin/sh\n"),
    ("scripts/check.sh", "#!/bin/sh\n"),
    ("scripts/measure.py", "import argparse\nadd_argument('--sample-size')\n"),
    ("extras/one.txt", "1"),
    ("extras/two.txt", "2"),
    ("orchard/__init__.py", "from .trees import Apple\n"),
    (
        "orchard/trees.py",
        "class Tree:\n    def water(self): ...\n\nclass Apple(Tree):\n    def ripen(self): ...\n\nclass Model(Base):\n    pass\n",
    ),
    ("orchard/tools/__init__.py", ""),
    (
        "web/package.json",
        "{\"name\": \"orchard-web\", \"scripts\": {\"storybook:build\": \"x\", \"build\": \"x\"}}",
    ),
    ("web/src/index.ts", "export interface Options { colour: string }\n"),
    ("web/src/basket.ts", "export class WebBasket extends EventEmitter {}\n"),
    (
        "package.json",
        "{\"name\": \"orchard\", \"scripts\": {\"build\": \"x\", \"lint:fix\": \"x\"}}",
    ),
    (
        "Makefile",
        "include make/extra.mk\n.PHONY: all clean\nall: build\nbuild: ; x\ntest-%: ; x\nX := y\n$(OUT)/a: b\n",
    ),
    ("make/extra.mk", "extra:\n\techo\n"),
    ("docs/Makefile", "html:\n\techo\n"),
    (
        "justfile",
        "set shell := [\"sh\"]\nport := \"1\"\nalias b := bake\n[private]\nbake target='x' +args:\n  echo\n@plant: bake\n  echo\n",
    ),
    ("Taskfile.yml", "version: '3'\ntasks:\n  prune:\n    aliases: [cut]\n    cmds: [x]\n"),
    ("composer.json", "{\"scripts\": {\"stan\": \"x\"}}"),
    ("deno.json", "{\"tasks\": {\"graft\": \"x\"}}"),
    ("pyproject.toml", "[project]\nname = \"orchard\"\n[tool.poe.tasks]\nharvest = \"x\"\n"),
    ("noxfile.py", "@nox.session\ndef type_check(session): ...\n"),
    ("Rakefile", "task :shake_tree do\nend\n"),
    ("config.yml.example", "a: 1\n"),
    ("guides/first.md", "# First\n"),
    ("guides/second.md", "# Second\n"),
    ("guides/third.md", "# Third\n"),
    ("README.md", ""),
    ("CONTRIBUTING.md", ""),
    ("docs/guide.md", ""),
    ("CHANGELOG.md", ""),
    ("docs/adr/0001-use-git.md", ""),
];

/// Deleted paths in git history, with their new names.
const GONE: [(&str, Option<&str>); 15] = [
    ("scripts/release.sh", Some("scripts/publish.sh")),
    ("src/lexer.rs", Some("src/scanner.rs")),
    ("src/scanner.rs", Some("src/parser/tokens.rs")),
    ("tools/gen_tables.py", None),
    ("contrib/one.txt", Some("extras/one.txt")),
    ("contrib/two.txt", Some("extras/two.txt")),
    ("contrib/three.txt", None),
    ("setup.py", None),
    ("config.yml", None),
    ("dist/app.js", None),
    ("build.log", None),
    ("generated.rs", None),
    ("guides/foo.md", None),
    ("report.html", None),
    ("docs/tokens.rs", None),
];

/// Public symbols: file, name, kind, line.
const SYMBOLS: [(&str, &str, &str, u32); 17] = [
    ("src/lib.rs", "Basket", "struct", 3),
    ("src/lib.rs", "Basket::pick_apple", "method", 4),
    ("src/lib.rs", "Arguments", "struct", 6),
    ("src/lib.rs", "grow_orchard", "function", 7),
    ("src/lib.rs", "LIMIT", "constant", 8),
    ("src/lib.rs", "Fruit", "enum", 9),
    ("src/parser/mod.rs", "Tokenizer", "struct", 1),
    ("src/parser/mod.rs", "Tokenizer::next_token", "method", 2),
    ("src/parser/tokens.rs", "Token", "struct", 1),
    ("orchard/trees.py", "Tree", "class", 1),
    ("orchard/trees.py", "Tree.water", "method", 2),
    ("orchard/trees.py", "Apple", "class", 4),
    ("orchard/trees.py", "Apple.ripen", "method", 5),
    ("orchard/trees.py", "Model", "class", 7),
    ("web/src/index.ts", "Options", "interface", 1),
    ("web/src/basket.ts", "WebBasket", "class", 1),
    ("examples/basic.rs", "Shown", "struct", 1),
];

/// A document that is right about every family of names, so that others can be wrong.
const RIGHT: &str = "`Basket::pick_apple`, `Apple.ripen` and `orchard.trees.Tree`. `ORCHARD_ROOT` and `ORCHARD_HOME`.\n\n\
    ```sh\norchard --keep-leaves --allowed-host x\ncargo run -- --keep-leaves --allowed-host x\n\
    ./target/release/orchard --keep-leaves --allowed-host x\ncargo xtask bench --keep-leaves --allowed-host\n\
    python scripts/measure.py --sample-size 1 --allowed-host x\n```\n";

struct DriftProject {
    root: tempfile::TempDir,
    tree: ProjectTree,
    words: WordSet,
    symbols: HashMap<Box<str>, Vec<Symbol>>,
    manifests: Vec<Manifest>,
    about: Project,
    past: ProjectPast,
}

impl DriftProject {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut words = WordSet::default();
        for (path, text) in FILES {
            write(root.path(), path, text);
            if path.rsplit('.').next() != Some("md") {
                words.take(text.as_bytes());
            }
        }
        let mut symbols: HashMap<Box<str>, Vec<Symbol>> = HashMap::new();
        for (path, name, kind, line) in SYMBOLS {
            let symbol = Symbol { name: name.into(), kind, line, documented: true };
            symbols.entry(path.into()).or_default().push(symbol);
        }
        let past = |(path, to): (&str, Option<&str>)| {
            let renamed_to = to.map(Into::into);
            (path.into(), FilePast { changes: vec![MARCH], gone: true, renamed_to })
        };
        let past = ProjectPast { files: GONE.into_iter().map(past).collect(), complete: true };
        let named = |path: &str, name: &str| {
            let (path, name) = (path.to_owned(), Some(name.to_owned()));
            Manifest { path, name, dependencies: vec![dependency("tokio")], ..Manifest::default() }
        };
        let manifests = vec![
            named("Cargo.toml", "orchard"),
            named("xtask/Cargo.toml", "xtask"),
            named("web/package.json", "orchard-web"),
        ];
        let binary = EntryPoint {
            name: "orchard".into(),
            kind: EntryKind::Binary,
            path: Some("src/main.rs".into()),
            declared_in: "Cargo.toml".into(),
        };
        let about = Project { entry_points: vec![binary], ..Default::default() };
        let tree = ProjectTree::of(root.path());
        Self { root, tree, words, symbols, manifests, about, past }
    }

    fn today<'a>(&'a self, past: Option<&'a ProjectPast>) -> CurrentProject<'a> {
        CurrentProject {
            tree: &self.tree,
            words: &self.words,
            symbols: &self.symbols,
            manifests: &self.manifests,
            project: &self.about,
            past,
        }
    }

    fn look(&self, path: &str, text: &str, past: Option<&ProjectPast>) -> Drift {
        write(self.root.path(), path, text);
        let right = document("docs/right.md", RIGHT);
        find(&self.today(past), &[document(path, text), right], &|| false)
    }

    /// Stale mentions, as `kind mention -> suggestion`.
    fn stale(&self, path: &str, text: &str, past: Option<&ProjectPast>) -> Vec<String> {
        let describe = |stale: Stale| {
            let suggestion = stale.suggestion.map(|it| format!(" -> {it}")).unwrap_or_default();
            format!("{:?} {:?} {}{suggestion}", stale.severity, stale.kind, stale.mention)
        };
        self.look(path, text, past).stale.into_iter().map(describe).collect()
    }
}

fn dependency(name: &str) -> Dependency {
    Dependency { name: name.into(), requirement: None, locked: None, purpose: Purpose::Runtime }
}

fn write(root: &std::path::Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Mentions in Markdown, parsed simply.
fn document(path: &str, text: &str) -> DocumentFacts {
    let mut facts = DocumentFacts {
        path: path.into(),
        format: DocumentFormat::Markdown,
        title: None,
        headings: Vec::new(),
        anchors: Vec::new(),
        links: Vec::new(),
        mentions: Vec::new(),
        code_blocks: Vec::new(),
        words: 0,
        shingles: Vec::new(),
    };
    let (mut heading, mut shell) = (None, false);
    for (event, range) in Parser::new(text).into_offset_iter() {
        let before = text.as_bytes()[..range.start].iter().filter(|byte| **byte == b'\n');
        let line = u32::try_from(before.count()).unwrap() + 1;
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some(level as u8),
            Event::End(TagEnd::Heading(_)) => heading = None,
            Event::Start(Tag::CodeBlock(kind)) => {
                shell =
                    matches!(kind, CodeBlockKind::Fenced(language) if language.as_ref() == "sh");
                facts.code_blocks.push(CodeBlock { line, language: None });
            }
            Event::End(TagEnd::CodeBlock) => shell = false,
            Event::Start(Tag::Link { dest_url, .. }) => {
                facts.links.push(DocumentLink {
                    line,
                    target: dest_url.as_ref().into(),
                    image: false,
                });
            }
            Event::Code(code) => {
                facts.mentions.push(Mention { line, text: code.as_ref().into(), command: false });
            }
            Event::Text(body) if shell => {
                for (at, text) in (line..).zip(body.lines()) {
                    facts.mentions.push(Mention { line: at, text: text.into(), command: true });
                }
            }
            Event::Text(text) => {
                if let Some(level) = heading {
                    facts.headings.push(DocumentHeading {
                        level,
                        text: text.as_ref().into(),
                        line,
                    });
                }
            }
            _ => {}
        }
    }
    facts.title = facts.headings.first().map(|heading| heading.text.clone());
    facts
}

fn shell(lines: &str) -> String {
    format!("Do this:\n\n```sh\n{lines}\n```\n")
}

#[test]
fn files_that_are_gone_are_found() {
    let project = DriftProject::new();
    let cases = [
        ("See `scripts/release.sh`.", "High File scripts/release.sh -> scripts/publish.sh"),
        ("See `./scripts/release.sh`.", "High File ./scripts/release.sh -> scripts/publish.sh"),
        ("See `src/lexer.rs:12`.", "High File src/lexer.rs:12 -> src/parser/tokens.rs"),
        ("See `src/lexer.rs#L3`.", "High File src/lexer.rs#L3 -> src/parser/tokens.rs"),
        ("See `lexer.rs`.", "High File lexer.rs -> src/parser/tokens.rs"),
        ("See `tools/gen_tables.py`.", "High File tools/gen_tables.py"),
        ("See `gen_tables.py`.", "High File gen_tables.py"),
        ("More is in `contrib/`.", "High File contrib/ -> extras"),
        ("More is in `./contrib`.", "High File ./contrib -> extras"),
        ("Run `python tools/gen_tables.py --all`.", "High File tools/gen_tables.py"),
        ("Run `./scripts/release.sh`.", "High File ./scripts/release.sh -> scripts/publish.sh"),
        (
            "Run `pytest contrib/three.txt::x` or `bash scripts/release.sh -x`.",
            "High File scripts/release.sh -> scripts/publish.sh",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(project.stale("README.md", text, Some(&project.past)), [want], "{text}");
    }
    let runs = [
        ("python setup.py install", "High File setup.py"),
        ("cd src && cat ./lexer.rs", "High File ./lexer.rs -> src/parser/tokens.rs"),
        (
            "sudo FOO=1 bash scripts/release.sh",
            "High File scripts/release.sh -> scripts/publish.sh",
        ),
        ("cd contrib", "High File contrib -> extras"),
    ];
    for (line, want) in runs {
        let text = shell(line);
        assert_eq!(project.stale("README.md", &text, Some(&project.past)), [want], "{line}");
    }
}

#[test]
fn the_evidence_says_when_and_what() {
    let project = DriftProject::new();
    let text = "# Orchard\n\nSee `src/lexer.rs`, `tools/gen_tables.py` and `contrib/`.\n";
    let drift = project.look("docs/guide.md", text, Some(&project.past));
    let got: Vec<_> = drift.stale.iter().map(|one| (one.line, one.evidence.as_str())).collect();
    let want = [
        (3, "according to git, contrib contained 3 files until 2024-03-01; nothing is left"),
        (
            3,
            "according to git, src/lexer.rs was renamed on 2024-03-01 and is now src/parser/tokens.rs",
        ),
        (3, "according to git, tools/gen_tables.py was deleted on 2024-03-01"),
    ];
    assert_eq!(got, want);
    let right = project.look("docs/guide.md", "Nothing.", Some(&project.past)).checked;
    assert_eq!((drift.checked - right, drift.stale_count), (3, 3));
    assert!(drift.stale.iter().all(|one| one.path == "docs/guide.md"));
}

#[test]
fn files_that_may_be_meant_otherwise_are_not() {
    let project = DriftProject::new();
    let cases = [
        "See `scripts/publish.sh` and `src/parser/`.",
        "See `parser/tokens.rs` and `tokens.rs`.",
        "See `src/never_was.rs`.",
        "See `guides/foo.md`.",
        "See `path/to/lexer.rs` or `<dir>/src/lexer.rs`.",
        "See `src/*.rs`, `src/{lexer,x}.rs` and `src/….rs`.",
        "See `https://example.org/src/lexer.rs`.",
        "See `/src/lexer.rs` and `~/src/lexer.rs`.",
        "See `@scope/lexer.rs` and `C:\\src\\lexer.rs`.",
        "It writes `dist/app.js` and `build.log`.",
        "It reads `generated.rs`.",
        "It is in `report.html`.",
        "Every project has a `setup.py`.",
        "Edit `config.yml`.",
        "Copy it to `.env.local`.",
        "It was `src/lexer.rs`.",
        "It is `src/parser/tokens.rs`, formerly `src/lexer.rs`.",
        "We removed\n`src/lexer.rs` in spring.",
        "Use `src/parser/tokens.rs` instead of `src/lexer.rs`.",
        "There is no longer a `contrib/` folder.",
        "See [`src/lexer.rs`](https://example.org/x/src/lexer.rs).",
        "See [`src/lexer.rs`][lexer].\n\n[lexer]: https://example.org/lexer",
        "See [`src/lexer.rs`].\n\n[`src/lexer.rs`]: https://example.org/lexer",
        "## Deprecated\n\nSee `src/lexer.rs`.",
        "## Changelog\n\n### Fixed\n\nSee `src/lexer.rs`.",
        "## 1.2.0\n\nSee `src/lexer.rs`.",
        "Use `and/or`, `text/html`, `origin/main` and `TCP/IP`.",
        "`contrib` is a word.",
        "```rust\n// src/lexer.rs\n```\n",
    ];
    for text in cases {
        let stale = project.stale("README.md", text, Some(&project.past));
        assert_eq!(stale, Vec::<String>::new(), "{text}");
    }
    let runs = [
        "python manage.py migrate",
        "python -m orchard.trees",
        "python -c 'import src/lexer.rs'",
        "git clone https://example.org/other.git && cd other && bash scripts/release.sh",
        "mkdir app\ncd app\nbash scripts/release.sh",
        "bash \"$DIR/scripts/release.sh\"",
        "cat > src/lexer.rs",
        "docker run image python tools/gen_tables.py",
    ];
    for line in runs {
        let stale = project.stale("README.md", &shell(line), Some(&project.past));
        assert_eq!(stale, Vec::<String>::new(), "{line}");
    }
}

#[test]
fn documents_of_the_past_are_left_alone() {
    let project = DriftProject::new();
    let text = "# Title\n\nSee `src/lexer.rs`.\n";
    let names = [
        "CHANGELOG.md",
        "HISTORY.md",
        "docs/release-notes.md",
        "docs/releases/3.md",
        "docs/adr/0001-use-git.md",
        "docs/0007-use-jj.md",
        "docs/rfcs/lexer.md",
        "docs/migration.md",
        "docs/upgrading-to-2.md",
        "docs/archive/x.md",
        "docs/legacy/x.md",
        "docs/v1/x.md",
        "docs/1.4/x.md",
        "versioned_docs/version-1.0/x.md",
        "blog/2024-02-03-hello.md",
        "tests/fixtures/x.md",
        "LICENSE.md",
        "ROADMAP.md",
    ];
    for name in names {
        let stale = project.stale(name, text, Some(&project.past));
        assert_eq!(stale, Vec::<String>::new(), "{name}");
    }
    let titled = "# Migrating to 2.0\n\nSee `src/lexer.rs`.\n";
    assert!(project.stale("docs/two.md", titled, Some(&project.past)).is_empty());
    for name in ["README.md", "docs/guide.md", "docs/releasing.md", "docs/01-start.md"] {
        assert_eq!(project.stale(name, text, Some(&project.past)).len(), 1, "{name}");
    }
}

#[test]
fn without_git_a_file_is_missed_among_its_kind() {
    let project = DriftProject::new();
    let text = "See `guides/secnd.md`, `guides/fourth.md` and `scripts/other.rs`.\n";
    let want = ["Low File guides/fourth.md", "Low File guides/secnd.md -> guides/second.md"];
    assert_eq!(project.stale("README.md", text, None), want);
    let run = shell("bash scripts/chekc.sh");
    assert_eq!(
        project.stale("README.md", &run, None),
        ["Medium File scripts/chekc.sh -> scripts/check.sh"]
    );
    let drift = project.look("README.md", "See `guides/fourth.md`.", None);
    assert_eq!(drift.stale[0].evidence, "guides has 3 .md files, and this is not one of them");
    let cases = [
        "Create `guides/fourth.md`.",
        "For example `guides/fourth.md`.",
        "Put it in your `guides/fourth.md`.",
        "See `other/fourth.md`.",
        "See `guides/index.md`.",
        "See `fourth.md`.",
        "See `guides/fourth.html`.",
        "See `guides/local.toml`.",
        "See `second.md`.",
    ];
    for text in cases {
        assert_eq!(project.stale("README.md", text, None), Vec::<String>::new(), "{text}");
    }
    let partial = ProjectPast { files: HashMap::new(), complete: false };
    assert_eq!(project.stale("README.md", "See `guides/fourth.md`.", Some(&partial)).len(), 1);
    let whole = ProjectPast { files: HashMap::new(), complete: true };
    assert!(project.stale("README.md", "See `guides/fourth.md`.", Some(&whole)).is_empty());
}

#[test]
fn symbols_that_no_code_has_are_found() {
    let project = DriftProject::new();
    let cases = [
        ("Call `Basket::pick_aple`.", "Medium Symbol Basket::pick_aple -> pick_apple"),
        ("Call `Basket::pick_pear(2)`.", "Medium Symbol Basket::pick_pear(2)"),
        ("Call `orchard::parser::Lexer`.", "Medium Symbol orchard::parser::Lexer"),
        ("Call `crate::parser::Lexer`.", "Medium Symbol crate::parser::Lexer"),
        ("It is `Fruit::RGB`.", "Medium Symbol Fruit::RGB -> Rgb"),
        ("Call `Apple.rippen()`.", "Medium Symbol Apple.rippen() -> ripen"),
        ("Call `Apple#prune_all`.", "Medium Symbol Apple#prune_all"),
        ("Call `orchard.trees.Pear`.", "Medium Symbol orchard.trees.Pear"),
        ("Set `ORCHARD_FERTILIZER`.", "Medium Symbol ORCHARD_FERTILIZER"),
        (
            "Fill `Basket` by `Tokenizer`: `grow_orchrad()`.",
            "Low Symbol grow_orchrad() -> grow_orchard",
        ),
        ("`Basket` and `Token` and `WebBaskte`.", "Low Symbol WebBaskte -> WebBasket"),
    ];
    for (text, want) in cases {
        let got = project.stale("docs/guide.md", text, Some(&project.past));
        assert_eq!(got, [want], "{text}");
    }
    let run = shell("python -m orchard.cutting --all");
    assert_eq!(project.stale("README.md", &run, None), ["High Symbol orchard.cutting"]);
    let drift = project.look("docs/guide.md", "Call `Basket::pick_pear`.", None);
    assert_eq!(
        drift.stale[0].evidence,
        "Basket belongs to this project, and no source file contains the word pick_pear"
    );
}

#[test]
fn symbols_that_may_be_foreign_are_not() {
    let project = DriftProject::new();
    let cases = [
        "`Basket::pick_apple` and `Tokenizer::next_token()`.",
        "`orchard::parser::Tokenizer` and `crate::parser`.",
        "`Other::thing` and `other.thing()`.",
        "`tokio::spawn_blocking` and `orchard::tokio::spawn_blocking`.",
        "`std::mem::replace_with` and `self.thing`.",
        "`Basket::clone` and `Basket::to_string()`.",
        "`Arguments::try_parse_from`.",
        "`Model.save_base` comes from its base.",
        "`WebBasket.removeAllListeners`.",
        "`Shown::thing` is shown.",
        "`orchard::sap::Anything`.",
        "`orchard.toml`, `orchard.dev` and `orchard.rs`.",
        "`Basket::my_method` and `Basket::FooBar`.",
        "Settings start with `orchard.debug_` or `Basket::pick_`.",
        "`Basket::pick_pear` is listed.\n\nIt was removed in 2.0.",
        "`Basket::pick_pear` is listed.\n\n```rust\nfn pick_pear() {}\n```\n",
        "`Basket::<name>` and `Basket::*`.",
        "`pick_<kind>_apple()` by `Basket` of `Token`.",
        "`Baskets` of `Basket`, `Token`s and `Tokenizers`.",
        "`printf()` and `setTimeout()`.",
        "`grow_orchrad()` alone.",
        "`Basket` and `Token` call `something_else_entirely()`.",
        "`Basket::pick_pear` was renamed.",
        "Suppose `Basket::pick_pear` did that.",
        "You could write a `Basket::pick_pear` of your own.",
        "For example `Basket::pick_pear`.",
        "`ORCHARD_ROOT` and `GITHUB_TOKEN_FILE`.",
        "`a::b`, `1.2.3`, `x.y`, `e.g.`",
    ];
    for text in cases {
        let got = project.stale("docs/guide.md", text, Some(&project.past));
        assert_eq!(got, Vec::<String>::new(), "{text}");
    }
    for line in [
        "python -m orchard.trees",
        "python -m orchard.tools",
        "python -m http.server",
        "python -m other.cutting",
    ] {
        assert_eq!(project.stale("README.md", &shell(line), None), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn flags_that_no_code_has_are_found() {
    let project = DriftProject::new();
    let cases = [
        ("orchard serve --fertilize=now", "Medium Flag --fertilize"),
        ("cargo run --release -- --fertilize", "Medium Flag --fertilize"),
        ("./target/release/orchard --fertilize", "Medium Flag --fertilize"),
        ("python scripts/measure.py --sample-count 3", "Medium Flag --sample-count"),
        ("cargo xtask bench --fertilize", "Medium Flag --fertilize"),
        ("npx orchard --no-fertilize | tee x", "Medium Flag --no-fertilize"),
        ("orchard \\\n  --dry-run \\\n  --fertilize", "Medium Flag --fertilize"),
    ];
    for (line, want) in cases {
        let got = project.stale("docs/guide.md", &shell(line), None);
        assert_eq!(got, [want], "{line}");
    }
    let got = project.stale("docs/guide.md", "Run `orchard --fertilize` now.", None);
    assert_eq!(got, ["Medium Flag --fertilize"]);
}

#[test]
fn flags_that_may_be_there_are_not() {
    let project = DriftProject::new();
    let cases = [
        "orchard --dry-run --allowed-host=x --allowed_host",
        "orchard --no-dry-run --allowedHost",
        "orchard --help --version --verbose",
        "orchard --<flag> --$FLAG --flag",
        "orchard --any-other-options --please-do-x",
        "orchard --prune-roots",
        "orchard run -- --fertilize",
        "orchard python x.py --fertilize",
        "other --fertilize",
        "git commit --fertilize",
        "cargo build --fertilize",
        "cargo test -- --fertilize",
        "python scripts/measure.py --sample-size 3",
        "python manage.py --fertilize",
        "python scripts/unknown.py --fertilize",
        "echo 'orchard --fertilize'",
        "cd /elsewhere && orchard --fertilize",
        "other | grep orchard --fertilize",
    ];
    for line in cases {
        let got = project.stale("docs/guide.md", &shell(line), Some(&project.past));
        assert_eq!(got, Vec::<String>::new(), "{line}");
    }
    for text in [
        "`orchard --fertilize` was removed.",
        "With a plugin, `orchard --fertilize` works.",
        "Install `orchard-soil`.\n\nRun `orchard --fertilize`.",
        "`--fertilize`",
    ] {
        assert_eq!(project.stale("docs/guide.md", text, None), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn commands_that_are_not_there_are_found() {
    let project = DriftProject::new();
    let cases = [
        ("npm run biuld", "High Command npm run biuld -> npm run build"),
        ("npm run deploy:all", "High Command npm run deploy:all"),
        ("pnpm run bundle-all", "High Command pnpm run bundle-all"),
        ("yarn lint:fx", "High Command yarn lint:fx -> yarn lint:fix"),
        (
            "cd web && npm run storybok:build",
            "High Command npm run storybok:build -> npm run storybook:build",
        ),
        ("npm --prefix web run shine", "High Command npm run shine"),
        ("make release", "High Command make release"),
        ("make -j4 build tset", "High Command make tset"),
        ("just plnat", "High Command just plnat -> just plant"),
        ("just bake-all", "High Command just bake-all"),
        ("task prunes", "High Command task prunes -> task prune"),
        ("composer run stann", "High Command composer run stann -> composer run stan"),
        ("deno task grafts", "High Command deno task grafts -> deno task graft"),
        ("poetry run poe harvests", "High Command poe harvests -> poe harvest"),
        ("nox -s lint_all", "High Command nox -s lint_all"),
        ("rake polish", "Medium Command rake polish"),
        ("cargo run --example basics", "High Command --example basics -> --example basic"),
        ("cargo test --bench spead", "High Command --bench spead -> --bench speed"),
        ("cargo build -p orchards", "High Command -p orchards -> -p orchard"),
        ("cargo build --features=full,fast", "High Command --features fast"),
        ("cargo xtask check-liens", "High Command cargo xtask check-liens"),
    ];
    for (line, want) in cases {
        let got = project.stale("CONTRIBUTING.md", &shell(line), None);
        assert_eq!(got, [want], "{line}");
    }
    let drift = project.look("README.md", "Run `make release`.", None);
    assert_eq!(drift.stale[0].evidence, "Makefile has no release");
}

#[test]
fn commands_that_may_be_there_are_not() {
    let project = DriftProject::new();
    let cases = [
        "npm run build && npm run lint:fix",
        "npm install && npm test && npm start && npm run",
        "npm run storybook:build",
        "npm run $SCRIPT && npm run <script>",
        "yarn run tsc && yarn tsc && bun run index.ts",
        "npx create-app shop && cd shop && npm run shine",
        "cd nowhere\nnpm run shine\n\nmake release",
        "make && make all clean build extra test-unit",
        "make html",
        "make X=1 out/file.o",
        "make -f other.mk release",
        "make -C /elsewhere release",
        "just && just bake && just plant && just b",
        "just --list",
        "task prune && task cut",
        "composer install && composer run stan",
        "deno task graft && deno task build",
        "poe harvest",
        "nox -s type_check type-check type_check-3.12",
        "nox -s 'type_check(a=1)' -- tests",
        "rake shake_tree db:migrate spec",
        "mix polish",
        "cargo run --example basic && cargo run --example fancy-web",
        "cargo run --example fancy_web && cargo bench --bench speed",
        "cargo run --bin thing",
        "cargo test --test integration",
        "cargo build -p orchard -p tokio --features full,tokio/rt,tokio",
        "cargo xtask check-links && cargo xtask bench",
        "cargo install cargo-nextest --features fast",
        "cargo run --example basics --manifest-path other/Cargo.toml",
    ];
    for line in cases {
        let got = project.stale("CONTRIBUTING.md", &shell(line), None);
        assert_eq!(got, Vec::<String>::new(), "{line}");
    }
    let texts = [
        "Add `\"shine\": \"x\"` to your `package.json` and run `npm run shine`.",
        "The target `make release` was removed.",
        "```json\n{\"shine\": \"x\"}\n```\n\nRun `npm run shine`.",
    ];
    for text in texts {
        assert_eq!(project.stale("README.md", text, None), Vec::<String>::new(), "{text}");
    }
    // A page for users means their own scripts, unless it mentions some of the project's.
    assert!(project.stale("docs/guide.md", &shell("npm run shine"), None).is_empty());
    let both = shell("npm run lint:fix\nnpm run shine");
    assert_eq!(project.stale("docs/guide.md", &both, None), ["High Command npm run shine"]);
    assert!(project.stale("docs/guide.md", &shell("npm run start"), None).is_empty());
    assert_eq!(
        project.stale("README.md", &shell("npm run start"), None),
        ["High Command npm run start"]
    );
}

#[test]
fn a_runner_that_is_gone_takes_its_names_with_it() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "README.md", "Run `make all`.\n");
    write(root.path(), "src/main.rs", "fn main() {}");
    let tree = ProjectTree::of(root.path());
    let (words, symbols) = (WordSet::default(), HashMap::new());
    let about = Project::default();
    let gone = FilePast { changes: vec![MARCH], gone: true, renamed_to: None };
    let past = ProjectPast { files: HashMap::from([("Makefile".into(), gone)]), complete: true };
    let today = CurrentProject {
        tree: &tree,
        words: &words,
        symbols: &symbols,
        manifests: &[],
        project: &about,
        past: Some(&past),
    };
    let documents = [document("README.md", "Run `make all`.\n")];
    let drift = find(&today, &documents, &|| false);
    let got: Vec<_> =
        drift.stale.iter().map(|one| (one.mention.as_str(), one.evidence.as_str())).collect();
    assert_eq!(got, [("make all", "according to git, Makefile was deleted on 2024-03-01")]);
    let none = CurrentProject { past: None, ..today };
    assert_eq!(find(&none, &documents, &|| false).stale, []);
    assert_eq!(find(&none, &documents, &|| true), Drift::default());
}

#[test]
fn subcommands_need_many_that_are_there() {
    let project = DriftProject::new();
    let right = "orchard water\norchard ripen\norchard grow-orchard\norchard pick-apple\n";
    let wrong = "orchard fertilize\n";
    assert!(project.stale("docs/guide.md", &shell(wrong), None).is_empty());
    let both = shell(&format!("{right}{wrong}"));
    assert_eq!(project.stale("docs/guide.md", &both, None), ["Low Command orchard fertilize"]);
    let doubtful = shell(&format!("{right}{wrong}orchard manure\n"));
    assert!(project.stale("docs/guide.md", &doubtful, None).is_empty());
    assert!(project.stale("docs/guide.md", &shell(right), None).is_empty());
}

#[test]
fn the_surest_come_first_and_once() {
    let project = DriftProject::new();
    let text = "`Basket` has a `Token`: `grow_orchrad()`.\n\n`Basket::pick_pear`.\n\nRun `make release`.\n\n`src/lexer.rs`.\n\nAgain `src/lexer.rs`.\n";
    let got = project.stale("README.md", text, Some(&project.past));
    let want = [
        "High File src/lexer.rs -> src/parser/tokens.rs",
        "High Command make release",
        "Medium Symbol Basket::pick_pear",
        "Low Symbol grow_orchrad() -> grow_orchard",
    ];
    assert_eq!(got, want);
}

#[test]
fn documents_fall_behind_the_code_they_name() {
    let project = DriftProject::new();
    let file = |days: &[i64]| FilePast {
        changes: days.iter().map(|day| MARCH + day * DAY).collect(),
        ..FilePast::default()
    };
    let files = |document: i64, code: &[i64], other: &[i64]| ProjectPast {
        files: HashMap::from([
            ("docs/guide.md".into(), file(&[document, -400])),
            ("src/lib.rs".into(), file(code)),
            ("src/main.rs".into(), file(other)),
            ("Cargo.toml".into(), file(&[90, 80, 70, 60, 50, 40])),
        ]),
        complete: true,
    };
    let text = "See `src/lib.rs`, [main](../src/main.rs#L1), `Cargo.toml` and `src/none.rs`.\n";
    let outdated = |past: &ProjectPast| project.look("docs/guide.md", text, Some(past)).outdated;
    let got = outdated(&files(0, &[40, 30, 20, 10], &[40, 35, 34, 33, 32, -3]));
    let want = Outdated {
        path: "docs/guide.md".into(),
        last_change: "2024-03-01".into(),
        changed: vec!["src/main.rs".into(), "src/lib.rs".into()],
        changes: 8,
    };
    assert_eq!(got, [want]);
    let cases = [
        ("four changes", files(0, &[60, 50, 40, 30], &[])),
        ("too soon", files(0, &[25, 20, 15, 10, 5], &[])),
        ("the document is newer", files(100, &[60, 50, 40, 30, 20], &[60, 10])),
        ("nothing is known", ProjectPast { files: HashMap::new(), complete: true }),
    ];
    for (why, past) in cases {
        assert_eq!(outdated(&past), [], "{why}");
    }
    let past = files(0, &[60, 50, 40, 30, 20], &[]);
    assert_eq!(project.look("docs/guide.md", "Names nothing.", Some(&past)).outdated, []);
    let log = project.look("CHANGELOG.md", text, Some(&past));
    assert_eq!(log.outdated, []);
}
