//! Applications, and projects that are not programs.

use super::{Fixture, dependency};
use crate::repo::report::Purpose;

#[test]
fn a_django_site() {
    Fixture::new(&[
        ("requirements.txt", "Django\n"),
        ("manage.py", "#!/usr/bin/env python\nimport django\n"),
        ("site/__init__.py", ""),
        ("compose.yaml", "services:\n  web:\n    build: .\n    environment:\n      SECRET_KEY: x\n  db:\n    image: postgres\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD}\n"),
        ("Dockerfile", "FROM python:3.12\nEXPOSE 8000\n"),
    ])
    .with("requirements.txt", "Python", "", &["Django"])
    .check(&[
        "WebApplication: manage.py runs a Django site",
        "framework: Django",
        "Script manage.py: manage.py by manage.py",
        "Container web: Dockerfile by compose.yaml",
        "Install in .: pip install -r requirements.txt by requirements.txt",
        "Build in .: docker build . by Dockerfile",
        "Test in .: python manage.py test by manage.py",
        "Run in .: python manage.py runserver by manage.py",
        "Run in .: docker compose up by compose.yaml",
        "variable: SECRET_KEY",
        "variable: DB_PASSWORD",
    ]);
}

#[test]
fn a_service_in_python() {
    Fixture::new(&[
        ("pyproject.toml", "[tool.poetry]\nname = \"orders\"\n\n[tool.poetry.dependencies]\npython = \"^3.12\"\n\n[tool.pytest.ini_options]\n"),
        ("main.py", "if __name__ == \"__main__\":\n    pass\n"),
        ("README.md", "# Orders\n\nTakes orders and keeps them.\n\n```sh\npoetry install\nuvicorn main:app --reload\n```\n"),
    ])
    .with("pyproject.toml", "Python", "orders", &["fastapi"])
    .where_it(|manifest| manifest.manager = Some("poetry".into()))
    .check(&[
        "Service: pyproject.toml depends on FastAPI",
        "summary: Takes orders and keeps them.",
        "framework: FastAPI",
        "Script main.py: main.py by main.py",
        "Install in .: poetry install by README.md:6",
        "Test in .: poetry run pytest by pyproject.toml",
        "Run in .: uvicorn main:app --reload by README.md:7",
        "tool: Python ^3.12 by pyproject.toml",
    ]);
}

#[test]
fn a_page_with_react() {
    Fixture::new(&[
        (
            "package.json",
            "{\n  \"name\": \"board\",\n  \"private\": true,\n  \"scripts\": {\n    \"dev\": \"vite\",\n    \"build\": \"vite build\",\n    \"lint\": \"eslint .\",\n    \"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"\n  }\n}\n",
        ),
        ("index.html", "<div id=root></div>"),
        ("src/main.tsx", ""),
    ])
    .with("package.json", "npm", "board", &["react"])
    .check(&[
        "WebApplication: package.json depends on React and has an HTML page",
        "framework: React",
        "Install in .: npm install by package.json",
        "Build in .: npm run build by package.json:6",
        "Run in .: npm run dev by package.json:5",
        "Lint in .: npm run lint by package.json:7",
    ]);
}

#[test]
fn a_rails_application() {
    Fixture::new(&[
        ("Gemfile", "ruby \"3.3.1\"\ngem \"rails\"\n"),
        ("config/application.rb", ""),
        ("config.ru", ""),
        ("bin/rails", "#!/usr/bin/env ruby\n"),
        ("app/models/a.rb", ""),
    ])
    .with("Gemfile", "Ruby", "", &["rails", "puma"])
    .check(&[
        "WebApplication: config/application.rb is that of a Rails application",
        "framework: Rails",
        "Script config.ru: config.ru by config.ru",
        "Script rails: bin/rails by bin/rails",
        "Install in .: bundle install by Gemfile",
        "Test in .: bin/rails test by Gemfile",
        "Run in .: bin/rails server by Gemfile",
        "tool: Ruby 3.3.1 by Gemfile",
    ]);
}

#[test]
fn a_phoenix_application() {
    Fixture::new(&[
        (
            "mix.exs",
            "defmodule Shop.MixProject do\n  def project do\n    [app: :shop, elixir: \"~> 1.16\"]\n  end\n\n  defp aliases do\n    [\n      setup: [\"deps.get\", \"ecto.setup\"],\n      \"assets.build\": [\n        \"esbuild shop\"\n      ],\n      test: [\"ecto.create --quiet\", \"test\"]\n    ]\n  end\nend\n",
        ),
        (".formatter.exs", ""),
        ("lib/shop.ex", ""),
        ("lib/shop_web/router.ex", ""),
        ("test/shop_test.exs", ""),
    ])
    .with("mix.exs", "Elixir", "shop", &["phoenix", "ecto"])
    .where_it(|manifest| manifest.dependencies.push(dependency("credo", Purpose::Development)))
    .check(&[
        "WebApplication: mix.exs depends on Phoenix",
        "framework: Phoenix",
        "framework: Ecto",
        "Library shop: lib/shop.ex by mix.exs",
        "Install in .: mix setup by mix.exs:8",
        "Install in .: mix deps.get by mix.exs",
        "Build in .: mix compile by mix.exs",
        "Build in .: mix assets.build by mix.exs:9",
        "Test in .: mix test by mix.exs:12",
        "Run in .: mix phx.server by mix.exs",
        "Lint in .: mix credo by mix.exs",
        "Format in .: mix format by .formatter.exs",
    ]);
}

#[test]
fn an_application_for_phones() {
    Fixture::new(&[
        ("pubspec.yaml", "name: notes\nenvironment:\n  sdk: ^3.4.0\n  flutter: '>=3.22.0'\n"),
        ("lib/main.dart", "void main() {}\n"),
        ("test/widget_test.dart", ""),
        ("analysis_options.yaml", ""),
        ("android/build.gradle", ""),
        ("android/settings.gradle", ""),
        ("ios/Podfile", ""),
    ])
    .with("pubspec.yaml", "Dart", "notes", &["flutter"])
    .where_it(|manifest| {
        manifest.description = Some("A new Flutter project.".into());
        manifest.dependencies.push(dependency("flutter_test", Purpose::Development));
    })
    .with("android/build.gradle", "Gradle", "", &[])
    .check(&[
        "MobileApplication: pubspec.yaml depends on Flutter and has mobile platform folders",
        "framework: Flutter",
        "Binary notes: lib/main.dart by pubspec.yaml",
        "Install in .: flutter pub get by pubspec.yaml",
        "Test in .: flutter test by pubspec.yaml",
        "Run in .: flutter run by pubspec.yaml",
        "Lint in .: flutter analyze by analysis_options.yaml",
        "tool: Dart ^3.4.0 by pubspec.yaml",
        "tool: Flutter >=3.22.0 by pubspec.yaml",
    ]);
}

#[test]
fn an_extension_of_an_editor() {
    Fixture::new(&[(
        "package.json",
        "{\n  \"name\": \"hints\",\n  \"main\": \"./out/extension.js\",\n  \"engines\": {\"vscode\": \"^1.90.0\"},\n  \"scripts\": {\"compile\": \"tsc -p .\", \"vscode:prepublish\": \"npm run compile\"}\n}\n",
    )])
    .with("package.json", "npm", "hints", &[])
    .check(&[
        "Plugin: package.json has Visual Studio Code as its engine",
        "Library hints: nowhere by package.json",
        "Build in .: npm run compile by package.json",
        "tool: Visual Studio Code ^1.90.0 by package.json",
    ]);
}

#[test]
fn infrastructure() {
    Fixture::new(&[
        ("main.tf", "resource \"a\" \"b\" {}\n"),
        ("versions.tf", "terraform {\n  required_version = \">= 1.5\"\n}\n"),
        ("examples/a/main.tf", ""),
        ("README.md", "# Network\n\nA module that makes a network with two zones.\n"),
    ])
    .check(&[
        "Infrastructure: main.tf describes Terraform infrastructure, and no program is declared",
        "summary: A module that makes a network with two zones.",
        "Install in .: terraform init by main.tf",
        "Lint in .: terraform validate by main.tf",
        "Format in .: terraform fmt -recursive by main.tf",
        "tool: Terraform >= 1.5 by versions.tf",
    ]);
}

#[test]
fn documents() {
    Fixture::new(&[
        ("README.md", "# Guides\n\nGuides for people who begin with databases.\n"),
        ("a.md", "# A\n"),
        ("b/c.md", "# C\n"),
        ("docs/Makefile", "SPHINXBUILD = sphinx-build\n\n.PHONY: help Makefile\n\nhelp:\n\t@true\n\n%: Makefile\n\t@$(SPHINXBUILD) -M $@\n"),
    ])
    .check(&[
        "Documentation: 3 of 4 files are documents, and there is no manifest",
        "summary: Guides for people who begin with databases.",
        "Docs in docs: make html by docs/Makefile:8",
    ]);
}

#[test]
fn data() {
    Fixture::new(&[
        ("a.csv", "1\n"),
        ("b.csv", "2\n"),
        ("c.json", "{}"),
        ("README.md", "# Numbers\n"),
    ])
    .check(&["Data: 3 of 4 files are data, and there is no manifest"]);
}
