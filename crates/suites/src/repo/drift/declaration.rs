//! Whether a type or module may have members that its source does not spell out, through a foreign base class, a derive
//! or a wildcard re-export. Reads only the few files involved.

use super::project_index::{ProjectIndex, SymbolDeclaration};
use crate::repo::tree::name_of;

/// Base classes that add no names that documents mention.
const PLAIN_BASES: [&str; 16] = [
    "ABC",
    "Enum",
    "Exception",
    "Flag",
    "Generic",
    "IntEnum",
    "IntFlag",
    "NamedTuple",
    "Protocol",
    "StrEnum",
    "TypedDict",
    "abc.ABC",
    "enum.Enum",
    "object",
    "typing.NamedTuple",
    "typing.Protocol",
];

/// Derives that add no such names.
const PLAIN_DERIVES: [&str; 15] = [
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Deserialize",
    "Eq",
    "Error",
    "Hash",
    "JsonSchema",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Serialize",
    "serde::Deserialize",
    "serde::Serialize",
];

/// Attributes that add no such names.
const PLAIN_ATTRIBUTES: [&str; 14] = [
    "allow",
    "cfg",
    "cfg_attr",
    "derive",
    "deprecated",
    "doc",
    "error",
    "expect",
    "must_use",
    "non_exhaustive",
    "repr",
    "schemars",
    "serde",
    "track_caller",
];

/// Maximum number of modules with one name; with more, nothing is certain.
const MAX_MODULES_PER_NAME: usize = 20;

/// Maximum depth of base classes to follow.
const MAX_BASE_CLASS_DEPTH: usize = 4;

/// Whether a project symbol may have members that appear in no source file.
pub(super) fn may_have_more(known: &ProjectIndex<'_>, holder: &str) -> bool {
    if let Some(more) = known.holders.borrow().get(holder) {
        return *more;
    }
    let more = match known.symbols().get(holder) {
        Some(all) => {
            all.iter().any(|declared| type_has_more(known, holder, *declared, MAX_BASE_CLASS_DEPTH))
        }
        None => module_has_more(known, holder),
    };
    known.holders.borrow_mut().insert(holder.to_owned(), more);
    more
}

fn type_has_more(
    known: &ProjectIndex<'_>,
    name: &str,
    declared: SymbolDeclaration<'_>,
    depth: usize,
) -> bool {
    // Without remaining step budget, nothing is certain.
    let bytes = known.today.tree.file(declared.path).map_or(0, |file| file.bytes);
    if !known.effort.spend(usize::try_from(bytes).unwrap_or(usize::MAX)) {
        return true;
    }
    let Ok(text) = known.today.tree.text(declared.path) else { return true };
    let lines: Vec<&str> = text.lines().collect();
    let at = usize::try_from(declared.symbol.line).unwrap_or(usize::MAX).saturating_sub(1);
    let head = head(&lines, at);
    let ending = declared.path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let bases = match ending {
        "rs" => return rust_has_more(name, &lines, at, &head, &text),
        "py" | "pyi" => python_bases(&head, &text),
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" => {
            script_bases(name, &head, &text)
        }
        _ => None,
    };
    let Some(bases) = bases else { return true };
    bases.iter().any(|base| {
        if PLAIN_BASES.binary_search(&base.as_str()).is_ok() {
            return false;
        }
        let base = super::project_index::last_part(base);
        let Some(next) = known.symbols().get(base).filter(|_| depth > 0 && base != name) else {
            return true;
        };
        next.iter().any(|declared| type_has_more(known, base, *declared, depth - 1))
    })
}

/// Returns a declaration up to its body.
fn head(lines: &[&str], at: usize) -> String {
    let mut head = String::new();
    for line in lines.iter().skip(at).take(8) {
        head.push_str(line);
        head.push(' ');
        if line.contains('{') || line.trim_end().ends_with([':', ';']) {
            break;
        }
    }
    head
}

fn rust_has_more(name: &str, lines: &[&str], at: usize, head: &str, text: &str) -> bool {
    let above = lines.iter().take(at).rev();
    let above = above.map(|line| line.trim()).take_while(|line| {
        line.starts_with("#[") || line.starts_with("//") || line.ends_with(['(', ',', ')', ']'])
    });
    let attributes: Vec<&str> = above.filter_map(|line| line.strip_prefix("#[")).collect();
    let brings = attributes.iter().any(|attribute| {
        let word = attribute.split(['(', ']', '=', ' ', ':']).next().unwrap_or_default();
        if !PLAIN_ATTRIBUTES.contains(&word) {
            return true;
        }
        let derives = attribute.strip_prefix("derive(").unwrap_or_default();
        let mut derives = derives.split([',', ')']).map(str::trim).filter(|one| !one.is_empty());
        derives.any(|one| one != "]" && !PLAIN_DERIVES.contains(&one))
    });
    let parents =
        head.contains("trait ") && head.split('{').next().is_some_and(|it| it.contains(':'));
    brings
        || parents
        || head.trim_start().starts_with("pub type ")
        || text.contains(&format!("Deref for {name}"))
        || text.contains("!{")
        || text.contains(&format!("!({name}"))
}

/// Returns the bases of a Python class; `None` if unknown.
fn python_bases(head: &str, text: &str) -> Option<Vec<String>> {
    if text.contains("__getattr__") || text.contains("setattr(") || !head.contains("class ") {
        return None;
    }
    let Some((_, rest)) = head.split_once('(') else { return Some(Vec::new()) };
    let (inside, _) = rest.rsplit_once(')')?;
    if inside.contains("metaclass") {
        return None;
    }
    let mut depth = 0_u32;
    let mut plain = String::new();
    for letter in inside.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let bases = plain.split(',').map(|base| base.trim().to_owned());
    Some(bases.filter(|base| !base.is_empty()).collect())
}

/// Returns the bases of a JavaScript or TypeScript class or interface; `None` if unknown.
fn script_bases(name: &str, head: &str, text: &str) -> Option<Vec<String>> {
    let declares = ["class ", "interface ", "enum "].iter().any(|word| head.contains(word));
    if !declares
        || text.contains(&format!("{name}.prototype"))
        || text.contains(&format!("({name},"))
    {
        return None;
    }
    let Some((_, rest)) = head.split_once(" extends ") else { return Some(Vec::new()) };
    let rest = rest.split(['{']).next().unwrap_or_default();
    let rest = rest.split(" implements ").next().unwrap_or_default();
    let bases =
        rest.split(',').map(|base| base.split('<').next().unwrap_or(base).trim().to_owned());
    Some(bases.filter(|base| !base.is_empty()).collect())
}

/// Whether a package or module re-exports everything from another one.
fn module_has_more(known: &ProjectIndex<'_>, name: &str) -> bool {
    let roots = ["lib.rs", "mod.rs", "__init__.py", "index.ts", "index.js", "index.tsx"];
    let mut files: Vec<String> = Vec::new();
    for folder in known.folders().ending(name).take(MAX_MODULES_PER_NAME + 1) {
        files.extend(roots.iter().map(|root| format!("{folder}/{root}")));
    }
    for ending in ["rs", "py", "ts", "js", "tsx"] {
        let named =
            known.files().ending(&format!("{name}.{ending}")).take(MAX_MODULES_PER_NAME + 1);
        files.extend(named.map(str::to_owned));
    }
    for manifest in known.today.manifests {
        let own = manifest.name.as_deref().map(|own| name_of(own).replace('-', "_"));
        if own.as_deref() == Some(name) {
            let folder = crate::repo::tree::folder_of(&manifest.path);
            let inside = |path: &str| {
                if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
            };
            files
                .extend(["src/lib.rs", "src/index.ts", "index.js"].iter().map(|path| inside(path)));
        }
    }
    let tree = known.today.tree;
    files.retain(|path| tree.file(path).is_some());
    // A name that is neither a symbol nor a module of the project comes from elsewhere.
    files.is_empty()
        || files.len() > MAX_MODULES_PER_NAME
        || files.iter().any(|path| {
            tree.text(path).map_or(true, |text| {
                ["::*;", "import *", "export *", "__getattr__", "module.exports = require"]
                    .iter()
                    .any(|mark| text.contains(mark))
            })
        })
}
