//! bubblewrap's arguments: a view of the file system that contains only the paths of a description.

use crate::{
    Confinement, ConfinementMode, SandboxSupport,
    plan::leads_out,
    report::{ControlState, SandboxControl},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Mounts that bubblewrap creates itself.
const BUBBLEWRAP_MOUNTS: [&str; 2] = ["/dev", "/proc"];

/// Reports whether bubblewrap will run around the child.
pub(crate) fn control(
    asked: bool,
    mode: ConfinementMode,
    offered: &SandboxSupport,
) -> SandboxControl {
    let (state, detail) = match (&offered.bubblewrap, asked) {
        _ if mode == ConfinementMode::Off => (ControlState::Off, "the sandbox is off".to_owned()),
        (_, false) => (ControlState::Off, "not asked for".to_owned()),
        (None, true) => (ControlState::NotOffered, "bubblewrap is not installed".to_owned()),
        (Some(path), true) => (
            ControlState::InForce,
            format!("{}: other paths and processes are invisible", path.display()),
        ),
    };
    SandboxControl { name: "bubblewrap", state, detail }
}

/// Returns the arguments before the program. `files` are readable in addition to the paths of `confinement`.
pub(crate) fn arguments(
    confinement: &Confinement,
    files: &[&Path],
    cwd: Option<&Path>,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["--unshare-all", "--die-with-parent", "--new-session"].map(Into::into).into();
    if confinement.internet() {
        arguments.push("--share-net".into());
    }
    arguments.extend(["--proc", "/proc", "--dev", "/dev"].map(OsString::from));
    for (path, writable) in binds(confinement, files) {
        let option = if writable { "--bind-try" } else { "--ro-bind-try" };
        arguments.extend([option.into(), path.clone().into_os_string(), path.into_os_string()]);
    }
    if let Some(folder) = cwd {
        // Creates an empty folder if no bind shows it, because bubblewrap would not start without it.
        for option in ["--dir", "--chdir"] {
            arguments.extend([option.into(), folder.as_os_str().to_owned()]);
        }
    }
    arguments.push("--".into());
    arguments
}

/// Returns the visible paths and whether they are writable, each after its parent folders, because a later bind covers
/// an earlier one. A path inside a writable folder therefore has no bind of its own. Neither has a link that leads out
/// of a folder that programs may change, because bubblewrap would follow it, nor a path inside a readable folder,
/// because its path may contain a link, which bubblewrap can't mount behind.
fn binds(confinement: &Confinement, files: &[&Path]) -> BTreeMap<PathBuf, bool> {
    let readable = confinement.read.iter().chain(&confinement.execute).map(PathBuf::as_path);
    let mut binds: BTreeMap<PathBuf, bool> =
        readable.chain(files.iter().copied()).map(|path| (path.to_path_buf(), false)).collect();
    let is_within = |path: &Path, folder: &PathBuf| path.starts_with(folder);
    binds.retain(|path, _| !confinement.write.iter().any(|folder| is_within(path, folder)));
    let covered = |path: &PathBuf| {
        confinement.write.iter().any(|folder| folder != path && is_within(path, folder))
    };
    let writable = confinement.write.iter().filter(|path| !covered(path));
    binds.extend(writable.map(|path| (path.clone(), true)));
    binds.retain(|path, _| {
        path.is_absolute() && !BUBBLEWRAP_MOUNTS.iter().any(|own| path.starts_with(own))
    });
    binds.retain(|path, _| !leads_out(path, confinement));
    let readable = binds.iter().filter(|(_, writable)| !**writable);
    let readable: Vec<PathBuf> = readable.map(|(path, _)| path.clone()).collect();
    binds.retain(|path, writable| {
        let is_shown = |folder: &PathBuf| folder != path && path.starts_with(folder);
        *writable || !readable.iter().any(is_shown)
    });
    binds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortSet;

    fn text(confinement: &Confinement, cwd: Option<&str>) -> String {
        let arguments = arguments(confinement, &[Path::new("/opt/docent")], cwd.map(Path::new));
        let arguments: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        arguments.join(" ")
    }

    #[test]
    fn a_description_becomes_arguments() {
        let start = "--unshare-all --die-with-parent --new-session";
        let places = "--proc /proc --dev /dev";
        let own = "--ro-bind-try /opt/docent /opt/docent";
        let check = |confinement: Confinement, cwd: Option<&str>, expected: String| {
            assert_eq!(text(&confinement, cwd), expected);
        };
        check(Confinement::default(), None, format!("{start} {places} {own} --"));
        check(
            Confinement::default(),
            Some("/srv"),
            format!("{start} {places} {own} --dir /srv --chdir /srv --"),
        );
        for open in [
            Confinement::default().udp(true),
            Confinement::default().connect(PortSet::Any),
            Confinement::default().bind(PortSet::Some(vec![80])),
        ] {
            check(open, None, format!("{start} --share-net {places} {own} --"));
        }
        // Parents come first, so that writable paths inside stay writable; bubblewrap provides devices and processes.
        check(
            Confinement::default()
                .write(["/srv/a/out", "/srv/both", "/dev/null", "relative"])
                .read(["/srv/a", "/srv/a/shown", "/srv/both", "/srv/both/in", "/proc/self"])
                .execute(["/usr", "/usr/lib/x"]),
            None,
            format!(
                "{start} {places} {own} --ro-bind-try /srv/a /srv/a --bind-try /srv/a/out /srv/a/out \
                 --bind-try /srv/both /srv/both --ro-bind-try /usr /usr --"
            ),
        );
    }
}
