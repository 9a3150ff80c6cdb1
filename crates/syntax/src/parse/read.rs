//! One definition, from its node.

use super::{Definition, names::Found, visibility::is_of_trait_implementation};
use crate::{
    annotation::{Annotation, Kind, Parameter, Visibility},
    comment::{self, statement},
    language::{Language, line_of, text_of},
    pack::Settings,
};
use std::{collections::HashSet, ops::Range};
use tree_sitter::Node;

/// A signature longer than this is cut.
const LONGEST_SIGNATURE: usize = 300;

/// A definition that others may lie in.
pub(super) struct Level {
    pub(super) range: Range<usize>,
    /// Of the definition; empty for what only lends its name.
    id: String,
    qualified: String,
    pub(super) kind: Option<Kind>,
    pub(super) exported: bool,
}

/// What every definition of a text is read with.
pub(super) struct Reader<'a> {
    pub(super) language: Language,
    pub(super) settings: &'static Settings,
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) exported: HashSet<&'a str>,
}

impl Reader<'_> {
    /// The definition, unless it only lends its name, and what it is to those inside.
    pub(super) fn read(&self, found: &Found<'_>, open: &[Level]) -> (Option<Definition>, Level) {
        let around = open.last();
        let outer = around.map(|level| &level.qualified).or(found.within.as_ref());
        let qualified = match outer {
            Some(outer) => format!("{outer}{}{}", self.language.separator(), found.name),
            None => found.name.clone(),
        };
        // What `impl` holds are methods as well.
        let in_type = around.is_some_and(|level| level.kind.is_none_or(Kind::has_methods));
        let kind = found
            .kind
            .map(|kind| if kind == Kind::Function && in_type { Kind::Method } else { kind });
        let (visibility, exported) = self.visibility(found, around);
        let id = kind.map_or_else(String::new, |kind| {
            format!("{}:{}:{qualified}", kind.singular(), self.path)
        });
        let range = found.node.byte_range();
        let level = Level { range, id: id.clone(), qualified: qualified.clone(), kind, exported };
        let inside_function = open.iter().any(|level| level.kind.is_some_and(Kind::is_callable));
        let Some(kind) = kind.filter(|kind| !(inside_function && *kind == Kind::Constant)) else {
            return (None, level);
        };
        let outer = statement(self.settings, found.node);
        let range = outer.start_byte()..outer.end_byte().max(found.node.end_byte());
        let callable = found.callable.filter(|_| kind.is_callable());
        let body = self.body(found);
        let description = comment::describe(self.settings, found.node, self.text);
        let annotation = Annotation {
            id,
            kind,
            name: found.name.clone(),
            qualified_name: qualified,
            signature: self.signature(found, body),
            parameters: callable.map(|node| self.all_parameters(found, node, kind)),
            return_type: callable.and_then(|node| self.return_type(found, node)),
            modifiers: self.modifiers(found.node),
            visibility,
            decorators: self.decorators(found),
            doc: description.as_ref().and_then(|said| said.parts(self.settings)),
            description: description.map(|said| said.plain),
            line: line_of(self.head(found.node)),
            end_line: last_line(found.node),
            exported,
            parent: open.iter().rev().map(|level| &level.id).find(|id| !id.is_empty()).cloned(),
            complexity: None,
            calls: Vec::new(),
        };
        let has_body = callable.is_some() && body.is_some();
        let implements = self.language == Language::Rust && is_of_trait_implementation(found.node);
        (Some(Definition { annotation, range, implements, has_body }), level)
    }

    fn field<'tree>(node: Node<'tree>, names: &[String]) -> Option<Node<'tree>> {
        names.iter().find_map(|name| node.child_by_field_name(name))
    }

    fn body<'tree>(&self, found: &Found<'tree>) -> Option<Node<'tree>> {
        let node = found.callable.unwrap_or(found.node);
        found.body.or_else(|| Self::field(node, &self.settings.fields.body))
    }

    fn all_parameters(&self, found: &Found<'_>, callable: Node<'_>, kind: Kind) -> Vec<Parameter> {
        let list =
            found.parameters.or_else(|| Self::field(callable, &self.settings.fields.parameters));
        match list {
            Some(list) => self.parameters(list, kind),
            // `x => x` has no list.
            None => callable
                .child_by_field_name("parameter")
                .map(|node| Parameter {
                    name: tidy(text_of(node, self.text)),
                    ..Parameter::default()
                })
                .into_iter()
                .collect(),
        }
    }

    fn return_type(&self, found: &Found<'_>, callable: Node<'_>) -> Option<String> {
        let node = found.returns.or_else(|| Self::field(callable, &self.settings.fields.returns));
        node.map(|node| tidy(text_of(node, self.text)))
    }

    /// The head of a definition on one line.
    fn signature(&self, found: &Found<'_>, body: Option<Node<'_>>) -> String {
        let start = self.signature_start(found.node);
        let end = body.map_or(found.node.end_byte(), |body| body.start_byte());
        let head = self.text.get(start..end).unwrap_or_default();
        // What is a value and not a head ends with its first line.
        let is_head = body.is_some() || found.callable.is_some();
        let head = if is_head { head } else { head.lines().next().unwrap_or_default() };
        let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.trim_end_matches([' ', '{', ';', ',']).trim_end_matches("=>").trim_end();
        cut(line.trim_end_matches(':').trim_end(), LONGEST_SIGNATURE)
    }

    fn signature_start(&self, node: Node<'_>) -> usize {
        let mut outer = node;
        while let Some(parent) = outer.parent() {
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
        let is = |kinds: &[String], node: Node<'_>| kinds.iter().any(|kind| kind == node.kind());
        let passed = |child: Node<'_>| {
            is(&self.settings.modifiers.decorators, child) || child.kind().contains("comment")
        };
        let mut any = false;
        for child in children(node) {
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
    pub(super) fn words(&self, node: Node<'_>) -> Vec<&str> {
        let settings = &self.settings.modifiers;
        if settings.holders.is_empty() && settings.words.is_empty() {
            return Vec::new();
        }
        let mut words = Vec::new();
        let mut outer = node;
        loop {
            for child in children(outer) {
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
            match outer.parent() {
                Some(parent) if comment::wraps(self.settings, parent, outer) => outer = parent,
                _ => return words,
            }
        }
    }

    fn modifiers(&self, node: Node<'_>) -> Vec<String> {
        let words = self.words(node).into_iter();
        let words = words.filter(|word| Visibility::named(word).is_none() && *word != "export");
        words.map(str::to_owned).collect()
    }

    fn decorators(&self, found: &Found<'_>) -> Vec<String> {
        let settings = &self.settings.modifiers;
        let text = |node: &Node<'_>| cut(&tidy(text_of(*node, self.text)), LONGEST_SIGNATURE);
        let mut all: Vec<Node<'_>> = found.decorators.clone();
        if !settings.decorators.is_empty() {
            let is = |node: &Node<'_>| settings.decorators.iter().any(|one| one == node.kind());
            let mut outer = found.node;
            loop {
                let mut above = outer.prev_named_sibling();
                while let Some(sibling) =
                    above.filter(|one| is(one) || one.kind().contains("comment"))
                {
                    all.extend(Some(sibling).filter(is));
                    above = sibling.prev_named_sibling();
                }
                for child in children(outer) {
                    let holds = settings.holders.iter().any(|one| one == child.kind());
                    let parts = if holds { children(child) } else { vec![child] };
                    all.extend(parts.into_iter().filter(is));
                }
                match outer.parent() {
                    Some(parent) if comment::wraps(self.settings, parent, outer) => outer = parent,
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
pub(super) fn tidy(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.strip_prefix(':').unwrap_or(&line).trim().to_owned()
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

fn last_line(node: Node<'_>) -> u32 {
    let end = node.end_position();
    // A node that takes its line break along ends on the line before.
    let row =
        if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row };
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

/// At most so many bytes, at the end of a character, and a mark where something is missing.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
