//! Macros within a line, such as `link:`, `kbd:` and bare addresses.

use super::inline::{EndSearchBudget, macro_at, marked_once};
use crate::read::marks::{self, CODE};

/// Names of macros.
pub(super) const NAMES: [&str; 26] = [
    "anchor",
    "asciimath",
    "btn",
    "footnote",
    "footnoteref",
    "ftp",
    "gitlink",
    "http",
    "https",
    "icon",
    "image",
    "indexterm",
    "indexterm2",
    "irc",
    "kbd",
    "latexmath",
    "link",
    "linkgit",
    "mailto",
    "menu",
    "pass",
    "stem",
    "xref",
    "audio",
    "video",
    "file",
];

/// Writes the macro that a text starts with; says how many bytes it takes.
pub(super) fn write(out: &mut String, text: &str, search: &EndSearchBudget) -> Option<usize> {
    let name = macro_at(text)?;
    let rest = text.get(name.len() + 1..)?;
    if matches!(name, "http" | "https" | "ftp" | "irc" | "file") {
        return address(out, text, rest, search);
    }
    // A target ends at its bracket and has no spaces, except where there is none.
    let open = search.find(rest, "[")?;
    let target = rest.get(..open)?;
    if target.contains(['\n', ' ', ',', ')']) && !target.starts_with("++") && name != "menu" {
        return None;
    }
    let label = bracketed(rest.get(open..)?, search)?;
    let taken = name.len() + 1 + open + label.len() + 2;
    let label = label.replace("\\]", "]");
    let target = target.trim_matches('+');
    expand(out, name, target, &label)?;
    Some(taken)
}

fn expand(out: &mut String, name: &str, target: &str, label: &str) -> Option<()> {
    let text = || marks::plain(&marked_once(first(label)));
    match name {
        "link" | "xref" | "mailto" => {
            let to = match name {
                "mailto" => format!("mailto:{target}"),
                "xref" if !target.contains(['#', '/', '.']) => format!("#{target}"),
                _ => target.to_owned(),
            };
            let label = text();
            let label = if label.trim().is_empty() {
                target.trim_start_matches('#')
            } else {
                label.trim_end_matches('^')
            };
            out.push_str(&marks::link(&to, label));
        }
        "linkgit" | "gitlink" => {
            let shown =
                if label.is_empty() { target.to_owned() } else { format!("{target}({label})") };
            out.push_str(&marks::link(&format!("{target}.{label}"), &shown));
        }
        "image" | "icon" | "audio" | "video" => {
            if target.is_empty() || target.starts_with(':') {
                return None;
            }
            out.push_str(&alternative(target, label));
        }
        "kbd" | "btn" | "stem" | "latexmath" | "asciimath" if target.is_empty() => {
            out.push_str(&marks::font(CODE, label));
        }
        "menu" => {
            out.push_str(target);
            if !label.is_empty() {
                out.push_str(" > ");
                out.push_str(label);
            }
        }
        "footnote" => {
            if !label.is_empty() {
                push_note(out, &marks::plain(&marked_once(label)));
            }
        }
        "footnoteref" => {
            if let Some((_, label)) = label.split_once(',') {
                push_note(out, label);
            }
        }
        "pass" | "indexterm2" => out.push_str(label),
        "anchor" | "indexterm" => {}
        _ => return None,
    }
    Some(())
}

fn push_note(out: &mut String, note: &str) {
    out.push_str(" [");
    out.push_str(note);
    out.push(']');
}

/// What a picture shows: its alternative text, or the name of its file.
pub(super) fn alternative(target: &str, label: &str) -> String {
    let named = label.split(',').find_map(|part| part.trim().strip_prefix("alt="));
    let first =
        EndSearchBudget::of(label).between(label, "\"", "\"").or_else(|| label.split(',').next());
    let label = named.or(first).unwrap_or_default().trim().trim_matches('"');
    let label = if label.contains('=') { "" } else { label };
    if !label.is_empty() {
        return label.to_owned();
    }
    let file = target.rsplit('/').next().unwrap_or(target);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).replace(['-', '_'], " ")
}

/// The label among the attributes of a macro.
fn first(label: &str) -> &str {
    if let Some(quoted) = EndSearchBudget::of(label).between(label, "\"", "\"") {
        return quoted;
    }
    let named = |part: &str| {
        part.trim().split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        })
    };
    match label.split_once(',') {
        _ if named(label) => "",
        Some((text, rest)) if rest.split(',').all(named) => text,
        _ => label,
    }
}

/// The content of brackets, which may contain escaped ones.
fn bracketed<'a>(text: &'a str, search: &EndSearchBudget) -> Option<&'a str> {
    let inner = text.strip_prefix('[')?;
    let mut from = 0;
    loop {
        let at = from + search.find(inner.get(from..)?, "]")?;
        if !inner.get(..at)?.ends_with('\\') {
            return inner.get(..at);
        }
        from = at + 1;
        if from > 8_000 {
            return None;
        }
    }
}

/// An address, with a label in brackets or without.
fn address(out: &mut String, text: &str, rest: &str, search: &EndSearchBudget) -> Option<usize> {
    if !rest.starts_with("//") {
        return None;
    }
    let end =
        text.find(|c: char| c.is_whitespace() || matches!(c, '[' | '<' | '>' | '"' | '`' | '|'));
    let end = end.unwrap_or(text.len());
    let url = text.get(..end)?;
    let after = text.get(end..)?;
    if let Some(label) = bracketed(after, search) {
        let shown = marks::plain(&marked_once(first(label)));
        out.push_str(&marks::link(url, shown.trim_end_matches('^')));
        return Some(end + label.len() + 2);
    }
    // Punctuation after an address is the sentence's.
    let url = url.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '\'', '*', '_']);
    if url.ends_with('/') && url.len() <= 8 {
        return None;
    }
    out.push_str(&marks::link(url, url));
    Some(url.len())
}

#[cfg(test)]
mod tests {
    use super::super::inline::convert_marks;
    use crate::read::marks;

    #[test]
    fn marks_become_text_and_links() {
        let cases = [
            ("*bold* and _it_ and `code x`", "bold and it and `code x`"),
            ("a*b*c snake_case_name 2 * 3 * 4", "a*b*c snake_case_name 2 * 3 * 4"),
            ("**b**old __i__t ##m##", "bold it m"),
            ("`+{x}+` +++<b>+++ pass:[*no*]", "`{x}` <b> *no*"),
            (
                "https://a.b/c[the site,window=_blank] https://d.e/f.",
                "[the site](https://a.b/c) [https://d.e/f](https://d.e/f).",
            ),
            (
                "link:a.html[*A*] xref:sec[] <<id,Some text>> <<other>>",
                "[A](a.html) [sec](#sec) [Some text](#id) [other](#other)",
            ),
            ("see linkgit:git-log[1].", "see [git-log(1)](git-log.1)."),
            ("image:x/my-pic.png[] image:y.png[Alt text,100]", "my pic Alt text"),
            ("kbd:[Ctrl+C] btn:[OK] menu:File[Save > As]", "`Ctrl+C` `OK` File > Save > As"),
            ("text.footnote:[A note.] more", "text. [A note.] more"),
            ("\"`quoted`\" '`x`' ``old''", "“quoted” ‘x’ “old”"),
            ("[[id]]text [.role]#marked# [x] (((a,b)))((term))", "text marked [x] term"),
            ("a -- b (C) &lt;x&gt; &#8217;", "a — b © <x> ’"),
            ("\\*not bold* \\https://x.y", "*not bold* https://x.y"),
            ("mailto:a@b.c[Mail] http:// open[ <<", "[Mail](mailto:a@b.c) http:// open[ <<"),
            ("note: x http: y", "note: x http: y"),
        ];
        for (text, want) in cases {
            let got =
                marks::text(&convert_marks(text)).to_markdown(&|target| Some(target.to_owned()));
            assert_eq!(got, want, "{text}");
        }
    }
}
