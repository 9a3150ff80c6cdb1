//! Ruby: `Gemfile`, gem specifications and `Gemfile.lock`. The first two are programs; literal parts are read.

use super::{
    super::{report::Purpose, tree::join},
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    reading::{ManifestDraft, ManifestReader, RequestedDependency},
    script::{CommentStyle, ScriptToken, TokenizedScript, is_computed},
};
use std::{collections::HashMap, ops::Range};

/// Development groups.
const DEVELOPMENT: [&str; 11] = [
    "development",
    "test",
    "ci",
    "lint",
    "doc",
    "docs",
    "documentation",
    "benchmark",
    "rubocop",
    "debug",
    "tools",
];

/// Keywords of blocks that end with `end`.
const OPENERS: [&str; 9] =
    ["if", "unless", "case", "begin", "def", "while", "until", "module", "class"];

/// Specification methods that add a dependency.
const DEPENDENCY_METHODS: [(&str, Purpose); 3] = [
    ("add_dependency", Purpose::Runtime),
    ("add_runtime_dependency", Purpose::Runtime),
    ("add_development_dependency", Purpose::Development),
];

/// Reads every `Gemfile` and gem specification.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    for path in reading.files(PackageFileFormat::Gemfile) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Gemfile);
        if let Some(text) = reading.text(path) {
            fill_gemfile(reading, &TokenizedScript::new(&text, CommentStyle::Hash), &mut draft);
        }
        reading.drafts.push(draft);
    }
    for path in reading.files(PackageFileFormat::Gemspec) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Gemspec);
        if let Some(text) = reading.text(path) {
            fill_specification(
                reading,
                &TokenizedScript::new(&text, CommentStyle::Hash),
                &mut draft,
            );
        }
        reading.drafts.push(draft);
    }
}

/// Arguments of a call: strings, and options by name.
#[derive(Debug, Default)]
struct RubyArguments<'t> {
    texts: Vec<&'t str>,
    options: HashMap<&'t str, Vec<ScriptToken<'t>>>,
}

impl<'t> RubyArguments<'t> {
    /// Returns the groups in an option: `:test`, `[:test, :ci]`, `"test"`.
    fn groups(&self) -> Option<Vec<&'t str>> {
        let tokens = self.options.get("group").or_else(|| self.options.get("groups"))?;
        let words = tokens.iter().filter_map(|token| match token {
            ScriptToken::Word(word) | ScriptToken::Text(word) => Some(*word),
            _ => None,
        });
        Some(words.collect())
    }

    /// Returns the only string of an option: `"a"`, `File.expand_path("a", __dir__)`.
    fn text(&self, key: &str) -> Option<&'t str> {
        let mut texts = self.options.get(key)?.iter().filter_map(|token| match token {
            ScriptToken::Text(text) => Some(*text),
            _ => None,
        });
        let first = texts.next().filter(|text| !is_computed(text))?;
        texts.next().is_none().then_some(first)
    }
}

/// Parses the arguments of a method call at the start of the range.
fn arguments<'t>(script: &TokenizedScript<'t>, range: Range<usize>) -> RubyArguments<'t> {
    let open = range.start + 1;
    let range = if script.is(open, '(') { script.inside(open) } else { open..range.end };
    let mut found = RubyArguments::default();
    for part in script.parts(range) {
        let at = |index: usize| part.get(index).copied().unwrap_or(usize::MAX);
        let rest = |from: usize| part.iter().skip(from).filter_map(|at| script.get(*at)).collect();
        match (script.get(at(0)), script.get(at(1)), script.get(at(2))) {
            // `group: :test` and `:group => :test`.
            (Some(ScriptToken::Word(key)), Some(ScriptToken::Sign(':')), _) => {
                found.options.insert(key, rest(2));
            }
            (
                Some(ScriptToken::Sign(':')),
                Some(ScriptToken::Word(key)),
                Some(ScriptToken::Sign('=')),
            ) => {
                found.options.insert(key, rest(4));
            }
            // `:test`, as a group name.
            (Some(ScriptToken::Sign(':')), Some(ScriptToken::Word(word)), None) => {
                found.texts.push(word);
            }
            (Some(ScriptToken::Text(text)), ..) => found.texts.push(text),
            (Some(ScriptToken::Sign('[')), ..) => {
                found.texts.extend(script.list(at(0)).unwrap_or_default());
            }
            _ => {}
        }
    }
    found
}

/// Joins the requirements after the name: `'~> 1.0', '>= 1.0.2'`.
fn requirement(texts: &[&str]) -> Option<String> {
    let versions: Vec<_> = texts.iter().skip(1).copied().filter(|it| !is_computed(it)).collect();
    (!versions.is_empty()).then(|| versions.join(", "))
}

fn purpose(groups: &[&str]) -> Purpose {
    let development = !groups.is_empty() && groups.iter().all(|it| DEVELOPMENT.contains(it));
    if development { Purpose::Development } else { Purpose::Runtime }
}

fn fill_gemfile(
    reading: &ManifestReader<'_>,
    script: &TokenizedScript<'_>,
    draft: &mut ManifestDraft,
) {
    // Groups of each open block; empty for other blocks.
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let mut of_gem = false;
    for statement in script.statements(0..script.tokens().len()) {
        let tokens = &script.tokens()[statement.clone()];
        let first = script.word(statement.start).unwrap_or_default();
        let opens = tokens.contains(&ScriptToken::Word("do")) || OPENERS.contains(&first);
        let called = arguments(script, statement);
        match first {
            "group" if opens => blocks.push(called.texts),
            "end" => drop(blocks.pop()),
            "gem" if !called.texts.is_empty() => {
                let around = || blocks.iter().find(|groups| !groups.is_empty()).cloned();
                let groups = called.groups().or_else(around).unwrap_or_default();
                draft.wanted.push(gem(reading, draft.folder(), &called, purpose(&groups)));
            }
            "gemspec" => of_gem = true,
            _ if opens => blocks.push(Vec::new()),
            _ => {}
        }
    }
    // Next to a gem specification, the Gemfile is for development.
    for wanted in draft.wanted.iter_mut().filter(|_| of_gem) {
        wanted.purpose = Purpose::Development;
    }
}

fn gem(
    reading: &ManifestReader<'_>,
    folder: &str,
    called: &RubyArguments<'_>,
    purpose: Purpose,
) -> RequestedDependency {
    let name = called.texts.first().copied().unwrap_or_default();
    let address = ["path", "git", "github"].iter().find_map(|key| called.text(key));
    let wanted = requirement(&called.texts).or(address.map(str::to_owned));
    let specification = format!("{name}.gemspec");
    let target =
        called.text("path").and_then(|path| join(folder, &format!("{path}/{specification}")));
    RequestedDependency::new(name, wanted, purpose)
        .with_local_manifest(target.filter(|path| reading.has(path)))
}

fn fill_specification(
    reading: &mut ManifestReader<'_>,
    script: &TokenizedScript<'_>,
    draft: &mut ManifestDraft,
) {
    for statement in script.statements(0..script.tokens().len()) {
        // `spec.name = "x"`, `spec.add_dependency "y", "~> 1"`.
        let at = statement.start;
        let (true, Some(method)) = (script.is(at + 1, '.'), script.word(at + 2)) else { continue };
        if let Some((_, purpose)) = DEPENDENCY_METHODS.iter().find(|(name, _)| *name == method) {
            let called = arguments(script, at + 2..statement.end);
            if let Some(name) = called.texts.first() {
                draft.want(*name, requirement(&called.texts), *purpose);
            }
            continue;
        }
        let value = at + 4;
        let set = script.is(at + 3, '=');
        let text = script.text(value).filter(|text| set && !is_computed(text));
        let literal = text.map(str::to_owned);
        let manifest = &mut draft.manifest;
        match method {
            "name" => manifest.name = literal,
            "version" if literal.is_some() => manifest.version = literal,
            "version" => {
                let folder = draft.folder().to_owned();
                draft.manifest.version = named_version(reading, script, &folder);
            }
            // A summary is shorter and always present.
            "summary" => manifest.description = literal,
            "description" if manifest.description.is_none() => manifest.description = literal,
            "license" => manifest.licence = literal,
            "licenses" => manifest.licence = script.list(value).map(|all| all.join(" OR ")),
            _ => {}
        }
    }
}

/// Returns the version in a file that the specification loads: `require_relative "lib/x/version"`.
fn named_version(
    reading: &mut ManifestReader<'_>,
    script: &TokenizedScript<'_>,
    folder: &str,
) -> Option<String> {
    let texts = script.tokens().iter().filter_map(|token| match token {
        ScriptToken::Text(text) if text.ends_with("version") => {
            Some(text.trim_start_matches("../"))
        }
        _ => None,
    });
    let places = texts.flat_map(|it| [format!("{it}.rb"), format!("lib/{it}.rb")]);
    let path = places.filter_map(|it| join(folder, &it)).find(|path| reading.has(path))?;
    let text = reading.text(&path)?;
    text.lines().find_map(|line| {
        let value = line.trim_start().strip_prefix("VERSION")?.trim_start().strip_prefix('=')?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (version, after) = value.strip_prefix(quote)?.split_once(quote)?;
        let after = after.trim_start().trim_start_matches(".freeze").trim_start();
        let whole = after.is_empty() || after.starts_with('#');
        (whole && !is_computed(version)).then(|| version.to_owned())
    })
}

/// Parses `Gemfile.lock`: below `specs:`, names with versions are indented by four spaces.
pub(super) fn lock(text: &str) -> ParsedLockFile {
    let mut fixed = LockedVersions::default();
    let mut local = false;
    for line in text.lines() {
        if !line.starts_with(' ') {
            local = line.trim() == "PATH";
        }
        let entry = line.strip_prefix("    ").filter(|rest| !local && !rest.starts_with(' '));
        let parts = entry.and_then(|entry| entry.strip_suffix(')')?.split_once(" ("));
        if let Some((name, version)) = parts {
            // The part after a dash is a platform.
            fixed.add(name, version.split('-').next().unwrap_or(version));
        }
    }
    ParsedLockFile::single_version(fixed, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn gemfiles_specifications_and_lock_file() {
        check(
            &[
                (
                    "Gemfile",
                    "source 'https://example.org'\ngem 'rails', '~> 7.0', '>= 7.0.2' # web\ngem \"near\", path: \"near\"\ngem 'far', github: 'o/far'\n\
                     gem 'pry', group: :development\ngem 'computed', \"~> #{VERSION}\"\n\
                     group :development, :test do\n  gem('rspec', require: false)\n  if RUBY_VERSION > '3'\n    gem 'debug'\n  end\nend\n\
                     platforms :jruby do\n  gem 'jdbc', [\"> 1\", \"< 3\"]\nend\ngroup :assets do\n  gem 'sass', :require => nil, :groups => [:test]\nend\ngem 'last' if ENV['X']\n",
                ),
                (
                    "own.gemspec",
                    "require_relative \"lib/own/version\"\nGem::Specification.new do |spec|\n  spec.name = \"own\"\n  spec.version = Own::VERSION\n  spec.summary = 'Does own.'\n  \
                     spec.description = 'Long.'\n  spec.licenses = ['MIT', 'Ruby']\n  spec.add_dependency \"near\", \"= 1.0\"\n  spec.add_runtime_dependency('rack', '>= 2', '< 4')\n  \
                     spec.add_development_dependency \"rake\"\nend\n",
                ),
                ("lib/own/version.rb", "module Own\n  VERSION = \"2.3.4\"\nend\n"),
                (
                    "near/Gemfile",
                    "gemspec\ngem 'rake'\ngem 'test-theme', path: File.expand_path('./x', __dir__)\n",
                ),
                (
                    "near/near.gemspec",
                    "Gem::Specification.new do |s|\n  s.name = 'near'\n  s.version = '1.0'\n  s.license = 'MIT'\nend\n",
                ),
                (
                    "Gemfile.lock",
                    "PATH\n  remote: .\n  specs:\n    own (2.3.4)\n\nGEM\n  remote: https://example.org/\n  specs:\n    rails (7.0.8)\n      rack (>= 2)\n    nokogiri (1.16.0-x86_64-linux)\n    \
                     nokogiri (1.16.0)\n    rack (3.0.1)\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  rails (~> 7.0)\n",
                ),
            ],
            "Gemfile | Ruby bundler | - - | - | - | - | - | Gemfile.lock
             + runtime rails ~> 7.0, >= 7.0.2 7.0.8
             + runtime near near -
             + runtime far o/far -
             + runtime computed - -
             + runtime jdbc > 1, < 3 -
             + runtime last - -
             + development pry - -
             + development rspec - -
             + development debug - -
             + development sass - -
             own.gemspec | Ruby bundler | own 2.3.4 | Does own. | MIT OR Ruby | - | - | Gemfile.lock
             + runtime near = 1.0 -
             + runtime rack >= 2, < 4 3.0.1
             + development rake - -
             near/Gemfile | Ruby bundler | - - | - | - | - | - | -
             + development rake - -
             + development test-theme ./x -
             near/near.gemspec | Ruby bundler | near 1.0 | - | MIT | - | - | -
             = 6 direct, 6 development, 3 locked
             = Gemfile > near/near.gemspec
             = own.gemspec > near/near.gemspec
             = rake of Ruby by 2
             = Gemfile.lock of Ruby with 3",
        );
    }
}
