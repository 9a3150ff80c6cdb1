//! Parameters as they are written.

use super::read::{Reader, children, tidy};
use crate::{
    annotation::{Kind, Parameter},
    language::text_of,
};
use tree_sitter::Node;

impl Reader<'_> {
    /// Of a list, without the receiver.
    pub(super) fn parameters(&self, list: Node<'_>, kind: Kind) -> Vec<Parameter> {
        let all = list.named_children(&mut list.walk()).collect::<Vec<_>>();
        let mut parameters: Vec<Parameter> =
            all.into_iter().flat_map(|node| self.parameters_of(node)).collect();
        let is_receiver =
            |first: &Parameter| self.settings.parameters.receivers.contains(&first.name);
        if kind == Kind::Method && parameters.first().is_some_and(is_receiver) {
            parameters.remove(0);
        }
        parameters
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
            return self.spread(node).into_iter().collect();
        }
        let text = |node: Node<'_>| tidy(text_of(node, self.text));
        let field = |names: &[String]| names.iter().find_map(|name| node.child_by_field_name(name));
        let of = field(&settings.of);
        let default = field(&settings.default).map(text);
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
            let none = of.as_deref() == Some("void");
            let only = Parameter { name: "_".into(), of, default, optional };
            return if none { Vec::new() } else { vec![only] };
        }
        let with_name = |name: Node<'_>| Parameter {
            name: text(name),
            of: of.clone(),
            default: default.clone(),
            optional,
        };
        names.into_iter().map(with_name).filter(|one| one.name != "this").collect()
    }

    /// Java puts the name of `String... all` a level deeper.
    fn spread(&self, node: Node<'_>) -> Option<Parameter> {
        let parts = children(node);
        let name = parts.iter().find(|part| part.kind() == "variable_declarator")?;
        let annotations = ["modifiers", "annotation", "marker_annotation"];
        let of = parts.iter().find(|part| part.is_named() && !annotations.contains(&part.kind()));
        let text = |node: &Node<'_>| tidy(text_of(*node, self.text));
        let of = of.map(|node| format!("{}...", text(node)));
        Some(Parameter { name: text(name), of, ..Parameter::default() })
    }
}

fn names<'tree>(node: Node<'tree>, fields: &[String]) -> Vec<Node<'tree>> {
    let mut cursor = node.walk();
    for field in fields {
        let found: Vec<Node<'tree>> = node.children_by_field_name(field, &mut cursor).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}
