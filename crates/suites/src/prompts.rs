//! Prompts for work on a repository: explain a file, review a file, document a repository, answer from the docs.
//!
//! A prompt includes its material: the file's text, the repository's facts, the documents found. The facts come from
//! the tools of this crate, called in memory. Completion offers existing paths and collections.

mod candidates;

use crate::files::{PathError, PathKind, RootPath, ServedRoots};
use candidates::PathCandidates;
use docent_tool::{
    AnswerBlock, AnyTool, BoxedFuture, CallClient, CallContext, ClientQuery, CompletionRequest,
    CompletionTarget, CompletionValues, Contents, Object, Progress, PromptAnswer, PromptArgument,
    PromptInfo, PromptMessage, PromptRole, ShareSlot, SyslogLevel, ToolError, ToolProvider,
    WorkSlot, no_client,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum size of a file in a prompt; a longer one is truncated.
const MAX_FILE_BYTES: u64 = 100 * 1024;
/// Maximum length of a search query.
const MAX_QUERY_CHARS: usize = 1000;

/// Provides the prompts.
pub struct PromptSuite {
    roots: ServedRoots,
    candidates: Arc<PathCandidates>,
    collections: Vec<String>,
    analyze: Option<Arc<dyn AnyTool>>,
    search: Option<Arc<dyn AnyTool>>,
}

impl std::fmt::Debug for PromptSuite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PromptSuite").field("roots", &self.roots).finish_non_exhaustive()
    }
}

impl PromptSuite {
    /// Creates the suite for these folders and collections, with facts from these providers' tools.
    pub fn new(
        roots: ServedRoots,
        collections: Vec<String>,
        providers: &[Arc<dyn ToolProvider>],
    ) -> Self {
        let tool = |name: &str| {
            let mut tools = providers.iter().flat_map(|provider| provider.tools());
            tools.find(|tool| tool.name() == name)
        };
        let (analyze, search) = (tool("analyze_repository"), tool("search_documentation"));
        Self {
            candidates: Arc::new(PathCandidates::new(roots.clone())),
            roots,
            collections,
            analyze,
            search,
        }
    }

    async fn explain_file(
        &self,
        arguments: &Object,
        context: &CallContext,
    ) -> Result<PromptAnswer, ToolError> {
        let file = self.file(arguments, context).await?;
        let task = format!(
            "Explain the file {} to an engineer who is new to this project. Say what it is for, how its parts work \
             together, what it depends on, and what would surprise a reader. Cite names and lines of the text \
             below; if the text does not say, say so.",
            file.place
        );
        Ok(file.prompt("Explain one file", task))
    }

    async fn review_file(
        &self,
        arguments: &Object,
        context: &CallContext,
    ) -> Result<PromptAnswer, ToolError> {
        let file = self.file(arguments, context).await?;
        let focus = match text(arguments, "focus")? {
            Some(focus) => format!("Focus on: {focus}."),
            None => {
                "Look at correctness first, then errors and edge cases, security, clarity, tests."
                    .to_owned()
            }
        };
        let task = format!(
            "Review the file {}. {focus} For every finding give the line, the severity, what goes wrong and how \
             to fix it. Report only what the text below shows; say so if confirming a finding needs another file.",
            file.place
        );
        Ok(file.prompt("Review one file", task))
    }

    async fn document_repository(
        &self,
        arguments: &Object,
        context: &CallContext,
    ) -> Result<PromptAnswer, ToolError> {
        let path = text(arguments, "path")?.unwrap_or(".");
        let place = self.place(path, context).await?;
        if self.roots.kind(&place).map_err(|problem| problem.into_tool_error("path"))?
            != PathKind::Folder
        {
            return Err(ToolError::argument(
                "path",
                format!("{place} is not a folder; name the folder to document"),
            ));
        }
        let analyze = self.analyze.as_ref();
        let facts = match analyze {
            Some(tool) => {
                call_tool_for_text(tool, json!({"path": place.relative()}), context).await?
            }
            None => {
                "No facts available: analyze_repository is not enabled on this server.".to_owned()
            }
        };
        let task = format!(
            "Write the documentation that the repository {place} lacks. Start with the most severe gap listed below, \
             use only what the facts and the files show, and ask instead of inventing. Return each document as a complete \
             file with its path."
        );
        let mut messages =
            vec![user_message(AnswerBlock::text(task)), user_message(AnswerBlock::text(facts))];
        if let Some(readme) = self.readme(&place) {
            messages.push(user_message(readme));
        }
        Ok(PromptAnswer {
            about: Some("Document a repository".into()),
            messages,
            ..PromptAnswer::default()
        })
    }

    async fn answer_from_docs(
        &self,
        arguments: &Object,
        context: &CallContext,
    ) -> Result<PromptAnswer, ToolError> {
        let question = text(arguments, "question")?.ok_or_else(|| {
            ToolError::argument("question", "is missing; give the question to answer")
        })?;
        let collection = text(arguments, "collection")?;
        if let Some(name) = collection {
            self.check_collection(name)?;
        }
        let found = match &self.search {
            Some(tool) if !self.collections.is_empty() => {
                let query: String = question.chars().take(MAX_QUERY_CHARS).collect();
                let mut wanted = json!({"query": query, "max_results": 8});
                if let Some(name) = collection {
                    wanted["doc_type"] = name.into();
                }
                call_tool_for_text(tool, wanted, context).await?
            }
            _ => "No documentation is configured, so nothing was found.".to_owned(),
        };
        let task = format!(
            "Answer this question from the documentation found below, and from nothing else:\n\n{question}\n\nCite \
             the document for every statement. If the documentation does not answer the question, say so."
        );
        let messages =
            vec![user_message(AnswerBlock::text(task)), user_message(AnswerBlock::text(found))];
        Ok(PromptAnswer {
            about: Some("Answer from the documentation".into()),
            messages,
            ..PromptAnswer::default()
        })
    }

    fn check_collection(&self, name: &str) -> Result<(), ToolError> {
        if self.collections.iter().any(|known| known == name) {
            return Ok(());
        }
        let problem =
            match candidates::closest_paths(name, self.collections.iter().map(String::as_str)) {
                Some(near) => format!("unknown collection {name}; did you mean {near}?"),
                None => format!("unknown collection {name}; no collections are configured"),
            };
        Err(ToolError::argument("collection", problem))
    }

    /// Resolves a path; if it does not exist, the error suggests the most similar path.
    async fn place(&self, path: &str, context: &CallContext) -> Result<RootPath, ToolError> {
        let error = match self.roots.resolve(path) {
            Ok(place) => return Ok(place),
            Err(error) => error,
        };
        if !matches!(error, PathError::Missing { .. }) {
            return Err(error.into_tool_error("path"));
        }
        let candidates = Arc::clone(&self.candidates);
        let wanted = path.to_owned();
        let look = move |context: &CallContext| Ok(candidates.nearest_path(&wanted, context));
        let near = context.blocking(look).await?;
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(ToolError::argument("path", format!("{error}{near}")))
    }

    async fn file(
        &self,
        arguments: &Object,
        context: &CallContext,
    ) -> Result<PromptFile, ToolError> {
        let path = text(arguments, "path")?.ok_or_else(|| {
            ToolError::argument("path", "is missing; give a file inside the roots")
        })?;
        let place = self.place(path, context).await?;
        if self.roots.kind(&place).map_err(|problem| problem.into_tool_error("path"))?
            == PathKind::Folder
        {
            return Err(ToolError::argument(
                "path",
                format!("{place} is a folder; name a file in it"),
            ));
        }
        self.show(place)
    }

    fn show(&self, place: RootPath) -> Result<PromptFile, ToolError> {
        let (mut bytes, size) = self
            .roots
            .read_start(&place, MAX_FILE_BYTES)
            .map_err(|problem| problem.into_tool_error("path"))?;
        let cut = size > bytes.len() as u64;
        if cut {
            // Drop a character that was cut in half.
            let whole = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
            if bytes.len() - whole < 4 {
                bytes.truncate(whole);
            }
        }
        let shown = bytes.len();
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0'))
            .ok_or_else(|| ToolError::argument("path", format!("{place} is not UTF-8 text")))?;
        let note = cut.then(|| {
            format!("Only the first {shown} of {size} bytes of {place} are shown; the rest was truncated. Mention it where it matters.")
        });
        Ok(PromptFile { uri: self.roots.uri(&place), place, text, note })
    }

    fn readme(&self, folder: &RootPath) -> Option<AnswerBlock> {
        let place = folder.join("README.md")?;
        self.show(place).ok().map(|shown| shown.block())
    }
}

/// A file in a prompt.
struct PromptFile {
    place: RootPath,
    uri: String,
    text: String,
    note: Option<String>,
}

impl PromptFile {
    fn block(&self) -> AnswerBlock {
        let mime = Some(media_type(self.place.name()).to_owned());
        AnswerBlock::Embedded(Contents::Text {
            uri: self.uri.clone(),
            mime,
            text: self.text.clone(),
        })
    }

    fn prompt(self, about: &str, task: String) -> PromptAnswer {
        let mut messages = vec![user_message(AnswerBlock::text(task)), user_message(self.block())];
        messages.extend(self.note.map(|note| user_message(AnswerBlock::text(note))));
        PromptAnswer { about: Some(about.to_owned()), messages, ..PromptAnswer::default() }
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md" | "markdown") => "text/markdown",
        Some("html" | "htm") => "text/html",
        Some("json") => "application/json",
        Some("rs") => "text/x-rust",
        Some("go") => "text/x-go",
        Some("java") => "text/x-java",
        Some("py") => "text/x-python",
        Some("ts" | "tsx") => "text/x-typescript",
        Some("js" | "jsx" | "mjs" | "cjs") => "text/javascript",
        _ => "text/plain",
    }
}

fn user_message(content: AnswerBlock) -> PromptMessage {
    PromptMessage { role: PromptRole::User, content }
}

/// Returns an argument that is present and not blank.
fn text<'a>(arguments: &'a Object, name: &str) -> Result<Option<&'a str>, ToolError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.trim().is_empty())),
        Some(_) => Err(ToolError::argument(name, "must be a string")),
    }
}

/// Calls a tool in memory and collects the text of its answer.
async fn call_tool_for_text(
    tool: &Arc<dyn AnyTool>,
    arguments: Value,
    context: &CallContext,
) -> Result<String, ToolError> {
    let Value::Object(arguments) = arguments else { return Ok(String::new()) };
    let gathered = Arc::new(BlockCollector { blocks: Mutex::default(), context: context.clone() });
    let audience = Arc::clone(&gathered) as Arc<dyn CallClient>;
    let inner = CallContext::new(audience, context.cancel_token().clone(), context.deadline());
    let outcome = tool.call(arguments, &inner).await?;
    let mut blocks =
        std::mem::take(&mut *gathered.blocks.lock().unwrap_or_else(PoisonError::into_inner));
    blocks.extend(outcome.content);
    let texts = blocks.into_iter().filter_map(|block| match block {
        AnswerBlock::Text { text, .. } => Some(text),
        _ => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n\n"))
}

/// Collects the blocks that a tool emits before it returns.
struct BlockCollector {
    blocks: Mutex<Vec<AnswerBlock>>,
    /// The request that the prompt is rendered for.
    context: CallContext,
}

impl CallClient for BlockCollector {
    fn progress(&self, _: Progress) {}
    fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
    fn emit(&self, block: AnswerBlock) -> BoxedFuture<'_, ()> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Box::pin(std::future::ready(()))
    }
    fn ask<'a>(&'a self, _: &'a str, _: ClientQuery) -> BoxedFuture<'a, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::ClientLacks(
            "questions while a prompt is rendered",
        ))))
    }
    fn state(&self) -> Option<String> {
        None
    }
    fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
        self.context.work_slot()
    }
    fn index_slot(&self) -> Option<ShareSlot> {
        self.context.index_slot()
    }
}

fn argument(name: &str, about: &str, required: bool) -> PromptArgument {
    PromptArgument { name: name.into(), about: Some(about.into()), required }
}

fn info(name: &str, title: &str, about: &str, arguments: Vec<PromptArgument>) -> PromptInfo {
    PromptInfo {
        name: name.into(),
        title: Some(title.into()),
        about: Some(about.into()),
        arguments,
        ..PromptInfo::default()
    }
}

impl ToolProvider for PromptSuite {
    fn key(&self) -> &'static str {
        "prompts"
    }

    fn prompts(&self) -> Vec<PromptInfo> {
        let path = || argument("path", "File inside the roots.", true);
        vec![
            info(
                "explain_file",
                "Explain a file",
                "Explain one file to a newcomer; includes its text.",
                vec![path()],
            ),
            info(
                "review_file",
                "Review a file",
                "Review one file; includes its text.",
                vec![path(), argument("focus", "What to focus on.", false)],
            ),
            info(
                "document_repository",
                "Document a repository",
                "Write missing documentation of a repository; includes its facts and gaps.",
                vec![argument("path", "Folder inside the roots; default: the root.", false)],
            ),
            info(
                "answer_from_docs",
                "Answer from the documentation",
                "Answer a question using only the configured documentation.",
                vec![
                    argument("question", "Question to answer.", true),
                    argument("collection", "Collection to search; default: all.", false),
                ],
            ),
        ]
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(async move {
            match name {
                "explain_file" => self.explain_file(arguments, context).await,
                "review_file" => self.review_file(arguments, context).await,
                "document_repository" => self.document_repository(arguments, context).await,
                "answer_from_docs" => self.answer_from_docs(arguments, context).await,
                _ => Err(ToolError::not_found(format!("unknown prompt: {name}"))),
            }
        })
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        Box::pin(async move {
            let CompletionTarget::Prompt(prompt) = target else {
                return CompletionValues::default();
            };
            let kind = match (prompt.as_str(), argument) {
                ("explain_file" | "review_file", "path") => PathKind::File,
                ("document_repository", "path") => PathKind::Folder,
                ("answer_from_docs", "collection") => {
                    let collections = self.collections.iter().map(String::as_str);
                    return candidates::best(typed, collections).into();
                }
                _ => return CompletionValues::default(),
            };
            let candidates = Arc::clone(&self.candidates);
            let typed = typed.to_owned();
            let complete =
                move |context: &CallContext| Ok(candidates.complete(kind, &typed, context));
            // A failed walk completes nothing; it is not worth an error.
            no_client().blocking(complete).await.unwrap_or_default().into()
        })
    }
}

#[cfg(test)]
mod tests;
