//! The visibility of definitions.

use super::{
    names::DefinitionMatch,
    read::{DefinitionReader, EnclosingDefinition, head_children},
};
use crate::{
    annotation::{Kind, Visibility},
    comment::statement,
    language::text_of,
    pack::VisibilityRule,
};
use tree_sitter::Node;

/// The visibility of a definition, and its effect on its members.
pub(super) struct ResolvedVisibility {
    pub(super) visibility: Visibility,
    /// Whether other files can use it.
    pub(super) exported: bool,
    /// The default visibility of its members.
    pub(super) lends: Option<Visibility>,
}

impl<'a> DefinitionReader<'a> {
    /// What is said of it, or holds where nothing is said.
    pub(super) fn visibility(
        &self,
        found: &DefinitionMatch<'a>,
        around: Option<&EnclosingDefinition>,
    ) -> ResolvedVisibility {
        let settings = &self.settings.visibility;
        let in_module = around.is_none_or(|level| level.kind == Some(Kind::Module));
        let exports = settings.rule == VisibilityRule::Export && in_module;
        let in_function = around.is_some_and(|level| level.kind.is_some_and(Kind::is_callable));
        let own = self.by_name(found).or(found.visibility).or_else(|| self.outside(found, around));
        let own = own.or_else(|| match settings.rule {
            VisibilityRule::Everyone => None,
            // What a function defines is its own.
            _ if in_function => Some(Visibility::Private),
            VisibilityRule::Underscore => Some(by_underscore(&found.name)),
            VisibilityRule::Capital => Some(by_capital(found)),
            VisibilityRule::Modifier => self.by_modifier(found.node),
            VisibilityRule::Section => {
                self.by_modifier(found.node).or_else(|| self.by_section(found.node))
            }
            VisibilityRule::Export if in_module => Some(self.by_export(found)),
            VisibilityRule::Export if found.name.starts_with('#') => Some(Visibility::Private),
            VisibilityRule::Export => self.by_modifier(found.node).or(Some(Visibility::Public)),
            VisibilityRule::Pub => Some(self.by_pub(found, around)),
            VisibilityRule::List => self.by_list(found, around),
        });
        let inside = || settings.inside.get(&around?.kind?).copied();
        let lent = || around?.lends;
        let visibility = own.or_else(lent).or_else(inside).unwrap_or(settings.default);
        let lends = match found.kind {
            None => own.or_else(lent),
            Some(kind) => settings.inherit.contains(&kind).then_some(visibility),
        };
        let reachable =
            around.is_none_or(|level| level.exported && !level.kind.is_some_and(Kind::is_callable));
        // Members of a namespace are exported as the namespace is; a scope has no visibility of its own.
        let exported =
            found.kind.is_none() || (visibility == Visibility::Public && (exports || reachable));
        ResolvedVisibility { visibility, exported, lends }
    }

    fn by_modifier(&self, node: Node<'_>) -> Option<Visibility> {
        self.words(node).into_iter().find_map(|word| self.visibility_of(word))
    }

    /// What a modifier says of it, if it does.
    pub(super) fn visibility_of(&self, word: &str) -> Option<Visibility> {
        let ignored = self.settings.visibility.ignore.iter().any(|one| one == word);
        if ignored { None } else { Visibility::from_name(word) }
    }

    /// What is said of its name elsewhere.
    fn by_name(&self, found: &DefinitionMatch<'_>) -> Option<Visibility> {
        let at = found.node.start_byte();
        let ranges = self.hidden.get(found.name.as_str())?;
        ranges.iter().any(|range| range.contains(&at)).then_some(Visibility::Private)
    }

    /// By a modifier that hides top-level definitions, unless the file is meant to be included.
    fn outside(
        &self,
        found: &DefinitionMatch<'a>,
        around: Option<&EnclosingDefinition>,
    ) -> Option<Visibility> {
        let settings = &self.settings.visibility;
        let in_type = around.is_some_and(|level| level.kind.is_none_or(Kind::has_methods));
        let ending = self.path.rsplit('.').next().unwrap_or_default();
        if settings.outside.is_empty() || in_type || settings.shared.iter().any(|one| one == ending)
        {
            return None;
        }
        self.words(found.node).into_iter().find_map(|word| settings.outside.get(word).copied())
    }

    /// By the nearest `public:` or `private` above it.
    fn by_section(&self, node: Node<'a>) -> Option<Visibility> {
        let mut inner = statement(self.settings, self.ancestry, node);
        loop {
            let parent = self.ancestry.parent(inner)?;
            let mut known = self.sections.borrow_mut();
            let sections = known.entry(parent.id()).or_insert_with(|| self.sections_in(parent));
            let before = sections.partition_point(|(at, _)| *at < inner.start_byte());
            if let Some((_, found)) = before.checked_sub(1).and_then(|last| sections.get(last)) {
                return Some(*found);
            }
            // A preprocessor conditional is not a holder.
            if !parent.kind().starts_with("preproc") {
                return None;
            }
            inner = parent;
        }
    }

    fn sections_in(&self, holder: Node<'_>) -> Vec<(usize, Visibility)> {
        let section = |child: Node<'_>| {
            let said = Some(text_of(child, self.text)).filter(|said| said.len() < 12)?;
            let named = Visibility::from_name(said.trim_end_matches(':').trim());
            Some((child.start_byte(), named?))
        };
        holder.named_children(&mut holder.walk()).filter_map(section).collect()
    }

    fn by_export(&self, found: &DefinitionMatch<'a>) -> Visibility {
        let exported = statement(self.settings, self.ancestry, found.node).kind()
            == "export_statement"
            || self.exported.contains(found.name.as_str());
        if exported { Visibility::Public } else { Visibility::Private }
    }

    /// Members of a type are exported with it.
    fn by_list(
        &self,
        found: &DefinitionMatch<'_>,
        around: Option<&EnclosingDefinition>,
    ) -> Option<Visibility> {
        match around {
            Some(level) => (!level.exported).then_some(Visibility::Private),
            None if self.exported.is_empty() || self.exported.contains(found.name.as_str()) => None,
            None => Some(Visibility::Private),
        }
    }

    fn by_pub(
        &self,
        found: &DefinitionMatch<'a>,
        around: Option<&EnclosingDefinition>,
    ) -> Visibility {
        let said = head_children(found.node)
            .find(|child| matches!(child.kind(), "visibility_modifier" | "pub"))
            .map(|child| text_of(child, self.text));
        // The items of a trait, and of its implementations, are as visible as the trait.
        let of_trait = around.is_some_and(|level| level.kind == Some(Kind::Trait));
        match said {
            Some("pub") => Visibility::Public,
            Some(_) => Visibility::Internal,
            None if of_trait || self.is_of_trait_implementation(found.node) => Visibility::Public,
            None => Visibility::Private,
        }
    }

    /// Whether an item is in `impl Trait for …`.
    pub(super) fn is_of_trait_implementation(&self, node: Node<'a>) -> bool {
        let holder = self.ancestry.parent(node).and_then(|list| self.ancestry.parent(list));
        holder.is_some_and(|holder| {
            holder.kind() == "impl_item" && holder.child_by_field_name("trait").is_some()
        })
    }
}

fn by_underscore(name: &str) -> Visibility {
    let dunder = name.starts_with("__") && name.ends_with("__");
    if dunder || !name.starts_with('_') { Visibility::Public } else { Visibility::Private }
}

fn by_capital(found: &DefinitionMatch<'_>) -> Visibility {
    let capital = |name: &str| name.starts_with(char::is_uppercase);
    let all = capital(&found.name) && found.within.as_deref().is_none_or(capital);
    if all { Visibility::Public } else { Visibility::Internal }
}
