//! Imports as they are written, and the files that they lead to.

use super::*;

#[test]
fn script_imports_lead_to_files() {
    let files = files(&[
        ("src/users.ts", ""),
        ("src/users.js", ""),
        ("src/ui/index.tsx", ""),
        ("src/lib.js", ""),
        ("src/data.json", ""),
        ("src/part/package.json", r#"{"main": "entry.js"}"#),
        ("src/part/entry.js", ""),
    ]);
    let text = "import { User, type Id as I } from \"./users\";
import x from './ui';
export * from './lib.js';
export { a as b } from './part';
const e = require('express');
import('./users.js');
import d from './data.json?raw';
import './none';
import '../../out';
import fs from 'fs/promises';
import y from '@scope/x/y';
const later = import(`./lib`);
const no = import(`./${name}`);
import 'https://example.com/x.js';
";
    let want = [
        "1 ./users[User Id] -> src/users.ts",
        "2 ./ui -> src/ui/index.tsx",
        "3 ./lib.js -> src/lib.js",
        "4 ./part[a] -> src/part/entry.js",
        "5 express -> express -",
        "6 ./users.js -> src/users.ts",
        "7 ./data.json?raw -> src/data.json",
        "8 ./none -> ?",
        "9 ../../out -> ?",
        "10 fs/promises -> std fs/promises",
        "11 @scope/x/y -> @scope/x 1.2.3",
        "12 ./lib -> src/lib.js",
        "14 https://example.com/x.js -> nothing",
    ];
    assert_eq!(shown("src/auth.ts", text, &files), want);
    let plain = text.replace("type Id as I", "Id");
    let found = shown("src/auth.js", &plain, &files);
    assert_eq!(found[0], "1 ./users[User Id] -> src/users.js", "a script means a script first");
    assert_eq!(found[5], "6 ./users.js -> src/users.js");
    assert_eq!(found[1..5], want[1..5]);
}

#[test]
fn typescript_has_type_imports_and_its_own_require() {
    let files = files(&[("a.ts", ""), ("b.mts", "")]);
    let text = "import type { A } from './a';
import type from './a';
import a = require('./a');
export type { A } from './a';
type B = import('./b.mjs').B;
import { type A } from './a';
";
    let want = [
        "1 ./a[A] -> a.ts (types)",
        "2 ./a -> a.ts",
        "3 ./a -> a.ts",
        "4 ./a[A] -> a.ts (types)",
        "5 ./b.mjs -> b.mts",
        "6 ./a[A] -> a.ts",
    ];
    assert_eq!(shown("c.ts", text, &files), want);
}

#[test]
fn configured_names_lead_to_files() {
    let files = files(&[
        (
            "tsconfig.base.json",
            "{ // shared\n \"compilerOptions\": {\"baseUrl\": \".\", \"paths\": {\"@lib/*\": [\"gone/*\", \"libs/*/src\"],}} }",
        ),
        (
            "app/tsconfig.json",
            r#"{"extends": "../tsconfig.base", "compilerOptions": {"baseUrl": "./src"}}"#,
        ),
        ("app/src/deep/thing.ts", ""),
        ("app/package.json", r##"{"name": "app", "imports": {"#own/*": "./src/*.ts"}}"##),
        ("libs/ui/src/index.ts", ""),
        (
            "solution/tsconfig.json",
            r#"{"files": [], "references": [{"path": "./tsconfig.app.json"}]}"#,
        ),
        ("solution/tsconfig.app.json", r#"{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}"#),
        ("solution/src/x.vue", ""),
        ("loop/tsconfig.json", r#"{"extends": "./tsconfig.json"}"#),
        ("loop/b.ts", ""),
        (
            "packages/core/package.json",
            r#"{"name": "@me/core", "exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.js"}, "./*": "./dist/esm/*.js"}}"#,
        ),
        ("packages/core/src/index.ts", ""),
        ("packages/core/src/math/add.ts", ""),
        ("packages/old/package.json", r#"{"name": "old", "main": "lib/main.js"}"#),
        ("packages/old/lib/main.js", ""),
        ("packages/old/other.js", ""),
        ("node_modules/left/package.json", r#"{"name": "left"}"#),
        ("node_modules/left/index.js", ""),
    ]);
    let text = "import '@lib/ui';\nimport 'deep/thing';\nimport '#own/deep/thing';\nimport '@me/core';\nimport '@me/core/math/add';\nimport 'old';\nimport 'old/other';\nimport 'old/gone';\nimport 'left';\n";
    let want = [
        "1 @lib/ui -> libs/ui/src/index.ts",
        "2 deep/thing -> app/src/deep/thing.ts",
        "3 #own/deep/thing -> app/src/deep/thing.ts",
        "4 @me/core -> packages/core/src/index.ts",
        "5 @me/core/math/add -> packages/core/src/math/add.ts",
        "6 old -> packages/old/lib/main.js",
        "7 old/other -> packages/old/other.js",
        "8 old/gone -> ?",
        "9 left -> left -",
    ];
    assert_eq!(shown("app/src/main.ts", text, &files), want);
    assert_eq!(
        shown("solution/src/main.ts", "import '@/x.vue'", &files),
        ["1 @/x.vue -> solution/src/x.vue"]
    );
    assert_eq!(shown("loop/a.ts", "import './b'", &files), ["1 ./b -> loop/b.ts"]);
}

#[test]
fn python_imports_lead_to_files() {
    let files = files(&[
        ("pkg/__init__.py", ""),
        ("pkg/core.py", ""),
        ("pkg/logging.py", ""),
        ("pkg/sub/__init__.py", ""),
        ("pkg/sub/leaf.py", ""),
        ("pkg/sub/mod.py", ""),
        ("src/app/__init__.py", ""),
        ("src/app/tool.py", ""),
        ("src/space/inner/__init__.py", ""),
        ("src/space/inner/x.py", ""),
    ]);
    let text = "import os, pkg.core as c
from . import leaf, name, mod as m
from .leaf import x
from ..core import y
from pkg.sub import *
from app.tool import t
from .... import far
import logging
from space import inner
import space.inner.x
import pkg.gone
import yaml
from google.cloud.storage import Client
if TYPE_CHECKING:
    from pkg import core
def late():
    import requests
";
    let want = [
        "1 os -> std os",
        "1 pkg.core -> pkg/core.py",
        "2 .[leaf name mod] -> pkg/sub/leaf.py pkg/sub/__init__.py pkg/sub/mod.py",
        "3 .leaf[x] -> pkg/sub/leaf.py",
        "4 ..core[y] -> pkg/core.py",
        "5 pkg.sub[*] -> pkg/sub/__init__.py",
        "6 app.tool[t] -> src/app/tool.py",
        "7 ....[far] -> ?",
        "8 logging -> std logging",
        "9 space[inner] -> src/space/inner/__init__.py",
        "10 space.inner.x -> src/space/inner/x.py",
        "11 pkg.gone -> ?",
        "12 yaml -> PyYAML 6.0",
        "13 google.cloud.storage[Client] -> google-cloud-storage 2.1",
        "15 pkg[core] -> pkg/core.py (types)",
        "17 requests -> requests -",
    ];
    assert_eq!(shown("pkg/sub/mod.py", text, &files), want);
}

#[test]
fn scripts_beside_each_other_are_modules() {
    let files = files(&[
        ("tools/a.py", ""),
        ("tools/b.py", ""),
        ("tools/asyncio/x.py", ""),
        ("tools/asyncio/__init__.py", ""),
    ]);
    assert_eq!(
        shown("tools/a.py", "import b\nimport tools.b", &files),
        ["1 b -> tools/b.py", "2 tools.b -> tools/b.py"]
    );
    let own = shown("tools/asyncio/x.py", "import asyncio", &files);
    assert_eq!(own, ["1 asyncio -> tools/asyncio/__init__.py"], "Python's own repository");
}

const WORKSPACE: &[(&str, &str)] = &[
    (
        "k/Cargo.toml",
        "[package]\nname = \"k\"\n[dependencies]\nserde-json = \"1\"\nshort = { package = \"long-name\" }\nother-crate = { path = \"../other\" }",
    ),
    ("k/src/lib.rs", ""),
    ("k/src/main.rs", ""),
    ("k/src/a.rs", ""),
    ("k/src/a/b.rs", ""),
    ("k/src/c/mod.rs", ""),
    ("k/src/c/d.rs", ""),
    ("k/src/elsewhere.rs", ""),
    ("k/src/bin/tool.rs", ""),
    ("k/tests/it.rs", ""),
    ("k/tests/common/mod.rs", ""),
    ("other/Cargo.toml", "[package]\nname = \"other-crate\""),
    ("other/src/lib.rs", ""),
    ("other/src/deep.rs", ""),
];

#[test]
fn rust_imports_lead_to_files() {
    let files = files(WORKSPACE);
    let text = "use std::{fmt, io::{self, Read}};
mod b;
use crate::c::d::Thing;
use crate::{a, c::{self, d, Two}};
use self::b::x;
use super::c;
use serde_json::{de, ser};
mod inline { use super::b; use super::super::c; }
use other_crate::deep::{
    // a comment
    One,
    Two as Three,
};
use short::X;
use Kind::*;
use inline::Y;
extern crate alloc;
#[path = \"elsewhere.rs\"]
mod named;
pub use b::z;
";
    let want = [
        "1 std[fmt] -> std std",
        "1 std::io[self Read] -> std std",
        "2 b -> k/src/a/b.rs",
        "3 crate::c::d::Thing -> k/src/c/d.rs",
        "4 crate[a] -> k/src/a.rs",
        "4 crate::c[self] -> k/src/c/mod.rs",
        "4 crate::c[d] -> k/src/c/d.rs",
        "4 crate::c[Two] -> k/src/c/mod.rs",
        "5 self::b::x -> k/src/a/b.rs",
        "6 super::c -> k/src/c/mod.rs",
        "7 serde_json[de ser] -> serde-json 1.0",
        "8 super::b -> k/src/a/b.rs",
        "8 super::super::c -> k/src/c/mod.rs",
        "9 other_crate::deep[One Two] -> other/src/deep.rs",
        "14 short::X -> long-name -",
        "15 Kind::* -> ?",
        "16 inline::Y -> k/src/a.rs",
        "17 alloc -> std alloc",
        "19 named -> k/src/elsewhere.rs",
        "20 b::z -> k/src/a/b.rs",
    ];
    assert_eq!(shown("k/src/a.rs", text, &files), want);
}

#[test]
fn rust_programs_and_tests_are_crates_of_their_own() {
    let files = files(WORKSPACE);
    let cases = [
        ("k/src/c/mod.rs", "mod d;", "1 d -> k/src/c/d.rs"),
        ("k/src/c/mod.rs", "use super::a;", "1 super::a -> k/src/a.rs"),
        ("k/src/c/d.rs", "use crate::Root;", "1 crate::Root -> k/src/lib.rs"),
        ("k/src/main.rs", "use k::a::X;", "1 k::a::X -> k/src/a.rs"),
        ("k/src/main.rs", "use crate::y;", "1 crate::y -> k/src/main.rs"),
        ("k/src/bin/tool.rs", "use k::Root;", "1 k::Root -> k/src/lib.rs"),
        ("k/tests/it.rs", "mod common;", "1 common -> k/tests/common/mod.rs"),
        ("k/tests/it.rs", "use common::x;", "1 common::x -> k/tests/common/mod.rs"),
        ("k/src/lib.rs", "mod gone;", "1 gone -> ?"),
    ];
    for (path, text, want) in cases {
        assert_eq!(shown(path, text, &files), [want], "{path}: {text}");
    }
    let declares = |text: &str| imports_of("k/src/lib.rs", text, &files)[0].declares;
    assert!(declares("mod a;") && !declares("use crate::a;"));
}

#[test]
fn go_imports_lead_to_the_files_of_a_package() {
    let files = files(&[
        (
            "go.mod",
            "module example.com/shop // ours\n\ngo 1.22\n\nrequire (\n\tgithub.com/spf13/cobra v1.8.0\n\tgopkg.in/yaml.v3 v3.0.1 // indirect\n)\nreplace example.com/far => ./near\n",
        ),
        ("internal/store/a.go", ""),
        ("internal/store/store.go", ""),
        ("internal/store/store_test.go", ""),
        ("internal/store/sub/x.go", ""),
        ("near/wire/doc.go", ""),
        ("tools/go.mod", "module example.com/shop/tools"),
        ("tools/gen/gen.go", ""),
    ]);
    let text = "package main

import \"fmt\"
import (
\t\"example.com/shop/internal/store\"
\tw `example.com/far/wire`
\t_ \"./none\"
\t\"example.com/shop/tools/gen\"
\t\"github.com/spf13/cobra/doc\"
\t\"gopkg.in/yaml.v3\"
\t\"golang.org/x/net/html\"
\t\"example.com/shopping\"
)
";
    let want = [
        "3 fmt -> std fmt",
        "5 example.com/shop/internal/store -> internal/store/store.go internal/store/a.go",
        "6 example.com/far/wire -> near/wire/doc.go",
        "7 ./none -> ?",
        "8 example.com/shop/tools/gen -> tools/gen/gen.go",
        "9 github.com/spf13/cobra/doc -> github.com/spf13/cobra v1.8.0",
        "10 gopkg.in/yaml.v3 -> gopkg.in/yaml.v3 -",
        "11 golang.org/x/net/html -> golang.org/x/net -",
        "12 example.com/shopping -> example.com/shopping -",
    ];
    assert_eq!(shown("main.go", text, &files), want);
}

#[test]
fn go_without_a_manifest_goes_by_folders() {
    let files = files(&[("doc/man.go", ""), ("root.go", "")]);
    let text = "package x\nimport \"github.com/spf13/cobra/doc\"\n";
    assert_eq!(shown("root.go", text, &files), ["2 github.com/spf13/cobra/doc -> doc/man.go"]);
}

#[test]
fn java_imports_lead_to_files() {
    let files = files(&[
        ("one/src/main/java/org/shop/Table.java", ""),
        ("one/src/main/java/org/shop/Chair.java", ""),
        ("one/src/test/java/org/shop/TableTest.java", ""),
        ("two/src/main/java/org/shop/Table.java", ""),
        ("two/src/main/java/org/shop/util/Only.kt", ""),
    ]);
    let text = "package org.shop.ui;
import java.util.List;
import org.shop.Table;
import static org.shop.Table.Row.of;
import org.shop.util.*;
import org.other.deep.*;
import org.shop.Gone;
import org.junit.jupiter.api.Test;
import static org.shop.Chair.*;
";
    let want = [
        "2 java.util.List -> std java.util",
        "3 org.shop.Table -> two/src/main/java/org/shop/Table.java",
        "4 org.shop.Table.Row.of -> two/src/main/java/org/shop/Table.java",
        "5 org.shop.util[*] -> two/src/main/java/org/shop/util/Only.kt",
        "6 org.other.deep[*] -> org.other.deep -",
        "7 org.shop.Gone -> ?",
        "8 org.junit.jupiter.api.Test -> org.junit 5.0",
        "9 org.shop.Chair[*] -> one/src/main/java/org/shop/Chair.java",
    ];
    assert_eq!(shown("two/src/main/java/org/shop/ui/Window.java", text, &files), want);
    let all = shown("one/src/main/java/org/x/A.java", "import org.shop.*;", &files);
    assert_eq!(
        all,
        [
            "1 org.shop[*] -> one/src/main/java/org/shop/Chair.java one/src/main/java/org/shop/Table.java two/src/main/java/org/shop/Table.java"
        ]
    );
}

#[test]
fn deep_and_wide_files_end() {
    let files = files(&[("k/src/lib.rs", ""), ("pkg/__init__.py", ""), ("pkg/a.py", "")]);
    let deep = |levels| format!("{}use super::x;{}", "mod m {".repeat(levels), "}".repeat(levels));
    assert_eq!(shown("k/src/lib.rs", &deep(400), &files), ["1 super::x -> k/src/lib.rs"]);
    assert_eq!(shown("k/src/lib.rs", &deep(30_000), &files), Vec::<String>::new());
    let names: Vec<String> = (0..20_000).map(|at| format!("n{at}")).collect();
    let wide = format!("from pkg.a import {}", names.join(", "));
    let found = imports_of("pkg/b.py", &wide, &files);
    assert_eq!((found.len(), found[0].names.len()), (1, 20_000));
    let many = format!("import {}", names.join(", "));
    assert_eq!(imports_of("pkg/b.py", &many, &files).len(), 20_000);
}

#[test]
fn an_import_omits_fields_that_do_not_apply() {
    let files = files(&[("a.ts", "")]);
    let text = "import type { A } from './a';\nimport y from '@scope/x';\n";
    let value = serde_json::to_value(imports_of("c.ts", text, &files)).unwrap();
    let want = serde_json::json!([
        {"module": "./a", "names": ["A"], "line": 1, "local": true, "file": "a.ts", "typeOnly": true},
        {"module": "@scope/x", "line": 2, "local": false,
         "package": {"name": "@scope/x", "version": "1.2.3", "standard": false}},
    ]);
    assert_eq!(value, want);
    let schema = serde_json::to_string(&schemars::schema_for!(FolderDependencies)).unwrap();
    assert!(schema.contains("partCycles") && schema.contains("mostNeeded"));
}
