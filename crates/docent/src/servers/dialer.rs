//! Starts servers and opens connections for the hub.

use super::{HubResources, tokens};
use crate::{
    config::{self, Config, SecretText, ServerExtension},
    sandbox,
};
use docent_dial::{
    ClientTransport, HttpSettings, Outgoing, Running, TransportEvent, TransportFailure,
    TransportListener, http,
    oauth::{
        Browser, FileTokenStore, MemoryTokenStore, OauthClient, OauthSettings, OauthSignIn,
        TokenStore,
    },
    open_detecting, pipes, sse, websocket,
};
use docent_hub::{Dialer, LogThrottle, ServerSpec, ServerTransport, StderrTail, ThrottleDecision};
use docent_sandbox::{ConfinementMode, Launch, VariableOrigin, clean_environment};
use docent_supervisor::{SupervisedProcess, Supervisor};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time::timeout};

/// How long a program has to end by itself, and again after it was asked to.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// How long to wait for a program to exit and for its last stderr lines after its output has ended.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum length of a line of a program's standard error, in bytes.
const MAX_STDERR_LINE_BYTES: usize = 4096;

/// Reaches servers for the hub. The configuration may change while it is in use.
pub(crate) struct ServerDialer {
    now: RwLock<DialSettings>,
    means: HubResources,
    /// Opens sign-in pages for the user, if there is one.
    browser: Option<Arc<dyn Browser>>,
    /// Warnings about sandboxes that were logged, each only once.
    warned: Mutex<BTreeSet<String>>,
}

/// The configuration, and the paths that programs may change under it.
#[derive(Clone)]
struct DialSettings {
    config: Arc<Config>,
    places: Arc<[PathBuf]>,
}

impl DialSettings {
    fn new(config: Config, means: &HubResources) -> Self {
        let places = sandbox::changeable_paths(&config, &means.open.write).into();
        Self { config: Arc::new(config), places }
    }
}

impl ServerDialer {
    pub(crate) fn new(config: Config, means: HubResources) -> Self {
        let now = RwLock::new(DialSettings::new(config, &means));
        Self { now, means, browser: None, warned: Mutex::default() }
    }

    /// The same with a user at a terminal, who can sign in.
    pub(crate) fn with_browser(mut self, browser: Arc<dyn Browser>) -> Self {
        self.browser = Some(browser);
        self
    }

    pub(crate) fn set_config(&self, config: Config) {
        let next = DialSettings::new(config, &self.means);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    fn settings(&self) -> DialSettings {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        self.settings().config
    }

    /// Logs a warning the first time it occurs.
    fn warn_once(&self, odd: String) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if !warned.contains(&odd) {
            tracing::warn!("{odd}");
            warned.insert(odd);
        }
    }

    /// Returns the docent-specific fields of a server's entry.
    fn extension(config: &Config, name: &str) -> ServerExtension {
        let mut all = config.servers.iter();
        all.find(|entry| entry.server.name == name)
            .map(|entry| entry.extra.clone())
            .unwrap_or_default()
    }

    async fn start(
        &self,
        launch: Launch,
        spec: &ServerSpec,
        listener: Arc<dyn TransportListener>,
        stderr: Arc<StderrTail>,
    ) -> Result<Arc<dyn ClientTransport>, TransportFailure> {
        let keeper: &Supervisor = self.means.keeper.as_ref().ok_or_else(|| {
            TransportFailure::Unreachable(
                "cannot start programs: the process that starts them did not start with docent; restart docent"
                    .into(),
            )
        })?;
        let child = keeper
            .spawn(&launch)
            .await
            .map_err(|failed| TransportFailure::Unreachable(failed.to_string()))?;
        for warning in child.process.warnings() {
            // What the kernel lacks was logged for docent itself.
            if warning.starts_with("bubblewrap ") {
                self.warn_once(format!("sandbox of the server `{}`: {warning}", spec.name));
            } else {
                tracing::debug!(server = spec.name, "{warning}");
            }
        }
        let (name, pid) = (spec.name.clone(), child.process.pid());
        log_start(&name, pid, &launch);
        let reading = tokio::spawn(async move {
            let mut pace = LogThrottle::default();
            let each = |line: &[u8]| {
                let line = String::from_utf8_lossy(line);
                stderr.push(&line);
                log_stderr_line(&name, &line, pace.next(Instant::now()));
            };
            // It ends with the program.
            pipes::each_line(child.stderr, MAX_STDERR_LINE_BYTES, each).await.unwrap_or_default();
        });
        let bytes = self.config().limits.message_bytes;
        let process = Arc::new(child.process);
        let ending = ExitListener {
            listener,
            process: Arc::downgrade(&process),
            reading: Mutex::new(Some(reading)),
        };
        let pipes = pipes::open(child.stdout, child.stdin, bytes, Arc::new(ending));
        Ok(Arc::new(ProgramTransport { pipes, process }))
    }

    fn launch(
        &self,
        spec: &ServerSpec,
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        cwd: Option<&Path>,
    ) -> Launch {
        let DialSettings { config, places } = self.settings();
        let own = &self.means.environment;
        let inherited = own
            .names()
            .filter_map(|name| Some((OsString::from(name), OsString::from(own.get(name)?))));
        let configured = env.iter().map(|(name, value)| (name.into(), value.into()));
        let mut environment = clean_environment(inherited, configured);
        let depth = config::nesting_depth(own).saturating_add(1).to_string();
        environment.kept.insert(config::NESTING_VARIABLE.into(), depth.into());
        for dropped in
            environment.dropped.iter().filter(|one| one.origin == VariableOrigin::Configured)
        {
            tracing::warn!(
                server = spec.name,
                variable = dropped.name,
                "environment variable not passed on: {}",
                dropped.reason
            );
        }
        let (extra, open) = (Self::extension(&config, &spec.name), &self.means.open);
        let (confinement, mode) = sandbox::of_a_server(&config, &extra, cwd, open, &places);
        if mode != ConfinementMode::Off {
            for odd in sandbox::left_out_paths(&config, &spec.name, &extra, cwd, &confinement) {
                self.warn_once(odd);
            }
        }
        let mut launch = Launch::new(command, args, confinement, mode);
        launch.environment = environment;
        // Not the project: a program must not run files from there because it looks in its working directory.
        launch.cwd = cwd.map(Path::to_owned).or_else(|| self.means.open.home.clone());
        launch.bubblewrap = config.policy.sandbox.bubblewrap;
        launch
    }

    /// Returns the OAuth settings of a server, unless its entry has a token of its own.
    fn sign_in(
        &self,
        spec: &ServerSpec,
        url: &str,
    ) -> Result<Option<Arc<OauthSignIn>>, TransportFailure> {
        let ServerTransport::Remote { headers, .. } = &spec.transport else { return Ok(None) };
        if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            return Ok(None);
        }
        let config = self.config();
        let store: Arc<dyn TokenStore> = match tokens(&config) {
            Some(folder) => Arc::new(FileTokenStore::new(folder)),
            None => Arc::new(MemoryTokenStore::default()),
        };
        let mut settings = OauthSettings::new(&spec.name, url, store);
        let oauth = Self::extension(&config, &spec.name).oauth;
        if let Some(id) = oauth.client_id {
            let secret = oauth.client_secret.as_ref().map(SecretText::expose).map(str::to_owned);
            settings.client = OauthClient::Registered { id, secret };
        }
        settings.is_configured = config.servers.iter().any(|one| one.server.name == spec.name);
        settings.scopes = oauth.scopes;
        settings.redirect_port = oauth.redirect_port;
        settings.browser.clone_from(&self.browser);
        OauthSignIn::new(settings).map(|sign_in| Some(Arc::new(sign_in)))
    }

    /// Signs in to a server, whether or not it has asked for it yet.
    pub(crate) async fn login(&self, spec: &ServerSpec) -> Result<(), TransportFailure> {
        let ServerTransport::Remote { url, .. } = &spec.transport else {
            return Err(TransportFailure::Unreachable(
                "it is a program, and needs no sign-in".into(),
            ));
        };
        match self.sign_in(spec, url)? {
            Some(sign_in) => sign_in.login().await,
            None => Err(TransportFailure::Unreachable(
                "its entry has an Authorization header already".into(),
            )),
        }
    }

    async fn connect(
        &self,
        spec: &ServerSpec,
        listener: Arc<dyn TransportListener>,
    ) -> Result<Arc<dyn ClientTransport>, TransportFailure> {
        let ServerTransport::Remote { url, sse, headers } = &spec.transport else {
            return Err(TransportFailure::Unreachable("it has no address".into()));
        };
        let mut settings = HttpSettings::new(url);
        settings.headers =
            headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        settings.message_bytes = self.config().limits.message_bytes;
        settings.sign_in = self.sign_in(spec, url)?.map(|sign_in| sign_in as _);
        if url.starts_with("ws:") || url.starts_with("wss:") {
            return websocket::open(settings, listener).await;
        }
        match sse {
            Some(true) => sse::open(settings, listener).await,
            Some(false) => http::open(settings, listener).await,
            None => open_detecting(settings, listener).await,
        }
    }
}

impl Dialer for ServerDialer {
    fn dial<'a>(
        &'a self,
        spec: &'a ServerSpec,
        listener: Arc<dyn TransportListener>,
        stderr: Arc<StderrTail>,
    ) -> Running<'a, Result<Arc<dyn ClientTransport>, TransportFailure>> {
        Box::pin(async move {
            match &spec.transport {
                ServerTransport::Program { command, args, env, cwd } => {
                    let launch = self.launch(spec, command, args, env, cwd.as_deref());
                    self.start(launch, spec, listener, stderr).await
                }
                ServerTransport::Remote { .. } => self.connect(spec, listener).await,
            }
        })
    }
}

/// A program connected by pipes, which ends with its connection.
struct ProgramTransport {
    pipes: Arc<dyn ClientTransport>,
    process: Arc<SupervisedProcess>,
}

impl ClientTransport for ProgramTransport {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>> {
        self.pipes.send(outgoing)
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            self.pipes.close().await;
            let ended = self.process.end(EXIT_GRACE).await;
            tracing::debug!(?ended, "a server has ended");
        })
    }
}

/// Logs the start of a program, with the names of its variables only: values may be secrets.
fn log_start(server: &str, pid: u32, launch: &Launch) {
    let environment: Vec<_> = launch.environment.kept.keys().collect();
    tracing::info!(server, pid, program = %launch.program.display(), arguments = ?launch.args, ?environment, "started");
}

/// Logs a line of a program's standard error.
fn log_stderr_line(name: &str, line: &str, how: ThrottleDecision) {
    let line = docent_screen::one_line(line);
    if how == ThrottleDecision::Quiet {
        return tracing::debug!(target: "docent::servers", server = name, "{line}");
    }
    tracing::info!(target: "docent::servers", server = name, "{line}");
    if how == ThrottleDecision::LastNormal {
        let (most, seconds) = (LogThrottle::LINES_PER_WINDOW, LogThrottle::WINDOW.as_secs());
        tracing::info!(target: "docent::servers", server = name, "more than {most} lines in {seconds} s on its standard error: the rest is logged at debug");
    }
}

/// Waits for a program to exit before reporting the end of its output, so that the exit status is known.
struct ExitListener {
    listener: Arc<dyn TransportListener>,
    /// Weak: the program ends with its connection.
    process: Weak<SupervisedProcess>,
    reading: Mutex<Option<JoinHandle<()>>>,
}

impl TransportListener for ExitListener {
    fn event(&self, event: TransportEvent) {
        let TransportEvent::Closed(failure) = event else { return self.listener.event(event) };
        let (listener, process) = (Arc::clone(&self.listener), self.process.upgrade());
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take();
        tokio::spawn(async move {
            let ended = match &process {
                Some(process) => timeout(FINAL_OUTPUT_TIMEOUT, process.ended()).await.ok(),
                None => None,
            };
            drop(process);
            if let Some(reading) = reading {
                // Report its last stderr lines with the exit. A descendant may keep its standard error open.
                drop(timeout(FINAL_OUTPUT_TIMEOUT, reading).await);
            }
            let failure = ended.map_or(failure, |ended| TransportFailure::Lost(ended.to_string()));
            listener.event(TransportEvent::Closed(failure));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_sandbox::Confinement;
    use std::io::{self, Write};

    #[derive(Clone, Default)]
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_start_is_logged_with_the_names_of_its_variables() {
        let mut launch =
            Launch::new("prog", ["--flag"], Confinement::default(), ConfinementMode::Auto);
        let configured = [("PLAIN", "qwerty"), ("LD_PRELOAD", "evil.so")];
        let configured = configured.map(|(name, value)| (name.into(), value.into()));
        launch.environment = clean_environment([], configured);
        let written = CapturedLog::default();
        let writer = written.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || log_start("one", 7, &launch));
        let line = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(line.contains(r#"arguments=["--flag"] environment=["PLAIN"]"#), "{line}");
        assert!(!line.contains("qwerty") && !line.contains("LD_PRELOAD"), "{line}");
    }
}
