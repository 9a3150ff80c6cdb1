//! Prints what syn finds in the Rust files of a folder, one JSON line per file: `tests/oracles/definitions.py` compares
//! it with docent's results.
#![expect(clippy::disallowed_methods, reason = "the example reads the files that it is given")]

use serde_json::{Value, json};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};
use syn::{
    Block, ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, ItemTrait, Signature, TraitItemFn, Type,
    Visibility,
    spanned::Spanned as _,
    visit::{self, Visit},
};

/// Collects definitions with the names around them.
#[derive(Default)]
struct Items {
    around: Vec<String>,
    found: Vec<Value>,
}

impl Items {
    fn add(&mut self, group: &str, name: &str, visibility: Option<&Visibility>, line: usize) {
        let line = match visibility {
            Some(Visibility::Public(token)) => token.span().start().line,
            Some(Visibility::Restricted(token)) => token.span().start().line,
            _ => line,
        };
        let mut path = self.around.clone();
        path.push(name.to_owned());
        self.found.push(json!({"group": group, "name": path.join("::"), "line": line}));
    }

    fn function(
        &mut self,
        group: &str,
        vis: Option<&Visibility>,
        sig: &Signature,
        body: Option<&Block>,
    ) {
        let name = sig.ident.to_string();
        self.add(group, &name, vis, sig.span().start().line);
        self.around.push(name);
        if let Some(body) = body {
            self.visit_block(body);
        }
        self.around.pop();
    }
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Struct(one) => {
                self.add(
                    "type",
                    &one.ident.to_string(),
                    Some(&one.vis),
                    one.struct_token.span.start().line,
                );
            }
            Item::Union(one) => {
                self.add(
                    "type",
                    &one.ident.to_string(),
                    Some(&one.vis),
                    one.union_token.span.start().line,
                );
            }
            Item::Enum(one) => {
                self.add(
                    "type",
                    &one.ident.to_string(),
                    Some(&one.vis),
                    one.enum_token.span.start().line,
                );
            }
            // Of aliases, those of modules count.
            Item::Type(one) => {
                self.add(
                    "type",
                    &one.ident.to_string(),
                    Some(&one.vis),
                    one.type_token.span.start().line,
                );
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, one: &'ast ItemFn) {
        self.function("function", Some(&one.vis), &one.sig, Some(&one.block));
    }

    fn visit_item_mod(&mut self, one: &'ast ItemMod) {
        self.around.push(one.ident.to_string());
        visit::visit_item_mod(self, one);
        self.around.pop();
    }

    fn visit_item_trait(&mut self, one: &'ast ItemTrait) {
        let line =
            one.unsafety.map_or_else(|| one.trait_token.span, |token| token.span).start().line;
        self.add("type", &one.ident.to_string(), Some(&one.vis), line);
        self.around.push(one.ident.to_string());
        visit::visit_item_trait(self, one);
        self.around.pop();
    }

    fn visit_item_impl(&mut self, one: &'ast ItemImpl) {
        let name = match &*one.self_ty {
            Type::Path(path) => {
                let segments = path.path.segments.iter().map(|segment| segment.ident.to_string());
                segments.collect::<Vec<_>>().join("::")
            }
            _ => "?".to_owned(),
        };
        self.around.push(name);
        visit::visit_item_impl(self, one);
        self.around.pop();
    }

    fn visit_impl_item_fn(&mut self, one: &'ast ImplItemFn) {
        let visibility = Some(&one.vis);
        self.function("method", visibility, &one.sig, Some(&one.block));
    }

    fn visit_trait_item_fn(&mut self, one: &'ast TraitItemFn) {
        self.function("method", None, &one.sig, one.default.as_ref());
    }
}

fn main() -> io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder"));
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let mut out = io::stdout().lock();
    for file in files {
        // Files that syn cannot parse are skipped.
        let Ok(parsed) = syn::parse_file(&fs::read_to_string(&file).unwrap_or_default()) else {
            continue;
        };
        let mut items = Items::default();
        items.visit_file(&parsed);
        let path = file.strip_prefix(&folder).unwrap_or(&file).to_string_lossy().into_owned();
        writeln!(out, "{}", json!({"path": path, "definitions": items.found}))?;
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
