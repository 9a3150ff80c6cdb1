//! A child in the real bubblewrap: what it adds to the kernel's own controls, and ordinary work in it. The escape
//! attempts run in it too.

use crate::stage::{ConfinementFixture, bubblewrap};
use docent_sandbox::{Confinement, ConfinementMode};
use docent_testenv::or_skip;
use std::{io::Read, process::Stdio, sync::mpsc, time::Duration};

/// Runs `code` in bubblewrap.
fn check(
    code: &str,
    change: impl Fn(Confinement, &ConfinementFixture) -> Confinement,
    expected: &str,
) {
    let stage = ConfinementFixture::new();
    let answer = stage.wrapped(code, change(stage.confinement(), &stage), None);
    assert_eq!(answer.as_deref(), Ok(expected), "{code}");
}

/// Landlock lets a child check whether a file exists.
#[test]
fn what_is_not_named_is_out_of_sight() {
    or_skip!(bubblewrap());
    let process = format!("os.stat('/proc/{}')", std::process::id());
    for code in ["os.stat(outside + '/file')", "os.stat('/etc/shadow')", &process] {
        let stage = ConfinementFixture::new();
        assert_eq!(
            stage.python(code, stage.confinement(), ConfinementMode::Strict),
            "done",
            "{code}"
        );
        check(code, |same, _| same, "ENOENT");
    }
}

#[test]
fn work_goes_on() {
    or_skip!(bubblewrap());
    let done = |code: &str| check(code, |same, _| same, "done");
    done("assert open(inside + '/file').read() == 'text'");
    done(
        "os.mkdir(out + '/a'); open(out + '/a/new', 'w').write('x'); os.rename(out + '/a', out + '/b')",
    );
    done("assert subprocess.run(['/bin/sh', '-c', 'true | cat > /dev/null']).returncode == 0");
    done("assert open('/proc/self/status').read(); os.urandom(8)");
    // In either order, writable paths stay writable.
    let both = |same: Confinement, stage: &ConfinementFixture| {
        same.write([stage.path("inside/file")]).read([stage.path("out/file")])
    };
    check(
        "open(out + '/file', 'a').write('x'); open(inside + '/file', 'a').write('x')",
        both,
        "done",
    );
    check("open(inside + '/script', 'a').write('x')", both, "EROFS");
}

/// A server's working folder is the user's home unless configured, and it need not be visible.
#[test]
fn a_working_folder_need_not_be_in_sight() {
    or_skip!(bubblewrap());
    let stage = ConfinementFixture::new();
    for (folder, code) in [
        ("outside", "assert os.getcwd() == outside and not os.path.exists('file')"),
        ("inside", "assert open('file').read() == 'text'"),
        ("out", "open('new', 'w').write('x')"),
    ] {
        let answer = stage.wrapped(code, stage.confinement(), Some(stage.path(folder)));
        assert_eq!(answer.as_deref(), Ok("done"), "{folder}: {code}");
    }
}

/// docent knows only the process of bubblewrap.
#[test]
fn what_runs_in_it_ends_with_it() {
    or_skip!(bubblewrap());
    let stage = ConfinementFixture::new();
    let code = "print('here', flush=True); os.execv('/bin/sleep', ['sleep', '600'])";
    let (launch, offered) = stage.wrapping(code, stage.confinement()).unwrap();
    let mut command = launch.command_with(&offered).unwrap().command;
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut said = [0; 5];
    pipe.read_exact(&mut said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // The pipe is closed when the last process that has it ends.
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(pipe.read_to_string(&mut String::new()).unwrap()));
    let read = end.recv_timeout(Duration::from_mins(1)).expect("it outlived bubblewrap");
    assert_eq!(read, 0);
}
