//! Lists and reads what providers offer beside tools: resources, prompts, and completions.

use crate::{
    Screening, apps,
    call::{bad_state, cancelled, capability, purpose},
    call_client::RemoteCallClient,
    catalog::{ToolCatalog, similar_names, truncate, with_parts},
    convert, cursor,
    metrics::RequestOutcome,
    paging,
    request_caller::RequestCaller,
    result_builder::{self, ToolCallError, invalid_params},
    results::ResultStore,
    run::{RunLimits, RunOutcome, in_time, run_bounded},
    server::McpServer,
    validate::ArgumentProblem,
};
use docent_tool::{
    App, BoxedFuture, CallClient, CallContext, CompletionRequest, CompletionTarget,
    CompletionValues, InputNeeded, Object, PromptAnswer, PromptInfo, ResourceReading, SyslogLevel,
    ToolError, ToolProvider,
};
use futures::future::join_all;
use rmcp::{
    ErrorData,
    model::{
        CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
        InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, MetaObject, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, Reference, Resource,
    },
};
use serde_json::json;
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

/// The `_meta` field that names the providers whose items a list lacks because they did not answer.
const INCOMPLETE_META_KEY: &str = "docent/incomplete";

/// One list and its page.
macro_rules! listed {
    ($result:ident, $scope:expr, $page:expr) => {{
        let (items, next) = $page?;
        let mut result = $result::with_all_items(items);
        result.next_cursor = next;
        result.cache_scope = $scope;
        Ok(result)
    }};
}

impl McpServer {
    /// Who may cache an answer; older revisions cannot express it.
    fn cache_scope(&self, guest: &RequestCaller) -> Option<CacheScope> {
        let scope = if self.lists_are_private() { CacheScope::Private } else { CacheScope::Public };
        guest.is_modern().then_some(scope)
    }

    /// The same for lists that contain pages: they depend on whether the client can show them.
    fn list_scope(&self, guest: &RequestCaller) -> Option<CacheScope> {
        let scope = self.cache_scope(guest)?;
        Some(if guest.shows_apps { CacheScope::Private } else { scope })
    }

    pub(crate) fn seen_by(&self, guest: &RequestCaller) -> Vec<Arc<dyn ToolProvider>> {
        let terms = self.settings();
        let mut all = with_parts(self.providers());
        all.retain(|provider| terms.policy.may_see(guest.principal(), provider.key()));
        all
    }

    /// The catalog with this tool, if it exists: waits for servers whose tools are not known yet.
    pub(crate) async fn catalogue_for(&self, tool: &str) -> Arc<ToolCatalog> {
        let catalogue = self.catalog();
        if catalogue.find(tool).is_some() {
            return catalogue;
        }
        self.wait_until_settled().await;
        self.catalogue_with(tool)
    }

    /// The catalog, rebuilt if a provider has a tool of this name that the catalog lacks: a caller that knows the tool
    /// may be faster than the change notification.
    pub(crate) fn catalogue_with(&self, tool: &str) -> Arc<ToolCatalog> {
        let catalogue = self.catalog();
        let has = |provider: &Arc<dyn ToolProvider>| {
            provider.tools().iter().any(|known| known.name() == tool)
        };
        if catalogue.find(tool).is_none() && with_parts(self.providers()).iter().any(has) {
            self.rebuild();
            return self.catalog();
        }
        catalogue
    }

    /// A client wants log messages of this level and above.
    pub(crate) fn set_level(&self, level: SyslogLevel) {
        for provider in with_parts(self.providers()) {
            provider.set_level(level);
        }
    }

    /// Waits until every provider knows its lists.
    pub(crate) async fn wait_until_settled(&self) {
        let all = with_parts(self.providers());
        let mut settled = std::pin::pin!(join_all(all.iter().map(|provider| provider.settled())));
        if futures::poll!(settled.as_mut()).is_pending() {
            settled.await;
            // The change is announced as well, but a caller that has waited for it must not miss it.
            self.rebuild();
        }
    }

    fn place<'a>(
        &'a self,
        list: &'static str,
        guest: &'a RequestCaller,
        cursor: Option<&'a str>,
    ) -> cursor::ListPosition<'a> {
        cursor::ListPosition {
            seal: self.cursor_codec(),
            list,
            principal: &guest.principal().name,
            cursor,
        }
    }

    /// Screens the items on a page of a list. Tools are not screened: the hub has already made hidden characters of
    /// other servers' tools visible, and a schema is not text.
    fn screen_items<T>(
        &self,
        page: Result<cursor::ListPage<T>, ErrorData>,
        screen: fn(&Screening, &mut T),
    ) -> Result<cursor::ListPage<T>, ErrorData> {
        let (mut items, next) = page?;
        let screening = self.screening();
        for item in &mut items {
            screen(&screening, item);
        }
        Ok((items, next))
    }

    /// Runs something other than a call, in the client's turn if the provider needs a thread for it.
    async fn in_turn<T>(
        &self,
        guest: &RequestCaller,
        provider: &dyn ToolProvider,
        work: BoxedFuture<'_, T>,
    ) -> Option<T>
    where
        T: Send,
    {
        let in_turn = async {
            let _permit = if provider.needs_thread() {
                Some(self.shares().threads.take(guest.caller.client()).await)
            } else {
                None
            };
            work.await
        };
        in_time(Box::pin(in_turn), self.limits().tool_timeout, provider.key()).await
    }

    pub(crate) async fn list_tools(
        &self,
        guest: &RequestCaller,
        cursor: Option<&str>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.wait_until_settled().await;
        let tools = self.catalog().listed(guest, &self.settings().policy);
        let place = self.place("tools", guest, cursor);
        listed!(
            ListToolsResult,
            self.list_scope(guest),
            cursor::page(tools, |tool| &tool.name, self.list_page(), &place)
        )
    }

    pub(crate) async fn list_resources(
        &self,
        guest: &RequestCaller,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.wait_until_settled().await;
        let mut providers = self.seen_by(guest);
        providers.sort_by_key(|provider| provider.is_listed_last());
        // Each with the index of its provider.
        let mut resources: Vec<(Option<usize>, Resource)> = Vec::new();
        if guest.shows_apps {
            resources.extend(self.apps(guest).iter().map(|app| (None, apps::resource(app))));
        }
        // The providers whose resources could not be listed.
        let mut failed = Vec::new();
        for (index, provider) in providers.iter().enumerate() {
            let found = self.in_turn(guest, provider.as_ref(), provider.resources()).await;
            if found.is_none() {
                failed.push(provider.key());
            }
            let found = found.into_iter().flatten().map(convert::resource);
            resources.extend(found.map(|resource| (Some(index), resource)));
        }
        let place = self.place("resources", guest, cursor);
        let (mut page, next) =
            cursor::page(resources, |(_, item)| &item.uri, self.resource_page(), &place)?;
        for group in page.chunk_by_mut(|one, next| one.0 == next.0) {
            let index = group.first().and_then(|(index, _)| *index);
            if let Some(provider) = index.and_then(|index| providers.get(index)) {
                self.describe(guest, provider.as_ref(), group).await;
            }
        }
        let page = Ok((page.into_iter().map(|(_, resource)| resource).collect(), next));
        let page = self.screen_items(page, Screening::resource);
        let listed: Result<ListResourcesResult, ErrorData> =
            listed!(ListResourcesResult, self.list_scope(guest), page);
        let mut listed = listed?;
        if !failed.is_empty() {
            listed
                .meta
                .get_or_insert_default()
                .0
                .insert(INCOMPLETE_META_KEY.to_owned(), json!(failed));
        }
        Ok(listed)
    }

    /// Adds the descriptions that a provider creates only for displayed resources.
    async fn describe<T>(
        &self,
        guest: &RequestCaller,
        provider: &dyn ToolProvider,
        page: &mut [(T, Resource)],
    ) {
        let uris = page.iter().map(|(_, resource)| resource.uri.clone()).collect();
        let described = self.in_turn(guest, provider, provider.describe(uris)).await;
        for ((_, resource), description) in page.iter_mut().zip(described.unwrap_or_default()) {
            if description.is_some() {
                resource.description = description;
            }
        }
    }

    pub(crate) async fn list_templates(
        &self,
        guest: &RequestCaller,
        cursor: Option<&str>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.wait_until_settled().await;
        let templates = self
            .seen_by(guest)
            .into_iter()
            .flat_map(|provider| provider.templates())
            .map(convert::template)
            .collect();
        let place = self.place("templates", guest, cursor);
        let page = cursor::page(templates, |item| &item.uri_template, self.list_page(), &place);
        let page = self.screen_items(page, Screening::template);
        listed!(ListResourceTemplatesResult, self.cache_scope(guest), page)
    }

    pub(crate) async fn list_prompts(
        &self,
        guest: &RequestCaller,
        cursor: Option<&str>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.wait_until_settled().await;
        let prompts = self
            .seen_by(guest)
            .into_iter()
            .flat_map(|provider| provider.prompts())
            .map(convert::prompt)
            .collect();
        let place = self.place("prompts", guest, cursor);
        let page = cursor::page(prompts, |item| &item.name, self.list_page(), &place);
        let page = self.screen_items(page, Screening::prompt);
        listed!(ListPromptsResult, self.cache_scope(guest), page)
    }

    /// Completes an argument of a prompt or a variable of a template.
    pub(crate) async fn complete(
        &self,
        guest: &RequestCaller,
        asked: CompleteRequestParams,
        meta: Object,
    ) -> Result<CompleteResult, ErrorData> {
        let (provider, target) = match asked.r#ref {
            Reference::Prompt(prompt) => {
                let (provider, _) = self.find_prompt(guest, &prompt.name)?;
                (provider, CompletionTarget::Prompt(prompt.name))
            }
            Reference::Resource(template) => {
                let has = |provider: &Arc<dyn ToolProvider>| {
                    provider.templates().iter().any(|known| known.uri_template == template.uri)
                };
                let Some(provider) = self.seen_by(guest).into_iter().find(has) else {
                    return Err(invalid_params(&ArgumentProblem::new(
                        "ref.uri",
                        "is not a template of this server",
                    )));
                };
                (provider, CompletionTarget::Template(template.uri))
            }
            _ => {
                return Err(invalid_params(&ArgumentProblem::new(
                    "ref",
                    "must be a prompt or a resource template",
                )));
            }
        };
        let known = asked.context.and_then(|context| context.arguments).unwrap_or_default();
        let mut asked = CompletionRequest::new(target, asked.argument.name, asked.argument.value);
        asked.known = known.into_iter().map(|(name, value)| (name, value.into())).collect();
        asked.meta = meta;
        let found = provider.complete(&asked);
        let found = self.in_turn(guest, provider.as_ref(), found).await;
        let CompletionValues { mut values, total, more, meta } = found.unwrap_or_default();
        let is_cut = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let screening = self.screening();
        for value in &mut values {
            *value = screening.screen_text(value);
        }
        let mut info = CompletionInfo::new(values)
            .map_err(|problem| result_builder::internal("completion/complete", &problem).error)?;
        info.total = total;
        info.has_more = if is_cut { Some(true) } else { more };
        let mut result = CompleteResult::new(info);
        result.meta = meta.map(MetaObject);
        screening.meta(result.meta.as_mut());
        Ok(result)
    }

    fn find_prompt(
        &self,
        guest: &RequestCaller,
        name: &str,
    ) -> Result<(Arc<dyn ToolProvider>, PromptInfo), ErrorData> {
        let of_one = |provider: Arc<dyn ToolProvider>| {
            let infos = provider.prompts();
            infos.into_iter().map(move |info| (Arc::clone(&provider), info))
        };
        let all: Vec<_> = self.seen_by(guest).into_iter().flat_map(of_one).collect();
        let names: Vec<String> = all.iter().map(|(_, info)| info.name.clone()).collect();
        all.into_iter().find(|(_, info)| info.name == name).ok_or_else(|| {
            let closest = similar_names(name, names.iter().map(String::as_str));
            let hint = closest.first().map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let data = json!({
                "parameter": "name", "reason": "is not a prompt of this server",
                "details": "Validation failed for parameter 'name'", "closest": closest, "available": names,
            });
            ErrorData::invalid_params(format!("Unknown prompt: {}{hint}", truncate(name)), Some(data))
        })
    }

    /// The error for an unknown resource.
    pub(crate) fn missing_resource_error(guest: &RequestCaller, uri: &str) -> ErrorData {
        let code = ErrorCode(guest.dialect.missing_resource_code());
        ErrorData::new(
            code,
            format!("Resource not found: {}", truncate(uri)),
            Some(json!({"uri": uri})),
        )
    }
}

impl McpServer {
    /// The error for a resource that cannot be watched.
    pub(crate) fn not_watched(&self, guest: &RequestCaller, uri: &str) -> ErrorData {
        if !self.seen_by(guest).iter().any(|provider| provider.owns(uri)) {
            return Self::missing_resource_error(guest, uri);
        }
        let message = format!(
            "cannot watch {}: its server does not report changes; read it again when you need it",
            truncate(uri)
        );
        ErrorData::invalid_params(message, Some(json!({"uri": uri})))
    }
}

/// A running `resources/read` or `prompts/get`.
pub(crate) struct ReadRequest {
    pub(crate) server: Arc<McpServer>,
    pub(crate) caller: RequestCaller,
    pub(crate) client: Arc<RemoteCallClient>,
    pub(crate) cancel: CancellationToken,
}

/// The outcome of a read: the requested item, or a question.
enum ReadOutcome<T> {
    It(T),
    Question(InputRequiredResult),
}

/// An answer with its outcome for the audit line.
pub(crate) type ReadResult<T> = Result<(T, RequestOutcome, usize), ToolCallError>;

impl ReadRequest {
    fn bounds(&self) -> RunLimits {
        RunLimits {
            cancel: self.cancel.clone(),
            deadline: Instant::now() + self.server.limits().tool_timeout,
        }
    }

    fn remember(
        &self,
        responses: Option<InputResponses>,
        state: Option<&str>,
        purpose: &str,
    ) -> Result<(), ToolCallError> {
        let remembered =
            self.client.remember(responses, state, self.server.cursor_codec(), purpose);
        remembered.map_err(|forged| ToolCallError::arguments(bad_state(forged)))
    }

    fn settle<T>(
        &self,
        ended: RunOutcome<T>,
        place: &str,
        purpose: &str,
    ) -> Result<ReadOutcome<T>, ToolCallError> {
        match ended {
            RunOutcome::Done(Ok(found)) => Ok(ReadOutcome::It(found)),
            RunOutcome::Done(Err(ToolError::NeedsInput(needed))) => {
                self.question(needed, place, purpose)
            }
            RunOutcome::Done(Err(error)) => {
                Err(result_builder::refusal(error, place, self.caller.dialect))
            }
            RunOutcome::Cancelled => Err(ToolCallError::new("cancelled", cancelled())),
            RunOutcome::Late => Err(result_builder::late(place)),
            RunOutcome::Panicked(words) => {
                Err(result_builder::internal(place, &format!("panic: {words}")))
            }
        }
    }

    fn question<T>(
        &self,
        needed: InputNeeded,
        place: &str,
        purpose: &str,
    ) -> Result<ReadOutcome<T>, ToolCallError> {
        let asked = if self.caller.is_modern() {
            self.client.input_required(needed, self.server.cursor_codec(), purpose)
        } else {
            let lacking = needed.asks.first().map_or("questions", |(_, ask)| capability(ask));
            Err(ToolError::ClientLacks(lacking))
        };
        asked
            .map(ReadOutcome::Question)
            .map_err(|error| result_builder::refusal(error, place, self.caller.dialect))
    }

    /// Reads one resource.
    pub(crate) async fn read(
        &self,
        request: ReadResourceRequestParams,
    ) -> ReadResult<ReadResourceResponse> {
        let uri = request.uri.as_str();
        let missing = || {
            ToolCallError::new("not_found", McpServer::missing_resource_error(&self.caller, uri))
        };
        if ResultStore::owns(uri) {
            let who = self.caller.principal();
            // A removed key, or an expired token, grants nothing, not even the results of its own calls.
            let part = (!who.scopes.is_empty())
                .then(|| self.server.results().read(uri, &who.name))
                .flatten()
                .ok_or_else(missing)?;
            let mut result = ReadResourceResult::new(vec![convert::resource_contents(part)]);
            result.cache_scope = self.caller.is_modern().then_some(CacheScope::Private);
            let bytes = result.contents.iter().map(paging::contents_weight).sum();
            return Ok((result.into(), RequestOutcome::Ok, bytes));
        }
        if let Some(app) = self.server.apps(&self.caller).iter().find(|app| app.uri == uri) {
            return Ok(self.page(app));
        }
        let purpose = purpose(&self.caller, "resources/read", uri);
        self.remember(request.input_responses, request.request_state.as_deref(), &purpose)?;
        let bounds = self.bounds();
        let context = self.context(&bounds);
        let work = Box::pin(async {
            for provider in self.server.seen_by(&self.caller) {
                if let Some(found) = provider.read(uri, &context).await {
                    return found.map(Some);
                }
            }
            Ok(None)
        });
        let ended = match run_bounded(work, &bounds, &self.client).await {
            RunOutcome::Done(Err(ToolError::Failed(failure)))
                if failure.kind == docent_tool::FailureKind::NotFound =>
            {
                RunOutcome::Done(Ok(None))
            }
            other => other,
        };
        match self.settle(ended, uri, &purpose)? {
            ReadOutcome::It(Some(reading)) => Ok(self.contents(reading)),
            ReadOutcome::It(None) => Err(missing()),
            ReadOutcome::Question(question) => Ok((question.into(), RequestOutcome::Ok, 0)),
        }
    }

    /// A page is useless unless complete, and contains nothing of the caller's: it is neither shortened nor screened.
    fn page(&self, app: &App) -> (ReadResourceResponse, RequestOutcome, usize) {
        let mut result = ReadResourceResult::new(vec![apps::contents(app)]);
        result.cache_scope = self.server.cache_scope(&self.caller);
        (result.into(), RequestOutcome::Ok, app.html.len())
    }

    fn contents(&self, reading: ResourceReading) -> (ReadResourceResponse, RequestOutcome, usize) {
        let mut contents: Vec<_> =
            reading.contents.into_iter().map(convert::resource_contents).collect();
        let screening = self.server.screening();
        for one in &mut contents {
            screening.contents(one);
        }
        let bytes = contents.iter().map(paging::contents_weight).sum();
        let rest = paging::fit_contents(&mut contents, self.server.limits().page_bytes);
        let mut result = ReadResourceResult::new(contents);
        result.cache_scope = self.server.cache_scope(&self.caller);
        result.meta = reading.meta.map(MetaObject);
        screening.meta(result.meta.as_mut());
        if let Some((id, parts, meta)) = rest {
            self.server.results().keep(&id, &self.caller.principal().name, parts);
            result.meta.get_or_insert_default().0.extend(meta.0);
        }
        (result.into(), RequestOutcome::Ok, bytes)
    }

    fn context(&self, bounds: &RunLimits) -> CallContext {
        let audience = Arc::clone(&self.client) as Arc<dyn CallClient>;
        CallContext::new(audience, bounds.cancel.clone(), Some(bounds.deadline))
    }

    /// Renders one prompt.
    pub(crate) async fn prompt(
        &self,
        request: GetPromptRequestParams,
    ) -> ReadResult<GetPromptResponse> {
        let name = request.name.as_str();
        let found = self.server.find_prompt(&self.caller, name);
        let (provider, info) = found.map_err(ToolCallError::arguments)?;
        let arguments = request.arguments.unwrap_or_default();
        let missing = info
            .arguments
            .iter()
            .find(|known| known.required && !arguments.contains_key(&known.name));
        if let Some(missing) = missing {
            let problem = ArgumentProblem::new(&missing.name, "is required");
            return Err(ToolCallError::arguments(invalid_params(&problem)));
        }
        let purpose = purpose(&self.caller, "prompts/get", name);
        self.remember(request.input_responses, request.request_state.as_deref(), &purpose)?;
        let bounds = self.bounds();
        let context = self.context(&bounds);
        let ended =
            run_bounded(provider.prompt(name, &arguments, &context), &bounds, &self.client).await;
        match self.settle(ended, name, &purpose)? {
            ReadOutcome::It(answer) => Ok(render_prompt(answer, &self.server.screening())),
            ReadOutcome::Question(question) => Ok((question.into(), RequestOutcome::Ok, 0)),
        }
    }
}

fn render_prompt(
    answer: PromptAnswer,
    screening: &Screening,
) -> (GetPromptResponse, RequestOutcome, usize) {
    let mut result =
        GetPromptResult::new(answer.messages.into_iter().map(convert::prompt_message).collect());
    result.meta = answer.meta.map(MetaObject);
    screening.meta(result.meta.as_mut());
    result.description = answer.about.map(|about| screening.screen_text(&about));
    result.messages.iter_mut().for_each(|message| screening.message(message));
    let bytes = result.messages.iter().map(|message| paging::block_weight(&message.content)).sum();
    (result.into(), RequestOutcome::Ok, bytes)
}
