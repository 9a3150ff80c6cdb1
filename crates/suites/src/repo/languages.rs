//! Which language a file is in, by its name, and what its lines hold, by simple rules.

use super::report::Lines;
use memchr::memmem;

/// What a language is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// Written to be run.
    Program,
    /// Written to be rendered.
    Markup,
    /// Written to be read by programs.
    Data,
    /// Written to be read by people.
    Prose,
}

/// One language: its name, its nature, and how its comments begin and end.
#[derive(Debug)]
pub(super) struct Syntax {
    pub(super) name: &'static str,
    pub(super) nature: Nature,
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    endings: &'static [&'static str],
}

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));
const TAGS: Option<(&str, &str)> = Some(("<!--", "-->"));

const fn syntax(
    name: &'static str,
    nature: Nature,
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    endings: &'static [&'static str],
) -> Syntax {
    Syntax { name, nature, line, block, endings }
}

use Nature::{Data, Markup, Program, Prose};

static LANGUAGES: &[Syntax] = &[
    syntax("Rust", Program, SLASHES, C_BLOCK, &["rs"]),
    syntax("TypeScript", Program, SLASHES, C_BLOCK, &["ts", "tsx", "mts", "cts"]),
    syntax("JavaScript", Program, SLASHES, C_BLOCK, &["js", "jsx", "mjs", "cjs"]),
    syntax("Python", Program, HASH, None, &["py", "pyi", "pyw"]),
    syntax("Go", Program, SLASHES, C_BLOCK, &["go"]),
    syntax("Java", Program, SLASHES, C_BLOCK, &["java"]),
    syntax("Kotlin", Program, SLASHES, C_BLOCK, &["kt", "kts"]),
    syntax("Scala", Program, SLASHES, C_BLOCK, &["scala", "sc"]),
    syntax("Groovy", Program, SLASHES, C_BLOCK, &["groovy", "gradle"]),
    syntax("C", Program, SLASHES, C_BLOCK, &["c", "h"]),
    syntax("C++", Program, SLASHES, C_BLOCK, &["cc", "cpp", "cxx", "hpp", "hh", "hxx"]),
    syntax("C#", Program, SLASHES, C_BLOCK, &["cs"]),
    syntax("F#", Program, SLASHES, Some(("(*", "*)")), &["fs", "fsx", "fsi"]),
    syntax("Swift", Program, SLASHES, C_BLOCK, &["swift"]),
    syntax("Objective-C", Program, SLASHES, C_BLOCK, &["m", "mm"]),
    syntax("Dart", Program, SLASHES, C_BLOCK, &["dart"]),
    syntax("PHP", Program, &["//", "#"], C_BLOCK, &["php"]),
    syntax("Ruby", Program, HASH, Some(("=begin", "=end")), &["rb", "rake", "gemspec"]),
    syntax("Elixir", Program, HASH, None, &["ex", "exs"]),
    syntax("Erlang", Program, &["%"], None, &["erl", "hrl"]),
    syntax("Haskell", Program, &["--"], Some(("{-", "-}")), &["hs"]),
    syntax("OCaml", Program, &[], Some(("(*", "*)")), &["ml", "mli"]),
    syntax("Lua", Program, &["--"], Some(("--[[", "]]")), &["lua"]),
    syntax("Julia", Program, HASH, Some(("#=", "=#")), &["jl"]),
    syntax("R", Program, HASH, None, &["r"]),
    syntax("Perl", Program, HASH, None, &["pl", "pm"]),
    syntax("Zig", Program, SLASHES, None, &["zig"]),
    syntax("Nix", Program, HASH, C_BLOCK, &["nix"]),
    syntax("Shell", Program, HASH, None, &["sh", "bash", "zsh", "fish"]),
    syntax("PowerShell", Program, HASH, Some(("<#", "#>")), &["ps1", "psm1"]),
    syntax("SQL", Program, &["--"], C_BLOCK, &["sql"]),
    syntax("Solidity", Program, SLASHES, C_BLOCK, &["sol"]),
    syntax("Protocol Buffers", Program, SLASHES, C_BLOCK, &["proto"]),
    syntax("GraphQL", Program, HASH, None, &["graphql", "gql"]),
    syntax("HCL", Program, &["#", "//"], C_BLOCK, &["tf", "hcl"]),
    syntax("Makefile", Program, HASH, None, &["mk"]),
    syntax("CMake", Program, HASH, None, &["cmake"]),
    syntax("Dockerfile", Program, HASH, None, &["dockerfile"]),
    syntax("Vue", Program, SLASHES, TAGS, &["vue"]),
    syntax("Svelte", Program, SLASHES, TAGS, &["svelte"]),
    syntax("HTML", Markup, &[], TAGS, &["html", "htm", "xhtml"]),
    syntax("CSS", Markup, &[], C_BLOCK, &["css"]),
    syntax("Sass", Markup, SLASHES, C_BLOCK, &["scss", "sass", "less"]),
    syntax("XML", Data, &[], TAGS, &["xml", "xsd", "csproj", "fsproj", "vbproj", "props", "svg"]),
    syntax("JSON", Data, &[], None, &["json", "jsonc", "json5"]),
    syntax("YAML", Data, HASH, None, &["yaml", "yml"]),
    syntax("TOML", Data, HASH, None, &["toml"]),
    syntax("Markdown", Prose, &[], TAGS, &["md", "markdown", "mdx"]),
    syntax("reStructuredText", Prose, &[".. "], None, &["rst"]),
    syntax("AsciiDoc", Prose, SLASHES, None, &["adoc", "asciidoc"]),
    syntax("Text", Prose, &[], None, &["txt"]),
];

/// Which language a file is in; its name alone decides.
pub(super) fn of(name: &str) -> Option<&'static Syntax> {
    let name = name.to_lowercase();
    let ending = match name.as_str() {
        "makefile" | "gnumakefile" => "mk",
        "cmakelists.txt" => "cmake",
        "dockerfile" | "containerfile" => "dockerfile",
        "gemfile" | "rakefile" => "rb",
        "jenkinsfile" => "groovy",
        other => other.rsplit_once('.')?.1,
    };
    LANGUAGES.iter().find(|language| language.endings.contains(&ending))
}

/// Whether these bytes are no text: they hold a NUL near their start.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8192).any(|&byte| byte == 0)
}

/// Sorts the lines of a file. A comment counts where it begins its line; strings are not looked into.
pub(super) fn count(bytes: &[u8], syntax: Option<&Syntax>) -> Lines {
    let mut lines = Lines::default();
    let mut inside = false;
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if body.is_empty() {
        lines.blanks = u64::from(!bytes.is_empty());
        return lines;
    }
    for line in body.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            lines.blanks += 1;
        } else if syntax.is_some_and(|syntax| is_comment(line, syntax, &mut inside)) {
            lines.comments += 1;
        } else {
            lines.code += 1;
        }
    }
    lines
}

fn is_comment(line: &[u8], syntax: &Syntax, inside: &mut bool) -> bool {
    if let Some((open, close)) = syntax.block {
        let rest = if *inside { Some(line) } else { line.strip_prefix(open.as_bytes()) };
        if let Some(rest) = rest {
            let end = memmem::find(rest, close.as_bytes());
            *inside = end.is_none();
            // Code after the end of the comment makes it a line of code.
            return end.is_none_or(|at| {
                rest.get(at + close.len()..).unwrap_or_default().trim_ascii().is_empty()
            });
        }
    }
    syntax.line.iter().any(|start| line.starts_with(start.as_bytes()))
}

const TASKS: [&[u8]; 4] = [b"TODO", b"FIXME", b"HACK", b"XXX"];

/// Marks of open tasks, as whole words in capitals.
pub(super) fn open_tasks(bytes: &[u8]) -> u64 {
    TASKS.iter().map(|mark| whole_words(bytes, mark)).sum()
}

fn whole_words(bytes: &[u8], word: &[u8]) -> u64 {
    let is_part = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let found = memmem::find_iter(bytes, word);
    found.filter(|&at| !is_part(at.checked_sub(1)) && !is_part(Some(at + word.len()))).count()
        as u64
}

/// Whether a Rust source holds tests of its own.
pub(super) fn has_inline_tests(bytes: &[u8]) -> bool {
    [&b"#[test]"[..], b"#[cfg(test)]", b"#[tokio::test"]
        .iter()
        .any(|mark| memmem::find(bytes, mark).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_languages() {
        let cases = [
            ("main.rs", Some("Rust")),
            ("App.TSX", Some("TypeScript")),
            ("Makefile", Some("Makefile")),
            ("CMakeLists.txt", Some("CMake")),
            ("notes.txt", Some("Text")),
            ("Dockerfile", Some("Dockerfile")),
            ("LICENSE", None),
            ("photo.png", None),
        ];
        for (name, want) in cases {
            assert_eq!(of(name).map(|language| language.name), want, "{name}");
        }
    }

    #[test]
    fn lines_are_sorted() {
        let cases = [
            ("a.rs", "", (0, 0, 0)),
            ("a.rs", "\n", (0, 0, 1)),
            ("a.rs", "fn a() {}\n", (1, 0, 0)),
            ("a.rs", "fn a() {}", (1, 0, 0)),
            ("a.rs", "//! Doc\n\nfn a() {} // tail\n", (1, 1, 1)),
            ("a.c", "/* one\n two\n*/\nint a;\n/* b */ int b;\n", (2, 3, 0)),
            ("a.py", "# x\nx = 1\r\n\r\n", (1, 1, 1)),
            ("a.html", "<!-- a\n-->\n<p>\n", (1, 2, 0)),
            ("a.json", "{}\n", (1, 0, 0)),
        ];
        for (name, text, want) in cases {
            let lines = count(text.as_bytes(), of(name));
            assert_eq!((lines.code, lines.comments, lines.blanks), want, "{name} {text:?}");
        }
    }

    #[test]
    fn tasks_are_whole_words() {
        assert_eq!(open_tasks(b"// TODO: a\n// FIXME(b) XXX\nlet TODOS = todo; HACKED MY_TODO"), 3);
    }
}
