//! Landlock: files by path, TCP by port, signals and abstract sockets by sandbox.

use crate::{
    Confinement, PortSet,
    plan::{LEADS_OUTSIDE, NOT_ABSOLUTE},
    report::{SandboxError, SkippedPath},
};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, RestrictSelf, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2},
    io::Errno,
};
use std::{
    fs::File,
    io::Read,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

/// The newest ABI whose rights are covered by tests. A newer kernel is limited to these.
const MAX_TESTED_ABI: u32 = 7;

/// Opens a file only to identify it.
const PATH_ONLY_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The loaders that the kernel executes on behalf of a program.
const DYNAMIC_LOADERS: [&str; 4] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// How many scripts may name each other as interpreter; the kernel's own limit.
const MAX_INTERPRETER_DEPTH: usize = 4;

/// Bytes of a script that the kernel reads.
const SHEBANG_BYTES: u64 = 256;

/// Separators of words in a script's first line; no other white space counts.
const SHEBANG_BLANKS: &[u8] = b" \t";

/// Why a file may not be executed.
const NOT_A_PROGRAM: &str = "it is not a program";

/// Returns the ABI that the kernel reports, or 0.
pub(crate) fn abi_of_kernel() -> u32 {
    // Without flags to set, this only queries and restricts nothing.
    match RestrictSelf::default().no_new_privs(false).apply().map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            kernel_abi.and_then(|abi| abi.try_into().ok()).unwrap_or(effective_abi as u32)
        }
        _ => 0,
    }
}

/// Restricts the calling thread, and returns the skipped paths.
pub(super) fn apply(
    confinement: &Confinement,
    abi: u32,
    program: Option<&Path>,
) -> Result<Vec<SkippedPath>, SandboxError> {
    let mut skipped = Vec::new();
    let status = ruleset(confinement, abi)
        .and_then(|ruleset| add_ports(ruleset, confinement, abi))
        .and_then(|ruleset| add_paths(ruleset, confinement, abi, program, &mut skipped))
        .and_then(RulesetCreated::restrict_self)
        .map_err(|error| SandboxError::failed("files", error))?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(SandboxError::failed("files", "the kernel enforces only a part of the rules"));
    }
    Ok(skipped)
}

fn known(abi: u32) -> ABI {
    ABI::from(abi.min(MAX_TESTED_ABI).cast_signed())
}

/// Denies everything that the ABI can deny, except what rules allow.
fn ruleset(confinement: &Confinement, abi: u32) -> Result<RulesetCreated, RulesetError> {
    let abi = known(abi);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    let mut ports = AccessNet::from_all(abi);
    if confinement.connect == PortSet::Any {
        ports.remove(AccessNet::ConnectTcp);
    }
    if confinement.bind == PortSet::Any {
        ports.remove(AccessNet::BindTcp);
    }
    // The library rejects an empty set.
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
    abi: u32,
    program: Option<&Path>,
    skipped: &mut Vec<SkippedPath>,
) -> Result<RulesetCreated, RulesetError> {
    let abi = known(abi);
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let execute = read | AccessFs::Execute;
    // No device files in a working folder: root could create one that reads the disk.
    let write =
        AccessFs::from_all(abi) & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
    let may_execute = if program.is_some() && !confinement.spawn { read } else { execute };
    let own = program.map(executed_for).unwrap_or_default();
    let rules = (confinement.read.iter().map(|path| (path, read)))
        .chain(confinement.write.iter().map(|path| (path, write)))
        .chain(confinement.execute.iter().map(|path| (path, may_execute)))
        .map(|(path, rights)| (path, rule(path, rights, abi, confinement)))
        .chain(own.iter().take(1).map(|path| (path, rule_of_file(path, execute, abi))))
        .chain(own.iter().skip(1).map(|path| (path, rule_of_program(path, execute, abi))));
    for (path, rule) in rules {
        match rule {
            Ok(rule) => ruleset = ruleset.add_rule(rule)?,
            Err(reason) => skipped.push(SkippedPath { path: path.clone(), reason }),
        }
    }
    Ok(ruleset)
}

fn rule(
    path: &Path,
    rights: BitFlags<AccessFs>,
    abi: ABI,
    confinement: &Confinement,
) -> Result<PathBeneath<OwnedFd>, String> {
    let (opened, kind, _) = opened(path, confinement.place_around(path))?;
    let is_folder = kind == FileType::Directory;
    let rights = if is_folder { rights } else { rights & AccessFs::from_file(abi) };
    Ok(PathBeneath::new(opened, rights))
}

/// Creates a rule for the requested program, whatever its contents are: a user may run what they may not read.
fn rule_of_file(
    path: &Path,
    rights: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<PathBeneath<OwnedFd>, String> {
    let (opened, kind, _) = opened(path, None)?;
    if kind != FileType::RegularFile {
        return Err(NOT_A_PROGRAM.to_owned());
    }
    Ok(PathBeneath::new(opened, rights & AccessFs::from_file(abi)))
}

/// Creates a rule for a file that the kernel executes with a program. A script names it itself, so it must be a
/// program: not a folder, and not a file that merely has an executable mode, which a confined process may have set.
fn rule_of_program(
    path: &Path,
    rights: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<PathBeneath<OwnedFd>, String> {
    let (opened, kind, mode) = opened(path, None)?;
    let is_executable = mode.intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
    if kind != FileType::RegularFile || !is_executable || !begins_as_program(&opened) {
        return Err(NOT_A_PROGRAM.to_owned());
    }
    Ok(PathBeneath::new(opened, rights & AccessFs::from_file(abi)))
}

/// Whether a file starts like a script or a binary. Checks the opened file, whatever its path leads to by now.
fn begins_as_program(opened: &OwnedFd) -> bool {
    let mut start = [0_u8; 4];
    let file = File::open(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    let read = file.and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start.starts_with(b"#!") || start == *b"\x7fELF")
}

/// Opens what `path` leads to now, and returns its type and mode. Inside a changeable folder, no link may lead out of
/// it.
fn opened(path: &Path, place: Option<&Path>) -> Result<(OwnedFd, FileType, Mode), String> {
    if !path.is_absolute() {
        return Err(NOT_ABSOLUTE.to_owned());
    }
    let reason = |error: Errno| match error {
        Errno::XDEV => LEADS_OUTSIDE.to_owned(),
        error => error.to_string(),
    };
    // The path to the folder itself can't be changed.
    let found = match place.filter(|place| *place != path) {
        Some(place) => opened_within(path, place),
        None => open(path, PATH_ONLY_FLAGS, Mode::empty()),
    };
    let found = found.map_err(reason)?;
    let mode = fstat(&found).map_err(reason)?.st_mode;
    Ok((found, FileType::from_raw_mode(mode), Mode::from_raw_mode(mode)))
}

/// Opens what `path` leads to now, if that is inside `place`. The location of the opened file is checked, so that it
/// can't be changed in between, and a link may use an absolute path within the same folder.
fn opened_within(path: &Path, place: &Path) -> Result<OwnedFd, Errno> {
    let none = Mode::empty();
    let around = open(place, PATH_ONLY_FLAGS, none)?;
    // Magic links of the kernel lead to other views of the file system, where the same path is a different file.
    let found = match openat2(CWD, path, PATH_ONLY_FLAGS, none, ResolveFlags::NO_MAGICLINKS) {
        // Kernels without this call have no Landlock either.
        Err(Errno::NOSYS | Errno::PERM) => open(path, PATH_ONLY_FLAGS, none)?,
        found => found?,
    };
    match (location(&found), location(&around)) {
        (Some(end), Some(bounds)) if end.starts_with(&bounds) => Ok(found),
        (Some(_), Some(_)) => Err(Errno::XDEV),
        // Without /proc, the target of an absolute path can't be determined.
        _ => {
            let inner = path.strip_prefix(place).map_err(|_| Errno::XDEV)?;
            openat2(&around, inner, PATH_ONLY_FLAGS, none, ResolveFlags::BENEATH)
        }
    }
}

/// Returns the path of an opened file.
fn location(opened: &OwnedFd) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()
}

/// Whether `path` leads out of `place`, so that no rule can be created for it.
pub(crate) fn leads_out(path: &Path, place: &Path) -> bool {
    opened(path, Some(place)).is_err()
}

/// Lists the files that the kernel executes with `program`: itself, the interpreters of scripts, and the loader.
fn executed_for(program: &Path) -> Vec<PathBuf> {
    let mut files = vec![program.to_path_buf()];
    for _ in 0..MAX_INTERPRETER_DEPTH {
        let Some(interpreter) = files.last().and_then(|file| interpreter(file)) else { break };
        files.push(interpreter);
    }
    files.extend(DYNAMIC_LOADERS.iter().map(PathBuf::from).filter(|loader| loader.exists()));
    files
}

/// Returns the first word after `#!`, as the kernel reads it.
fn interpreter(file: &Path) -> Option<PathBuf> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let mut start = Vec::new();
    // Opening a pipe would wait for its other end.
    if !file.is_file() {
        return None;
    }
    File::open(file).ok()?.take(SHEBANG_BYTES).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?;
    let begin = line.iter().position(|byte| !SHEBANG_BLANKS.contains(byte))?;
    let (_, line) = line.split_at(begin);
    let end =
        line.iter().position(|byte| SHEBANG_BLANKS.contains(byte) || matches!(byte, b'\n' | 0));
    // The kernel rejects a word that continues beyond what it reads.
    let end = end.or_else(|| ((start.len() as u64) < SHEBANG_BYTES).then_some(line.len()))?;
    let (word, _) = line.split_at(end);
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
        check(b"#!\t/bin/sh\t-x\n", Some("/bin/sh"));
        check(b"#!/bin/sh\0 -x\n", Some("/bin/sh"));
        check(b"#!/bin/sh\r\n", Some("/bin/sh\r"));
        check(b"#!/bin/sh\x0c -x\n", Some("/bin/sh\x0c"));
        check(b"#!\x0b/bin/sh\n", Some("\x0b/bin/sh"));
        let longest = format!("/{}", "x".repeat(252));
        check(format!("#!{longest}\n").as_bytes(), Some(&longest));
        check(format!("#!{longest}x\n").as_bytes(), None);
        check(b"#!", None);
        check(b"#!   \n/bin/sh", None);
        check(b"\x7fELF", None);
        check(b"", None);
        assert_eq!(interpreter(folder.path()), None);
        assert_eq!(interpreter(&folder.path().join("missing")), None);
    }

    #[test]
    fn a_script_opens_nothing_but_a_program() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        for (name, mode, text) in [
            ("program", 0o700, "#!/bin/sh\n"),
            ("text", 0o600, "#!/bin/sh\n"),
            ("key", 0o700, "-----BEGIN"),
            ("closed", 0o100, "\x7fELF"),
        ] {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink("program", folder.path().join("to-program")).unwrap();
        symlink("/", folder.path().join("to-folder")).unwrap();
        for (path, opens, is_file) in [
            ("program", true, true),
            ("to-program", true, true),
            ("text", false, true),
            ("key", false, true),
            ("to-folder", false, false),
            (".", false, false),
            ("nothing", false, false),
        ] {
            let path = folder.path().join(path);
            let rule = rule_of_program(&path, AccessFs::Execute.into(), ABI::V1);
            assert_eq!(rule.is_ok(), opens, "{}", path.display());
            // The requested program is run whatever it is.
            let rule = rule_of_file(&path, AccessFs::Execute.into(), ABI::V1);
            assert_eq!(rule.is_ok(), is_file, "{}", path.display());
        }
        let closed = folder.path().join("closed");
        assert!(rule_of_file(&closed, AccessFs::Execute.into(), ABI::V1).is_ok());
        assert!(rule_of_program(Path::new("bin/sh"), AccessFs::Execute.into(), ABI::V1).is_err());
    }

    #[test]
    fn what_lies_in_a_changeable_place_does_not_lead_out_of_it() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["place/inner/kept", "outside/kept"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        symlink("inner", at("place/near")).unwrap();
        symlink(at("place/inner"), at("place/whole")).unwrap();
        symlink(at("outside"), at("place/far")).unwrap();
        let view = format!("/proc/self/root{}", at("place/inner").display());
        symlink(view, at("place/view")).unwrap();
        symlink("../outside", at("place/inner/up")).unwrap();
        symlink("../../outside", at("place/inner/out")).unwrap();
        // The inner folder is ignored, because the path to it can be changed.
        let confinement = Confinement::default().changeable([at("place/inner"), at("place")]);
        for (path, opens) in [
            ("place", true),
            ("place/inner", true),
            ("place/inner/kept", true),
            ("place/near/kept", true),
            ("place/whole/kept", true),
            ("place/view", false),
            ("place/far", false),
            ("place/far/kept", false),
            ("place/inner/up", false),
            ("place/inner/out", false),
            ("place/../outside", false),
            ("outside/kept", true),
        ] {
            let opened = opened(&at(path), confinement.place_around(&at(path)));
            assert_eq!(opened.is_ok(), opens, "{path}: {opened:?}");
        }
        let asked = ["far", "near", "view", "whole"].map(|name| at("place").join(name));
        let skipped = crate::skipped(&confinement.read(asked));
        let skipped: Vec<PathBuf> = skipped.into_iter().map(|one| one.path).collect();
        assert_eq!(skipped, [at("place/far"), at("place/view")]);
    }

    #[test]
    fn a_script_that_names_itself_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("loop");
        std::fs::write(&file, format!("#!{}\n", file.display())).unwrap();
        assert!(executed_for(&file).len() <= 1 + MAX_INTERPRETER_DEPTH + DYNAMIC_LOADERS.len());
    }
}
