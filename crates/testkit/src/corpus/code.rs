//! A package without its documentation, and the questions made from that documentation.

use super::{
    CorpusError, ExpectedAnswer, JudgedCollection, JudgedQuestion, Result, docstring, tree,
};
use docent_index::{Digest, Genre, IndexUnit, IndexedSource};
use docent_suites::{DocumentationRange, code_units, documentation};
use std::{collections::HashMap, fs, io, path::Path};

/// The kinds of definitions asked for; constants and modules are only distractors.
const QUESTION_KINDS: [&str; 8] =
    ["function", "method", "class", "struct", "trait", "interface", "enum", "type"];
/// The maximum length of a question, in characters.
const MAX_QUESTION_CHARACTERS: usize = 900;
/// The minimum length of a question, in words.
const MIN_QUESTION_WORDS: usize = 4;

/// The definitions of a package, and the first paragraph of each one's documentation as a question. The package is
/// named after its folder.
pub fn code(folder: &Path, language: &str) -> Result<JudgedCollection> {
    let paths = tree::sources(language, tree::files(folder)?);
    let paths = paths.ok_or_else(|| CorpusError::Language(language.to_owned()))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut sources, mut questions) = (Vec::new(), Vec::new());
    for path in paths {
        let file = folder.join(&path);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text.replace("\r\n", "\n"),
            // Not everything with such an extension is text.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
            Err(source) => return Err(CorpusError::Unreadable { path: file, source }),
        };
        let (bare, asked) = bare(&path, &text);
        let units = code_units(&path, &path, &bare);
        questions.extend(asked.into_iter().filter_map(|asked| asked.about(&path, &units)));
        sources.push(IndexedSource {
            collection: name.clone(),
            path,
            genre: Genre::Code,
            digest: Digest::of(&[bare.as_bytes()]),
            units,
        });
    }
    Ok(JudgedCollection {
        name,
        language: language.to_owned(),
        sources,
        questions: worth_asking(questions),
    })
}

/// The documentation of a definition, and how to find the definition again.
#[derive(Debug)]
struct DocumentedDefinition {
    text: String,
    line: u32,
    /// The tags of the lines above a definition.
    id: Option<String>,
}

impl DocumentedDefinition {
    fn about(self, path: &str, units: &[IndexUnit]) -> Option<JudgedQuestion> {
        let is_it = |unit: &&IndexUnit| {
            unit.span.first == self.line
                && QUESTION_KINDS.contains(&unit.kind.as_str())
                && self.id.as_ref().is_none_or(|id| *id == unit.id)
        };
        let unit = units.iter().find(is_it)?.id.clone();
        let answers = vec![ExpectedAnswer { path: path.to_owned(), unit: Some(unit) }];
        Some(JudgedQuestion { text: self.text, answers })
    }
}

/// Returns a text without its documentation, with the same line numbers, and the removed documentation.
fn bare(path: &str, text: &str) -> (String, Vec<DocumentedDefinition>) {
    let documentation = documentation(path, text);
    if Path::new(path).extension().is_some_and(|ending| ending == "py") {
        let documentation: Vec<(DocumentationRange, String)> = documentation
            .into_iter()
            .filter_map(|one| {
                let said = docstring::value(text.get(one.range.clone())?)?;
                Some((one, said))
            })
            .collect();
        return without_docstrings(text, &documentation);
    }
    let asked = code_units(path, path, text).into_iter().filter_map(|unit| {
        let text = paragraph(&unit.doc);
        let deprecated = text.to_lowercase().starts_with("deprecated:");
        (!deprecated).then_some(DocumentedDefinition {
            text,
            line: unit.span.first,
            id: Some(unit.id),
        })
    });
    (without(text, &documentation), asked.collect())
}

/// Removes pieces of a text but keeps their line breaks.
fn without(text: &str, documentation: &[DocumentationRange]) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut at = 0;
    for one in documentation {
        // In text that does not parse, pieces may overlap.
        let start = one.range.start.max(at);
        bare.push_str(text.get(at..start).unwrap_or_default());
        let piece = text.get(start..one.range.end).unwrap_or_default();
        bare.extend(piece.chars().filter(|c| *c == '\n'));
        at = at.max(one.range.end);
    }
    bare.push_str(text.get(at..).unwrap_or_default());
    bare
}

/// Replaces each docstring with `pass`, because a body can't be empty.
fn without_docstrings(
    text: &str,
    documentation: &[(DocumentationRange, String)],
) -> (String, Vec<DocumentedDefinition>) {
    let mut asked = Vec::new();
    let mut bare = String::with_capacity(text.len());
    let mut at = 0;
    for (one, said) in documentation {
        let before = text.get(at..one.range.start).unwrap_or_default();
        let piece = text.get(one.range.clone()).unwrap_or_default();
        bare.push_str(before);
        let line = u32::try_from(bare.matches('\n').count() + 1).unwrap_or(u32::MAX);
        bare.push_str("pass");
        bare.extend(piece.chars().filter(|c| *c == '\n'));
        at = one.range.end;
        // A docstring on the line of its definition is too short to be a question.
        if one.inside > 0 && one.inside != line {
            let paragraph = said.trim().split("\n\n").next().unwrap_or_default();
            asked.push(DocumentedDefinition {
                text: to_one_line(paragraph),
                line: one.inside,
                id: None,
            });
        }
    }
    bare.push_str(text.get(at..).unwrap_or_default());
    (bare, asked)
}

fn paragraph(doc: &str) -> String {
    let lines = doc.trim().lines().take_while(|line| !line.trim().is_empty());
    to_one_line(&lines.collect::<Vec<_>>().join("\n"))
}

fn to_one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_QUESTION_CHARACTERS).collect()
}

/// Filters out questions that fit several definitions and those without content.
fn worth_asking(questions: Vec<JudgedQuestion>) -> Vec<JudgedQuestion> {
    let mut times: HashMap<String, usize> = HashMap::new();
    for question in &questions {
        *times.entry(question.text.clone()).or_default() += 1;
    }
    let is_worth = |one: &JudgedQuestion| {
        times.get(&one.text) == Some(&1)
            && one.text.split_whitespace().count() >= MIN_QUESTION_WORDS
    };
    questions.into_iter().filter(is_worth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package of one file, and its questions as `text -> id`.
    fn judge_collection(language: &str, path: &str, text: &str) -> (JudgedCollection, Vec<String>) {
        let project = crate::project().file(&format!("shop/{path}"), text).build().unwrap();
        let judged = code(&project.root().join("shop"), language).unwrap();
        assert_eq!((judged.name.as_str(), judged.language.as_str()), ("shop", language));
        let source = &judged.sources[0];
        assert_eq!((source.collection.as_str(), source.path.as_str()), ("shop", path));
        for unit in &source.units {
            assert_eq!(unit.doc, "", "{}", unit.id);
            assert!(!unit.body.contains("SECRET"), "{}: {}", unit.id, unit.body);
        }
        let before = code_units(path, path, text);
        let lines = |units: &[IndexUnit]| {
            units.iter().map(|unit| (unit.id.clone(), unit.span)).collect::<Vec<_>>()
        };
        assert_eq!(lines(&before), lines(&source.units));
        let shown = judged.questions.iter().map(|question| {
            let [ExpectedAnswer { path: answer, unit: Some(unit) }] = question.answers.as_slice()
            else {
                panic!("{question:?}")
            };
            assert!(answer == path && source.units.iter().any(|one| one.id == *unit), "{unit}");
            format!("{} -> {unit}", question.text)
        });
        let shown = shown.collect();
        (judged, shown)
    }

    #[test]
    fn python_is_asked_about_functions_and_classes() {
        let text = "\"\"\"A module of SECRET things here.\"\"\"\nimport os\n\n\n@wrapped\nclass Shop:\n    \"\"\"\n    Sells all SECRET\n    things.\n\n    And more of it, SECRET.\n    \"\"\"\n\n    def sell(self):\n        r'''Takes one \\d thing away, SECRET.'''\n        return 1\n\n    def short(self):\n        \"\"\"Too few words.\"\"\"\n\n    def twice(self):\n        \"\"\"Said of two of them.\"\"\"\n\n\ndef twice():\n    \"\"\"Said of two of them.\"\"\"\n\ndef inline(): \"\"\"On one line with SECRET.\"\"\"\n";
        let (judged, questions) = judge_collection("python", "shop.py", text);
        let want = [
            "Sells all SECRET things. -> class:shop.py:Shop",
            "Takes one \\d thing away, SECRET. -> method:shop.py:Shop.sell",
        ];
        assert_eq!(questions, want);
        assert_eq!(
            judged.sources[0].units[1].body,
            "def sell(self):\n        pass\n        return 1"
        );
    }

    #[test]
    fn rust_is_asked_about_what_is_documented_above() {
        let text = "//! A crate of SECRET things.\n\n/// Holds the `rows` of\n/// a SECRET table.\n///\n/// More SECRET.\n#[derive(Debug)]\n#[doc = \"SECRET\"]\npub struct Table {\n    /// SECRET field of it.\n    rows: u8,\n}\n\nimpl Table {\n    /** Counts the SECRET rows once. */\n    pub fn count(&self) -> u8 { 0 }\n}\n\n/// A constant with SECRET words.\npub const A: u8 = 1;\n/// Deprecated: use something else instead.\npub fn old() {}\n";
        let (_, questions) = judge_collection("rust", "src/lib.rs", text);
        let want = [
            "Holds the `rows` of a SECRET table. -> struct:src/lib.rs:Table",
            "Counts the SECRET rows once. -> method:src/lib.rs:Table::count",
        ];
        assert_eq!(questions, want);
    }

    #[test]
    fn scripts_are_asked_about_what_is_documented_above() {
        let text = "/** The file of SECRET. @module */\n\n/**\n * Adds two SECRET numbers.\n * @param a SECRET\n */\nexport function add(a, b) { return a + b; }\n\n/**\n * @name sum\n * @description\n * Sums all SECRET numbers up.\n *\n * @returns SECRET\n */\nexport function sum(all) { return 0; }\n\n/** @deprecated since the SECRET version */\nexport class Old {\n  /** Runs the SECRET old way. */\n  run() {}\n}\n";
        for (language, path) in [("javascript", "lib/a.js"), ("typescript", "src/a.ts")] {
            let (_, questions) = judge_collection(language, path, text);
            let want = [
                format!("Adds two SECRET numbers. -> function:{path}:add"),
                format!("Sums all SECRET numbers up. -> function:{path}:sum"),
                format!("Runs the SECRET old way. -> method:{path}:Old.run"),
            ];
            assert_eq!(questions, want);
        }
    }

    #[test]
    fn go_is_asked_about_what_is_documented_above() {
        let text = "// Package shop has SECRET things.\npackage shop\n\n// Table holds the SECRET\n// rows.\n//\n// More SECRET.\ntype Table struct {\n\t// SECRET field.\n\trows int\n}\n\n// Get finds a SECRET row.\nfunc (t *Table) Get() int {\n\t// Kept, as every comment inside.\n\treturn 1\n}\n\n// Deprecated: use Get instead of it.\nfunc (t *Table) Old() int { return 1 }\n";
        let (judged, questions) = judge_collection("go", "shop.go", text);
        let want = [
            "Table holds the SECRET rows. -> struct:shop.go:Table",
            "Get finds a SECRET row. -> method:shop.go:Table.Get",
        ];
        assert_eq!(questions, want);
        assert!(judged.sources[0].units[1].body.contains("Kept"));
    }

    #[test]
    fn java_is_asked_about_what_is_documented_above() {
        let text = "package shop;\n\n/**\n * Holds {@code rows} that are SECRET.\n *\n * <p>More SECRET.\n */\npublic class Table {\n    /** The SECRET limit of it. */\n    public static final int LIMIT = 1;\n\n    /**\n     * Finds the SECRET {@link Row} there.\n     * @param at SECRET\n     */\n    @Override\n    public Row get(int at) { return null; }\n\n    /** Finds it by a SECRET name. */\n    public Row get(String name) { return null; }\n}\n";
        let (_, questions) = judge_collection("java", "src/main/java/shop/Table.java", text);
        let id = |name: &str| format!("src/main/java/shop/Table.java:{name}");
        let want = [
            format!("Holds rows that are SECRET. -> class:{}", id("Table")),
            format!("Finds the SECRET Row there. -> method:{}", id("Table.get")),
            format!("Finds it by a SECRET name. -> method:{}", id("Table.get#2")),
        ];
        assert_eq!(questions, want);
    }

    #[test]
    fn an_unsupported_language_is_an_error() {
        let project = crate::project().file("a.cob", "").build().unwrap();
        assert!(matches!(code(project.root(), "cobol"), Err(CorpusError::Language(_))));
        let gone = code(&project.root().join("none"), "rust");
        assert!(matches!(gone, Err(CorpusError::Unreadable { .. })));
    }
}
