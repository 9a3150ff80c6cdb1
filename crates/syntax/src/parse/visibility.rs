//! Who may use a definition.

use super::{
    names::Found,
    read::{Level, Reader, children},
};
use crate::{
    annotation::{Kind, Visibility},
    comment::statement,
    language::text_of,
    pack::Rule,
};
use tree_sitter::Node;

impl Reader<'_> {
    /// What is said of it, or holds where nothing is said; and whether other files can use it.
    pub(super) fn visibility(
        &self,
        found: &Found<'_>,
        around: Option<&Level>,
    ) -> (Visibility, bool) {
        let settings = &self.settings.visibility;
        let in_module = around.is_none_or(|level| level.kind == Some(Kind::Module));
        let exports = settings.rule == Rule::Export && in_module;
        let told = found.visibility.or_else(|| match settings.rule {
            Rule::Everyone => None,
            Rule::Underscore => Some(by_underscore(&found.name)),
            Rule::Capital => Some(by_capital(found)),
            Rule::Modifier => self.by_modifier(found.node),
            Rule::Section => self.by_modifier(found.node).or_else(|| self.by_section(found.node)),
            Rule::Export if in_module => Some(self.by_export(found)),
            Rule::Export if found.name.starts_with('#') => Some(Visibility::Private),
            Rule::Export => self.by_modifier(found.node).or(Some(Visibility::Public)),
            Rule::Pub => Some(self.by_pub(found, around)),
        });
        let inside = || settings.inside.get(&around?.kind?).copied();
        let visibility = told.or_else(inside).unwrap_or(settings.default);
        let reachable =
            around.is_none_or(|level| level.exported && !level.kind.is_some_and(Kind::is_callable));
        // What a namespace exports is told as if the namespace were; a scope has no visibility of its own.
        let exported =
            found.kind.is_none() || (visibility == Visibility::Public && (exports || reachable));
        (visibility, exported)
    }

    fn by_modifier(&self, node: Node<'_>) -> Option<Visibility> {
        self.words(node).into_iter().find_map(Visibility::named)
    }

    /// By the nearest `public:` or `private` above it.
    fn by_section(&self, node: Node<'_>) -> Option<Visibility> {
        let mut above = statement(self.settings, node).prev_named_sibling();
        while let Some(sibling) = above {
            let said = text_of(sibling, self.text);
            if said.len() < 12
                && let Some(found) = Visibility::named(said.trim_end_matches(':').trim())
            {
                return Some(found);
            }
            above = sibling.prev_named_sibling();
        }
        None
    }

    fn by_export(&self, found: &Found<'_>) -> Visibility {
        let exported = statement(self.settings, found.node).kind() == "export_statement"
            || self.exported.contains(found.name.as_str());
        if exported { Visibility::Public } else { Visibility::Private }
    }

    fn by_pub(&self, found: &Found<'_>, around: Option<&Level>) -> Visibility {
        let said = children(found.node)
            .into_iter()
            .find(|child| matches!(child.kind(), "visibility_modifier" | "pub"))
            .map(|child| text_of(child, self.text));
        // The items of a trait, and of its implementations, are as visible as the trait.
        let of_trait = around.is_some_and(|level| level.kind == Some(Kind::Trait));
        match said {
            Some("pub") => Visibility::Public,
            Some(_) => Visibility::Internal,
            None if of_trait || is_of_trait_implementation(found.node) => Visibility::Public,
            None => Visibility::Private,
        }
    }
}

fn by_underscore(name: &str) -> Visibility {
    let dunder = name.starts_with("__") && name.ends_with("__");
    if dunder || !name.starts_with('_') { Visibility::Public } else { Visibility::Private }
}

fn by_capital(found: &Found<'_>) -> Visibility {
    let capital = |name: &str| name.starts_with(char::is_uppercase);
    let all = capital(&found.name) && found.within.as_deref().is_none_or(capital);
    if all { Visibility::Public } else { Visibility::Internal }
}

/// Whether an item stands in `impl Trait for …`.
pub(super) fn is_of_trait_implementation(node: Node<'_>) -> bool {
    node.parent().and_then(|list| list.parent()).is_some_and(|holder| {
        holder.kind() == "impl_item" && holder.child_by_field_name("trait").is_some()
    })
}
