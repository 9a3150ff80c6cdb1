//! Design patterns across several types of a file.

use super::{
    Pattern, PatternConfidence, Sort,
    facts::{FileFacts, Function, Type, has_word, short_name},
};
use crate::{annotation::Kind, language::Language};
use std::collections::HashSet;

/// Maximum types compared with all others.
const MAX_COMPARED_TYPES: usize = 100;

/// Finds all of them.
pub(super) fn find(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    // Each of them is compared with all types.
    let mut left = MAX_COMPARED_TYPES;
    let accepts = facts.functions.iter().find(|function| {
        function.about.name.eq_ignore_ascii_case("accept")
            && facts.spend(function.text.len())
            && function.text.contains(".visit")
    });
    for one in &facts.types {
        if !facts.spend(1 + one.methods.len()) {
            return;
        }
        found.extend(strategy(facts, one, &mut left));
        found.extend(visitor(facts, one, accepts));
    }
    found.extend(functional_options(facts));
}

/// Strategy or state: an interface with several implementations, and a type that holds one of them.
fn strategy(facts: &FileFacts<'_>, one: &Type<'_>, left: &mut usize) -> Option<Pattern> {
    let open = matches!(one.about.kind, Kind::Interface | Kind::Trait)
        || one.about.modifiers.iter().any(|word| word == "abstract")
        || facts.methods(one).any(Function::is_abstract);
    let name = one.about.name.as_str();
    let ways: Vec<&Type<'_>> = facts.made_from(name).collect();
    if !open || ways.len() < 2 || one.methods.is_empty() || is_error(name) {
        return None;
    }
    *left = left.checked_sub(1)?;
    if !facts.spend(facts.types.len()) {
        return None;
    }
    let ids: HashSet<&str> = ways.iter().map(|way| way.about.id.as_str()).collect();
    let is_way = |holder: &&Type<'_>| ids.contains(holder.about.id.as_str());
    let others =
        facts.types.iter().filter(|holder| holder.about.id != one.about.id && !is_way(holder));
    let holder = others.clone().find_map(|holder| {
        let field = holder.fields.iter().find(|field| has_word(field.text, name));
        Some((holder, field?.line))
    });
    let by_constructor = || {
        others.clone().find_map(|holder| {
            let constructor =
                facts.methods(holder).find(|function| function.is_constructor(holder))?;
            let mut all = constructor.about.parameters.iter().flatten();
            let takes = all
                .any(|parameter| parameter.of.as_deref().is_some_and(|of| short_name(of) == name));
            takes.then_some((holder, constructor.about.line))
        })
    };
    let (holder, line) = holder.or_else(by_constructor)?;
    let mut lines = vec![one.about.line, line];
    lines.extend(ways.iter().take(5).map(|way| way.about.line));
    let names: Vec<&str> = ways.iter().take(5).map(|way| way.about.name.as_str()).collect();
    let names = names.join(", ");
    let (pattern, message) = if name.ends_with("State") {
        ("state", format!("{} behaves according to its {name}: {names}.", holder.about.name))
    } else {
        ("strategy", format!("{} works with any {name}: {names}.", holder.about.name))
    };
    Some(Pattern::design(pattern, PatternConfidence::High, lines, message))
}

fn is_error(name: &str) -> bool {
    ["Error", "Exception", "Warning"].iter().any(|end| name.ends_with(end))
}

/// Visitor: a method for each visited type, and a function that accepts it.
fn visitor(
    facts: &FileFacts<'_>,
    one: &Type<'_>,
    accepts: Option<&Function<'_>>,
) -> Option<Pattern> {
    let visits = |function: &&Function<'_>| {
        let rest = function.about.name.strip_prefix("visit");
        rest.is_some_and(|rest| {
            rest.starts_with(char::is_uppercase)
                || rest.strip_prefix('_').is_some_and(|of| !of.is_empty())
        })
    };
    let all: Vec<&Function<'_>> = facts.methods(one).filter(visits).collect();
    if all.len() < 3 && !(all.len() == 2 && one.about.name.ends_with("Visitor")) {
        return None;
    }
    let mut lines = vec![one.about.line];
    lines.extend(all.iter().take(3).map(|function| function.about.line));
    lines.extend(accepts.map(|function| function.about.line));
    let confidence = match accepts {
        Some(_) => PatternConfidence::High,
        None => PatternConfidence::Medium,
    };
    let message =
        format!("{} has a method for each of {} types that it visits.", one.about.name, all.len());
    Some(Pattern::design("visitor", confidence, lines, message))
}

/// Functional options in Go: functions that each set one option.
fn functional_options(facts: &FileFacts<'_>) -> Option<Pattern> {
    if facts.source.language != Language::Go {
        return None;
    }
    let gives = |function: &&Function<'_>| {
        let of = function.about.return_type.as_deref().unwrap_or_default();
        function.about.name.starts_with("With")
            && of.ends_with("Option")
            && function.text.contains("return func(")
    };
    if !facts.spend(facts.functions.len()) {
        return None;
    }
    let all: Vec<&Function<'_>> = facts.functions.iter().filter(gives).collect();
    let of = all.first()?.about.return_type.clone()?;
    let taken = facts.functions.iter().find(|function| {
        let last = function.about.parameters.as_deref().and_then(<[_]>::last);
        last.and_then(|one| one.of.as_deref()) == Some(format!("...{of}").as_str())
    });
    if all.len() < 2 {
        return None;
    }
    let mut lines: Vec<u32> = all.iter().take(5).map(|function| function.about.line).collect();
    lines.extend(taken.map(|function| function.about.line));
    let confidence =
        if taken.is_some() { PatternConfidence::High } else { PatternConfidence::Medium };
    let message = format!("{} functions each set one option, to be passed as {of}.", all.len());
    Some(Pattern::new("functional-options", Sort::Idiom, confidence, lines, message))
}
