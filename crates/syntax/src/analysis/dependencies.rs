//! What a file needs, and which file of the project that is.

use super::Source;
use crate::language::{Language, line_of, matches, text_of};
use schemars::JsonSchema;
use serde::Serialize;

/// One import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Import {
    /// As it is written.
    pub module: String,
    /// Where, counted from 1.
    pub line: u32,
    /// Whether it is part of the project; else it is a package or part of the language.
    pub local: bool,
    /// The file that it leads to, where one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Every import of a file, in its order. `exists` says whether a path of the project is a file.
pub fn imports(source: &Source<'_>, exists: &dyn Fn(&str) -> bool) -> Vec<Import> {
    let found = matches(source.language.grammar().imports(), source.tree.root_node(), source.text);
    let read = |one: &crate::language::Match<'_>| {
        let node = one.get("module")?;
        let module = text_of(node, source.text).split_whitespace().collect::<Vec<_>>().join(" ");
        let declared = one.get("declared").is_some();
        let (local, candidates) = candidates(source.language, source.path, &module, declared);
        let file = candidates.into_iter().find(|path| exists(path));
        Some(Import { module, line: line_of(node), local: local || file.is_some(), file })
    };
    found.iter().filter_map(read).collect()
}

/// Whether an import is part of the project for certain, and the files that it may mean, likeliest first.
fn candidates(language: Language, from: &str, module: &str, declared: bool) -> (bool, Vec<String>) {
    match language {
        Language::Python => python(from, module),
        Language::Rust => rust(from, module, declared),
        Language::TypeScript | Language::Tsx | Language::JavaScript => script(from, module),
        Language::Go => go(from, module),
        Language::Java => java(from, module),
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `path` as seen from `folder`; `None` where it leaves the project.
fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn script(from: &str, module: &str) -> (bool, Vec<String>) {
    let relative =
        module.starts_with("./") || module.starts_with("../") || module == "." || module == "..";
    let Some(base) = join(folder_of(from), module).filter(|_| relative) else {
        return (relative, Vec::new());
    };
    let endings = [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json"];
    let mut all = vec![base.clone()];
    // TypeScript imports by the name that the compiled file will have.
    if let Some((stem, "js" | "jsx" | "mjs" | "cjs")) = base.rsplit_once('.') {
        all.extend([".ts", ".tsx", ".mts", ".cts"].map(|ending| format!("{stem}{ending}")));
    }
    all.extend(endings.map(|ending| format!("{base}{ending}")));
    all.extend(endings.map(|ending| format!("{base}/index{ending}")));
    (true, all)
}

fn python(from: &str, module: &str) -> (bool, Vec<String>) {
    let name = module.trim_start_matches('.');
    let dots = module.len() - name.len();
    let path = name.replace('.', "/");
    let forms = |folder: &str| {
        let base = join(folder, &path).unwrap_or_default();
        if path.is_empty() {
            vec![format!("{base}/__init__.py")]
        } else {
            vec![format!("{base}.py"), format!("{base}/__init__.py")]
        }
    };
    if dots > 0 {
        let above = join(folder_of(from), &"../".repeat(dots - 1));
        return (true, above.map(|folder| forms(&folder)).unwrap_or_default());
    }
    let mut all = Vec::new();
    let mut folder = folder_of(from);
    loop {
        all.extend(forms(folder));
        if folder.is_empty() {
            break;
        }
        folder = folder_of(folder);
    }
    all.extend(forms("src"));
    (false, all)
}

fn rust(from: &str, module: &str, declared: bool) -> (bool, Vec<String>) {
    let (folder, file) = (folder_of(from), from.rsplit('/').next().unwrap_or(from));
    let stem = file.trim_end_matches(".rs");
    let own = if matches!(stem, "mod" | "lib" | "main") {
        folder.to_owned()
    } else {
        format!("{folder}/{stem}")
    };
    let forms = |base: &str, path: &str| {
        let base = join(base, path).unwrap_or_default();
        [format!("{base}.rs"), format!("{base}/mod.rs")]
    };
    if declared {
        return (true, forms(&own, module).into());
    }
    let plain = module.split(['{', '*', ' ']).next().unwrap_or(module);
    let mut segments: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    let mut base = match segments.first() {
        Some(&"crate") => crate_folder(from),
        Some(&"self" | &"super") => own,
        _ => return (false, Vec::new()),
    };
    while let Some(first @ ("crate" | "self" | "super")) = segments.first().copied() {
        if first == "super" {
            base = folder_of(&base).to_owned();
        }
        segments.remove(0);
    }
    // The last names may be items of a module and not modules.
    let lengths = (1..=segments.len()).rev();
    let mut all: Vec<String> =
        lengths.flat_map(|n| forms(&base, &segments[..n].join("/"))).collect();
    all.extend(["mod.rs", "lib.rs", "main.rs"].iter().filter_map(|name| join(&base, name)));
    all.push(format!("{base}.rs"));
    (true, all)
}

/// An import names a folder. Its best-known file is called after the package, or holds its documentation.
fn go(from: &str, module: &str) -> (bool, Vec<String>) {
    let name = module.rsplit('/').next().unwrap_or(module);
    let files = |folder: &str| [format!("{folder}/{name}.go"), format!("{folder}/doc.go")];
    if module.starts_with("./") || module.starts_with("../") {
        let folder = join(folder_of(from), module);
        return (true, folder.map(|folder| files(&folder).into()).unwrap_or_default());
    }
    // What starts with a host may be a package of this project: the name of its module is the start of the path.
    let parts: Vec<&str> = module.split('/').collect();
    let hosted = parts.first().is_some_and(|first| first.contains('.'));
    let starts = if hosted { 1..parts.len() } else { 0..1 };
    (false, starts.flat_map(|n| files(&parts[n..].join("/"))).collect())
}

/// A class is in the file of its name, in the folders of its package, below some folder above this file.
fn java(from: &str, module: &str) -> (bool, Vec<String>) {
    let segments: Vec<&str> = module.split('.').collect();
    // The last names may be a class inside the class, or a member of it.
    let shortest = segments.len().saturating_sub(2).max(1);
    let mut all = Vec::new();
    let mut folder = folder_of(from);
    loop {
        for n in (shortest..=segments.len()).rev() {
            all.extend(join(folder, &format!("{}.java", segments[..n].join("/"))));
        }
        if folder.is_empty() {
            break;
        }
        folder = folder_of(folder);
    }
    (false, all)
}

/// Where the modules of a crate start.
fn crate_folder(path: &str) -> String {
    let parts: Vec<&str> = folder_of(path).split('/').collect();
    match parts.iter().rposition(|part| *part == "src") {
        Some(at) => parts[..=at].join("/"),
        None => folder_of(path).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const FILES: &[&str] = &[
        "src/users.ts",
        "src/ui/index.tsx",
        "src/lib.js",
        "src/data.json",
        "pkg/__init__.py",
        "pkg/core.py",
        "pkg/sub/__init__.py",
        "pkg/sub/leaf.py",
        "src/app/tool.py",
        "k/src/lib.rs",
        "k/src/a.rs",
        "k/src/a/b.rs",
        "k/src/c/mod.rs",
        "k/src/c/d.rs",
        "internal/store/store.go",
        "wire/doc.go",
        "src/main/java/org/shop/Table.java",
    ];

    /// `module line [file]`, with `!` after what is not local.
    fn lines(language: Language, path: &str, text: &str) -> Vec<String> {
        let tree = parse::tree(language, text, &|| false).unwrap();
        let exists = |path: &str| FILES.contains(&path);
        let show = |one: Import| {
            let mark = if one.local { "" } else { "!" };
            format!("{}{mark} {} {}", one.module, one.line, one.file.as_deref().unwrap_or("-"))
        };
        imports(&Source { path, language, text, tree: &tree }, &exists)
            .into_iter()
            .map(show)
            .collect()
    }

    #[test]
    fn script_imports_lead_to_files() {
        let text = "import { User } from \"./users\";\nimport x from './ui';\nexport * from './lib.js';\nconst e = require('express');\nimport('./users.js');\nimport d from './data.json';\nimport './none';\nimport '../../out';\n";
        let want = [
            "./users 1 src/users.ts",
            "./ui 2 src/ui/index.tsx",
            "./lib.js 3 src/lib.js",
            "express! 4 -",
            "./users.js 5 src/users.ts",
            "./data.json 6 src/data.json",
            "./none 7 -",
            "../../out 8 -",
        ];
        assert_eq!(lines(Language::TypeScript, "src/auth.ts", text), want);
        assert_eq!(lines(Language::JavaScript, "src/auth.js", text), want);
    }

    #[test]
    fn python_imports_lead_to_files() {
        let text = "import os, pkg.core as c\nfrom . import core\nfrom .leaf import x\nfrom ..core import y\nfrom pkg.sub import z\nfrom app.tool import t\nfrom .... import far\n";
        let want = [
            "os! 1 -",
            "pkg.core 1 pkg/core.py",
            ". 2 pkg/sub/__init__.py",
            ".leaf 3 pkg/sub/leaf.py",
            "..core 4 pkg/core.py",
            "pkg.sub 5 pkg/sub/__init__.py",
            "app.tool 6 src/app/tool.py",
            ".... 7 -",
        ];
        assert_eq!(lines(Language::Python, "pkg/sub/mod.py", text), want);
    }

    #[test]
    fn rust_imports_lead_to_files() {
        let text = "use std::fmt;\nmod b;\nuse crate::c::d::Thing;\nuse crate::{a, c};\nuse self::b::x;\nuse super::c;\nuse serde::{de, ser};\nmod inline { }\n";
        let want = [
            "std::fmt! 1 -",
            "b 2 k/src/a/b.rs",
            "crate::c::d::Thing 3 k/src/c/d.rs",
            "crate::{a, c} 4 k/src/lib.rs",
            "self::b::x 5 k/src/a/b.rs",
            "super::c 6 k/src/c/mod.rs",
            "serde::{de, ser}! 7 -",
        ];
        assert_eq!(lines(Language::Rust, "k/src/a.rs", text), want);
        assert_eq!(
            lines(Language::Rust, "k/src/c/mod.rs", "mod d;\nuse super::a;"),
            ["d 1 k/src/c/d.rs", "super::a 2 k/src/a.rs"]
        );
    }

    #[test]
    fn go_imports_lead_to_files() {
        let text = "package main\n\nimport \"fmt\"\nimport (\n\t\"example.com/shop/internal/store\"\n\tw `example.com/shop/wire`\n\t_ \"./none\"\n)\n";
        let want = [
            "fmt! 3 -",
            "example.com/shop/internal/store 5 internal/store/store.go",
            "example.com/shop/wire 6 wire/doc.go",
            "./none 7 -",
        ];
        assert_eq!(lines(Language::Go, "main.go", text), want);
    }

    #[test]
    fn java_imports_lead_to_files() {
        let text = "package org.shop.ui;\nimport java.util.List;\nimport org.shop.Table;\nimport static org.shop.Table.Row.of;\nimport org.other.*;\n";
        let want = [
            "java.util.List! 2 -",
            "org.shop.Table 3 src/main/java/org/shop/Table.java",
            "org.shop.Table.Row.of 4 src/main/java/org/shop/Table.java",
            "org.other! 5 -",
        ];
        assert_eq!(lines(Language::Java, "src/main/java/org/shop/ui/Window.java", text), want);
    }
}
