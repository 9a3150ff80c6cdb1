//! What the kernel holds docent to while it serves, and the programs that it starts.

use crate::{
    config::{Config, SandboxMode, Transport},
    state::StateDir,
};
use docent_net::Url;
use docent_sandbox::{Confinement, InForce, Limits, Mode, Ports, Refused};
use std::path::{Path, PathBuf};

/// Files and connections that a server may have open; less where the system allows less.
const OPEN_FILES: u64 = 65_536;

pub(crate) fn mode(config: &Config) -> Mode {
    match config.policy.sandbox.mode {
        SandboxMode::Off => Mode::Off,
        SandboxMode::Auto => Mode::Auto,
        SandboxMode::Strict => Mode::Strict,
    }
}

/// Binds this process, before it has a second thread.
pub(crate) fn enter(config: &Config) -> Result<InForce, Refused> {
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
    let folder = |file: &PathBuf| file.parent().map(Path::to_owned);
    let mut write: Vec<PathBuf> = sandbox.write.clone();
    write.extend(StateDir::open(config).ok().map(|state| state.path().to_owned()));
    write.extend(config.cache_dir.clone());
    write.extend(config.audit.file.as_ref().and_then(folder));
    write.extend(config.server.logging.file.as_ref().and_then(folder));
    let mut read: Vec<PathBuf> = sandbox.read.clone();
    read.extend(config.config_folders.clone());
    read.extend(config.collections.values().filter_map(|collection| collection.path.clone()));
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
    ports.sort_unstable();
    ports.dedup();
    ports
}
