//! State shared by all sessions, and the methods that transports use.

use crate::{
    Audit, Screening, Session,
    admit::{Lanes, Place},
    apps,
    audit::{TurnedAway, Whom},
    call,
    catalogue::{Catalogue, Route},
    cursor::Seal,
    door::{Meters, Shares},
    guest::Guest,
    metrics::{Gauges, Metrics},
    policy::Admitted,
    results::Results,
    setup::{AdoptTrace, Limits, Setup, SetupError, Terms},
    subscriptions::Hub,
    tasks::Tasks,
    terms::InForce,
};
use docent_tool::{Change, Provider};
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
pub struct Server {
    info: ServerConfig,
    providers: Arc<[Arc<dyn Provider>]>,
    catalogue: RwLock<Arc<Catalogue>>,
    terms: RwLock<Arc<InForce>>,
    meters: Meters,
    shares: Shares,
    lanes: Arc<Lanes>,
    /// Separate limiter for reads, prompts and completions: a call may wait for its client, which reads in the
    /// meantime.
    visits: Arc<Lanes>,
    limits: Limits,
    list_page: usize,
    resource_page: usize,
    adopt_trace: Option<AdoptTrace>,
    audit: Audit,
    turned_away: TurnedAway,
    metrics: Metrics,
    results: Results,
    tasks: Tasks,
    hub: Arc<Hub>,
    seal: Seal,
    stopping: CancellationToken,
    hurry: Arc<SetOnce<()>>,
    idle: Notify,
    _listening: Vec<AbortOnDropHandle<()>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer").field("info", &self.info.server_info).finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server. If a provider reports changes, this must be called inside a tokio runtime.
    pub fn new(setup: Setup) -> Result<Arc<Self>, SetupError> {
        let terms = InForce::new(setup.terms(), setup.limits.tool_timeout)?;
        let Setup { name, version, title, instructions, providers, .. } = setup;
        let Setup { limits, audit, list_page, resource_page, adopt_trace, .. } = setup;
        for (limit, value) in [
            ("calls_in_flight", limits.calls_in_flight),
            ("page_bytes", limits.page_bytes),
            ("message_bytes", limits.message_bytes),
            ("sessions", limits.sessions),
            ("streams", limits.streams),
            ("blocking_threads", limits.blocking_threads),
        ] {
            if value == 0 {
                return Err(SetupError::ZeroLimit(limit));
            }
        }
        let seal = Seal::new().map_err(SetupError::NoRandomness)?;
        let providers: Arc<[Arc<dyn Provider>]> = providers.into();
        let metrics = Metrics::default();
        let (catalogue, problems) = terms.builder.build(&providers, &metrics);
        if let Some(problem) = problems.own.into_iter().next() {
            return Err(problem);
        }
        tell_left_out(&problems.parts);
        let mut implementation = Implementation::new(name, version);
        implementation.title = title;
        let able = capabilities(apps::capability(&providers));
        let mut info = InitializeResult::new(able).with_server_info(implementation);
        info.instructions = instructions;
        Ok(Arc::new_cyclic(|server| Self {
            info,
            hub: Hub::new(Arc::clone(&providers)),
            _listening: providers
                .iter()
                .filter_map(|provider| listen(server, provider.changes()?))
                .collect(),
            providers,
            catalogue: RwLock::new(Arc::new(catalogue)),
            terms: RwLock::new(Arc::new(terms)),
            meters: Meters::new(&limits),
            shares: Shares::new(&limits),
            lanes: Lanes::new(limits.calls_in_flight),
            visits: Lanes::new(limits.calls_in_flight),
            results: Results::new(limits.result_ttl),
            tasks: Tasks::new(limits.result_ttl),
            limits,
            list_page,
            resource_page,
            adopt_trace,
            audit,
            turned_away: TurnedAway::default(),
            metrics,
            seal,
            stopping: CancellationToken::new(),
            hurry: Arc::default(),
            idle: Notify::new(),
        }))
    }

    /// A session for one connection, or for one request of a client without sessions.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(Arc::clone(self))
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
    pub fn renew(&self, terms: Terms) -> Result<(), SetupError> {
        let next = self.terms().renewed(terms, self.limits.tool_timeout)?;
        *self.terms.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.rebuild();
        // What each caller sees may have changed.
        self.hub.announce_all();
        Ok(())
    }

    /// Cancels tasks: no open request waits for their answers.
    pub fn cancel_tasks(&self) {
        self.tasks.stop();
    }

    /// Every callable tool with the key of its provider, in the form used in lists: some tools are not listed but can
    /// be called.
    pub fn definitions(&self) -> Vec<(String, Value)> {
        let catalogue = self.catalogue();
        let definition = |route: &Arc<Route>| {
            let listed = serde_json::to_value(&route.listed).unwrap_or_default();
            (route.provider.to_string(), listed)
        };
        catalogue.routes().iter().map(definition).collect()
    }

    /// Accepts no new calls, ends subscriptions and tasks, and logs rejected callers. Running calls continue.
    pub fn stop(&self) {
        self.stopping.cancel();
        self.cancel_tasks();
        self.turned_away.write_all(&self.audit);
    }

    /// Ends calls as if the deadline of each had passed: a tool has a short while to return what it has, and then the
    /// answer is what it has emitted. Queued and new calls are refused.
    pub fn hurry(&self) {
        // Setting it twice has no effect.
        self.hurry.set(()).unwrap_or_default();
    }

    /// Waits until no call is running.
    pub async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            if self.metrics.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn shares(&self) -> &Shares {
        &self.shares
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    pub(crate) fn turned_away(&self) -> &TurnedAway {
        &self.turned_away
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn list_page(&self) -> usize {
        self.list_page
    }

    pub(crate) fn resource_page(&self) -> usize {
        self.resource_page
    }

    pub(crate) fn adopt_trace(&self) -> Option<AdoptTrace> {
        self.adopt_trace
    }

    pub(crate) fn screening(&self) -> Screening {
        self.terms().screening.clone()
    }

    pub(crate) fn results(&self) -> &Results {
        &self.results
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Logs rejected requests if it is time to: they must be logged before whatever happens next.
    pub(crate) fn tell_turned_away(&self) {
        self.turned_away.write_due(&self.audit);
    }

    pub(crate) fn turn_away(&self, reason: &'static str, caller: &Caller) {
        let (principal, transport) = (Arc::clone(&caller.principal.name), caller.via.name());
        self.turned_away.count(&self.audit, Whom { reason, principal, transport });
    }

    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    pub(crate) fn counters(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    pub(crate) fn hurried(&self) -> &Arc<SetOnce<()>> {
        &self.hurry
    }

    pub(crate) fn providers(&self) -> &[Arc<dyn Provider>] {
        &self.providers
    }

    pub(crate) fn terms(&self) -> Arc<InForce> {
        Arc::clone(&self.terms.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether lists depend on the caller.
    pub(crate) fn lists_are_private(&self) -> bool {
        let terms = self.terms();
        terms.keyring.has_keys() || !terms.policy.rules.is_empty()
    }

    pub(crate) fn guest(&self, context: &RequestContext<RoleServer>) -> Guest {
        Guest::of(context, &self.terms().keyring)
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
        info.capabilities.extensions = ours.as_ref().and_then(apps::negotiated);
        info.protocol_version = version(dialect);
        info
    }

    fn changed(&self, change: &Change) {
        match change {
            Change::Tools => self.rebuild(),
            Change::Said { provider, level, logger, data, extra } => {
                let (mut data, mut extra) = (data.clone(), Value::Object(extra.clone()));
                self.screening().value(&mut data);
                self.screening().fields(&mut extra);
                let extra = extra.as_object_mut().map(std::mem::take).unwrap_or_default();
                let (provider, level) = (provider.clone(), *level);
                let logger = self.screening().told(logger);
                return self.hub.announce(&Change::Said { provider, level, logger, data, extra });
            }
            _ => {}
        }
        self.hub.announce(change);
    }

    pub(crate) fn rebuild(&self) {
        let (catalogue, problems) = self.terms().builder.build(&self.providers, &self.metrics);
        tell_left_out(&problems.own);
        tell_left_out(&problems.parts);
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalogue);
    }

    /// Counts a request as running, unless the server is closing or its audit line could not be written.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Running, Refusal> {
        self.metrics.in_flight.fetch_add(1, Ordering::AcqRel);
        let running = Running(Arc::clone(self));
        if self.hurry.initialized() || self.stopping.is_cancelled() {
            return Err(Refusal::closing());
        }
        self.audit.ready().map_err(|error| Refusal::new("audit", self.unrecorded(&error)))?;
        Ok(running)
    }

    /// Finds the tool and checks everything required before it runs.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        guest: &Guest,
        tool: &str,
        cancel: &CancellationToken,
    ) -> Result<(Admitted, Permit), Refusal> {
        let (admitted, running) = self.admit_within(guest, tool, None).await?;
        let timeout = admitted.within(admitted.route().timeout);
        let place = self.take_place(&self.lanes, guest, timeout, cancel).await?;
        Ok((admitted, Permit { place: Some(place), _running: running }))
    }

    /// The same for a nested call: it uses the permit of the outer call, and may be restricted to one provider.
    pub(crate) async fn admit_within(
        self: &Arc<Self>,
        guest: &Guest,
        tool: &str,
        provider: Option<&str>,
    ) -> Result<(Admitted, Running), Refusal> {
        let running = self.begin()?;
        let catalogue = self.catalogue_for(tool).await;
        let terms = self.terms();
        let policy = &terms.policy;
        let route = catalogue
            .find(tool)
            .ok_or_else(|| Refusal::new("unknown_tool", catalogue.unknown(tool, guest, policy)))?;
        let admitted = Admitted::check(policy, guest.principal(), route)
            .map_err(|rule| Refusal::new("scope", call::out_of_scope(guest, tool, &rule)))?;
        let owner = &*route.provider;
        if let Some(asked) = provider.filter(|asked| *asked != owner) {
            let message = format!("the tool `{tool}` belongs to `{owner}`, not to `{asked}`");
            return Err(Refusal::new("unknown_tool", ErrorData::invalid_params(message, None)));
        }
        // Last, so that only calls that would run are counted.
        self.check_rates(&admitted, guest, &terms)?;
        Ok((admitted, running))
    }

    /// Waits for a permit for a read, prompt or completion, no longer than one may take.
    pub(crate) async fn take_visit(
        &self,
        guest: &Guest,
        cancel: &CancellationToken,
    ) -> Result<Place, Refusal> {
        self.take_place(&self.visits, guest, self.limits.tool_timeout, cancel).await
    }

    /// Waits for a call permit of the client.
    async fn take_place(
        &self,
        lanes: &Arc<Lanes>,
        guest: &Guest,
        patience: Duration,
        cancel: &CancellationToken,
    ) -> Result<Place, Refusal> {
        let client = guest.caller.client_at_address();
        let entered = tokio::select! {
            biased;
            entered = lanes.enter(client, patience) => entered,
            () = cancel.cancelled() => return Err(Refusal::new("cancelled", call::cancelled())),
            () = self.hurry.wait() => return Err(Refusal::closing()),
        };
        // A call ended by the shutdown has passed its permit to this one, which could not be answered in time.
        if self.hurry.initialized() {
            return Err(Refusal::closing());
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
            Refusal::new("crowded", refused(message, Some(data)))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.drop_all();
    }
}

/// Why a request is rejected: a word for its audit line, and the error.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: &'static str,
    pub(crate) error: ErrorData,
}

impl Refusal {
    pub(crate) fn new(reason: &'static str, error: ErrorData) -> Self {
        Self { reason, error }
    }

    fn closing() -> Self {
        Self::new("closing", refused(SHUTTING_DOWN, None))
    }
}

/// The error for a rejected request.
pub(crate) fn refused(message: impl Into<String>, data: Option<Value>) -> ErrorData {
    ErrorData::new(ErrorCode(-32000), message.into(), data)
}

fn tell_left_out(problems: &[SetupError]) {
    for problem in problems {
        tracing::error!(%problem, "a tool was left out of the catalog");
    }
}

/// Follows one provider's changes for as long as the server lives.
fn listen(
    server: &Weak<Server>,
    mut changes: broadcast::Receiver<Change>,
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
                    server.hub.announce_all();
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
pub(crate) struct Running(Arc<Server>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.metrics.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// Permits of a running call: of its client, and of the server.
pub(crate) struct Permit {
    /// `None` once it was handed over or released.
    pub(crate) place: Option<Place>,
    _running: Running,
}
