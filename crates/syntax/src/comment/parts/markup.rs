//! A line of documentation without its markup: Markdown, and the roles of reStructuredText.

/// What a reader sees: links by their label, names without quotes around them.
pub(super) fn without(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '`', '*', '_', ':']) {
        let (before, marked) = rest.split_at_checked(at).unwrap_or((rest, ""));
        plain.push_str(before);
        let at_word_start = !plain.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (shown, after) = match marked.chars().next() {
            Some('[') => link(marked),
            Some('`') => code(marked),
            Some(':') if at_word_start => role(marked),
            Some('*' | '_') if at_word_start => emphasis(marked),
            _ => None,
        }
        .unwrap_or_else(|| marked.split_at_checked(1).unwrap_or((marked, "")));
        plain.push_str(shown);
        rest = after;
    }
    plain + rest
}

/// `[label](target)`, `[label][target]`, and `` [`Name`] ``.
fn link(text: &str) -> Option<(&str, &str)> {
    let (label, after) = super::bracketed(text, '[', ']')?;
    let quoted = label.strip_prefix('`').and_then(|label| label.strip_suffix('`'));
    let target = super::bracketed(after, '(', ')').or_else(|| super::bracketed(after, '[', ']'));
    match (target, quoted) {
        (Some((_, after)), _) => Some((quoted.unwrap_or(label), after)),
        (None, Some(label)) => Some((label, after)),
        (None, None) => None,
    }
}

/// `` `code` ``, and with two of them.
fn code(text: &str) -> Option<(&str, &str)> {
    let mark = if text.starts_with("``") { "``" } else { "`" };
    let (inner, after) = text.strip_prefix(mark)?.split_once(mark)?;
    (!inner.is_empty()).then_some((inner, after.strip_prefix('_').unwrap_or(after)))
}

/// `` :class:`Name` ``, `` :func:`label <target>` ``.
fn role(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix(':')?.split_once(':')?;
    let is_role = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == ':');
    let (inner, after) = after.strip_prefix('`').filter(|_| is_role)?.split_once('`')?;
    let label = inner.split_once(" <").map_or(inner, |(label, _)| label);
    Some((label.trim_start_matches(['~', '!']), after))
}

/// `**strong**`, `*this*`; a star or underscore that closes nothing stays.
fn emphasis(text: &str) -> Option<(&str, &str)> {
    let mark = ["**", "__", "*", "_"].into_iter().find(|mark| text.starts_with(mark))?;
    let (inner, after) = text.strip_prefix(mark)?.split_once(mark)?;
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '`');
    let ends_word = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let whole = edge(inner.chars().next()) && !inner.ends_with(char::is_whitespace) && ends_word;
    // `__init__` is a name.
    let name = mark.starts_with('_') && !inner.contains(' ');
    (whole && !name).then_some((inner, after))
}
