//! Ordinary work in the sandbox, which must not be blocked.

use crate::stage::{ConfinementFixture, launch, requirements};
use docent_sandbox::{Confinement, ConfinementMode, PortSet};
use docent_testenv::or_skip;
use std::{
    io::{Read, Write},
    time::Duration,
};

fn check(code: &str, change: impl Fn(Confinement) -> Confinement) {
    let stage = ConfinementFixture::new();
    let answer = stage.python(code, change(stage.confinement()), ConfinementMode::Strict);
    assert_eq!(answer, "done", "{code}");
}

#[test]
fn files_are_read_and_written_where_they_may_be() {
    or_skip!(requirements());
    let same = |confinement| confinement;
    check("assert open(inside + '/file').read() == 'text'; os.listdir(inside)", same);
    check(
        "f = open(inside + '/file', 'rb'); mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:]",
        same,
    );
    check(
        "os.makedirs(out + '/a/b'); open(out + '/a/b/new', 'w').write('x'); os.rename(out + '/a/b/new', out + '/new'); \
         os.truncate(out + '/new', 0); os.symlink('new', out + '/link'); os.unlink(out + '/new'); os.removedirs(out + '/a/b')",
        same,
    );
    check(
        "f = open(out + '/file', 'a'); fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(f, fcntl.LOCK_EX)",
        same,
    );
    check(
        "open('/dev/null', 'w').write('x'); os.urandom(8); open('/proc/self/status').read()",
        same,
    );
    check(
        "fd = call('inotify_init1', 0o4000); call('inotify_add_watch', fd, out.encode(), 0x100)\n\
         open(out + '/new', 'w').close(); assert os.read(fd, 4096)",
        same,
    );
    check(
        "s = open('/proc/self/status').read(); assert 'NoNewPrivs:\\t1' in s and 'Seccomp:\\t2' in s",
        same,
    );
    // Bits of the capabilities for files, users and low ports.
    check(
        "c = [l.split()[1] for l in open('/proc/self/status') if l[:6] in ('CapEff', 'CapPrm', 'CapInh')]\n\
         assert len(c) == 3 and not any(int(bits, 16) & ~0x4ff for bits in c)",
        same,
    );
    check("assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)", same);
    check("os.chmod(out + '/file', 0o600); os.utime(out + '/file')", |c| c.attributes(true));
}

#[test]
fn threads_and_processes_run() {
    or_skip!(requirements());
    let same = |confinement| confinement;
    let threads = "ts = [threading.Thread(target=os.getpid) for _ in range(8)]; [t.start() for t in ts]; [t.join() for t in ts]";
    check(threads, same);
    check(threads, |confinement| confinement.spawn(false));
    check("assert subprocess.run(['/bin/sh', '-c', 'true | cat']).returncode == 0", same);
    check(
        "p = subprocess.Popen(['/bin/sleep', '60']); p.kill(); p.wait(); os.kill(os.getpid(), 0)",
        same,
    );
    check("a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'", same);
}

#[test]
fn the_network_is_open_where_it_is_said_to_be() {
    or_skip!(requirements());
    let connect = "socket.create_connection(('127.0.0.1', port)).close()";
    let accept = "l = socket.create_server(('127.0.0.1', 0)); s = socket.create_connection(l.getsockname()); l.accept()";
    let udp = "s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', udp))";
    let stage = ConfinementFixture::new();
    let one = stage.confinement().connect(PortSet::Some(vec![stage.port()]));
    assert_eq!(stage.python(connect, one, ConfinementMode::Strict), "done");
    check(connect, |confinement| confinement.connect(PortSet::Any));
    check(accept, |confinement| confinement.connect(PortSet::Any).bind(PortSet::Any));
    check(accept, |confinement| confinement.connect(PortSet::Any).bind(PortSet::Some(vec![0])));
    check(udp, |confinement| confinement.udp(true));
    // Names from the hosts file need no UDP.
    check("assert socket.getaddrinfo('localhost', 80)", |confinement| {
        confinement.connect(PortSet::Any)
    });
    check(
        "l = socket.socket(socket.AF_UNIX); l.bind(out + '/s'); l.listen(); socket.socket(socket.AF_UNIX).connect(out + '/s')",
        |confinement| confinement.unix_sockets(true),
    );
}

/// A runtime such as docent's: threads, timers, signals, sockets, files and locks.
#[test]
fn a_runtime_with_threads_runs_under_the_sandbox() {
    or_skip!(requirements());
    let stage = ConfinementFixture::new();
    let this = std::env::current_exe().unwrap();
    let args = ["--exact", "work::inside_the_sandbox", "--include-ignored", "--nocapture"];
    let confinement = stage
        .confinement()
        .spawn(false)
        .connect(PortSet::Any)
        .bind(PortSet::Some(vec![0]))
        .udp(true);
    let mut launch = docent_sandbox::Launch::new(this, args, confinement, ConfinementMode::Strict);
    launch.through = Some(crate::stage::PROBE.into());
    launch.environment.kept.insert("TMPDIR".into(), stage.path("out").into());
    let output = launch.command().unwrap().command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{output:?}");
}

#[test]
#[ignore = "a_runtime_with_threads_runs_under_the_sandbox runs it confined"]
fn inside_the_sandbox() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let client = tokio::task::spawn_blocking(move || {
            let mut client = std::net::TcpStream::connect(to).unwrap();
            client.write_all(b"x").unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let (accepted, _) = listener.accept().await.unwrap();
        accepted.readable().await.unwrap();
        client.await.unwrap();
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(1), terminate.recv()).await;
        assert!(waited.is_err());
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let file = std::fs::File::create(&path).unwrap();
    file.lock().unwrap();
    std::fs::write(&path, "index").unwrap();
    std::fs::rename(&path, folder.path().join("other")).unwrap();
    let mut text = String::new();
    std::fs::File::open(folder.path().join("other")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "index");
    folder.close().unwrap();
}

#[test]
fn an_ordinary_program_finds_its_libraries() {
    or_skip!(requirements());
    let stage = ConfinementFixture::new();
    let output = launch(
        "ls",
        vec![stage.path("inside").into()],
        stage.confinement(),
        ConfinementMode::Strict,
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "file\nscript\n");
    // Nothing of the system is accessible by default; the program and its loader can't find their libraries.
    let output = launch("ls", vec![], Confinement::default(), ConfinementMode::Strict);
    assert!(!output.status.success());
}
