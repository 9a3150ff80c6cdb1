//! Documents: what a README covers, which licence a text is, which links lead nowhere.

use super::report::Readme;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What a reader looks for, and the words by which they find it in headings or in the text.
const TOPICS: [(&str, &[&str]); 5] = [
    (
        "installation",
        &["install", "setup", "set up", "getting started", "quick start", "quickstart", "download"],
    ),
    (
        "usage",
        &[
            "usage",
            "use ",
            "using",
            "example",
            "quick start",
            "quickstart",
            "getting started",
            "tutorial",
            "run",
        ],
    ),
    ("tests", &["test"]),
    ("licence", &["licen"]),
    ("contributing", &["contribut", "develop", "hacking"]),
];

/// What a README covers: a topic counts where a heading, a link or a line of code names it.
pub(super) fn readme(text: &str) -> Readme {
    let mut named = String::new();
    let (mut words, mut code_blocks, mut inside) = (0, 0, false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Link { .. }) => inside = true,
            Event::End(TagEnd::Heading(_) | TagEnd::Link) => {
                inside = false;
                named.push('\n');
            }
            Event::Start(Tag::CodeBlock(_)) => {
                code_blocks += 1;
                inside = true;
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) => {
                words += text.split_whitespace().count() as u64;
                if inside {
                    named.push_str(&text.to_lowercase());
                }
            }
            Event::Code(code) => named.push_str(&code.to_lowercase()),
            _ => {}
        }
    }
    let (covers, lacks): (Vec<_>, Vec<_>) =
        TOPICS.iter().partition(|(_, signs)| signs.iter().any(|sign| named.contains(sign)));
    let list =
        |topics: Vec<&(&str, _)>| topics.into_iter().map(|(name, _)| (*name).to_owned()).collect();
    Readme { words, code_blocks, covers: list(covers), lacks: list(lacks) }
}

/// Phrases that stand in one licence and in no other above it in the list.
const LICENCES: [(&str, &[&str]); 14] = [
    ("AGPL-3.0", &["gnu affero general public license", "version 3"]),
    ("LGPL-3.0", &["gnu lesser general public license", "version 3"]),
    ("LGPL-2.1", &["gnu lesser general public license", "version 2.1"]),
    ("GPL-3.0", &["gnu general public license", "version 3"]),
    ("GPL-2.0", &["gnu general public license", "version 2"]),
    ("Apache-2.0", &["apache license", "version 2.0"]),
    ("MPL-2.0", &["mozilla public license", "version 2.0"]),
    ("EPL-2.0", &["eclipse public license", "v 2.0"]),
    ("BSL-1.0", &["boost software license"]),
    ("Unlicense", &["this is free and unencumbered software"]),
    ("CC0-1.0", &["cc0 1.0 universal"]),
    ("BSD-3-Clause", &["redistribution and use in source and binary forms", "neither the name"]),
    ("BSD-2-Clause", &["redistribution and use in source and binary forms"]),
    ("ISC", &["permission to use, copy, modify, and/or distribute this software for any"]),
];

/// The SPDX name of a licence, by phrases of its text.
pub(super) fn licence(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    if text.contains("permission is hereby granted, free of charge, to any person obtaining a copy")
    {
        // The two differ in whether the notice must be kept.
        let kept = text.contains("shall be included in all copies");
        return Some(if kept { "MIT" } else { "MIT-0" });
    }
    LICENCES
        .iter()
        .find(|(_, signs)| signs.iter().all(|sign| text.contains(sign)))
        .map(|(name, _)| *name)
}

/// A link to another file, as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Line of its start, from 1.
    pub(super) line: u64,
    /// As written.
    pub(super) target: String,
}

/// Links of a Markdown text to files beside it, pictures included.
pub(super) fn relative_links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let (mut line, mut seen) = (1, 0);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        if !is_relative(&dest_url) {
            continue;
        }
        // A picture in a link starts after it; what has been counted is not counted again.
        if let Some(passed) = text.as_bytes().get(seen..range.start) {
            line += passed.split(|&byte| byte == b'\n').skip(1).count() as u64;
            seen = range.start;
        }
        links.push(Link { line, target: dest_url.into_string() });
    }
    links
}

fn is_relative(target: &str) -> bool {
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    !(target.is_empty()
        || target.starts_with(['#', '?', '{', '<'])
        || target.starts_with("//")
        || has_scheme)
}

/// The path in a link: without query and fragment, decoded.
pub(super) fn link_path(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next()?;
    percent_encoding::percent_decode_str(path).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_is_judged_by_what_it_names() {
        let full = readme(
            "# A\n\nText of five words here.\n\n## Install\n\n```sh\ncargo test\n```\n\n## Usage\n\n[License](LICENSE)\n\nSee [CONTRIBUTING](C.md).\n",
        );
        assert_eq!(full.covers, ["installation", "usage", "tests", "licence", "contributing"]);
        assert_eq!((full.lacks.len(), full.code_blocks), (0, 1));
        let empty = readme("# Sample\n\nA sample project.\n");
        assert_eq!(empty, Readme { words: 4, code_blocks: 0, covers: vec![], lacks: full.covers });
    }

    #[test]
    fn licences_by_text() {
        let cases = [
            (
                "MIT License\nPermission is hereby granted, free of charge, to any person obtaining a\ncopy … shall be included in\nall copies",
                Some("MIT"),
            ),
            ("Apache License\n   Version 2.0, January 2004", Some("Apache-2.0")),
            ("GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", Some("GPL-3.0")),
            ("GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3", Some("AGPL-3.0")),
            (
                "Redistribution and use in source and binary forms … Neither the name",
                Some("BSD-3-Clause"),
            ),
            ("All rights reserved.", None),
        ];
        for (text, want) in cases {
            assert_eq!(licence(text), want, "{text}");
        }
    }

    #[test]
    fn links_to_files_have_their_line() {
        let text = "[a](a.md)\n\n[web](https://x.org) [top](#top) [mail](mailto:a@b)\n\n[![i](p.png)](b.md#c) `[no](code.md)`\n[r][ref]\n\n[ref]: c%20d.md\n";
        let found: Vec<_> =
            relative_links(text).into_iter().map(|link| (link.line, link.target)).collect();
        let want = [(1, "a.md"), (5, "b.md#c"), (5, "p.png"), (6, "c%20d.md")];
        assert_eq!(found, want.map(|(line, target)| (line, target.to_owned())));
        assert_eq!(link_path("c%20d.md?x#y").as_deref(), Some("c d.md"));
    }
}
