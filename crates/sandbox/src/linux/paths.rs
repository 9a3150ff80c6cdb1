//! Landlock: files by path, TCP by port, signals and abstract sockets by sandbox.

use crate::{
    Confinement, Ports,
    plan::unusable,
    report::{Refused, Skipped},
};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, PathFd, RestrictSelf, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The newest ABI whose rights the tests have seen at work. A newer kernel is held to these.
const TESTED: u32 = 7;

/// The loaders that the kernel executes on behalf of a program.
const LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// How many scripts may name each other as interpreter; the kernel's own bound.
const SCRIPTS: usize = 4;

/// The ABI that the kernel's system call answers with, or 0.
pub(crate) fn abi_of_kernel() -> u32 {
    // Without flags to set, this asks and restricts nothing.
    match RestrictSelf::default().no_new_privs(false).apply().map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            kernel_abi.and_then(|abi| abi.try_into().ok()).unwrap_or(effective_abi as u32)
        }
        _ => 0,
    }
}

/// Restricts the calling thread, and returns the paths that are left out.
pub(super) fn apply(
    confinement: &Confinement,
    abi: u32,
    program: Option<&Path>,
) -> Result<Vec<Skipped>, Refused> {
    let mut skipped = Vec::new();
    let status = ruleset(confinement, abi)
        .and_then(|ruleset| add_ports(ruleset, confinement, abi))
        .and_then(|ruleset| add_paths(ruleset, confinement, (abi, program), &mut skipped))
        .and_then(RulesetCreated::restrict_self)
        .map_err(|error| Refused::failed("files", error))?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(Refused::failed("files", "the kernel enforces only a part of the rules"));
    }
    Ok(skipped)
}

fn known(abi: u32) -> ABI {
    ABI::from(abi.min(TESTED).cast_signed())
}

/// Everything that the ABI can deny is denied, until rules open it.
fn ruleset(confinement: &Confinement, abi: u32) -> Result<RulesetCreated, RulesetError> {
    let abi = known(abi);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    let mut ports = AccessNet::from_all(abi);
    if confinement.connect == Ports::Any {
        ports.remove(AccessNet::ConnectTcp);
    }
    if confinement.bind == Ports::Any {
        ports.remove(AccessNet::BindTcp);
    }
    // The library takes an empty set for a mistake.
    if !ports.is_empty() {
        ruleset = ruleset.handle_access(ports)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    ruleset.create()
}

fn add_ports(
    mut ruleset: RulesetCreated,
    confinement: &Confinement,
    abi: u32,
) -> Result<RulesetCreated, RulesetError> {
    if AccessNet::from_all(known(abi)).is_empty() {
        return Ok(ruleset);
    }
    for (ports, right) in
        [(&confinement.connect, AccessNet::ConnectTcp), (&confinement.bind, AccessNet::BindTcp)]
    {
        for port in ports.named() {
            ruleset = ruleset.add_rule(NetPort::new(*port, right))?;
        }
    }
    Ok(ruleset)
}

fn add_paths(
    mut ruleset: RulesetCreated,
    confinement: &Confinement,
    (abi, program): (u32, Option<&Path>),
    skipped: &mut Vec<Skipped>,
) -> Result<RulesetCreated, RulesetError> {
    let abi = known(abi);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = read | AccessFs::Execute;
    // Device files have no place in a working folder: root could make one that reads the disk.
    let write =
        AccessFs::from_all(abi) & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
    let may_execute = if program.is_some() && !confinement.spawn { read } else { execute };
    let own = program.map(executed_for).unwrap_or_default();
    let rules = (confinement.read.iter().map(|path| (path, read)))
        .chain(confinement.write.iter().map(|path| (path, write)))
        .chain(confinement.execute.iter().map(|path| (path, may_execute)))
        .chain(own.iter().map(|path| (path, execute)));
    for (path, rights) in rules {
        match rule(path, rights, abi) {
            Ok(rule) => ruleset = ruleset.add_rule(rule)?,
            Err(reason) => skipped.push(Skipped { path: path.clone(), reason }),
        }
    }
    Ok(ruleset)
}

fn rule(path: &Path, rights: BitFlags<AccessFs>, abi: ABI) -> Result<PathBeneath<PathFd>, String> {
    if let Some(reason) = unusable(path) {
        return Err(reason);
    }
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(abi) };
    let opened = PathFd::new(path).map_err(|error| error.to_string())?;
    Ok(PathBeneath::new(opened, rights))
}

/// The files that the kernel executes when `program` is: itself, the interpreters of scripts, and the loader.
fn executed_for(program: &Path) -> Vec<PathBuf> {
    let mut files = vec![program.to_path_buf()];
    for _ in 0..SCRIPTS {
        let Some(interpreter) = files.last().and_then(|file| interpreter(file)) else { break };
        files.push(interpreter);
    }
    files.extend(LOADERS.iter().map(PathBuf::from).filter(|loader| loader.exists()));
    files
}

/// The first word after `#!`.
fn interpreter(file: &Path) -> Option<PathBuf> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let mut start = Vec::new();
    // Opening a pipe would wait for its other end.
    if !file.is_file() {
        return None;
    }
    File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    (!word.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_the_first_word_of_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script");
        let check = |text: &[u8], expected: Option<&str>| {
            std::fs::write(&file, text).unwrap();
            assert_eq!(interpreter(&file), expected.map(PathBuf::from), "{text:?}");
        };
        check(b"#!/bin/sh\n", Some("/bin/sh"));
        check(b"#! /usr/bin/env  python3 -x\nrest", Some("/usr/bin/env"));
        check(b"#!/bin/sh", Some("/bin/sh"));
        check(b"#!", None);
        check(b"#!   \n/bin/sh", None);
        check(b"\x7fELF", None);
        check(b"", None);
        assert_eq!(interpreter(folder.path()), None);
        assert_eq!(interpreter(Path::new("/nonexistent")), None);
    }

    #[test]
    fn a_script_that_names_itself_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("loop");
        std::fs::write(&file, format!("#!{}\n", file.display())).unwrap();
        assert!(executed_for(&file).len() <= 1 + SCRIPTS + LOADERS.len());
    }
}
