//! Reads one definition from its node.

use super::{LocatedDefinition, names::DefinitionMatch, visibility::ResolvedVisibility};
use crate::{
    analysis::AnalyzedSource,
    ancestry::Ancestry,
    annotation::{Annotation, Kind, Parameter, Visibility},
    attributes::{self, AttributeNode},
    comment::{self, Comment, statement},
    language::{Language, line_of, text_of},
    pack::{DocumentationPlacement, LanguageSettings},
    parse::SyntaxTree,
};
use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    ops::Range,
};
use tree_sitter::Node;

/// Maximum bytes of a signature; longer ones are truncated.
const MAX_SIGNATURE_BYTES: usize = 300;
/// Maximum bytes of a head read for its signature.
const MAX_HEAD_BYTES: usize = 1_000;
/// Maximum first children searched for modifiers and decorators.
const MAX_HEAD_CHILDREN: usize = 64;
/// Maximum bytes of a type or default; longer ones are truncated.
const MAX_PART_BYTES: usize = 4_000;
/// Maximum ranges in which one name is private.
const MAX_HIDDEN_RANGES: usize = 64;

/// A definition that may contain others.
pub(super) struct EnclosingDefinition {
    pub(super) range: Range<usize>,
    /// The node that it was read from.
    pub(super) node: usize,
    /// Of the definition; empty for what only lends its name.
    id: String,
    qualified: String,
    pub(super) kind: Option<Kind>,
    pub(super) exported: bool,
    /// The visibility of what it holds, where nothing is said there.
    pub(super) lends: Option<Visibility>,
}

/// The shared context for reading the definitions of a text.
pub(super) struct DefinitionReader<'a> {
    pub(super) language: Language,
    pub(super) settings: &'static LanguageSettings,
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) tree: &'a SyntaxTree,
    pub(super) ancestry: &'a Ancestry<'a>,
    pub(super) exported: HashSet<&'a str>,
    /// Names that are made private apart from their definition, with where that holds.
    pub(super) hidden: HashMap<&'a str, Vec<Range<usize>>>,
    /// Positions of `public:`, `private` and the like, by their parent node.
    pub(super) sections: RefCell<HashMap<usize, Vec<(usize, Visibility)>>>,
    /// Where lines end.
    breaks: Vec<usize>,
    /// The comment above the statement that was read last: all names of a statement share it.
    described: RefCell<Option<(usize, Option<Comment>)>>,
    /// Bytes that names with what is around them, and descriptions, may still take: both repeat text.
    room: Cell<usize>,
}

impl<'a> DefinitionReader<'a> {
    pub(super) fn new(
        source: &AnalyzedSource<'a>,
        ancestry: &'a Ancestry<'a>,
        exported: HashSet<&'a str>,
        all_hidden: Vec<(&'a str, Range<usize>)>,
    ) -> Self {
        let AnalyzedSource { path, language, text, tree } = *source;
        let mut hidden: HashMap<&str, Vec<Range<usize>>> = HashMap::new();
        for (name, range) in all_hidden {
            let ranges = hidden.entry(name).or_default();
            if ranges.len() < MAX_HIDDEN_RANGES {
                ranges.push(range);
            }
        }
        Self {
            language,
            settings: language.settings(),
            path,
            text,
            tree,
            ancestry,
            exported,
            hidden,
            sections: RefCell::default(),
            breaks: text.match_indices('\n').map(|(at, _)| at).collect(),
            described: RefCell::default(),
            room: Cell::new((64 << 10) + 16 * text.len()),
        }
    }

    /// Whether the budget for repeated bytes allows this many.
    fn has_room(&self, bytes: usize) -> bool {
        let left = self.room.get().checked_sub(bytes);
        left.inspect(|left| self.room.set(*left)).is_some()
    }

    /// The definition, unless it only lends its name, and its level for the definitions inside.
    pub(super) fn read(
        &self,
        found: &DefinitionMatch<'a>,
        open: &[EnclosingDefinition],
    ) -> (Option<LocatedDefinition>, EnclosingDefinition) {
        // A property among the parameters of a constructor belongs to the type.
        let is_property = found.kind == Some(Kind::Property);
        let of_type = |level: &&EnclosingDefinition| {
            !(is_property && level.kind.is_some_and(Kind::is_callable))
        };
        let around = open.iter().rev().find(of_type);
        let outer_name = around.map(|level| &level.qualified);
        let outer_name = outer_name.filter(|outer| self.has_room(outer.len()));
        let parts = [outer_name, found.within.as_ref(), Some(&found.name)];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        let qualified =
            parts.map(String::as_str).collect::<Vec<_>>().join(self.language.separator());
        // What `impl` holds are methods as well.
        let in_type =
            found.is_member || around.is_some_and(|level| level.kind.is_none_or(Kind::has_methods));
        let kind = found
            .kind
            .map(|kind| if kind == Kind::Function && in_type { Kind::Method } else { kind });
        let ResolvedVisibility { visibility, exported, lends } = self.visibility(found, around);
        let id = kind.map_or_else(String::new, |kind| {
            format!("{}:{}:{qualified}", kind.singular(), self.path)
        });
        let range = found.node.start_byte()..found.end;
        let nameless = found.name.is_empty() && found.visibility.is_some();
        let kind_inside =
            if nameless { around.map_or(Some(Kind::Module), |level| level.kind) } else { kind };
        let level = EnclosingDefinition {
            range,
            node: found.node.id(),
            id: id.clone(),
            qualified: qualified.clone(),
            kind: kind_inside,
            exported,
            lends,
        };
        let inside_function = open.iter().any(|level| level.kind.is_some_and(Kind::is_callable));
        let body = self.body(found);
        // In a body, `T x(y);` makes a value; a prototype is rarely written there.
        let is_value = |kind: &Kind| {
            *kind == Kind::Constant
                || (self.settings.parameters.inside && kind.is_callable() && body.is_none())
        };
        let Some(kind) = kind.filter(|kind| !(inside_function && is_value(kind))) else {
            return (None, level);
        };
        let outer = statement(self.settings, self.ancestry, found.node);
        let range = outer.start_byte()..outer.end_byte().max(found.end).min(self.text.len());
        let callable = found.callable.filter(|_| kind.is_callable());
        let above = attributes::above(self.settings, self.ancestry, outer, self.text);
        let description = self.describe(found.node, outer);
        let annotation = Annotation {
            id,
            kind,
            name: found.name.clone(),
            qualified_name: qualified,
            signature: self.signature(found, body),
            parameters: callable.map(|node| self.all_parameters(found, node, kind, &above)),
            return_type: self.return_type(found, callable, &above),
            modifiers: self.modifiers(found),
            visibility,
            decorators: self.decorators(found, &above),
            doc: description.as_ref().map(|said| said.parts(self.settings)),
            description: description.map(|said| said.plain),
            line: line_of(self.head(found.node)),
            end_line: self.last_line(found),
            exported,
            parent: self.parent(open.iter().rev().filter(of_type)),
            complexity: None,
            calls: Vec::new(),
        };
        let has_body = callable.is_some() && body.is_some();
        let implements =
            self.language == Language::Rust && self.is_of_trait_implementation(found.node);
        let owner =
            around.filter(|level| level.kind.is_none()).map(|level| level.qualified.clone());
        let owner = owner.or_else(|| found.within.clone().filter(|_| around.is_none()));
        let holder = self.ancestry.parent(outer).map_or(0, |parent| parent.id());
        let callable = callable.unwrap_or(found.node).byte_range();
        let definition =
            LocatedDefinition { annotation, range, callable, implements, has_body, holder, owner };
        (Some(definition), level)
    }

    /// The definition that one lies in, by its id.
    fn parent<'l>(
        &self,
        mut around: impl Iterator<Item = &'l EnclosingDefinition>,
    ) -> Option<String> {
        let level = around.find(|level| !level.id.is_empty())?;
        Some(level.id.clone()).filter(|id| self.has_room(id.len()))
    }

    /// The comment of a definition.
    fn describe(&self, node: Node<'a>, statement: Node<'a>) -> Option<Comment> {
        let shared = self.settings.comments.place == DocumentationPlacement::Above;
        let mut last = self.described.borrow_mut();
        let known = last.as_ref().filter(|(of, _)| shared && *of == statement.id());
        let found = match known {
            Some((_, comment)) => comment.clone(),
            None => comment::describe(self.settings, self.ancestry, node, self.text),
        };
        *last = Some((statement.id(), found.clone()));
        self.tree.count_work(found.as_ref().map_or(0, |comment| comment.plain.len()));
        found.filter(|comment| self.has_room(comment.plain.len()))
    }

    /// The row of a byte, counted from 0.
    fn row(&self, at: usize) -> usize {
        self.breaks.partition_point(|end| *end < at)
    }

    /// Some grammars take the line breaks behind a node along, or the comment of what comes next.
    fn last_line(&self, found: &DefinitionMatch<'_>) -> u32 {
        let mut last = found.node;
        let through = &self.settings.comments.through;
        if found.end == last.end_byte() && through.iter().any(|kind| kind == last.kind()) {
            let own = |child: &Node<'_>| !comment::is_comment(self.settings, *child);
            last = children(last).into_iter().rev().find(own).unwrap_or(last);
        }
        let end = if last == found.node { found.end } else { last.end_byte() };
        let text = self.text.get(found.node.start_byte()..end).unwrap_or_default();
        let row = self.row(found.node.start_byte() + text.trim_end().len());
        u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
    }

    pub(super) fn field<'tree>(node: Node<'tree>, names: &[String]) -> Option<Node<'tree>> {
        let of_kind = |name: &String| head_children(node).find(|child| child.kind() == name);
        names.iter().find_map(|name| node.child_by_field_name(name).or_else(|| of_kind(name)))
    }

    fn body<'tree>(&self, found: &DefinitionMatch<'tree>) -> Option<Node<'tree>> {
        let names = &self.settings.fields.body;
        let of_callable = || Self::field(found.callable?, names);
        found.body.or_else(of_callable).or_else(|| Self::field(found.node, names))
    }

    fn all_parameters(
        &self,
        found: &DefinitionMatch<'_>,
        callable: Node<'_>,
        kind: Kind,
        above: &[AttributeNode<'_>],
    ) -> Vec<Parameter> {
        if let Some(typed) = found.typed {
            return self.takes_and_gives(typed).0;
        }
        let list =
            found.parameters.or_else(|| Self::field(callable, &self.settings.fields.parameters));
        let mut parameters = match list {
            Some(list) => self.parameters(list, kind),
            // `x => x` has no list.
            None => callable
                .child_by_field_name("parameter")
                .map(|node| Parameter {
                    name: collapse_whitespace(text_of(node, self.text)),
                    ..Parameter::default()
                })
                .into_iter()
                .collect(),
        };
        let types = attributes::types(self.settings, above, &found.name, self.text);
        if let Some((takes, _)) = types.filter(|(takes, _)| takes.len() == parameters.len()) {
            for (parameter, of) in parameters.iter_mut().zip(takes) {
                parameter.of.get_or_insert(of);
            }
        }
        parameters
    }

    fn return_type(
        &self,
        found: &DefinitionMatch<'_>,
        callable: Option<Node<'_>>,
        above: &[AttributeNode<'_>],
    ) -> Option<String> {
        let callable = callable?;
        if let Some(typed) = found.typed {
            return self.takes_and_gives(typed).1;
        }
        let field = || Self::field(callable, &self.settings.fields.returns).into_iter().collect();
        let nodes = if found.returns.is_empty() { field() } else { found.returns.clone() };
        let written: Vec<String> = nodes
            .into_iter()
            .map(|node| collapse_whitespace(text_of(node, self.text).trim_start_matches("->")))
            .collect();
        let written = (!written.is_empty()).then(|| written.join(" "));
        let written = written.or_else(|| self.type_around(found.node, callable));
        written.or_else(|| Some(attributes::types(self.settings, above, &found.name, self.text)?.1))
    }

    /// The head of a definition on one line.
    fn signature(&self, found: &DefinitionMatch<'a>, body: Option<Node<'_>>) -> String {
        let start = self.signature_start(found.node);
        let end = body.map_or(found.node.end_byte(), |body| body.start_byte());
        // Nodes lie in each other: only as much is read as may be shown.
        let most = start.max(found.node.start_byte()) + MAX_HEAD_BYTES;
        let end = end.min(self.text.floor_char_boundary(most));
        let whole = self.text.get(start..end).unwrap_or_default();
        // What is a value and not a head ends with its first line.
        let is_head = body.is_some() || found.callable.is_some();
        // What stands before the node itself, such as the parameters of a template, may take lines of its own.
        let before = found.node.start_byte().saturating_sub(start);
        let before = if whole.get(..before).is_some_and(|before| !before.contains('{')) {
            before
        } else {
            0
        };
        let first_line = whole.get(before..).and_then(|rest| rest.find('\n')).map(|at| before + at);
        let length = if is_head { whole.len() } else { first_line.unwrap_or(whole.len()) };
        let head = self.remove_comments(found.node, start..start + length);
        let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
        // The word after a body that has nothing in it, and what leads an expression.
        let holds =
            is_head || found.kind.is_some_and(|kind| kind.has_methods() || kind == Kind::Module);
        let line = line.strip_suffix(" end").filter(|_| holds && body.is_none()).unwrap_or(&line);
        let line = line.strip_suffix(" =").filter(|_| is_head).unwrap_or(line);
        let line = line.trim_end_matches([' ', '{', ';', ',']).trim_end_matches("=>").trim_end();
        let line = line.strip_suffix(" =").unwrap_or(line);
        let line = line.trim_end_matches(':').trim_end();
        // `typedef struct { … } name`
        let line =
            if found.name_follows { format!("{line} {}", found.name) } else { line.to_owned() };
        truncate(&line, MAX_SIGNATURE_BYTES).into_owned()
    }

    /// A stretch of text at the start of a node, without the comments in it.
    fn remove_comments(&self, node: Node<'_>, range: Range<usize>) -> String {
        let mut kept = String::new();
        let mut from = range.start;
        let mut cursor = node.walk();
        'walk: loop {
            let node = cursor.node();
            if node.start_byte() >= range.end {
                break;
            }
            let inside = node.start_byte() >= from;
            if inside && node.is_named() && comment::is_comment(self.settings, node) {
                kept.push_str(self.text.get(from..node.start_byte()).unwrap_or_default());
                from = node.end_byte().min(range.end);
            } else if cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    break 'walk;
                }
            }
        }
        kept.push_str(self.text.get(from..range.end).unwrap_or_default());
        self.tree.count_work(range.len());
        kept
    }

    fn signature_start(&self, node: Node<'a>) -> usize {
        let mut outer = node;
        while let Some(parent) = self.ancestry.parent(outer) {
            let speaks = self.settings.heads.iter().any(|kind| kind == parent.kind());
            if !speaks || is_group(parent) {
                break;
            }
            outer = parent;
        }
        if outer == node { self.head(node).start_byte() } else { outer.start_byte() }
    }

    /// Where a definition begins to say what it is: after decorators, annotations and comments.
    fn head<'tree>(&self, node: Node<'tree>) -> Node<'tree> {
        let is = |kinds: &[String], node: Node<'_>| {
            node.is_named() && kinds.iter().any(|kind| kind == node.kind())
        };
        let passed = |child: Node<'_>| {
            let describes = child.kind().contains("comment") || child.kind() == "description";
            is(&self.settings.modifiers.decorators, child) || describes
        };
        let mut any = false;
        for child in node.children(&mut node.walk()) {
            if passed(child) {
                any = true;
            } else if is(&self.settings.modifiers.holders, child) && child.child_count() > 0 {
                let parts = children(child);
                let skips = parts.first().is_some_and(|first| passed(*first));
                match parts.into_iter().find(|part| !passed(*part)) {
                    Some(word) if skips => return word,
                    Some(_) => return if any { child } else { node },
                    None => any = true,
                }
            } else {
                return if any { child } else { node };
            }
        }
        node
    }

    /// The words before a definition, visibility among them.
    pub(super) fn words(&self, node: Node<'a>) -> Vec<&'a str> {
        let settings = &self.settings.modifiers;
        if settings.holders.is_empty() && settings.words.is_empty() {
            return Vec::new();
        }
        let mut words = Vec::new();
        let mut outer = node;
        loop {
            for child in head_children(outer) {
                let kind = child.kind();
                if settings.holders.iter().any(|one| one == kind) {
                    let parts = children(child);
                    let is_word = |part: &Node<'_>| {
                        let text = text_of(*part, self.text);
                        !settings.decorators.iter().any(|one| one == part.kind())
                            && text.starts_with(|c: char| c.is_ascii_lowercase())
                            && !text.contains(char::is_whitespace)
                    };
                    if parts.is_empty() {
                        words.push(text_of(child, self.text));
                    }
                    words.extend(
                        parts
                            .iter()
                            .filter(|part| is_word(part))
                            .map(|part| text_of(*part, self.text)),
                    );
                } else if !child.is_named() && settings.words.iter().any(|one| one == kind) {
                    words.push(text_of(child, self.text));
                }
            }
            match self.ancestry.parent(outer) {
                Some(parent) if comment::wraps(self.settings, parent) => outer = parent,
                _ => return words,
            }
        }
    }

    fn modifiers(&self, found: &DefinitionMatch<'a>) -> Vec<String> {
        let captured = found.modifiers.iter().map(|node| text_of(*node, self.text));
        // A function that is a value says some of them itself: `const f = async () => …`.
        let value = found.callable.filter(|callable| *callable != found.node);
        let settings = &self.settings.modifiers;
        let own = value.map(children).unwrap_or_default().into_iter().filter(|child| {
            !child.is_named() && settings.words.iter().any(|word| word == child.kind())
        });
        let own = own.map(|child| text_of(child, self.text));
        let is_after = |node: &Node<'_>| settings.after.iter().any(|kind| kind == node.kind());
        let after =
            found.callable.filter(|_| !settings.after.is_empty()).map_or_else(Vec::new, children);
        let after = after.into_iter().filter(is_after).map(|node| text_of(node, self.text));
        let is_skipped = |word: &str| settings.skip.iter().any(|one| one == word);
        let words = self.words(found.node).into_iter().filter(|word| !is_skipped(word));
        let words = captured.chain(words).chain(own).chain(after);
        let words = words.filter(|word| self.visibility_of(word).is_none() && *word != "export");
        words.map(str::to_owned).collect()
    }

    fn decorators(&self, found: &DefinitionMatch<'a>, above: &[AttributeNode<'a>]) -> Vec<String> {
        let settings = &self.settings.modifiers;
        let text = |node: &Node<'_>| {
            truncate(&collapse_whitespace(text_of(*node, self.text)), MAX_SIGNATURE_BYTES)
                .into_owned()
        };
        let mut all: Vec<Node<'a>> = found.decorators.clone();
        all.extend(attributes::filter_decorators(self.settings, above));
        if !settings.decorators.is_empty() {
            let is = |node: &Node<'_>| {
                node.is_named() && settings.decorators.iter().any(|one| one == node.kind())
            };
            let mut outer = found.node;
            loop {
                let mut above = self.ancestry.previous_named(outer);
                while let Some(sibling) =
                    above.filter(|one| is(one) || one.kind().contains("comment"))
                {
                    all.extend(Some(sibling).filter(is));
                    above = self.ancestry.previous_named(sibling);
                }
                let of_callable = found.callable.filter(|_| outer == found.node);
                let of_callable = of_callable.into_iter().flat_map(head_children);
                for child in head_children(outer).chain(of_callable) {
                    let holds = settings.holders.iter().any(|one| one == child.kind());
                    let parts = if holds { children(child) } else { vec![child] };
                    all.extend(parts.into_iter().filter(is));
                }
                match self.ancestry.parent(outer) {
                    Some(parent) if comment::wraps(self.settings, parent) => outer = parent,
                    _ => break,
                }
            }
        }
        all.sort_by_key(Node::start_byte);
        all.dedup();
        all.iter().map(text).collect()
    }
}

/// `const ( … )`: in a group, each member speaks for itself.
pub(crate) fn is_group(node: Node<'_>) -> bool {
    node.child(1).is_some_and(|child| child.kind() == "(")
}

/// One line, without the colon that leads a type.
pub(super) fn collapse_whitespace(text: &str) -> String {
    let text = &*truncate(text, MAX_PART_BYTES);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.strip_prefix(':').unwrap_or(&line).trim().to_owned()
}

/// The first children of a node, which include everything before its name.
pub(super) fn head_children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let first: Vec<Node<'_>> = node.children(&mut node.walk()).take(MAX_HEAD_CHILDREN).collect();
    first.into_iter()
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// Truncates to a number of bytes at a character boundary, with `…` if something is missing.
fn truncate(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default()))
}
