//! Builds the sandboxes of docent while it serves, and of the programs that it starts.

mod exposure;
mod guarded;

pub(crate) use exposure::{exposed_files, writers};
pub(crate) use guarded::{GuardedAccess, scan};

use crate::{
    config::{
        Config, SandboxLevel, SandboxMode, SandboxSetting, ServerExtension, TEMPORARY_FOLDERS,
        TransportKind, is_fixed, resolve_links, resolve_links_until,
    },
    serve,
    state::StateDir,
};
use docent_files::{FileAccess, ManagedFolder};
use docent_net::Url;
use docent_sandbox::{
    Confinement, ConfinementMode, PortSet, ResourceLimits, SandboxError, SandboxReport, SkippedPath,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Maximum number of open files and connections of a server, unless the system's limit is lower.
const MAX_OPEN_FILES: u64 = 65_536;

/// The port of DNS.
const DNS_PORT: u16 = 53;

pub(crate) fn mode(config: &Config) -> ConfinementMode {
    match config.policy.sandbox.mode {
        SandboxMode::Off => ConfinementMode::Off,
        SandboxMode::Auto => ConfinementMode::Auto,
        SandboxMode::Strict => ConfinementMode::Strict,
    }
}

/// Applies the sandbox to this process, before it has a second thread.
pub(crate) fn enter(config: &Config) -> Result<SandboxReport, SandboxError> {
    // Paths must exist to be opened. A failure to create one is reported by the code that writes to it.
    for file in [&config.audit.file, &config.server.logging.file].into_iter().flatten() {
        let folder = ManagedFolder::resolve(file.parent().unwrap_or(Path::new(".")));
        let name = file.file_name().unwrap_or_default();
        let created = folder
            .make(FileAccess::Private)
            .and_then(|()| folder.create(name, FileAccess::Private));
        created.map(drop).unwrap_or_default();
    }
    // Permissions can't be changed inside the sandbox. Those of an existing log file are kept; the audit log is made
    // private.
    #[cfg(unix)]
    audit_file(config).map(|file| make_private(&file)).unwrap_or_default();
    // Users without settings may create them while docent runs.
    for folder in config.cache_dir.iter().chain(config.config_folders.first()) {
        ManagedFolder::resolve(folder).make(FileAccess::Private).unwrap_or_default();
    }
    docent_sandbox::confine(&own_confinement(config), mode(config))
}

/// Returns the path of the audit log.
fn audit_file(config: &Config) -> Option<PathBuf> {
    let in_state = || Some(StateDir::open(config).ok()?.audit_file(config));
    config.audit.file.clone().or_else(in_state)
}

/// Makes a file private. Failures are reported by the code that writes to it.
#[cfg(unix)]
fn make_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let folder = ManagedFolder::from(file.parent().unwrap_or(Path::new(".")));
    // The target of a link is not docent's.
    let Ok(file) = folder.read(file.file_name().unwrap_or_default()) else { return };
    if file.metadata().is_ok_and(|there| there.permissions().mode() & 0o177 != 0) {
        let private = fs::Permissions::from_mode(0o600);
        file.as_file().set_permissions(private).unwrap_or_default();
    }
}

/// Logs the active controls, and requested ones that are not active.
pub(crate) fn log_sandbox(in_force: &SandboxReport) {
    for control in in_force.missing() {
        tracing::warn!("{} is not active: {}", control.name, control.detail);
    }
    for skipped in &in_force.skipped {
        tracing::debug!(path = %skipped.path.display(), "not opened in the sandbox: {}", skipped.reason);
    }
    tracing::debug!(mode = %in_force.mode, "entered the sandbox");
}

/// Returns docent's own sandbox: reads roots and collections, writes its state, uses the configured ports.
pub(crate) fn own_confinement(config: &Config) -> Confinement {
    let sandbox = &config.policy.sandbox;
    let write = sandbox.write.iter().cloned().chain(write_paths(config));
    let ours = config.collections.values().filter(|collection| !collection.of_a_project);
    let files = ours.filter_map(|collection| collection.path.as_ref());
    let files = files.chain(&config.secret_files).chain(config.files());
    let mut read: Vec<PathBuf> = sandbox.read.clone();
    read.extend(config.config_folders.iter().filter(|folder| is_openable(folder, config)).cloned());
    read.extend(files.flat_map(|path| openable(path, config)));
    // The resolver's files, which /etc may link to.
    read.extend(["/run/systemd/resolve".into(), "/run/resolvconf".into()]);
    let listens = config.server.transports.iter().any(|way| *way != TransportKind::Stdio);
    let bind = if listens { PortSet::Some(vec![config.server.port]) } else { PortSet::None };
    let ports = ports(config);
    Confinement::for_child(&config.roots)
        .spawn(false)
        .read(read)
        .write(write)
        .bind(bind)
        .udp(!ports.is_empty())
        .connect(if ports.is_empty() { PortSet::None } else { PortSet::Some(ports) })
        .limits(ResourceLimits { open_files: MAX_OPEN_FILES })
}

/// Describes paths that another configuration would have opened; `None` if all are open.
pub(crate) fn not_opened_warning(start: &Config, next: &Config) -> Option<String> {
    if mode(start) == ConfinementMode::Off {
        return None;
    }
    let (ours, wanted) = (own_confinement(start), own_confinement(next));
    let open = |path: &Path, among: &[&[PathBuf]]| {
        among.iter().any(|paths| paths.iter().any(|open| path.starts_with(open)))
    };
    let read =
        wanted.read.iter().filter(|path| !open(path, &[&ours.read, &ours.write, &ours.execute]));
    let write = wanted.write.iter().filter(|path| !open(path, &[&ours.write]));
    let mut closed: Vec<String> =
        read.chain(write).map(|path| path.display().to_string()).collect();
    if let PortSet::Some(ports) = &wanted.connect {
        let is_open =
            |port: &u16| matches!(&ours.connect, PortSet::Some(open) if open.contains(port));
        closed
            .extend(ports.iter().filter(|port| !is_open(port)).map(|port| format!("port {port}")));
    }
    closed.dedup();
    (!closed.is_empty()).then(|| {
        format!(
            "the sandbox can't be extended while docent runs: restart docent to open {}",
            closed.join(", ")
        )
    })
}

/// Whether a whole folder may be opened for one file in it.
fn is_openable(folder: &Path, config: &Config) -> bool {
    let holds = |secret: &PathBuf| secret.starts_with(folder);
    // The user's own settings are in a folder that counts as secret itself.
    let is_own = config.config_folders.first().is_some_and(|own| own == folder);
    folder.parent().is_some() && (is_own || !config.secret_places.iter().any(holds))
}

/// Returns a path, and its folder if that has no secrets: replacing a file creates a new one, which only a rule for the
/// folder covers.
fn openable(path: &Path, config: &Config) -> Vec<PathBuf> {
    let folder = path.parent().filter(|_| !path.is_dir());
    let folder = folder.filter(|folder| is_openable(folder, config)).map(Path::to_owned);
    std::iter::once(path.to_owned()).chain(folder).collect()
}

/// Returns the paths that docent writes to: state, fetched pages, the audit log, the log file.
fn write_paths(config: &Config) -> Vec<PathBuf> {
    let state = match StateDir::open(config) {
        Ok(state) => Some(state.path().to_owned()),
        // Calls are recorded there as soon as possible.
        Err(error) => serve::expected_audit_file(&error).parent().map(Path::to_owned),
    };
    let files = [&config.audit.file, &config.server.logging.file].into_iter().flatten();
    let files = files.flat_map(|file| openable(file, config));
    state.into_iter().chain(config.cache_dir.clone()).chain(files).collect()
}

/// Returns the sandbox of another program: reads the roots, uses the network ports in the policy.
pub(crate) fn program_confinement(config: &Config) -> Confinement {
    program(config, &changeable_paths(config, &[]))
}

fn program(config: &Config, places: &[PathBuf]) -> Confinement {
    let sandbox = &config.policy.sandbox;
    let ports = config.policy.network.ports();
    Confinement::for_child(&config.roots)
        .read(resolve_all(&sandbox.read, places))
        .write(resolve_all(&sandbox.write, places))
        .changeable(places)
        .udp(!ports.is_empty())
        .connect(if ports.is_empty() { PortSet::None } else { PortSet::Some(ports) })
}

fn resolve_all(paths: &[PathBuf], places: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| resolve_links_until(path, places)).collect()
}

/// Returns paths whose contents programs may change: anything in them may be a link at the next start. The contents of
/// a root may also be untrusted.
pub(crate) fn changeable_paths(config: &Config, caches: &[PathBuf]) -> Vec<PathBuf> {
    let mut named = config.policy.sandbox.write.clone();
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    for entry in used {
        if let docent_registry::EntryTransport::Program { cwd, .. } = &entry.server.way {
            named.extend(server_write_paths(config, &entry.extra, cwd.as_deref().map(Path::new)));
        }
    }
    // A path may lead through the paths that contain it, so those come first.
    named.sort();
    named.dedup();
    let mut places: Vec<PathBuf> = TEMPORARY_FOLDERS
        .iter()
        .map(|place| resolve_links(Path::new(place)))
        .chain(named.iter().cloned())
        .collect();
    places.extend_from_slice(caches);
    places.extend_from_slice(&config.roots);
    for place in &named {
        let place = resolve_links_until(place, &places);
        places.push(place);
    }
    places
}

/// Returns these paths plus those that one server may write to.
fn with_server_writes(places: &[PathBuf], own: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = places.to_vec();
    for place in own.iter().filter(|place| !places.contains(place)) {
        let reached = resolve_links_until(place, &all);
        all.extend([place.clone(), reached]);
    }
    all
}

/// Returns the paths that one server may write to by its entry: its own paths, and its working folder.
pub(crate) fn server_write_paths(
    config: &Config,
    extra: &ServerExtension,
    cwd: Option<&Path>,
) -> Vec<PathBuf> {
    let write = match &extra.sandbox {
        SandboxSetting::Unsaid | SandboxSetting::Word(_) => [].as_slice(),
        SandboxSetting::More { write, .. } => write.as_slice(),
    };
    let cwd = start_folder_access(config, extra, cwd).map(Path::to_owned);
    write.iter().cloned().chain(cwd).collect()
}

/// Returns a server's working folder, if its entry may open it. An entry from a registry sets the folder without
/// opening it.
fn start_folder_access<'a>(
    config: &Config,
    extra: &ServerExtension,
    cwd: Option<&'a Path>,
) -> Option<&'a Path> {
    cwd.filter(|_| level(config, extra) == SandboxLevel::Guarded && !extra.of_a_registry)
}

/// Describes paths in a server's sandbox settings that can't be opened to it.
pub(crate) fn left_out_paths(
    config: &Config,
    name: &str,
    extra: &ServerExtension,
    cwd: Option<&Path>,
    confined: &Confinement,
) -> Vec<String> {
    let of_all = &config.policy.sandbox;
    let (read, write) = match &extra.sandbox {
        SandboxSetting::Unsaid | SandboxSetting::Word(_) => ([].as_slice(), [].as_slice()),
        SandboxSetting::More { read, write, .. } => (read.as_slice(), write.as_slice()),
    };
    let start = start_folder_access(config, extra, cwd).map(Path::to_owned);
    let keys = [
        ("policy.sandbox.read".to_owned(), of_all.read.as_slice()),
        ("policy.sandbox.write".to_owned(), of_all.write.as_slice()),
        (format!("mcp_servers.{name}.sandbox.read"), read),
        (format!("mcp_servers.{name}.sandbox.write"), write),
        (format!("mcp_servers.{name}.cwd"), start.as_slice()),
    ];
    let mut warnings = Vec::new();
    for (key, paths) in keys.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        let places = &confined.changeable;
        let asked = Confinement::default().read(resolve_all(paths, places)).changeable(places);
        for SkippedPath { path, reason } in docent_sandbox::skipped(&asked) {
            let path = path.display();
            warnings.push(format!(
                "`{key}` cannot open {path} to servers: {reason}; once fixed, it applies from a server's next start"
            ));
        }
    }
    warnings
}

/// Returns the sandbox level of a server from its entry, or else from the policy.
pub(crate) fn level(config: &Config, extra: &ServerExtension) -> SandboxLevel {
    let usual = match config.policy.sandbox.mode {
        SandboxMode::Strict => SandboxLevel::Strict,
        _ => SandboxLevel::Guarded,
    };
    match &extra.sandbox {
        SandboxSetting::Unsaid => usual,
        // A registry's network setting does not affect the level.
        SandboxSetting::More { level: SandboxLevel::Guarded, .. } if extra.of_a_registry => usual,
        SandboxSetting::Word(level) | SandboxSetting::More { level, .. } => *level,
    }
}

/// Returns the sandbox and mode of another MCP server. A guarded one reads everything but credentials, writes where
/// servers usually write, and uses the network, so that it works but can't reach secrets. `places` are the paths that
/// programs may change.
pub(crate) fn of_a_server(
    config: &Config,
    extra: &ServerExtension,
    cwd: Option<&Path>,
    open: &GuardedAccess,
    places: &[PathBuf],
) -> (Confinement, ConfinementMode) {
    let level = level(config, extra);
    let (read, network) = match &extra.sandbox {
        SandboxSetting::Unsaid | SandboxSetting::Word(_) => ([].as_slice(), None),
        SandboxSetting::More { read, network, .. } => (read.as_slice(), *network),
    };
    let mode = if level == SandboxLevel::Off { ConfinementMode::Off } else { mode(config) };
    let write = server_write_paths(config, extra, cwd);
    let places = with_server_writes(places, &write);
    let fixed = |names: &[PathBuf]| -> Vec<PathBuf> {
        names.iter().filter(|name| is_fixed(name, &places)).cloned().collect()
    };
    // A readable path may contain the interpreter that runs the server.
    let own = program(config, &places)
        .execute(resolve_all(read, &places))
        .write(resolve_all(&write, &places));
    let confined = match level {
        SandboxLevel::Off | SandboxLevel::Strict => own,
        SandboxLevel::Guarded => own
            .attributes(true)
            .execute(open.paths.clone())
            .execute(fixed(&open.names))
            .execute(resolve_all(&config.policy.sandbox.read, &places))
            .write(config.roots.clone())
            .write(TEMPORARY_FOLDERS)
            .write(open.write.clone())
            .write(fixed(&open.write_names))
            .connect(PortSet::Any)
            .bind(PortSet::Any)
            .udp(true),
    };
    let confined = match network {
        Some(false) => confined.connect(PortSet::None).bind(PortSet::None).udp(false),
        Some(true) => confined.connect(PortSet::Any).bind(PortSet::Any).udp(true),
        None => confined,
    };
    (confined, mode)
}

/// Returns the ports of servers on the network, and of their sign-in servers.
fn server_ports(config: &Config) -> Vec<u16> {
    let mut ports = Vec::new();
    for entry in config.servers.iter().filter(|entry| !entry.of_a_project) {
        if let docent_registry::EntryTransport::Remote { url, .. } = &entry.server.way {
            ports.extend(Url::parse(url).ok().and_then(|url| url.port_or_known_default()));
            ports.push(443);
        }
    }
    ports
}

/// Returns the ports that docent itself connects to.
fn ports(config: &Config) -> Vec<u16> {
    let mut ports = config.policy.network.ports();
    ports.extend(server_ports(config));
    let embedding = config.embedding.as_ref().map(|model| model.url.as_str());
    let collector = config.telemetry.otlp_endpoint.as_deref();
    let issuers = config.server.oauth.iter().flat_map(|oauth| &oauth.issuers);
    let issuers =
        issuers.flat_map(|issuer| [Some(issuer.issuer.as_str()), issuer.jwks_uri.as_deref()]);
    let addresses = issuers.chain([embedding, collector]).flatten();
    ports.extend(addresses.filter_map(|text| Url::parse(text).ok()?.port_or_known_default()));
    if !ports.is_empty() {
        // DNS responses too large for a datagram.
        ports.push(DNS_PORT);
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFlags, ConfigInputs};
    use docent_testenv::{folder_outside_temporary, or_skip};

    /// A user with folders, files and links, and what a guarded server of theirs may touch.
    struct SandboxFixture {
        place: tempfile::TempDir,
        environment: Vec<(&'static str, String)>,
        config_file: Option<PathBuf>,
        search: String,
    }

    impl SandboxFixture {
        /// Files are named from the home on.
        fn new(files: &[&str]) -> Self {
            let place = tempfile::tempdir().unwrap();
            let search = "/usr/bin".to_owned();
            let world = Self { place, environment: Vec::new(), config_file: None, search };
            for file in ["work/a"].iter().chain(files) {
                let file = world.at(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "text").unwrap();
            }
            world
        }

        fn at(&self, path: &str) -> PathBuf {
            self.place.path().join("home").join(path)
        }

        fn config(&self, home: &Path) -> Config {
            let config = Config::load(&ConfigInputs {
                environment: self.environment.iter().cloned().collect(),
                home: Some(home.to_owned()),
                working_dir: self.at("work"),
                flags: ConfigFlags {
                    config_file: self.config_file.clone(),
                    ..ConfigFlags::default()
                },
            });
            config.unwrap_or_else(|error| panic!("{error}"))
        }

        /// Whether one of the rules would open a file. All of this lies in a temporary folder, which is open as a
        /// whole.
        fn opened(&self, home: &Path) -> impl Fn(&str) -> bool + use<> {
            let config = self.config(home);
            let open = scan(&config, &self.search);
            let places = changeable_paths(&config, &open.write);
            let (confined, _) =
                of_a_server(&config, &ServerExtension::default(), None, &open, &places);
            let Confinement { read, write, execute, .. } = confined;
            let paths = [read, write, execute].concat().into_iter();
            let is_above = |path: &PathBuf| {
                TEMPORARY_FOLDERS.iter().any(|place| Path::new(place).starts_with(path))
            };
            let paths = paths.filter(|path| path.parent().is_none() || !is_above(path));
            let paths: Vec<PathBuf> = paths.filter_map(|path| path.canonicalize().ok()).collect();
            let at = self.at("");
            move |file: &str| {
                let file = at.join(file).canonicalize().unwrap();
                paths.iter().any(|path| file.starts_with(path))
            }
        }

        #[track_caller]
        fn check(&self, closed: &[&str], open: &[&str]) {
            let opened = self.opened(&self.at(""));
            for (file, expected) in
                closed.iter().map(|file| (file, false)).chain(open.iter().map(|file| (file, true)))
            {
                assert_eq!(opened(file), expected, "{file}");
            }
        }
    }

    #[test]
    fn a_guarded_server_reads_no_credentials() {
        let secrets = [
            ".ssh/id_rsa",
            ".cache/docent/tokens/a",
            ".cache/docent/servers/a",
            ".config/gh/hosts.yml",
            ".claude/x",
        ];
        let others = ["work/a", ".pyenv/shims/python3", "bin/x", "notes"];
        let mut world = SandboxFixture::new(&[secrets.as_slice(), others.as_slice()].concat());
        let home = world.at("").display().to_string();
        world.search = format!("{home}/.pyenv/shims:{home}/bin:/usr/bin");
        world.check(&secrets, &others);
        world.search = format!("{home}/.pyenv/shims:{home}:{home}/.ssh:/");
        world.check(&secrets, &others);
        let opened = world.opened(&world.at(""));
        assert!(opened("/usr") && !(Path::new("/root").is_dir() && opened("/root")));
    }

    #[test]
    fn a_guarded_server_reads_none_of_docent_s_own_secrets() {
        let mut world = SandboxFixture::new(&[
            "own/docent.toml",
            "own/keys/token",
            "own/keys/audit",
            "own/keys/tls.key",
            "own/keys/tls.pem",
            "own/other",
        ]);
        let settings = "server.auth.keys = [{ name = \"a\", token_file = \"keys/token\", scopes = [\"*\"] }]\n\
                        server.tls = { certificate = \"keys/tls.pem\", key = \"keys/tls.key\" }\n\
                        audit.key_file = \"keys/audit\"\n";
        fs::write(world.at("own/docent.toml"), settings).unwrap();
        world.config_file = Some(world.at("own/docent.toml"));
        world.check(
            &["own/docent.toml", "own/keys/token", "own/keys/audit", "own/keys/tls.key"],
            &["own/keys/tls.pem", "own/other", "work/a"],
        );
    }

    #[test]
    fn a_guarded_server_reads_no_credentials_that_are_kept_elsewhere() {
        let mut world = SandboxFixture::new(&[
            "data/cache/docent/tokens/a",
            "data/cache/docent/servers/a",
            "data/cache/other",
            "data/settings/docent/x",
            "data/settings/other",
        ]);
        let folder = |name: &str| world.at(name).display().to_string();
        world.environment = vec![
            ("XDG_CACHE_HOME", folder("data/cache")),
            ("XDG_CONFIG_HOME", folder("data/settings")),
        ];
        world.check(
            &[
                "data/cache/docent/tokens/a",
                "data/cache/docent/servers/a",
                "data/settings/docent/x",
            ],
            &["data/cache/other", "data/settings/other"],
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_guarded_server_reads_no_credentials_behind_links() {
        use std::os::unix::fs::symlink;
        let world = SandboxFixture::new(&[
            ".mozilla/x",
            ".config/gh/x",
            "dotfiles/ssh/id_rsa",
            "dotfiles/hosts",
            "dotfiles/readme",
        ]);
        symlink("dotfiles/ssh", world.at(".ssh")).unwrap();
        symlink("../../dotfiles/hosts", world.at(".config/gh/hosts.yml")).unwrap();
        symlink(".mozilla", world.at("shown")).unwrap();
        let secrets = ["dotfiles/ssh/id_rsa", "dotfiles/hosts", ".mozilla/x", "shown/x"];
        world.check(&secrets, &["dotfiles/readme", "work/a"]);
        // The same home under another name.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(elsewhere.path().join("homes")).unwrap();
        let named = elsewhere.path().join("homes/u");
        symlink(world.at(""), &named).unwrap();
        let opened = world.opened(&named);
        for secret in secrets {
            assert!(!opened(secret), "{secret}");
        }
        assert!(opened("dotfiles/readme"));
    }

    #[test]
    #[cfg(unix)]
    fn what_every_program_has_is_not_taken_apart() {
        let world = SandboxFixture::new(&[".token"]);
        std::os::unix::fs::symlink("/usr/share", world.at(".shared")).unwrap();
        let open = scan(&world.config(&world.at("")), "");
        for place in ["/usr", "/tmp"].map(|place| resolve_links(Path::new(place))) {
            assert!(open.paths.iter().any(|path| place.starts_with(path)), "{place:?}");
        }
    }

    #[test]
    fn tests_know_which_folders_are_temporary() {
        assert_eq!(docent_testenv::TEMPORARY_FOLDERS, TEMPORARY_FOLDERS);
    }

    #[test]
    #[cfg(unix)]
    fn a_home_behind_a_link_is_open_by_its_name_as_well() {
        use std::os::unix::fs::symlink;
        let place = or_skip!(folder_outside_temporary());
        let at = place.path();
        for folder in ["homes/u/.npm", "homes/u/notes", "homes/u/.ssh", "nvm", "root"] {
            fs::create_dir_all(at.join(folder)).unwrap();
        }
        symlink("homes", at.join("named")).unwrap();
        symlink(at.join("nvm"), at.join("homes/u/.nvm")).unwrap();
        let mut config = Config::load(&ConfigInputs {
            home: Some(at.join("named/u")),
            working_dir: at.join("root"),
            ..ConfigInputs::default()
        })
        .unwrap_or_else(|error| panic!("{error}"));
        let open = scan(&config, "");
        let opened = |config: &Config| {
            let places = changeable_paths(config, &open.write);
            of_a_server(config, &ServerExtension::default(), None, &open, &places).0
        };
        let confined = opened(&config);
        for path in ["named/u/.nvm", "nvm", "named/u/notes", "homes/u/notes"] {
            assert!(confined.execute.contains(&at.join(path)), "{path}: {:?}", confined.execute);
        }
        for path in ["named/u/.npm", "homes/u/.npm"] {
            assert!(confined.write.contains(&at.join(path)), "{path}: {:?}", confined.write);
        }
        assert!(!confined.execute.iter().any(|path| path.ends_with(".ssh")));
        // A server that can change a component of the path could choose the target.
        config.policy.sandbox.write = vec![at.join("homes")];
        let confined = opened(&config);
        let paths = [confined.execute, confined.write].concat();
        assert!(!paths.iter().any(|path| path.starts_with(at.join("named"))), "{paths:?}");
    }

    #[test]
    #[cfg(unix)]
    fn no_rule_is_opened_by_a_link_that_servers_may_change() {
        let place = or_skip!(folder_outside_temporary());
        let at = place.path();
        for folder in ["root/sub", "kept", "data"] {
            fs::create_dir_all(at.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(at.join("root/sub/x"), at.join("kept/way")).unwrap();
        let text = format!(
            "[mcp_servers.writer]\ncommand = \"x\"\nsandbox = {{ write = [{:?}] }}\n\
             [mcp_servers.gone]\ncommand = \"x\"\ndisabled = true\nsandbox = {{ write = [{:?}] }}\n",
            at.join("data"),
            at.join("kept")
        );
        let file = at.join("own.toml");
        fs::write(&file, text).unwrap();
        let config = Config::load(&ConfigInputs {
            working_dir: at.join("root"),
            flags: ConfigFlags { config_file: Some(file), ..ConfigFlags::default() },
            ..ConfigInputs::default()
        });
        let mut config = config.unwrap_or_else(|error| panic!("{error}"));
        config.policy.sandbox.read = vec![at.join("kept/way"), at.join("data/inner")];
        let (extra, start) = (ServerExtension::default(), at.join("root/sub"));
        let places = changeable_paths(&config, &[]);
        let (confined, _) =
            of_a_server(&config, &extra, Some(&start), &GuardedAccess::default(), &places);
        // Paths that another server may write to count as well, unless that server is disabled.
        for place in
            [at.join("root"), at.join("data"), start.clone(), resolve_links(Path::new("/tmp"))]
        {
            assert!(confined.changeable.contains(&place), "{place:?}: {:?}", confined.changeable);
        }
        assert!(!confined.changeable.contains(&at.join("kept")));
        // The way is known up to where it can be changed, and goes no further.
        for path in [at.join("root/sub/x"), at.join("data/inner")] {
            assert!(confined.read.contains(&path), "{path:?}: {:?}", confined.read);
        }
        assert!(!confined.read.contains(&at.join("kept/way")));
        let warnings = left_out_paths(&config, "a", &extra, Some(&start), &confined).join("\n");
        assert!(warnings.contains("`policy.sandbox.read` cannot open "), "{warnings}");
    }

    #[test]
    fn a_registry_opens_nothing() {
        let place = tempfile::tempdir().unwrap();
        let inputs =
            ConfigInputs { working_dir: place.path().to_owned(), ..ConfigInputs::default() };
        let mut config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        let home = resolve_links(Path::new("/home/someone"));
        let network = SandboxSetting::More {
            level: SandboxLevel::Guarded,
            read: Vec::new(),
            write: Vec::new(),
            network: Some(false),
        };
        let writes = |config: &Config, of_a_registry, sandbox: &SandboxSetting| {
            let extra = ServerExtension {
                of_a_registry,
                sandbox: sandbox.clone(),
                ..ServerExtension::default()
            };
            let places = changeable_paths(config, &[]);
            let confined =
                of_a_server(config, &extra, Some(&home), &GuardedAccess::default(), &places).0;
            (confined.write.contains(&home), level(config, &extra))
        };
        assert_eq!(writes(&config, false, &SandboxSetting::Unsaid), (true, SandboxLevel::Guarded));
        assert_eq!(writes(&config, true, &SandboxSetting::Unsaid), (false, SandboxLevel::Guarded));
        assert_eq!(writes(&config, true, &network), (false, SandboxLevel::Guarded));
        config.policy.sandbox.mode = SandboxMode::Strict;
        assert_eq!(writes(&config, true, &network), (false, SandboxLevel::Strict));
        assert_eq!(writes(&config, false, &network), (true, SandboxLevel::Guarded));
    }

    #[test]
    fn no_folder_of_secrets_is_opened_for_a_file_in_it() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        for folder in [".ssh", "project", "logs", ".config/docent"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        fs::write(home.path().join(".ssh/id_rsa"), "key").unwrap();
        let settings = "audit.file = \"audit.jsonl\"\nserver.logging.file = \"logs/docent.log\"\n\
                        policy.network.hosts = [\"example.org:8443\"]\n";
        let file = home.path().join("docent.toml");
        fs::write(&file, settings).unwrap();
        let config = Config::load(&ConfigInputs {
            home: Some(home.path().to_owned()),
            working_dir: root.clone(),
            flags: ConfigFlags { config_file: Some(file.clone()), ..ConfigFlags::default() },
            ..ConfigInputs::default()
        });
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let Confinement { read, write, connect, udp, spawn, .. } = own_confinement(&config);
        for paths in [&read, &write] {
            assert!(!paths.contains(&home.path().to_owned()), "{paths:?}");
            assert!(!paths.iter().any(|path| path.ends_with(".ssh")), "{paths:?}");
        }
        assert!(read.contains(&file) && write.contains(&home.path().join("audit.jsonl")));
        assert!(write.contains(&home.path().join("logs")) && write.contains(&root.join(".docent")));
        assert!(!write.contains(&root.canonicalize().unwrap()));
        assert_eq!(connect, PortSet::Some(vec![53, 8443]));
        assert!(udp && !spawn);
    }
}
