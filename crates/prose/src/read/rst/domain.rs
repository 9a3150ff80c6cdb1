//! Sphinx's domains: functions, classes, options and the like, each a section under its signature.

use super::{RstReader, compose::RstNode, directive::Directive, lines::identifier};

impl RstReader<'_> {
    /// Reads the description of an object. False if the directive is not one.
    pub(super) fn object(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) -> bool {
        let (domain, kind) = match directive.name.split_once(':') {
            Some((domain, kind)) => (domain.to_owned(), kind),
            None => (self.domain.clone(), directive.name),
        };
        let named = directive.name.contains(':');
        if matches!(kind, "module" | "currentmodule") && (named || domain == "py") {
            self.module = if directive.argument == "None" {
                String::new()
            } else {
                directive.argument.to_owned()
            };
            if let (Some(RstNode::Section(_, _, anchor)), "module") = (out.last_mut(), kind) {
                // Sphinx names the section that way when the module comes right below its title.
                *anchor = Some(format!("module-{}", directive.argument));
            }
            let nodes = self.nested(&directive.body);
            out.extend(nodes);
            return true;
        }
        if kind.starts_with("namespace") || kind == "alias" {
            return true;
        }
        let has_body = directive.body.iter().any(|line| !line.trim().is_empty());
        let styled = kind == "class" && !named && !has_body && !directive.argument.contains('(');
        if directive.argument.is_empty() || styled || !(named || is_object(kind)) {
            return false;
        }
        let signatures = signatures(directive);
        let first = signatures.first().map(String::as_str).unwrap_or_default();
        let heading = heading(&domain, kind, first);
        let silent = ["noindex", "no-index"].iter().any(|name| directive.option(name).is_some());
        let name = name_of(&domain, first);
        let anchor = self.anchor(&domain, kind, &name).filter(|_| !silent);
        let anchor = anchor.and_then(|anchor| self.fresh(anchor));
        let depth = u8::try_from(self.owners.len()).unwrap_or(6);
        let label = self.label.take();
        let anchor = anchor.or_else(|| label.and_then(|label| self.fresh(label)));
        out.push(RstNode::Section(self.level.saturating_add(1 + depth).min(6), heading, anchor));
        if signatures.len() > 1 {
            let lines: Vec<&str> = signatures.iter().map(String::as_str).collect();
            out.push(RstNode::code("", &lines));
        }
        self.owners.push(name);
        let nodes = self.nested(&directive.body);
        self.owners.pop();
        out.extend(nodes);
        true
    }

    /// What Sphinx calls the place of an object.
    fn anchor(&self, domain: &str, kind: &str, name: &str) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        Some(match (domain, kind) {
            (_, "describe" | "object") => return None,
            (_, "option" | "cmdoption") => {
                let program = identifier(&self.program);
                let program = if program.is_empty() { program } else { format!("{program}-") };
                format!("cmdoption-{program}{}", identifier(name))
            }
            (_, "envvar" | "confval" | "setting" | "opcode" | "pdbcommand" | "2to3fixer") => {
                format!("{kind}-{name}")
            }
            ("rst", kind) => {
                format!("{}-{}", kind.split(':').next().unwrap_or(kind), identifier(name))
            }
            ("c", _) => format!("c.{name}"),
            ("py", _) => {
                let owner =
                    self.owners.last().filter(|owner| !name.starts_with(&format!("{owner}.")));
                let named = name.starts_with(&format!("{}.", self.module));
                let module = Some(&self.module).filter(|_| !named);
                let parts =
                    [module, owner.filter(|_| !named)].into_iter().flatten().map(String::as_str);
                let parts = parts.filter(|part| !part.is_empty()).chain([name]);
                parts.collect::<Vec<_>>().join(".")
            }
            _ => name.to_owned(),
        })
    }
}

/// Signatures, one per line; a trailing backslash continues one.
fn signatures(directive: &Directive<'_>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for line in std::iter::once(&directive.argument).chain(&directive.more) {
        let goes_on = line.ends_with('\\');
        let line = line.trim_end_matches('\\').trim();
        match all.last_mut().filter(|_| open) {
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => all.push(line.to_owned()),
        }
        open = goes_on;
    }
    all.iter().map(|line| line.replace('\\', "")).collect()
}

fn heading(domain: &str, kind: &str, signature: &str) -> String {
    match kind {
        "class" | "exception" | "struct" | "enum" | "union" if !signature.starts_with(kind) => {
            format!("{kind} {signature}")
        }
        "decorator" | "decoratormethod" => format!("@{signature}"),
        "directive" => format!(".. {signature}::"),
        kind if domain == "http" => format!("{} {signature}", kind.to_uppercase()),
        _ => signature.to_owned(),
    }
}

/// The name in a signature, as `open` in `open(file, mode='r')` and in `FILE *open(char *path)`.
fn name_of(domain: &str, signature: &str) -> String {
    let before = signature.split(['(', '[', '{']).next().unwrap_or_default().trim();
    match domain {
        "c" | "cpp" => {
            let before = before.split(" = ").next().unwrap_or_default();
            let last = before.split_whitespace().last().unwrap_or_default();
            last.trim_start_matches(['*', '&']).to_owned()
        }
        "http" => signature.to_owned(),
        _ => before.split([' ', ',', ':', '=']).next().unwrap_or_default().to_owned(),
    }
}

/// Directives of the standard domains that are written without their domain's name.
fn is_object(kind: &str) -> bool {
    matches!(
        kind,
        "abstractmethod"
            | "attribute"
            | "awaitablefunction"
            | "awaitablemethod"
            | "class"
            | "classmethod"
            | "cmdoption"
            | "confval"
            | "coroutinefunction"
            | "coroutinemethod"
            | "data"
            | "decorator"
            | "decoratormethod"
            | "describe"
            | "enumerator"
            | "envvar"
            | "exception"
            | "function"
            | "macro"
            | "method"
            | "object"
            | "opcode"
            | "option"
            | "pdbcommand"
            | "property"
            | "setting"
            | "staticmethod"
            | "struct"
            | "2to3fixer"
    )
}
