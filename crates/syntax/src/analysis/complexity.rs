//! The complexity of each function, with the reasons for it.

mod sweep;

use super::AnalyzedSource;
use crate::{
    annotation::Figures,
    language::{Language, matches},
    parse::{self, LocatedDefinition, SyntaxTree},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{cmp::Reverse, collections::HashSet};
use sweep::{Measured, sweep};

/// The grade of a function by its cyclomatic complexity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// 1 to 5.
    Low,
    /// 6 to 10.
    Moderate,
    /// 11 to 20.
    High,
    /// More than 20.
    Extreme,
}

impl Grade {
    fn of(cyclomatic: u32) -> Self {
        match cyclomatic {
            0..=5 => Self::Low,
            6..=10 => Self::Moderate,
            11..=20 => Self::High,
            _ => Self::Extreme,
        }
    }
}

/// A contribution to cognitive complexity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Line, counted from 1.
    pub line: u32,
    /// What it adds to the cognitive complexity.
    pub adds: u32,
    /// The construct.
    pub what: String,
}

/// The metrics of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionFigures {
    /// Its qualified name.
    pub name: String,
    /// First line.
    pub line: u32,
    /// Cyclomatic complexity: 1, and 1 for each branch. Anonymous functions count toward the enclosing one, named ones
    /// separately.
    pub cyclomatic: u32,
    /// Cognitive complexity: 1 for each break in the flow, and 1 for each nesting level. Nested functions also count
    /// toward the enclosing one.
    pub cognitive: u32,
    /// Deepest nesting of branches, loops and blocks that change the flow.
    pub nesting: u32,
    /// Parameters, without the receiver.
    pub parameters: u32,
    /// Lines.
    pub length: u32,
    /// Grade by cyclomatic complexity.
    pub grade: Grade,
    /// The largest contributions to cognitive complexity, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Reason>,
}

/// The metrics of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Complexity {
    /// Worst first.
    pub functions: Vec<FunctionFigures>,
    /// Cyclomatic complexity of the file: 1, and 1 for each branch in it.
    pub cyclomatic: u32,
    /// Cognitive complexity of the file: of its outermost functions and top-level code.
    pub cognitive: u32,
    /// Deepest nesting in one of its functions.
    pub nesting: u32,
    /// Lines of the file.
    pub lines: u32,
}

/// The number of branches in a file.
pub fn branches(language: Language, text: &str, tree: &SyntaxTree) -> usize {
    let marks = matches(tree, language.grammar().branches(), tree.root_node(), text);
    let nodes = marks.iter().flat_map(|mark| &mark.captures).filter(|(name, _)| *name == "branch");
    nodes.map(|(_, node)| node.id()).collect::<HashSet<_>>().len()
}

/// Measures a file.
pub fn measure(source: &AnalyzedSource<'_>) -> Complexity {
    let definitions = parse::definitions(source.language, source.path, source.text, source.tree);
    measure_all(source, &definitions)
}

/// Measures a file whose definitions are known.
pub fn measure_all(source: &AnalyzedSource<'_>, definitions: &[LocatedDefinition]) -> Complexity {
    let (measured, file) = sweep(source, definitions);
    let mut functions: Vec<FunctionFigures> =
        measured.iter().map(|one| function(&definitions[one.definition], one)).collect();
    functions.sort_by_key(|one| {
        (Reverse((one.cyclomatic, one.cognitive, one.nesting, one.length)), one.line)
    });
    Complexity {
        nesting: functions.iter().map(|one| one.nesting).max().unwrap_or(0),
        functions,
        cyclomatic: 1 + file.branches,
        cognitive: file.cognitive,
        lines: small(source.text.lines().count()),
    }
}

/// The complexity of every callable definition, by index.
pub fn figures(
    source: &AnalyzedSource<'_>,
    definitions: &[LocatedDefinition],
) -> Vec<(usize, Figures)> {
    let (measured, _) = sweep(source, definitions);
    let pair = |one: &Measured| {
        let Measured { cyclomatic, cognitive, .. } = *one;
        (one.definition, Figures { cyclomatic, cognitive })
    };
    measured.iter().map(pair).collect()
}

/// All metrics of every callable definition, by index.
pub(super) fn measure_functions(
    source: &AnalyzedSource<'_>,
    definitions: &[LocatedDefinition],
) -> Vec<(usize, FunctionFigures)> {
    let (measured, _) = sweep(source, definitions);
    let pair = |one: &Measured| (one.definition, function(&definitions[one.definition], one));
    measured.iter().map(pair).collect()
}

fn function(definition: &LocatedDefinition, measured: &Measured) -> FunctionFigures {
    let annotation = &definition.annotation;
    FunctionFigures {
        name: annotation.qualified_name.clone(),
        line: annotation.line,
        cyclomatic: measured.cyclomatic,
        cognitive: measured.cognitive,
        nesting: measured.nesting,
        parameters: small(annotation.parameters.as_ref().map_or(0, Vec::len)),
        length: annotation.end_line.saturating_sub(annotation.line) + 1,
        grade: Grade::of(measured.cyclomatic),
        why: measured.why.clone(),
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    /// Name, cyclomatic, nesting, parameters, length.
    fn figures(language: Language, text: &str) -> Vec<(String, u32, u32, u32, u32)> {
        let tree = parse::tree(language, text, &|| false).unwrap();
        let found = measure(&AnalyzedSource { path: "f", language, text, tree: &tree });
        found
            .functions
            .into_iter()
            .map(|f| (f.name, f.cyclomatic, f.nesting, f.parameters, f.length))
            .collect()
    }

    #[test]
    fn branches_and_depth_are_counted() {
        let cases = [
            (Language::TypeScript, "function f(a: number) { return a; }", ("f", 1, 0, 1, 1)),
            (
                Language::JavaScript,
                "function f(a, b) {\n  if (a && b) { for (const x of a) { if (x) {} } }\n  else if (b) {}\n  else {}\n}",
                ("f", 6, 3, 2, 5),
            ),
            (
                Language::JavaScript,
                "const f = (a) => { switch (a) { case 1: case 2: break; default: } return a ? 1 : a ?? 2; }",
                ("f", 5, 1, 1, 1),
            ),
            (Language::JavaScript, "function f() { g(() => { if (1) {} }); }", ("f", 2, 1, 0, 1)),
            (
                Language::Python,
                "def f(a, b=1):\n    if a and b:\n        pass\n    elif b:\n        while a:\n            pass\n    try:\n        pass\n    except E:\n        pass\n    return [x for x in a if x]\n",
                ("f", 8, 2, 2, 11),
            ),
            (
                Language::Rust,
                "fn f(a: u8) -> u8 {\n  match a { 1 => 1, 2 if a > 1 && a < 3 => 2, _ => 3 }\n}",
                ("f", 4, 1, 1, 3),
            ),
            (
                Language::Rust,
                "fn f(a: bool) { if a { loop { break } } else if !a {} }",
                ("f", 4, 2, 1, 1),
            ),
            (
                Language::Go,
                "package p\nfunc f(a, b int) {\n  if a > 0 && b > 0 { for range b { } } else if b > 1 { }\n  switch a { case 1, 2: default: }\n}",
                ("f", 6, 2, 2, 4),
            ),
            (
                Language::Java,
                "class A { int f(int a) {\n  if (a > 0 || a < 9) { while (a > 1) { } } else if (a > 3) { }\n  switch (a) { case 1: case 2: default: }\n  try { } catch (E e) { } return a > 1 ? 1 : 2;\n} }",
                ("A.f", 9, 2, 1, 5),
            ),
        ];
        for (language, text, (name, cyclomatic, nesting, parameters, length)) in cases {
            assert_eq!(
                figures(language, text),
                [(name.to_owned(), cyclomatic, nesting, parameters, length)],
                "{text}"
            );
        }
    }

    #[test]
    fn a_nested_function_has_its_own_figures_and_the_worst_comes_first() {
        let text = "def outer(a):\n    if a:\n        def inner(b, c):\n            if b:\n                if c: pass\n    return a\n";
        assert_eq!(
            figures(Language::Python, text),
            [("outer.inner".to_owned(), 3, 2, 2, 3), ("outer".to_owned(), 2, 1, 1, 6)]
        );
    }

    /// Cognitive complexity of the first function.
    fn cognitive(language: Language, text: &str) -> u32 {
        let tree = parse::tree(language, text, &|| false).unwrap();
        let source = AnalyzedSource { path: "f", language, text, tree: &tree };
        let definitions = parse::definitions(language, "f", text, &tree);
        super::figures(&source, &definitions)[0].1.cognitive
    }

    #[test]
    fn cognitive_complexity_of_python() {
        let python = [
            ("return a", 0),
            ("if a:\n  pass\n elif b:\n  if c: pass\n else:\n  if d: pass", 7),
            ("for x in y:\n  while x and z:\n   if a: break", 7),
            ("for x in y:\n  pass\n else:\n  if a: pass", 2),
            (
                "try:\n  if a: pass\n except E:\n  if b: pass\n else:\n  pass\n finally:\n  if c: pass",
                5,
            ),
            ("with a or b:\n  if c: pass", 2),
            ("match a:\n  case 1:\n   if b: pass", 3),
            ("return 1 if a else 2 if b else 3", 3),
            ("return 1 if (2 if a else b) else 3", 2),
            ("return a and b or c and d", 3),
            ("return a and (b and c) and d", 1),
            ("return a and not (b and c)", 2),
            ("return [x for x in y if x and z]", 3),
            ("return [x if a else b for x in y]", 3),
            ("return [x for x in [a for a in c]]", 2),
            ("if q:\n  return [x for x in y if x for z in x if z]", 7),
            ("x = 1\n def g():\n  if a: pass\n return g", 2),
            ("def g():\n  if a: pass\n return g", 1),
            ("@d\n def g():\n  if a: pass\n return d(g)", 1),
            ("return lambda: 1 if a else 2", 2),
        ];
        for (body, want) in python {
            let text = format!("def f():\n {body}\n");
            assert_eq!(cognitive(Language::Python, &text), want, "{text}");
        }
    }

    #[test]
    fn cognitive_complexity_of_languages_with_braces() {
        let braces = [
            (
                Language::JavaScript,
                "function f(",
                ") { if (a) {} else if (b) { if (c) {} } else {} }",
                5,
            ),
            (Language::JavaScript, "const f = (", ") => { if (a && b && c || d) {} }", 3),
            (Language::JavaScript, "const f = (", ") => (b) => { if (a) {} }", 1),
            (
                Language::TypeScript,
                "function f(",
                ") { a: for (;;) { g(() => { if (a) { break a; } }); } }",
                5,
            ),
            (
                Language::JavaScript,
                "function f(",
                ") { switch (a) { case 1: if (b) {} default: } }",
                3,
            ),
            (
                Language::JavaScript,
                "function f(",
                ") { try { } catch (e) { return a ? b : c; } }",
                3,
            ),
            (Language::Rust, "fn f(", ") { if a {} else if b { if c {} } else {} }", 5),
            (
                Language::Rust,
                "fn f(",
                ") { match if a { 1 } else { 2 } { 1 => if b {}, _ => {} } }",
                5,
            ),
            (
                Language::Rust,
                "fn f(",
                ") { let Some(x) = y else { if a { return } }; y.map(|z| if z {}); }",
                5,
            ),
            (
                Language::Go,
                "package p\nfunc f(",
                ") { if a := b(); a {} else if b { if c {} } else {} }",
                5,
            ),
            (Language::Go, "package p\nfunc f(", ") { for a && b { go func() { if c {} }() } }", 5),
            (
                Language::Java,
                "class A { void f(",
                ") { if (a) {} else if (b) { if (c) {} } else {} } }",
                5,
            ),
            (
                Language::Java,
                "class A { void f(",
                ") { g(new R() { void run() { if (a) {} } }); } }",
                2,
            ),
            (
                Language::Java,
                "class A { void f(",
                ") { for (int i : a ? b : c) { g(() -> { while (d) {} }); } } }",
                5,
            ),
        ];
        for (language, before, after, want) in braces {
            let text = format!("{before}{after}");
            assert_eq!(cognitive(language, &text), want, "{text}");
        }
    }

    #[test]
    fn a_function_says_what_makes_it_hard() {
        let text = "def outer():\n    x = 1\n    def inner(a):\n        for b in a:\n            if b and a:\n                pass\n            else:\n                pass\n";
        let tree = parse::tree(Language::Python, text, &|| false).unwrap();
        let source = AnalyzedSource { path: "f", language: Language::Python, text, tree: &tree };
        let found = measure(&source);
        assert_eq!((found.cyclomatic, found.cognitive, found.nesting, found.lines), (4, 7, 2, 8));
        let why = |at: usize| {
            let reasons = found.functions[at].why.iter();
            reasons
                .map(|one| format!("{}: {} +{}", one.line, one.what, one.adds))
                .collect::<Vec<_>>()
        };
        assert_eq!(why(0), ["5: if nested 1 deep +2", "4: for +1", "5: `and` +1", "7: else +1"]);
        assert_eq!(
            why(1),
            ["5: if nested 2 deep +3", "4: for nested 1 deep +2", "5: `and` +1", "7: else +1"]
        );
    }

    #[test]
    fn functions_of_one_statement_have_their_own_figures() {
        let text = "const f = (a) => { if (a) {} },\n  g = (b) => b;\n";
        let found = figures(Language::JavaScript, text);
        assert_eq!(found, [("f".to_owned(), 2, 1, 1, 1), ("g".to_owned(), 1, 0, 1, 1)]);
    }

    #[test]
    fn deep_and_long_files_are_measured_in_one_pass() {
        let deep = 240;
        let text = format!("{}{}", "function f() { if (a) {".repeat(deep), "}}".repeat(deep));
        let found = figures(Language::JavaScript, &text);
        assert_eq!(found.len(), deep);
        assert!(found.iter().all(|one| one.1 == 2));
        let chain = format!("x = {}\n", vec!["a"; 20_000].join(" and "));
        let tree = parse::tree(Language::Python, &chain, &|| false).unwrap();
        let source =
            AnalyzedSource { path: "f", language: Language::Python, text: &chain, tree: &tree };
        assert_eq!(measure(&source).cognitive, 1);
    }

    #[test]
    fn grades_follow_the_figure() {
        let cases = [
            (1, Grade::Low),
            (5, Grade::Low),
            (6, Grade::Moderate),
            (11, Grade::High),
            (21, Grade::Extreme),
        ];
        for (cyclomatic, want) in cases {
            assert_eq!(Grade::of(cyclomatic), want);
        }
    }
}
