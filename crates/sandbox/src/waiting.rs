//! A launcher that is started before it is known what to launch, so that its own start is over by then.
//!
//! It is told everything through its standard input, which is the program's afterwards: it reads what is for it, and not
//! a byte more. Its own environment is empty.

use crate::{
    InForce, Launch, Offered, Refused,
    launch::{Description, SUBCOMMAND},
};
use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    path::{Path, PathBuf},
    process::Command,
};

/// Stands in the place of the description.
pub(crate) const WAITS: &str = "-";

/// Bytes that a launcher is told at most: what an empty pipe takes at once on every system, so that nobody has to wait.
const MOST: usize = 60 * 1024;

/// Between the words, none of which can hold it.
const BETWEEN: u8 = 0;

/// The command of a launcher that waits. Its standard input has to be a pipe.
pub fn waiting(executable: &Path) -> Command {
    let mut command = Command::new(executable);
    command.args([SUBCOMMAND, WAITS]).env_clear();
    command
}

impl Launch {
    /// What a launcher that waits is told to become this child, and what will be in force then. `None` where it takes
    /// [`Launch::command_with`]: bubblewrap around it, no launcher at all, or more words than a pipe takes.
    pub fn told_with(&self, offered: &Offered) -> Result<Option<(Vec<u8>, InForce)>, Refused> {
        if self.bubblewrap || !self.is_launched() {
            return Ok(None);
        }
        let (program, report) = self.planned(offered)?;
        let description = serde_json::to_string(&self.described(false))?;
        let folder = self.cwd.as_ref().map(|folder| folder.as_os_str()).unwrap_or_default();
        let count = self.args.len().to_string();
        let mut words: Vec<&[u8]> = vec![
            description.as_bytes(),
            bytes(folder),
            bytes(program.as_os_str()),
            count.as_bytes(),
        ];
        words.extend(self.args.iter().map(|word| bytes(word)));
        for (name, value) in &self.environment.kept {
            words.extend([bytes(name), bytes(value)]);
        }
        if words.iter().any(|word| word.contains(&BETWEEN)) {
            return Ok(None);
        }
        let told = words.join(&BETWEEN);
        let length = u32::try_from(told.len()).ok().filter(|_| told.len() <= MOST);
        let Some(length) = length else { return Ok(None) };
        Ok(Some(([length.to_be_bytes().as_slice(), &told].concat(), report)))
    }
}

/// What a launcher that waits was told: how to confine itself, in which folder, and the program to become then.
pub(crate) fn hear(
    mut input: impl Read,
) -> Result<(Description, Option<PathBuf>, Command), Refused> {
    let failed = |error: io::Error| Refused::failed("orders from standard input", error);
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(failed)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MOST {
        return Err(Refused::Usage);
    }
    let mut told = vec![0; length];
    input.read_exact(&mut told).map_err(failed)?;
    let mut words = told.split(|byte| *byte == BETWEEN);
    let mut next = || words.next().ok_or(Refused::Usage);
    let description = serde_json::from_slice(next()?)?;
    let (folder, program) = (word(next()?), word(next()?));
    let count = std::str::from_utf8(next()?).ok().and_then(|count| count.parse().ok());
    let count: usize = count.ok_or(Refused::Usage)?;
    if !Path::new(&program).is_absolute() {
        return Err(Refused::Usage);
    }
    let words: Vec<OsString> = words.map(word).collect();
    let (args, environment) = words.split_at_checked(count).ok_or(Refused::Usage)?;
    let (pairs, rest) = environment.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Refused::Usage);
    }
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(pairs.iter().map(|[name, value]| (name, value)));
    Ok((description, (!folder.is_empty()).then(|| folder.into()), command))
}

#[cfg(unix)]
fn bytes(word: &OsStr) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(word)
}

#[cfg(unix)]
fn word(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn bytes(word: &OsStr) -> &[u8] {
    word.as_encoded_bytes()
}

#[cfg(not(unix))]
fn word(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confinement, Environment, Mode};

    fn launch(args: &[&[u8]]) -> Launch {
        let mut launch = Launch::new(
            "/bin/sh",
            args.iter().map(|arg| word(arg)),
            Confinement::default(),
            Mode::Auto,
        );
        let kept = [("A".into(), "b c=\u{fc}".into()), ("EMPTY".into(), "".into())];
        launch.environment = Environment { kept: kept.into(), dropped: Vec::new() };
        launch.cwd = Some("/".into());
        launch
    }

    #[test]
    fn what_is_told_is_heard_and_nothing_behind_it() {
        let launch = launch(&[b"", b"a b\n", b"\xff", b"3"]);
        let (told, report) = launch.told_with(&Offered::default()).unwrap().unwrap();
        assert_eq!(report.mode, Mode::Auto);
        let mut input = told.as_slice().chain(b"for the program".as_slice());
        let (description, folder, command) = hear(&mut input).unwrap();
        assert_eq!(description.confinement, launch.confinement);
        assert_eq!(command.get_program(), "/bin/sh");
        assert!(command.get_args().eq(launch.args.iter()));
        assert_eq!(folder, launch.cwd);
        let kept = launch.environment.kept.iter().map(|(name, value)| (&**name, Some(&**value)));
        assert!(command.get_envs().eq(kept));
        let mut rest = String::new();
        input.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "for the program");
    }

    #[test]
    fn what_no_pipe_carries_goes_another_way() {
        let is_told = |launch: &Launch| launch.told_with(&Offered::default()).unwrap().is_some();
        assert!(is_told(&launch(&[b"x"])));
        assert!(!is_told(&launch(&[b"x\0y"])));
        assert!(!is_told(&launch(&[&vec![b'x'; MOST]])));
        assert!(!is_told(&Launch { bubblewrap: true, ..launch(&[]) }));
        assert!(!is_told(&Launch { mode: Mode::Off, ..launch(&[]) }));
        assert!(is_told(&Launch { mode: Mode::Off, die_with_parent: true, ..launch(&[]) }));
    }

    #[test]
    fn what_is_no_order_is_refused() {
        let description = serde_json::to_string(&launch(&[]).described(false)).unwrap();
        let check = |words: &[&str], good: bool| {
            let told = words.join("\0");
            let length = u32::try_from(told.len()).unwrap().to_be_bytes();
            let found = hear(length.as_slice().chain(told.as_bytes()));
            assert_eq!(found.is_ok(), good, "{words:?}");
        };
        check(&[&description, "", "/bin/sh", "0"], true);
        check(&[&description, "", "/bin/sh", "0", "A", "b"], true);
        check(&[&description, "", "/bin/sh", "0", "A"], false);
        check(&[&description, "", "/bin/sh", "2", "A"], false);
        check(&[&description, "", "/bin/sh", "x"], false);
        check(&[&description, "", "sh", "0"], false);
        check(&[&description, "", "/bin/sh"], false);
        check(&["{}", "", "/bin/sh", "0"], false);
        assert!(hear([255, 255, 255, 255].as_slice()).is_err());
        assert!(hear([0, 0].as_slice()).is_err());
    }
}
