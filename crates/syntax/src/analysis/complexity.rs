//! How hard each function is to follow.

use super::Source;
use crate::{
    language::{Language, matches},
    parse::{self, Definition},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;
use tree_sitter::{Node, Tree};

/// How hard a function is to test and change, by its cyclomatic complexity.
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

/// The figures of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionFigures {
    /// Its qualified name.
    pub name: String,
    /// First line.
    pub line: u32,
    /// Independent ways through it: 1, and 1 for each branch. Anonymous functions count with the one around them.
    pub cyclomatic: u32,
    /// Deepest nesting of branches, loops and blocks that change the flow.
    pub nesting: u32,
    /// Parameters, without the receiver.
    pub parameters: u32,
    /// Lines.
    pub length: u32,
    /// By the cyclomatic complexity.
    pub grade: Grade,
}

/// The figures of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Complexity {
    /// Worst first.
    pub functions: Vec<FunctionFigures>,
    /// Cyclomatic complexity of the file: 1, and 1 for each branch in it.
    pub cyclomatic: u32,
    /// Lines of the file.
    pub lines: u32,
}

/// How many branches a file has.
pub fn branches(language: Language, text: &str, tree: &Tree) -> usize {
    let marks = matches(language.grammar().branches(), tree.root_node(), text);
    marks.iter().filter(|mark| mark.get("branch").is_some()).count()
}

/// Measures a file.
pub fn measure(source: &Source<'_>) -> Complexity {
    let definitions = parse::definitions(source.language, source.path, source.text, source.tree);
    let functions: Vec<&Definition> =
        definitions.iter().filter(|one| one.annotation.kind.is_callable()).collect();
    let marks = matches(source.language.grammar().branches(), source.tree.root_node(), source.text);
    let captured = |name: &'static str| marks.iter().filter_map(move |mark| mark.get(name));
    let branches: Vec<Node<'_>> = captured("branch").collect();
    let nests: Vec<Range<usize>> =
        captured("nest").filter(|node| !continues(*node)).map(|node| node.byte_range()).collect();
    let mut figures: Vec<FunctionFigures> = functions.iter().map(|one| blank(one)).collect();
    for branch in &branches {
        if let Some(owner) = innermost(&functions, branch.start_byte()) {
            figures[owner].cyclomatic += 1;
        }
    }
    for (start, depth) in depths(&functions, &nests) {
        if let Some(owner) = innermost(&functions, start) {
            figures[owner].nesting = figures[owner].nesting.max(depth);
        }
    }
    for figure in &mut figures {
        figure.grade = Grade::of(figure.cyclomatic);
    }
    figures.sort_by_key(|one| {
        (std::cmp::Reverse((one.cyclomatic, one.nesting, one.length)), one.line)
    });
    Complexity {
        functions: figures,
        cyclomatic: 1 + small(branches.len()),
        lines: small(source.text.lines().count()),
    }
}

fn blank(one: &Definition) -> FunctionFigures {
    let annotation = &one.annotation;
    FunctionFigures {
        name: annotation.qualified_name.clone(),
        line: annotation.line,
        cyclomatic: 1,
        nesting: 0,
        parameters: small(annotation.parameters.as_ref().map_or(0, Vec::len)),
        length: annotation.end_line - annotation.line + 1,
        grade: Grade::Low,
    }
}

/// `else if` goes on where the first `if` stands.
fn continues(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| {
        let is_alternative = || parent.child_by_field_name("alternative") == Some(node);
        parent.kind() == "else_clause" || (parent.kind() == "if_statement" && is_alternative())
    })
}

/// The innermost function around a byte. Functions are in the order of the text, outer ones first.
fn innermost(functions: &[&Definition], at: usize) -> Option<usize> {
    let before = functions.partition_point(|one| one.range.start <= at);
    functions[..before].iter().rposition(|one| one.range.contains(&at))
}

/// How deep each block lies, counted from the function that it belongs to.
fn depths(functions: &[&Definition], nests: &[Range<usize>]) -> Vec<(usize, u32)> {
    let mut open: Vec<&Range<usize>> = Vec::new();
    let mut depths = Vec::with_capacity(nests.len());
    for nest in nests {
        open.retain(|outer| outer.end >= nest.end);
        open.push(nest);
        let owner = innermost(functions, nest.start);
        let depth = open.iter().filter(|outer| innermost(functions, outer.start) == owner).count();
        depths.push((nest.start, small(depth)));
    }
    depths
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
        let found = measure(&Source { path: "f", language, text, tree: &tree });
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
