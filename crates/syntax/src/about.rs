//! A one-line description of a file: the first sentence of its documentation, or its main definitions.

use crate::{
    Annotation, Kind, Language,
    comment::{Comment, end_row, is_block, is_comment, strip_marks},
    language::text_of,
    pack::{DocumentationPlacement, LanguageSettings},
    parse::{self, SyntaxTree},
};
use std::collections::HashSet;
use tree_sitter::Node;

/// Maximum characters of a sentence.
const MAX_SENTENCE_CHARS: usize = 160;
/// Maximum definitions listed for a file without documentation.
const MAX_NAMES: usize = 5;
/// Tags that mark a comment as the file's, whatever follows it.
const FILE_TAGS: [&str; 5] =
    ["@fileoverview", "@file", "@overview", "@packageDocumentation", "@module"];
/// Words that mark a comment as a license, or as a heading unrelated to the file.
const NOT_ABOUT_THE_FILE: [&str; 12] = [
    "copyright",
    "license",
    "all rights reserved",
    "redistribution and use",
    "permission is hereby granted",
    "this program is free software",
    "spdx-",
    "\"as is\"",
    "module dependencies",
    "code generated",
    "@generated",
    "eslint",
];
/// Prefixes of tool directives in comments.
const DIRECTIVES: [&str; 16] = [
    "@ts-",
    "prettier",
    "@flow",
    "jshint",
    "-*-",
    "vim:",
    "pylint",
    "global ",
    "istanbul",
    "frozen_string_literal",
    "coding:",
    "coding=",
    "encoding:",
    "typed:",
    "shellcheck",
    "todo:",
];

/// Describes a file in one line; `None` without documentation or definitions. A truncated text is
/// enough.
pub fn about(language: Language, path: &str, text: &str, tree: &SyntaxTree) -> Option<String> {
    let documented = documentation(language, text, tree);
    documented
        .map(|sentence| truncate_sentence(&sentence))
        .or_else(|| main_definitions(language, path, text, tree))
}

/// The names of what a file defines at its top, what others can use first.
fn main_definitions(
    language: Language,
    path: &str,
    text: &str,
    tree: &SyntaxTree,
) -> Option<String> {
    let definitions = parse::definitions(language, path, text, tree);
    let mut top: Vec<_> = definitions.iter().map(|one| &one.annotation).collect();
    top.retain(|one| one.parent.is_none());
    top.sort_by_key(|one| (is_internal(&one.name), !one.exported, is_value(one)));
    let mut names: Vec<&str> = top.iter().map(|one| one.name.as_str()).collect();
    if names.is_empty() {
        names = assigned_names(text, tree);
        names.sort_by_key(|name| is_internal(name));
    }
    // An overloaded function has a definition for each of its signatures.
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    let more = names.len().saturating_sub(MAX_NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    names.truncate(MAX_NAMES);
    (!names.is_empty())
        .then(|| format!("{}: {}{more}", language.name(), truncate_sentence(&names.join(", "))))
}

fn is_internal(name: &str) -> bool {
    name.starts_with('_')
}

fn is_value(one: &Annotation) -> bool {
    matches!(one.kind, Kind::Constant | Kind::Property)
}

/// Names assigned at the top level of a script, which are not definitions unless written as constants.
fn assigned_names<'text>(text: &'text str, tree: &SyntaxTree) -> Vec<&'text str> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let statements =
        root.named_children(&mut cursor).filter(|node| node.kind() == "expression_statement");
    statements
        .filter_map(|statement| statement.named_child(0))
        .filter(|node| node.kind() == "assignment")
        .filter_map(|assignment| assignment.child_by_field_name("left"))
        .filter(|left| left.kind() == "identifier")
        .map(|left| text_of(left, text))
        .collect()
}

/// The first sentence of the file's own documentation.
fn documentation(language: Language, text: &str, tree: &SyntaxTree) -> Option<String> {
    let settings = language.settings();
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut group: Vec<Node<'_>> = Vec::new();
    for node in root.named_children(&mut cursor) {
        if is_comment(settings, node) {
            let follows =
                group.last().is_some_and(|last| end_row(*last) + 1 >= node.start_position().row);
            if !group.is_empty() && !follows {
                if let Some(sentence) = sentence(language, &group, text, None) {
                    return Some(sentence);
                }
                group.clear();
            }
            group.push(node);
        } else if !is_preamble(node, text) {
            let docstring = docstring(settings, node, text).and_then(|said| read(settings, &said));
            return docstring.or_else(|| sentence(language, &group, text, Some(node)));
        }
    }
    sentence(language, &group, text, None)
}

/// The prologue before the first comment in some languages.
fn is_preamble(node: Node<'_>, text: &str) -> bool {
    matches!(node.kind(), "php_tag" | "hash_bang_line" | "shebang")
        || text_of(node, text).trim_matches(['\'', '"', ';']).trim() == "use strict"
}

/// A string that opens the file, in languages whose docstrings are inside of what they describe.
fn docstring(settings: &LanguageSettings, node: Node<'_>, text: &str) -> Option<String> {
    if settings.comments.place != DocumentationPlacement::Inside {
        return None;
    }
    let string = if node.kind() == "expression_statement" { node.named_child(0)? } else { node };
    let mut cursor = string.walk();
    let parts = string.named_children(&mut cursor).filter(|part| part.kind() == "string_content");
    let said: String = parts.map(|part| text_of(part, text)).collect();
    (string.kind() == "string" && !said.trim().is_empty()).then_some(said)
}

/// The first sentence of adjacent comments, if they are about the file. `below` is the code that follows them.
fn sentence(
    language: Language,
    group: &[Node<'_>],
    text: &str,
    below: Option<Node<'_>>,
) -> Option<String> {
    let settings = language.settings();
    let said = group.iter().map(|node| text_of(*node, text).trim_end());
    let is_inner = |said: &str| said.starts_with("//!") || said.starts_with("/*!");
    let said = said.filter(|said| !said.starts_with("#!"));
    let said: Vec<&str> = said
        .filter(|said| language != Language::Rust || is_inner(said))
        .skip_while(|said| is_skipped(said))
        .collect();
    let whole = said.iter().map(|said| strip_marks(said)).collect::<Vec<_>>().join("\n");
    let is_tagged = FILE_TAGS.iter().any(|tag| whole.contains(tag));
    let is_attached = below.is_some_and(|below| {
        let last = group.last().map(|last| end_row(*last) + 1);
        last == Some(below.start_position().row) && !is_header(below, text)
    });
    let is_below_shebang = text.starts_with("#!")
        && group.first().is_some_and(|first| first.start_position().row <= 1);
    let is_files_own = is_tagged || language == Language::Rust || is_below_shebang || !is_attached;
    let is_other = is_not_about_the_file(&whole) || whole.trim_start().starts_with("TODO");
    if !is_files_own || is_other {
        return None;
    }
    read(settings, &strip_file_tags(&whole))
}

/// Whether a comment is skipped together with the ones before it: a directive, or a separate license block.
fn is_skipped(comment: &str) -> bool {
    let plain = strip_marks(comment);
    let lower = plain.trim_start().to_lowercase();
    DIRECTIVES.iter().any(|start| lower.starts_with(start))
        || (is_block(comment) && is_not_about_the_file(&plain))
}

fn is_not_about_the_file(text: &str) -> bool {
    let lower = text.to_lowercase();
    NOT_ABOUT_THE_FILE.iter().any(|words| lower.contains(words))
}

/// Whether a comment right above a node is the file's and not the node's: it imports, or names the package.
fn is_header(node: Node<'_>, text: &str) -> bool {
    let kind = node.kind();
    let imports =
        ["import", "package", "use_declaration", "preproc", "namespace", "using", "extern"];
    imports.iter().any(|part| kind.contains(part)) || text_of(node, text).contains("require(")
}

/// Removes an underlined title, which is usually the file's name.
fn strip_title(text: &str) -> &str {
    let mut lines = text.splitn(3, '\n');
    let (_title, underline, rest) = (lines.next(), lines.next(), lines.next());
    let is_line = |line: &str| line.len() > 2 && line.bytes().all(|b| b"~=-^*#".contains(&b));
    match (underline.map(str::trim).is_some_and(is_line), rest) {
        (true, Some(rest)) => rest.trim_start(),
        _ => text,
    }
}

/// Removes the tags whose text is the file's description.
fn strip_file_tags(whole: &str) -> String {
    let line = |line: &str| {
        let tagged = line.trim_start();
        let tag = FILE_TAGS.iter().find(|tag| tagged.split_whitespace().next() == Some(tag));
        match tag {
            None => line.to_owned(),
            // What follows these is a name.
            Some(&"@module" | &"@packageDocumentation") => String::new(),
            Some(tag) => tagged.trim_start_matches(tag).trim_start().to_owned(),
        }
    };
    whole.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn read(settings: &LanguageSettings, whole: &str) -> Option<String> {
    let summary = Comment::read(settings, strip_title(whole.trim()))?.parts(settings).summary;
    (!summary.is_empty()).then_some(summary)
}

fn truncate_sentence(line: &str) -> String {
    match line.char_indices().nth(MAX_SENTENCE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line).trim_end()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about_text(path: &str, text: &str) -> Option<String> {
        let (language, tree) = parse::tree_of(path, text).unwrap();
        about(language, path, text, &tree)
    }

    #[test]
    fn a_file_is_described_by_its_own_documentation() {
        let cases = [
            (
                "a.rs",
                "// Copyright me\n//! Reads frames.\n//!\n//! More.\nuse x;\n",
                "Reads frames.",
            ),
            (
                "a.py",
                "#!/usr/bin/env python\n# -*- coding -*-\n\"\"\"\nrequests.auth\n~~~\n\nHandlers.\n\"\"\"\nimport a\n",
                "Handlers.",
            ),
            ("a.py", "\"\"\"Handles logins.\"\"\"\ndef f(): pass\n", "Handles logins."),
            (
                "a.ts",
                "/** User management functions and types */\n\n/** A. */\nexport class A {}\n",
                "User management functions and types",
            ),
            (
                "a.ts",
                "/**\n * @fileoverview Signs people in.\n */\nexport class A {}\n",
                "Signs people in.",
            ),
            ("a.ts", "// Signs people in.\nimport { a } from './a';\n", "Signs people in."),
            (
                "a.js",
                "/*! Copyright */\n'use strict';\n\n/** Draws maps. */\n\nvar a = 1;\n",
                "Draws maps.",
            ),
            ("a.go", "// Package p counts things.\npackage p\n", "Package p counts things."),
            (
                "a.rb",
                "# frozen_string_literal: true\n# Signs people in.\n\nclass A\nend\n",
                "Signs people in.",
            ),
            (
                "a.py",
                "# coding: utf-8\n\n# Copyright me.\n\n# Redistribution and use in source and binary forms\n\n\
                 # Draws maps.\n\nimport a\n",
                "Draws maps.",
            ),
            ("a.js", "/* Copyright me. */\n/** Draws maps. */\n\nvar a = 1;\n", "Draws maps."),
            ("a.sh", "#!/bin/sh\n# Deploys the app.\nset -e\n", "Deploys the app."),
            (
                "a.js",
                "#!/usr/bin/env node\n// Starts the server.\nconst a = 1;\n",
                "Starts the server.",
            ),
        ];
        for (path, text, want) in cases {
            assert_eq!(about_text(path, text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn without_documentation_it_is_described_by_its_definitions() {
        let many: Vec<String> = (0..7).map(|n| format!("export function f{n}() {{}}\n")).collect();
        let many = many.concat();
        let cases = [
            (
                "a.ts",
                "/** Says hello. */\nexport function hello() {}\nfunction own() {}\n",
                Some("TypeScript: hello, own"),
            ),
            ("a.ts", "function own() {}\nexport class B { c() {} }\n", Some("TypeScript: B, own")),
            (
                "a.js",
                "/**\n * Module dependencies.\n */\nvar a = require('a');\nfunction f() {}\n",
                Some("JavaScript: f"),
            ),
            ("a.rs", "/// Counts.\nfn count() {}\n", Some("Rust: count")),
            ("a.ts", many.as_str(), Some("TypeScript: f0, f1, f2, f3, f4 and 2 more")),
            ("a.rb", "# frozen_string_literal: true\n\nclass A\nend\n", Some("Ruby: A")),
            ("a.py", "# -*- coding: utf-8 -*-\n\ndef f(): pass\n", Some("Python: f")),
            (
                "a.py",
                "# Permission is hereby granted, free of charge\n\ndef f(): pass\n",
                Some("Python: f"),
            ),
            (
                "a.py",
                "# This program is free software: you can\n\ndef f(): pass\n",
                Some("Python: f"),
            ),
            ("a.py", "# SPDX-FileCopyrightText: me\n\ndef f(): pass\n", Some("Python: f")),
            ("a.py", "# TODO rewrite\n# all of it\n\ndef f(): pass\n", Some("Python: f")),
            (
                "a.py",
                "def _own(): pass\nF = TypeVar('F')\n@overload\ndef f(a): pass\n@overload\ndef f(b): pass\nclass A: pass\n",
                Some("Python: f, A, F, _own"),
            ),
            ("a.py", "_held: A = 1\nrequest = 2\nrequest = 3\n", Some("Python: request, _held")),
            ("a.ts", "", None),
        ];
        for (path, text, want) in cases {
            assert_eq!(about_text(path, text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_long_sentence_is_cut() {
        let text = format!("//! {}\n", "ü ".repeat(300));
        let about = about_text("a.rs", &text).unwrap();
        assert!(about.ends_with('…') && about.chars().count() <= MAX_SENTENCE_CHARS + 1, "{about}");
    }
}
