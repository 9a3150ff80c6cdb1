//! Parses a script, which is a module or a function body, and turns it into one async function.

use crate::draft::{ScriptDraft, ScriptPosition, WrittenScript, position_of};
use crate::erase::{TypeEraser, is_type_only};
use crate::names;
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ExportDefaultDeclaration, ExportDefaultDeclarationKind, ImportDeclaration,
    ImportDeclarationSpecifier, Program, Statement,
};
use oxc_ast_visit::Visit;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};
use std::fmt::Write as _;

/// An import of one module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptImport {
    /// As written.
    pub(crate) module: String,
    /// The offset of the module's name.
    pub(crate) at: u32,
    /// Names for the whole module.
    pub(crate) whole: Vec<String>,
    /// Names in the module, local names, and their offsets.
    pub(crate) named: Vec<(String, String, u32)>,
}

/// A script that can't be run as written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MalformedScript {
    /// What is wrong, and what to do, if known.
    pub(crate) message: String,
    /// Where.
    pub(crate) place: Option<ScriptPosition>,
}

/// A script without types.
pub(crate) struct ErasedScript<'s> {
    draft: ScriptDraft<'s>,
    /// The modules that it imports from, in order.
    pub(crate) imports: Vec<ScriptImport>,
}

/// Parses a script and erases its types. Needs stack in proportion to [`tokens_at_most`].
pub(crate) fn shape(source: &str) -> Result<ErasedScript<'_>, MalformedScript> {
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let kind = SourceType::ts().with_module(true);
    let parsed = Parser::new(&allocator, source, kind).with_options(options).parse();
    if let Some(first) = parsed.diagnostics.first() {
        let at = first.labels.iter().next().map_or(0, |label| label.offset() as usize);
        let help = first.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        return Err(MalformedScript {
            message: format!("{}{help}", first.message),
            place: position_of(source, at),
        });
    }
    let mut walk =
        ModuleWalk { eraser: TypeEraser::new(source), imports: Vec::new(), exports: false };
    walk.program(&parsed.program);
    match walk.eraser.refused {
        Some(refused) => Err(MalformedScript {
            message: format!("code mode can't run {}", refused.why),
            place: position_of(source, refused.at as usize),
        }),
        None => Ok(ErasedScript { draft: walk.eraser.draft, imports: walk.imports }),
    }
}

/// Upper bound for the number of tokens: each starts a word or is a sign.
pub(crate) fn tokens_at_most(source: &str) -> usize {
    let mut in_word = false;
    let mut count = 0;
    for byte in source.bytes() {
        let word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let new = if word { !in_word } else { !byte.is_ascii_whitespace() };
        count += usize::from(new);
        in_word = word;
    }
    count
}

impl ErasedScript<'_> {
    /// Writes an async function with one parameter, `__docent`, which has the modules in the order of the imports.
    pub(crate) fn write(self) -> WrittenScript {
        let mut first_line = String::from("(async (__docent) => {");
        for (index, import) in self.imports.iter().enumerate() {
            for name in &import.whole {
                let _written = write!(first_line, " const {name} = __docent.modules[{index}];");
            }
            for (name, local, _) in &import.named {
                let key = serde_json::Value::from(name.as_str());
                let _written =
                    write!(first_line, " const {local} = __docent.modules[{index}][{key}];");
            }
        }
        self.draft.write(&first_line, "})")
    }
}

struct ModuleWalk<'s> {
    eraser: TypeEraser<'s>,
    imports: Vec<ScriptImport>,
    exports: bool,
}

impl ModuleWalk<'_> {
    fn program(&mut self, program: &Program<'_>) {
        if let Some(hashbang) = &program.hashbang {
            self.eraser.draft.blank(hashbang.span.start, hashbang.span.end);
        }
        for statement in &program.body {
            self.statement(statement);
        }
        let last = program.body.iter().rev().find(|statement| {
            !matches!(statement, Statement::EmptyStatement(_))
                && !statement.as_declaration().is_some_and(is_type_only)
        });
        // The last expression is the value, as in a REPL, unless the script returns or exports one.
        if let (false, false, Some(Statement::ExpressionStatement(last))) =
            (self.exports, self.eraser.returns, last)
        {
            self.eraser.draft.insert(last.span.start, "return ");
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        let span = statement.span();
        match statement {
            Statement::ImportDeclaration(it) => {
                if !it.import_kind.is_type() {
                    self.imports.push(import(it));
                }
                self.eraser.draft.drop_whole(span.start, span.end);
            }
            Statement::ExportFromDeclaration(it) if !it.export_kind.is_type() => {
                self.imports.push(bare_import(it.source.value.as_str(), it.source.span.start));
                self.eraser.draft.drop_whole(span.start, span.end);
            }
            Statement::ExportAllDeclaration(it) if !it.export_kind.is_type() => {
                self.imports.push(bare_import(it.source.value.as_str(), it.source.span.start));
                self.eraser.draft.drop_whole(span.start, span.end);
            }
            Statement::ExportFromDeclaration(_)
            | Statement::ExportAllDeclaration(_)
            | Statement::ExportNamedDeclaration(_)
            | Statement::TSNamespaceExportDeclaration(_) => {
                self.eraser.draft.drop_whole(span.start, span.end);
            }
            Statement::ExportDeclaration(it) => {
                if is_type_only(&it.declaration) {
                    self.eraser.draft.drop_whole(span.start, span.end);
                } else {
                    self.eraser.draft.blank(span.start, it.declaration.span().start);
                    self.eraser.visit_declaration(&it.declaration);
                }
            }
            Statement::ExportDefaultDeclaration(it) => self.export_default(it),
            _ => self.eraser.visit_statement(statement),
        }
    }

    fn export_default(&mut self, it: &ExportDefaultDeclaration<'_>) {
        let inner = it.declaration.span();
        let name = match &it.declaration {
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {
                self.eraser.draft.drop_whole(it.span.start, it.span.end);
                return;
            }
            ExportDefaultDeclarationKind::FunctionDeclaration(function)
                if function.body.is_none() =>
            {
                self.eraser.draft.drop_whole(it.span.start, it.span.end);
                return;
            }
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => function.id.as_ref(),
            ExportDefaultDeclarationKind::ClassDeclaration(class) => class.id.as_ref(),
            _ => None,
        };
        self.exports = true;
        if let Some(name) = name {
            // A named declaration is kept, because the rest of the script may call it.
            self.eraser.draft.blank(it.span.start, inner.start);
            self.eraser.visit_export_default_declaration_kind(&it.declaration);
            self.eraser.draft.insert(inner.end, &format!(";__docent.value = {};", name.name));
        } else {
            self.eraser.draft.replace(it.span.start, inner.start, "__docent.value = (");
            self.eraser.visit_export_default_declaration_kind(&it.declaration);
            self.eraser.draft.insert(inner.end, ")");
            self.eraser.draft.insert(it.span.end, ";");
        }
    }
}

fn bare_import(module: &str, at: u32) -> ScriptImport {
    ScriptImport { module: module.to_owned(), at, whole: Vec::new(), named: Vec::new() }
}

fn import(it: &ImportDeclaration<'_>) -> ScriptImport {
    let mut import = bare_import(it.source.value.as_str(), it.source.span.start);
    for specifier in it.specifiers.iter().flatten() {
        match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(it) if it.import_kind.is_type() => {}
            ImportDeclarationSpecifier::ImportSpecifier(it) => {
                let name = it.imported.name();
                let local = it.local.name.as_str().to_owned();
                if name == "default" {
                    import.whole.push(local);
                } else {
                    import.named.push((name.as_str().to_owned(), local, it.span.start));
                }
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(it) => {
                import.whole.push(it.local.name.as_str().to_owned());
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(it) => {
                import.whole.push(it.local.name.as_str().to_owned());
            }
        }
    }
    import
}

/// Returns the client id of a module name. A relative path and a file extension are accepted.
pub(crate) fn client_of<'i>(
    module: &str,
    mut ids: impl Iterator<Item = &'i str> + Clone,
) -> Option<&'i str> {
    let name = module.strip_prefix("./").unwrap_or(module).strip_prefix(names::MODULE_PREFIX)?;
    let short = name.strip_suffix(".js").or_else(|| name.strip_suffix(".ts"));
    ids.clone().find(|id| *id == name).or_else(|| ids.find(|id| Some(*id) == short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_script_has_more_tokens_than_counted() {
        for (source, want) in
            [("", 0), ("a b", 2), ("(((", 3), ("é+ 'x y'", 6), ("a_1$b", 3), ("\n\t;", 1)]
        {
            assert_eq!(tokens_at_most(source), want, "{source}");
        }
    }
}
