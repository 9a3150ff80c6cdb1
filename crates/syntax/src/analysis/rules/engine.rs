//! Searches a tree by rules, with ast-grep's engine on the existing tree.
//!
//! Input may be hostile: nested a hundred thousand deep, to overflow a stack or to make a search climb and descend
//! without end. So nodes below [`MAX_MATCH_DEPTH`] are skipped, and in a deeper tree only rules are used whose matching does
//! not recurse with the tree. If a node has thousands of children, rules that look up parents and siblings are not used.

use super::{names::ImportedNames, read::CompiledRule};
use crate::{
    analysis::AnalyzedSource,
    language::{Language, text_of},
};
use ast_grep_core::{
    AstGrep, Doc, Language as Searched, Node as Candidate, Pattern, PatternError,
    matcher::{MatcherExt, PatternBuilder},
    source::Edit,
    tree_sitter::{LanguageExt, StrDoc, TSLanguage},
};
use std::{borrow::Cow, collections::HashMap, ops::Range, path::Path};
use tree_sitter::{Node, Tree};

/// Maximum depth of nodes to match. Hand-written code stays below a tenth of it.
pub(super) const MAX_MATCH_DEPTH: usize = 500;
/// Nodes visited between two polls of `stopped`.
const NODES_PER_CALLBACK: usize = 256;

/// A match of a rule.
#[derive(Debug)]
pub(super) struct RuleMatch<'a> {
    pub(super) rule: &'a CompiledRule,
    pub(super) range: Range<usize>,
    /// The first and the last line, counted from 1.
    pub(super) lines: (usize, usize),
    /// The secret, which must not be shown.
    pub(super) secret: Option<Range<usize>>,
}

/// All matches of the rules.
pub(super) fn search<'a>(
    source: &AnalyzedSource<'_>,
    rules: &[&'a CompiledRule],
    stopped: &dyn Fn() -> bool,
) -> Vec<RuleMatch<'a>> {
    let flat = source.tree.is_flat();
    let deep = is_deep(source.tree);
    let mut hits = Vec::new();
    for imported in [false, true] {
        let mut by_kind: ByKind<'a> = HashMap::new();
        let used = rules.iter().filter(|rule| rule.about.imported == imported);
        for rule in used.filter(|rule| !(deep && rule.recurses || flat && rule.climbs)) {
            for kind in &rule.kinds {
                by_kind.entry(*kind).or_default().push(rule);
            }
        }
        if by_kind.is_empty() {
            continue;
        }
        let names = if imported { ImportedNames::of(source) } else { ImportedNames::default() };
        let text = RuleDocument {
            source: source.text.to_owned(),
            language: source.language,
            tree: Tree::clone(source.tree),
            names,
        };
        walk(&AstGrep::doc(text), &by_kind, stopped, &mut hits);
    }
    hits
}

type ByKind<'a> = HashMap<u16, Vec<&'a CompiledRule>>;

fn walk<'a>(
    root: &AstGrep<RuleDocument>,
    by_kind: &ByKind<'a>,
    stopped: &dyn Fn() -> bool,
    hits: &mut Vec<RuleMatch<'a>>,
) {
    let start = root.root();
    let mut cursor = start.get_inner_node().walk();
    let (mut depth, mut seen) = (0_usize, 0_usize);
    loop {
        seen += 1;
        if seen.is_multiple_of(NODES_PER_CALLBACK) && stopped() {
            return;
        }
        let node = cursor.node();
        if let Some(rules) = by_kind.get(&node.kind_id()) {
            let candidate = root.adopt(node);
            hits.extend(rules.iter().filter_map(|rule| hit(rule, &candidate)));
        }
        if depth < MAX_MATCH_DEPTH && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}

fn hit<'a>(
    rule: &'a CompiledRule,
    candidate: &Candidate<'_, RuleDocument>,
) -> Option<RuleMatch<'a>> {
    let found = rule.matcher.match_node(candidate.clone())?;
    let secret = found.get_env().get_match("SECRET").map(Candidate::range);
    let node = candidate.get_inner_node();
    let end = node.end_position();
    // A node that ends with its line's break ends, for people, on the line before.
    let last = if end.column == 0 { end.row } else { end.row + 1 };
    let first = node.start_position().row + 1;
    Some(RuleMatch { rule, range: node.byte_range(), lines: (first, last.max(first)), secret })
}

/// Whether a tree has nodes below the maximum match depth.
fn is_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_MATCH_DEPTH {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

/// A source with its tree, as the engine expects it.
#[derive(Clone)]
struct RuleDocument {
    source: String,
    language: Language,
    tree: Tree,
    /// Import aliases, for rules that use them.
    names: ImportedNames,
}

impl Doc for RuleDocument {
    type Source = String;
    type Lang = Language;
    type Node<'r> = Node<'r>;

    fn get_lang(&self) -> &Language {
        &self.language
    }

    fn get_source(&self) -> &String {
        &self.source
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("sources are read-only".into())
    }

    fn root_node(&self) -> Node<'_> {
        self.tree.root_node()
    }

    fn get_node_text<'a>(&'a self, node: &Node<'a>) -> Cow<'a, str> {
        let text = text_of(*node, &self.source);
        self.names.whole(*node, text).map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

impl Searched for Language {
    /// `$NAME` and `$$$` become names that the grammar takes for an identifier.
    fn pre_process_pattern<'q>(&self, pattern: &'q str) -> Cow<'q, str> {
        let letter = self.expando_char();
        if letter == self.meta_var_char() {
            return Cow::Borrowed(pattern);
        }
        let mut out = String::with_capacity(pattern.len());
        let mut signs = 0;
        // One more turn than there are characters, for signs at the end.
        for next in pattern.chars().map(Some).chain([None]) {
            if next == Some('$') {
                signs += 1;
                continue;
            }
            let names = next.is_some_and(|c| c == '_' || c.is_ascii_uppercase());
            let sign = if names || signs == 3 { letter } else { '$' };
            out.extend(std::iter::repeat_n(sign, signs));
            out.extend(next);
            signs = 0;
        }
        Cow::Owned(out)
    }

    /// A letter unused in code, if `$` is not allowed in identifiers.
    fn expando_char(&self) -> char {
        match self {
            Self::JavaScript | Self::TypeScript | Self::Tsx | Self::Java => '$',
            Self::C | Self::Cpp => '𐀀',
            _ => 'µ',
        }
    }

    fn from_path<P: AsRef<Path>>(path: P) -> Option<Self> {
        Self::from_path(&path.as_ref().to_string_lossy())
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.grammar().tables.id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.grammar().tables.field_id_for_name(field).map(Into::into)
    }

    fn build_pattern(&self, builder: &PatternBuilder<'_>) -> Result<Pattern, PatternError> {
        builder.build(|text| StrDoc::try_new(text, *self))
    }
}

impl LanguageExt for Language {
    fn get_ts_language(&self) -> TSLanguage {
        self.grammar().tables.clone()
    }
}
