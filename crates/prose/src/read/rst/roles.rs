//! Roles: the text and link target of `` :role:`content` ``.

use super::{
    inline::{self, RstScope, unescape},
    lines::identifier,
    names::normal,
};
use crate::document::LinkedText;

/// Text and target of `text <target>`.
pub(super) fn explicit(content: &str) -> (&str, Option<&str>) {
    let parts = content.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
    match parts {
        Some(("", target)) => (target, Some(target)),
        Some((text, target)) if text.ends_with([' ', '\n']) => (text.trim_end(), Some(target)),
        _ => (content, None),
    }
}

/// Adds a code span, in marks that its text does not have.
pub(super) fn code(out: &mut LinkedText, content: &str, target: Option<String>) {
    let span = match content {
        "" => return,
        content if content.contains('`') => format!("`` {content} ``"),
        content => format!("`{content}`"),
    };
    match target {
        Some(target) => out.link(&span, target),
        None => out.plain.push_str(&span),
    }
}

/// Writes the text of a role.
pub(super) fn write(out: &mut LinkedText, role: &str, content: &str, scope: &RstScope<'_>) {
    let base = role.rsplit(':').next().unwrap_or(role);
    let (text, target) = explicit(content);
    let text = &unescape(text);
    match base {
        "ref" | "numref" | "token" | "eq" => {
            let label = target.unwrap_or(text);
            let title =
                scope.names.title(label).filter(|_| target.is_none() && !scope.substituting);
            let title = title.map(|title| render_title(title, scope));
            out.link(title.as_deref().unwrap_or(text), format!("#{}", normal(label)));
        }
        "doc" => {
            let path = target.unwrap_or(text);
            out.link(text, format!("{path}{}", scope.ending));
        }
        "download" | "any" | "source" => out.link(text, target.unwrap_or(text)),
        "term" => {
            let term = identifier(target.unwrap_or(text));
            out.link(text, format!("#term-{term}"));
        }
        "pep" => numbered(out, "PEP", text, target, &|number| {
            format!("https://peps.python.org/pep-{number:0>4}/")
        }),
        "rfc" => numbered(out, "RFC", text, target, &|number| {
            format!("https://www.rfc-editor.org/rfc/rfc{number}")
        }),
        // How far a cell reaches is nothing that it says.
        "cspan" | "rspan" => {}
        "math" => out.plain.extend(["$", content, "$"]),
        // Braces mark what is to be replaced.
        "file" | "samp" => code(out, &text.replace(['{', '}'], ""), None),
        "code" | "literal" | "command" | "program" | "kbd" | "regexp" | "makevar" | "option" => {
            code(out, text, None);
        }
        "envvar" | "confval" | "setting" => {
            code(out, text, Some(format!("#{base}-{}", target.unwrap_or(text))));
        }
        base if is_object(base) => object(out, role, base, content),
        _ => match target {
            Some(target) => out.link(text, target),
            None => out.plain.push_str(text),
        },
    }
}

/// Renders a title with its marks.
fn render_title(title: &str, scope: &RstScope<'_>) -> String {
    let mut scope = RstScope { substituting: true, ..*scope };
    inline::read(title, &mut scope).plain
}

fn numbered(
    out: &mut LinkedText,
    kind: &str,
    text: &str,
    target: Option<&str>,
    url: &dyn Fn(&str) -> String,
) {
    let place = target.unwrap_or(text);
    let (number, anchor) = place.split_once('#').unwrap_or((place, ""));
    let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
    let label = if target.is_some() { text.to_owned() } else { format!("{kind} {number}") };
    out.link(&label, format!("{}{anchor}", url(number)));
}

fn is_object(base: &str) -> bool {
    matches!(
        base,
        "attr"
            | "class"
            | "const"
            | "data"
            | "exc"
            | "expr"
            | "func"
            | "meth"
            | "mod"
            | "obj"
            | "type"
            | "member"
            | "macro"
            | "struct"
            | "union"
            | "enum"
            | "enumerator"
            | "var"
            | "cfunc"
            | "cdata"
            | "cmacro"
            | "ctype"
            | "property"
            | "keyword"
            | "deco"
            | "opcode"
            | "identifier"
            | "dir"
            | "role"
    )
}

/// Something that a program has a name for, linked by that name.
fn object(out: &mut LinkedText, role: &str, base: &str, content: &str) {
    let content = unescape(content);
    if let Some(silent) = content.strip_prefix('!') {
        let silent = silent.trim_start_matches('~');
        code(out, &format_callable(silent, base), None);
        return;
    }
    let (text, target) = explicit(&content);
    let name = target.unwrap_or(text).trim_start_matches(['~', '.']);
    let short = text.strip_prefix('~').map(|text| text.rsplit('.').next().unwrap_or(text));
    let shown = short.unwrap_or(text.trim_start_matches('.'));
    let shown = if target.is_some() { shown.to_owned() } else { format_callable(shown, base) };
    let name = name.trim_end_matches("()");
    let in_c =
        role.starts_with("c:") || base.starts_with('c') && !matches!(base, "class" | "const");
    let anchor = match base {
        "mod" => format!("#module-{name}"),
        _ if in_c => format!("#c.{name}"),
        _ => format!("#{name}"),
    };
    code(out, &shown, Some(anchor));
}

/// Shows functions as calls.
fn format_callable(name: &str, base: &str) -> String {
    let function = matches!(base, "func" | "meth" | "cfunc") && !name.ends_with(')');
    if function { format!("{name}()") } else { name.to_owned() }
}
