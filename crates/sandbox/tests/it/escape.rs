//! Escape attempts. Each succeeds without the sandbox, which shows that the sandbox stops it.

use crate::stage::{ConfinementFixture, bubblewrap, launch, requirements};
use docent_sandbox::{Confinement, ConfinementMode, PortSet, ResourceLimits};
use docent_testenv::{or_skip, skip_part};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

type Change = fn(Confinement) -> Confinement;

/// Python code, additions to the default description, and the errors that count as stopped.
struct Attempt {
    code: &'static str,
    change: Change,
    stopped: &'static [&'static str],
    /// Without the sandbox only root succeeds.
    root: bool,
}

const fn attempt(code: &'static str, stopped: &'static [&'static str]) -> Attempt {
    Attempt { code, change: |same| same, stopped, root: false }
}

impl Attempt {
    const fn with(mut self, change: Change) -> Self {
        self.change = change;
        self
    }

    const fn by_root(mut self) -> Self {
        self.root = true;
        self
    }
}

fn check(attempts: &[Attempt]) {
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let wraps = bubblewrap();
    for Attempt { code, change, stopped, root: takes_root } in attempts {
        let stage = ConfinementFixture::new();
        let answer = stage.python(code, change(stage.confinement()), ConfinementMode::Strict);
        assert!(stopped.contains(&answer.as_str()), "{code}: {answer}, not one of {stopped:?}");
        if wraps.is_ok() {
            // Which error it is depends on which of the two stops it.
            let stage = ConfinementFixture::new();
            let wrapped = stage.wrapped(code, change(stage.confinement()), None);
            assert_ne!(wrapped.as_deref(), Ok("done"), "in bubblewrap: {code}");
        }
        if root || !takes_root {
            let stage = ConfinementFixture::new();
            let answer = stage.python(code, change(stage.confinement()), ConfinementMode::Off);
            assert_eq!(answer, "done", "without the sandbox: {code}");
        }
    }
    if let Err(reason) = wraps {
        skip_part!("the attempts in bubblewrap: {reason}");
    }
    let by_root = attempts.iter().filter(|attempt| attempt.root && !root).count();
    if by_root > 0 {
        skip_part!(
            "{by_root} of {} attempts without the sandbox: only root succeeds",
            attempts.len()
        );
    }
}

const ACCESS: &[&str] = &["EACCES"];
const PERMISSION: &[&str] = &["EPERM"];

/// A port other than the listener's.
fn another_port(confinement: Confinement) -> Confinement {
    confinement.connect(PortSet::Some(vec![1]))
}

#[test]
fn files_outside_stay_closed() {
    or_skip!(requirements());
    check(&[
        attempt("open(outside + '/file').read()", ACCESS),
        attempt("os.listdir(outside)", ACCESS),
        attempt("open('/proc/self/root' + outside + '/file').read()", ACCESS),
        attempt("open(inside + '/../outside/file').read()", ACCESS),
        attempt("os.symlink(outside + '/file', out + '/link'); open(out + '/link').read()", ACCESS),
        attempt("open(outside + '/new', 'w')", ACCESS),
        attempt("open(outside + '/file', 'a')", ACCESS),
        attempt("os.truncate(outside + '/file', 0)", ACCESS),
        attempt("os.unlink(outside + '/file')", ACCESS),
        attempt("os.mkdir(outside + '/new')", ACCESS),
        attempt("os.link(outside + '/file', out + '/link')", &["EACCES", "EXDEV"]),
        attempt("os.rename(outside + '/file', out + '/file')", &["EACCES", "EXDEV"]),
        attempt("os.rename(out + '/file', outside + '/file')", &["EACCES", "EXDEV"]),
        attempt("open('/proc/%d/environ' % os.getppid()).read()", ACCESS),
        attempt("open('/etc/shadow').read()", ACCESS).by_root(),
        attempt(
            "os.mknod(out + '/disk', stat.S_IFCHR | 0o600, os.makedev(1, 3))",
            &["EACCES", "EPERM"],
        )
        .by_root(),
    ]);
}

/// The kernel and the sandbox must read the same name in it; a different name could be a link to anything.
#[test]
fn the_first_line_of_a_script_opens_nothing() {
    or_skip!(requirements());
    for end in ["\r", "\x0c", "\x0b"] {
        let stage = ConfinementFixture::new();
        let (program, name) = (stage.path("out/program"), stage.path("python"));
        let named = format!("{}{end}", name.display());
        symlink(stage.path("outside"), &name).unwrap();
        symlink("/usr/bin/python3", &named).unwrap();
        let code = "import sys; print(open(sys.argv[1]).read())";
        fs::write(&program, format!("#!{named}\n{code}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let run = |mode| {
            let args = vec![stage.path("outside/file").into()];
            launch(&program, args, stage.confinement(), mode)
        };
        let free = run(ConfinementMode::Off);
        assert_eq!(String::from_utf8_lossy(&free.stdout), "text\n", "{free:?}");
        let held = run(ConfinementMode::Strict);
        assert!(held.stdout.is_empty(), "{held:?}");
        let stderr = String::from_utf8_lossy(&held.stderr);
        assert!(stderr.contains("PermissionError"), "{end:?}: {stderr}");
    }
}

/// A program can create a link in a writable folder, and be restarted.
#[test]
fn a_link_in_a_changeable_place_opens_nothing() {
    or_skip!(requirements());
    let swap = "os.rename(out + '/kept', out + '/moved'); os.symlink(outside, out + '/kept')";
    for code in ["open(outside + '/file').read()", "open(outside + '/file', 'a').write('x')"] {
        let stage = ConfinementFixture::new();
        fs::create_dir(stage.path("out/kept")).unwrap();
        let named = stage.confinement().write([stage.path("out/kept")]);
        assert_eq!(stage.python(swap, named.clone(), ConfinementMode::Strict), "done");
        assert_eq!(
            stage.python(code, named.clone(), ConfinementMode::Strict),
            "done",
            "a rule is followed"
        );
        let known = named.changeable([stage.path("out")]);
        assert_eq!(stage.python(code, known.clone(), ConfinementMode::Strict), "EACCES", "{code}");
        match stage.wrapped(code, known, None) {
            Ok(answer) => assert_ne!(answer, "done", "in bubblewrap: {code}"),
            Err(reason) => skip_part!("the attempts in bubblewrap: {reason}"),
        }
    }
}

#[test]
fn what_may_be_read_can_not_be_changed() {
    or_skip!(requirements());
    check(&[
        attempt("open(inside + '/file', 'a')", ACCESS),
        attempt("open(inside + '/new', 'w')", ACCESS),
        attempt("os.truncate(inside + '/file', 0)", ACCESS),
        attempt("os.unlink(inside + '/file')", ACCESS),
        attempt("os.rename(inside + '/file', inside + '/other')", ACCESS),
        attempt("os.rename(inside + '/file', out + '/other')", &["EACCES", "EXDEV"]),
    ]);
}

#[test]
fn owners_modes_and_times_stay_as_they_are() {
    or_skip!(requirements());
    check(&[
        attempt("os.chmod(outside + '/file', 0o777)", PERMISSION),
        attempt("os.fchmod(os.open(inside + '/file', os.O_RDONLY), 0o777)", PERMISSION),
        attempt("os.chown(outside + '/file', os.getuid(), os.getgid())", PERMISSION),
        attempt("os.utime(outside + '/file')", PERMISSION),
    ]);
}

#[test]
fn only_what_may_be_executed_is() {
    const SPAWN_OFF: Change = |confinement| confinement.spawn(false);
    or_skip!(requirements());
    check(&[
        attempt("subprocess.run([outside + '/script'], check=True)", ACCESS),
        attempt("subprocess.run([inside + '/script'], check=True)", ACCESS),
        attempt("subprocess.run([out + '/script'], check=True)", ACCESS),
        attempt(
            "import shutil; shutil.copyfile('/bin/true', out + '/script'); subprocess.run([out + '/script'], check=True)",
            ACCESS,
        ),
        // A file without a path.
        attempt(
            "fd = os.memfd_create('x'); os.write(fd, open('/bin/true', 'rb').read()); \
             subprocess.run(['/proc/%d/fd/%d' % (os.getpid(), fd)], check=True)",
            PERMISSION,
        ),
        attempt("subprocess.run(['/bin/true'], check=True)", PERMISSION).with(SPAWN_OFF),
        attempt("pid = os.fork()\nif pid == 0: os._exit(0)\nwait(pid)", PERMISSION).with(SPAWN_OFF),
        attempt("print('done', flush=True); os.execv('/bin/true', ['true'])", &["done\nEACCES"])
            .with(SPAWN_OFF),
    ]);
}

#[test]
fn the_network_is_what_the_description_says() {
    const UDP: Change = |confinement| confinement.udp(true);
    const TCP: &str = "socket.create_connection(('127.0.0.1', port)).close()";
    or_skip!(requirements());
    check(&[
        attempt(TCP, PERMISSION),
        attempt(TCP, ACCESS).with(another_port),
        attempt(TCP, ACCESS).with(|confinement| confinement.bind(PortSet::Any)),
        attempt(TCP, ACCESS).with(UDP),
        // Three ways to a TCP peer that Landlock does not check.
        attempt(
            "socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', port))",
            PERMISSION,
        )
        .with(another_port),
        attempt(
            "socket.socket().sendmsg([b'x'], [], socket.MSG_FASTOPEN, ('127.0.0.1', port))",
            PERMISSION,
        )
        .with(another_port),
        attempt(
            "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('127.0.0.1', port))",
            PERMISSION,
        )
        .with(another_port),
        // Any name will do, so that no module is loaded by this.
        attempt(
            "try: socket.socket().setsockopt(socket.IPPROTO_TCP, 31, b'x')\n\
             except OSError as error:\n  if error.errno == errno.EPERM: raise",
            PERMISSION,
        )
        .with(another_port),
        attempt("socket.socket().bind(('127.0.0.1', 0))", ACCESS).with(another_port),
        attempt("socket.socket().bind(('127.0.0.1', 0))", ACCESS)
            .with(|c| c.bind(PortSet::Some(vec![1]))),
        attempt("socket.socket().listen()", PERMISSION).with(another_port),
        attempt(
            "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))",
            PERMISSION,
        )
        .with(another_port),
        attempt("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)", PERMISSION).with(another_port),
        attempt(
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)",
            PERMISSION,
        )
        .with(another_port),
        attempt("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", PERMISSION)
            .with(UDP)
            .by_root(),
        attempt("socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)", PERMISSION).with(UDP),
        attempt("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)", PERMISSION).with(UDP).by_root(),
        attempt("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", PERMISSION).with(UDP),
    ]);
}

#[test]
fn unix_sockets_outside_are_out_of_reach() {
    or_skip!(requirements());
    check(&[
        attempt("socket.socket(socket.AF_UNIX).connect(outside + '/socket')", PERMISSION),
        attempt("socket.socket(socket.AF_UNIX).connect(outside + '/socket')", PERMISSION)
            .with(another_port),
        attempt("socket.socket(socket.AF_UNIX).connect('\\0' + name)", PERMISSION)
            .with(|c| c.unix_sockets(true)),
        attempt("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", PERMISSION),
        attempt("socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)", PERMISSION),
    ]);
}

#[test]
fn other_processes_are_out_of_reach() {
    or_skip!(requirements());
    check(&[
        attempt("os.kill(os.getppid(), 0)", PERMISSION),
        attempt(
            "call('prlimit64', os.getppid(), 7, 0, (ctypes.c_uint64 * 2)())",
            PERMISSION,
        ),
        // Sets current values, so that nothing changes.
        attempt(
            "p = os.getppid(); os.setpriority(os.PRIO_PROCESS, p, os.getpriority(os.PRIO_PROCESS, p))",
            PERMISSION,
        ),
        attempt(
            "p = os.getppid(); call('ioprio_set', 1, p, call('ioprio_get', 1, p))",
            PERMISSION,
        ),
        attempt(
            "p = os.getppid(); a = (ctypes.c_uint32 * 12)(48); call('sched_getattr', p, a, 48, 0); \
             call('sched_setattr', p, a, 0)",
            PERMISSION,
        ),
        attempt("call('ptrace', 0, 0, 0, 0)", PERMISSION),
        attempt(
            "pid = os.getpid(); b = (ctypes.c_char * 8)(); v = (ctypes.c_void_p * 2)(ctypes.addressof(b), 8); \
             call('process_vm_readv', pid, ctypes.byref(v), 1, ctypes.byref(v), 1, 0)",
            PERMISSION,
        ),
        attempt("call('pidfd_getfd', call('pidfd_open', os.getpid(), 0), 1, 0)", PERMISSION),
        attempt(
            "m, s = os.openpty(); os.setsid(); fcntl.ioctl(s, termios.TIOCSCTTY, 0); fcntl.ioctl(s, termios.TIOCSTI, b'x')",
            PERMISSION,
        )
        .with(|confinement| confinement.write(["/dev/ptmx", "/dev/pts"]))
        .by_root(),
    ]);
}

#[test]
fn the_kernel_s_levers_are_out_of_reach() {
    const NEW_USER: &str = "0x10000000";
    or_skip!(requirements());
    let clone = format!(
        "pid = call('clone', {NEW_USER} | 17, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nwait(pid)"
    );
    let clone3 = format!(
        "a = (ctypes.c_uint64 * 8)({NEW_USER}, 0, 0, 0, 17); pid = call('clone3', ctypes.byref(a), 64)\n\
         if pid == 0: os._exit(0)\nwait(pid)"
    );
    check(&[
        attempt("call('unshare', 0x10000000)", PERMISSION).by_root(),
        attempt("call('unshare', 0x20000)", PERMISSION).by_root(),
        attempt(clone.leak(), PERMISSION).by_root(),
        attempt(clone3.leak(), &["ENOSYS"]).by_root(),
        attempt(
            "p = out.encode(); call('mount', b'none', p, b'tmpfs', 0, 0); call('umount2', p, 0)",
            PERMISSION,
        )
        .by_root(),
        attempt("call('chroot', out.encode())", PERMISSION).by_root(),
        attempt("call('io_uring_setup', 1, (ctypes.c_char * 120)())", PERMISSION).by_root(),
        attempt("call('keyctl', 0, -3, 1)", PERMISSION),
        attempt("call('userfaultfd', 1)", PERMISSION),
        attempt("call('bpf', 0, (ctypes.c_uint32 * 16)(1, 4, 4, 1), 64)", PERMISSION).by_root(),
        attempt("call('personality', 0x40000)", PERMISSION),
        attempt("n = os.uname().nodename.encode(); call('sethostname', n, len(n))", PERMISSION)
            .by_root(),
        attempt(
            "h = (ctypes.c_uint32 * 34)(128); m = ctypes.c_int(); \
             call('name_to_handle_at', -100, inside.encode(), h, ctypes.byref(m), 0)",
            PERMISSION,
        ),
    ]);
}

#[test]
fn limits_hold_and_can_not_be_raised() {
    fn tight(confinement: Confinement) -> Confinement {
        confinement.limits(ResourceLimits { open_files: 64 })
    }
    or_skip!(requirements());
    check(&[
        attempt("keep = [open('/dev/null') for _ in range(100)]", &["EMFILE"]).with(tight),
        // A capability that root has and a confined root does not have.
        attempt("os.nice(-1)", &["EPERM", "EACCES"]).by_root(),
    ]);
    // Whether root may raise its limits without the sandbox differs between machines, so this is only tried inside.
    let stage = ConfinementFixture::new();
    let raise = "call('prlimit64', 0, 7, (ctypes.c_uint64 * 2)(65, 65), 0)";
    assert_eq!(stage.python(raise, tight(stage.confinement()), ConfinementMode::Strict), "EPERM");
}
