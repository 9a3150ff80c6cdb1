//! Splits command lines in documents into single commands, each with its working folder. Knows shell syntax, not what
//! the commands do.

use super::project_index::{ProjectIndex, above};
use crate::repo::{
    facts::{DocumentFacts, Mention},
    tree::{folder_of, join, name_of},
};

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandWord {
    pub(super) text: String,
    /// Whether its value is unknown or free text: quoted, a variable, a placeholder.
    pub(super) opaque: bool,
}

/// The folder in which a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandFolder {
    /// Not specified: the document's folder or the root.
    Unsaid,
    /// A folder of the project.
    Inside(String),
    /// A folder outside the project.
    Elsewhere,
}

/// One command.
#[derive(Debug, Clone)]
pub(super) struct DocumentedCommand<'a> {
    pub(super) line: u32,
    /// The document's folder.
    pub(super) home: &'a str,
    pub(super) folder: CommandFolder,
    /// The program and its arguments.
    pub(super) words: Vec<CommandWord>,
}

impl DocumentedCommand<'_> {
    /// Returns the program and its arguments, without wrappers such as `sudo`, `npx`, `poetry run`.
    pub(super) fn program(&self) -> Option<(&str, &[CommandWord])> {
        let mut rest = self.words.as_slice();
        loop {
            let (first, arguments) = rest.split_first()?;
            if first.opaque {
                return None;
            }
            let second = arguments.first().map(|word| word.text.as_str()).unwrap_or_default();
            let skip = LAUNCHERS
                .iter()
                .find(|(name, verb)| *name == first.text && verb.is_none_or(|verb| verb == second));
            match skip {
                Some((_, verb)) => rest = arguments.get(usize::from(verb.is_some())..)?,
                None if is_assignment(&first.text) => rest = arguments,
                None => return Some((&first.text, arguments)),
            }
        }
    }

    /// Folders in which the command may run, nearest first; none if it runs elsewhere.
    pub(super) fn folders(&self) -> Vec<&str> {
        match &self.folder {
            CommandFolder::Unsaid => above(self.home).collect(),
            CommandFolder::Inside(folder) => vec![folder],
            CommandFolder::Elsewhere => Vec::new(),
        }
    }
}

/// Wrappers: a program, or a program with its first argument.
const LAUNCHERS: [(&str, Option<&str>); 20] = [
    ("sudo", None),
    ("time", None),
    ("env", None),
    ("command", None),
    ("exec", None),
    ("nohup", None),
    ("npx", None),
    ("bunx", None),
    ("uvx", None),
    ("pnpm", Some("exec")),
    ("pnpm", Some("dlx")),
    ("yarn", Some("dlx")),
    ("pipx", Some("run")),
    ("poetry", Some("run")),
    ("uv", Some("run")),
    ("pdm", Some("run")),
    ("rye", Some("run")),
    ("pipenv", Some("run")),
    ("hatch", Some("run")),
    ("bundle", Some("exec")),
];

fn is_assignment(word: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=').is_some_and(|(left, _)| !left.is_empty() && left.chars().all(name))
}

/// Returns every command of a document, in order.
pub(super) fn steps<'a>(
    known: &ProjectIndex<'_>,
    document: &'a DocumentFacts,
) -> Vec<DocumentedCommand<'a>> {
    let home = folder_of(&document.path);
    let mut blocks: Vec<u32> = document.code_blocks.iter().map(|block| block.line).collect();
    blocks.sort_unstable();
    let cloned = Vec::new();
    let mut walk =
        CommandWalk { known, home, folder: CommandFolder::Unsaid, blocks, block: None, cloned };
    let mut steps = Vec::new();
    let mut mentions = document.mentions.iter().peekable();
    while let Some(mention) = mentions.next() {
        if !mention.command {
            if mention.text.contains(' ') {
                let split = split(&mention.text).into_iter();
                steps.extend(split.map(|words| step(mention, home, CommandFolder::Unsaid, words)));
            }
            continue;
        }
        let mut text = mention.text.trim_end().to_owned();
        while text.ends_with('\\') {
            let more = mentions.next_if(|next| next.command);
            text.pop();
            text.push(' ');
            text.push_str(more.map_or("", |more| more.text.trim()));
        }
        walk.enter(mention.line);
        for words in split(&text) {
            let one = step(mention, home, walk.folder.clone(), words);
            walk.follow(&one);
            steps.push(one);
        }
    }
    steps
}

fn step<'a>(
    mention: &'a Mention,
    home: &'a str,
    folder: CommandFolder,
    words: Vec<CommandWord>,
) -> DocumentedCommand<'a> {
    DocumentedCommand { line: mention.line, home, folder, words }
}

/// Working folder state while reading the commands of a document.
struct CommandWalk<'a, 'k> {
    known: &'a ProjectIndex<'k>,
    home: &'a str,
    folder: CommandFolder,
    /// Start lines of code blocks, in order.
    blocks: Vec<u32>,
    /// Start line of the last command's block.
    block: Option<u32>,
    /// Folders created by cloning this project.
    cloned: Vec<String>,
}

impl CommandWalk<'_, '_> {
    /// A new block starts in the document's folder, unless earlier commands left it.
    fn enter(&mut self, line: u32) {
        let above = self.blocks.partition_point(|block| *block <= line);
        let block = above.checked_sub(1).and_then(|at| self.blocks.get(at)).copied();
        if block != self.block && self.folder != CommandFolder::Elsewhere {
            self.folder = CommandFolder::Unsaid;
        }
        self.block = block;
    }

    fn follow(&mut self, step: &DocumentedCommand<'_>) {
        let words: Vec<&str> = step.words.iter().map(|word| word.text.as_str()).collect();
        match words.as_slice() {
            ["git", "clone", rest @ ..] => self.clone_from(rest),
            ["cd" | "pushd", to, ..] => {
                let opaque = step.words.get(1).is_some_and(|word| word.opaque);
                self.folder = if opaque { CommandFolder::Elsewhere } else { self.go(to) };
            }
            _ => {}
        }
    }

    fn clone_from(&mut self, rest: &[&str]) {
        let mut plain = rest.iter().filter(|word| !word.starts_with('-'));
        let Some(source) = plain.next() else { return };
        let name = name_of(source.trim_end_matches('/')).trim_end_matches(".git");
        if self.known.is_own_name(name) {
            self.cloned.push(plain.next().map_or(name, |into| into).to_owned());
        }
    }

    fn go(&self, to: &str) -> CommandFolder {
        let to = to.trim_end_matches('/');
        if self.cloned.iter().any(|cloned| cloned == to) || self.known.is_own_name(name_of(to)) {
            return CommandFolder::Unsaid;
        }
        let tree = self.known.today.tree;
        match &self.folder {
            CommandFolder::Unsaid if to.starts_with("..") || to == "." => CommandFolder::Unsaid,
            CommandFolder::Unsaid => {
                let mut tried = above(self.home).filter_map(|base| join(base, to));
                tried
                    .find(|path| tree.has_folder(path))
                    .map_or(CommandFolder::Elsewhere, CommandFolder::Inside)
            }
            CommandFolder::Inside(now) => match join(now, to) {
                Some(path) if path.is_empty() => CommandFolder::Unsaid,
                Some(path) if tree.has_folder(&path) => CommandFolder::Inside(path),
                _ => CommandFolder::Elsewhere,
            },
            CommandFolder::Elsewhere => CommandFolder::Elsewhere,
        }
    }
}

/// Splits a line into commands at `&&`, `||`, `|`, `;` and `&`, without comments and redirections.
fn split(line: &str) -> Vec<Vec<CommandWord>> {
    let line = line.trim();
    let line = ["$ ", "% ", "> "].iter().find_map(|it| line.strip_prefix(it)).unwrap_or(line);
    let mut reader = ShellWordReader { commands: vec![Vec::new()], word: None };
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let text: String = letters.by_ref().take_while(|next| *next != letter).collect();
                reader.push_all(&text, true);
            }
            '\\' => letters.next().into_iter().for_each(|next| reader.push(next, true)),
            '$' | '`' | '*' | '?' | '{' | '}' | '[' | ']' | '…' | '(' | ')' => {
                reader.push(letter, true);
            }
            '<' | '>' => match letters.peek() {
                // `<name>` is a placeholder; anything else is a redirection, and the next word is its file.
                Some(next) if letter == '<' && next.is_alphabetic() => reader.push(letter, true),
                _ if reader.word.as_ref().is_some_and(|word| word.text.contains('<')) => {
                    reader.push(letter, true);
                }
                _ => {
                    reader.drop_number();
                    let target = |next: &char| matches!(next, '>' | '<' | '&' | ' ');
                    while letters.next_if(target).is_some() {}
                    while letters.next_if(|next| !next.is_whitespace()).is_some() {}
                }
            },
            '#' if reader.word.is_none() => break,
            '&' | '|' | ';' => reader.end_command(),
            _ if letter.is_whitespace() => reader.end_word(),
            _ => reader.push(letter, false),
        }
    }
    reader.end_command();
    reader.commands.retain(|words| !words.is_empty());
    reader.commands
}

struct ShellWordReader {
    commands: Vec<Vec<CommandWord>>,
    word: Option<CommandWord>,
}

impl ShellWordReader {
    fn push(&mut self, letter: char, opaque: bool) {
        let word =
            self.word.get_or_insert_with(|| CommandWord { text: String::new(), opaque: false });
        word.text.push(letter);
        word.opaque |= opaque;
    }

    fn push_all(&mut self, text: &str, opaque: bool) {
        let word =
            self.word.get_or_insert_with(|| CommandWord { text: String::new(), opaque: false });
        word.text.push_str(text);
        word.opaque |= opaque;
    }

    /// The `2` of `2>` is not a word.
    fn drop_number(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
    }

    fn end_word(&mut self) {
        if let (Some(word), Some(command)) = (self.word.take(), self.commands.last_mut()) {
            command.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.commands.push(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fall_into_commands() {
        let cases: [(&str, &[&[&str]]); 13] = [
            ("make test", &[&["make", "test"]]),
            ("$ cd docs && make html", &[&["cd", "docs"], &["make", "html"]]),
            ("a | b; c || d & e", &[&["a"], &["b"], &["c"], &["d"], &["e"]]),
            ("run x # not this", &[&["run", "x"]]),
            ("run x#y", &[&["run", "x#y"]]),
            ("run > out.txt 2>&1", &[&["run"]]),
            ("run 2>/dev/null --flag", &[&["run", "--flag"]]),
            ("run <input.txt", &[&["run", "<input.txt!"]]),
            ("run < input.txt more", &[&["run", "more"]]),
            ("run <name> --x", &[&["run", "<name>!", "--x"]]),
            ("run 'a b; c' \"$X\"", &[&["run", "a b; c!", "$X!"]]),
            ("run $(pwd) *.py", &[&["run", "$(pwd)!", "*.py!"]]),
            ("", &[]),
        ];
        for (line, want) in cases {
            let shown = |word: &CommandWord| {
                if word.opaque { format!("{}!", word.text) } else { word.text.clone() }
            };
            let got: Vec<Vec<String>> =
                split(line).iter().map(|words| words.iter().map(shown).collect()).collect();
            assert_eq!(got, want, "{line}");
        }
    }
}
