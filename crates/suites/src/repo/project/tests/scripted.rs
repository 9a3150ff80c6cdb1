//! Projects in interpreted languages.

use super::{Fixture, dependency};
use crate::repo::report::Purpose;

#[test]
fn a_library_for_node() {
    Fixture::new(&[
        (
            "package.json",
            "{\n  \"name\": \"lines\",\n  \"exports\": {\".\": {\"import\": \"./lib/index.js\"}},\n  \"bin\": {\"lines\": \"bin/lines.js\", \"built\": \"dist/built.js\"},\n  \"engines\": {\"node\": \">=20\", \"npm\": \"*\"},\n  \"packageManager\": \"pnpm@9.1.0+sha512.abc\",\n  \"scripts\": {\n    \"build\": \"tsup\",\n    \"test\": \"vitest run\",\n    \"test:watch\": \"vitest\",\n    \"pretest\": \"npm run build\",\n    \"prepare\": \"husky\",\n    \"fmt\": \"prettier --write .\",\n    \"check\": \"tsc --noEmit\",\n    \"gen\": \"node gen.js\"\n  }\n}\n",
        ),
        ("lib/index.js", "export {};\n"),
        ("bin/lines.js", "#!/usr/bin/env node\n"),
        (".nvmrc", "20.11\n"),
        (
            ".github/workflows/ci.yml",
            "jobs:\n  a:\n    steps:\n      - run: corepack enable\n      - run: pnpm install --frozen-lockfile\n      - run: pnpm test -- --coverage\n      - run: pnpm exec eslint .\n",
        ),
        (
            "README.md",
            "# lines\n\nA library that counts lines of text.\n\n```sh\nnpm install lines\nnpm install other\nnpm start\npnpm check\n```\n",
        ),
    ])
    .with("package.json", "npm", "lines", &["commander"])
    .where_it(|manifest| {
        manifest.manager = Some("pnpm".into());
        manifest.description = Some("A library that counts lines".into());
        manifest.dependencies.push(dependency("react", Purpose::Development));
    })
    .check(&[
        "Library: the description says “library”",
        "summary: A library that counts lines",
        "framework: Commander",
        "Binary lines: bin/lines.js by package.json",
        "Binary built: nowhere by package.json",
        "Library lines: lib/index.js by package.json",
        "Install in .: pnpm install by package.json",
        "Install in .: npm install lines by README.md:6",
        "Build in .: pnpm run build by package.json:8",
        "Test in .: pnpm test by package.json:9",
        "Test in .: pnpm test -- --coverage by .github/workflows/ci.yml:6",
        "Lint in .: pnpm run check by package.json:14",
        "Lint in .: pnpm exec eslint . by .github/workflows/ci.yml:7",
        "Format in .: pnpm run fmt by package.json:13",
        "Other in .: pnpm run test:watch by package.json:10",
        "Other in .: pnpm run gen by package.json:15",
        "tool: Node 20.11 by .nvmrc",
        "tool: Node >=20 by package.json",
        "tool: pnpm 9.1.0 by package.json",
    ]);
}

#[test]
fn a_library_in_python() {
    Fixture::new(&[
        (
            "pyproject.toml",
            "[project]\nname = \"my-lines\"\nrequires-python = \">=3.11\"\n\n[project.scripts]\nlines = \"my_lines.cli:main\"\n\n[build-system]\nrequires = [\"hatchling\"]\n\n[tool.ruff]\nline-length = 100\n\n[tool.poe.tasks]\ntest = \"pytest\"\ndocs.shell = \"sphinx-build docs out\"\n\n[tool.tox.env.style]\ncommands = [[\"ruff\", \"check\"]]\n",
        ),
        ("src/my_lines/__init__.py", ""),
        ("src/my_lines/__main__.py", ""),
        ("src/my_lines/cli.py", ""),
        ("tests/test_lines.py", ""),
        ("docs/conf.py", ""),
        (".python-version", "3.12\n"),
        (".pre-commit-config.yaml", "repos: []\n"),
        (
            "README.rst",
            "my-lines\n========\n\nA `library <https://a.example>`_ that counts lines. Fast.\n\nDevelop\n-------\n\n.. code-block:: console\n\n   $ uv run pytest -x\n   $ flask run\n",
        ),
    ])
    .with("pyproject.toml", "Python", "my-lines", &["click"])
    .where_it(|manifest| {
        manifest.manager = Some("uv".into());
        manifest.dependencies.push(dependency("pytest", Purpose::Development));
    })
    .check(&[
        "Library: the description says “library”",
        "summary: A library that counts lines.",
        "framework: Click",
        "Binary lines: src/my_lines/cli.py by pyproject.toml",
        "Script my_lines: src/my_lines/__main__.py by src/my_lines/__main__.py",
        "Library my_lines: src/my_lines/__init__.py by pyproject.toml",
        "Install in .: uv sync by pyproject.toml",
        "Build in .: uv build by pyproject.toml",
        "Test in .: poe test by pyproject.toml:15",
        "Test in .: tox by pyproject.toml:18",
        "Test in .: uv run pytest by pyproject.toml",
        "Test in .: uv run pytest -x by README.rst:11",
        "Lint in .: pre-commit run --all-files by .pre-commit-config.yaml",
        "Lint in .: uv run ruff check by pyproject.toml",
        "Lint in .: tox -e style by pyproject.toml:18",
        "Docs in .: poe docs by pyproject.toml:16",
        "Docs in .: uv run sphinx-build docs docs/_build/html by docs/conf.py",
        "tool: Python 3.12 by .python-version",
        "tool: Python >=3.11 by pyproject.toml",
    ]);
}

#[test]
fn a_gem() {
    Fixture::new(&[
        ("Gemfile", "source \"a\"\ngemspec\n"),
        (
            "lines.gemspec",
            "Gem::Specification.new do |s|\n  s.name = \"lines\"\n  s.required_ruby_version = \">= 3.1\"\n  s.executables = [\"lines\"]\nend\n",
        ),
        ("exe/lines", "#!/usr/bin/env ruby\n"),
        ("lib/lines.rb", ""),
        ("Rakefile", "require \"bundler/gem_tasks\"\nRSpec::Core::RakeTask.new(:spec)\n\nnamespace :db do\n  task :migrate\nend\n\ntask default: %i[spec rubocop]\n"),
        ("bin/setup", "#!/usr/bin/env bash\n"),
        ("bin/notes.txt", "no script\n"),
        (".ruby-version", "3.3.0\n"),
    ])
    .with("Gemfile", "Ruby", "", &[])
    .with("lines.gemspec", "Ruby", "lines", &[])
    .where_it(|manifest| {
        manifest.description = Some("Counts lines of code.".into());
        manifest.dependencies.push(dependency("rspec", Purpose::Development));
        manifest.dependencies.push(dependency("rubocop", Purpose::Development));
    })
    .check(&[
        "Library: lines.gemspec exports lines",
        "summary: Counts lines of code.",
        "Binary lines: exe/lines by lines.gemspec",
        "Script setup: bin/setup by bin/setup",
        "Library lines: lib/lines.rb by lines.gemspec",
        "Install in .: ./bin/setup by bin/setup",
        "Install in .: bundle install by Gemfile",
        "Build in .: bundle exec rake build by Rakefile:1",
        "Build in .: gem build lines.gemspec by lines.gemspec",
        "Test in .: bundle exec rspec by Gemfile",
        "Test in .: bundle exec rake spec by Rakefile:2",
        "Test in .: bundle exec rake by Rakefile:8",
        "Lint in .: bundle exec rubocop by Gemfile",
        "Release in .: bundle exec rake release by Rakefile:1",
        "tool: Ruby 3.3.0 by .ruby-version",
        "tool: Ruby >= 3.1 by lines.gemspec",
    ]);
}

#[test]
fn a_library_in_php() {
    Fixture::new(&[
        (
            "composer.json",
            "{\n  \"name\": \"acme/lines\",\n  \"type\": \"library\",\n  \"require\": {\"php\": \"^8.2\"},\n  \"autoload\": {\"psr-4\": {\"Acme\\\\\": \"src/\"}},\n  \"bin\": [\"bin/lines\"],\n  \"scripts\": {\n    \"test\": \"phpunit\",\n    \"analyse\": \"phpstan analyse\",\n    \"validate\": \"x\",\n    \"post-install-cmd\": \"y\"\n  }\n}\n",
        ),
        ("bin/lines", "#!/usr/bin/env php\n"),
        ("phpstan.neon", ""),
        ("src/Lines.php", "<?php\n"),
    ])
    .with("composer.json", "PHP", "acme/lines", &[])
    .where_it(|manifest| manifest.dependencies.push(dependency("phpunit/phpunit", Purpose::Development)))
    .check(&[
        "Library: composer.json exports acme/lines",
        "Binary lines: bin/lines by composer.json",
        "Library acme/lines: nowhere by composer.json",
        "Install in .: composer install by composer.json",
        "Test in .: composer test by composer.json:8",
        "Test in .: vendor/bin/phpunit by composer.json",
        "Lint in .: vendor/bin/phpstan analyse by phpstan.neon",
        "Lint in .: composer analyse by composer.json:9",
        "Other in .: composer run-script validate by composer.json:10",
        "tool: PHP ^8.2 by composer.json",
    ]);
}
