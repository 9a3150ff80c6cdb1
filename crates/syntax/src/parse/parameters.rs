//! Parameters as written.

use super::read::{DefinitionReader, children, collapse_whitespace};
use crate::{
    annotation::{Kind, Parameter},
    language::{matches_near, text_of},
};
use std::{collections::HashMap, ops::Range};
use tree_sitter::{Node, Query};

/// Maximum depth of parameters in a list: deeper nodes belong to their types and defaults.
const MAX_PARAMETER_DEPTH: u32 = 8;

impl DefinitionReader<'_> {
    /// Of a list, without the receiver.
    pub(super) fn parameters(&self, list: Node<'_>, kind: Kind) -> Vec<Parameter> {
        let mut parameters = match self.language.grammar().parameters() {
            Some(query) => self.query_parameters(query, list),
            None => list
                .named_children(&mut list.walk())
                .flat_map(|node| self.parameters_of(node))
                .collect(),
        };
        let rest = |child: &Node<'_>| !child.is_named() && child.kind() == "...";
        if self.settings.parameters.inside && children(list).iter().any(rest) {
            parameters.push(Parameter { name: "...".into(), ..Parameter::default() });
        }
        let is_receiver =
            |first: &Parameter| self.settings.parameters.receivers.contains(&first.name);
        if kind == Kind::Method && parameters.first().is_some_and(is_receiver) {
            parameters.remove(0);
        }
        parameters
    }

    /// Reads parameters by the pack's query. If several patterns match one parameter, the last wins.
    fn query_parameters(&self, query: &'static Query, list: Node<'_>) -> Vec<Parameter> {
        let mut all: Vec<(Node<'_>, Parameter)> = Vec::new();
        let mut known: HashMap<usize, usize> = HashMap::new();
        let text = |node: Node<'_>| collapse_whitespace(text_of(node, self.text));
        // Where the list is the callable itself, what its body holds is not about it.
        let body = Self::field(list, &self.settings.fields.body).map(|body| body.byte_range());
        let mut found = matches_near(self.tree, query, list, self.text, MAX_PARAMETER_DEPTH);
        found.retain(|one| {
            let at = one.get("parameter").map_or(0, |node| node.start_byte());
            !body.as_ref().is_some_and(|body| body.contains(&at))
        });
        found.sort_by_key(|one| one.pattern);
        for one in found {
            let Some(node) = one.get("parameter") else { continue };
            let at = *known.entry(node.id()).or_insert_with(|| {
                all.push((node, Parameter { name: "_".into(), ..Parameter::default() }));
                all.len() - 1
            });
            let parameter = &mut all[at].1;
            if let Some(name) = one.get("name") {
                parameter.name = text(name);
            }
            parameter.of = one.get("type").map(text).or_else(|| parameter.of.take());
            parameter.default = one.get("default").map(text).or_else(|| parameter.default.take());
            let left_out = one.get("optional").is_some() || one.get("default").is_some();
            parameter.optional = (parameter.optional || left_out) && one.get("required").is_none();
        }
        all.sort_by_key(|(node, _)| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
        let mut end = 0;
        // What lies in a parameter belongs to its type.
        all.retain(|(node, _)| {
            let outer = node.start_byte() >= end;
            end = end.max(node.end_byte());
            outer
        });
        all.into_iter().map(|(_, parameter)| parameter).collect()
    }

    /// What a type that is written apart says: one parameter an arrow, and the result.
    pub(super) fn takes_and_gives(&self, typed: Node<'_>) -> (Vec<Parameter>, Option<String>) {
        let settings = &self.settings.typed;
        let is = |kinds: &[String], node: Node<'_>| kinds.iter().any(|kind| kind == node.kind());
        let text = |node: Node<'_>| collapse_whitespace(text_of(node, self.text));
        let mut takes = Vec::new();
        let mut rest = typed;
        loop {
            let next = if is(&settings.arrows, rest) {
                let of = rest.child_by_field_name("parameter").map(text);
                takes.push(Parameter { name: "_".into(), of, ..Parameter::default() });
                rest.child_by_field_name("result")
            } else if is(&settings.around, rest) {
                rest.child_by_field_name("type")
            } else {
                return (takes, Some(text(rest)));
            };
            let Some(next) = next else { return (takes, None) };
            rest = next;
        }
    }

    /// Some languages write one type after several names, or none before it.
    fn parameters_of(&self, node: Node<'_>) -> Vec<Parameter> {
        let settings = &self.settings.parameters;
        let kind = node.kind();
        let listed = settings.kinds.is_empty() || settings.kinds.iter().any(|one| one == kind);
        if !listed || kind.contains("comment") || settings.skip.iter().any(|one| one == kind) {
            return Vec::new();
        }
        if kind == "spread_parameter" {
            return self.read_variadic(node).into_iter().collect();
        }
        let text = |node: Node<'_>| collapse_whitespace(text_of(node, self.text));
        if settings.whole.iter().any(|one| one == kind) {
            return vec![Parameter { name: text(node), ..Parameter::default() }];
        }
        if settings.inside
            && let Some(declarator) = node.child_by_field_name("declarator")
        {
            return vec![self.read_declared(node, declarator)];
        }
        let of = Self::field(node, &settings.of);
        let value =
            |node| text_of(node, self.text).split_whitespace().collect::<Vec<_>>().join(" ");
        let default = Self::field(node, &settings.default).map(value);
        let default = default.map(|value| value.trim_start_matches("= ").to_owned());
        let optional = default.is_some() || settings.optional.iter().any(|one| one == kind);
        let mut names = names(node, &settings.name);
        if names.is_empty() {
            // One that is only a type has no name; one with a type after it has the name first.
            names.extend(match of {
                Some(of) => node.named_child(0).filter(|first| *first != of),
                None => Some(node),
            });
        }
        let of = of.map(|of| {
            let dots = if kind.starts_with("variadic") { "..." } else { "" };
            format!("{dots}{}", text(of))
        });
        if names.is_empty() {
            // C's way to say that there are none.
            let is_void = of.as_deref() == Some("void");
            let only = Parameter { name: "_".into(), of, default, optional };
            return if is_void { Vec::new() } else { vec![only] };
        }
        let with_name = |name: Node<'_>| Parameter {
            name: text(name),
            of: of.clone(),
            default: default.clone(),
            optional,
        };
        names.into_iter().map(with_name).filter(|one| one.name != "this").collect()
    }

    /// `char *name[2] = x`: the name is inside its type.
    fn read_declared(&self, node: Node<'_>, declarator: Node<'_>) -> Parameter {
        let default = node.child_by_field_name("default_value");
        let name = declared_name(declarator);
        let hole =
            name.map_or(declarator.end_byte()..declarator.end_byte(), |name| name.byte_range());
        Parameter {
            name: name.map_or("_", |name| text_of(name, self.text)).to_owned(),
            of: self.without(node.start_byte()..declarator.end_byte(), hole),
            default: default.map(|node| collapse_whitespace(text_of(node, self.text))),
            optional: default.is_some(),
        }
    }

    /// The type that is written around a declarator, where a language writes it so.
    pub(super) fn type_around(&self, holder: Node<'_>, declarator: Node<'_>) -> Option<String> {
        if !self.settings.parameters.inside {
            return None;
        }
        let of = holder.child_by_field_name("type")?;
        let is_constant = |node: &Node<'_>| {
            node.kind() == "type_qualifier"
                && matches!(text_of(*node, self.text), "const" | "volatile")
        };
        let first = children(holder)
            .into_iter()
            .find(is_constant)
            .filter(|one| one.start_byte() < of.start_byte());
        let end = holder.child_by_field_name("declarator")?.end_byte();
        self.without(first.unwrap_or(of).start_byte()..end, declarator.byte_range())
    }

    /// A stretch of the text without a part of it.
    fn without(&self, whole: Range<usize>, hole: Range<usize>) -> Option<String> {
        let before = self.text.get(whole.start..hole.start)?;
        let after = self.text.get(hole.end..whole.end)?;
        Some(collapse_whitespace(&format!("{before}{after}"))).filter(|text| !text.is_empty())
    }

    /// Java puts the name of `String... all` a level deeper.
    fn read_variadic(&self, node: Node<'_>) -> Option<Parameter> {
        let parts = children(node);
        let name = parts.iter().find(|part| part.kind() == "variable_declarator")?;
        let annotations = ["modifiers", "annotation", "marker_annotation"];
        let of = parts.iter().find(|part| part.is_named() && !annotations.contains(&part.kind()));
        let text = |node: &Node<'_>| collapse_whitespace(text_of(*node, self.text));
        let of = of.map(|node| format!("{}...", text(node)));
        Some(Parameter { name: text(name), of, ..Parameter::default() })
    }
}

/// The name inside a declarator, however many stars, brackets and parentheses are around it.
fn declared_name(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    loop {
        if node.kind().ends_with("identifier") {
            return Some(node);
        }
        let is_inner = |child: &Node<'_>| {
            let kind = child.kind();
            kind.ends_with("declarator") || kind == "identifier" || kind == "field_identifier"
        };
        let inner = || children(node).into_iter().find(is_inner);
        node = node.child_by_field_name("declarator").or_else(inner)?;
    }
}

fn names<'tree>(node: Node<'tree>, fields: &[String]) -> Vec<Node<'tree>> {
    let mut cursor = node.walk();
    for field in fields {
        let found: Vec<Node<'tree>> = node.children_by_field_name(field, &mut cursor).collect();
        let found = if found.is_empty() {
            children(node).into_iter().filter(|child| child.kind() == field).collect()
        } else {
            found
        };
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}
