//! Splits shell scripts into the commands that a person would type.
//!
//! Must not know the source of the script or the purpose of a command.

use super::sources::ProjectSources;
use crate::repo::tree::join;

/// Maximum command length; people do not type longer ones.
const MAX_COMMAND_CHARS: usize = 160;

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedCommand {
    /// As typed, on one line.
    pub(super) text: String,
    /// Working folder; empty at the root.
    pub(super) folder: String,
    /// First script line, from 0.
    pub(super) line: usize,
}

impl TypedCommand {
    /// Returns its words; a quoted text is one word.
    pub(super) fn words(&self) -> Vec<&str> {
        words(&self.text)
    }

    /// Whether it can be typed unchanged, without placeholders.
    pub(super) fn is_complete(&self) -> bool {
        let left_open = [
            "$",
            "`",
            "{",
            "<",
            ">",
            "…",
            "path/to",
            "your-",
            "yourfile",
            "YOUR",
            "my-",
            "blah",
            "foo",
            "test_name",
        ];
        // `./...` is every package of Go.
        let elided = |word: &&str| word.ends_with("...") && !word.ends_with("/...");
        !left_open.iter().any(|mark| self.text.contains(mark))
            && !self.words().iter().any(|word| word.starts_with('[') || elided(word))
    }
}

/// Splits a command into words; a quoted text is one word, including quotes.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut quote = None;
    let split = move |letter: char| {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => return false,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None => return letter.is_whitespace(),
        }
        false
    };
    text.split(split).filter(|word| !word.is_empty()).collect()
}

/// State of a script: folder stack, and nesting depth in `if`, `for` and similar blocks.
struct ShellScriptReader<'a> {
    sources: &'a ProjectSources<'a>,
    /// Current folder; `None` if unknown or not in the tree.
    folder: Option<String>,
    left: Vec<Option<String>>,
    nested: usize,
    cloned: bool,
    found: Vec<TypedCommand>,
}

/// Returns the commands of a script that starts in a folder. Commands in conditions, loops, or folders outside the tree
/// are skipped.
pub(super) fn commands(
    script: &str,
    folder: &str,
    sources: &ProjectSources<'_>,
) -> Vec<TypedCommand> {
    let mut reader = ShellScriptReader {
        sources,
        folder: Some(folder.to_owned()),
        left: Vec::new(),
        nested: 0,
        cloned: false,
        found: Vec::new(),
    };
    let mut lines = script.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut line = line.trim().to_owned();
        while let Some(open) = line.strip_suffix('\\') {
            let open = open.trim_end().to_owned();
            let Some((_, next)) = lines.next() else { break };
            line = format!("{open} {}", next.trim());
        }
        if let Some(end) = here_document(&line) {
            lines.by_ref().find(|(_, line)| line.trim() == end);
            continue;
        }
        reader.take(&line, number);
    }
    reader.found
}

/// Returns the word that ends a here-document.
fn here_document(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("<<")?;
    let word = rest.trim_start_matches('-').split_whitespace().next()?;
    let word = word.trim_matches(['"', '\'', '\\']);
    (!word.is_empty() && !word.starts_with('<')).then(|| word.to_owned())
}

impl ShellScriptReader<'_> {
    fn take(&mut self, line: &str, number: usize) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let first = line.split_whitespace().next().unwrap_or_default();
        let opens = matches!(first, "if" | "for" | "while" | "until" | "case" | "function")
            || line.ends_with("() {");
        let closes =
            |word: &str| matches!(word.trim_end_matches(';'), "fi" | "done" | "esac" | "}");
        if opens {
            let closed_at_once = line.split_whitespace().any(closes);
            self.nested += usize::from(!closed_at_once);
            return;
        }
        if closes(first) {
            self.nested = self.nested.saturating_sub(1);
            return;
        }
        if self.nested > 0 {
            return;
        }
        for step in steps(line) {
            self.step(step, number);
        }
    }

    fn step(&mut self, step: &str, number: usize) {
        let opened = step.trim_start().strip_prefix('(');
        if opened.is_some() {
            self.left.push(self.folder.clone());
        }
        let inner = opened.unwrap_or(step).trim();
        let closed = inner.strip_suffix(')').filter(|inner| !inner.contains('('));
        self.command(closed.unwrap_or(inner).trim(), number);
        if closed.is_some()
            && let Some(folder) = self.left.pop()
        {
            self.folder = folder;
        }
    }

    fn command(&mut self, command: &str, number: usize) {
        let command = command.strip_prefix('@').unwrap_or(command);
        let command = strip_redirections(command);
        let words = words(command);
        let cloned = std::mem::take(&mut self.cloned);
        match words.as_slice() {
            [] => {}
            ["cd" | "pushd", target, ..] => {
                self.left.push(self.folder.clone());
                self.enter(target.trim_matches(['"', '\'']), cloned);
            }
            ["cd"] => self.folder = None,
            ["popd", ..] => self.folder = self.left.pop().flatten(),
            ["git", "clone", ..] => self.cloned = true,
            _ => {
                let text = words.join(" ");
                if let (Some(folder), true) = (&self.folder, text.len() <= MAX_COMMAND_CHARS) {
                    self.found.push(TypedCommand { text, folder: folder.clone(), line: number });
                }
            }
        }
    }

    fn enter(&mut self, target: &str, cloned: bool) {
        // A cloned repository is the project itself, or another one.
        if cloned {
            self.folder = self.sources.is_called(target).then(String::new);
            return;
        }
        if target == "-" {
            self.left.pop();
            self.folder = self.left.pop().flatten();
            return;
        }
        let here = self.folder.take();
        let there = here.and_then(|folder| join(&folder, target));
        self.folder =
            there.filter(|path| !target.starts_with('/') && self.sources.tree.has_folder(path));
    }
}

/// Splits a line at `&&` and `;`, without anything after `||`, `|` and a comment.
fn steps(line: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let (mut start, mut quote, mut dropping) = (0, None, false);
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        let mut width = 0;
        let mut drops = false;
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'#') if at == 0 || bytes.get(at - 1) == Some(&b' ') => {
                (width, drops) = (bytes.len() - at, true);
            }
            (None, b'&') if next == Some(&b'&') => width = 2,
            (None, b';') => width = 1,
            (None, b'|') => {
                width = if next == Some(&b'|') { 2 } else { 1 };
                drops = true;
            }
            _ => {}
        }
        if width > 0 {
            if !dropping {
                steps.extend(line.get(start..at));
            }
            dropping = drops;
            at += width;
            start = at;
        } else {
            at += 1;
        }
    }
    if !dropping {
        steps.extend(line.get(start..));
    }
    steps
}

/// Strips output redirections from a command.
fn strip_redirections(command: &str) -> &str {
    let mut quote = None;
    let cut = command.char_indices().find(|(_, letter)| {
        match quote {
            Some(open) if *letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'') => quote = Some(*letter),
            None => return *letter == '>',
        }
        false
    });
    let Some((at, _)) = cut else { return command };
    // `<name>` is a placeholder, not an input file.
    let kept = command.get(..at).unwrap_or(command);
    if kept.contains('<') {
        return command;
    }
    kept.trim_end_matches(['1', '2', '&']).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{
        report::{Manifest, Presence},
        tree::ProjectTree,
    };
    use std::fs;

    fn check(script: &str, want: &[(&str, &str, usize)]) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("web/app")).unwrap();
        let presence = Presence::default();
        let project = Manifest { name: Some("x/y".into()), ..Manifest::default() };
        fs::write(folder.path().join("go.mod"), "").unwrap();
        let manifests = [Manifest { path: "go.mod".into(), ..project }];
        let tree = ProjectTree::of(folder.path());
        let sources = ProjectSources::gather(&tree, &manifests, &presence, &|| false);
        let found = commands(script, "", &sources);
        let found: Vec<(&str, &str, usize)> =
            found.iter().map(|it| (it.text.as_str(), it.folder.as_str(), it.line)).collect();
        assert_eq!(found, want, "{script}");
    }

    #[test]
    fn lines_become_commands() {
        check("make\n\n# a comment\nmake test", &[("make", "", 0), ("make test", "", 3)]);
        check(
            "cargo test \\\n  --all \\\n  --locked\nls",
            &[("cargo test --all --locked", "", 0), ("ls", "", 3)],
        );
        check("a && b; c # d", &[("a", "", 0), ("b", "", 0), ("c", "", 0)]);
        check("a || b\nc | tee d && e", &[("a", "", 0), ("c", "", 1), ("e", "", 1)]);
        check("echo 'a && b' \"c;d\"", &[("echo 'a && b' \"c;d\"", "", 0)]);
        check("a > b.txt 2>&1\nc 2>/dev/null", &[("a", "", 0), ("c", "", 1)]);
        check("git clone <url>", &[]);
        check("run <url> x", &[("run <url> x", "", 0)]);
    }

    #[test]
    fn folders_are_followed() {
        check("cd web && make\nmake", &[("make", "web", 0), ("make", "web", 1)]);
        check("(cd web && make)\nmake", &[("make", "web", 0), ("make", "", 1)]);
        check("pushd web/app; make; popd; make", &[("make", "web/app", 0), ("make", "", 0)]);
        check("cd nowhere\nmake", &[]);
        check("cd web\ncd ..\nmake", &[("make", "", 2)]);
        check("cd web\ncd -\nmake", &[("make", "", 2)]);
        check("git clone x/y\ncd y\nmake", &[("make", "", 2)]);
        check("git clone x/other\ncd other\nmake", &[]);
        check("cd /tmp\nmake", &[]);
    }

    #[test]
    fn conditions_and_texts_are_left_out() {
        check("if [ -f x ]; then\n  a\nfi\nb", &[("b", "", 3)]);
        check("for x in 1 2; do a; done\nb", &[("b", "", 1)]);
        check("cat <<EOF\nmake\nEOF\nmake test", &[("make test", "", 3)]);
        check("f() {\n  a\n}\nb", &[("b", "", 3)]);
    }

    #[test]
    fn what_must_be_filled_in_is_incomplete() {
        let cases = [
            ("make test", true),
            ("make $TARGET", false),
            ("pip install <name>", false),
            ("cargo run -- [OPTIONS]", false),
            ("pip install .[dev]", true),
            ("go test ./...", true),
            ("make ...", false),
        ];
        for (text, want) in cases {
            let typed = TypedCommand { text: text.into(), folder: String::new(), line: 0 };
            assert_eq!(typed.is_complete(), want, "{text}");
        }
    }
}
