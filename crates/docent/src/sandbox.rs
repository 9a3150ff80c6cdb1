//! What the kernel holds docent to while it serves, and the programs that it starts.

use crate::{
    config::{self, Config, Extra, Held, Inputs, SandboxMode, Tightness as Level, Transport},
    state::StateDir,
};
use docent_net::Url;
use docent_sandbox::{Confinement, InForce, Limits, Mode, Ports, Refused};
use std::{
    fmt,
    fs::{self, OpenOptions},
    path::{Component, Path, PathBuf},
};

/// Files and connections that a server may have open; less where the system allows less.
const OPEN_FILES: u64 = 65_536;

/// The port that names are looked up at.
const DNS: u16 = 53;

pub(crate) fn mode(config: &Config) -> Mode {
    match config.policy.sandbox.mode {
        SandboxMode::Off => Mode::Off,
        SandboxMode::Auto => Mode::Auto,
        SandboxMode::Strict => Mode::Strict,
    }
}

/// Binds this process, before it has a second thread.
pub(crate) fn enter(config: &Config) -> Result<InForce, Refused> {
    // What is to be opened must be there. Whoever writes to it tells why it can't be made.
    for file in [&config.audit.file, &config.server.logging.file].into_iter().flatten() {
        file.parent().map(fs::create_dir_all).transpose().unwrap_or_default();
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(file).map(drop).unwrap_or_default();
    }
    // Rights can't be changed in the sandbox. Those of a log stay as somebody has set them; who called what is nobody
    // else's affair.
    #[cfg(unix)]
    audit_file(config).map(|file| make_private(&file)).unwrap_or_default();
    // Who has no settings yet may make some while docent runs.
    for folder in config.cache_dir.iter().chain(config.config_folders.first()) {
        fs::create_dir_all(folder).unwrap_or_default();
    }
    docent_sandbox::confine(&own(config), mode(config))
}

/// Where calls are recorded.
fn audit_file(config: &Config) -> Option<PathBuf> {
    let in_state = || Some(StateDir::open(config).ok()?.audit_file(config));
    config.audit.file.clone().or_else(in_state)
}

/// Who can't do it is told so by whoever writes to the file.
#[cfg(unix)]
fn make_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let wide = |there: &fs::Metadata| there.is_file() && there.permissions().mode() & 0o177 != 0;
    if file.metadata().is_ok_and(|there| wide(&there)) {
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap_or_default();
    }
}

/// Logs what holds, and what does not though it was asked for.
pub(crate) fn tell(in_force: &InForce) {
    for control in in_force.missing() {
        tracing::warn!("{} is not in force: {}", control.name, control.detail);
    }
    for skipped in &in_force.skipped {
        tracing::debug!(path = %skipped.path.display(), "is not opened in the sandbox: {}", skipped.reason);
    }
    tracing::debug!(mode = %in_force.mode, "the sandbox is entered");
}

/// What docent needs to serve: its roots and collections to read, its state to write, the ports that are configured.
pub(crate) fn own(config: &Config) -> Confinement {
    let sandbox = &config.policy.sandbox;
    let write = sandbox.write.iter().cloned().chain(write_paths(config));
    let ours = config.collections.values().filter(|collection| !collection.of_a_project);
    let files = ours.filter_map(|collection| collection.path.as_ref());
    let files = files.chain(&config.secret_files).chain(config.files());
    let mut read: Vec<PathBuf> = sandbox.read.clone();
    read.extend(config.config_folders.iter().filter(|folder| is_openable(folder, config)).cloned());
    read.extend(files.flat_map(|path| openable(path, config)));
    // Where names are looked up; what stands in /etc may be a link to it.
    read.extend(["/run/systemd/resolve".into(), "/run/resolvconf".into()]);
    let listens = config.server.transports.iter().any(|way| *way != Transport::Stdio);
    let bind = if listens { Ports::Some(vec![config.server.port]) } else { Ports::None };
    let ports = ports(config);
    Confinement::for_child(&config.roots)
        .spawn(false)
        .read(read)
        .write(write)
        .bind(bind)
        .udp(!ports.is_empty())
        .connect(if ports.is_empty() { Ports::None } else { Ports::Some(ports) })
        .limits(Limits { open_files: OPEN_FILES, ..Limits::default() })
}

/// What another configuration would have opened, in words; none where all of it is open.
pub(crate) fn not_opened(start: &Config, next: &Config) -> Option<String> {
    if mode(start) == Mode::Off {
        return None;
    }
    let (ours, wanted) = (own(start), own(next));
    let open = |path: &Path, among: &[&[PathBuf]]| {
        among.iter().any(|paths| paths.iter().any(|open| path.starts_with(open)))
    };
    let read =
        wanted.read.iter().filter(|path| !open(path, &[&ours.read, &ours.write, &ours.execute]));
    let write = wanted.write.iter().filter(|path| !open(path, &[&ours.write]));
    let mut closed: Vec<String> =
        read.chain(write).map(|path| path.display().to_string()).collect();
    if let Ports::Some(ports) = &wanted.connect {
        let is_open =
            |port: &u16| matches!(&ours.connect, Ports::Some(open) if open.contains(port));
        closed
            .extend(ports.iter().filter(|port| !is_open(port)).map(|port| format!("port {port}")));
    }
    closed.dedup();
    (!closed.is_empty()).then(|| {
        format!(
            "the sandbox stays as it was at the start: restart docent to open {}",
            closed.join(", ")
        )
    })
}

/// Whether a whole folder may be opened for the sake of one file in it.
fn is_openable(folder: &Path, config: &Config) -> bool {
    let holds = |secret: &PathBuf| secret.starts_with(folder);
    // The user's own settings are read from a folder that is a secret place itself.
    let is_own = config.config_folders.first().is_some_and(|own| own == folder);
    folder.parent().is_some() && (is_own || !config.secret_places.iter().any(holds))
}

/// A path, and the folder that it is in where that holds no secrets: who replaces a file puts another one in its place,
/// which only the folder's rule covers.
fn openable(path: &Path, config: &Config) -> Vec<PathBuf> {
    let folder = path.parent().filter(|_| !path.is_dir());
    let folder = folder.filter(|folder| is_openable(folder, config)).map(Path::to_owned);
    std::iter::once(path.to_owned()).chain(folder).collect()
}

/// What docent writes to: its state, what it has fetched, the audit log, the log.
fn write_paths(config: &Config) -> Vec<PathBuf> {
    let state = StateDir::open(config).ok().map(|state| state.path().to_owned());
    let files = [&config.audit.file, &config.server.logging.file].into_iter().flatten();
    let files = files.flat_map(|file| openable(file, config));
    state.into_iter().chain(config.cache_dir.clone()).chain(files).collect()
}

/// What another program gets: the roots to read, and the network as far as the policy names any.
pub(crate) fn of_a_program(config: &Config) -> Confinement {
    let sandbox = &config.policy.sandbox;
    let ports = config.policy.network.ports();
    Confinement::for_child(&config.roots)
        .read(sandbox.read.clone())
        .write(sandbox.write.clone())
        .udp(!ports.is_empty())
        .connect(if ports.is_empty() { Ports::None } else { Ports::Some(ports) })
}

/// What a guarded server may read and run, looked at before docent's own sandbox closes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Open {
    pub(crate) home: Option<PathBuf>,
    paths: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

/// Folders in a home that hold programs and what they fetch, and no credentials.
const TOOLS: [&str; 28] = [
    ".npm",
    ".nvm",
    ".fnm",
    ".volta",
    ".bun",
    ".deno",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".sdkman",
    ".dotnet",
    ".rustup",
    ".cargo/bin",
    ".cargo/registry",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/mise",
    ".cache/uv",
    ".cache/pip",
    ".cache/node",
    ".cache/pnpm",
    ".cache/deno",
    ".cache/ms-playwright",
    ".cache/puppeteer",
];

/// Those of them that package runners write to.
const CACHES: [&str; 9] = [
    ".npm",
    ".bun",
    ".deno",
    ".local/share/uv",
    ".cache/uv",
    ".cache/pip",
    ".cache/node",
    ".cache/pnpm",
    ".cache/deno",
];

/// Secrets of the system in `/etc`, which root reads.
const OF_ROOT: [&str; 16] = [
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "sudoers",
    "sudoers.d",
    "security/opasswd",
    "ssl/private",
    "pki/tls/private",
    "letsencrypt/archive",
    "letsencrypt/live",
    "letsencrypt/keys",
    "wireguard",
    "NetworkManager/system-connections",
    "krb5.keytab",
    "mysql/debian.cnf",
];
/// What devices that reach a disk past the file system are called at the start.
const DISKS: [&str; 3] = ["sg", "ng", "nvme"];

/// Looks at what there is on this machine: everything but homes, root's secrets and disks, of the user's own home what begins
/// with no dot, and the folders of tools in it. Credentials lie elsewhere in it.
pub(crate) fn look(config: &Config, home: Option<&Path>, search: &str) -> Open {
    let mut paths = Vec::new();
    let holds_secret =
        |path: &Path| config.secret_places.iter().any(|secret| secret.starts_with(path));
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let closed = |path: &Path| {
        ["/home", "/root", "/proc", "/sys", "/etc", "/dev"].iter().any(|one| path == Path::new(one))
            || home.is_some_and(|home| home.starts_with(path))
    };
    let ancestors: Vec<&Path> = home.into_iter().flat_map(Path::ancestors).skip(2).collect();
    for folder in ancestors.iter().copied().chain([Path::new("/")]) {
        // What lies beside a home is other people's, unless it is the system's.
        if folder.parent().is_none() || !is_of_homes(folder) {
            paths.extend(listed(folder).into_iter().filter(|path| !closed(path)));
        }
    }
    if let Some(home) = home {
        let own = listed(home).into_iter();
        paths.extend(own.filter(|path| !is_hidden(path) && !holds_secret(path)));
        paths.extend(TOOLS.map(|tool| home.join(tool)));
    }
    paths.extend(programs(search, home));
    let (settings, devices) = (Path::new("/etc"), Path::new("/dev"));
    paths.extend(open_but(settings, &secrets_in(settings)));
    paths.extend(open_but(devices, &disks_in(devices)));
    paths.sort();
    paths.dedup();
    Open { home: home.map(Path::to_owned), paths, write: caches(home) }
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn caches(home: Option<&Path>) -> Vec<PathBuf> {
    home.into_iter().flat_map(|home| CACHES.map(|cache| home.join(cache))).collect()
}

/// Secrets among the settings of the system.
fn secrets_in(etc: &Path) -> Vec<PathBuf> {
    let is_host_key = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    };
    let mut secrets: Vec<PathBuf> = OF_ROOT.iter().map(|place| etc.join(place)).collect();
    secrets.extend(listed(&etc.join("ssh")).into_iter().filter(is_host_key));
    secrets
}

/// Devices that hold every file there is: disks, and memory.
#[cfg(unix)]
fn disks_in(devices: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let kind = |path: &Path| path.symlink_metadata().ok().map(|found| found.file_type());
    let all = listed(devices);
    let folders = all.iter().filter(|path| kind(path).is_some_and(|kind| kind.is_dir()));
    let inner: Vec<PathBuf> = folders.flat_map(|folder| listed(folder)).collect();
    let disks = all.into_iter().chain(inner);
    let is_disk = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_numbered = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
        DISKS.iter().any(|disk| name.strip_prefix(disk).is_some_and(is_numbered))
    };
    let disks = disks.filter(|path| {
        kind(path)
            .is_some_and(|kind| kind.is_block_device() || kind.is_char_device() && is_disk(path))
    });
    disks.chain(["mem", "kmem", "port"].map(|memory| devices.join(memory))).collect()
}

#[cfg(not(unix))]
fn disks_in(_devices: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// A folder of the system but for these. A rule of Landlock is about the file that is there now: who puts another
/// `resolv.conf` in its place takes it from a server that has a rule for the file and not for the folder, until the server
/// is started anew. So the folder is opened as a whole where the secrets have their modes to protect them, and split for
/// whoever can read one of them, which is root.
fn open_but(folder: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    let files =
        |secret: &PathBuf| if secret.is_dir() { listed(secret) } else { vec![secret.clone()] };
    if secrets.iter().flat_map(files).any(|file| is_readable(&file)) {
        without(folder, secrets)
    } else {
        vec![folder.to_owned()]
    }
}

/// Whether this user may read a file. It is not opened: that may set a device going.
#[cfg(unix)]
fn is_readable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn is_readable(file: &Path) -> bool {
    fs::File::open(file).is_ok()
}

/// What a folder holds but for these, in as few paths as there can be. A link is left out: what it leads to is open or not by
/// itself, and a rule for the link would open it.
fn without(folder: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    let mut open = Vec::new();
    for path in listed(folder).into_iter().filter(|path| !path.is_symlink()) {
        if secrets.contains(&path) {
            continue;
        }
        if secrets.iter().any(|secret| secret.starts_with(&path)) {
            open.extend(without(&path, secrets));
        } else {
            open.push(path);
        }
    }
    open
}

fn is_of_homes(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "home" || name == "Users")
}

/// Where programs are looked for. Those that are installed outside of the user's home bring their libraries along.
fn programs(search: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in std::env::split_paths(search).filter(|folder| folder.is_absolute()) {
        let beside = folder.parent().filter(|beside| {
            let is_home = *beside == Path::new("/root") || beside.parent().is_some_and(is_of_homes);
            !is_home
                && beside.parent().is_some()
                && !home.is_some_and(|home| beside.starts_with(home) || home.starts_with(beside))
        });
        let beside =
            beside.filter(|beside| !beside.ends_with(".cargo") && !beside.ends_with(".local"));
        all.extend(beside.map(Path::to_owned));
        all.push(folder);
    }
    all
}

/// How tightly a server is held by what is said of it, or by the policy where nothing is.
pub(crate) fn level(config: &Config, extra: &Extra) -> Level {
    let usual = match config.policy.sandbox.mode {
        SandboxMode::Strict => Level::Strict,
        _ => Level::Guarded,
    };
    match &extra.sandbox {
        Held::Unsaid => usual,
        // What a registry says of the network is no word on the rest.
        Held::More { level: Level::Guarded, .. } if extra.of_a_registry => usual,
        Held::Word(level) | Held::More { level, .. } => *level,
    }
}

/// What another MCP server gets, and how strictly. A guarded one reads everything but credentials, writes where servers
/// usually write, and uses the network: what it was installed for must work, and what it has no business with must not.
pub(crate) fn of_a_server(
    config: &Config,
    extra: &Extra,
    cwd: Option<&Path>,
    open: &Open,
) -> (Confinement, Mode) {
    let level = level(config, extra);
    // A registry says where a server starts, and opens nothing by that.
    let cwd = cwd.filter(|_| !extra.of_a_registry);
    let (read, write, network) = match &extra.sandbox {
        Held::Unsaid | Held::Word(_) => ([].as_slice(), [].as_slice(), None),
        Held::More { read, write, network, .. } => (read.as_slice(), write.as_slice(), *network),
    };
    let mode = if level == Level::Off { Mode::Off } else { mode(config) };
    // What a server is given to read may hold the interpreter that runs it.
    let own = of_a_program(config).execute(read.to_vec()).write(write.to_vec());
    let confined = match level {
        Level::Off | Level::Strict => own,
        Level::Guarded => own
            .attributes(true)
            .execute(open.paths.clone())
            .execute(config.policy.sandbox.read.clone())
            .write(config.roots.clone())
            .write(["/tmp".into(), "/var/tmp".into(), "/dev/shm".into()] as [PathBuf; 3])
            .write(cwd.map(Path::to_owned))
            .write(open.write.clone())
            .connect(Ports::Any)
            .bind(Ports::Any)
            .udp(true),
    };
    let confined = match network {
        Some(false) => confined.connect(Ports::None).bind(Ports::None).udp(false),
        Some(true) => confined.connect(Ports::Any).bind(Ports::Any).udp(true),
        None => confined,
    };
    (confined, mode)
}

/// Servers that are held to something, and may write to this file all the same, or to what leads to it.
pub(crate) fn writers<'a>(file: &Path, config: &'a Config, home: Option<&Path>) -> Vec<&'a str> {
    let passed = passed(file);
    let open = Open { write: caches(home), ..Open::default() };
    let usable =
        config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let writes = usable.filter(|entry| match &entry.server.way {
        docent_registry::Way::Program { cwd, .. } => {
            let cwd = cwd.as_deref().map(Path::new);
            let (confined, mode) = of_a_server(config, &entry.extra, cwd, &open);
            let is_open = |place: &PathBuf| {
                let place = place.canonicalize().unwrap_or_else(|_| place.clone());
                passed.iter().any(|step| step.starts_with(&place))
            };
            mode != Mode::Off && confined.write.iter().any(is_open)
        }
        docent_registry::Way::Remote { .. } => false,
    });
    writes.map(|entry| entry.server.name.as_str()).collect()
}

/// Every folder, link and file on the way to a file: whoever may change one of them decides what is read there.
fn passed(file: &Path) -> Vec<PathBuf> {
    // The kernel follows no more.
    let mut links = 40;
    let (mut at, mut ahead) = (PathBuf::from("/"), file.to_owned());
    let mut all = Vec::new();
    loop {
        let mut parts = ahead.components();
        let Some(part) = parts.next() else { return all };
        let rest = parts.as_path().to_owned();
        ahead = match part {
            Component::Normal(name) => {
                let next = at.join(name);
                all.push(next.clone());
                if let Some(target) = fs::read_link(&next).ok().filter(|_| links > 0) {
                    links -= 1;
                    target.join(rest)
                } else {
                    at = next;
                    rest
                }
            }
            Component::ParentDir => {
                at.pop();
                rest
            }
            Component::RootDir => {
                at = PathBuf::from("/");
                rest
            }
            Component::CurDir | Component::Prefix(_) => rest,
        };
    }
}

/// A file of the user's own settings that servers may write to, though they are held to something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub(crate) file: PathBuf,
    servers: Vec<String>,
}

impl fmt::Display for Exposed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.servers.as_slice() {
            [one] => format!("the server {one}"),
            all => format!("the servers {}", all.join(", ")),
        };
        write!(
            out,
            "{who} may write to {}, which is part of the configuration: what changes in the configuration is not followed \
             while docent runs, but read at the next start or SIGHUP; move the file out of the roots and temporary folders, \
             or write `sandbox = \"strict\"` for {who}",
            self.file.display()
        )
    }
}

/// Files that say what docent starts and whom it lets in, and that a server may write to: it could say there that it is held
/// to nothing. What a project's own file says is not counted, because it says none of that.
pub(crate) fn exposed(config: &Config, inputs: &Inputs) -> Vec<Exposed> {
    let named = inputs.flags.config_file.as_ref().map(|file| inputs.working_dir.join(file));
    let own = config::user_file(inputs).into_iter().chain(named);
    let mut found: Vec<Exposed> = Vec::new();
    for file in own.chain(config.secret_files.iter().cloned()) {
        let servers = writers(&file, config, inputs.home.as_deref());
        let servers: Vec<String> = servers.into_iter().map(str::to_owned).collect();
        if !servers.is_empty() && !found.iter().any(|known| known.file == file) {
            found.push(Exposed { file, servers });
        }
    }
    found
}

/// Ports of servers on the network, and of those that they sign in at.
fn server_ports(config: &Config) -> Vec<u16> {
    let mut ports = Vec::new();
    for entry in config.servers.iter().filter(|entry| !entry.of_a_project) {
        if let docent_registry::Way::Remote { url, .. } = &entry.server.way {
            ports.extend(Url::parse(url).ok().and_then(|url| url.port_or_known_default()));
            ports.push(443);
        }
    }
    ports
}

/// Ports that docent itself connects to.
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
        // Names whose answers don't fit a datagram.
        ports.push(DNS);
    }
    ports.sort_unstable();
    ports.dedup();
    ports
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Flags, Inputs};

    #[test]
    fn a_guarded_server_reads_no_credentials() {
        let home = tempfile::tempdir().unwrap();
        for folder in
            [".ssh", ".cache/docent/tokens", ".config/gh", ".claude", "work", ".pyenv/shims", "bin"]
        {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let config = Config::load(&Inputs {
            home: Some(home.path().to_owned()),
            working_dir: home.path().join("work"),
            ..Inputs::default()
        });
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let search = format!("{0}/.pyenv/shims:{0}/bin:/usr/bin", home.path().display());
        let open = look(&config, Some(home.path()), &search);
        let (Confinement { read, write, execute, .. }, _) =
            of_a_server(&config, &Extra::default(), None, &open);
        let opens = |paths: &[PathBuf], place: &str| {
            let place = home.path().join(place);
            // This home lies in a temporary folder, which is open as a whole.
            let temporary =
                |path: &Path| path == Path::new("/tmp") || path == Path::new("/var/tmp");
            paths.iter().any(|path| place.starts_with(path) && !temporary(path))
        };
        for secret in [
            ".ssh/id_rsa",
            ".cache/docent/tokens/a",
            ".cache/docent/servers/a",
            ".config/gh/hosts.yml",
            ".claude/x",
        ] {
            for paths in [&read, &write, &execute] {
                assert!(!opens(paths, secret), "{secret}: {paths:?}");
            }
        }
        assert!(
            opens(&execute, "work/a")
                && opens(&execute, ".pyenv/shims/python3")
                && opens(&execute, "bin/x")
        );
        assert!(
            execute.contains(&PathBuf::from("/usr")) && !execute.contains(&PathBuf::from("/home"))
        );
    }

    #[test]
    fn who_may_write_to_the_record_is_known() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("project");
        fs::create_dir_all(root.join(".docent")).unwrap();
        let settings = "[mcp_servers]\nguarded = { command = \"x\" }\n\
                        more = { command = \"x\", sandbox = { write = [\"/var/lib/other\"] } }\n\
                        strict = { command = \"x\", sandbox = \"strict\" }\n\
                        off = { command = \"x\", sandbox = \"off\" }\n\
                        gone = { command = \"x\", disabled = true }\n\
                        remote = { url = \"https://example.org/mcp\" }\n";
        let file = home.path().join("docent.toml");
        fs::write(&file, settings).unwrap();
        let config = Config::load(&Inputs {
            home: Some(home.path().to_owned()),
            working_dir: root.clone(),
            flags: Flags { config_file: Some(file), ..Flags::default() },
            ..Inputs::default()
        });
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let writers = |file: &Path| writers(file, &config, Some(Path::new("/home/somebody")));
        assert_eq!(writers(&root.join(".docent/audit.jsonl")), ["guarded", "more"]);
        assert_eq!(writers(Path::new("/var/lib/other/audit.jsonl")), ["more"]);
        assert_eq!(writers(Path::new("/home/somebody/.npm/a.json")), ["guarded", "more"]);
        assert!(writers(Path::new("/var/lib/docent/audit.jsonl")).is_empty());
    }

    #[test]
    fn a_registry_opens_nothing() {
        let place = tempfile::tempdir().unwrap();
        let inputs = Inputs { working_dir: place.path().to_owned(), ..Inputs::default() };
        let mut config = Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        let home = Path::new("/home/somebody");
        let network = Held::More {
            level: Level::Guarded,
            read: Vec::new(),
            write: Vec::new(),
            network: Some(false),
        };
        let writes = |config: &Config, of_a_registry, sandbox: &Held| {
            let extra = Extra { of_a_registry, sandbox: sandbox.clone(), ..Extra::default() };
            let confined = of_a_server(config, &extra, Some(home), &Open::default()).0;
            (confined.write.contains(&home.to_owned()), level(config, &extra))
        };
        assert_eq!(writes(&config, false, &Held::Unsaid), (true, Level::Guarded));
        assert_eq!(writes(&config, true, &Held::Unsaid), (false, Level::Guarded));
        assert_eq!(writes(&config, true, &network), (false, Level::Guarded));
        config.policy.sandbox.mode = SandboxMode::Strict;
        assert_eq!(writes(&config, true, &network), (false, Level::Strict));
        assert_eq!(writes(&config, false, &network), (true, Level::Guarded));
    }

    #[test]
    #[cfg(unix)]
    fn every_step_on_the_way_to_a_file_is_seen() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        for folder in ["root", "kept"] {
            fs::create_dir(at.join(folder)).unwrap();
        }
        symlink("../kept", at.join("root/folder")).unwrap();
        symlink(at.join("root/folder/b"), at.join("kept/a")).unwrap();
        symlink("itself", at.join("itself")).unwrap();
        let passes = |file: &str, want: &str| passed(&at.join(file)).contains(&at.join(want));
        assert!(passes("kept/a", "root/folder"), "{:?}", passed(&at.join("kept/a")));
        assert!(passes("kept/a", "kept/b") && passes("root/../kept/b", "kept/b"));
        assert!(!passes("kept/b", "root") && passes("itself", "itself"));
    }

    #[test]
    #[cfg(unix)]
    fn settings_of_the_system_are_opened_without_its_secrets() {
        let place = tempfile::tempdir().unwrap();
        let etc = place.path();
        for folder in ["ssh", "ssl/certs", "sudoers.d"] {
            fs::create_dir_all(etc.join(folder)).unwrap();
        }
        for file in ["hosts", "ssh/ssh_config", "ssh/ssh_host_rsa_key.pub"] {
            fs::write(etc.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("shadow", etc.join("link")).unwrap();
        let open = || {
            let mut open = open_but(etc, &secrets_in(etc));
            open.sort();
            open
        };
        assert_eq!(open(), [etc.to_owned()], "there is nothing to keep from anybody");
        fs::create_dir(etc.join("ssl/private")).unwrap();
        for secret in ["shadow", "gshadow-", "ssh/ssh_host_rsa_key", "ssl/private/a.key"] {
            fs::write(etc.join(secret), "").unwrap();
        }
        let want = ["hosts", "ssh/ssh_config", "ssh/ssh_host_rsa_key.pub", "ssl/certs"];
        assert_eq!(open(), want.map(|path| etc.join(path)));
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
        let config = Config::load(&Inputs {
            home: Some(home.path().to_owned()),
            working_dir: root.clone(),
            flags: Flags { config_file: Some(file.clone()), ..Flags::default() },
            ..Inputs::default()
        });
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let Confinement { read, write, connect, udp, spawn, .. } = own(&config);
        for paths in [&read, &write] {
            assert!(!paths.contains(&home.path().to_owned()), "{paths:?}");
            assert!(!paths.iter().any(|path| path.ends_with(".ssh")), "{paths:?}");
        }
        assert!(read.contains(&file) && write.contains(&home.path().join("audit.jsonl")));
        assert!(write.contains(&home.path().join("logs")) && write.contains(&root.join(".docent")));
        assert!(!write.contains(&root.canonicalize().unwrap()));
        assert_eq!(connect, Ports::Some(vec![53, 8443]));
        assert!(udp && !spawn);
    }
}
