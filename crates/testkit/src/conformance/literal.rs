//! A tool with a literal schema and a function as its body.

use docent_tool::{
    AnswerBlock, AnyTool, BoxedFuture, CallContext, Object, ToolError, ToolInfo, ToolOutcome,
    argument_schema,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// The result of a fixture's body.
pub(super) type LiteralCallResult = Result<ToolOutcome, ToolError>;

struct LiteralTool<F> {
    name: &'static str,
    about: &'static str,
    schema: Arc<Object>,
    body: F,
}

impl<F, Fut> AnyTool for LiteralTool<F>
where
    F: Fn(Object, CallContext) -> Fut + Send + Sync,
    Fut: Future<Output = LiteralCallResult> + Send + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name.to_owned(),
            title: None,
            description: self.about.to_owned(),
            input_schema: Arc::clone(&self.schema),
            output_schema: None,
            hints: None,
            meta: None,
            ..ToolInfo::default()
        }
    }

    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, LiteralCallResult> {
        Box::pin((self.body)(args, context.clone()))
    }
}

/// A tool without arguments.
pub(super) fn bare<F, Fut>(name: &'static str, about: &'static str, body: F) -> Arc<dyn AnyTool>
where
    F: Fn(CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = LiteralCallResult> + Send + 'static,
{
    literal(name, about, json!({"type": "object", "properties": {}}), move |_, context| {
        body(context)
    })
}

/// A tool whose schema is published exactly as written.
pub(super) fn literal<F, Fut>(
    name: &'static str,
    about: &'static str,
    schema: Value,
    body: F,
) -> Arc<dyn AnyTool>
where
    F: Fn(Object, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = LiteralCallResult> + Send + 'static,
{
    let Value::Object(schema) = schema else {
        unreachable!("the schema of {name} is not an object")
    };
    Arc::new(LiteralTool { name, about, schema: Arc::new(schema), body })
}

/// A tool whose schema is derived from the type of its arguments.
pub(super) fn typed<A, F, Fut>(name: &'static str, about: &'static str, body: F) -> Arc<dyn AnyTool>
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, CallContext) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = LiteralCallResult> + Send + 'static,
{
    let parse_and_run = move |args, context| {
        let parsed = serde_json::from_value::<A>(Value::Object(args));
        let running = parsed.map(|args| body(args, context));
        async move {
            match running {
                Ok(running) => running.await,
                Err(error) => Err(ToolError::argument("arguments", error.to_string())),
            }
        }
    };
    Arc::new(LiteralTool {
        name,
        about,
        schema: Arc::new(argument_schema::<A>()),
        body: parse_and_run,
    })
}

/// A result with one text.
pub(super) fn text(text: impl Into<String>) -> ToolOutcome {
    blocks([AnswerBlock::text(text)])
}

/// A result with these blocks.
pub(super) fn blocks(blocks: impl IntoIterator<Item = AnswerBlock>) -> ToolOutcome {
    ToolOutcome { content: blocks.into_iter().collect(), ..ToolOutcome::default() }
}
