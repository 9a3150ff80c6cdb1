//! Finds options of the project's programs that documents show but no code contains.

use super::{
    DocumentDrift, MentionFamily, SuspectMention, SuspicionBasis,
    project_index::ProjectIndex,
    shell::{CommandFolder, CommandWord, DocumentedCommand},
};
use crate::repo::{
    report::{MentionKind, Severity},
    tree::name_of,
};

/// Options that command-line libraries add, and placeholder names.
const COMMON_OPTIONS: [&str; 27] = [
    "arg", "args", "bar", "baz", "color", "colour", "config", "debug", "dry-run", "flag", "flags",
    "foo", "help", "json", "long", "opt", "option", "options", "port", "quiet", "silent", "some",
    "verbose", "version", "watch", "yes", "your",
];

/// Programs that take the options after them.
const WRAPPER_PROGRAMS: [&str; 30] = [
    "bash", "bun", "cargo", "cat", "coverage", "curl", "deno", "docker", "echo", "git", "go",
    "gunicorn", "java", "jest", "ls", "make", "mypy", "node", "npm", "npx", "perl", "pip", "pnpm",
    "pytest", "python", "python3", "ruby", "sh", "uvicorn", "yarn",
];

/// Scripts that pass their options to a framework.
const PASS_THROUGH_SCRIPTS: [&str; 12] = [
    "artisan",
    "console",
    "django-admin",
    "gradlew",
    "gulpfile.js",
    "manage.py",
    "mvnw",
    "rails",
    "rake",
    "runtests.py",
    "setup.py",
    "spring",
];

/// Checks every option that a document passes to a program of the project.
pub(super) fn check_flags(
    known: &ProjectIndex<'_>,
    steps: &[DocumentedCommand<'_>],
    found: &mut DocumentDrift,
) {
    for step in steps.iter().filter(|step| step.folder != CommandFolder::Elsewhere) {
        let Some((program, arguments)) = own(known, step) else { continue };
        let family = MentionFamily::Flags(program.to_owned());
        for flag in flags(arguments) {
            found.checked += 1;
            if is_in_code(known, flag) {
                found.here.push((family.clone(), flag.to_owned()));
                continue;
            }
            found.doubts.push(SuspectMention {
                line: step.line,
                mention: format!("--{flag}"),
                kind: MentionKind::Flag,
                evidence: missing_spelling_evidence(program, flag),
                severity: Severity::Medium,
                suggestion: None,
                ground: SuspicionBasis::Certain,
                family: Some(family.clone()),
            });
        }
    }
}

/// Describes why an option or subcommand is suspect.
pub(super) fn missing_spelling_evidence(program: &str, name: &str) -> String {
    format!("{program} belongs to this project, and no source file contains {name} in any spelling")
}

/// Returns the project's program that a command runs, and its arguments.
pub(super) fn own<'a>(
    known: &ProjectIndex<'_>,
    step: &'a DocumentedCommand<'_>,
) -> Option<(&'a str, &'a [CommandWord])> {
    let (program, arguments) = step.program()?;
    let text = |at: usize| arguments.get(at).map(|word| word.text.as_str());
    let after = |at: usize| arguments.get(at..).unwrap_or_default();
    let pass = |path: &str| PASS_THROUGH_SCRIPTS.contains(&name_of(path));
    let is_ours = |path: &str| {
        path.contains('.')
            && !pass(path)
            && known.files().ending(path.trim_start_matches("./")).next().is_some()
    };
    match program {
        "cargo" if text(0) == Some("run") && known.has_programs() => {
            let end = arguments.iter().position(|word| word.text == "--")?;
            let elsewhere =
                arguments.iter().take(end).any(|word| word.text.starts_with("--manifest"));
            (!elsewhere).then(|| ("cargo run", after(end + 1)))
        }
        "cargo" => {
            let name = text(0)?;
            let own = known.is_own_program(&format!("cargo-{name}"))
                || (name == "xtask" && known.is_own_name("xtask"));
            own.then(|| (name, after(1)))
        }
        "python" | "python3" | "node" | "ruby" | "bash" | "sh" => match text(0)? {
            "-m" => {
                let module = text(1)?.split('.').next()?;
                (known.is_own_program(module) && known.is_own_package(module))
                    .then(|| (module, after(2)))
            }
            script => is_ours(script).then(|| (script, after(1))),
        },
        _ if pass(program) => None,
        _ if program.contains('/') => {
            let built = program.starts_with("target/") || program.starts_with("./target/");
            let name = name_of(program);
            (is_ours(program) || (built && known.is_own_program(name)))
                .then_some((program, arguments))
        }
        _ => known.is_own_program(program).then_some((program, arguments)),
    }
}

/// Returns the long options without their values.
fn flags(arguments: &[CommandWord]) -> Vec<&str> {
    let mut flags = Vec::new();
    for word in arguments {
        let text = word.text.as_str();
        if text == "--" || WRAPPER_PROGRAMS.binary_search(&text).is_ok() {
            break;
        }
        let Some(flag) = text.strip_prefix("--") else { continue };
        let name = flag.split('=').next().unwrap_or(flag);
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && !name.ends_with('-');
        let is_opaque = word.opaque && !flag.contains('=');
        if plain
            && !is_opaque
            && !is_stand_in(name)
            && name.len() > 2
            && COMMON_OPTIONS.binary_search(&name).is_err()
        {
            flags.push(name);
        }
    }
    flags
}

/// Prefixes of functions that handle an option or subcommand: `opt_zone`, `do_list`.
const HANDLERS: [&str; 10] =
    ["arg_", "cmd_", "command_", "do_", "flag_", "handle_", "opt_", "option_", "run_", "set_"];

/// Whether an option or subcommand appears in the code in any spelling that libraries use.
pub(super) fn is_in_code(known: &ProjectIndex<'_>, name: &str) -> bool {
    let words = known.today.words;
    let positive = ["no-", "not-", "without-", "with-", "disable-", "enable-", "skip-"];
    let bare = positive.iter().filter_map(|prefix| name.strip_prefix(prefix));
    std::iter::once(name).chain(bare).any(|name| {
        let snake = name.replace('-', "_");
        spellings(name).iter().any(|spelt| words.has(spelt))
            || HANDLERS.iter().any(|start| words.has(&format!("{start}{snake}")))
    })
}

/// Whether an option is a placeholder: `--any-other-options`, `--do-x`.
fn is_stand_in(name: &str) -> bool {
    name.split(['-', '_']).any(|word| {
        matches!(
            word,
            "any"
                | "bar"
                | "flag"
                | "flags"
                | "foo"
                | "my"
                | "option"
                | "options"
                | "some"
                | "your"
                | "x"
                | "y"
                | "z"
        )
    })
}

/// Returns the spellings of a hyphenated name in code.
pub(super) fn spellings(name: &str) -> [String; 7] {
    let mut kebab = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        let hump = letter.is_ascii_uppercase() && kebab.ends_with(|c: char| c.is_ascii_lowercase());
        if hump {
            kebab.push('-');
        }
        kebab.push(if letter == '_' { '-' } else { letter.to_ascii_lowercase() });
    }
    let parts = || kebab.split('-').filter(|part| !part.is_empty());
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let pascal: String = parts().map(capital).collect();
    let camel: String = parts()
        .enumerate()
        .map(|(at, part)| if at == 0 { part.to_owned() } else { capital(part) })
        .collect();
    let snake = kebab.replace('-', "_");
    [
        snake.to_ascii_uppercase(),
        kebab.replace('-', ""),
        name.to_owned(),
        snake,
        camel,
        pascal,
        kebab,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(COMMON_OPTIONS.is_sorted() && WRAPPER_PROGRAMS.is_sorted());
    }

    #[test]
    fn names_are_spelt_as_code_does() {
        let want = [
            "ALLOWED_HOST",
            "allowedhost",
            "allowed-host",
            "allowed_host",
            "allowedHost",
            "AllowedHost",
            "allowed-host",
        ];
        assert_eq!(spellings("allowed-host"), want);
        assert!(spellings("allowedHost").contains(&"allowed_host".to_owned()));
    }
}
