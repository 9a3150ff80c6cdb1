//! Masks preprocessor constructs before C is parsed: attribute-like macros, and conditional branches that are parts of
//! statements.
//!
//! Knows no macro by name. A word in capitals counts as one where neither a type nor a value is possible; comparing the
//! trees of both texts shows whether masking helped.

use crate::budget::WorkBudget;
use std::ops::Range;

/// Words before a name that begin a declaration.
const BEFORE_MACROS: [&str; 7] =
    ["static", "extern", "inline", "virtual", "explicit", "friend", "typedef"];
/// Words whose name may have a macro before it.
const TYPES: [&str; 4] = ["class", "struct", "union", "enum"];
/// Words that may follow the parameters of a function.
const AFTER_PARAMETERS: [&str; 4] = ["const", "noexcept", "override", "final"];
/// Words that no name of a variable can be.
const STATEMENTS: [&str; 8] = ["return", "else", "do", "case", "goto", "throw", "new", "delete"];
/// Words followed by parentheses that are not parameters.
const CONTROLS: [&str; 5] = ["if", "for", "while", "switch", "catch"];
/// What begins a section of a class.
const SECTIONS: [&str; 4] = ["public", "protected", "private", "signals"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CTokenKind {
    Word,
    Mark(u8),
    Literal,
    Directive,
}

#[derive(Debug, Clone)]
struct CToken {
    sort: CTokenKind,
    range: Range<usize>,
    /// Whether it is the first on its line.
    leads: bool,
}

/// The text without words between `class` and a name, which read as if a function began there. `None` where there are
/// none, or the work has ended.
pub(super) fn with_plain_types(text: &str, work: &WorkBudget<'_>) -> Option<String> {
    let mut tokens = tokens(text, work)?;
    tokens.retain(|token| token.sort != CTokenKind::Directive);
    let statements = StatementScanner::new(text, &tokens);
    let before_names: Vec<usize> = (1..tokens.len())
        .take_while(|_| work.spend(1))
        .filter(|at| statements.is_before_name(*at))
        .collect();
    if before_names.is_empty() || !work.goes_on() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    for at in before_names {
        blank(&mut bytes, &tokens[at].range);
    }
    String::from_utf8(bytes).ok()
}

/// Replaces masked ranges with spaces, so that positions stay the same. `None` if there are none, or the work was
/// ended.
pub(super) fn mask(text: &str, work: &WorkBudget<'_>) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut tokens = tokens(text, work)?;
    let parts = conditions(text, &tokens, work)?;
    for range in &parts {
        if !work.spend(range.len()) {
            return None;
        }
        blank(&mut bytes, range);
    }
    let is_there =
        |token: &CToken| bytes.get(token.range.start) == text.as_bytes().get(token.range.start);
    tokens.retain(|token| token.sort != CTokenKind::Directive && is_there(token));
    let macros = StatementScanner::new(text, &tokens).macros(work)?;
    for range in &macros {
        blank(&mut bytes, range);
    }
    if parts.is_empty() && macros.is_empty() { None } else { String::from_utf8(bytes).ok() }
}

fn blank(bytes: &mut [u8], range: &Range<usize>) {
    let inside = bytes.get_mut(range.clone()).into_iter().flatten();
    inside.filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
}

/// Words, marks, literals and directives; comments and spaces are left out. `None` where the work has ended.
fn tokens(text: &str, work: &WorkBudget<'_>) -> Option<Vec<CToken>> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut leads = true;
    while at < bytes.len() {
        let start = at;
        let sort = match (byte(at), byte(at + 1)) {
            (b'\n', _) => {
                leads = true;
                at += 1;
                continue;
            }
            (b'/', b'/') => {
                at = line_end(bytes, at);
                continue;
            }
            (b'/', b'*') => {
                at = text
                    .get(at + 2..)
                    .and_then(|rest| rest.find("*/"))
                    .map_or(bytes.len(), |end| at + end + 4);
                continue;
            }
            (space, _) if space.is_ascii_whitespace() || space == b'\\' => {
                at += 1;
                continue;
            }
            (b'#', _) if leads => {
                at = line_end(bytes, at);
                CTokenKind::Directive
            }
            (b'R', b'"') => {
                at = raw_end(text, at);
                CTokenKind::Literal
            }
            (quote @ (b'"' | b'\''), _) => {
                at = literal_end(bytes, at, quote);
                CTokenKind::Literal
            }
            (first, _) if is_word(first) => {
                // A digit may be followed by `'` inside a number.
                let is_number = first.is_ascii_digit();
                while is_word(byte(at)) || (is_number && byte(at) == b'\'' && is_word(byte(at + 1)))
                {
                    at += 1;
                }
                CTokenKind::Word
            }
            (mark, _) => {
                at += 1;
                CTokenKind::Mark(mark)
            }
        };
        tokens.push(CToken { sort, range: start..at, leads });
        leads = false;
        if !work.spend(at - start) {
            return None;
        }
    }
    Some(tokens)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Of a line that may go on after a backslash.
fn line_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        let before = bytes.get(at.saturating_sub(1)).filter(|byte| **byte != b'\r');
        let before = before.or_else(|| bytes.get(at.saturating_sub(2)));
        if *byte == b'\n' && before != Some(&b'\\') {
            break;
        }
        at += 1;
    }
    at
}

fn literal_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at.min(bytes.len())
}

/// `R"mark( … )mark"`
fn raw_end(text: &str, start: usize) -> usize {
    let rest = text.get(start + 2..).unwrap_or_default();
    let mark = rest.split('(').next().unwrap_or_default();
    let close = format!("){mark}\"");
    rest.find(&close).map_or(text.len(), |end| start + 2 + end + close.len())
}

/// An open conditional.
struct OpenConditional {
    directives: Vec<Range<usize>>,
    branches: Vec<ConditionalBranch>,
}

/// The effect of a branch on the surrounding nesting.
#[derive(Default)]
struct ConditionalBranch {
    depth: i32,
    least: i32,
    /// Whether it ends inside a statement.
    breaks_off: bool,
}

impl ConditionalBranch {
    fn take(&mut self, by: i32, sort: CTokenKind) {
        self.depth += by;
        self.least = self.least.min(self.depth);
        self.breaks_off = !matches!(sort, CTokenKind::Mark(b';' | b'{' | b'}' | b':'));
    }

    fn is_whole(&self) -> bool {
        self.depth == 0 && self.least == 0 && !self.breaks_off
    }
}

/// The ranges to mask in conditionals with partial statements: one branch stays. In source order, disjoint.
/// `None` if the work was ended.
fn conditions(text: &str, tokens: &[CToken], work: &WorkBudget<'_>) -> Option<Vec<Range<usize>>> {
    let mut open: Vec<OpenConditional> = Vec::new();
    let mut gone = Vec::new();
    let add = |open: &mut Vec<OpenConditional>, by: i32, sort: CTokenKind| {
        if let Some(branch) = open.last_mut().and_then(|last| last.branches.last_mut()) {
            branch.take(by, sort);
        }
    };
    for token in tokens {
        if !work.spend(1) {
            return None;
        }
        let said = text.get(token.range.clone()).unwrap_or_default();
        match token.sort {
            CTokenKind::Mark(b'{') => add(&mut open, 1, token.sort),
            CTokenKind::Mark(b'}') => add(&mut open, -1, token.sort),
            CTokenKind::Directive => {
                let directive = said.trim_start_matches(['#', ' ', '\t']);
                if directive.starts_with("if") {
                    open.push(OpenConditional {
                        directives: vec![token.range.clone()],
                        branches: vec![ConditionalBranch::default()],
                    });
                } else if directive.starts_with("el") {
                    if let Some(last) = open.last_mut() {
                        last.directives.push(token.range.clone());
                        last.branches.push(ConditionalBranch::default());
                    }
                } else if directive.starts_with("endif")
                    && let Some(mut last) = open.pop()
                {
                    last.directives.push(token.range.clone());
                    let (kept, taken) = last.remove_partial_branches(text);
                    gone.extend(taken);
                    add(&mut open, kept, CTokenKind::Mark(b';'));
                }
            }
            sort => add(&mut open, 0, sort),
        }
    }
    Some(merge(gone))
}

/// Ranges that lie in each other, or touch, as one.
fn merge(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

impl OpenConditional {
    /// The depth change of the remaining branch, and the ranges to mask.
    fn remove_partial_branches(self, text: &str) -> (i32, Vec<Range<usize>>) {
        if self.branches.iter().all(ConditionalBranch::is_whole) {
            return (0, Vec::new());
        }
        let first =
            self.directives.first().and_then(|range| text.get(range.clone())).unwrap_or_default();
        let never =
            first.trim_start_matches(['#', ' ', '\t']).trim_start_matches("if").trim() == "0";
        let stays = usize::from(never && self.branches.len() > 1);
        let between = self.directives.windows(2).map(|pair| pair[0].end..pair[1].start);
        let others = between.enumerate().filter(|(at, _)| *at != stays).map(|(_, range)| range);
        let mut gone: Vec<Range<usize>> = others.collect();
        gone.extend(self.directives.iter().cloned());
        (self.branches.get(stays).map_or(0, |branch| branch.depth), gone)
    }
}

/// For each parenthesis, the other one of its pair.
fn pairs(tokens: &[CToken]) -> Vec<Option<usize>> {
    let mut open = Vec::new();
    let mut pairs = vec![None; tokens.len()];
    for (at, token) in tokens.iter().enumerate() {
        if token.sort == CTokenKind::Mark(b'(') {
            open.push(at);
        } else if token.sort == CTokenKind::Mark(b')')
            && let Some(opened) = open.pop()
        {
            pairs[at] = Some(opened);
            pairs[opened] = Some(at);
        }
    }
    pairs
}

struct StatementScanner<'a> {
    text: &'a str,
    tokens: &'a [CToken],
    pairs: Vec<Option<usize>>,
    /// For each token, how many before it say that something is declared.
    declaring: Vec<usize>,
}

impl<'a> StatementScanner<'a> {
    fn new(text: &'a str, tokens: &'a [CToken]) -> Self {
        let mut statements = Self { text, tokens, pairs: pairs(tokens), declaring: vec![0] };
        let mut count = 0;
        for at in 0..tokens.len() {
            count += usize::from(statements.declares(at));
            statements.declaring.push(count);
        }
        statements
    }

    fn word(&self, at: usize) -> Option<&str> {
        let token = self.tokens.get(at).filter(|token| token.sort == CTokenKind::Word)?;
        self.text.get(token.range.clone())
    }

    fn mark(&self, at: usize) -> Option<u8> {
        match self.tokens.get(at)?.sort {
            CTokenKind::Mark(mark) => Some(mark),
            _ => None,
        }
    }

    fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        self.word(at).is_some_and(|word| words.contains(&word))
    }

    /// Words in capitals, except well-known values.
    fn is_macro(&self, at: usize) -> bool {
        let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        self.word(at).is_some_and(|word| {
            word.len() > 2
                && word.bytes().all(capital)
                && word.bytes().any(|byte| byte.is_ascii_uppercase())
                && !["NULL", "EOF", "TRUE", "FALSE"].contains(&word)
        })
    }

    /// `class EXPORT Name {`
    fn is_before_name(&self, at: usize) -> bool {
        let named = self.word(at + 1).is_some_and(|name| name != "final");
        let heads =
            matches!(self.mark(at + 2), Some(b'{' | b':')) || self.is_one_of(at + 2, &["final"]);
        self.is_one_of(at - 1, &TYPES)
            && self.word(at).is_some()
            && named
            && heads
            && !self.is_one_of(at, &TYPES)
    }

    /// What follows a word and the parentheses after it.
    fn after(&self, at: usize) -> usize {
        if self.mark(at + 1) != Some(b'(') {
            return at + 1;
        }
        self.pairs.get(at + 1).copied().flatten().map_or(self.tokens.len(), |close| close + 1)
    }

    /// Macros in attribute positions. `None` if the work was ended.
    fn macros(&self, work: &WorkBudget<'_>) -> Option<Vec<Range<usize>>> {
        let mut gone: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        let mut begins = true;
        while at < self.tokens.len() {
            if !work.spend(1) {
                return None;
            }
            let next = self.after(at);
            if self.is_macro(at) && self.is_attribute(at, next, begins) {
                let last = self.tokens.get(next - 1).or(self.tokens.last());
                let end = last.map_or(self.text.len(), |token| token.range.end);
                gone.push(self.tokens[at].range.start..end);
                at = next;
                continue;
            }
            begins = matches!(self.mark(at), Some(b';' | b'{' | b'}' | b':'))
                || self.is_one_of(at, &BEFORE_MACROS);
            at += 1;
        }
        Some(gone)
    }

    fn is_attribute(&self, at: usize, next: usize, begins: bool) -> bool {
        let called = next > at + 1;
        if begins {
            let declares = self.word(next + 1).is_some()
                || matches!(self.mark(next + 1), Some(b'*' | b'&' | b'<'));
            let leads = self.tokens.get(next).is_some_and(|token| token.leads);
            let alone = leads && (called || self.is_one_of(next, &SECTIONS));
            let follows = self.word(next).is_some() || self.mark(next) == Some(b'}');
            return (self.word(next).is_some() && declares) || (alone && follows);
        }
        let ends = matches!(self.mark(next), Some(b'{' | b';' | b'=')) || self.is_macro(next);
        if !ends || at == 0 {
            return false;
        }
        let valued = called && !self.has_parameters(at, next);
        self.is_after_declarator(at - 1, valued)
    }

    /// Whether what is in the parentheses after a word declares something, or is nothing.
    fn has_parameters(&self, at: usize, next: usize) -> bool {
        let (first, end) = (at + 2, next.saturating_sub(1));
        next > at + 1 && (first >= end || self.declaring[first] < self.declaring[end])
    }

    fn declares(&self, at: usize) -> bool {
        (self.word(at).is_some() && self.word(at + 1).is_some())
            || matches!(self.mark(at), Some(b'*'))
            || self.is_one_of(at, &["void"])
    }

    /// Whether a declaration could end here.
    fn is_after_declarator(&self, at: usize, valued: bool) -> bool {
        if self.mark(at) == Some(b')') {
            let open = self.pairs.get(at).copied().flatten().unwrap_or(0);
            return open > 0
                && self.word(open - 1).is_some()
                && !self.is_one_of(open - 1, &CONTROLS);
        }
        if self.is_one_of(at, &AFTER_PARAMETERS) {
            return true;
        }
        let typed = at > 0
            && (self.word(at - 1).is_some()
                || matches!(self.mark(at - 1), Some(b'*' | b'&' | b'>')));
        let named = self.word(at).is_some() && !self.is_one_of(at, &STATEMENTS);
        valued && named && typed && !self.is_one_of(at - 1, &STATEMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::{mask as masked_within, with_plain_types as with_plain_types_within, *};
    use crate::budget::ParseBudget;

    fn masked(text: &str) -> Option<String> {
        masked_within(text, &WorkBudget::new(&ParseBudget::new(text.len(), &|| false)))
    }

    fn with_plain_types(text: &str) -> Option<String> {
        with_plain_types_within(text, &WorkBudget::new(&ParseBudget::new(text.len(), &|| false)))
    }

    #[test]
    fn ranges_merge() {
        let merged = merge(vec![5..9, 0..2, 6..7, 2..3, 12..14]);
        assert_eq!(merged, [0..3, 5..9, 12..14]);
    }

    #[test]
    fn macros_that_stand_for_attributes_are_taken_away() {
        let cases = [
            ("STORE_API int f(void);", Some("          int f(void);")),
            ("static STORE_API char *f(void);", Some("static           char *f(void);")),
            ("void f() LOCKS() { g(); }", Some("void f()         { g(); }")),
            ("void f() LOCKS(mu_) { g(); }", Some("void f()            { g(); }")),
            ("int f(void) const PURE;", Some("int f(void) const     ;")),
            ("int count GUARDED_BY(mu_) = 0;", Some("int count                 = 0;")),
            ("EXPORT_SYMBOL(f)\nint g(void);", Some("                \nint g(void);")),
            ("class A {\n  Q_OBJECT\n public:\n};", Some("class A {\n          \n public:\n};")),
            // Types, values and calls stay.
            ("FILE *file;", None),
            ("DWORD count = MAX;", None),
            ("void f() { if (a) ASSERT(b); return FOO(1); }", None),
            ("TEST(Table, Get) { }", None),
            ("int a = MAX(1, 2);", None),
            ("unsigned long hash_t HASH32(const void *input);", None),
            ("static int done GET(void);", None),
            ("// STORE_API int f(void);", None),
        ];
        for (text, want) in cases {
            assert_eq!(masked(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn types_are_plain() {
        let cases = [
            ("class EXPORT Table { };", Some("class        Table { };")),
            ("struct api Table : Base { };", Some("struct     Table : Base { };")),
            ("class EXPORT Table final { };", Some("class        Table final { };")),
            ("enum class Fill : char { A };", None),
            ("class Table final { };", None),
            ("struct table make(int a) { }", None),
            ("struct table one = { 0 };", None),
            ("// class EXPORT Table { };", None),
        ];
        for (text, want) in cases {
            assert_eq!(with_plain_types(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn one_branch_stays_of_conditions_that_are_parts_of_statements() {
        let cases = [
            (
                "A()\n#if A\n  : a(1),\n#endif\n b(2) { }",
                Some("A()\n     \n  : a(1),\n      \n b(2) { }"),
            ),
            (
                "#if A\nif (a) {\n#else\nif (b) {\n#endif\n}",
                Some("     \nif (a) {\n     \n        \n      \n}"),
            ),
            (
                "#if 0\nif (a) {\n#else\nif (b) {\n#endif\n}",
                Some("     \n        \n     \nif (b) {\n      \n}"),
            ),
            ("{\n#if A\n} else {\n#endif\n}", Some("{\n     \n} else {\n      \n}")),
            ("#if A\nint f(void) { }\n#endif", None),
            ("switch (a) {\n#if A\ncase 1:\n#endif\ncase 2: b(); }", None),
            ("#if A\nchar *a = \"{\"; // {\nchar b = '{'; /* { */\n#endif", None),
        ];
        for (text, want) in cases {
            assert_eq!(masked(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn positions_stay() {
        let text = "/* ü */ STORE_API int f(void) { return R\"x({\")x\"[0] + 1'000; }\r\n#define A \\\r\n {\n";
        let found = masked(text).unwrap();
        assert_eq!(found.len(), text.len());
        assert_eq!(found.replace(' ', ""), text.replace("STORE_API", "").replace(' ', ""));
    }
}
