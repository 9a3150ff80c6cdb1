//! Folders and listeners for a child to work with, and Python as the child: it can make any system call.

use docent_sandbox::{Confinement, ConfinementMode, Launch, PortSet, SandboxSupport, plan};
use std::{
    ffi::OsString,
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::PermissionsExt,
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::Output,
    sync::OnceLock,
};
use tempfile::TempDir;

/// The program with the hidden subcommand.
pub(crate) const PROBE: &str = env!("CARGO_BIN_EXE_docent-sandbox-probe");

/// The system's Python, whose files a child may read.
const PYTHON: &str = "/usr/bin/python3";

/// Prelude of each attempt. `N` contains the numbers of system calls, which differ between architectures.
const PRELUDE: &str = r#"
import ctypes, errno, fcntl, json, mmap, os, resource, signal, socket, stat, subprocess, sys, termios, threading
inside, out, outside, port, udp, name = sys.argv[2:8]
port, udp, N = int(port), int(udp), json.loads(sys.argv[8])
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    answer = libc.syscall(ctypes.c_long(N[name]), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer
def wait(pid):
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
try:
    exec(sys.argv[1])
    print("done")
except OSError as error:
    print(errno.errorcode.get(error.errno, error.errno))
"#;

/// Folders and listeners for a child. Each run has its own, since some attempts destroy them.
pub(crate) struct ConfinementFixture {
    folder: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
    _abstract: UnixListener,
    name: String,
}

impl ConfinementFixture {
    /// Three folders with a file and a script each, and listeners of four kinds.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for place in ["inside", "out", "outside"] {
            let place = folder.path().join(place);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("file"), "text").unwrap();
            fs::write(place.join("script"), "#!/bin/sh\nexit 0\n").unwrap();
            fs::set_permissions(place.join("script"), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let name = folder.path().to_string_lossy().into_owned();
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _unix: UnixListener::bind(folder.path().join("outside/socket")).unwrap(),
            _abstract: UnixListener::bind_addr(&abstract_name).unwrap(),
            name,
            folder,
        }
    }

    pub(crate) fn path(&self, place: &str) -> PathBuf {
        self.folder.path().join(place)
    }

    pub(crate) fn port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    /// The default confinement of a child: `inside` to read, `out` to write.
    pub(crate) fn confinement(&self) -> Confinement {
        Confinement::for_child([self.path("inside")]).write([self.path("out")])
    }

    /// Runs `code`; returns `done`, or the name of the error that it ended with.
    pub(crate) fn python(
        &self,
        code: &str,
        confinement: Confinement,
        mode: ConfinementMode,
    ) -> String {
        said(code, &self.launch(code, confinement, mode), &SandboxSupport::look())
    }

    /// The same in the real bubblewrap.
    pub(crate) fn wrapped(
        &self,
        code: &str,
        confinement: Confinement,
        cwd: Option<PathBuf>,
    ) -> Result<String, String> {
        let (launch, offered) = self.wrapping(code, confinement)?;
        Ok(said(code, &Launch { cwd, ..launch }, &offered))
    }

    /// A child to run in the real bubblewrap.
    pub(crate) fn wrapping(
        &self,
        code: &str,
        confinement: Confinement,
    ) -> Result<(Launch, SandboxSupport), String> {
        let offered = SandboxSupport { bubblewrap: Some(bubblewrap()?), ..SandboxSupport::look() };
        let launch = self.launch(code, confinement, ConfinementMode::Strict);
        Ok((Launch { bubblewrap: true, ..launch }, offered))
    }

    fn launch(&self, code: &str, confinement: Confinement, mode: ConfinementMode) -> Launch {
        let udp = self.udp.local_addr().unwrap().port().to_string();
        let mut args: Vec<OsString> = ["-I", "-c", PRELUDE, code].map(Into::into).into();
        args.extend(["inside", "out", "outside"].map(|place| self.path(place).into_os_string()));
        args.extend([self.port().to_string(), udp, self.name.clone(), numbers()].map(Into::into));
        through_probe(PYTHON, args, confinement, mode)
    }
}

/// Checks for Python, and a kernel with everything that the sandbox uses. The error is the reason to skip a test.
pub(crate) fn requirements() -> Result<(), String> {
    docent_testenv::find_program("python3")?;
    let everything = Confinement::default().connect(PortSet::Some(vec![443])).unix_sockets(true);
    let planned = plan(&everything, ConfinementMode::Strict, &SandboxSupport::look());
    planned.map(drop).map_err(|refused| refused.to_string())
}

/// Finds the installed bubblewrap, or the one that `cargo xtask test` fetched. The error is the reason to skip a test:
/// a container or a distribution may deny users the namespaces that bubblewrap needs.
pub(crate) fn bubblewrap() -> Result<PathBuf, String> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let look = || -> Result<PathBuf, String> {
        requirements()?;
        let fetched = || std::env::var_os("BUBBLEWRAP_FOR_TESTS").map(PathBuf::from);
        let installed = SandboxSupport::look().bubblewrap.or_else(fetched);
        let program = installed.ok_or("bubblewrap is not installed")?;
        let mut probe = std::process::Command::new(&program);
        let ran = probe.args(["--unshare-all", "--ro-bind", "/", "/", "true"]).output();
        let ran =
            ran.map_err(|error| format!("{} can't be started: {error}", program.display()))?;
        if ran.status.success() {
            return Ok(program);
        }
        Err(format!("no program starts in bubblewrap: {}", String::from_utf8_lossy(&ran.stderr)))
    };
    FOUND.get_or_init(look).clone()
}

fn said(code: &str, launch: &Launch, offered: &SandboxSupport) -> String {
    let output = launch.command_with(offered).unwrap().command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {code}: {stderr}", launch.mode);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs `program` to its end.
pub(crate) fn launch(
    program: impl AsRef<Path>,
    args: Vec<OsString>,
    confinement: Confinement,
    mode: ConfinementMode,
) -> Output {
    through_probe(program, args, confinement, mode).command().unwrap().command.output().unwrap()
}

fn through_probe(
    program: impl AsRef<Path>,
    args: Vec<OsString>,
    confinement: Confinement,
    mode: ConfinementMode,
) -> Launch {
    let launch = Launch::new(program.as_ref(), args, confinement, mode);
    Launch { through: Some(PROBE.into()), ..launch }
}

fn numbers() -> String {
    let numbers = [
        ("bpf", libc::SYS_bpf),
        ("chroot", libc::SYS_chroot),
        ("clone", libc::SYS_clone),
        ("clone3", libc::SYS_clone3),
        ("inotify_add_watch", libc::SYS_inotify_add_watch),
        ("inotify_init1", libc::SYS_inotify_init1),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("ioprio_get", libc::SYS_ioprio_get),
        ("ioprio_set", libc::SYS_ioprio_set),
        ("keyctl", libc::SYS_keyctl),
        ("mount", libc::SYS_mount),
        ("name_to_handle_at", libc::SYS_name_to_handle_at),
        ("personality", libc::SYS_personality),
        ("pidfd_getfd", libc::SYS_pidfd_getfd),
        ("pidfd_open", libc::SYS_pidfd_open),
        ("prlimit64", libc::SYS_prlimit64),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("ptrace", libc::SYS_ptrace),
        ("sched_getattr", libc::SYS_sched_getattr),
        ("sched_setattr", libc::SYS_sched_setattr),
        ("sethostname", libc::SYS_sethostname),
        ("umount2", libc::SYS_umount2),
        ("unshare", libc::SYS_unshare),
        ("userfaultfd", libc::SYS_userfaultfd),
    ];
    let pairs: Vec<String> =
        numbers.iter().map(|(name, number)| format!("{name:?}: {number}")).collect();
    format!("{{{}}}", pairs.join(", "))
}
