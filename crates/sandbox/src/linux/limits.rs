//! Resource limits and capabilities.

use crate::{ResourceLimits, report::SandboxError};
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities},
};

/// Capabilities for files, users and low ports: root in a container needs them to read mounted files, and Landlock
/// still limits the paths. All others could undo or bypass the sandbox.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Sets the limits, soft and hard, so that they can't be raised again.
pub(super) fn apply(limits: &ResourceLimits) -> Result<(), SandboxError> {
    for (resource, most) in [(Resource::Core, 0), (Resource::Nofile, limits.open_files)] {
        // A lower existing limit stays.
        let most = getrlimit(resource).maximum.map_or(most, |set| set.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| SandboxError::failed("limits", error))?;
    }
    Ok(())
}

/// Drops the privileges that root has over an ordinary user. With no-new-privileges set, no exec restores them.
pub(super) fn give_up_capabilities() -> Result<(), SandboxError> {
    let failed = |error| SandboxError::failed("capabilities", error);
    let now = capabilities(None).map_err(failed)?;
    let less = CapabilitySets {
        effective: now.effective.intersection(KEPT_CAPABILITIES),
        permitted: now.permitted.intersection(KEPT_CAPABILITIES),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, less).map_err(failed)
}
