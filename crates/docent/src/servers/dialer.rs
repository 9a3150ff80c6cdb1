//! Starts servers and opens connections for the hub.

use super::{Means, tokens};
use crate::{
    config::{self, Config, Extra, Secret},
    sandbox,
};
use docent_dial::{
    Event, Failure, HttpSettings, Line, Listener, Outgoing, Running, http,
    oauth::{Browser, Client, FileStore, MemoryStore, OauthSettings, OauthSignIn, Store},
    open_detecting, pipes, sse, websocket,
};
use docent_hub::{Dialer, Pace, Spec, Tail, Told, Way};
use docent_keeper::{Keeper, Process};
use docent_sandbox::{Launch, Mode, Origin, clean_environment};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time::timeout};

/// How long a program has to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// How long to wait for a program to exit and for its last stderr lines after its output has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Maximum length of a line of a program's standard error, in bytes.
const LONGEST_LINE: usize = 4096;

/// Reaches servers for the hub. The configuration may change while it is in use.
pub(crate) struct Dial {
    now: RwLock<Now>,
    means: Means,
    /// Opens sign-in pages for the user, if there is one.
    browser: Option<Arc<dyn Browser>>,
    /// Warnings about sandboxes that were logged, each only once.
    told: Mutex<BTreeSet<String>>,
}

/// The configuration, and the paths that programs may change under it.
#[derive(Clone)]
struct Now {
    config: Arc<Config>,
    places: Arc<[PathBuf]>,
}

impl Now {
    fn new(config: Config, means: &Means) -> Self {
        let places = sandbox::changeable(&config, &means.open.write).into();
        Self { config: Arc::new(config), places }
    }
}

impl Dial {
    pub(crate) fn new(config: Config, means: Means) -> Self {
        let now = RwLock::new(Now::new(config, &means));
        Self { now, means, browser: None, told: Mutex::default() }
    }

    /// The same with a user at a terminal, who can sign in.
    pub(crate) fn with_browser(mut self, browser: Arc<dyn Browser>) -> Self {
        self.browser = Some(browser);
        self
    }

    pub(crate) fn renew(&self, config: Config) {
        let next = Now::new(config, &self.means);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    fn now(&self) -> Now {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        self.now().config
    }

    /// Logs a warning the first time it occurs.
    fn warn_once(&self, odd: String) {
        let mut warned = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !warned.contains(&odd) {
            tracing::warn!("{odd}");
            warned.insert(odd);
        }
    }

    /// Returns the docent-specific fields of a server's entry.
    fn extra(config: &Config, name: &str) -> Extra {
        let mut all = config.servers.iter();
        all.find(|entry| entry.server.name == name)
            .map(|entry| entry.extra.clone())
            .unwrap_or_default()
    }

    async fn start(
        &self,
        launch: Launch,
        spec: &Spec,
        listener: Arc<dyn Listener>,
        stderr: Arc<Tail>,
    ) -> Result<Arc<dyn Line>, Failure> {
        let keeper: &Keeper = self.means.keeper.as_ref().ok_or_else(|| {
            Failure::Unreachable(
                "cannot start programs: the process that starts them did not start with docent; restart docent"
                    .into(),
            )
        })?;
        let child = keeper
            .spawn(&launch)
            .await
            .map_err(|failed| Failure::Unreachable(failed.to_string()))?;
        for warning in child.process.warnings() {
            // What the kernel lacks was logged for docent itself.
            if warning.starts_with("bubblewrap ") {
                self.warn_once(format!("sandbox of the server `{}`: {warning}", spec.name));
            } else {
                tracing::debug!(server = spec.name, "{warning}");
            }
        }
        let (name, pid) = (spec.name.clone(), child.process.pid());
        tell_start(&name, pid, &launch);
        let reading = tokio::spawn(async move {
            let mut pace = Pace::default();
            let each = |line: &[u8]| {
                let line = String::from_utf8_lossy(line);
                stderr.push(&line);
                told(&name, &line, pace.next(Instant::now()));
            };
            // It ends with the program.
            pipes::each_line(child.stderr, LONGEST_LINE, each).await.unwrap_or_default();
        });
        let bytes = self.config().limits.message_bytes;
        let process = Arc::new(child.process);
        let ending = Ending {
            listener,
            process: Arc::downgrade(&process),
            reading: Mutex::new(Some(reading)),
        };
        let pipes = pipes::open(child.stdout, child.stdin, bytes, Arc::new(ending));
        Ok(Arc::new(Program { pipes, process }))
    }

    fn launch(
        &self,
        spec: &Spec,
        (command, args): (&str, &[String]),
        env: &BTreeMap<String, String>,
        cwd: Option<&Path>,
    ) -> Launch {
        let Now { config, places } = self.now();
        let own = &self.means.environment;
        let inherited = own
            .names()
            .filter_map(|name| Some((OsString::from(name), OsString::from(own.get(name)?))));
        let configured = env.iter().map(|(name, value)| (name.into(), value.into()));
        let mut environment = clean_environment(inherited, configured);
        let depth = config::depth(own).saturating_add(1).to_string();
        environment.kept.insert(config::WITHIN.into(), depth.into());
        for dropped in environment.dropped.iter().filter(|one| one.origin == Origin::Configured) {
            tracing::warn!(
                server = spec.name,
                variable = dropped.name,
                "environment variable not passed on: {}",
                dropped.reason
            );
        }
        let (extra, open) = (Self::extra(&config, &spec.name), &self.means.open);
        let (confinement, mode) = sandbox::of_a_server(&config, &extra, cwd, open, &places);
        if mode != Mode::Off {
            for odd in sandbox::left_out(&config, &spec.name, &extra, cwd, &confinement) {
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
    fn sign_in(&self, spec: &Spec, url: &str) -> Result<Option<Arc<OauthSignIn>>, Failure> {
        let Way::Remote { headers, .. } = &spec.way else { return Ok(None) };
        if headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            return Ok(None);
        }
        let config = self.config();
        let store: Arc<dyn Store> = match tokens(&config) {
            Some(folder) => Arc::new(FileStore::new(folder)),
            None => Arc::new(MemoryStore::default()),
        };
        let mut settings = OauthSettings::new(&spec.name, url, store);
        let oauth = Self::extra(&config, &spec.name).oauth;
        if let Some(id) = oauth.client_id {
            let secret = oauth.client_secret.as_ref().map(Secret::expose).map(str::to_owned);
            settings.client = Client::Registered { id, secret };
        }
        settings.is_configured = config.servers.iter().any(|one| one.server.name == spec.name);
        settings.scopes = oauth.scopes;
        settings.redirect_port = oauth.redirect_port;
        settings.browser.clone_from(&self.browser);
        OauthSignIn::new(settings).map(|sign_in| Some(Arc::new(sign_in)))
    }

    /// Signs in to a server, whether or not it has asked for it yet.
    pub(crate) async fn login(&self, spec: &Spec) -> Result<(), Failure> {
        let Way::Remote { url, .. } = &spec.way else {
            return Err(Failure::Unreachable("it is a program, and needs no sign-in".into()));
        };
        match self.sign_in(spec, url)? {
            Some(sign_in) => sign_in.login().await,
            None => {
                Err(Failure::Unreachable("its entry has an Authorization header already".into()))
            }
        }
    }

    async fn connect(
        &self,
        spec: &Spec,
        listener: Arc<dyn Listener>,
    ) -> Result<Arc<dyn Line>, Failure> {
        let Way::Remote { url, sse, headers } = &spec.way else {
            return Err(Failure::Unreachable("it has no address".into()));
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

impl Dialer for Dial {
    fn dial<'a>(
        &'a self,
        spec: &'a Spec,
        listener: Arc<dyn Listener>,
        stderr: Arc<Tail>,
    ) -> Running<'a, Result<Arc<dyn Line>, Failure>> {
        Box::pin(async move {
            match &spec.way {
                Way::Program { command, args, env, cwd } => {
                    let launch = self.launch(spec, (command, args), env, cwd.as_deref());
                    self.start(launch, spec, listener, stderr).await
                }
                Way::Remote { .. } => self.connect(spec, listener).await,
            }
        })
    }
}

/// A program connected by pipes, which ends with its connection.
struct Program {
    pipes: Arc<dyn Line>,
    process: Arc<Process>,
}

impl Line for Program {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), Failure>> {
        self.pipes.send(outgoing)
    }

    fn close(&self) -> Running<'_, ()> {
        Box::pin(async move {
            self.pipes.close().await;
            let ended = self.process.end(GRACE).await;
            tracing::debug!(?ended, "a server has ended");
        })
    }
}

/// Logs the start of a program, with the names of its variables only: values may be secrets.
fn tell_start(server: &str, pid: u32, launch: &Launch) {
    let environment: Vec<_> = launch.environment.kept.keys().collect();
    tracing::info!(server, pid, program = %launch.program.display(), arguments = ?launch.args, ?environment, "started");
}

/// Logs a line of a program's standard error.
fn told(name: &str, line: &str, how: Told) {
    let line = docent_screen::one_line(line);
    if how == Told::Quietly {
        return tracing::debug!(target: "docent::servers", server = name, "{line}");
    }
    tracing::info!(target: "docent::servers", server = name, "{line}");
    if how == Told::Last {
        let (most, seconds) = (Pace::MOST, Pace::WHILE.as_secs());
        tracing::info!(target: "docent::servers", server = name, "more than {most} lines in {seconds} s on its standard error: the rest is logged at debug");
    }
}

/// Waits for a program to exit before reporting the end of its output, so that the exit status is known.
struct Ending {
    listener: Arc<dyn Listener>,
    /// Weak: the program ends with its connection.
    process: Weak<Process>,
    reading: Mutex<Option<JoinHandle<()>>>,
}

impl Listener for Ending {
    fn event(&self, event: Event) {
        let Event::Closed(failure) = event else { return self.listener.event(event) };
        let (listener, process) = (Arc::clone(&self.listener), self.process.upgrade());
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take();
        tokio::spawn(async move {
            let ended = match &process {
                Some(process) => timeout(LAST_WORDS, process.ended()).await.ok(),
                None => None,
            };
            drop(process);
            if let Some(reading) = reading {
                // Report its last stderr lines with the exit. A descendant may keep its standard error open.
                drop(timeout(LAST_WORDS, reading).await);
            }
            let failure = ended.map_or(failure, |ended| Failure::Lost(ended.to_string()));
            listener.event(Event::Closed(failure));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_sandbox::Confinement;
    use std::io::{self, Write};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_start_is_logged_with_the_names_of_its_variables() {
        let mut launch = Launch::new("prog", ["--flag"], Confinement::default(), Mode::Auto);
        let configured = [("PLAIN", "qwerty"), ("LD_PRELOAD", "evil.so")];
        let configured = configured.map(|(name, value)| (name.into(), value.into()));
        launch.environment = clean_environment([], configured);
        let written = Written::default();
        let writer = written.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || tell_start("one", 7, &launch));
        let line = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert!(line.contains(r#"arguments=["--flag"] environment=["PLAIN"]"#), "{line}");
        assert!(!line.contains("qwerty") && !line.contains("LD_PRELOAD"), "{line}");
    }
}
