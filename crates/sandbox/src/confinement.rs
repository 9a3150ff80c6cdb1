//! What a process may access: the description that every part of the sandbox is derived from.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// TCP ports that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PortSet {
    /// No port.
    #[default]
    None,
    /// These ports. For listening, 0 means a port that the kernel chooses.
    Some(Vec<u16>),
    /// Every port.
    Any,
}

impl PortSet {
    /// Returns the individually named ports.
    pub(crate) fn named(&self) -> &[u16] {
        match self {
            Self::Some(ports) => ports,
            Self::None | Self::Any => &[],
        }
    }

    /// Whether no port is allowed.
    pub(crate) fn closed(&self) -> bool {
        *self != Self::Any && self.named().is_empty()
    }
}

/// Resource limits of a process. Core dumps are always off, because they would write secrets to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceLimits {
    /// Maximum number of open files.
    pub open_files: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self { open_files: 1024 }
    }
}

/// What a process may access. The default is nothing; each method adds to it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent permission")]
pub struct Confinement {
    /// Files and folders to read.
    pub read: Vec<PathBuf>,
    /// Files and folders to read and to change.
    pub write: Vec<PathBuf>,
    /// Files and folders to read and to execute.
    pub execute: Vec<PathBuf>,
    /// Folders whose contents confined programs may change, by paths that they can't change. A path inside one is
    /// opened without leaving it, because a link there may have been planted to open something else.
    pub changeable: Vec<PathBuf>,
    /// Ports that TCP connections may go to.
    pub connect: PortSet,
    /// Ports that TCP listeners may have.
    pub bind: PortSet,
    /// Whether UDP sockets may be created. Name lookups need one.
    pub udp: bool,
    /// Whether Unix sockets may be created, to every path that the user may connect to. Connected pairs are always
    /// allowed, because async runtimes need one.
    pub unix_sockets: bool,
    /// Whether other processes may be started.
    pub spawn: bool,
    /// Whether owners, modes, timestamps and extended attributes may be changed. Landlock does not restrict these by
    /// path, so the permission applies to every file that the user owns.
    pub attributes: bool,
    /// Whether opening files by path and signalling other processes is impossible, even if the kernel has no Landlock:
    /// for a process that has read all that it needs and only uses its open descriptors.
    pub sealed: bool,
    /// Resource limits.
    pub limits: ResourceLimits,
}

/// Programs and libraries.
const SYSTEM_FOLDERS: [&str; 9] =
    ["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store"];

/// Files that programs read at their start. Not all of `/etc`, which contains secrets that only their mode protects.
const SYSTEM_SETTINGS: [&str; 31] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
];

/// Devices without storage, and the terminal.
const ALLOWED_DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

impl Confinement {
    /// Creates a description for a child process that works on `roots`: it may run the system's programs and libraries,
    /// read `roots` and start other processes. It has no network and may write only to devices; use the methods to add
    /// more.
    pub fn for_child<P: Into<PathBuf>>(roots: impl IntoIterator<Item = P>) -> Self {
        let spawn = Self { spawn: true, ..Self::default() };
        spawn.execute(SYSTEM_FOLDERS).read(SYSTEM_SETTINGS).write(ALLOWED_DEVICES).read(roots)
    }

    /// Allows reading below `paths`.
    #[must_use]
    pub fn read<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.read.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Allows reading and changing below `paths`.
    #[must_use]
    pub fn write<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.write.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Allows reading and executing below `paths`.
    #[must_use]
    pub fn execute<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.execute.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Adds folders whose contents confined programs may change.
    #[must_use]
    pub fn changeable<P: Into<PathBuf>>(mut self, places: impl IntoIterator<Item = P>) -> Self {
        self.changeable.extend(places.into_iter().map(Into::into));
        self
    }

    /// Sets the ports that TCP connections may go to.
    #[must_use]
    pub fn connect(mut self, ports: PortSet) -> Self {
        self.connect = ports;
        self
    }

    /// Sets the ports that TCP listeners may have.
    #[must_use]
    pub fn bind(mut self, ports: PortSet) -> Self {
        self.bind = ports;
        self
    }

    /// Sets whether UDP sockets may be created.
    #[must_use]
    pub fn udp(mut self, allowed: bool) -> Self {
        self.udp = allowed;
        self
    }

    /// Sets whether Unix sockets may be created.
    #[must_use]
    pub fn unix_sockets(mut self, allowed: bool) -> Self {
        self.unix_sockets = allowed;
        self
    }

    /// Sets whether other processes may be started.
    #[must_use]
    pub fn spawn(mut self, allowed: bool) -> Self {
        self.spawn = allowed;
        self
    }

    /// Sets whether owners, modes, timestamps and extended attributes may be changed.
    #[must_use]
    pub fn attributes(mut self, allowed: bool) -> Self {
        self.attributes = allowed;
        self
    }

    /// Sets whether opening files by path and signalling other processes is impossible.
    #[must_use]
    pub fn sealed(mut self, sealed: bool) -> Self {
        self.sealed = sealed;
        self
    }

    /// Sets the resource limits.
    #[must_use]
    pub fn limits(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the outermost changeable folder that contains `path`: changing it can change the paths to the inner
    /// ones.
    pub(crate) fn place_around(&self, path: &Path) -> Option<&Path> {
        let around = self.changeable.iter().filter(|place| path.starts_with(place));
        around.min_by_key(|place| place.components().count()).map(PathBuf::as_path)
    }

    /// Whether internet sockets are needed; otherwise none can be created.
    pub(crate) fn internet(&self) -> bool {
        self.udp || !self.connect.closed() || !self.bind.closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_survives_json_and_unknown_fields_are_refused() {
        let asked = Confinement::for_child(["/srv/a b"])
            .connect(PortSet::Some(vec![443]))
            .bind(PortSet::Any)
            .udp(true)
            .limits(ResourceLimits { open_files: 1 });
        let text = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Confinement>(&text).unwrap(), asked);
        assert_eq!(serde_json::from_str::<Confinement>("{}").unwrap(), Confinement::default());
        for text in [r#"{"raed":[]}"#, r#"{"limits":{"core":1}}"#, r#"{"bind":"all"}"#, "[", "7"] {
            assert!(serde_json::from_str::<Confinement>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_child_gets_no_place_that_holds_secrets() {
        let child = Confinement::for_child(["/srv/project"]);
        let reaches = |path: &str| {
            let mut open = child.read.iter().chain(&child.write).chain(&child.execute);
            open.any(|root| Path::new(path).starts_with(root))
        };
        for path in [
            "/etc/shadow",
            "/etc/ssl/private/key",
            "/root",
            "/home/a",
            "/proc/1",
            "/run",
            "/tmp",
            "/dev/sda",
        ] {
            assert!(!reaches(path), "{path}");
        }
        for path in ["/srv/project/x", "/usr/bin/env", "/etc/ssl/certs/x", "/dev/null"] {
            assert!(reaches(path), "{path}");
        }
        assert!(!child.internet() && !child.unix_sockets && !child.attributes);
        assert!(!child.write.iter().any(|path| path.is_dir()), "{:?}", child.write);
    }

    #[test]
    fn an_empty_list_of_ports_is_closed() {
        for (ports, closed) in [
            (PortSet::None, true),
            (PortSet::Some(vec![]), true),
            (PortSet::Some(vec![0]), false),
            (PortSet::Any, false),
        ] {
            assert_eq!(ports.closed(), closed, "{ports:?}");
            assert_eq!(Confinement::default().connect(ports.clone()).internet(), !closed);
            assert_eq!(Confinement::default().bind(ports).internet(), !closed);
        }
    }
}
