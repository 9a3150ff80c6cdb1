//! Source text as units of the index.

use docent_index::{Span, Unit};
use docent_syntax::{
    Language,
    parse::{self, Definition},
};

/// The definitions of a text. The language is given by its name (`python`) or by a path that ends like its files;
/// for one that is not read, there are none.
pub fn code_units(language: &str, path: &str, text: &str) -> Vec<Unit> {
    let Some((language, tree)) = parse::tree_of(language, text) else { return Vec::new() };
    let definitions = parse::definitions(language, path, text, &tree);
    definitions.into_iter().map(|one| unit(language, text, one)).collect()
}

fn unit(language: Language, text: &str, one: Definition) -> Unit {
    let Definition { annotation, range, .. } = one;
    let signature = if annotation.qualified_name == annotation.name {
        annotation.signature
    } else {
        format!("{} {}", annotation.qualified_name, annotation.signature)
    };
    Unit {
        id: annotation.id,
        kind: annotation.kind.singular().to_owned(),
        language: language.word().to_owned(),
        name: annotation.name,
        signature,
        doc: annotation.description.unwrap_or_default(),
        body: text.get(range).unwrap_or_default().to_owned(),
        span: Span { first: annotation.line, last: annotation.end_line },
        extra: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_unit() {
        let text = "use a;\n\nimpl<T> Table<T> {\n    /// Counts.\n    ///\n    /// All.\n    #[must_use]\n    pub fn len(&self) -> usize {\n        0\n    }\n}\n";
        let want = Unit {
            id: "method:src/t.rs:Table::len".into(),
            kind: "method".into(),
            language: "rust".into(),
            name: "len".into(),
            signature: "Table::len pub fn len(&self) -> usize".into(),
            doc: "Counts.\n\nAll.".into(),
            body: "pub fn len(&self) -> usize {\n        0\n    }".into(),
            span: Span { first: 8, last: 10 },
            extra: String::new(),
        };
        assert_eq!(code_units("rust", "src/t.rs", text), std::slice::from_ref(&want));
        assert_eq!(code_units("x/y.rs", "src/t.rs", text), [want]);
        assert_eq!(code_units("cobol", "src/t.rs", text), []);
    }

    #[test]
    fn containers_and_constants_are_units_too() {
        let text = "package p\n\n// A is.\ntype A struct {\n\tb int\n}\n\nconst C = 1\n";
        let units = code_units("go", "p.go", text);
        let shown: Vec<_> =
            units.iter().map(|one| (one.kind.as_str(), one.body.as_str(), one.span)).collect();
        let want = [
            ("struct", "type A struct {\n\tb int\n}", Span { first: 4, last: 6 }),
            ("constant", "const C = 1", Span { first: 8, last: 8 }),
        ];
        assert_eq!(shown, want);
    }
}
