//! Converts TypeScript to JavaScript: walks the syntax tree and removes types. The rest keeps its line and, except for
//! enums and the like, its column.

use crate::draft::ScriptDraft;
use crate::names;
use oxc_ast::ast::{
    AccessorProperty, AccessorPropertyType, ArrowFunctionExpression, BindingPattern, Class,
    Declaration, Decorator, Expression, FormalParameter, Function, FunctionBody, ImportExpression,
    MethodDefinition, MethodDefinitionKind, MethodDefinitionType, PropertyDefinition,
    PropertyDefinitionType, ReturnStatement, Statement, TSAsExpression, TSClassImplements,
    TSEnumDeclaration, TSEnumMember, TSEnumMemberName, TSExportAssignment,
    TSImportEqualsDeclaration, TSIndexSignature, TSInstantiationExpression, TSNamespaceDeclaration,
    TSNonNullExpression, TSSatisfiesExpression, TSThisParameter, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

/// Modifiers of members and parameters without a meaning at run time.
const MODIFIERS: [&str; 7] =
    ["public", "private", "protected", "readonly", "override", "abstract", "declare"];

/// Syntax that requires a compiler.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnsupportedSyntax {
    /// Where it starts.
    pub(crate) at: u32,
    /// What it is, and what to write instead.
    pub(crate) why: &'static str,
}

/// State of the walk.
pub(crate) struct TypeEraser<'s> {
    /// The text so far.
    pub(crate) draft: ScriptDraft<'s>,
    /// True if a `return` is outside all functions.
    pub(crate) returns: bool,
    /// The first thing that can't be erased.
    pub(crate) refused: Option<UnsupportedSyntax>,
    functions: usize,
    /// The end of the last type that was removed from the end of an expression.
    tail: Option<u32>,
}

impl<'s> TypeEraser<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            draft: ScriptDraft::new(source),
            returns: false,
            refused: None,
            functions: 0,
            tail: None,
        }
    }

    pub(crate) fn refuse(&mut self, at: u32, why: &'static str) {
        self.refused.get_or_insert(UnsupportedSyntax { at, why });
    }

    fn blank(&mut self, span: Span) {
        self.draft.blank(span.start, span.end);
    }

    fn drop_whole(&mut self, span: Span) {
        self.draft.drop_whole(span.start, span.end);
    }

    /// Removes a type from the end of an expression.
    fn cut_tail(&mut self, start: u32, end: u32) {
        self.draft.blank(start, end);
        self.tail = Some(end);
    }

    /// Ends a statement that ended with a type; otherwise the next line could continue it.
    fn close(&mut self, span: Span) {
        if self.tail == Some(span.end) {
            self.draft.insert(span.end, ";");
        }
    }

    fn crosses_lines(&self, span: Span) -> bool {
        self.draft.text(span.start, span.end).contains(['\n', '\r', '\u{2028}', '\u{2029}'])
    }

    /// `constructor(private name: string)` becomes a parameter and an assignment.
    fn keep_parameter_properties(&mut self, constructor: &Function<'_>) {
        let mut assignments = String::new();
        for parameter in &constructor.params.items {
            let property =
                parameter.accessibility.is_some() || parameter.readonly || parameter.r#override;
            if let (true, BindingPattern::BindingIdentifier(name)) = (property, &parameter.pattern)
            {
                let name = name.name.as_str();
                assignments.extend(["this.", name, " = ", name, ";"]);
            }
        }
        let Some(body) = &constructor.body else { return };
        if assignments.is_empty() {
            return;
        }
        // `this` exists only after super().
        let start = body.directives.last().map_or(body.span.start + 1, |last| last.span.end);
        let after_super = body.statements.iter().find_map(|statement| match statement {
            Statement::ExpressionStatement(statement) => match &statement.expression {
                Expression::CallExpression(call) if matches!(call.callee, Expression::Super(_)) => {
                    Some(statement.span.end)
                }
                _ => None,
            },
            _ => None,
        });
        self.draft.insert(after_super.unwrap_or(start), &format!(";{assignments}"));
    }

    /// An enum becomes an object that maps names to values and numbers back to names.
    fn lower_enum(&mut self, it: &TSEnumDeclaration<'_>) {
        let name = it.id.name.as_str();
        let opening = format!("var {name} = (({name}) => {{ let __docent_last = -1; ");
        let first = it.body.members.first().map_or(it.span.end, |member| member.span.start);
        if it.body.members.is_empty() {
            self.draft.replace(it.span.start, it.span.end, &format!("var {name} = {{}};"));
            return;
        }
        self.draft.replace(it.span.start, first, &opening);
        let mut members = it.body.members.iter().peekable();
        while let Some(member) = members.next() {
            self.lower_member(name, member);
            if let Some(next) = members.peek() {
                self.draft.replace(member.span.end, next.span.start, " ");
            } else {
                let closing = format!(" return {name}; }})({name} ?? {{}});");
                self.draft.replace(member.span.end, it.span.end, &closing);
            }
        }
    }

    fn lower_member(&mut self, name: &str, member: &TSEnumMember<'_>) {
        let key = match &member.id {
            TSEnumMemberName::Identifier(id) => id.name.as_str(),
            TSEnumMemberName::String(text) | TSEnumMemberName::ComputedString(text) => {
                text.value.as_str()
            }
            TSEnumMemberName::ComputedTemplateString(_) => {
                self.refuse(member.span.start, "a computed name in an enum; write the name out");
                return;
            }
        };
        let quoted = serde_json::Value::from(key).to_string();
        // Later members may name earlier ones.
        let local =
            if names::is_identifier(key) { format!("const {key} = ") } else { String::new() };
        let start = format!("{local}{name}[{quoted}] = __docent_last = (");
        let back = format!(
            "); if (typeof __docent_last !== \"string\") {name}[__docent_last] = {quoted};"
        );
        if let Some(value) = &member.initializer {
            self.draft.replace(member.span.start, value.span().start, &start);
            self.visit_expression(value);
            self.draft.insert(member.span.end, &back);
        } else {
            let whole = format!("{start}__docent_last + 1{back}");
            self.draft.replace(member.span.start, member.span.end, &whole);
        }
    }

    /// The arrow must be on the line of its parameters' end, and the parameters on that of a preceding `return`.
    fn join_arrow(&mut self, it: &ArrowFunctionExpression<'_>) -> (bool, bool) {
        let params = it.params.span;
        let split_start = it
            .type_parameters
            .as_ref()
            .filter(|types| self.crosses_lines(types.span))
            .map(|types| types.span);
        if let Some(types) = split_start {
            self.draft.replace(types.start, types.start + 1, "(");
            self.draft.blank(types.start + 1, params.start + 1);
        }
        let split_end = it
            .return_type
            .as_ref()
            .filter(|kind| self.crosses_lines(kind.span))
            .map(|kind| kind.span);
        if let Some(kind) = split_end {
            self.draft.blank(params.end - 1, kind.end);
            self.draft.insert(kind.end, ")");
        }
        (split_start.is_some(), split_end.is_some())
    }

    fn drop_implements(&mut self, it: &Class<'_>) {
        let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) else {
            return;
        };
        let from = [
            Some(it.span.start),
            it.id.as_ref().map(|id| id.span.end),
            it.type_parameters.as_ref().map(|types| types.span.end),
            it.heritage.as_ref().map(|heritage| {
                heritage
                    .type_arguments
                    .as_ref()
                    .map_or(heritage.expression.span().end, |types| types.span.end)
            }),
        ]
        .into_iter()
        .flatten()
        .max()
        .unwrap_or(it.span.start);
        self.draft.blank_words(from, first.span.start, &["implements"]);
        self.draft.blank(first.span.start, last.span.end);
    }
}

/// True for a declaration without run-time effect.
pub(crate) fn is_type_only(declaration: &Declaration<'_>) -> bool {
    match declaration {
        Declaration::VariableDeclaration(it) => it.declare,
        Declaration::FunctionDeclaration(it) => it.declare || it.body.is_none(),
        Declaration::ClassDeclaration(it) => it.declare,
        Declaration::TSEnumDeclaration(it) => it.declare,
        Declaration::TSNamespaceDeclaration(it) => it.declare,
        Declaration::TSTypeAliasDeclaration(_)
        | Declaration::TSInterfaceDeclaration(_)
        | Declaration::TSExternalModuleDeclaration(_)
        | Declaration::TSGlobalDeclaration(_) => true,
        Declaration::TSImportEqualsDeclaration(it) => it.import_kind.is_type(),
    }
}

impl<'a> Visit<'a> for TypeEraser<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        if it.as_declaration().is_some_and(is_type_only) {
            self.drop_whole(it.span());
            return;
        }
        walk::walk_statement(self, it);
        if matches!(
            it,
            Statement::ExpressionStatement(_)
                | Statement::VariableDeclaration(_)
                | Statement::ReturnStatement(_)
                | Statement::ThrowStatement(_)
        ) {
            self.close(it.span());
        }
    }

    fn visit_return_statement(&mut self, it: &ReturnStatement<'a>) {
        self.returns |= self.functions == 0;
        walk::walk_return_statement(self, it);
    }

    fn visit_function_body(&mut self, it: &FunctionBody<'a>) {
        self.functions += 1;
        walk::walk_function_body(self, it);
        self.functions -= 1;
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let (types_done, result_done) = self.join_arrow(it);
        if let (false, Some(types)) = (types_done, &it.type_parameters) {
            self.blank(types.span);
        }
        self.visit_formal_parameters(&it.params);
        if let (false, Some(kind)) = (result_done, &it.return_type) {
            self.blank(kind.span);
        }
        self.visit_arrow_function_body(&it.body);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        let pattern = it.pattern.span();
        self.draft.blank_words(it.span.start, pattern.start, &MODIFIERS);
        if it.optional {
            self.draft.blank_sign(pattern.end, it.span.end.max(pattern.end + 1), &['?']);
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span);
        let rest = self.draft.after(it.span.end);
        let gap = rest.len() - rest.trim_start().len();
        if let (true, Ok(gap)) = (rest.trim_start().starts_with(','), u32::try_from(gap)) {
            self.draft.blank(it.span.end + gap, it.span.end + gap + 1);
        }
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (true, Some(kind)) = (it.definite, &it.type_annotation) {
            self.draft.blank_sign(it.id.span().end, kind.span.start, &['!']);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        let body = it.body.span.start;
        if it.r#abstract {
            let name = it.id.as_ref().map_or(body, |id| id.span.start);
            self.draft.blank_words(it.span.start, name, &["abstract"]);
        }
        self.drop_implements(it);
        walk::walk_class(self, it);
    }

    fn visit_ts_class_implements(&mut self, _: &TSClassImplements<'a>) {}

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        if it.r#type == MethodDefinitionType::TSAbstractMethodDefinition || it.value.body.is_none()
        {
            self.drop_whole(it.span);
            return;
        }
        self.draft.blank_words(it.span.start, it.key.span().start, &MODIFIERS);
        if it.optional {
            self.draft.blank_sign(it.key.span().end, it.value.span.start, &['?']);
        }
        if it.kind == MethodDefinitionKind::Constructor {
            self.keep_parameter_properties(&it.value);
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        if it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition {
            self.drop_whole(it.span);
            return;
        }
        let key = it.key.span();
        self.draft.blank_words(it.span.start, key.start, &MODIFIERS);
        if it.optional || it.definite {
            let end = it.type_annotation.as_ref().map_or(it.span.end, |kind| kind.span.start);
            self.draft.blank_sign(key.end, end, &['?', '!']);
        }
        walk::walk_property_definition(self, it);
        self.close(it.span);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        if it.r#type == AccessorPropertyType::TSAbstractAccessorProperty {
            self.drop_whole(it.span);
            return;
        }
        self.refuse(it.span.start, "an `accessor` field; write a getter and a setter");
    }

    fn visit_ts_index_signature(&mut self, it: &TSIndexSignature<'a>) {
        self.drop_whole(it.span);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span.start, "a decorator; call the function in plain code");
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.refuse(it.span.start, "a namespace; use an object");
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.refuse(
            it.span.start,
            "`import … =`; write `import * as name from \"mcp-clients/<id>\"`",
        );
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.refuse(it.span.start, "`export =`; write `export default`");
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.lower_enum(it);
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.cut_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.cut_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.cut_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_instantiation_expression(&mut self, it: &TSInstantiationExpression<'a>) {
        self.visit_expression(&it.expression);
        self.cut_tail(it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        // The parentheses keep an object from becoming a block, and a line break from ending a `return`.
        self.draft.replace(it.span.start, it.span.start + 1, "(");
        self.draft.blank(it.span.start + 1, it.expression.span().start);
        self.visit_expression(&it.expression);
        self.draft.insert(it.span.end, ")");
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.draft.replace(it.span.start, it.span.start + 6, "__docent.load");
        walk::walk_import_expression(self, it);
    }
}
