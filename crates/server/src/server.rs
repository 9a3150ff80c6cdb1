//! State shared by all sessions, and the methods that transports use.

use crate::{
    AuditSink, McpSession, Screening,
    access_control::{ClientShares, RateLimiters},
    admission::{CallLimiter, CallPermit},
    apps,
    audit::{RejectionCounts, RejectionKey},
    call,
    catalog::{ToolCatalog, ToolRoute},
    cursor::CursorCodec,
    live_settings::SettingsSnapshot,
    metrics::{Gauges, Metrics},
    policy::Admitted,
    request_caller::RequestCaller,
    results::ResultStore,
    setup::{AdoptTraceParent, LiveSettings, ServerLimits, ServerSetup, ServerSetupError},
    subscriptions::Broadcaster,
    tasks::TaskStore,
};
use docent_tool::{ProviderChange, ToolProvider};
use docent_transport::{Caller, retry_data};
use docent_wire::Dialect;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ErrorCode, ExtensionCapabilities, Implementation, InitializeResult, JsonObject,
        PromptsCapability, ProtocolVersion, ResourcesCapability, ServerCapabilities, ServerConfig,
        TASKS_EXTENSION_ID, ToolsCapability,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock, Weak, atomic::Ordering},
    time::Duration,
};
use tokio::sync::{Notify, SetOnce, broadcast};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// When a call that found no permit may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The error for a request that arrives, or gets its permit, too late.
const SHUTTING_DOWN: &str = "shutting down";

/// State shared by all sessions. Created once, in an [`Arc`].
pub struct McpServer {
    info: ServerConfig,
    providers: Arc<[Arc<dyn ToolProvider>]>,
    catalog: RwLock<Arc<ToolCatalog>>,
    settings: RwLock<Arc<SettingsSnapshot>>,
    rate_limiters: RateLimiters,
    shares: ClientShares,
    call_limiter: Arc<CallLimiter>,
    /// Separate limiter for reads, prompts and completions: a call may wait for its client, which reads in the
    /// meantime.
    read_limiter: Arc<CallLimiter>,
    limits: ServerLimits,
    list_page: usize,
    resource_page: usize,
    adopt_trace_parent: Option<AdoptTraceParent>,
    audit: AuditSink,
    rejections: RejectionCounts,
    metrics: Metrics,
    results: ResultStore,
    tasks: TaskStore,
    broadcaster: Arc<Broadcaster>,
    cursor_codec: CursorCodec,
    stopping: CancellationToken,
    shutdown_requested: Arc<SetOnce<()>>,
    idle: Notify,
    _listening: Vec<AbortOnDropHandle<()>>,
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer").field("info", &self.info.server_info).finish_non_exhaustive()
    }
}

impl McpServer {
    /// Creates a server. If a provider reports changes, this must be called inside a tokio runtime.
    pub fn new(setup: ServerSetup) -> Result<Arc<Self>, ServerSetupError> {
        let terms = SettingsSnapshot::new(setup.live_settings(), setup.limits.tool_timeout)?;
        let ServerSetup { name, version, title, instructions, providers, .. } = setup;
        let ServerSetup {
            limits,
            audit,
            list_page,
            resource_page,
            adopt_trace_parent: adopt_trace,
            ..
        } = setup;
        for (limit, value) in [
            ("calls_in_flight", limits.calls_in_flight),
            ("page_bytes", limits.page_bytes),
            ("message_bytes", limits.message_bytes),
            ("sessions", limits.sessions),
            ("streams", limits.streams),
            ("blocking_threads", limits.blocking_threads),
        ] {
            if value == 0 {
                return Err(ServerSetupError::ZeroLimit(limit));
            }
        }
        let seal = CursorCodec::new().map_err(ServerSetupError::NoRandomness)?;
        let providers: Arc<[Arc<dyn ToolProvider>]> = providers.into();
        let metrics = Metrics::default();
        let (catalogue, problems) = terms.builder.build(&providers, &metrics);
        if let Some(problem) = problems.own.into_iter().next() {
            return Err(problem);
        }
        log_skipped_tools(&problems.parts);
        let mut implementation = Implementation::new(name, version);
        implementation.title = title;
        let able = capabilities(apps::capability(&providers));
        let mut info = InitializeResult::new(able).with_server_info(implementation);
        info.instructions = instructions;
        Ok(Arc::new_cyclic(|server| Self {
            info,
            broadcaster: Broadcaster::new(Arc::clone(&providers)),
            _listening: providers
                .iter()
                .filter_map(|provider| follow_changes(server, provider.changes()?))
                .collect(),
            providers,
            catalog: RwLock::new(Arc::new(catalogue)),
            settings: RwLock::new(Arc::new(terms)),
            rate_limiters: RateLimiters::new(&limits),
            shares: ClientShares::new(&limits),
            call_limiter: CallLimiter::new(limits.calls_in_flight),
            read_limiter: CallLimiter::new(limits.calls_in_flight),
            results: ResultStore::new(limits.result_ttl),
            tasks: TaskStore::new(limits.result_ttl),
            limits,
            list_page,
            resource_page,
            adopt_trace_parent: adopt_trace,
            audit,
            rejections: RejectionCounts::default(),
            metrics,
            cursor_codec: seal,
            stopping: CancellationToken::new(),
            shutdown_requested: Arc::default(),
            idle: Notify::new(),
        }))
    }

    /// A session for one connection, or for one request of a client without sessions.
    pub fn session(self: &Arc<Self>) -> McpSession {
        McpSession::new(Arc::clone(self))
    }

    /// All counters in the Prometheus text format.
    pub fn metrics(&self) -> String {
        self.metrics.text(&self.gauges())
    }

    /// All counters, for the inspector: `tools` with their calls, and `counters` by name.
    pub fn health(&self) -> Value {
        self.metrics.json(&self.gauges())
    }

    fn gauges(&self) -> Gauges {
        let (results, result_bytes) = self.results.size();
        Gauges {
            sessions: self.shares.sessions.taken(),
            streams: self.shares.streams.taken(),
            tasks: self.tasks.running(),
            results,
            result_bytes,
            audit_failures: self.audit.failures(),
        }
    }

    /// Applies new settings. Running calls keep the settings they started with; a removed key grants nothing from now
    /// on, whatever session it opened before.
    pub fn reload(&self, terms: LiveSettings) -> Result<(), ServerSetupError> {
        let next = self.settings().reload(terms, self.limits.tool_timeout)?;
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.rebuild();
        // What each caller sees may have changed.
        self.broadcaster.announce_all();
        Ok(())
    }

    /// Cancels tasks: no open request waits for their answers.
    pub fn cancel_tasks(&self) {
        self.tasks.stop();
    }

    /// Every callable tool with the key of its provider, in the form used in lists: some tools are not listed but can
    /// be called.
    pub fn definitions(&self) -> Vec<(String, Value)> {
        let catalogue = self.catalog();
        let definition = |route: &Arc<ToolRoute>| {
            let listed = serde_json::to_value(&route.listed).unwrap_or_default();
            (route.provider.to_string(), listed)
        };
        catalogue.routes().iter().map(definition).collect()
    }

    /// Accepts no new calls, ends subscriptions and tasks, and logs rejected callers. Running calls continue.
    pub fn stop(&self) {
        self.stopping.cancel();
        self.cancel_tasks();
        self.rejections.write_all(&self.audit);
    }

    /// Ends calls as if the deadline of each had passed: a tool has a short while to return what it has, and then the
    /// answer is what it has emitted. Queued and new calls are refused.
    pub fn request_shutdown(&self) {
        // Setting it twice has no effect.
        self.shutdown_requested.set(()).unwrap_or_default();
    }

    /// Waits until no call is running.
    pub async fn wait_until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.metrics.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn shares(&self) -> &ClientShares {
        &self.shares
    }

    pub(crate) fn rate_limiters(&self) -> &RateLimiters {
        &self.rate_limiters
    }

    pub(crate) fn rejections(&self) -> &RejectionCounts {
        &self.rejections
    }

    pub(crate) fn limits(&self) -> &ServerLimits {
        &self.limits
    }

    pub(crate) fn list_page(&self) -> usize {
        self.list_page
    }

    pub(crate) fn resource_page(&self) -> usize {
        self.resource_page
    }

    pub(crate) fn adopt_trace_parent(&self) -> Option<AdoptTraceParent> {
        self.adopt_trace_parent
    }

    pub(crate) fn screening(&self) -> Screening {
        self.settings().screening.clone()
    }

    pub(crate) fn results(&self) -> &ResultStore {
        &self.results
    }

    pub(crate) fn tasks(&self) -> &TaskStore {
        &self.tasks
    }

    pub(crate) fn broadcaster(&self) -> &Arc<Broadcaster> {
        &self.broadcaster
    }

    pub(crate) fn audit(&self) -> &AuditSink {
        &self.audit
    }

    /// Logs rejected requests if it is time to: they must be logged before whatever happens next.
    pub(crate) fn log_rejections(&self) {
        self.rejections.write_due(&self.audit);
    }

    pub(crate) fn count_rejection(&self, reason: &'static str, caller: &Caller) {
        let (principal, transport) = (Arc::clone(&caller.principal.name), caller.via.name());
        self.rejections.count(&self.audit, RejectionKey { reason, principal, transport });
    }

    pub(crate) fn cursor_codec(&self) -> &CursorCodec {
        &self.cursor_codec
    }

    pub(crate) fn counters(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    pub(crate) fn shutdown_requested(&self) -> &Arc<SetOnce<()>> {
        &self.shutdown_requested
    }

    pub(crate) fn providers(&self) -> &[Arc<dyn ToolProvider>] {
        &self.providers
    }

    pub(crate) fn settings(&self) -> Arc<SettingsSnapshot> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn catalog(&self) -> Arc<ToolCatalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether lists depend on the caller.
    pub(crate) fn lists_are_private(&self) -> bool {
        let terms = self.settings();
        terms.api_keys.has_keys() || !terms.policy.rules.is_empty()
    }

    pub(crate) fn request_caller(&self, context: &RequestContext<RoleServer>) -> RequestCaller {
        RequestCaller::of(context, &self.settings().api_keys)
    }

    /// The server information for the newest revision.
    pub(crate) fn info(&self) -> ServerConfig {
        self.info.clone()
    }

    /// The server information for older revisions, which have no extensions, except for the one that the client
    /// announces.
    pub(crate) fn older_info(&self, dialect: Dialect, shows_apps: bool) -> InitializeResult {
        let mut info = self.info.clone();
        let ours = info.capabilities.extensions.take().filter(|_| shows_apps);
        info.capabilities.extensions = ours.as_ref().and_then(apps::session_extensions);
        info.protocol_version = version(dialect);
        info
    }

    fn changed(&self, change: &ProviderChange) {
        match change {
            ProviderChange::Tools => self.rebuild(),
            ProviderChange::Said { provider, level, logger, data, extra } => {
                let (mut data, mut extra) = (data.clone(), Value::Object(extra.clone()));
                self.screening().value(&mut data);
                self.screening().fields(&mut extra);
                let extra = extra.as_object_mut().map(std::mem::take).unwrap_or_default();
                let (provider, level) = (provider.clone(), *level);
                let logger = self.screening().screen_text(logger);
                return self.broadcaster.announce(&ProviderChange::Said {
                    provider,
                    level,
                    logger,
                    data,
                    extra,
                });
            }
            _ => {}
        }
        self.broadcaster.announce(change);
    }

    pub(crate) fn rebuild(&self) {
        let (catalogue, problems) = self.settings().builder.build(&self.providers, &self.metrics);
        log_skipped_tools(&problems.own);
        log_skipped_tools(&problems.parts);
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
    }

    /// Counts a request as running, unless the server is closing or its audit line could not be written.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<RunningGuard, RequestRefusal> {
        self.metrics.in_flight.fetch_add(1, Ordering::AcqRel);
        let running = RunningGuard(Arc::clone(self));
        if self.shutdown_requested.initialized() || self.stopping.is_cancelled() {
            return Err(RequestRefusal::closing());
        }
        self.audit
            .ready()
            .map_err(|error| RequestRefusal::new("audit", self.unrecorded_error(&error)))?;
        Ok(running)
    }

    /// Finds the tool and checks everything required before it runs.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        guest: &RequestCaller,
        tool: &str,
        cancel: &CancellationToken,
    ) -> Result<(Admitted, RunPermit), RequestRefusal> {
        let (admitted, running) = self.admit_within(guest, tool, None).await?;
        let timeout = admitted.within(admitted.route().timeout);
        let place = self.take_call_permit(&self.call_limiter, guest, timeout, cancel).await?;
        Ok((admitted, RunPermit { call_permit: Some(place), _running: running }))
    }

    /// The same for a nested call: it uses the permit of the outer call, and may be restricted to one provider.
    pub(crate) async fn admit_within(
        self: &Arc<Self>,
        guest: &RequestCaller,
        tool: &str,
        provider: Option<&str>,
    ) -> Result<(Admitted, RunningGuard), RequestRefusal> {
        let running = self.begin()?;
        let catalogue = self.catalogue_for(tool).await;
        let terms = self.settings();
        let policy = &terms.policy;
        let route = catalogue.find(tool).ok_or_else(|| {
            RequestRefusal::new("unknown_tool", catalogue.unknown_tool_error(tool, guest, policy))
        })?;
        let admitted = Admitted::check(policy, guest.principal(), route)
            .map_err(|rule| RequestRefusal::new("scope", call::out_of_scope(guest, tool, &rule)))?;
        let owner = &*route.provider;
        if let Some(asked) = provider.filter(|asked| *asked != owner) {
            let message = format!("the tool `{tool}` belongs to `{owner}`, not to `{asked}`");
            return Err(RequestRefusal::new(
                "unknown_tool",
                ErrorData::invalid_params(message, None),
            ));
        }
        // Last, so that only calls that would run are counted.
        self.check_rates(&admitted, guest, &terms)?;
        Ok((admitted, running))
    }

    /// Waits for a permit for a read, prompt or completion, no longer than one may take.
    pub(crate) async fn take_read_permit(
        &self,
        guest: &RequestCaller,
        cancel: &CancellationToken,
    ) -> Result<CallPermit, RequestRefusal> {
        self.take_call_permit(&self.read_limiter, guest, self.limits.tool_timeout, cancel).await
    }

    /// Waits for a call permit of the client.
    async fn take_call_permit(
        &self,
        lanes: &Arc<CallLimiter>,
        guest: &RequestCaller,
        patience: Duration,
        cancel: &CancellationToken,
    ) -> Result<CallPermit, RequestRefusal> {
        let client = guest.caller.client_at_address();
        let entered = tokio::select! {
            biased;
            entered = lanes.enter(client, patience) => entered,
            () = cancel.cancelled() => return Err(RequestRefusal::new("cancelled", call::cancelled())),
            () = self.shutdown_requested.wait() => return Err(RequestRefusal::closing()),
        };
        // A call ended by the shutdown has passed its permit to this one, which could not be answered in time.
        if self.shutdown_requested.initialized() {
            return Err(RequestRefusal::closing());
        }
        entered.map_err(|crowded| {
            self.metrics.refused_crowded.fetch_add(1, Ordering::Relaxed);
            let (running, waiting) = (crowded.running, crowded.waiting);
            let message = format!(
                "too many calls in flight: {running} may run and {waiting} may wait for one client; \
                 wait for answers, or raise limits.calls_in_flight"
            );
            let mut data = retry_data(RETRY_AFTER);
            (data["callsInFlight"], data["waiting"]) = (running.into(), waiting.into());
            RequestRefusal::new("crowded", refusal_error(message, Some(data)))
        })
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.tasks.drop_all();
    }
}

/// Why a request is rejected: a word for its audit line, and the error.
#[derive(Debug)]
pub(crate) struct RequestRefusal {
    pub(crate) reason: &'static str,
    pub(crate) error: ErrorData,
}

impl RequestRefusal {
    pub(crate) fn new(reason: &'static str, error: ErrorData) -> Self {
        Self { reason, error }
    }

    fn closing() -> Self {
        Self::new("closing", refusal_error(SHUTTING_DOWN, None))
    }
}

/// The error for a rejected request.
pub(crate) fn refusal_error(message: impl Into<String>, data: Option<Value>) -> ErrorData {
    ErrorData::new(ErrorCode(-32000), message.into(), data)
}

fn log_skipped_tools(problems: &[ServerSetupError]) {
    for problem in problems {
        tracing::error!(%problem, "a tool was left out of the catalog");
    }
}

/// Follows one provider's changes for as long as the server lives.
fn follow_changes(
    server: &Weak<McpServer>,
    mut changes: broadcast::Receiver<ProviderChange>,
) -> Option<AbortOnDropHandle<()>> {
    let server = Weak::clone(server);
    let follow = async move {
        loop {
            let change = changes.recv().await;
            let Some(server) = server.upgrade() else { return };
            match change {
                Ok(change) => server.changed(&change),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    server.rebuild();
                    server.broadcaster.announce_all();
                }
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    };
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        tracing::error!("the server was created outside of a runtime: it does not receive changes");
        return None;
    };
    Some(AbortOnDropHandle::new(runtime.spawn(follow)))
}

fn capabilities(mut extensions: ExtensionCapabilities) -> ServerCapabilities {
    let mut all = ServerCapabilities::default();
    let mut tools = ToolsCapability::default();
    tools.list_changed = Some(true);
    let mut resources = ResourcesCapability::default();
    (resources.subscribe, resources.list_changed) = (Some(true), Some(true));
    let mut prompts = PromptsCapability::default();
    prompts.list_changed = Some(true);
    all.tools = Some(tools);
    all.resources = Some(resources);
    all.prompts = Some(prompts);
    all.logging = Some(JsonObject::new());
    all.completions = Some(JsonObject::new());
    extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
    all.extensions = Some(extensions);
    all
}

fn version(dialect: Dialect) -> ProtocolVersion {
    // The SDK accepts any string as a version, so parsing cannot fail.
    serde_json::from_value(json!(dialect.version()))
        .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// Counted as running until dropped.
pub(crate) struct RunningGuard(Arc<McpServer>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        if self.0.metrics.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// Permits of a running call: of its client, and of the server.
pub(crate) struct RunPermit {
    /// `None` once it was handed over or released.
    pub(crate) call_permit: Option<CallPermit>,
    _running: RunningGuard,
}
