//! Converts source text into units of the index.

use docent_index::{IndexUnit, LineSpan};
use docent_syntax::{
    Language,
    parse::{self, LocatedDefinition, ParseError},
};

/// Definitions nest, so their bodies repeat text: beyond this multiple of the text, bodies are truncated.
const MAX_BODY_COPIES: usize = 16;
/// Bytes kept of a truncated body.
const SHORT_BODY_BYTES: usize = 2_000;

/// Returns the definitions of a text. The language is a name (`python`) or a path with its file extension. Empty if the
/// language is not supported, or if the text exceeds the parser's budget.
pub fn code_units(language: &str, path: &str, text: &str) -> Vec<IndexUnit> {
    let language = Language::from_name(language).or_else(|| Language::from_path(language));
    let units = language.map(|language| try_code_units(language, path, text));
    units.and_then(Result::ok).unwrap_or_default()
}

/// Returns the definitions of a text, or the reason it was skipped.
pub(crate) fn try_code_units(
    language: Language,
    path: &str,
    text: &str,
) -> Result<Vec<IndexUnit>, ParseError> {
    let tree = parse::tree(language, text, &|| false)?;
    let definitions = parse::definitions(language, path, text, &tree);
    tree.check()?;
    let mut room = (1 << 20) + MAX_BODY_COPIES * text.len();
    Ok(definitions.into_iter().map(|one| unit(language, text, one, &mut room)).collect())
}

fn unit(language: Language, text: &str, one: LocatedDefinition, room: &mut usize) -> IndexUnit {
    let LocatedDefinition { annotation, range, .. } = one;
    let body = text.get(range).unwrap_or_default();
    let body = match room.checked_sub(body.len()) {
        Some(left) => {
            *room = left;
            body
        }
        None => body.get(..body.floor_char_boundary(SHORT_BODY_BYTES)).unwrap_or_default(),
    };
    let signature = if annotation.qualified_name == annotation.name {
        annotation.signature
    } else {
        format!("{} {}", annotation.qualified_name, annotation.signature)
    };
    IndexUnit {
        id: annotation.id,
        kind: annotation.kind.singular().to_owned(),
        language: language.word().to_owned(),
        name: annotation.name,
        signature,
        doc: annotation.description.unwrap_or_default(),
        body: body.to_owned(),
        span: LineSpan { first: annotation.line, last: annotation.end_line },
        extra: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_unit() {
        let text = "use a;\n\nimpl<T> Table<T> {\n    /// Counts.\n    ///\n    /// All.\n    #[must_use]\n    pub fn len(&self) -> usize {\n        0\n    }\n}\n";
        let want = IndexUnit {
            id: "method:src/t.rs:Table::len".into(),
            kind: "method".into(),
            language: "rust".into(),
            name: "len".into(),
            signature: "Table::len pub fn len(&self) -> usize".into(),
            doc: "Counts.\n\nAll.".into(),
            body: "pub fn len(&self) -> usize {\n        0\n    }".into(),
            span: LineSpan { first: 8, last: 10 },
            extra: String::new(),
        };
        assert_eq!(code_units("rust", "src/t.rs", text), std::slice::from_ref(&want));
        assert_eq!(code_units("x/y.rs", "src/t.rs", text), [want]);
        assert_eq!(code_units("cobol", "src/t.rs", text), []);
    }

    #[test]
    fn bodies_that_lie_in_each_other_are_cut() {
        let comment = format!("/* {} */", "x".repeat(140_000));
        let text = format!("{}{comment}{}", "mod a {".repeat(300), "}".repeat(300));
        let units = code_units("rust", "a.rs", &text);
        assert_eq!(units.len(), 300);
        let bytes: usize = units.iter().map(|unit| unit.body.len()).sum();
        assert!(bytes < (2 << 20) + MAX_BODY_COPIES * text.len(), "{bytes}");
        assert_eq!(units[0].body.len(), text.len(), "the outermost is whole");
    }

    #[test]
    fn containers_and_constants_are_units_too() {
        let text = "package p\n\n// A is.\ntype A struct {\n\tb int\n}\n\nconst C = 1\n";
        let units = code_units("go", "p.go", text);
        let shown: Vec<_> =
            units.iter().map(|one| (one.kind.as_str(), one.body.as_str(), one.span)).collect();
        let want = [
            ("struct", "type A struct {\n\tb int\n}", LineSpan { first: 4, last: 6 }),
            ("constant", "const C = 1", LineSpan { first: 8, last: 8 }),
        ];
        assert_eq!(shown, want);
    }
}
