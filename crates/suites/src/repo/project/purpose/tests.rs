use super::*;
use crate::repo::report::CommandPurpose::{
    Bench, Build, Docs, Format, Install, Lint, Other, Release, Run, Test,
};

#[test]
fn names_give_purposes() {
    let cases = [
        ("test", Some((Test, true))),
        ("test:test", Some((Test, true))),
        ("unit", Some((Test, false))),
        ("release_tests", Some((Test, false))),
        ("build-tests", Some((Build, false))),
        ("lint:docs:js", Some((Lint, false))),
        ("release:generate:beta", Some((Release, false))),
        ("profile:bundle:cpu", None),
        ("tests", Some((Test, true))),
        ("test:unit", Some((Test, false))),
        ("unit-test", Some((Test, false))),
        ("runTests", Some((Test, false))),
        ("run_tests", Some((Test, false))),
        ("build", Some((Build, true))),
        ("build-docs", Some((Docs, false))),
        ("docs:serve", Some((Docs, false))),
        ("test-docs", Some((Test, false))),
        ("publish-docs", Some((Release, false))),
        ("install-docs-deps", Some((Install, false))),
        ("remove_dependencies", None),
        ("deps", Some((Install, true))),
        ("check-release-dependencies", Some((Lint, false))),
        ("fmt", Some((Format, true))),
        ("fmt-check", Some((Lint, false))),
        ("check_format", Some((Lint, false))),
        ("lint:fix", Some((Format, false))),
        ("type-check", Some((Lint, false))),
        ("typecheck", Some((Lint, true))),
        ("dev", Some((Run, true))),
        ("build:dev", Some((Build, false))),
        ("dev:build", Some((Build, false))),
        ("docker-run", Some((Run, false))),
        ("clean", Some((Other, false))),
        ("clean-build", Some((Other, false))),
        ("test:watch", Some((Other, false))),
        ("bench", Some((Bench, true))),
        ("release", Some((Release, true))),
        ("setup", Some((Install, true))),
        ("proto", None),
        ("", None),
    ];
    for (name, want) in cases {
        let found = purpose_of_name(name).map(|named| (named.purpose, named.exact));
        assert_eq!(found, want, "{name}");
    }
}

fn check_commands(cases: &[(&str, Option<CommandPurpose>)]) {
    for (command, want) in cases {
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(judge_command(&words).map(|judged| judged.purpose), *want, "{command}");
    }
}

#[test]
fn commands_of_package_managers_give_purposes() {
    check_commands(&[
        ("cargo test --all", Some(Test)),
        ("cargo +nightly fmt --all -- --check", Some(Lint)),
        ("cargo fmt", Some(Format)),
        ("RUSTFLAGS=-Dwarnings cargo clippy", Some(Lint)),
        ("cargo clippy --fix", Some(Format)),
        ("cargo hack check --each-feature", Some(Build)),
        ("gofmt -l .", Some(Lint)),
        ("black -l 100 .", Some(Format)),
        ("pre-commit run -a", Some(Lint)),
        ("rubocop -a", Some(Format)),
        ("cargo nextest run", Some(Test)),
        ("cargo xtask test --list", Some(Test)),
        ("cargo install cargo-nextest", None),
        ("cargo install --path .", Some(Install)),
        ("cargo doc --no-deps", Some(Docs)),
        ("cargo insta review", None),
        ("npx playwright install-deps", None),
        ("npx playwright test", Some(Test)),
        ("dart run build_runner build", Some(Other)),
        ("go mod verify", None),
        ("flutter pub run msix:create", None),
        ("shellcheck --version", None),
        ("coverage report", None),
        ("coverage run -m pytest", Some(Test)),
        ("cmake --build build --target doc", Some(Docs)),
        ("./scripts/download-and-verify-package-attestation.sh", None),
        ("sh remove_dependencies.sh", None),
        ("npm ci", Some(Install)),
        ("npm install", Some(Install)),
        ("npm install -g corepack", None),
        ("npm install lodash", None),
        ("npm test", Some(Test)),
        ("npm run build", Some(Build)),
        ("npm run lint -- --fix", Some(Format)),
        ("pnpm --filter web build", Some(Build)),
        ("yarn", Some(Install)),
        ("yarn workspace web build", Some(Build)),
        ("yarn add react", None),
        ("npx eslint --fix .", Some(Format)),
        ("npx tsc --noEmit", Some(Lint)),
        ("tsc -b", Some(Build)),
        ("prettier --check .", Some(Lint)),
        ("vite build", Some(Build)),
        ("python -m pytest -x", Some(Test)),
        ("python3.12 -m unittest", Some(Test)),
        ("python -Wall tests/runtests.py -v2", Some(Test)),
        ("python manage.py runserver", Some(Run)),
        ("python -m pip install --upgrade pip", None),
        ("pip install -e .[dev]", Some(Install)),
        ("pip install '.[dev]'", Some(Install)),
        ("pip install -r requirements.txt", Some(Install)),
        ("pip install tox", None),
        ("uv run --locked tox run -e style", Some(Lint)),
        ("uv run --python 3.12 pytest", Some(Test)),
        ("uv sync", Some(Install)),
        ("uv pip install -e .", Some(Install)),
        ("tox", Some(Test)),
        ("tox -e docs", Some(Docs)),
        ("nox -s lint", Some(Lint)),
        ("hatch run types:check", Some(Lint)),
        ("hatch run lint", Some(Lint)),
        ("black --check .", Some(Lint)),
        ("ruff format", Some(Format)),
    ]);
}

#[test]
fn commands_of_other_tools_give_purposes() {
    check_commands(&[
        ("make", Some(Build)),
        ("make check", Some(Test)),
        ("make -j4 test", Some(Test)),
        ("make -C docs html", Some(Docs)),
        ("just lint", Some(Lint)),
        ("go test ./...", Some(Test)),
        ("go install golang.org/x/tools@latest", None),
        ("go mod download", Some(Install)),
        ("mvn -B clean verify", Some(Test)),
        ("./mvnw spring-boot:run", Some(Run)),
        ("mvn -DskipTests package", Some(Build)),
        ("./gradlew :app:test --no-daemon", Some(Test)),
        ("./gradlew build", Some(Build)),
        ("dotnet test --no-build", Some(Test)),
        ("dotnet format --verify-no-changes", Some(Lint)),
        ("dotnet tool install x", None),
        ("mix format --check-formatted", Some(Lint)),
        ("mix deps.get", Some(Install)),
        ("flutter pub get", Some(Install)),
        ("bundle exec rspec", Some(Test)),
        ("bundle exec rake test", Some(Test)),
        ("bin/rails server", Some(Run)),
        ("vendor/bin/phpunit", Some(Test)),
        ("vendor/bin/pint --test", Some(Lint)),
        ("php artisan serve", Some(Run)),
        ("cmake --build build", Some(Build)),
        ("ctest --test-dir build", Some(Test)),
        ("docker compose up -d", Some(Run)),
        ("docker build -t x .", Some(Build)),
        ("./scripts/run-tests.sh", Some(Test)),
        ("script/bench", Some(Bench)),
        ("bash ci/build.sh", Some(Build)),
        ("/usr/bin/build", None),
        ("apt-get install -y libssl-dev", None),
        ("sudo apt install cmake", None),
        ("echo test", None),
        ("git clone x", None),
        ("rustup component add clippy", None),
        ("", None),
    ]);
}

#[test]
fn commands_need() {
    let cases = [
        ("cargo test", CommandRequirement::Ecosystem("Cargo")),
        ("make -j4 lint", CommandRequirement::Target("lint".into())),
        ("make", CommandRequirement::Target(String::new())),
        ("npm run build", CommandRequirement::Target("build".into())),
        ("./gradlew test", CommandRequirement::File("gradlew".into())),
        ("python tests/runtests.py", CommandRequirement::File("tests/runtests.py".into())),
        ("./test.sh", CommandRequirement::File("test.sh".into())),
        ("pre-commit run", CommandRequirement::Nothing),
        ("pip install -e .", CommandRequirement::Ecosystem("Python")),
        ("bundle install", CommandRequirement::Ecosystem("Ruby")),
        ("npm ci", CommandRequirement::Ecosystem("npm")),
    ];
    for (command, want) in cases {
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(judge_command(&words).map(|judged| judged.need), Some(want), "{command}");
    }
}

#[test]
fn installing_names_packages() {
    let cases: [(&str, Option<&[&str]>); 9] = [
        ("pip install -U Flask", Some(&["Flask"])),
        ("brew install ripgrep", Some(&["ripgrep"])),
        ("cargo install ripgrep --locked", Some(&["ripgrep"])),
        ("npm install --save express", Some(&["express"])),
        ("npm i -g typescript", Some(&["typescript"])),
        ("yarn add react", Some(&["react"])),
        ("uv add httpx", Some(&["httpx"])),
        ("pip install .", None),
        ("cargo build", None),
    ];
    for (command, want) in cases {
        let words: Vec<&str> = command.split_whitespace().collect();
        let found = match installed(&words) {
            Some(InstallTarget::Packages(names)) => Some(names),
            _ => None,
        };
        assert_eq!(found.as_deref(), want, "{command}");
    }
}
