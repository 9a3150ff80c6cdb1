//! Computes which controls a description yields on a given machine. Has no side effects, so tests can cover every
//! kernel.

use crate::{
    Confinement, ConfinementMode, PortSet, SandboxSupport,
    report::{ControlState, SandboxControl, SandboxError, SandboxReport, SkippedPath},
};
use std::path::Path;

const NO_INTERNET: &str = "no internet socket can be created";

// Why a path is skipped.
pub(crate) const NOT_ABSOLUTE: &str = "the path is not absolute";
pub(crate) const LEADS_OUTSIDE: &str =
    "it leads out of a folder that programs may write to; configure its target instead";

/// Who is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfinementTarget {
    /// The calling process itself.
    Itself,
    /// A program that the process is about to execute.
    Program,
}

/// Returns the controls that [`crate::confine`] would apply on a machine with `offered` support.
pub fn plan(
    confinement: &Confinement,
    mode: ConfinementMode,
    offered: &SandboxSupport,
) -> Result<SandboxReport, SandboxError> {
    let report = plan_for(confinement, mode, offered, ConfinementTarget::Itself)?;
    let skipped = if mode == ConfinementMode::Off { Vec::new() } else { skipped(confinement) };
    Ok(SandboxReport { skipped, ..report })
}

/// The same, without checking the paths, which are checked when they are opened.
pub(crate) fn plan_for(
    confinement: &Confinement,
    mode: ConfinementMode,
    offered: &SandboxSupport,
    whom: ConfinementTarget,
) -> Result<SandboxReport, SandboxError> {
    let mut controls = controls(confinement, offered, whom);
    if mode == ConfinementMode::Off {
        for control in &mut controls {
            control.state = ControlState::Off;
            "the sandbox is off".clone_into(&mut control.detail);
        }
        return Ok(SandboxReport { mode, controls, skipped: Vec::new() });
    }
    let report = SandboxReport { mode, controls, skipped: Vec::new() };
    refuse_missing(&report)?;
    Ok(report)
}

/// In strict mode, fails with every control that `report` lacks.
pub(crate) fn refuse_missing(report: &SandboxReport) -> Result<(), SandboxError> {
    let missing: Vec<String> =
        report.missing().map(|control| format!("{} ({})", control.name, control.detail)).collect();
    if report.mode == ConfinementMode::Strict && !missing.is_empty() {
        return Err(SandboxError::Missing { missing });
    }
    Ok(())
}

fn controls(
    confinement: &Confinement,
    offered: &SandboxSupport,
    whom: ConfinementTarget,
) -> Vec<SandboxControl> {
    let paths = format!(
        "paths to read: {}, to write: {}, to execute: {}",
        confinement.read.len(),
        confinement.write.len(),
        confinement.execute.len()
    );
    let datagrams = if confinement.internet() {
        "only TCP internet sockets can be created"
    } else {
        NO_INTERNET
    };
    vec![
        no_new_privileges(offered),
        by_name("files", confinement, offered, 1, &paths),
        by_name("truncation", confinement, offered, 3, "files outside can't be emptied"),
        by_name("devices", confinement, offered, 5, "commands to devices outside are denied"),
        tcp("tcp-connect", &confinement.connect, confinement, offered),
        tcp("tcp-bind", &confinement.bind, confinement, offered),
        seccomp("udp", confinement.udp, offered, datagrams),
        seccomp(
            "unix-sockets",
            confinement.unix_sockets,
            offered,
            "only connected pairs can be created",
        ),
        abstract_unix(confinement, offered),
        by_name("signals", confinement, offered, 6, "processes outside can't be signalled"),
        spawn(confinement, offered, whom),
        seccomp(
            "attributes",
            confinement.attributes,
            offered,
            "owners, modes, timestamps and extended attributes can't be changed",
        ),
        seccomp(
            "system-calls",
            false,
            offered,
            "namespaces, mounts, tracing, io_uring, kernel keys and modules are denied",
        ),
        limits(confinement),
        capabilities(offered),
    ]
}

fn control(name: &'static str, state: ControlState, detail: impl Into<String>) -> SandboxControl {
    SandboxControl { name, state, detail: detail.into() }
}

/// A control that Landlock provides since ABI `since`.
fn landlock(
    name: &'static str,
    offered: &SandboxSupport,
    since: u32,
    what: &str,
) -> SandboxControl {
    match offered.landlock {
        0 => control(
            name,
            ControlState::NotOffered,
            "the kernel has no Landlock, or it is not enabled",
        ),
        abi if abi < since => control(
            name,
            ControlState::NotOffered,
            format!("the kernel's Landlock has ABI {abi}; {since} is required"),
        ),
        abi => control(name, ControlState::InForce, format!("Landlock ABI {abi}: {what}")),
    }
}

/// A control that Landlock provides, or the filter for a sealed process.
fn by_name(
    name: &'static str,
    confinement: &Confinement,
    offered: &SandboxSupport,
    since: u32,
    what: &str,
) -> SandboxControl {
    if confinement.sealed && offered.seccomp {
        return control(name, ControlState::InForce, "seccomp: no file or process can be named");
    }
    landlock(name, offered, since, what)
}

/// A control that the filter provides, unless the description allows what it denies.
fn seccomp(
    name: &'static str,
    allows: bool,
    offered: &SandboxSupport,
    what: &str,
) -> SandboxControl {
    if allows {
        control(name, ControlState::Off, "allowed by the configuration")
    } else if offered.seccomp {
        control(name, ControlState::InForce, format!("seccomp: {what}"))
    } else {
        control(name, ControlState::NotOffered, "the kernel has no seccomp filters")
    }
}

fn no_new_privileges(offered: &SandboxSupport) -> SandboxControl {
    let name = "no-new-privileges";
    if offered.no_new_privs {
        control(
            name,
            ControlState::InForce,
            "set-user-id programs and file capabilities add nothing",
        )
    } else {
        control(name, ControlState::NotOffered, "the kernel does not support it")
    }
}

fn tcp(
    name: &'static str,
    ports: &PortSet,
    all: &Confinement,
    offered: &SandboxSupport,
) -> SandboxControl {
    if *ports == PortSet::Any {
        return control(name, ControlState::Off, "every port is allowed by the configuration");
    }
    // If no socket can be created, older kernels suffice.
    if offered.seccomp && !all.internet() {
        return control(name, ControlState::InForce, format!("seccomp: {NO_INTERNET}"));
    }
    let what = match ports.named() {
        [] => "no port".to_owned(),
        some => format!("only ports {some:?}"),
    };
    landlock(name, offered, 4, &what)
}

fn abstract_unix(confinement: &Confinement, offered: &SandboxSupport) -> SandboxControl {
    let name = "abstract-unix";
    if offered.seccomp && !confinement.unix_sockets && !offered.abstract_unix() {
        return control(name, ControlState::InForce, "seccomp: no Unix socket can be created");
    }
    landlock(name, offered, 6, "abstract Unix sockets outside can't be reached")
}

fn spawn(
    confinement: &Confinement,
    offered: &SandboxSupport,
    whom: ConfinementTarget,
) -> SandboxControl {
    let name = "spawn";
    if confinement.spawn {
        return control(name, ControlState::Off, "allowed by the configuration");
    }
    match whom {
        ConfinementTarget::Itself => seccomp(name, false, offered, "no process can be started"),
        // The filter must allow the first exec, so Landlock distinguishes the programs.
        ConfinementTarget::Program if offered.files() => {
            seccomp(name, false, offered, "no process can be started; Landlock: no other program")
        }
        ConfinementTarget::Program => landlock(name, offered, 1, ""),
    }
}

fn limits(confinement: &Confinement) -> SandboxControl {
    let state =
        if cfg!(target_os = "linux") { ControlState::InForce } else { ControlState::NotOffered };
    let most = confinement.limits.open_files;
    control("limits", state, format!("no core dumps, {most} open files"))
}

fn capabilities(offered: &SandboxSupport) -> SandboxControl {
    let name = "capabilities";
    if offered.no_new_privs {
        control(name, ControlState::InForce, "those for system administration are dropped")
    } else {
        control(
            name,
            ControlState::NotOffered,
            "the kernel would restore them for root at the next exec",
        )
    }
}

/// Lists paths of a description that can't be opened now and would stay inaccessible.
pub fn skipped(confinement: &Confinement) -> Vec<SkippedPath> {
    let asked = confinement.read.iter().chain(&confinement.write).chain(&confinement.execute);
    let reason = |path: &Path| unusable(path, confinement);
    asked
        .filter_map(|path| reason(path).map(|reason| SkippedPath { path: path.clone(), reason }))
        .collect()
}

/// Returns why a path of `confinement` can't be part of a sandbox, if so.
fn unusable(path: &Path, confinement: &Confinement) -> Option<String> {
    if !path.is_absolute() {
        return Some(NOT_ABSOLUTE.to_owned());
    }
    if let Err(error) = path.metadata() {
        return Some(error.to_string());
    }
    leads_out(path, confinement).then(|| LEADS_OUTSIDE.to_owned())
}

/// Whether a link leads out of the changeable folder that contains `path`. A broken link counts too.
pub(crate) fn leads_out(path: &Path, confinement: &Confinement) -> bool {
    confinement.place_around(path).is_some_and(|place| is_outside(path, place))
}

#[cfg(target_os = "linux")]
fn is_outside(path: &Path, place: &Path) -> bool {
    crate::linux::paths::leads_out(path, place)
}

#[cfg(not(target_os = "linux"))]
fn is_outside(path: &Path, place: &Path) -> bool {
    let ends = place.canonicalize().and_then(|place| Ok((path.canonicalize()?, place)));
    !ends.is_ok_and(|(path, place)| path.starts_with(place))
}
