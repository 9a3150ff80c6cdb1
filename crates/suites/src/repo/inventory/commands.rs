//! Classifies commands that install something or run tests. Data and lookup only; knows no documents.

/// A program and its first arguments; none if any will do.
type Program = (&'static str, &'static [&'static str]);

/// Commands that install or fetch, in all ecosystems.
const INSTALL: &[Program] = &[
    ("cargo", &["install", "add", "binstall"]),
    ("rustup", &["install", "target", "component", "default"]),
    ("npm", &["i", "install", "add", "init", "create", "ci", "exec"]),
    ("pnpm", &["i", "install", "add", "init", "create", "dlx"]),
    ("yarn", &["add", "install", "create", "global", "dlx"]),
    ("bun", &["i", "install", "add", "create", "x"]),
    ("npx", &[]),
    ("bunx", &[]),
    ("deno", &["add", "install"]),
    ("jsr", &["add"]),
    ("bower", &["install"]),
    ("ember", &["install"]),
    ("pip", &["install", "download"]),
    ("pip3", &["install", "download"]),
    ("uv", &["add", "tool", "pip", "sync"]),
    ("uvx", &[]),
    ("pipx", &["install", "run"]),
    ("poetry", &["add", "install"]),
    ("pdm", &["add", "install"]),
    ("rye", &["add", "install", "sync"]),
    ("hatch", &["env"]),
    ("pipenv", &["install"]),
    ("easy_install", &[]),
    ("conda", &["install", "create", "env"]),
    ("mamba", &["install", "create", "env"]),
    ("micromamba", &["install", "create"]),
    ("pixi", &["add", "install", "global"]),
    ("go", &["install", "get"]),
    ("brew", &["install", "tap", "bundle"]),
    ("port", &["install"]),
    ("apt", &["install"]),
    ("apt-get", &["install"]),
    ("aptitude", &["install"]),
    ("dnf", &["install", "copr"]),
    ("yum", &["install"]),
    ("zypper", &["install", "in"]),
    ("apk", &["add"]),
    ("pkg", &["install", "add"]),
    ("pkgin", &["install"]),
    ("pacman", &["-s", "-sy", "-syu"]),
    ("yay", &["-s"]),
    ("paru", &["-s"]),
    ("emerge", &[]),
    ("xbps-install", &[]),
    ("snap", &["install"]),
    ("flatpak", &["install"]),
    ("choco", &["install"]),
    ("winget", &["install"]),
    ("scoop", &["install", "bucket"]),
    ("nix-env", &[]),
    ("nix-shell", &[]),
    ("nix", &["run", "profile", "shell", "develop", "build"]),
    ("guix", &["install", "shell"]),
    ("docker", &["run", "pull", "compose", "build"]),
    ("podman", &["run", "pull", "build"]),
    ("docker-compose", &["up", "build", "pull"]),
    ("helm", &["install", "repo", "upgrade"]),
    ("kubectl", &["apply", "create", "krew"]),
    ("gem", &["install"]),
    ("bundle", &["add", "install"]),
    ("composer", &["require", "install", "create-project", "global"]),
    ("pecl", &["install"]),
    ("dotnet", &["add", "tool", "new", "workload"]),
    ("nuget", &["install"]),
    ("install-package", &[]),
    ("install-module", &[]),
    ("install-psresource", &[]),
    ("mix", &["deps.get", "archive.install", "escript.install", "local.hex", "igniter.install"]),
    ("rebar3", &["get-deps", "deps"]),
    ("flutter", &["pub"]),
    ("dart", &["pub"]),
    ("cabal", &["install", "update"]),
    ("stack", &["install", "setup"]),
    ("opam", &["install", "pin"]),
    ("nimble", &["install"]),
    ("luarocks", &["install"]),
    ("cpan", &[]),
    ("cpanm", &[]),
    ("shards", &["install"]),
    ("vcpkg", &["install", "add"]),
    ("conan", &["install"]),
    ("xrepo", &["install"]),
    ("pod", &["install", "init"]),
    ("carthage", &["update", "bootstrap"]),
    ("mint", &["install"]),
    ("mise", &["use", "install"]),
    ("asdf", &["install", "plugin"]),
    ("code", &["--install-extension"]),
    ("claude", &["mcp", "plugin"]),
    ("ansible-galaxy", &["install", "collection"]),
    ("terraform", &["init"]),
    ("make", &["install"]),
    ("ninja", &["install"]),
    ("cmake", &[]),
    ("meson", &["setup", "install"]),
    ("./configure", &[]),
    ("./gradlew", &["publishtomavenlocal", "installdist"]),
    ("git", &["clone", "submodule"]),
    ("gh", &["repo", "extension"]),
    ("wrangler", &["deploy"]),
];

/// Commands that run tests.
const TEST: &[Program] = &[
    ("cargo", &["test", "t", "nextest"]),
    ("npm", &["test", "t", "tst"]),
    ("pnpm", &["test", "t"]),
    ("yarn", &["test"]),
    ("bun", &["test"]),
    ("deno", &["test"]),
    ("jest", &[]),
    ("vitest", &[]),
    ("mocha", &[]),
    ("playwright", &["test"]),
    ("pytest", &[]),
    ("py.test", &[]),
    ("tox", &[]),
    ("nox", &[]),
    ("hatch", &["test"]),
    ("./runtests.py", &[]),
    ("go", &["test"]),
    ("ginkgo", &[]),
    ("mvn", &["test", "verify"]),
    ("./mvnw", &["test", "verify"]),
    ("gradle", &["test", "check"]),
    ("./gradlew", &["test", "check"]),
    ("gradlew", &["test", "check"]),
    ("sbt", &["test"]),
    ("make", &["test", "tests", "check", "unittest"]),
    ("just", &["test", "tests", "check"]),
    ("task", &["test"]),
    ("rake", &["test", "spec"]),
    ("bin/rails", &["test"]),
    ("rails", &["test"]),
    ("rspec", &[]),
    ("phpunit", &[]),
    ("vendor/bin/phpunit", &[]),
    ("composer", &["test"]),
    ("artisan", &["test"]),
    ("dotnet", &["test"]),
    ("mix", &["test"]),
    ("flutter", &["test"]),
    ("dart", &["test"]),
    ("swift", &["test"]),
    ("ctest", &[]),
    ("ninja", &["test"]),
    ("meson", &["test"]),
    ("bazel", &["test"]),
    ("cabal", &["test"]),
    ("stack", &["test"]),
    ("prove", &[]),
    ("busted", &[]),
    ("unittest", &[]),
    ("zig", &["test"]),
];

/// Wrapper programs, and the arguments to skip.
const RUNNERS: &[Program] = &[
    ("sudo", &[]),
    ("doas", &[]),
    ("env", &[]),
    ("time", &[]),
    ("exec", &[]),
    ("bundle", &["exec"]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("hatch", &["run"]),
    ("npm", &["run", "run-script"]),
    ("pnpm", &["run", "exec"]),
    ("yarn", &["run"]),
    ("bun", &["run"]),
    ("npx", &[]),
    ("python", &["-m"]),
    ("python3", &["-m"]),
    ("py", &["-m"]),
    ("php", &[]),
    ("!", &[]),
];

/// Code that adds a package to a manifest or page.
const DECLARATIONS: &[&str] = &[
    "[dependencies]",
    "[dev-dependencies]",
    "[dependencies.",
    "[workspace.dependencies]",
    "<dependency>",
    "<packagereference",
    "implementation(",
    "implementation \"",
    "implementation '",
    "testimplementation",
    "api(\"",
    "compile '",
    "compile \"",
    "librarydependencies",
    "addsbtplugin(",
    ".package(url:",
    "gem \"",
    "gem '",
    "pod '",
    "fetchcontent_declare(",
    "find_package(",
    "cpmaddpackage(",
    "defp deps",
    "\"require\": {",
    "\"dependencies\": {",
    "dev_dependencies:",
    "pkg.add(",
    "install.packages(",
    "install_github(",
    "plug '",
    "(use-package ",
    "\"mcpservers\"",
    "uses: ",
    "- repo: http",
    "from \"https://",
    "from \"npm:",
    "bazel_dep(",
];

/// Returns the first line of a code block that installs or declares a package.
pub(super) fn installing(code: &str) -> Option<&str> {
    lines(code).find(|line| is_installing(line)).or_else(|| {
        let lower = |line: &&str| {
            let line = line.to_ascii_lowercase();
            let script = line.contains("<script") && line.contains("src=") && line.contains("http");
            let elixir = line.starts_with("{:") && line.contains("\"~>");
            script || elixir || DECLARATIONS.iter().any(|start| line.starts_with(start))
        };
        lines(code).find(lower)
    })
}

/// Whether a line installs or fetches something.
pub(super) fn is_installing(line: &str) -> bool {
    matches(line, INSTALL, true) || is_download(line)
}

/// Returns the first line of a code block that runs tests.
pub(super) fn testing(code: &str) -> Option<&str> {
    lines(code).find(|line| is_testing(line))
}

/// Whether a line runs tests.
pub(super) fn is_testing(line: &str) -> bool {
    matches(line, TEST, false)
        || words(line).is_some_and(|words| {
            let is_script = |word: &&str| word.ends_with("manage.py") || *word == "xtask";
            words.iter().any(is_script) && words.contains(&"test")
        })
}

/// Returns the non-empty lines without prompts.
pub(super) fn lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines().map(unprompted).filter(|line| !line.is_empty())
}

fn unprompted(line: &str) -> &str {
    let line = line.trim();
    let prompts = ["$ ", "% ", "> ", "PS> ", "λ ", "➜ ", "❯ ", "C:\\> ", "(venv) $ "];
    let line = prompts.iter().find_map(|prompt| line.strip_prefix(prompt)).unwrap_or(line);
    line.trim_start_matches('!').trim_start()
}

/// Splits a command into words; the caller splits `a && b`.
fn words(line: &str) -> Option<Vec<&str>> {
    let line = unprompted(line);
    let words: Vec<&str> = line.split_whitespace().skip_while(|word| is_assignment(word)).collect();
    (!words.is_empty()).then_some(words)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
    })
}

/// Whether part of a line is one of these commands. With `first`, the program itself must come first: a program run by
/// a wrapper is not installed by it.
fn matches(line: &str, table: &[Program], first: bool) -> bool {
    line.split("&&").flat_map(|part| part.split(';')).any(|part| {
        let Some(words) = words(part) else { return false };
        if is_command(&words, table) {
            return true;
        }
        let mut rest = words.as_slice();
        while let Some(next) = step_over(rest) {
            rest = next;
            if is_command(rest, table) || (!first && script(rest, table)) {
                return true;
            }
        }
        false
    })
}

fn is_command(words: &[&str], table: &[Program]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let program = program.to_ascii_lowercase();
    let known = table.iter().filter(|(name, _)| *name == program);
    let argument = arguments.iter().find(|word| !word.starts_with('-') && !word.starts_with('+'));
    let flag = arguments.first();
    known.into_iter().any(|(_, wanted)| {
        let is_wanted = |word: Option<&&str>| {
            word.is_some_and(|word| {
                let word = word.to_ascii_lowercase();
                word.split(':').any(|part| wanted.contains(&part))
            })
        };
        // A program named alone, or followed by prose, is not a command.
        if wanted.is_empty() {
            !arguments.is_empty() || words.len() == 1 && program != "npx"
        } else {
            is_wanted(argument) || is_wanted(flag)
        }
    })
}

/// Whether a package manager runs a script by name: `npm run test`.
fn script(words: &[&str], table: &[Program]) -> bool {
    let tests = std::ptr::eq(table, TEST);
    tests
        && words
            .first()
            .is_some_and(|word| *word == "test" || word.starts_with("test:") || *word == "tests")
}

fn step_over<'a, 'b>(words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let (program, rest) = words.split_first()?;
    let (_, wanted) = RUNNERS.iter().find(|(name, arguments)| {
        name == program
            && (arguments.is_empty() || rest.first().is_some_and(|word| arguments.contains(word)))
    })?;
    let rest = if wanted.is_empty() { rest } else { rest.get(1..)? };
    let flags = rest.iter().take_while(|word| word.starts_with('-')).count();
    rest.get(flags..)
}

/// Whether a line downloads a file to run or unpack, rather than calling a service.
fn is_download(line: &str) -> bool {
    let line = unprompted(line);
    let programs =
        ["curl ", "wget ", "iwr ", "irm ", "sh <(curl", "bash <(curl", "invoke-webrequest "];
    let lower = line.to_ascii_lowercase();
    let fetched =
        programs.iter().any(|start| lower.starts_with(start)) || lower.contains("$(curl ");
    let run = [
        "| sh",
        "|sh",
        "| bash",
        "|bash",
        "| sudo",
        "| tar",
        "| iex",
        "|iex",
        ".tar.gz",
        ".zip",
        ".sh",
        ".deb",
        ".rpm",
        "releases/",
    ];
    fetched && run.iter().any(|mark| lower.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_commands_of_every_ecosystem() {
        let cases = [
            ("cargo add serde --features derive", true),
            ("$ npm i -g typescript", true),
            ("npm install --save-dev jest", true),
            ("pnpm add -D x", true),
            ("yarn add x", true),
            ("bun add x", true),
            ("npx create-react-app my-app", true),
            ("python -m pip install requests", true),
            ("!pip install x", true),
            ("uv add x", true),
            ("uv run pytest", false),
            ("uvx ruff", true),
            ("pipx install black", true),
            ("go get -u example.org/x", true),
            ("go run .", false),
            ("brew install ripgrep", true),
            ("sudo apt-get update && sudo apt-get install -y x", true),
            ("sudo pacman -S ripgrep", true),
            ("docker run -p 80:80 x", true),
            ("docker ps", false),
            ("gem install rails", true),
            ("bundle exec rspec", false),
            ("composer require x/y", true),
            ("dotnet add package X", true),
            ("PM> Install-Package X", false),
            ("Install-Package X", true),
            ("mix deps.get", true),
            ("flutter pub add x", true),
            ("git clone https://example.org/x.git", true),
            ("git commit -m x", false),
            ("curl -sSf https://example.org/install.sh | sh", true),
            ("curl https://example.org/api/users", false),
            ("RUSTFLAGS=-C cargo install x", true),
            ("cargo build", false),
            ("make install", true),
            ("make", false),
            ("install it", false),
        ];
        for (line, want) in cases {
            assert_eq!(is_installing(line), want, "{line}");
        }
    }

    #[test]
    fn declarations_install_as_well() {
        let cases = [
            ("[dependencies]\nserde = \"1\"", Some("[dependencies]")),
            ("<dependency>\n  <groupId>x</groupId>", Some("<dependency>")),
            ("  implementation(\"a:b:1\")", Some("implementation(\"a:b:1\")")),
            ("{:phoenix, \"~> 1.7\"}", Some("{:phoenix, \"~> 1.7\"}")),
            (
                "<script src=\"https://cdn.example.org/x.js\"></script>",
                Some("<script src=\"https://cdn.example.org/x.js\"></script>"),
            ),
            ("let x = 1;", None),
        ];
        for (code, want) in cases {
            assert_eq!(installing(code), want, "{code}");
        }
    }

    #[test]
    fn testing_commands_of_every_ecosystem() {
        let cases = [
            ("cargo test --workspace", true),
            ("cargo xtask test", true),
            ("cargo xtask docs", false),
            ("cargo nextest run", true),
            ("npm test", true),
            ("npm run test:unit", true),
            ("npm run build", false),
            ("uv run pytest -x", true),
            ("python -m unittest discover", true),
            ("python manage.py test", true),
            ("go test ./...", true),
            ("./gradlew :core:test check", true),
            ("mvn -q verify", true),
            ("make check", true),
            ("bundle exec rspec", true),
            ("dotnet test", true),
            ("pytest", true),
            ("npm install test", false),
            ("test the waters", false),
        ];
        for (line, want) in cases {
            assert_eq!(is_testing(line), want, "{line}");
        }
        assert_eq!(testing("$ cargo build\n$ cargo test\n"), Some("cargo test"));
        assert_eq!(testing("cargo build"), None);
    }
}
