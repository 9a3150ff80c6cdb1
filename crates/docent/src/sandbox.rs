//! What the kernel holds docent to while it serves, and the programs that it starts.

use crate::{
    config::{Config, SandboxMode, Transport},
    state::StateDir,
};
use docent_net::Url;
use docent_sandbox::{Confinement, InForce, Limits, Mode, Ports, Refused};
use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
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
        OpenOptions::new().append(true).create(true).open(file).map(drop).unwrap_or_default();
    }
    config.cache_dir.as_ref().map(fs::create_dir_all).transpose().unwrap_or_default();
    docent_sandbox::confine(&own(config), mode(config))
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

/// Ports that docent itself connects to.
fn ports(config: &Config) -> Vec<u16> {
    let mut ports = config.policy.network.ports();
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
