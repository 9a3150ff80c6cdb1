//! A session: answers every request of the protocol.
#![expect(
    deprecated,
    reason = "the protocol marks logging and subscribe as going; older revisions keep them"
)]

use crate::{
    admission::CallPermit,
    apps,
    audit::AuditOutcome,
    audit_guard::{AuditGuard, RequestSubject},
    call::{RunnableCall, bad_state, purpose},
    call_client::RemoteCallClient,
    convert,
    metrics::RequestOutcome,
    offers::{ReadRequest, ReadResult},
    request_caller::{self, RequestCaller},
    result_builder::ToolCallError,
    run::RunLimits,
    server::{McpServer, RequestRefusal, RunningGuard, refusal_error},
    subscriptions::{BroadcastSubscription, LEVELS, SubscriberAccess, WatchRefusal},
    tasks::{self, TaskUse},
    unreadable::unreadable_error,
};
use docent_tool::{CallClient as _, SyslogLevel};
use docent_transport::{AccessControl as _, Principal, retry_data};
use docent_wire::Dialect;
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
        CompleteResult, CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams,
        GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
        ServerResult, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// A connection with one client. Creating one costs the clone of an [`Arc`].
pub struct McpSession {
    server: Arc<McpServer>,
    /// Distinguishes the sessions of one principal.
    number: u64,
    /// The level set by `logging/setLevel`: 0 if not set, otherwise the level's position from 1.
    level: Arc<AtomicU8>,
    /// The last sender: notifications between requests are for them.
    speaker: Arc<Mutex<Option<Principal>>>,
    /// Its subscription to changes, once it has one.
    membership: Mutex<Option<BroadcastSubscription>>,
}

impl fmt::Debug for McpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSession").finish_non_exhaustive()
    }
}

/// The caller of an open request, and its audit record.
struct OpenedRequest {
    caller: RequestCaller,
    audit_guard: AuditGuard,
}

impl McpSession {
    pub(crate) fn new(server: Arc<McpServer>) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let (level, speaker, membership) = Default::default();
        Self { server, number, level, speaker, membership }
    }

    /// The log level before one is set: the default for a client that supports levels, otherwise none.
    fn level(&self, dialect: Dialect) -> Option<SyslogLevel> {
        match usize::from(self.level.load(Ordering::Relaxed)) {
            0 => (!dialect.is_plain()).then_some(SyslogLevel::Info),
            chosen => LEVELS.get(chosen - 1).copied(),
        }
    }

    /// Which notifications the session may receive, checked each time: keys, rules and tokens can expire while a
    /// session stays open.
    fn ear(&self, level: Option<&Arc<AtomicU8>>) -> SubscriberAccess {
        let (server, speaker) = (Arc::downgrade(&self.server), Arc::clone(&self.speaker));
        let may_see = move |provider: &str| {
            let who = speaker.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let known = server.upgrade().zip(who);
            known.is_some_and(|(server, who)| server.may_see(who, provider))
        };
        SubscriberAccess { level: level.cloned(), may_see: Box::new(may_see) }
    }

    fn join(&self, peer: Peer<RoleServer>) -> BroadcastSubscription {
        self.server.broadcaster().join_session(peer, self.ear(Some(&self.level)))
    }

    /// Every request updates the listener: a renewed token applies from its first request.
    fn set_speaker(&self, who: Principal) {
        *self.speaker.lock().unwrap_or_else(PoisonError::into_inner) = Some(who);
    }

    fn guest(&self, context: &RequestContext<RoleServer>) -> RequestCaller {
        let guest = self.server.request_caller(context);
        self.set_speaker(guest.principal().clone());
        guest
    }

    fn membership(&self) -> MutexGuard<'_, Option<BroadcastSubscription>> {
        self.membership.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(
        &self,
        context: &RequestContext<RoleServer>,
        asked: &RequestSubject<'_>,
    ) -> OpenedRequest {
        let guest = self.guest(context);
        let entry = self.server.open(&guest, context, asked);
        OpenedRequest { caller: guest, audit_guard: AuditGuard::new(&self.server, entry) }
    }

    fn visit(&self, guest: &RequestCaller, context: RequestContext<RoleServer>) -> ReadRequest {
        let cancel = context.ct.clone();
        let listener = self.listener(context, guest);
        ReadRequest {
            server: Arc::clone(&self.server),
            caller: guest.clone(),
            client: listener,
            cancel,
        }
    }

    fn listener(
        &self,
        context: RequestContext<RoleServer>,
        guest: &RequestCaller,
    ) -> Arc<RemoteCallClient> {
        RemoteCallClient::new(context, guest, self.number, self.level(guest.dialect), &self.server)
    }

    /// Counts a read as running and takes its permit, or writes the audit line of a rejected one.
    async fn begin(
        &self,
        opened: &mut OpenedRequest,
        cancel: &CancellationToken,
    ) -> Result<(RunningGuard, CallPermit), ErrorData> {
        let begun = match self.server.begin() {
            Ok(running) => {
                let place = self.server.take_read_permit(&opened.caller, cancel).await;
                place.map(|place| (running, place))
            }
            Err(refusal) => Err(refusal),
        };
        begun.map_err(|refusal| close_rejected(&mut opened.audit_guard, refusal, cancel))
    }

    /// Writes the audit line of a read, and returns its answer.
    fn record<T>(
        &self,
        line: &mut AuditGuard,
        cancel: &CancellationToken,
        visited: ReadResult<T>,
    ) -> Result<T, ErrorData> {
        let ending = match &visited {
            Ok((_, outcome, bytes)) => AuditOutcome::new(*outcome, *bytes),
            Err(_) if cancel.is_cancelled() => AuditOutcome::new(RequestOutcome::Cancelled, 0),
            Err(failed) => AuditOutcome::clone(&failed.ending),
        };
        line.close(&ending)?;
        let screened = |failed: ToolCallError| self.server.screening().error(failed.error);
        visited.map(|(answer, ..)| answer).map_err(screened)
    }

    /// Whether a plain request's method is a tool. Methods of the protocol, and misspelled ones, don't wait for slow
    /// servers.
    async fn has_tool(&self, method: &str) -> bool {
        let catalogue = if method.contains('/') {
            self.server.catalogue_with(method)
        } else {
            self.server.catalogue_for(method).await
        };
        catalogue.find(method).is_some()
    }

    /// Calls the tool that a plain request names as its method, with the request's parameters as arguments.
    async fn call_by_method(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let mut call = CallToolRequestParams::new(request.method);
        if let Some(Value::Object(mut arguments)) = request.params {
            arguments.remove("_meta");
            call = call.with_arguments(arguments);
        }
        let answer = ServerResult::from(self.call_tool(call, context).await?);
        let mut answer = serde_json::to_value(answer)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        if let Value::Object(fields) = &mut answer {
            // A field of the newest revision, which the SDK removes from typed results only.
            fields.remove("resultType");
        }
        Ok(CustomResult(answer))
    }

    /// Writes the audit line of a call whose parameters could not be read.
    fn record_unread(
        &self,
        request: &CustomRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let known = AUDITED_METHODS.into_iter().find(|(method, _)| *method == request.method);
        let Some((method, name)) = known else { return Ok(()) };
        let member = |name: &str| request.params.as_ref().and_then(|params| params.get(name));
        let asked = RequestSubject {
            method,
            target: member(name).and_then(Value::as_str).unwrap_or_default(),
            arguments: member("arguments").and_then(Value::as_object),
        };
        let mut opened = self.open(context, &asked);
        opened.audit_guard.close(&AuditOutcome::refused("invalid_params"))
    }

    async fn start(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
        opened: OpenedRequest,
        request_cancel: &CancellationToken,
    ) -> Result<RunnableCall, ErrorData> {
        let OpenedRequest { caller: guest, audit_guard: mut line } = opened;
        let follows = guest.is_modern() && request_caller::declares_tasks(&context.meta);
        let admitted = self.server.admit(&guest, &request.name, request_cancel).await;
        let checked = admitted.and_then(|(admitted, permit)| {
            if admitted.route().tasks == TaskUse::Required && !follows {
                return Err(RequestRefusal::new("needs_tasks", tasks::required()));
            }
            if follows && admitted.route().tasks != TaskUse::Never {
                // The request is over once a task answers it; the call and its nested calls continue.
                context.ct = CancellationToken::new();
            }
            let cancel = context.ct.clone();
            let listener = self.listener(context, &guest);
            let purpose = || purpose(&guest, "tools/call", &request.name);
            if request.input_responses.is_some() || request.request_state.is_some() {
                let state = request.request_state.as_deref();
                listener
                    .remember(
                        request.input_responses,
                        state,
                        self.server.cursor_codec(),
                        &purpose(),
                    )
                    .map_err(|forged| RequestRefusal::new("bad_state", bad_state(forged)))?;
            }
            Ok((admitted, permit, cancel, listener))
        });
        let (admitted, permit, cancel, listener) = match checked {
            Ok(checked) => checked,
            Err(refusal) => return Err(close_rejected(&mut line, refusal, request_cancel)),
        };
        let route = admitted.route();
        line.count_for(&route.stats);
        // A task may take as long as it is kept, unless a timeout was set for this very tool.
        let long = follows && !route.timeout_is_own && route.tasks != TaskUse::Never;
        let timeout = admitted.within(if long {
            tasks::task_timeout(self.server.limits().result_ttl).max(route.timeout)
        } else {
            route.timeout
        });
        Ok(RunnableCall {
            server: Arc::clone(&self.server),
            arguments: request.arguments.unwrap_or_default(),
            client: listener,
            bounds: RunLimits { cancel, deadline: Instant::now() + timeout },
            timeout,
            admitted,
            screening: self.server.screening(),
            caller: guest,
            line,
            permit,
        })
    }
}

impl ServerHandler for McpSession {
    fn get_info(&self) -> ServerConfig {
        self.server.info()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.server.catalog().find(name).map(|route| route.listed.clone())
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.guest(&context);
        Ok(())
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let dialect = Dialect::negotiate(request.protocol_version.as_str());
        let shows_apps = apps::announces_apps(&request.capabilities, dialect);
        let info = self.server.older_info(dialect, shows_apps);
        request.protocol_version = info.protocol_version.clone();
        context.peer.set_peer_info(request);
        // A second handshake starts a new session.
        self.level.store(0, Ordering::Relaxed);
        drop(self.membership().take());
        Ok(info)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.guest(&context);
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.server.info()))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut membership = self.membership();
        if membership.is_none() {
            self.set_speaker(self.server.principal(&context.extensions));
            *membership = Some(self.join(context.peer));
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.guest(&context);
        let level = convert::level(request.level);
        let place = LEVELS.iter().position(|known| *known == level).unwrap_or(0);
        self.level.store(u8::try_from(place + 1).unwrap_or(1), Ordering::Relaxed);
        self.server.set_level(level);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.server.list_tools(&self.guest(&context), cursor(request.as_ref())).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = RequestSubject {
            method: "tools/call",
            target: &request.name,
            arguments: request.arguments.as_ref(),
        };
        let opened = self.open(&context, &asked);
        let follows = opened.caller.is_modern() && request_caller::declares_tasks(&context.meta);
        let cancel = context.ct.clone();
        let call = self.start(request, context, opened, &cancel).await?;
        if follows && call.task_use() != TaskUse::Never {
            return self.server.tasks().run(call, cancel).await;
        }
        call.perform().await?.try_into()
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.server.list_resources(&self.guest(&context), cursor(request.as_ref())).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.server.list_templates(&self.guest(&context), cursor(request.as_ref())).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asked =
            RequestSubject { method: "resources/read", target: &request.uri, arguments: None };
        let mut opened = self.open(&context, &asked);
        let _place = self.begin(&mut opened, &context.ct).await?;
        let visit = self.visit(&opened.caller, context);
        let visited = visit.read(request).await;
        self.record(&mut opened.audit_guard, &visit.cancel, visited)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.server.list_prompts(&self.guest(&context), cursor(request.as_ref())).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let asked = RequestSubject {
            method: "prompts/get",
            target: &request.name,
            arguments: request.arguments.as_ref(),
        };
        let mut opened = self.open(&context, &asked);
        let _place = self.begin(&mut opened, &context.ct).await?;
        let visit = self.visit(&opened.caller, context);
        let visited = visit.prompt(request).await;
        self.record(&mut opened.audit_guard, &visit.cancel, visited)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let guest = self.guest(&context);
        let place = self.server.take_read_permit(&guest, &context.ct).await;
        let _place = place.map_err(|refusal| refusal.error)?;
        let meta = self.listener(context, &guest).meta();
        self.server.complete(&guest, request, meta).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let guest = self.guest(&context);
        let mut membership = self.membership();
        let member = membership.get_or_insert_with(|| self.join(context.peer));
        let terms = self.server.settings();
        let may_see = |provider: &str| terms.policy.may_see(guest.principal(), provider);
        member.watch(&request.uri, &may_see).map_err(|problem| match problem {
            WatchRefusal::Unknown => self.server.not_watched(&guest, &request.uri),
            WatchRefusal::TooMany => {
                refusal_error("too many subscriptions in one session; end some first", None)
            }
        })
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.guest(&context);
        if let Some(member) = &*self.membership() {
            member.unwatch(&request.uri);
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(self.server.broadcaster().accept(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let guest = self.guest(context.request_context());
        // A stream stays open for as long as its client likes, so it always counts as one.
        let _seat = self.server.open_stream(&guest.caller).map_err(|overload| {
            refusal_error(overload.to_string(), Some(retry_data(overload.retry_after)))
        })?;
        self.server.broadcaster().listen(context, self.ear(None), self.server.stopping()).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let guest = self.guest(&context);
        self.server.tasks().get(&request.task_id, guest.principal()).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let guest = self.guest(&context);
        self.server.tasks().update(&request.task_id, guest.principal(), request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let guest = self.guest(&context);
        self.server.tasks().cancel(&request.task_id, guest.principal())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let guest = self.guest(&context);
        if guest.dialect.is_plain() && self.has_tool(&request.method).await {
            return self.call_by_method(request, context).await;
        }
        self.record_unread(&request, &context)?;
        Err(unreadable_error(&request.method, request.params.as_ref()))
    }
}

/// Writes the audit line of a rejected request, and returns its error.
fn close_rejected(
    line: &mut AuditGuard,
    refusal: RequestRefusal,
    cancel: &CancellationToken,
) -> ErrorData {
    let ending = if cancel.is_cancelled() {
        AuditOutcome::new(RequestOutcome::Cancelled, 0)
    } else {
        AuditOutcome::refused(refusal.reason)
    };
    line.close(&ending).err().unwrap_or(refusal.error)
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<&str> {
    request.and_then(|request| request.cursor.as_deref())
}

/// Methods that write an audit line, and the parameter that names the target.
const AUDITED_METHODS: [(&str, &str); 3] =
    [("tools/call", "name"), ("resources/read", "uri"), ("prompts/get", "name")];
