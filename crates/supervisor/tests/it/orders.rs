//! Refused and malformed orders.

use crate::stage::{PROBE, SupervisorFixture, launch, lines};
use docent_sandbox::{SandboxSupport, plan};
use docent_supervisor::{
    CommandPolicy, Confinement, ConfinementMode, Launch, LaunchError, OWN_EXECUTABLE, Supervisor,
    SupervisorSettings,
};
use docent_testenv::{or_skip, skip};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, send, sendmsg, socketpair,
};
use std::{
    fs::{self, File},
    io::IoSlice,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStringExt, fs::PermissionsExt},
    },
    process::{Child, Command, Stdio},
};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn a_refusal_says_what_is_wrong_and_what_to_do() {
    let stage = SupervisorFixture::new();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("plain"), "text").unwrap();
    let check = async |program: &str, expected: &str| {
        let mut asked = launch(program, &[]);
        asked.environment.kept = [("PATH".into(), path("").into())].into();
        let failed = stage.refusal(&asked).await.to_string();
        assert_eq!(failed, expected);
    };
    let on_path = |name: &str| {
        let searched = path("");
        format!("\"{name}\" not found in PATH ({searched:?}); install it or use its absolute path")
    };
    let not_executable = |path: &str| {
        format!("\"{path}\" is not an executable file; run chmod +x on it or use another program")
    };
    check("nothing", &on_path("nothing")).await;
    check("", &on_path("")).await;
    check("/nothing", "\"/nothing\" not found; install it or correct its path").await;
    check(&path("plain"), &not_executable(&path("plain"))).await;
    check("plain", &not_executable(&path("plain"))).await;
    check("/usr", &not_executable("/usr")).await;
    let mut asked = launch("/bin/true", &[]);
    asked.cwd = Some(path("nowhere").into());
    let failed = stage.refusal(&asked).await.to_string();
    assert!(failed.ends_with("does not exist; create it or use another"), "{failed}");
}

#[tokio::test]
async fn errors_of_the_kernel_are_reported() {
    let stage = SupervisorFixture::new();
    for argument in ["a\0b".to_owned(), "x".repeat(3 << 20)] {
        let failed = stage.refusal(&launch("/bin/true", &[&argument])).await;
        assert!(matches!(failed, LaunchError::Start { .. }), "{failed}");
    }
    let failed = stage.refusal(&launch("/bin/true", &[&"x".repeat(9 << 20)])).await;
    assert!(matches!(failed, LaunchError::Order { .. }), "{failed}");
    let odd = std::ffi::OsString::from_vec(b"/\xff".to_vec());
    let asked = Launch::new(
        "/bin/true",
        [""; 0],
        Confinement::default().read([odd]),
        ConfinementMode::Auto,
    );
    assert!(matches!(stage.refusal(&asked).await, LaunchError::Order { .. }));
    // A script whose interpreter is missing exists, but fails as not found.
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fs::write(&script, "#!/nowhere\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let failed = stage.refusal(&launch(script.to_str().unwrap(), &[])).await;
    assert!(failed.to_string().contains("interpreter"), "{failed}");
}

#[tokio::test]
async fn an_unavailable_sandbox_is_refused_or_reported() {
    or_skip!(plan(
        &Confinement::for_child([""; 0]),
        ConfinementMode::Strict,
        &SandboxSupport::look()
    ));
    let stage = SupervisorFixture::new();
    let order = |mode| {
        let confinement = Confinement::for_child([""; 0]);
        Launch { bubblewrap: true, ..Launch::new("/bin/true", [""; 0], confinement, mode) }
    };
    if let Some(program) = SandboxSupport::look().bubblewrap {
        skip!("bubblewrap is installed: {}", program.display());
    }
    let failed = stage.refusal(&order(ConfinementMode::Strict)).await;
    assert!(matches!(failed, LaunchError::Sandbox { .. }), "{failed}");
    assert!(failed.to_string().contains("bubblewrap is not installed"), "{failed}");
    let child = stage.keeper.spawn(&order(ConfinementMode::Auto)).await.unwrap();
    let warnings = child.process.warnings();
    let warning = "bubblewrap is not in force: bubblewrap is not installed";
    assert!(warnings.iter().any(|line| line == warning), "{warnings:?}");
}

#[tokio::test]
async fn the_policy_holds_for_every_order() {
    let allowed = vec!["cat".to_owned(), "sh".to_owned()];
    let commands =
        CommandPolicy { allowed, denied: vec!["sh".into()], path: Some("/usr/bin:/bin".into()) };
    let stage = SupervisorFixture::with(commands, 2);
    let ordered = |program: &str, path: &str| {
        let mut asked = launch(program, &[]);
        asked.environment.kept = [("PATH".into(), path.into())].into();
        asked
    };
    for (program, path, expected) in [
        ("sh", "/usr/bin:/bin", "denied"),
        ("/bin/sh", "/usr/bin:/bin", "denied"),
        ("env", "/usr/bin:/bin", "not allowed"),
        ("/usr/bin/cat", "/usr/bin:/bin", "not allowed"),
        ("cat", "/tmp:/usr/bin:/bin", "other path"),
    ] {
        let found = match stage.refusal(&ordered(program, path)).await {
            LaunchError::Denied { .. } => "denied",
            LaunchError::NotAllowed { .. } => "not allowed",
            LaunchError::OtherPath { .. } => "other path",
            other => panic!("{other}"),
        };
        assert_eq!(found, expected, "{program} in {path}");
    }
    let cat = ordered("cat", "/usr/bin:/bin");
    let first = stage.keeper.spawn(&cat).await.unwrap();
    let second = stage.keeper.spawn(&cat).await.unwrap();
    assert!(matches!(stage.refusal(&cat).await, LaunchError::TooMany { most: 2 }));
    first.end(crate::stage::TEST_TIMEOUT).await;
    let third = stage.keeper.spawn(&cat).await.unwrap();
    drop((second, third));
}

#[tokio::test]
async fn the_policy_lets_nothing_of_docent_s_own_through_but_its_workers() {
    let commands = CommandPolicy { allowed: vec!["cat".to_owned()], ..CommandPolicy::default() };
    let own = Some("echo".to_owned());
    let settings = SupervisorSettings { commands, own, ..SupervisorSettings::new(PROBE) };
    let keeper = Supervisor::start(settings).unwrap();
    for (program, args) in [
        (OWN_EXECUTABLE, ["run", "echo"].as_slice()),
        (OWN_EXECUTABLE, &[]),
        (PROBE, &["echo"]),
        ("/bin/sh", &["echo"]),
    ] {
        let refused = keeper.spawn(&launch(program, args)).await.unwrap_err();
        assert!(matches!(refused, LaunchError::NotAllowed { .. }), "{program} {args:?}: {refused}");
    }
    let child = keeper.spawn(&launch(OWN_EXECUTABLE, &["echo"])).await.unwrap();
    let path = fs::read_link(format!("/proc/{}/exe", child.process.pid())).unwrap();
    assert_eq!(path, fs::canonicalize(PROBE).unwrap());
    child.end(crate::stage::TEST_TIMEOUT).await;
    keeper.close().unwrap();
}

/// A supervisor as a hostile docent has it: a socket, and a process to check.
struct Bare {
    socket: OwnedFd,
    process: Child,
}

fn sockets() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
}

impl Bare {
    fn new(setup: &[u8]) -> Self {
        let (socket, theirs) = sockets();
        let process =
            Command::new(PROBE).arg("__keep").stdin(theirs).stderr(Stdio::null()).spawn().unwrap();
        send(&socket, setup, SendFlags::NOSIGNAL).unwrap();
        Self { socket, process }
    }

    fn working() -> Self {
        let setup = serde_json::json!({
            "executable": PROBE,
            "commands": { "allowed": [], "denied": [] },
            "grace_ms": 50,
            "most": 4,
        });
        Self::new(&[b"\0".as_slice(), setup.to_string().as_bytes()].concat())
    }

    /// Sends a packet with descriptors.
    fn hand(&self, packet: &[u8], descriptors: &[&OwnedFd]) {
        let descriptors: Vec<_> = descriptors.iter().map(|fd| fd.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        sendmsg(&self.socket, &[IoSlice::new(packet)], &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    /// Sends these packets on the socket of another program.
    fn program(&self, packets: &[&[u8]]) -> OwnedFd {
        let (ours, theirs) = sockets();
        for packet in packets {
            send(&ours, packet, SendFlags::NOSIGNAL).unwrap();
        }
        self.hand(b"\0x", &[&theirs]);
        ours
    }
}

/// Reads the supervisor's answer on a socket; empty at the end.
fn hear(socket: &OwnedFd) -> String {
    let mut bytes = [0; 4096];
    let (got, _) = recv(socket, &mut bytes[..], rustix::net::RecvFlags::empty()).unwrap();
    String::from_utf8_lossy(&bytes[..got]).into_owned()
}

#[test]
fn a_hostile_order_ends_at_most_its_own_program() {
    let keeper = Bare::working();
    for packets in [
        &[b"\x07".as_slice()][..],
        &[b"\x01x", b"\x02"],
        &[&vec![0; 40_000]],
        &[b"\0{\"end\":{\"grace_ms\":1}}"],
    ] {
        let socket = keeper.program(packets);
        // Closed with unread data: the first message is an error.
        let mut bytes = [0; 16];
        let got = recv(&socket, &mut bytes[..], rustix::net::RecvFlags::empty());
        assert!(got.is_err() || got.is_ok_and(|(got, _)| got == 0), "{packets:?}");
    }
    for (packet, says) in [
        (b"\0".as_slice(), "EOF"),
        (b"\0{\"start\":{}}", "missing field"),
        (b"\0{\"kill\":1}", "unknown variant"),
        (b"\0{\"start\":{\"program\":\"x\",\"through\":\"/bin/sh\"}}", "unknown field"),
        (b"\0\xff\xff", "expected value"),
    ] {
        let answer = hear(&keeper.program(&[packet]));
        assert!(answer.contains("order") && answer.contains(says), "{answer}");
    }
    // A descriptor that is not a socket is closed; the supervisor continues.
    let file: OwnedFd = File::open("/dev/null").unwrap().into();
    keeper.hand(b"\0x", &[&file]);
    assert!(hear(&keeper.program(&[b"\0"])).contains("EOF"));
}

#[test]
fn nonsense_on_docents_own_socket_ends_the_keeper() {
    for packet in [b"\x09".as_slice(), b"\x01more", &vec![0; 40_000]] {
        let mut keeper = Bare::working();
        let socket = keeper.program(&[]);
        send(&keeper.socket, packet, SendFlags::NOSIGNAL).unwrap();
        assert!(keeper.process.wait().unwrap().success());
        drop(socket);
    }
    let (ours, theirs) = sockets();
    for descriptors in [&[&ours, &theirs][..], &[&theirs; 8]] {
        let mut keeper = Bare::working();
        keeper.hand(b"\0x", descriptors);
        assert!(keeper.process.wait().unwrap().success());
    }
    for setup in [b"\0{}".as_slice(), b"\0", b"\x05", b"\0[[[["] {
        let mut keeper = Bare::new(setup);
        assert_eq!(keeper.process.wait().unwrap().code(), Some(2), "{setup:?}");
    }
}

#[tokio::test]
async fn the_keepers_environment_is_empty() {
    let stage = SupervisorFixture::new();
    let mut echo = stage.start(&["echo"]).await;
    echo.stdin.write_all(b"x\n").await.unwrap();
    lines(&mut echo, 1).await;
    let environment = fs::read(format!("/proc/{}/environ", stage.keeper.guard_pid())).unwrap();
    assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
}
