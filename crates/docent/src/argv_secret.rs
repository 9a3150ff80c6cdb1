//! Hides a key given with --auth from the process list, which every user of the machine can read: docent re-executes
//! itself without it and passes it in the environment, which only the same user can read.

use crate::config::AUTH_KEY_VARIABLE;
use std::{ffi::OsString, io, os::unix::process::CommandExt as _, process::Command};

const AUTH_FLAG: &str = "--auth";

/// Re-executes docent without the key among its arguments, under the same process id. Returns only on failure, with the
/// reason. Must be called while this process has one thread, before it does anything else.
pub(crate) fn reexec_without_key(args: &[OsString], key: &str) -> io::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let kept = without_key(args);
    // Each round has fewer arguments than the one before, so this ends.
    let Some((name, words)) = kept.split_first().filter(|_| kept.len() < args.len()) else {
        return io::Error::other("--auth was not found among the arguments");
    };
    Command::new(program).arg0(name).args(words).env(AUTH_KEY_VARIABLE, key).exec()
}

fn without_key(args: &[OsString]) -> Vec<OsString> {
    let mut kept = Vec::with_capacity(args.len());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if word == AUTH_FLAG {
            words.next();
            continue;
        }
        let text = word.to_string_lossy();
        let is_whole = text.strip_prefix(AUTH_FLAG).is_some_and(|rest| rest.starts_with('='));
        if !is_whole {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_goes_with_its_value() {
        for (args, want) in [
            ("docent serve --auth key --port 9", "docent serve --port 9"),
            ("docent serve --port 9 --auth=key", "docent serve --port 9"),
            ("docent serve --auth key", "docent serve"),
            ("docent serve --authority=x --host auth", "docent serve --authority=x --host auth"),
        ] {
            let words: Vec<OsString> = args.split(' ').map(OsString::from).collect();
            let kept: Vec<String> =
                without_key(&words).into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(kept.join(" "), want);
        }
    }
}
