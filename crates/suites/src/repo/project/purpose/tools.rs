//! Command-line tools and the purpose of each subcommand: a table.

use crate::repo::report::CommandPurpose::{
    self, Bench, Build, Docs, Format, Install, Lint, Other, Release, Run, Test,
};

/// Subcommands of a tool, with purposes.
pub(super) type Verbs = &'static [(&'static str, CommandPurpose)];

/// How the words after a tool's name determine its purpose.
#[derive(Debug, Clone, Copy)]
pub(super) enum PurposeRule {
    /// It has one purpose.
    Always(CommandPurpose),
    /// The first non-flag word decides, or the first two.
    Verb(Verbs),
    /// Any word may decide; the last part of `a:b:test` counts as well.
    Anywhere(Verbs),
    /// The first non-flag word names a target, whose name decides; without one, this is the purpose.
    Target(CommandPurpose),
    /// A Node package manager: its own subcommands, and scripts by name.
    Scripts,
}

/// A command-line tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandTool {
    pub(super) names: &'static [&'static str],
    /// Ecosystem whose manifest it requires, if any.
    pub(super) ecosystem: Option<&'static str>,
    pub(super) rule: PurposeRule,
}

const fn tool(
    names: &'static [&'static str],
    ecosystem: Option<&'static str>,
    rule: PurposeRule,
) -> CommandTool {
    CommandTool { names, ecosystem, rule }
}

const CARGO: Verbs = &[
    ("build", Build),
    ("b", Build),
    ("check", Build),
    ("zigbuild", Build),
    ("test", Test),
    ("t", Test),
    ("nextest", Test),
    ("llvm-cov", Test),
    ("tarpaulin", Test),
    ("miri", Test),
    ("run", Run),
    ("r", Run),
    ("clippy", Lint),
    ("deny", Lint),
    ("audit", Lint),
    ("machete", Lint),
    ("semver-checks", Lint),
    ("shear", Lint),
    ("udeps", Lint),
    ("fmt", Format),
    ("doc", Docs),
    ("rustdoc", Docs),
    ("docs-rs", Docs),
    ("bench", Bench),
    ("codspeed", Bench),
    ("publish", Release),
    ("release", Release),
];

const MAVEN: Verbs = &[
    ("spring-boot:run", Run),
    ("exec:java", Run),
    ("quarkus:dev", Run),
    ("deploy", Release),
    ("spotless:check", Lint),
    ("checkstyle:check", Lint),
    ("spotless:apply", Format),
    ("javadoc:javadoc", Docs),
    ("site", Docs),
    ("verify", Test),
    ("test", Test),
    ("install", Build),
    ("package", Build),
    ("compile", Build),
];

const GRADLE: Verbs = &[
    ("bootRun", Run),
    ("run", Run),
    ("quarkusDev", Run),
    ("publish", Release),
    ("publishToMavenLocal", Release),
    ("spotlessCheck", Lint),
    ("ktlintCheck", Lint),
    ("detekt", Lint),
    ("lint", Lint),
    ("checkstyleMain", Lint),
    ("apiCheck", Lint),
    ("spotlessApply", Format),
    ("ktlintFormat", Format),
    ("javadoc", Docs),
    ("dokkaHtml", Docs),
    ("dokkaGenerate", Docs),
    ("jmh", Bench),
    ("check", Test),
    ("test", Test),
    ("allTests", Test),
    ("jvmTest", Test),
    ("connectedCheck", Test),
    ("connectedAndroidTest", Test),
    ("testDebugUnitTest", Test),
    ("assemble", Build),
    ("assembleDebug", Build),
    ("assembleRelease", Build),
    ("build", Build),
    ("jar", Build),
];

const GO: Verbs = &[
    ("build", Build),
    ("test", Test),
    ("run", Run),
    ("vet", Lint),
    ("fmt", Format),
    ("mod download", Install),
    ("mod tidy", Install),
];

const DOTNET: Verbs = &[
    ("restore", Install),
    ("build", Build),
    ("pack", Build),
    ("publish", Build),
    ("test", Test),
    ("run", Run),
    ("watch", Run),
    ("format", Format),
    ("nuget push", Release),
];

const MIX: Verbs = &[
    ("deps.get", Install),
    ("setup", Install),
    ("compile", Build),
    ("test", Test),
    ("phx.server", Run),
    ("credo", Lint),
    ("dialyzer", Lint),
    ("format", Format),
    ("docs", Docs),
    ("hex.publish", Release),
];

const DART: Verbs = &[
    ("pub get", Install),
    ("build", Build),
    ("compile", Build),
    ("test", Test),
    ("run build_runner", Other),
    ("run", Run),
    ("analyze", Lint),
    ("format", Format),
    ("doc", Docs),
];

const UV: Verbs = &[("sync", Install), ("build", Build), ("publish", Release)];
const POETRY: Verbs =
    &[("install", Install), ("build", Build), ("publish", Release), ("check", Lint)];
const HATCH: Verbs = &[("build", Build), ("test", Test), ("fmt", Format), ("publish", Release)];
const DJANGO: Verbs =
    &[("test", Test), ("runserver", Run), ("migrate", Other), ("collectstatic", Other)];
const SETUP: Verbs = &[
    ("develop", Install),
    ("install", Install),
    ("test", Test),
    ("build", Build),
    ("sdist", Build),
];
const RUFF: Verbs = &[("check", Lint), ("format", Format)];
const WEB: Verbs = &[
    ("build", Build),
    ("dev", Run),
    ("start", Run),
    ("serve", Run),
    ("preview", Run),
    ("test", Test),
    ("lint", Lint),
    ("check", Lint),
    ("format", Format),
];
const MONOREPO: Verbs = &[
    ("build", Build),
    ("test", Test),
    ("lint", Lint),
    ("publish", Release),
    ("version", Release),
    ("bootstrap", Install),
];
const COMMON: Verbs = &[
    ("build", Build),
    ("test", Test),
    ("spec", Test),
    ("check", Test),
    ("runtest", Test),
    ("ct", Test),
    ("eunit", Test),
    ("run", Run),
    ("compile", Build),
    ("bench", Bench),
    ("lint", Lint),
    ("fmt", Format),
    ("format", Format),
    ("doc", Docs),
    ("haddock", Docs),
    ("publish", Release),
    ("release", Release),
];
const RAILS: Verbs = &[
    ("server", Run),
    ("s", Run),
    ("test", Test),
    ("spec", Test),
    ("db:prepare", Other),
    ("db:setup", Other),
];
const ARTISAN: Verbs = &[("serve", Run), ("test", Test), ("migrate", Other)];
const COMPOSE: Verbs = &[("up", Run), ("build", Build)];
const DOCKER: Verbs = &[("build", Build), ("buildx", Build), ("push", Release)];
const TERRAFORM: Verbs = &[
    ("init", Install),
    ("plan", Other),
    ("apply", Release),
    ("validate", Lint),
    ("fmt", Format),
    ("test", Test),
];
const DOCUMENTS: Verbs =
    &[("build", Docs), ("serve", Docs), ("test", Docs), ("start", Docs), ("gh-deploy", Docs)];
const SERVES: Verbs = &[("run", Run), ("start", Run), ("serve", Run), ("dev", Run)];
const MESON: Verbs = &[("setup", Build), ("compile", Build), ("test", Test), ("install", Install)];
const RELEASES: Verbs = &[("release", Release), ("build", Build), ("publish", Release)];

const PYTHON: Option<&str> = Some("Python");
const NODE: Option<&str> = Some("npm");
const RUBY: Option<&str> = Some("Ruby");
const PHP: Option<&str> = Some("PHP");

/// All known tools.
pub(super) const TOOLS: &[CommandTool] = &[
    tool(&["cargo", "cross"], Some("Cargo"), PurposeRule::Verb(CARGO)),
    tool(&["mvn", "mvnw"], Some("Maven"), PurposeRule::Anywhere(MAVEN)),
    tool(&["gradle", "gradlew"], Some("Gradle"), PurposeRule::Anywhere(GRADLE)),
    tool(&["go"], Some("Go"), PurposeRule::Verb(GO)),
    tool(&["gofmt", "gofumpt", "goimports"], Some("Go"), PurposeRule::Always(Format)),
    tool(&["golangci-lint", "staticcheck"], Some("Go"), PurposeRule::Always(Lint)),
    tool(&["goreleaser"], Some("Go"), PurposeRule::Verb(RELEASES)),
    tool(&["gotestsum", "ginkgo"], Some("Go"), PurposeRule::Always(Test)),
    tool(&["dotnet"], Some(".NET"), PurposeRule::Verb(DOTNET)),
    tool(&["mix"], Some("Elixir"), PurposeRule::Verb(MIX)),
    tool(&["dart", "flutter"], Some("Dart"), PurposeRule::Verb(DART)),
    tool(&["melos"], Some("Dart"), PurposeRule::Target(Other)),
    tool(&["swift"], Some("Swift"), PurposeRule::Verb(COMMON)),
    tool(&["swiftlint"], None, PurposeRule::Always(Lint)),
    tool(&["swift-format", "swiftformat"], None, PurposeRule::Always(Format)),
    tool(&["stack", "cabal"], Some("Haskell"), PurposeRule::Verb(COMMON)),
    tool(
        &["zig", "dune", "nimble", "crystal", "rebar3", "gleam", "forge"],
        None,
        PurposeRule::Verb(COMMON),
    ),
    tool(&["sbt", "lein", "mill"], None, PurposeRule::Anywhere(COMMON)),
    tool(&["bazel", "bazelisk", "buck2"], None, PurposeRule::Verb(COMMON)),
    tool(&["deno"], Some("Deno"), PurposeRule::Verb(COMMON)),
    tool(&["npm", "pnpm", "yarn", "bun"], NODE, PurposeRule::Scripts),
    tool(
        &["jest", "vitest", "mocha", "ava", "tap", "karma", "c8", "nyc", "wtr", "borp"],
        NODE,
        PurposeRule::Always(Test),
    ),
    tool(
        &[
            "eslint",
            "oxlint",
            "stylelint",
            "xo",
            "standard",
            "knip",
            "publint",
            "attw",
            "tslint",
            "vue-tsc",
            "svelte-check",
            "lerna-lint",
        ],
        NODE,
        PurposeRule::Always(Lint),
    ),
    tool(&["prettier", "oxfmt", "dprint"], NODE, PurposeRule::Always(Format)),
    tool(
        &["biome"],
        NODE,
        PurposeRule::Verb(&[("check", Lint), ("lint", Lint), ("format", Format), ("ci", Lint)]),
    ),
    tool(
        &[
            "tsc",
            "webpack",
            "rollup",
            "esbuild",
            "tsup",
            "tsdown",
            "unbuild",
            "rolldown",
            "parcel",
            "swc",
            "babel",
            "microbundle",
        ],
        NODE,
        PurposeRule::Always(Build),
    ),
    tool(
        &[
            "vite",
            "next",
            "nuxt",
            "nuxi",
            "astro",
            "ng",
            "remix",
            "vue-cli-service",
            "react-scripts",
            "svelte-kit",
            "gatsby",
            "expo",
            "nest",
            "wrangler",
        ],
        NODE,
        PurposeRule::Verb(WEB),
    ),
    tool(
        &["docusaurus", "vitepress", "vuepress"],
        NODE,
        PurposeRule::Verb(&[("build", Docs), ("start", Docs), ("dev", Docs)]),
    ),
    tool(&["typedoc", "jsdoc", "api-extractor"], NODE, PurposeRule::Always(Docs)),
    tool(
        &["semantic-release", "release-it", "np", "vsce", "ovsx"],
        NODE,
        PurposeRule::Always(Release),
    ),
    tool(&["changeset"], NODE, PurposeRule::Verb(RELEASES)),
    tool(&["lerna", "nx", "turbo"], NODE, PurposeRule::Anywhere(MONOREPO)),
    tool(&["grunt", "gulp"], NODE, PurposeRule::Target(Build)),
    tool(
        &["pytest", "py.test", "unittest", "ward", "behave", "nose2"],
        PYTHON,
        PurposeRule::Always(Test),
    ),
    tool(&["tox", "nox"], PYTHON, PurposeRule::Target(Test)),
    tool(
        &[
            "flake8",
            "pylint",
            "mypy",
            "pyright",
            "basedpyright",
            "bandit",
            "pydocstyle",
            "pyflakes",
            "ty",
            "pyrefly",
            "vulture",
            "djlint",
        ],
        PYTHON,
        PurposeRule::Always(Lint),
    ),
    tool(&["black", "isort", "autopep8", "yapf"], PYTHON, PurposeRule::Always(Format)),
    tool(&["ruff"], None, PurposeRule::Verb(RUFF)),
    tool(&["sphinx-build", "sphinx-autobuild", "pdoc"], None, PurposeRule::Always(Docs)),
    tool(&["mkdocs", "zensical", "mdbook", "antora"], None, PurposeRule::Verb(DOCUMENTS)),
    tool(&["uvicorn", "gunicorn", "hypercorn", "daphne"], PYTHON, PurposeRule::Always(Run)),
    tool(&["flask", "streamlit", "fastapi", "celery"], PYTHON, PurposeRule::Verb(SERVES)),
    tool(&["manage.py", "django-admin"], PYTHON, PurposeRule::Verb(DJANGO)),
    tool(&["setup.py"], PYTHON, PurposeRule::Verb(SETUP)),
    tool(&["build"], PYTHON, PurposeRule::Always(Build)),
    tool(&["twine"], PYTHON, PurposeRule::Verb(&[("upload", Release)])),
    tool(&["asv"], PYTHON, PurposeRule::Verb(&[("run", Bench), ("continuous", Bench)])),
    tool(&["uv"], PYTHON, PurposeRule::Verb(UV)),
    tool(&["poetry", "flit", "pipenv", "rye", "maturin"], PYTHON, PurposeRule::Verb(POETRY)),
    tool(&["pdm", "hatch", "pixi"], PYTHON, PurposeRule::Verb(HATCH)),
    tool(&["poe", "invoke", "inv"], PYTHON, PurposeRule::Target(Other)),
    tool(&["rspec", "cucumber", "minitest"], RUBY, PurposeRule::Always(Test)),
    tool(
        &["rubocop", "standardrb", "brakeman", "erb_lint", "haml-lint", "reek"],
        RUBY,
        PurposeRule::Always(Lint),
    ),
    tool(&["rake"], RUBY, PurposeRule::Target(Other)),
    tool(&["rails"], RUBY, PurposeRule::Verb(RAILS)),
    tool(&["yard"], RUBY, PurposeRule::Always(Docs)),
    tool(&["gem"], RUBY, PurposeRule::Verb(&[("build", Build), ("push", Release)])),
    tool(&["jekyll"], RUBY, PurposeRule::Verb(&[("build", Docs), ("serve", Docs)])),
    tool(&["puma", "rackup", "foreman", "overmind"], None, PurposeRule::Always(Run)),
    tool(&["composer"], PHP, PurposeRule::Target(Other)),
    tool(&["phpunit", "pest", "behat", "codecept"], PHP, PurposeRule::Always(Test)),
    tool(&["phpstan", "psalm", "phpcs"], PHP, PurposeRule::Always(Lint)),
    tool(&["pint", "php-cs-fixer", "phpcbf", "ecs"], PHP, PurposeRule::Always(Format)),
    tool(&["artisan"], PHP, PurposeRule::Verb(ARTISAN)),
    tool(&["make", "gmake"], None, PurposeRule::Target(Build)),
    tool(&["just", "task", "mage"], None, PurposeRule::Target(Other)),
    tool(&["cmake"], Some("CMake"), PurposeRule::Always(Build)),
    tool(&["ctest"], Some("CMake"), PurposeRule::Always(Test)),
    tool(&["conan"], Some("Conan"), PurposeRule::Verb(&[("install", Install), ("create", Build)])),
    tool(&["meson"], None, PurposeRule::Verb(MESON)),
    tool(&["ninja"], None, PurposeRule::Target(Build)),
    tool(&["configure"], None, PurposeRule::Always(Build)),
    tool(&["clang-tidy", "cppcheck", "cpplint"], None, PurposeRule::Always(Lint)),
    tool(&["clang-format"], None, PurposeRule::Always(Format)),
    tool(&["doxygen"], None, PurposeRule::Always(Docs)),
    tool(
        &[
            "pre-commit",
            "prek",
            "shellcheck",
            "hadolint",
            "yamllint",
            "actionlint",
            "zizmor",
            "typos",
            "codespell",
            "markdownlint",
            "markdownlint-cli2",
            "cspell",
            "reuse",
            "tflint",
            "ansible-lint",
            "buf",
            "vale",
            "lychee",
        ],
        None,
        PurposeRule::Always(Lint),
    ),
    tool(&["shfmt", "taplo", "nixfmt", "alejandra"], None, PurposeRule::Always(Format)),
    tool(&["rustfmt"], None, PurposeRule::Always(Format)),
    tool(&["wasm-pack", "trunk", "tauri"], Some("Cargo"), PurposeRule::Verb(WEB)),
    tool(&["hyperfine"], None, PurposeRule::Always(Bench)),
    tool(&["docker-compose", "podman-compose"], None, PurposeRule::Verb(COMPOSE)),
    tool(&["docker", "podman"], None, PurposeRule::Verb(DOCKER)),
    tool(&["terraform", "tofu"], None, PurposeRule::Verb(TERRAFORM)),
    tool(
        &["helm"],
        None,
        PurposeRule::Verb(&[
            ("lint", Lint),
            ("package", Build),
            ("install", Release),
            ("upgrade", Release),
        ]),
    ),
    tool(&["ansible-playbook"], None, PurposeRule::Always(Release)),
    tool(&["kubectl"], None, PurposeRule::Verb(&[("apply", Release)])),
    tool(&["playwright"], NODE, PurposeRule::Verb(&[("test", Test)])),
    tool(&["cypress"], NODE, PurposeRule::Verb(&[("run", Test)])),
    tool(
        &["nix"],
        None,
        PurposeRule::Verb(&[("build", Build), ("develop", Install), ("run", Run), ("fmt", Format)]),
    ),
];

/// Flags that turn a formatter into a check.
pub(super) const CHECKING: [&str; 10] = [
    "--check",
    "-check",
    "--list-different",
    "--diff",
    "--check-formatted",
    "--verify-no-changes",
    "--set-exit-if-changed",
    "--dry-run",
    "--test",
    "--check-only",
];

/// Flags that turn a linter into a fixer.
pub(super) const FIXING: [&str; 4] = ["--fix", "--autocorrect", "--autocorrect-all", "--apply"];
