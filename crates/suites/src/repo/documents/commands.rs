//! Commands in code blocks: the lines that a reader would type.

/// Languages in which every line is a command, unless some lines have a prompt.
const SHELL_LANGUAGES: [&str; 5] = ["sh", "bash", "shell", "zsh", "fish"];
/// Languages in which only lines with a prompt are commands; the others are output.
const SESSION_LANGUAGES: [&str; 12] = [
    "console",
    "terminal",
    "shell-session",
    "shellsession",
    "sh-session",
    "bash-session",
    "text",
    "txt",
    "plain",
    "plaintext",
    "none",
    "",
];
const PROMPTS: [&str; 4] = ["$ ", "% ", "❯ ", "➜ "];
/// Longer commands are treated as scripts.
const MAX_COMMAND_BYTES: usize = 300;

/// Whether a code block in this language may contain commands.
pub(super) fn may_hold(language: Option<&str>) -> bool {
    let language = language.unwrap_or_default().to_ascii_lowercase();
    is_in(&SHELL_LANGUAGES, &language) || is_in(&SESSION_LANGUAGES, &language)
}

/// Returns the commands of a block, each with its line number in the block, from 0.
pub(super) fn of(language: Option<&str>, block: &str) -> Vec<(u32, String)> {
    let language = language.unwrap_or_default().to_ascii_lowercase();
    let is_session = block.lines().any(|line| prompted(line).is_some());
    if !is_session && !is_in(&SHELL_LANGUAGES, &language) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut lines = (0..).zip(block.lines());
    while let Some((number, line)) = lines.next() {
        let Some(command) = (if is_session { prompted(line) } else { Some(line.trim()) }) else {
            continue;
        };
        let mut command = command.to_owned();
        while let Some(start) =
            command.strip_suffix('\\').filter(|start| start.len() <= MAX_COMMAND_BYTES)
        {
            let next = lines.next().map_or("", |(_, line)| line.trim());
            command = format!("{} {}", start.trim_end(), next.trim_start_matches("> "));
        }
        // Here-document input is not typed at the prompt.
        if let Some(end) = here_document(&command) {
            lines.by_ref().find(|(_, line)| line.trim() == end);
        }
        let command =
            command.split_once(" # ").map_or(command.as_str(), |(before, _)| before).trim();
        if !command.is_empty() && !command.starts_with('#') && command.len() <= MAX_COMMAND_BYTES {
            found.push((number, command.to_owned()));
        }
    }
    found
}

fn is_in(languages: &[&str], language: &str) -> bool {
    languages.contains(&language)
}

fn prompted(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let after = PROMPTS.iter().find_map(|prompt| line.strip_prefix(prompt));
    after.map(str::trim).filter(|command| !command.is_empty())
}

/// Returns the word that ends a here-document.
fn here_document(command: &str) -> Option<String> {
    let (_, after) = command.split_once("<<")?;
    let word = after.trim_start_matches(['-', '~']).trim_start();
    let word = word.split_whitespace().next()?.trim_matches(['\'', '"']);
    let is_word = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_word && !word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_what_one_types() {
        type Case<'a> = (Option<&'a str>, &'a str, &'a [(u32, &'a str)]);
        let cases: [Case<'_>; 9] = [
            (Some("sh"), "make\n\n# why\nmake test # all\n", &[(0, "make"), (3, "make test")]),
            (Some("Bash"), "$ make\nbuilt it\n$ ls\n", &[(0, "make"), (2, "ls")]),
            (Some("console"), "make\n", &[]),
            (Some("console"), "  % make\nok\n", &[(0, "make")]),
            (None, "$ cargo run\n", &[(0, "cargo run")]),
            (None, "cargo run\n", &[]),
            (Some("rust"), "fn main() {}\n", &[]),
            (Some("sh"), "a \\\n  --b \\\n  c\nd\n", &[(0, "a --b c"), (3, "d")]),
            (Some("sh"), "cat <<'EOF'\nnot a command\nEOF\nls\n", &[(0, "cat <<'EOF'"), (3, "ls")]),
        ];
        for (language, block, want) in cases {
            let want: Vec<(u32, String)> =
                want.iter().map(|(line, command)| (*line, (*command).to_owned())).collect();
            assert_eq!(of(language, block), want, "{block}");
        }
        assert!(may_hold(None) && may_hold(Some("SH")) && !may_hold(Some("rust")));
    }
}
