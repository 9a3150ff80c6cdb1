//! Escapes, secrets and odd files, on real folders.

use super::*;
use std::fs;
use tempfile::TempDir;

/// `base/root` is served; `base/root-evil` and `base/beside.txt` are next to it.
struct Fixture {
    base: TempDir,
    roots: ServedRoots,
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn fixture() -> Fixture {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("root");
    for (path, text) in [
        ("src/main.rs", "fn main() {}"),
        ("src/deep/a b.txt", "spaced"),
        ("100%.txt", "percent"),
        ("a%2Fb.txt", "encoded name"),
        (".env", "TOKEN=1"),
        (".ssh/config", "Host x"),
        ("id_rsa", "key"),
        ("id_map.rs", "struct Id;"),
        (".git/config", "[remote]"),
        (".git/HEAD", "ref: refs/heads/main"),
        (".docent/state", "x"),
        (".github/workflows/ci.yml", "on: push"),
        (".gitignore", "/build\n*.log\nsrc/deep/hidden.txt\n"),
        ("build/out.js", "x"),
        ("src/trace.log", "x"),
        ("src/deep/hidden.txt", "x"),
    ] {
        write(&root.join(path), text);
    }
    write(&base.path().join("root-evil/a.txt"), "evil");
    write(&base.path().join("beside.txt"), "beside");
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink("/etc", root.join("out")).unwrap();
        symlink("../beside.txt", root.join("up.txt")).unwrap();
        symlink("src/main.rs", root.join("inside.rs")).unwrap();
        symlink(".env", root.join("innocent.txt")).unwrap();
        symlink(".ssh", root.join("keys")).unwrap();
        symlink("loop-b", root.join("loop-a")).unwrap();
        symlink("loop-a", root.join("loop-b")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
    }
    let roots = ServedRoots::open(&[root]).unwrap();
    Fixture { base, roots }
}

fn verdict(found: Result<RootPath, PathError>) -> String {
    match found {
        Ok(place) => place.to_string(),
        Err(PathError::Outside { .. }) => "outside".into(),
        Err(PathError::Missing { .. }) => "missing".into(),
        Err(PathError::Denied { .. }) => "denied".into(),
        Err(PathError::Special { found, .. }) => found.to_string(),
        Err(PathError::Malformed { .. }) => "malformed".into(),
        Err(PathError::Unreadable { .. }) => "unreadable".into(),
    }
}

#[test]
#[cfg(unix)]
fn paths_from_outside() {
    let Fixture { base, roots } = fixture();
    let root = roots.primary().to_str().unwrap();
    let beside = base.path().canonicalize().unwrap();
    let beside = beside.to_str().unwrap();
    let cases = [
        (".".to_owned(), "."),
        ("./src//main.rs".into(), "src/main.rs"),
        ("src/".into(), "src"),
        ("inside.rs".into(), "src/main.rs"),
        ("100%.txt".into(), "100%.txt"),
        ("a%2Fb.txt".into(), "a%2Fb.txt"),
        (root.to_owned(), "."),
        (format!("{root}/src/main.rs"), "src/main.rs"),
        (format!("file://{root}/src/deep/a%20b.txt"), "src/deep/a b.txt"),
        (format!("file://localhost{root}/src"), "src"),
        (format!("FILE://{root}"), "."),
        // Out by name.
        ("..".into(), "outside"),
        ("../beside.txt".into(), "outside"),
        ("src/../src/main.rs".into(), "outside"),
        ("src/../../../etc".into(), "outside"),
        (r"..\..\etc".into(), "outside"),
        ("/etc/passwd".into(), "outside"),
        ("/".into(), "outside"),
        (format!("{beside}/root-evil/a.txt"), "outside"),
        (format!("{root}-evil/a.txt"), "outside"),
        (format!("{root}/../beside.txt"), "outside"),
        ("file:///etc/passwd".into(), "outside"),
        (format!("file://{root}/../beside.txt"), "outside"),
        // Out by a link.
        ("out".into(), "outside"),
        ("out/passwd".into(), "outside"),
        ("up.txt".into(), "outside"),
        // Tricks.
        (String::new(), "malformed"),
        ("src/\0/etc".into(), "malformed"),
        ("src/main.rs\0.txt".into(), "malformed"),
        ("%2e%2e/beside.txt".into(), "malformed"),
        ("src/%2E%2E/%2e%2e/beside.txt".into(), "malformed"),
        ("..%2fbeside.txt".into(), "malformed"),
        ("src%00".into(), "malformed"),
        (format!("file://{root}/%2e%2e/beside.txt"), "outside"),
        (format!("file://{root}/..%2fbeside.txt"), "malformed"),
        (format!("file://{root}/src%00"), "malformed"),
        (format!("file://elsewhere{root}/src"), "malformed"),
        ("file://src".into(), "malformed"),
        ("http://example.org/src".into(), "malformed"),
        (r"C:\Windows".into(), "malformed"),
        ("c:/Windows".into(), "malformed"),
        ("C:".into(), "malformed"),
        (r"\\server\share".into(), "malformed"),
        // Inside, but not served.
        (".env".into(), "denied"),
        ("innocent.txt".into(), "denied"),
        ("keys".into(), "denied"),
        ("keys/config".into(), "denied"),
        (".git/config".into(), "denied"),
        ("id_rsa".into(), "denied"),
        ("id_map.rs".into(), "id_map.rs"),
        // Missing.
        ("none".into(), "missing"),
        ("src/main.rs/x".into(), "missing"),
        ("dangling".into(), "missing"),
        ("n".repeat(5000), "missing"),
        ("loop-a".into(), "unreadable"),
    ];
    for (raw, want) in cases {
        let found = roots.resolve(&raw);
        if let Err(error) = &found {
            let text = error.to_string();
            assert!(!text.contains("/etc") && !text.contains("beside"), "{raw:?}: {text}");
        }
        assert_eq!(verdict(found), want, "{raw:?}");
    }
    let text = roots.resolve("out/passwd").unwrap_err().to_string();
    assert!(text.contains(root), "{text}");
}

#[test]
#[cfg(unix)]
fn a_root_behind_a_link_is_known_by_both_names() {
    let base = tempfile::tempdir().unwrap();
    write(&base.path().join("real/a.txt"), "a");
    let link = base.path().join("link");
    std::os::unix::fs::symlink(base.path().join("real"), &link).unwrap();
    let roots = ServedRoots::open(std::slice::from_ref(&link)).unwrap();
    assert_eq!(roots.primary(), base.path().canonicalize().unwrap().join("real"));
    assert_eq!(roots.resolve(link.join("a.txt").to_str().unwrap()).unwrap().relative(), "a.txt");
    assert_eq!(
        roots.resolve(roots.primary().join("a.txt").to_str().unwrap()).unwrap().relative(),
        "a.txt"
    );
}

#[test]
fn the_second_root_is_reached_by_absolute_paths_alone() {
    let base = tempfile::tempdir().unwrap();
    write(&base.path().join("one/a.txt"), "1");
    write(&base.path().join("one/inner/b.txt"), "2");
    let roots =
        ServedRoots::open(&[base.path().join("one"), base.path().join("one/inner")]).unwrap();
    let inner = roots.paths().nth(1).unwrap().join("b.txt");
    let place = roots.resolve(inner.to_str().unwrap()).unwrap();
    assert_eq!((place.root(), place.relative()), (1, "b.txt"));
    assert_eq!(roots.read(&place, 10).unwrap(), b"2");
    assert_eq!(verdict(roots.resolve("b.txt")), "missing");
    assert_eq!(roots.absolute(&place), inner);
}

#[test]
fn roots_must_be_folders() {
    let base = tempfile::tempdir().unwrap();
    write(&base.path().join("file"), "x");
    assert!(matches!(ServedRoots::open(&[]), Err(RootsError::None)));
    for name in ["file", "none"] {
        let path = base.path().join(name);
        let error = ServedRoots::open(std::slice::from_ref(&path)).unwrap_err();
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
#[cfg(unix)]
fn only_bounded_regular_files_are_read() {
    let Fixture { base: _base, roots } = fixture();
    let fifo = roots.primary().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let read = |path: &str, limit| {
        let place = roots.top().join(path).unwrap();
        match roots.read(&place, limit) {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(problem) => problem.to_string(),
        }
    };
    let cases = [
        ("src/main.rs", 12, "fn main() {}"),
        ("src/main.rs", 11, "src/main.rs: 12 bytes exceed the limit of 11"),
        ("inside.rs", 12, "fn main() {}"),
        ("src", 100, "src: not a regular file (directory)"),
        ("pipe", 100, "pipe: not a regular file (named pipe)"),
        ("none", 100, "none: does not exist"),
        ("up.txt", 100, "up.txt: leads out of its root"),
        ("out/passwd", 100, "out/passwd: leads out of its root"),
        (".env", 100, ".env: not served, because `.env*` contains secrets"),
        ("innocent.txt", 100, "innocent.txt: not served, because `.env*` contains secrets"),
        ("keys/config", 100, "keys/config: not served, because it is in a credentials folder"),
    ];
    for (path, limit, want) in cases {
        assert_eq!(read(path, limit), want, "{path}");
    }
    let place = roots.resolve("src/main.rs").unwrap();
    assert_eq!(roots.read_start(&place, 2).unwrap(), (b"fn".to_vec(), 12));
}

/// A pipe, a socket and links to them, to a device and to nothing.
#[cfg(unix)]
fn special_files(root: &Path) -> std::os::unix::net::UnixListener {
    use std::os::unix::fs::symlink;
    assert!(
        std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success()
    );
    fs::create_dir(root.join("to")).unwrap();
    for (target, link) in [
        ("pipe", "to-pipe"),
        ("../pipe", "to/pipe"),
        ("../to/../to-pipe", "to/chain"),
        ("socket", "to-socket"),
        ("/dev/zero", "to-device"),
        ("nowhere", "to-nothing"),
        ("to-itself", "to-itself"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap()
}

/// Every operation on a special file reports its type. The other end of the pipe is never opened, so that a blocking `open`
/// would hang.
#[test]
#[cfg(unix)]
fn special_files_are_named_and_not_opened() {
    let base = tempfile::tempdir().unwrap();
    let _listener = special_files(base.path());
    write(&base.path().join("a.txt"), "a");
    let roots = ServedRoots::open(&[base.path().to_owned()]).unwrap();
    let (pipe, socket) = ("named pipe", "socket");
    for (path, want, read) in [
        ("pipe", pipe, "not a regular file (named pipe)"),
        ("to-pipe", pipe, "not a regular file (named pipe)"),
        ("to/pipe", pipe, "not a regular file (named pipe)"),
        ("to/chain", pipe, "not a regular file (named pipe)"),
        ("socket", socket, "not a regular file (socket)"),
        ("to-socket", socket, "not a regular file (socket)"),
        ("to-device", "outside", "leads out of its root"),
        ("to-nothing", "missing", "does not exist"),
        ("pipe/x", "missing", "not a directory"),
        ("to", "to", "not a regular file (directory)"),
    ] {
        assert_eq!(verdict(roots.resolve(path)), want, "{path}");
        let place = roots.top().join(path).unwrap();
        let problem = roots.read(&place, 100).unwrap_err().to_string();
        assert_eq!(problem, format!("{path}: {read}"));
        let problem = roots.read_rules(&place, 100).unwrap_err().to_string();
        assert_eq!(problem, format!("{path}: {read}"));
    }
    assert_eq!(verdict(roots.resolve("to-itself")), "unreadable");
    let error = roots.resolve("pipe").unwrap_err().to_string();
    assert_eq!(error, "pipe is not a regular file or directory (named pipe); name one that is");
    let walked = [
        "a.txt",
        "! pipe: not a regular file (named pipe)",
        "! socket: not a regular file (socket)",
        "to",
        "to/chain",
        "to/pipe",
        "to-device",
        "to-itself",
        "to-nothing",
        "to-pipe",
        "to-socket",
    ];
    let found = both_ways(&roots, ".", WalkOptions::default());
    let sorted = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found.iter().collect::<std::collections::BTreeSet<_>>(),
        sorted(&walked).iter().collect()
    );
    let place = roots.top().join("pipe").unwrap();
    let alone: Vec<String> =
        roots.walk(&place).map(|found| found.unwrap_err().to_string()).collect();
    assert_eq!(alone, ["pipe: not a regular file (named pipe)"]);
    assert_eq!(roots.kind(&place).unwrap(), PathKind::Special(SpecialFile::Pipe));
}

/// A blocked writer of a pipe is not woken: nothing opens the other end, not even briefly.
#[test]
#[cfg(target_os = "linux")]
fn a_writer_that_waits_is_not_woken() {
    use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt as _, sync::mpsc, time::Duration};
    let base = tempfile::tempdir().unwrap();
    let _listener = special_files(base.path());
    let roots = ServedRoots::open(&[base.path().to_owned()]).unwrap();
    let (sender, opened) = mpsc::channel();
    let pipe = base.path().join("pipe");
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        // Returns as soon as anyone has the pipe open for reading.
        move || sender.send(OpenOptions::new().write(true).open(pipe).is_ok())
    });
    for _ in 0..100 {
        for path in ["pipe", "to-pipe", "to/chain"] {
            let place = roots.top().join(path).unwrap();
            roots.resolve(path).unwrap_err();
            roots.read(&place, 10).unwrap_err();
            roots.kind(&place).unwrap();
        }
        both_ways(&roots, ".", WalkOptions::default());
    }
    assert!(opened.try_recv().is_err(), "the pipe was opened for reading");
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let _reader = OpenOptions::new().read(true).custom_flags(flags).open(pipe).unwrap();
    assert!(opened.recv_timeout(Duration::from_mins(1)).unwrap(), "the check works");
    writer.join().unwrap().unwrap();
}

fn names(roots: &ServedRoots, from: &str, options: WalkOptions) -> Vec<String> {
    let place = roots.resolve(from).unwrap();
    let name = |found: Result<WalkEntry, ReadFailure>| match found {
        Ok(entry) => entry.place.to_string(),
        Err(problem) => format!("! {problem}"),
    };
    roots.walk_with(&place, options).map(name).collect()
}

#[test]
#[cfg(unix)]
fn a_walk_is_sorted_and_leaves_out_what_it_must() {
    let Fixture { base: _base, roots } = fixture();
    let usual = names(&roots, ".", WalkOptions::default());
    let want = [
        "100%.txt",
        "a%2Fb.txt",
        "dangling",
        "id_map.rs",
        "innocent.txt",
        "inside.rs",
        "keys",
        "loop-a",
        "loop-b",
        "out",
        "src",
        "src/deep",
        "src/deep/a b.txt",
        "src/main.rs",
        "up.txt",
    ];
    assert_eq!(usual, want);
    assert_eq!(
        names(&roots, "src", WalkOptions::default()),
        ["src/deep", "src/deep/a b.txt", "src/main.rs"]
    );
    assert_eq!(names(&roots, "src/main.rs", WalkOptions::default()), ["src/main.rs"]);
    let hidden = names(&roots, ".", WalkOptions { hidden: true, ..WalkOptions::default() });
    let extra: Vec<_> = hidden.iter().filter(|name| !usual.contains(name)).collect();
    assert_eq!(extra, [".github", ".github/workflows", ".github/workflows/ci.yml", ".gitignore"]);
    let ignored = names(&roots, ".", WalkOptions { ignored: true, ..WalkOptions::default() });
    let extra: Vec<_> = ignored.iter().filter(|name| !usual.contains(name)).collect();
    assert_eq!(extra, ["build", "build/out.js", "src/deep/hidden.txt", "src/trace.log"]);
}

/// Everything under a place, by both walks.
fn both_ways(roots: &ServedRoots, from: &str, options: WalkOptions) -> Vec<String> {
    let one_by_one = names(roots, from, options);
    let place = roots.resolve(from).unwrap();
    let line = |item: &Result<WalkEntry, ReadFailure>| match item {
        Ok(entry) => entry.place.to_string(),
        Err(problem) => format!("! {problem}"),
    };
    let at_once: Vec<String> =
        roots.walk_all(&place, options, &|| false).iter().map(line).collect();
    let sorted =
        |names: &[String]| names.iter().cloned().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(sorted(&one_by_one), sorted(&at_once));
    one_by_one
}

#[test]
fn rules_count_as_other_tools_count_them() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    for (path, text) in [
        (".gitignore", "\u{feff}*.log\r\n/build/\n# a remark\n\\#odd\n**/gen/*.rs\n[\n*.tmp\n"),
        (".ignore", "!wanted.tmp\nnotes/**\n"),
        (".docentignore", "!shown.log\n/data\n"),
        (".git/info/exclude", "/private\n*.bak\n!.editorconfig\n"),
        ("a/.gitignore", "!keep.log\n!.hidden\nb/*\n!b/c\n/only\n"),
        ("a/b/c/.ignore", "*.rs\n!main.rs\n"),
        ("a/b/c/.gitignore", "main.rs\n"),
        ("nested/.git/info/exclude", "*.txt\n"),
        ("nested/.gitignore", "!x.log\n"),
    ] {
        write(&base.join(path), text);
    }
    let files =
        ["x.log", "keep.log", "shown.log", "wanted.tmp", "a.tmp", "#odd", "y.bak", "main.rs"];
    let files = files.iter().chain(&["z.rs", ".hidden", ".editorconfig", "t.txt", "only"]);
    let folders = ["", "build", "a", "a/build", "a/b", "a/b/c", "a/b/d", "gen", "a/gen", "notes/n"];
    let folders = folders.iter().chain(&["data", "a/data", "private", "a/private", "nested/deep"]);
    for folder in folders {
        files.clone().for_each(|file| write(&base.join(folder).join(file), "x"));
    }
    let roots = ServedRoots::open(std::slice::from_ref(&base)).unwrap();
    for hidden in [false, true] {
        let others = ignore::WalkBuilder::new(&base)
            .hidden(!hidden)
            .parents(false)
            .require_git(false)
            .git_global(false)
            .add_custom_ignore_filename(OWN_RULES)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        let others = others.map(|entry| entry.unwrap()).filter(|entry| entry.depth() > 0);
        let others: Vec<String> = others
            .map(|entry| entry.path().strip_prefix(&base).unwrap().to_str().unwrap().to_owned())
            .collect();
        let options = WalkOptions { hidden, ..WalkOptions::default() };
        let whole = both_ways(&roots, ".", options);
        assert_eq!(whole, others);
        assert!(whole.len() > 40, "{}", whole.len());
        // From inside, the rules of the folders above apply too.
        for folder in ["a", "a/b/c", "nested/deep"] {
            let inside = |name: &&String| name.starts_with(&format!("{folder}/"));
            let want: Vec<String> = whole.iter().filter(inside).cloned().collect();
            assert_eq!(both_ways(&roots, folder, options), want, "{folder}");
        }
    }
}

#[test]
#[cfg(unix)]
fn an_unusable_ignore_file_is_reported_and_ignored() {
    use std::os::unix::fs::symlink;
    let pipe = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("root");
    for folder in ["device", "folder", "inside", "large", "out", "pipe", "repo", "tree"] {
        write(&root.join(folder).join("kept.md"), "x");
        write(&root.join(folder).join("left.log"), "x");
    }
    write(&root.join("rules"), "*.log\n");
    write(&base.path().join("beside"), "*.log\n");
    symlink("/dev/zero", root.join("device/.ignore")).unwrap();
    fs::create_dir(root.join("folder/.gitignore")).unwrap();
    symlink("../rules", root.join("inside/.gitignore")).unwrap();
    write(&root.join("large/.docentignore"), &format!("*.log\n{}", "#".repeat(1 << 20)));
    symlink("../../beside", root.join("out/.gitignore")).unwrap();
    pipe(&root.join("pipe/.gitignore"));
    pipe(&root.join("repo/.git/info/exclude"));
    pipe(&root.join("tree/.git"));
    let roots = ServedRoots::open(&[root]).unwrap();
    let want = [
        "device",
        "! device/.ignore: its rules are ignored: leads out of its root",
        "device/kept.md",
        "device/left.log",
        "folder",
        "! folder/.gitignore: its rules are ignored: not a regular file (directory)",
        "folder/kept.md",
        "folder/left.log",
        "inside",
        "inside/kept.md",
        "large",
        "! large/.docentignore: its rules are ignored: 1048582 bytes exceed the limit of 1048576",
        "large/kept.md",
        "large/left.log",
        "out",
        "! out/.gitignore: its rules are ignored: leads out of its root",
        "out/kept.md",
        "out/left.log",
        "pipe",
        "! pipe/.gitignore: its rules are ignored: not a regular file (named pipe)",
        "pipe/kept.md",
        "pipe/left.log",
        "repo",
        "! repo/.git/info/exclude: its rules are ignored: not a regular file (named pipe)",
        "repo/kept.md",
        "repo/left.log",
        "rules",
        "tree",
        "! tree/.git: its rules are ignored: not a regular file (named pipe)",
        "tree/kept.md",
        "tree/left.log",
    ];
    assert_eq!(both_ways(&roots, ".", WalkOptions::default()), want);
    let all = both_ways(&roots, ".", WalkOptions { ignored: true, ..WalkOptions::default() });
    assert!(all.iter().all(|name| !name.starts_with('!')), "{all:?}");
}

#[test]
fn a_work_tree_has_the_rules_of_its_repository() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap().join("root");
    let git = root.join("main/.git/worktrees/tree");
    write(&git.join("commondir"), "../..\n");
    write(&root.join("main/.git/info/exclude"), "*.log\n");
    write(&root.join("tree/.git"), &format!("gitdir: {}\n", git.display()));
    write(&base.path().join("other/info/exclude"), "*.md\n");
    write(&base.path().join("other/commondir"), ".\n");
    write(&root.join("stray/.git"), &format!("gitdir: {}/other\n", base.path().display()));
    for name in ["tree/a.log", "tree/a.md", "stray/b.md"] {
        write(&root.join(name), "x");
    }
    let roots = ServedRoots::open(&[root]).unwrap();
    let want = ["main", "stray", "stray/b.md", "tree", "tree/a.md"];
    assert_eq!(both_ways(&roots, ".", WalkOptions::default()), want);
}

#[test]
#[cfg(unix)]
fn entries_know_their_kind_and_size() {
    let Fixture { base: _base, roots } = fixture();
    let of = |path: &str| {
        let place = roots.top().join(path).unwrap();
        let found = roots.walk(&roots.top()).flatten().find(|entry| entry.place == place).unwrap();
        (found.kind, found.bytes)
    };
    assert_eq!(of("src/main.rs"), (PathKind::File, 12));
    assert_eq!(of("src"), (PathKind::Folder, 0));
    assert_eq!(of("out"), (PathKind::Link, 0));
    assert_eq!(roots.kind(&roots.resolve("src").unwrap()).unwrap(), PathKind::Folder);
}

#[test]
#[cfg(unix)]
fn odd_names_are_problems_and_the_rest_still_comes() {
    use std::os::unix::ffi::OsStrExt;
    let base = tempfile::tempdir().unwrap();
    write(&base.path().join(std::ffi::OsStr::from_bytes(b"bad\xff/inner.txt")), "x");
    write(&base.path().join("good.txt"), "x");
    let roots = ServedRoots::open(&[base.path().to_owned()]).unwrap();
    assert_eq!(
        names(&roots, ".", WalkOptions::default()),
        ["! bad\u{fffd}: its name is not UTF-8", "good.txt"]
    );
}

#[test]
#[cfg(unix)]
fn another_name_of_a_denied_file_is_denied() {
    let Fixture { base, roots } = fixture();
    let secret = base.path().join("home/.ssh/id_ed25519");
    write(&secret, "PRIVATE");
    let roots = roots.guarded(AccessRules::default(), &[base.path().join("home/.ssh")]);
    let root = roots.primary().to_owned();
    let read = |path: &str| {
        let place = roots.resolve(path).unwrap();
        match roots.read(&place, 100) {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(problem) => problem.to_string(),
        }
    };
    fs::hard_link(root.join("src/main.rs"), root.join("main-again.rs")).unwrap();
    assert_eq!(read("main-again.rs"), "fn main() {}", "a second name alone does no harm");
    for (from, name) in [
        (root.join(".env"), "notes.txt"),
        (root.join(".git/config"), "src/remote.txt"),
        (secret, "docs.md"),
    ] {
        fs::hard_link(&from, root.join(name)).unwrap();
        let want =
            format!("{name}: not served, because it is another name of a file that is not served");
        assert_eq!(read(name), want);
    }
}

#[test]
#[cfg(unix)]
fn a_denied_file_is_denied_beside_the_roots_too() {
    let Fixture { base, roots } = fixture();
    let secret = base.path().join("home/.ssh/id_ed25519");
    write(&secret, "PRIVATE");
    let roots = roots.guarded(AccessRules::default(), &[base.path().join("home/.ssh")]);
    let manual = base.path().join("manual");
    write(&manual.join("a.md"), "# A");
    write(&manual.join(".env"), "TOKEN=2");
    fs::hard_link(manual.join("a.md"), manual.join("b.md")).unwrap();
    fs::hard_link(manual.join(".env"), manual.join("own.md")).unwrap();
    fs::hard_link(roots.primary().join(".env"), manual.join("root.md")).unwrap();
    fs::hard_link(&secret, manual.join("home.md")).unwrap();
    let beside = roots.with_same_rules(&[manual]).unwrap();
    let read = |name: &str| beside.read(&beside.top().join(name).unwrap(), 100);
    assert_eq!(read("b.md").unwrap(), b"# A");
    for name in ["own.md", "root.md", "home.md"] {
        let said = read(name).unwrap_err().to_string();
        assert!(said.contains("another name of a file that is not served"), "{said}");
    }
}

#[test]
fn credentials_are_refused_by_their_own_names() {
    let Fixture { base: _base, roots } = fixture();
    let root = roots.primary().to_owned();
    for path in [
        ".config/docent/docent.toml",
        ".config/gh/hosts.yml",
        ".config/gh/config.yml",
        ".npmrc",
        "app/.npmrc",
        "calls.jsonl.1",
    ] {
        write(&root.join(path), "x");
    }
    let places =
        [".config/docent", ".config/gh/hosts.yml", ".npmrc", ".kube/config", "calls.jsonl"];
    let places = places.map(|place| root.join(place));
    let guarded = roots.clone().guarded(AccessRules::default(), &places);
    write(&root.join(".kube/config"), "made since");
    write(&root.join(".config/docent/tokens/new.json"), "made since");
    for (path, want) in [
        (".config/docent", "denied"),
        (".config/docent/docent.toml", "denied"),
        (".config/docent/tokens/new.json", "denied"),
        (".config/gh/hosts.yml", "denied"),
        (".config/gh/config.yml", ".config/gh/config.yml"),
        (".kube", ".kube"),
        (".kube/config", "denied"),
        (".npmrc", "denied"),
        ("app/.npmrc", "app/.npmrc"),
        ("calls.jsonl.1", "denied"),
    ] {
        assert_eq!(verdict(guarded.resolve(path)), want, "{path}");
    }
    let error = guarded.read(&guarded.top().join(".npmrc").unwrap(), 100).unwrap_err().to_string();
    assert!(error.contains("are never served"), "{error}");
    let all = WalkOptions { hidden: true, ignored: true, flat: false };
    let walked = names(&guarded, ".", all);
    assert!(!walked.iter().any(|name| name == ".npmrc" || name.contains("docent.toml")));
    assert!(walked.iter().any(|name| name == "app/.npmrc"), "{walked:?}");
    let beside = guarded.with_same_rules(&[root.join(".config")]).unwrap();
    assert_eq!(names(&beside, ".", all), ["gh", "gh/config.yml"]);
    let lifted = roots.guarded(AccessRules::new([], ["/.npmrc"]).unwrap(), &places);
    assert_eq!(verdict(lifted.resolve(".npmrc")), ".npmrc");
}

#[test]
#[cfg(unix)]
fn credentials_behind_a_link_are_refused_where_they_lie() {
    let Fixture { base, roots } = fixture();
    let root = roots.primary().to_owned();
    write(&root.join("settings/docent/docent.toml"), "token");
    write(&root.join("settings/other.toml"), "x");
    let home = base.path().join("home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(root.join("settings"), home.join(".config")).unwrap();
    let roots = roots.guarded(AccessRules::default(), &[home.join(".config/docent")]);
    assert_eq!(verdict(roots.resolve("settings/docent/docent.toml")), "denied");
    assert_eq!(verdict(roots.resolve("settings/other.toml")), "settings/other.toml");
}

#[test]
fn the_operator_s_rules_count_from_every_root_that_a_file_lies_in() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap().join("p");
    for path in ["internal/keys/x", "internal/own/y", "internal/z"] {
        write(&root.join(path), "x");
    }
    let inner = root.join("internal");
    let rules = AccessRules::new(["/internal/keys/", "/own/"], []).unwrap();
    let roots = ServedRoots::open(&[root.clone(), inner.clone()]).unwrap().guarded(rules, &[]);
    let beside = roots.with_same_rules(std::slice::from_ref(&inner)).unwrap();
    for (path, is_denied) in [("keys/x", true), ("own/y", true), ("z", false)] {
        let (outer, whole) = (format!("internal/{path}"), inner.join(path));
        for (roots, raw) in
            [(&roots, outer.as_str()), (&roots, whole.to_str().unwrap()), (&beside, path)]
        {
            assert_eq!(verdict(roots.resolve(raw)) == "denied", is_denied, "{raw}");
            let read = roots.read(&roots.parse(raw).unwrap(), 100);
            assert_eq!(read.is_err(), is_denied, "{raw}");
        }
    }
    assert_eq!(names(&roots, ".", WalkOptions::default()), ["internal", "internal/z"]);
    assert_eq!(names(&roots, inner.to_str().unwrap(), WalkOptions::default()), ["z"]);
    assert_eq!(names(&beside, ".", WalkOptions::default()), ["z"]);
}

#[test]
fn the_operator_s_rules_hold_everywhere() {
    let Fixture { base: _base, roots } = fixture();
    let roots = roots.guarded(AccessRules::new(["src/deep"], [".env"]).unwrap(), &[]);
    assert_eq!(verdict(roots.resolve("src/deep/a b.txt")), "denied");
    assert_eq!(verdict(roots.resolve(".env")), ".env");
    let beside = roots.with_same_rules(&[roots.primary().to_owned()]).unwrap();
    for roots in [roots, beside] {
        let place = roots.top().join("src/deep/a b.txt").unwrap();
        let error = roots.read(&place, 100).unwrap_err().to_string();
        assert!(error.contains("`policy.filesystem.deny` matches it"), "{error}");
        let all = WalkOptions { hidden: true, ignored: true, flat: false };
        let walked = roots.walk_with(&roots.top(), all).filter_map(Result::ok);
        let names: Vec<String> = walked.map(|entry| entry.place.to_string()).collect();
        assert!(!names.iter().any(|name| name.starts_with("src/deep")), "{names:?}");
        assert!(names.contains(&".env".to_owned()), "{names:?}");
    }
}
