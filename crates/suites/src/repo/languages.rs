//! Language detection and line counts, by tokei.

use super::report::{Lines, Nature};
use std::{path::Path, sync::LazyLock};
use tokei::{CodeStats, Config, LanguageType};

/// Maximum length of a shebang line.
pub(super) const MAX_SHEBANG_BYTES: u64 = 128;

/// Interpreters as named by `#!/usr/bin/env`, by prefix: tokei's table is private.
const INTERPRETERS: [(&str, LanguageType); 15] = [
    ("bash", LanguageType::Bash),
    ("crystal", LanguageType::Crystal),
    ("csh", LanguageType::CShell),
    ("cython", LanguageType::Cython),
    ("elvish", LanguageType::Elvish),
    ("fish", LanguageType::Fish),
    ("groovy", LanguageType::Groovy),
    ("just", LanguageType::Just),
    ("ksh", LanguageType::Ksh),
    ("python", LanguageType::Python),
    ("racket", LanguageType::Racket),
    ("raku", LanguageType::Raku),
    ("perl6", LanguageType::Raku),
    ("ruby", LanguageType::Ruby),
    ("sh", LanguageType::Sh),
];

/// Detects the language of a file by its name.
pub(super) fn by_name(name: &str) -> Option<LanguageType> {
    // For an unknown name, tokei opens the file to read its first line. Nothing can be opened below a device, so only
    // the name decides and the file system is not touched.
    LanguageType::from_path(Path::new("/dev/null").join(name), configuration())
}

/// Detects the language of a file with an unknown name by its first bytes.
pub(super) fn by_first_line(start: &[u8]) -> Option<LanguageType> {
    let line = std::str::from_utf8(start.split(|byte| *byte == b'\n').next()?).ok()?;
    let mut words = line.split_whitespace();
    let first = words.next().filter(|word| word.starts_with("#!"))?;
    if first == "#!/usr/bin/env" {
        let word = words.next()?;
        return INTERPRETERS.iter().find(|(name, _)| word.starts_with(name)).map(|(_, it)| *it);
    }
    let all = LanguageType::list().iter();
    all.map(|(language, _)| *language).find(|language| language.shebangs().contains(&first))
}

/// Returns what a language is used for.
pub(super) fn nature(language: LanguageType) -> Nature {
    use LanguageType as L;
    match language {
        L::Markdown
        | L::Mdx
        | L::ReStructuredText
        | L::AsciiDoc
        | L::Text
        | L::Org
        | L::Tex
        | L::Typst
        | L::Djot => Nature::Prose,
        L::Html | L::Css | L::Sass | L::Less | L::Stylus | L::PostCss | L::Svg => Nature::Markup,
        L::Json
        | L::Yaml
        | L::Toml
        | L::Xml
        | L::Ini
        | L::Po
        | L::RON
        | L::Edn
        | L::DotNetResource => Nature::Data,
        _ => Nature::Program,
    }
}

/// Line counts of a file: in its own language, and in embedded languages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LanguageLineCounts {
    pub(super) own: Lines,
    pub(super) embedded: Lines,
}

impl LanguageLineCounts {
    /// Adds the counts of another file.
    pub(super) fn add(&mut self, other: Self) {
        self.own.add(other.own);
        self.embedded.add(other.embedded);
    }
}

/// Counts the lines of a file. Rust doc comments count as Markdown, scripts in HTML as JavaScript.
pub(super) fn count(language: LanguageType, bytes: &[u8]) -> LanguageLineCounts {
    let found = language.parse_from_slice(bytes, configuration());
    let mut embedded = Lines::default();
    found.blobs.values().for_each(|blob| embedded.add(lines(&blob.summarise())));
    LanguageLineCounts { own: lines(&found), embedded }
}

fn lines(found: &CodeStats) -> Lines {
    let CodeStats { code, comments, blanks, .. } = found;
    Lines { code: *code as u64, comments: *comments as u64, blanks: *blanks as u64 }
}

fn configuration() -> &'static Config {
    static DEFAULT: LazyLock<Config> = LazyLock::new(Config::default);
    &DEFAULT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_identify_languages() {
        let cases = [
            ("main.rs", Some(LanguageType::Rust)),
            ("App.TSX", Some(LanguageType::Tsx)),
            ("Makefile", Some(LanguageType::Makefile)),
            ("CMakeLists.txt", Some(LanguageType::CMake)),
            ("notes.txt", Some(LanguageType::Text)),
            ("Dockerfile", Some(LanguageType::Dockerfile)),
            ("LICENSE", None),
            ("photo.png", None),
            ("", None),
        ];
        for (name, want) in cases {
            assert_eq!(by_name(name), want, "{name}");
        }
    }

    #[test]
    fn first_lines_agree_with_tokei() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        let named = INTERPRETERS.iter().map(|(word, _)| format!("#!/usr/bin/env {word}\n"));
        let plain = [
            "#!/bin/sh\n",
            "#!/bin/bash -e\nx",
            "#!/usr/bin/python3\n",
            "#!/usr/bin/env node\n",
            "x\n",
            "",
        ];
        for start in named.chain(plain.map(str::to_owned)) {
            std::fs::write(&file, &start).unwrap();
            assert_eq!(
                by_first_line(start.as_bytes()),
                LanguageType::from_shebang(&file),
                "{start:?}"
            );
        }
    }

    #[test]
    fn lines_are_sorted() {
        let cases = [
            ("a.rs", "", (0, 0, 0), 0),
            ("a.rs", "fn a() {}", (1, 0, 0), 0),
            ("a.rs", "//! Doc\n\nfn a() {} // tail\n", (1, 0, 1), 1),
            ("a.c", "/* one\n two\n*/\nint a;\n/* b */ int b;\n", (2, 3, 0), 0),
            ("a.py", "# x\nx = 1\r\n\r\n", (1, 1, 1), 0),
            ("a.json", "{}\n", (1, 0, 0), 0),
        ];
        for (name, text, want, embedded) in cases {
            let found = count(by_name(name).unwrap(), text.as_bytes());
            let own = found.own;
            assert_eq!((own.code, own.comments, own.blanks), want, "{name} {text:?}");
            assert_eq!(found.embedded.comments, embedded, "{name} {text:?}");
        }
    }
}
