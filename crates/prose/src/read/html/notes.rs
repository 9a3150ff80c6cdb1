//! Notes, tips and warnings: their elements and labels.

use super::tree::{Block, HtmlElement, HtmlTag};

/// Kinds of notes.
const KINDS: [&str; 14] = [
    "note",
    "tip",
    "warning",
    "caution",
    "important",
    "info",
    "danger",
    "hint",
    "attention",
    "error",
    "example",
    "success",
    "abstract",
    "bug",
];

/// The label of a note, empty if only its title gives it; `None` if the element is not a note.
pub(super) fn kind(element: &HtmlElement<'_>) -> Option<&'static str> {
    if element.class.is_empty()
        || !matches!(
            element.tag,
            HtmlTag::Block(
                Block::Div | Block::Aside | Block::Section | Block::Details | Block::Blockquote
            )
        )
    {
        return None;
    }
    let named = || element.classes().find_map(of_class).unwrap_or_default();
    let is_note = element.classes().any(|class| {
        matches!(
            class,
            "admonition"
                | "theme-admonition"
                | "admonitionblock"
                | "custom-block"
                | "markdown-alert"
                | "starlight-aside"
        )
    });
    if is_note {
        return Some(named());
    }
    // DocBook and rustdoc give such elements no other class.
    let alone = KINDS.iter().find(|kind| **kind == element.class);
    let exact = |class| KINDS.into_iter().find(|kind| *kind == class);
    let details = element.is(Block::Details).then(|| element.classes().find_map(exact)).flatten();
    alone.copied().or(details)
}

fn of_class(class: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| {
        class.strip_suffix(kind).is_some_and(|rest| rest.is_empty() || rest.ends_with(['-', '_']))
    })
}

/// Whether an element within a note is its title.
pub(super) fn is_title(element: &HtmlElement<'_>) -> bool {
    matches!(element.tag, HtmlTag::Heading(_) | HtmlTag::Block(Block::Summary))
        || element.classes().any(|class| {
            matches!(
                class,
                "admonition-title"
                    | "title"
                    | "custom-block-title"
                    | "markdown-alert-title"
                    | "starlight-aside__title"
            ) || class.starts_with("admonitionHeading")
        })
}

/// The heading of a note: `Note` or `Warning (Mind the cost)`.
pub(super) fn label(kind: &str, title: &str) -> String {
    let title = title.trim().trim_end_matches(':');
    let mut letters = kind.chars();
    let kind: String =
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    match (kind.is_empty(), title.is_empty()) {
        (_, true) => kind,
        (true, false) => title.to_owned(),
        _ if title.to_lowercase().starts_with(&kind.to_lowercase()) => title.to_owned(),
        _ => format!("{kind} ({title})"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tree::HtmlTree, *};

    #[test]
    fn notes_are_detected_by_their_class() {
        let cases = [
            ("<div class='admonition warning'>", Some("warning")),
            ("<div class='admonition-todo admonition'>", Some("")),
            ("<div class='theme-admonition theme-admonition-tip alert'>", Some("tip")),
            ("<details class='note'>", Some("note")),
            ("<div class=note>", Some("note")),
            ("<div class='note extra'>", None),
            ("<span class=note>", None),
            ("<details>", None),
            ("<details class='alert alert--info'>", None),
            ("<div class='denote'>", None),
        ];
        for (source, want) in cases {
            let tree = HtmlTree::parse(source);
            assert_eq!(tree.element(1).and_then(kind), want, "{source}");
        }
    }

    #[test]
    fn labels_say_kind_and_title() {
        let cases = [
            ("note", "", "Note"),
            ("note", "Note:", "Note"),
            ("", "See also", "See also"),
            ("warning", "Mind the cost", "Warning (Mind the cost)"),
        ];
        for (kind, title, want) in cases {
            assert_eq!(label(kind, title), want);
        }
    }
}
