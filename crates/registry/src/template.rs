//! Strings with variables: `${VAR}`, `${VAR:-default}`, `${env:VAR}`, and `$${` for a literal `${`.

use crate::{client::VariableSyntax, server::Requirement};

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplatePiece<'a> {
    Text(&'a str),
    Variable { named: VariableName<'a>, default: Option<&'a str> },
}

/// The name of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableName<'a> {
    /// An environment variable.
    Variable(&'a str),
    /// A value that an editor asks for.
    Input(&'a str),
    /// A variable of an editor.
    Editor(&'a str),
}

const EDITOR_VARIABLES: [&str; 5] =
    ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/"];
const EDITOR_PREFIXES: [&str; 3] = ["workspaceFolder:", "config:", "command:"];

/// Splits a template. Malformed variables are text.
pub(crate) fn pieces(template: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            pieces.extend((!before.is_empty()).then_some(TemplatePiece::Text(before)));
            pieces.push(TemplatePiece::Text("${"));
            rest = after;
            continue;
        }
        pieces.extend((!before.is_empty()).then_some(TemplatePiece::Text(before)));
        let variable = after.split_once('}').and_then(|(body, after)| {
            let (name, default) =
                body.split_once(":-").map_or((body, None), |(name, text)| (name, Some(text)));
            Some((parse_variable_name(name)?, default, after))
        });
        rest = if let Some((named, default, after)) = variable {
            pieces.push(TemplatePiece::Variable { named, default });
            after
        } else {
            pieces.push(TemplatePiece::Text("${"));
            after
        };
    }
    pieces.extend((!rest.is_empty()).then_some(TemplatePiece::Text(rest)));
    pieces
}

fn parse_variable_name(name: &str) -> Option<VariableName<'_>> {
    if EDITOR_VARIABLES.contains(&name)
        || EDITOR_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    {
        return Some(VariableName::Editor(name));
    }
    if let Some(id) = name.strip_prefix("input:") {
        return (!id.is_empty()).then_some(VariableName::Input(id));
    }
    let name = name.strip_prefix("env:").unwrap_or(name);
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    (name.starts_with(starts) && name.chars().all(legal)).then_some(VariableName::Variable(name))
}

/// Escapes a literal text as a template.
pub(crate) fn escape(text: &str) -> String {
    text.replace("${", "$${")
}

/// Converts a client's string to a template.
pub(crate) fn from_client(text: String, variables: VariableSyntax) -> String {
    match variables {
        VariableSyntax::Literal => escape(&text),
        VariableSyntax::Braces | VariableSyntax::Prefixed => text,
        VariableSyntax::Shell => from_shell(&text),
    }
}

/// `$VAR` becomes `${VAR:-$VAR}`: the client leaves unset variables unchanged.
fn from_shell(text: &str) -> String {
    let mut template = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        template.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, beyond) = after.split_at(end.unwrap_or(after.len()));
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            template.push_str("${");
            template.push_str(name);
            template.push_str(":-$");
            template.push_str(name);
            template.push('}');
            rest = beyond;
        } else {
            template.push('$');
            rest = after;
        }
    }
    template.push_str(rest);
    template
}

/// Converts a template to a client's syntax; the error is what the client does not support.
pub(crate) fn to_client(template: &str, variables: VariableSyntax) -> Result<String, String> {
    let mut text = String::with_capacity(template.len());
    for piece in pieces(template) {
        match (piece, variables) {
            (TemplatePiece::Text("${"), VariableSyntax::Literal) => text.push_str("${"),
            (TemplatePiece::Text("${"), _) => {
                return Err("a `${` that is not a variable".to_owned());
            }
            (TemplatePiece::Text(part), VariableSyntax::Shell) if part.contains('$') => {
                return Err("a dollar sign".to_owned());
            }
            (TemplatePiece::Text(part), _) => text.push_str(part),
            (TemplatePiece::Variable { named, default }, _) => {
                text.push_str(&variable(named, default, variables)?);
            }
        }
    }
    Ok(text)
}

fn variable(
    named: VariableName<'_>,
    default: Option<&str>,
    variables: VariableSyntax,
) -> Result<String, String> {
    let name = match named {
        VariableName::Variable(name) => name,
        VariableName::Input(name) | VariableName::Editor(name) => {
            return Err(format!("${{{name}}}"));
        }
    };
    match (variables, default) {
        (VariableSyntax::Braces, Some(default)) => Ok(format!("${{{name}:-{default}}}")),
        (VariableSyntax::Braces | VariableSyntax::Shell, None) => Ok(format!("${{{name}}}")),
        (VariableSyntax::Prefixed, None) => Ok(format!("${{env:{name}}}")),
        (VariableSyntax::Shell, Some(default)) if default.strip_prefix('$') == Some(name) => {
            Ok(format!("${name}"))
        }
        (_, Some(default)) => Err(format!("the default of ${{{name}:-{default}}}")),
        (VariableSyntax::Literal, None) => Err(format!("${{{name}}}")),
    }
}

/// Returns the variable if a template consists of nothing else.
pub(crate) fn lone_variable(template: &str) -> Option<&str> {
    match pieces(template).as_slice() {
        [TemplatePiece::Variable { named: VariableName::Variable(name), default: None }] => {
            Some(name)
        }
        _ => None,
    }
}

/// Returns the requirements of a template.
pub(crate) fn needs(template: &str) -> impl Iterator<Item = Requirement> {
    pieces(template).into_iter().filter_map(|piece| match piece {
        TemplatePiece::Text(_) => None,
        TemplatePiece::Variable { named: VariableName::Variable(name), default } => {
            Some(Requirement::Variable {
                name: name.to_owned(),
                default: default.map(str::to_owned),
            })
        }
        TemplatePiece::Variable { named: VariableName::Input(id), .. } => {
            Some(Requirement::Input(id.to_owned()))
        }
        TemplatePiece::Variable { named: VariableName::Editor(name), .. } => {
            Some(Requirement::Editor(name.to_owned()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_taken_apart() {
        let text = TemplatePiece::Text;
        let plain =
            |name| TemplatePiece::Variable { named: VariableName::Variable(name), default: None };
        let check = |template: &str, expected: &[TemplatePiece<'_>]| {
            assert_eq!(pieces(template), expected, "{template}");
        };
        check("", &[]);
        check("plain $HOME", &[text("plain $HOME")]);
        check("a${B}c", &[text("a"), plain("B"), text("c")]);
        check("${env:B}", &[plain("B")]);
        check("$${B}", &[text("${"), text("B}")]);
        check("$$${B}", &[text("$"), text("${"), text("B}")]);
        check("pa$$word", &[text("pa$$word")]);
        check("${", &[text("${")]);
        check("${}x", &[text("${"), text("}x")]);
        check("${a b}", &[text("${"), text("a b}")]);
        check("${1}", &[text("${"), text("1}")]);
        let default =
            TemplatePiece::Variable { named: VariableName::Variable("A"), default: Some("x:-y") };
        check("${A:-x:-y}", &[default]);
        let input = TemplatePiece::Variable { named: VariableName::Input("key id"), default: None };
        check("${input:key id}", &[input]);
        let folder = TemplatePiece::Variable {
            named: VariableName::Editor("workspaceFolder"),
            default: None,
        };
        check("${workspaceFolder}/x", &[folder, text("/x")]);
    }

    #[test]
    fn a_literal_survives_both_ways() {
        for literal in ["", "$", "${A}", "$${A}", "$$${A:-b}", "a${", "ä${Ä}"] {
            let template = from_client(literal.to_owned(), VariableSyntax::Literal);
            assert_eq!(needs(&template).count(), 0, "{literal}");
            assert_eq!(to_client(&template, VariableSyntax::Literal).as_deref(), Ok(literal));
        }
    }

    #[test]
    fn a_shell_variable_keeps_its_text_where_it_is_not_set() {
        let check = |text: &str, expected: &str| {
            assert_eq!(from_client(text.to_owned(), VariableSyntax::Shell), expected);
        };
        check("$KEY", "${KEY:-$KEY}");
        check("a$K-b ${L} $1 $", "a${K:-$K}-b ${L} $1 $");
        assert_eq!(to_client("${KEY:-$KEY}", VariableSyntax::Shell).as_deref(), Ok("$KEY"));
    }

    #[test]
    fn a_client_gets_its_own_words_or_a_refusal() {
        let check = |variables, template: &str, expected: Result<&str, &str>| {
            let found = to_client(template, variables);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{template}");
        };
        check(VariableSyntax::Prefixed, "x ${A}", Ok("x ${env:A}"));
        check(VariableSyntax::Braces, "${env:A}", Ok("${A}"));
        check(VariableSyntax::Braces, "${A:-b}", Ok("${A:-b}"));
        check(VariableSyntax::Prefixed, "${A:-b}", Err("the default of ${A:-b}"));
        check(VariableSyntax::Literal, "${A}", Err("${A}"));
        check(VariableSyntax::Braces, "${input:a}", Err("${a}"));
    }
}
