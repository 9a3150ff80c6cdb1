//! Facts from the syntax tree of one file: public symbols, their doc comments, and complexity.

use super::facts::{Symbol, SyntaxFacts};
use docent_syntax::{
    Language,
    analysis::complexity,
    parse::{self, ParseError},
};

/// Parses a source file; `None` if its language is not supported. Fails if the work was stopped or the file exceeds its
/// budget.
pub(super) fn read(
    path: &str,
    text: &str,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<SyntaxFacts>, ParseError> {
    let language = Language::of_text(path, text).filter(|one| !one.is_outline());
    let Some(language) = language else { return Ok(None) };
    let tree = parse::tree(language, text, stopped)?;
    if stopped() {
        return Err(ParseError::Stopped);
    }
    let definitions = parse::definitions(language, path, text, &tree);
    if stopped() {
        return Err(ParseError::Stopped);
    }
    let branches = complexity::branches(language, text, &tree);
    tree.check()?;
    let functions = definitions.iter().filter(|one| one.annotation.kind.is_callable()).count();
    let public = definitions.into_iter().filter(|one| one.annotation.exported && !one.implements);
    let symbols = public.map(|one| Symbol {
        name: one.annotation.qualified_name.into(),
        kind: one.annotation.kind.singular(),
        line: one.annotation.line,
        documented: one.annotation.description.is_some(),
    });
    let complexity = u32::try_from(branches + functions).unwrap_or(u32::MAX);
    Ok(Some(SyntaxFacts { symbols: symbols.collect(), complexity }))
}
