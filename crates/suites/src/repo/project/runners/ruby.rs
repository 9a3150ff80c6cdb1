//! Rakefiles: tasks by name, and those that libraries define.

use super::{DeclaredTarget, TaskTarget, script};
use crate::repo::{project::sources::ProjectSources, tree::folder_of};

/// Tasks that a library defines: text in the Rakefile, and the default name.
const LIBRARIES: [(&str, &str); 7] = [
    ("RSpec::Core::RakeTask.new", "spec"),
    ("Rake::TestTask.new", "test"),
    ("Minitest::TestTask.create", "test"),
    ("RuboCop::RakeTask.new", "rubocop"),
    ("Cucumber::Rake::Task.new", "cucumber"),
    ("YARD::Rake::YardocTask.new", "yard"),
    ("Rake::TestTask.create", "test"),
];

/// Reads the tasks of a Rakefile outside namespaces.
pub(super) fn rakefile(sources: &ProjectSources<'_>, path: &str, text: &str) -> Vec<TaskTarget> {
    let bundled = sources.has(folder_of(path), "Gemfile");
    let rake = if bundled { "bundle exec rake" } else { "rake" };
    let mut offers: Vec<TaskTarget> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for name in task_names(line) {
            if !offers.iter().any(|offer| offer.name == name) {
                let command = match name {
                    "default" => rake.to_owned(),
                    name => format!("{rake} {name}"),
                };
                let body = script(prerequisites(line).map(|it| format!("rake {it}")));
                let target = DeclaredTarget { name: name.to_owned(), body, line: Some(number) };
                offers.push(target.offer(path, command));
            }
        }
    }
    offers
}

fn task_names(line: &str) -> Vec<&str> {
    let line = line.trim_end();
    if line.starts_with("require") && line.contains("bundler/gem_tasks") {
        return vec!["build", "release"];
    }
    if let Some(rest) = line.strip_prefix("task ").or_else(|| line.strip_prefix("multitask ")) {
        return symbol(rest).into_iter().collect();
    }
    let library = LIBRARIES.iter().find(|(call, _)| line.starts_with(call));
    library
        .map(|(call, name)| {
            let argument = line.strip_prefix(call).map(|it| it.trim_start_matches(['(', ' ']));
            argument.and_then(symbol).unwrap_or(name)
        })
        .into_iter()
        .collect()
}

/// Returns the prerequisites of a task: `task default: [:test, :lint]`, `task :a => %w[b c]`.
fn prerequisites(line: &str) -> impl Iterator<Item = &str> {
    let rest = line.split_once("=>").or_else(|| line.split_once(": ")).map_or("", |(_, rest)| rest);
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    rest.split(move |letter| !is_part(letter)).filter(|word| word.len() > 1 && *word != "do")
}

/// Parses a Ruby name: `:test`, `"test"`, `test:`.
fn symbol(text: &str) -> Option<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let text = text.trim_start_matches(['(', ' ']);
    if let Some(rest) = text.strip_prefix([':', '"', '\'']) {
        return rest.split(|letter| !is_part(letter)).next().filter(|name| !name.is_empty());
    }
    let name = text.split(|letter| !is_part(letter)).next().filter(|name| !name.is_empty())?;
    text.strip_prefix(name)?.starts_with(':').then_some(name)
}
