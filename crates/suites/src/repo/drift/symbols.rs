//! Finds symbols that documents mention but no code contains.
//!
//! A name is suspect only if its prefix belongs to this project and no source file contains its last part as a word. A
//! bare name has no owner, so it is suspect only if it is nearly the same as a project symbol.

use super::{
    DocumentDrift, MentionFamily, SuspectMention, SuspicionBasis, declaration, edit_distance,
    names::{COMMON_MEMBERS, COMMON_SYMBOLS},
    project_index::{ProjectIndex, SymbolDeclaration},
    shell::{CommandFolder, DocumentedCommand},
};
use crate::repo::{
    facts::{DocumentFacts, Mention},
    report::{MentionKind, Severity},
};

/// Separator between the parts of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SymbolSeparator {
    /// `a::b`
    Colons,
    /// `a.b`
    Dot,
    /// `a#b`
    Hash,
    /// No separator: it has one part.
    None,
}

/// A name in a document, split into parts.
#[derive(Debug, PartialEq, Eq)]
struct MentionedSymbol<'a> {
    parts: Vec<&'a str>,
    joint: SymbolSeparator,
    /// Whether it is shown as a call.
    called: bool,
}

/// Checks every symbol in a document.
pub(super) fn check_symbols(
    known: &ProjectIndex<'_>,
    document: &DocumentFacts,
    steps: &[DocumentedCommand<'_>],
    found: &mut DocumentDrift,
) {
    let mut own = 0_u64;
    let mut bare = Vec::new();
    for mention in document.mentions.iter().filter(|mention| !mention.command) {
        if known.effort.is_over() {
            return;
        }
        let Some(text) = without_generics(&mention.text) else { continue };
        let Some(name) = read(&text) else { continue };
        if name.joint != SymbolSeparator::None {
            own += u64::from(qualified(known, mention, &name, found));
        } else if known.symbols().contains_key(name.parts[0]) {
            own += 1;
            found.checked += 1;
        } else {
            constant(known, mention, name.parts[0], found);
            bare.push((mention, name.parts[0].to_owned(), name.called));
        }
    }
    // A document without any project symbol is about something else.
    if own > 1 {
        for (mention, name, called) in bare {
            doubt_bare(known, mention, &name, called, found);
        }
    }
    for step in steps {
        module(known, step, found);
    }
}

/// Checks a qualified name; returns whether it belongs to the project.
fn qualified(
    known: &ProjectIndex<'_>,
    mention: &Mention,
    name: &MentionedSymbol<'_>,
    found: &mut DocumentDrift,
) -> bool {
    let Some((first, rest)) = name.parts.split_first() else { return false };
    if rest.is_empty() || is_file_or_host(name) || !(*first == "crate" || is_own(known, first)) {
        return false;
    }
    found.checked += 1;
    let words = known.today.words;
    let absent = rest.iter().position(|part| !words.has(part) && !known.is_module(part));
    let Some(at) = absent else {
        found.here.push((MentionFamily::Symbols, mention.text.to_string()));
        return true;
    };
    let part = rest[at];
    // Names below a missing name cannot be checked, nor can names that another project adds.
    let holder = if at == 0 { first } else { rest[at - 1] };
    let through = rest.iter().take(at);
    if part.len() < 3
        || is_stand_in(part)
        || is_inherited(part)
        || through.into_iter().any(|part| known.is_dependency(part) && !known.is_own_package(part))
        || declaration::may_have_more(known, holder)
    {
        return true;
    }
    let evidence =
        format!("{holder} belongs to this project, and no source file contains the word {part}");
    let suggestion = member(known, holder, part).or_else(|| find_other_case(known, part));
    let family = Some(MentionFamily::Symbols);
    let doubt = doubt(mention, evidence, Severity::Medium, suggestion);
    found.doubts.push(SuspectMention { family, ..doubt });
    true
}

fn doubt(
    mention: &Mention,
    evidence: String,
    severity: Severity,
    suggestion: Option<String>,
) -> SuspectMention {
    SuspectMention {
        line: mention.line,
        mention: mention.text.trim().to_owned(),
        kind: MentionKind::Symbol,
        evidence,
        severity,
        suggestion,
        ground: SuspicionBasis::Presumed,
        family: None,
    }
}

/// Returns the word as the code writes it in another case.
fn find_other_case(known: &ProjectIndex<'_>, part: &str) -> Option<String> {
    let (first, rest) = part.split_at_checked(1)?;
    let title = format!("{}{}", first.to_uppercase(), rest.to_lowercase());
    let forms = [title, part.to_lowercase(), part.to_uppercase()];
    forms.into_iter().find(|form| known.today.words.has(form))
}

/// Returns the member of a type that is most similar to a name.
fn member(known: &ProjectIndex<'_>, holder: &str, part: &str) -> Option<String> {
    let declared = known.symbols().get(holder).into_iter().flatten();
    let symbols = declared.filter_map(|one| known.today.symbols.get(one.path)).flatten();
    let names = symbols.map(|symbol| super::project_index::last_part(&symbol.name));
    let effort = &known.effort;
    let inside = edit_distance::nearest(effort, part, names);
    inside
        .or_else(|| edit_distance::nearest(effort, part, known.symbols_like(part)))
        .map(str::to_owned)
}

/// Whether the prefix of a name belongs to this project: a package or type.
fn is_own(known: &ProjectIndex<'_>, first: &str) -> bool {
    if first.len() < 3 || is_common(first) {
        return false;
    }
    let is_type = |declared: &SymbolDeclaration<'_>| {
        known.effort.spend(1)
            && matches!(declared.symbol.kind, "class" | "struct" | "enum" | "trait" | "interface")
    };
    if first.starts_with(char::is_uppercase) {
        return known.symbols().get(first).is_some_and(|all| all.iter().all(is_type));
    }
    known.is_own_package(first)
}

/// Checks a variable with the project's prefix: `DOCENT_LOG`.
fn constant(known: &ProjectIndex<'_>, mention: &Mention, name: &str, found: &mut DocumentDrift) {
    let screaming = name.contains('_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let Some((prefix, rest)) = name.split_once('_').filter(|_| screaming) else { return };
    let prefix = prefix.to_ascii_lowercase();
    if prefix.len() < 3 || rest.len() < 3 || !known.is_own_package(&prefix) || is_common(&prefix) {
        return;
    }
    found.checked += 1;
    let words = known.today.words;
    // If the code contains the prefix, it builds such names, and the full name may not appear anywhere.
    let starts = name.match_indices('_').filter_map(|(at, _)| name.get(..at));
    let made = starts.into_iter().any(|start| words.has(start) || words.has(&format!("{start}_")));
    let family = MentionFamily::Variables(prefix);
    if words.has(name) {
        found.here.push((family, name.to_owned()));
    } else if !made && !words.has(rest) {
        let evidence = format!("no source file contains the word {name} or {rest}");
        let doubt = doubt(mention, evidence, Severity::Medium, None);
        found.doubts.push(SuspectMention { family: Some(family), ..doubt });
    }
}

/// Checks a bare name, which is suspect only if the project has a nearly identical one.
fn doubt_bare(
    known: &ProjectIndex<'_>,
    mention: &Mention,
    name: &str,
    called: bool,
    found: &mut DocumentDrift,
) {
    let humps = name.chars().filter(char::is_ascii_uppercase).count();
    let telling = if called { name.len() > 5 } else { humps > 1 && name.len() > 7 };
    let shouting = name.chars().all(|c| !c.is_ascii_lowercase());
    if !telling || shouting || is_stand_in(name) || known.today.words.has(name) || is_common(name) {
        return;
    }
    let near = edit_distance::slip(&known.effort, name, known.symbols_like(name));
    // Plurals are written like this too.
    let plural =
        |near: &&str| name.strip_suffix('s') == Some(near) || near.strip_suffix('s') == Some(name);
    let Some(near) = near.filter(|near| !plural(near)) else { return };
    found.checked += 1;
    let evidence = format!("no source file contains the word {name}; the closest symbol is {near}");
    found.doubts.push(doubt(mention, evidence, Severity::Low, Some(near.to_owned())));
}

/// Checks `python -m package.module`, where the package belongs to this project but has no such module.
fn module(known: &ProjectIndex<'_>, step: &DocumentedCommand<'_>, found: &mut DocumentDrift) {
    let Some(("python" | "python3" | "py", arguments)) = step.program() else { return };
    let [flag, module, ..] = arguments else { return };
    if flag.text != "-m" || module.opaque || step.folder == CommandFolder::Elsewhere {
        return;
    }
    let Some((package, _)) = module.text.split_once('.') else { return };
    let path = module.text.replace('.', "/");
    let root = known
        .folders()
        .ending(package)
        .any(|folder| known.today.tree.file(&format!("{folder}/__init__.py")).is_some());
    if !root || !known.is_own_package(package) {
        return;
    }
    found.checked += 1;
    let there = known.folders().ending(&path).next().is_some()
        || ["py", "pyi", "pyx", "so"]
            .iter()
            .any(|ending| known.files().ending(&format!("{path}.{ending}")).next().is_some());
    if there {
        return;
    }
    let evidence =
        format!("the package {package} is in this project, but has neither {path}.py nor {path}/");
    let (line, mention, kind) = (step.line, module.text.clone(), MentionKind::Symbol);
    let (severity, suggestion, ground) = (Severity::High, None, SuspicionBasis::Presumed);
    let family = None;
    found.doubts.push(SuspectMention {
        line,
        mention,
        kind,
        evidence,
        severity,
        suggestion,
        ground,
        family,
    });
}

/// Strips text between `<` and `>`; `None` if it replaces part of a name.
fn without_generics(text: &str) -> Option<String> {
    let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let mut depth = 0_u32;
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '<' if plain.is_empty() || plain.ends_with(['_', '.']) => return None,
            '<' => depth += 1,
            '>' if depth > 0 => {
                depth -= 1;
                if depth == 0 && letters.peek().is_some_and(is_part) {
                    return None;
                }
            }
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    Some(plain)
}

/// Parses a name; `None` for anything else.
fn read(text: &str) -> Option<MentionedSymbol<'_>> {
    let text = text.strip_prefix('@').unwrap_or(text);
    let (path, called) = match text.split_once('(') {
        Some((path, rest)) if rest.ends_with(')') => (path, true),
        Some(_) => return None,
        None => (text, false),
    };
    let path = path.trim_end_matches("::");
    let joint = match (path.contains("::"), path.contains('.'), path.contains('#')) {
        (true, false, false) => SymbolSeparator::Colons,
        (false, true, false) => SymbolSeparator::Dot,
        (false, false, true) => SymbolSeparator::Hash,
        (false, false, false) => SymbolSeparator::None,
        _ => return None,
    };
    let parts: Vec<&str> = match joint {
        SymbolSeparator::Colons => path.split("::").collect(),
        SymbolSeparator::Dot => path.split('.').collect(),
        SymbolSeparator::Hash => path.split('#').collect(),
        SymbolSeparator::None => vec![path],
    };
    parts.iter().all(|part| is_identifier(part)).then_some(MentionedSymbol { parts, joint, called })
}

/// Whether part of a name is a placeholder or prefix: `MARKER_NAME`, `MyClass`, `foo`, `debug_`.
fn is_stand_in(part: &str) -> bool {
    let lower = part.to_lowercase();
    let shouted = !part.chars().any(|c| c.is_ascii_lowercase());
    part.ends_with('_')
        || (shouted && (part.contains("NAME") || part.contains("XX")))
        || lower.starts_with("your")
        || lower.starts_with("some")
        || lower.contains("foo")
        || lower.contains("example")
        || (part.starts_with("My") && part.chars().nth(2).is_some_and(char::is_uppercase))
        || lower.starts_with("my_")
        || part.starts_with("my") && part.chars().nth(2).is_some_and(char::is_uppercase)
        || matches!(lower.as_str(), "bar" | "baz" | "qux" | "xxx")
}

fn is_identifier(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a dotted name is more likely a file or host.
fn is_file_or_host(name: &MentionedSymbol<'_>) -> bool {
    const ENDINGS: [&str; 60] = [
        "ai", "app", "bash", "bat", "c", "cfg", "com", "conf", "cpp", "css", "csv", "db", "dev",
        "env", "exe", "git", "go", "h", "html", "ico", "ini", "io", "ipynb", "java", "js", "json",
        "jsx", "kt", "lock", "log", "md", "mjs", "net", "new", "org", "pdf", "php", "png", "py",
        "pyi", "rb", "rs", "rst", "rules", "service", "sh", "so", "sql", "svg", "swift", "toml",
        "ts", "tsx", "txt", "whl", "xml", "yaml", "yml", "zip", "zsh",
    ];
    let last = name.parts.last().map(|part| part.to_ascii_lowercase()).unwrap_or_default();
    name.joint == SymbolSeparator::Dot && ENDINGS.binary_search(&last.as_str()).is_ok()
}

/// Whether a name belongs to a language or its standard library.
fn is_common(name: &str) -> bool {
    COMMON_SYMBOLS.binary_search(&name).is_ok()
}

/// Whether types get this member without own code: from derives, base classes, the language.
fn is_inherited(part: &str) -> bool {
    part.starts_with("__") || COMMON_MEMBERS.binary_search(&part).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let cases = [
            ("Foo::bar", Some("Foo bar Colons false")),
            ("Foo<T>::bar::<U>()", Some("Foo bar Colons true")),
            ("pkg.mod.Class.method(a, b)", Some("pkg mod Class method Dot true")),
            ("Class#method", Some("Class method Hash false")),
            ("@decorator", Some("decorator None false")),
            ("name()", Some("name None true")),
            ("Foo::bar.baz", None),
            ("a b", None),
            ("Foo::", Some("Foo None false")),
            ("1.2.3", None),
            ("a..b", None),
            ("f(x) + 1", None),
            ("has_<kind>_permission()", None),
            ("get<Kind>Name()", None),
            ("<T>::new", None),
            ("", None),
        ];
        for (text, want) in cases {
            let plain = without_generics(text).unwrap_or_default();
            let got = read(&plain)
                .map(|name| format!("{} {:?} {}", name.parts.join(" "), name.joint, name.called));
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }
}
