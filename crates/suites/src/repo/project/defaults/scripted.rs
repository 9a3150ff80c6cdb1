//! Default commands of interpreted languages: npm and compatible managers, Bundler, Composer, Mix, Dart.

use super::DefaultCommands;
use crate::repo::report::CommandPurpose as P;

pub(super) fn npm(found: &mut DefaultCommands<'_>) {
    let manager = found.opened.manifest.manager.clone().unwrap_or_else(|| "npm".into());
    if !found.opened.manifest.dependencies.is_empty() || !found.opened.manifest.members.is_empty() {
        found.add(P::Install, format!("{manager} install"));
    }
}

pub(super) fn ruby(found: &mut DefaultCommands<'_>) {
    if found.opened.file() != "Gemfile" {
        let gem = found.opened.file().to_owned();
        found.add(P::Build, format!("gem build {gem}"));
        return;
    }
    found.add(P::Install, "bundle install");
    let folder = found.opened.folder();
    let here = || found.sources.ecosystem("Ruby").filter(|other| other.folder() == folder);
    let asked = |name: &str| here().any(|other| other.depends_on(name));
    let rspec = asked("rspec") || asked("rspec-rails");
    let (rubocop, rails) = (asked("rubocop"), asked("rails") && found.has("bin/rails"));
    if rspec {
        found.add(P::Test, "bundle exec rspec");
    } else if rails {
        found.add(P::Test, "bin/rails test");
    }
    if rails {
        found.add(P::Run, "bin/rails server");
    }
    if rubocop || found.has(".rubocop.yml") {
        found.add(P::Lint, "bundle exec rubocop");
    }
}

pub(super) fn php(found: &mut DefaultCommands<'_>) {
    found.add(P::Install, "composer install");
    if found.opened.depends_on("pestphp/pest") {
        found.add(P::Test, "vendor/bin/pest");
    } else if found.opened.depends_on("phpunit/phpunit") {
        found.add(P::Test, "vendor/bin/phpunit");
    }
    if found.has("artisan") {
        found.add(P::Run, "php artisan serve");
    }
    if found.opened.depends_on("laravel/pint") {
        found.add(P::Format, "vendor/bin/pint");
    }
    let phpstan = ["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"];
    found.add_if_there(&phpstan, P::Lint, "vendor/bin/phpstan analyse");
    let fixer = [".php-cs-fixer.php", ".php-cs-fixer.dist.php"];
    found.add_if_there(&fixer, P::Format, "vendor/bin/php-cs-fixer fix");
}

pub(super) fn elixir(found: &mut DefaultCommands<'_>) {
    found.add(P::Install, "mix deps.get");
    found.add(P::Build, "mix compile");
    if found.has_folder("test") {
        found.add(P::Test, "mix test");
    }
    if found.opened.depends_on("phoenix") {
        found.add(P::Run, "mix phx.server");
    }
    if found.opened.depends_on("credo") {
        found.add(P::Lint, "mix credo");
    }
    if found.opened.depends_on("ex_doc") {
        found.add(P::Docs, "mix docs");
    }
    found.add_if_there(&[".formatter.exs"], P::Format, "mix format");
}

pub(super) fn dart(found: &mut DefaultCommands<'_>) {
    let flutter = found.opened.depends_on("flutter");
    let tool = if flutter { "flutter" } else { "dart" };
    found.add(P::Install, format!("{tool} pub get"));
    let tested = found.opened.depends_on("test") || found.opened.depends_on("flutter_test");
    if tested && found.has_folder("test") {
        found.add(P::Test, format!("{tool} test"));
    }
    if flutter && found.has("lib/main.dart") {
        found.add(P::Run, "flutter run");
    }
    found.add_if_there(&["analysis_options.yaml"], P::Lint, format!("{tool} analyze"));
}
