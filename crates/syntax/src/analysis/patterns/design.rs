//! Design patterns that one type shows by its members.

use super::{
    Pattern, PatternConfidence, Sort,
    facts::{FieldFacts, FileFacts, Function, Type, has_word, short_name},
};
use crate::{
    annotation::{Kind, Visibility},
    language::Language,
};
use std::collections::{HashMap, HashSet};

/// Finds all of them.
pub(super) fn find(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    for one in &facts.types {
        // Each of them reads the methods.
        let bytes: usize = facts.methods(one).map(|method| method.text.len()).sum();
        if !facts.spend(bytes + one.methods.len() + one.fields.len()) {
            return;
        }
        found.extend(singleton(facts, one));
        found.extend(builder(facts, one));
        found.extend(observer(facts, one));
        found.extend(wrapper(facts, one));
        found.extend(iterator(facts, one));
        found.extend(injection(facts, one));
        found.extend(template_method(facts, one));
        found.extend(context_manager(facts, one));
        found.extend(raii(one));
    }
    let types: HashSet<&str> = facts.types.iter().map(|one| one.about.name.as_str()).collect();
    found.extend(facts.functions.iter().filter_map(|one| factory(facts, one, &types)));
    wrapping_functions(facts, found);
}

fn method<'s, 'a>(
    facts: &'s FileFacts<'a>,
    of: &'s Type<'a>,
    names: &[&str],
) -> Option<&'s Function<'a>> {
    facts.methods(of).find(|one| names.contains(&one.about.name.as_str()))
}

/// Whether a method belongs to the type and not to one object.
fn is_static(function: &Function<'_>) -> bool {
    function.has_modifier("static")
        || function.has_decorator("classmethod")
        || function.has_decorator("staticmethod")
}

/// Singleton: one instance kept by the type itself, and one accessor.
fn singleton(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    let holds_instance = |field: &&FieldFacts<'_>| {
        let name = field.name.trim_start_matches(['_', '#']).to_ascii_lowercase();
        let named = matches!(name.as_str(), "instance" | "singleton" | "shared" | "theinstance");
        named && (has_word(field.text, "static") || facts.source.language == Language::Python)
    };
    let field = one.fields.iter().find(holds_instance)?;
    let gives = |function: &&Function<'_>| {
        (is_static(function) || function.about.name == "__new__")
            && has_word(function.text, field.name)
            && parameters_at_most(function, 2)
    };
    let way = facts.methods(one).find(gives)?;
    let makes = |function: &&Function<'_>| function.is_constructor(one);
    let constructor = facts.methods(one).find(makes);
    let closed = constructor.is_some_and(|one| one.about.visibility == Visibility::Private)
        || way.about.name == "__new__";
    let confidence = if closed { PatternConfidence::High } else { PatternConfidence::Medium };
    let message = format!(
        "{} keeps a single instance of itself in {}, and {} returns it.",
        one.about.name, field.name, way.about.name
    );
    Some(Pattern::design(
        "singleton",
        confidence,
        vec![one.about.line, field.line, way.about.line],
        message,
    ))
}

fn parameters_at_most(function: &Function<'_>, most: usize) -> bool {
    function.about.parameters.as_ref().is_none_or(|all| all.len() <= most)
}

/// Whether a method returns its receiver.
fn is_fluent(function: &Function<'_>, of: &Type<'_>) -> bool {
    let last = function.text.trim_end_matches(|c: char| c == '}' || c.is_whitespace());
    let last = last.lines().next_back().unwrap_or_default().trim();
    let gives = last.rsplit(['{', ';']).find(|part| !part.trim().is_empty()).unwrap_or(last).trim();
    let own = matches!(gives, "return self" | "return this" | "self" | "return $this");
    let says = function.about.return_type.as_deref().is_none_or(|of_what| {
        let name = short_name(of_what);
        name == of.about.name
            || name == "Self"
            || name == "this"
            || name == "self"
            || name == "static"
    });
    let receiver = go_receiver(function);
    let by_receiver = receiver.is_some_and(|name| gives == format!("return {name}"));
    // `__enter__` and `iter` give themselves for other reasons.
    let special = function.about.name.starts_with("__")
        || function.about.name == "iter"
        || function.is_constructor(of);
    (own || by_receiver) && says && !special && !is_static(function)
}

fn go_receiver<'a>(function: &'a Function<'_>) -> Option<&'a str> {
    let (_, after) = function.about.signature.split_once("func (")?;
    after.split_once(' ').map(|(name, _)| name)
}

/// Builder: chainable setters, and a method that builds the result.
fn builder(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    let fluent: Vec<&Function<'_>> =
        facts.methods(one).filter(|function| is_fluent(function, one)).collect();
    if fluent.len() < 2 {
        return None;
    }
    let name = &one.about.name;
    let made = method(facts, one, &["build", "Build", "finish", "create", "toObject"]);
    let first = fluent.iter().take(3).map(|function| function.about.line);
    let mut lines = vec![one.about.line];
    lines.extend(first);
    let count = fluent.len();
    match made.filter(|made| !is_fluent(made, one)) {
        Some(made) => {
            lines.push(made.about.line);
            let called = name.ends_with("Builder") || made.about.name.eq_ignore_ascii_case("build");
            let confidence =
                if called { PatternConfidence::High } else { PatternConfidence::Medium };
            let message = format!(
                "{count} methods of {name} configure it and return it; {} builds the result.",
                made.about.name
            );
            Some(Pattern::design("builder", confidence, lines, message))
        }
        None if count >= 4 => {
            let message = format!("{count} methods of {name} return it, so calls can be chained.");
            Some(Pattern::new(
                "fluent-interface",
                Sort::Idiom,
                PatternConfidence::Medium,
                lines,
                message,
            ))
        }
        None => None,
    }
}

/// Observer: a list of subscribers, and a method that calls each of them.
fn observer(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    const SUBSCRIBE: [&str; 9] = [
        "subscribe",
        "addlistener",
        "addobserver",
        "on",
        "connect",
        "attach",
        "register",
        "addeventlistener",
        "addhandler",
    ];
    const NOTIFY: [&str; 7] = ["notify", "emit", "fire", "publish", "dispatch", "send", "trigger"];
    let plain = |function: &Function<'_>| function.about.name.replace('_', "").to_ascii_lowercase();
    let joins = |function: &&Function<'_>| {
        SUBSCRIBE.iter().any(|word| {
            plain(function) == *word || (word.len() > 3 && plain(function).starts_with(word))
        })
    };
    let notifies =
        |function: &&Function<'_>| NOTIFY.iter().any(|word| plain(function).starts_with(word));
    let adds = |field: &str, text: &str| {
        ["push", "append", "add", "put", "set", "insert"]
            .iter()
            .any(|word| text.contains(&format!("{field}.{word}(")))
            || text.contains(&format!("append({field}"))
            || text.contains(&format!("{field}[")) && text.contains("= ")
    };
    for join in facts.methods(one).filter(joins) {
        for field in &one.fields {
            if !facts.spend(join.text.len()) {
                return None;
            }
            let joined =
                adds(field.name, join.text) || adds(&format!("self.{}", field.name), join.text);
            if !joined || !has_word(join.text, field.name) {
                continue;
            }
            let loops = |text: &str| {
                ["for ", "for(", "forEach", "for_each"].iter().any(|word| text.contains(word))
            };
            let caller = facts
                .methods(one)
                .filter(notifies)
                .take_while(|notify| facts.spend(notify.text.len()))
                .find(|notify| loops(notify.text) && has_word(notify.text, field.name));
            if let Some(notify) = caller {
                let message = format!(
                    "{} of {} adds to {}, and {} calls each of them.",
                    join.about.name, one.about.name, field.name, notify.about.name
                );
                let lines = vec![one.about.line, field.line, join.about.line, notify.about.line];
                return Some(Pattern::design("observer", PatternConfidence::High, lines, message));
            }
        }
    }
    None
}

/// Wrapper: methods that delegate to the same method of a field.
fn wrapper(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    let hands_on = |function: &Function<'_>, field: &str| {
        let name = &function.about.name;
        let short = function.figures.length <= 8
            && !function.is_constructor(one)
            && facts.spend(function.text.len());
        let calls = |lead: &str| function.text.contains(&format!("{lead}.{field}.{name}("));
        short
            && (calls("self")
                || calls("this")
                || go_receiver(function).is_some_and(calls)
                || (facts.source.language == Language::Java
                    && has_call(function.text, &format!("{field}.{name}"))))
    };
    let best = one.fields.iter().map(|field| {
        let all: Vec<u32> = facts
            .methods(one)
            .filter(|function| hands_on(function, field.name))
            .map(|function| function.about.line)
            .collect();
        (field, all)
    });
    let (field, all) = best.max_by_key(|(_, all)| all.len())?;
    let methods = facts.methods(one).filter(|function| !function.is_constructor(one)).count();
    if all.len() < 3 || all.len() * 2 < methods {
        return None;
    }
    // Same interface as the field: a decorator. Its own interface: a wrapper.
    let shares = one.bases.iter().any(|base| has_word(field.text, base) || takes(facts, one, base));
    let count = all.len();
    let message = format!(
        "{count} methods of {} delegate to the method of the same name in {}.",
        one.about.name, field.name
    );
    let mut lines = vec![one.about.line, field.line];
    lines.extend(all.iter().take(3));
    let name = match (shares, one.about.name.ends_with("Adapter")) {
        (true, _) => "decorator",
        (false, true) => "adapter",
        (false, false) => "wrapper",
    };
    let confidence = if shares { PatternConfidence::High } else { PatternConfidence::Medium };
    Some(Pattern::design(name, confidence, lines, message))
}

/// A call without a receiver or path.
fn has_call(text: &str, target: &str) -> bool {
    let call = format!("{target}(");
    text.match_indices(&call).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
    })
}

/// Whether a constructor takes one of that type.
fn takes(facts: &FileFacts<'_>, one: &Type<'_>, base: &str) -> bool {
    if !facts.spend(one.methods.len()) {
        return false;
    }
    facts.methods(one).filter(|function| function.is_constructor(one)).any(|function| {
        let all = function.about.parameters.iter().flatten();
        all.filter_map(|parameter| parameter.of.as_deref()).any(|of| short_name(of) == base)
    })
}

fn iterator(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    let pairs: [(&[&str], &[&str]); 3] = [
        (&["__iter__", "__aiter__"], &["__next__", "__anext__"]),
        (&["hasNext"], &["next"]),
        (&["[Symbol.iterator]", "[Symbol.asyncIterator]"], &["next"]),
    ];
    let by_pair = pairs.iter().find_map(|(first, second)| {
        Some([method(facts, one, first)?, method(facts, one, second)?])
    });
    let lines = if let Some([first, second]) = by_pair {
        vec![one.about.line, first.about.line, second.about.line]
    } else {
        let does = one.bases.iter().any(|base| base == "Iterator") && one.about.kind != Kind::Class;
        let next = method(facts, one, &["next"]).filter(|_| does)?;
        vec![one.about.line, next.about.line]
    };
    let message = format!("{} yields values one by one.", one.about.name);
    Some(Pattern::design("iterator", PatternConfidence::High, lines, message))
}

/// Dependency injection: constructor parameters that are stored.
fn injection(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    const ROLES: [&str; 12] = [
        "Service",
        "Repository",
        "Client",
        "Gateway",
        "Provider",
        "Store",
        "Factory",
        "Logger",
        "Mailer",
        "Dao",
        "Clock",
        "Cache",
    ];
    let constructor = facts.methods(one).find(|function| function.is_constructor(one))?;
    let all = constructor.about.parameters.as_deref()?;
    let is_role = |of: &str| {
        let name = short_name(of.trim_start_matches("readonly "));
        ROLES.iter().any(|role| name.ends_with(role))
    };
    let kept = |name: &str| {
        if !facts.spend(constructor.text.len()) {
            return false;
        }
        let name = name.trim_start_matches(['_', '&']);
        let own = ["self.", "this.", "self._", "this._", "this.#"];
        own.iter().any(|lead| has_assignment(constructor.text, lead, name))
            || constructor.about.signature.contains(&format!("private readonly {name}:"))
            || constructor.about.signature.contains(&format!("private {name}:"))
    };
    let given: Vec<&str> = all
        .iter()
        .filter(|one| one.of.as_deref().is_some_and(is_role) && kept(&one.name))
        .map(|one| one.name.as_str())
        .collect();
    let marks = ["Injectable", "Inject", "Autowired", "Service", "Component"];
    let marked = one.about.decorators.iter().chain(&constructor.about.decorators);
    let marked = marked.into_iter().any(|text| marks.iter().any(|mark| has_word(text, mark)));
    if given.is_empty() || (given.len() < 2 && !marked) {
        return None;
    }
    let confidence = if marked { PatternConfidence::High } else { PatternConfidence::Medium };
    let message = format!("{} receives its dependencies: {}.", one.about.name, given.join(", "));
    Some(Pattern::design("dependency-injection", confidence, vec![constructor.about.line], message))
}

/// `self.name =`, with whatever spaces.
fn has_assignment(text: &str, lead: &str, name: &str) -> bool {
    let target = format!("{lead}{name}");
    text.match_indices(&target).any(|(at, _)| {
        let after = text.get(at + target.len()..).unwrap_or_default();
        let after = after.trim_start();
        after.starts_with('=') && !after.starts_with("==") || after.starts_with(": ")
    })
}

/// Template method: a method that calls steps implemented by subtypes.
fn template_method(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    // That methods of a trait fall back on others is what traits are for.
    if one.about.kind != Kind::Class {
        return None;
    }
    let open: Vec<&Function<'_>> = facts.methods(one).filter(|one| one.is_abstract()).collect();
    let calls = |function: &Function<'_>, name: &str| {
        let own = ["self", "this", "cls"];
        own.iter().any(|lead| function.text.contains(&format!("{lead}.{name}(")))
            || (facts.source.language == Language::Java && has_call(function.text, name))
    };
    let steps = |function: &Function<'_>| -> Vec<u32> {
        if open.is_empty() || !facts.spend(open.len() * function.text.len()) {
            return Vec::new();
        }
        let called = open.iter().filter(|step| calls(function, &step.about.name));
        called.map(|step| step.about.line).collect()
    };
    let whole =
        facts.methods(one).filter(|function| !function.is_abstract() && function.body.is_some());
    let (function, steps) =
        whole.map(|one| (one, steps(one))).max_by_key(|(_, steps)| steps.len())?;
    if steps.is_empty() || function.is_constructor(one) {
        return None;
    }
    let filled = facts.made_from(&one.about.name).count();
    let plenty = steps.len() > 1;
    let confidence = match (plenty, filled > 0) {
        (true, true) => PatternConfidence::High,
        (true, false) | (false, true) => PatternConfidence::Medium,
        (false, false) => PatternConfidence::Low,
    };
    let (name, count) = (&function.about.qualified_name, steps.len());
    let message = match count {
        1 => format!("{name} leaves one step to its subtypes."),
        _ => format!("{name} leaves {count} steps to its subtypes."),
    };
    let mut lines = vec![function.about.line];
    lines.extend(steps);
    Some(Pattern::design("template-method", confidence, lines, message))
}

fn context_manager(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    let enter = method(facts, one, &["__enter__", "__aenter__"])?;
    let exit = method(facts, one, &["__exit__", "__aexit__"])?;
    let message = format!("{} can be used in a with statement.", one.about.name);
    let lines = vec![one.about.line, enter.about.line, exit.about.line];
    Some(Pattern::new("context-manager", Sort::Idiom, PatternConfidence::High, lines, message))
}

fn raii(one: &Type<'_>) -> Option<Pattern> {
    let closes = |base: &&String| {
        matches!(base.as_str(), "Drop" | "AutoCloseable" | "Closeable" | "IDisposable")
    };
    let base = one.bases.iter().find(closes)?;
    let message =
        format!("{} releases its resources at the end of its scope ({base}).", one.about.name);
    Some(Pattern::new("raii", Sort::Idiom, PatternConfidence::High, vec![one.about.line], message))
}

/// Factory: a function that creates one of several types.
fn factory(
    facts: &FileFacts<'_>,
    function: &Function<'_>,
    types: &HashSet<&str>,
) -> Option<Pattern> {
    let name = function.about.name.to_ascii_lowercase();
    let named = ["create", "make", "build", "new"]
        .iter()
        .any(|word| name.trim_start_matches('_').starts_with(word))
        || name.contains("factory");
    let is_hard = function.figures.cyclomatic >= 2 && !function.returns.is_empty();
    if !named || !is_hard || !facts.spend(function.text.len()) {
        return None;
    }
    let rows: Vec<&str> = function.text.lines().collect();
    let mut made: Vec<&str> = Vec::new();
    let mut lines = vec![function.about.line];
    for line in &function.returns {
        let row = line.checked_sub(function.row).and_then(|row| rows.get(row as usize));
        let Some((_, value)) = row.and_then(|row| row.split_once("return ")) else { continue };
        let value = value.trim_start_matches("new ").trim_start_matches('&');
        let end = value.find(['(', '{', '<']).unwrap_or(0);
        let of = value.get(..end).unwrap_or_default().trim();
        let is_type = of.starts_with(|c: char| c.is_uppercase())
            && of.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_error = of.ends_with("Error")
            || of.ends_with("Exception")
            || of.chars().all(|c| !c.is_lowercase());
        if is_type && !is_error && facts.spend(made.len()) && !made.contains(&of) {
            made.push(of);
            lines.push(*line);
        }
    }
    if made.len() < 2 {
        return None;
    }
    let known = made.iter().filter(|name| types.contains(**name)).count();
    let confidence =
        if known == made.len() { PatternConfidence::High } else { PatternConfidence::Medium };
    let message = format!("{} creates one of {}.", function.about.qualified_name, made.join(", "));
    Some(Pattern::design("factory-method", confidence, lines, message))
}

/// Decorator function: takes a function and returns a wrapper around it.
fn wrapping_functions(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    if facts.source.language != Language::Python {
        return;
    }
    let by_id: HashMap<&str, &Function<'_>> =
        facts.functions.iter().map(|one| (one.about.id.as_str(), one)).collect();
    let mut last = None;
    for inner in &facts.functions {
        let outer = inner.about.parent.as_deref().and_then(|id| by_id.get(id));
        let parameter = outer.and_then(|outer| outer.about.parameters.as_deref()?.first());
        let (Some(outer), Some(parameter)) = (outer, parameter) else { continue };
        if !facts.spend(outer.text.len() + inner.text.len()) {
            return;
        }
        let given = has_word(outer.text, &format!("return {}", inner.about.name));
        let called = has_call(inner.text, &parameter.name);
        let wraps = inner.has_decorator("wraps");
        let any = inner.about.parameters.iter().flatten().any(|one| one.name.starts_with('*'));
        if !given || !called || !(wraps || any) || last == Some(outer.about.line) {
            continue;
        }
        // One for functions and one for coroutines: one decorator.
        last = Some(outer.about.line);
        let confidence = if wraps { PatternConfidence::High } else { PatternConfidence::Medium };
        let (name, around) = (&outer.about.name, &inner.about.name);
        let message = format!("{name} returns {around} around the function that it takes.");
        let lines = vec![outer.about.line, inner.about.line];
        found.push(Pattern::new("decorator-function", Sort::Idiom, confidence, lines, message));
    }
}
