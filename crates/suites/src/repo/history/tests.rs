//! Tests on repositories created by git and read without it.

use super::*;
use crate::{
    files::{PathKind, ServedRoots, WalkOptions},
    repo::report::{Ages, Churn, FolderOwners, HotSpot, Month, Owner, Release, Releases},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// The first second of 2024.
const START: i64 = 1_704_067_200;
const ADA: &str = "Ada Lovelace <ada@example.com>";
const GRACE: &str = "Grace Hopper <grace@example.com>";
const LATEST: i64 = START + 1000 * DAY_SECONDS;
const BOUNDS: HistoryLimits =
    HistoryLimits { commits: MAX_COMMITS, changes: MAX_CHANGES, latest: LATEST };

/// A served folder with a repository.
struct Fixture {
    folder: TempDir,
    top: PathBuf,
}

impl Fixture {
    /// Creates an empty repository at the root.
    fn new() -> Self {
        Self::at("")
    }

    /// Creates an empty repository in a folder of the root.
    fn at(path: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(&top).unwrap();
        let fixture = Self { folder, top };
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.top, arguments, ADA, 0, b"")
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Commits everything on disk, this many days after the start.
    fn commit(&self, author: &str, day: i64) {
        self.git(&["add", "-A"]);
        let arguments = ["commit", "-q", "--allow-empty", "-m", "x"];
        git(&self.top, &arguments, author, START + day * DAY_SECONDS, b"");
    }

    fn save(&self, files: &[(&str, &str)], author: &str, day: i64) {
        self.write(files);
        self.commit(author, day);
    }

    fn read(&self) -> HistoryOutcome {
        read_at(&[self.root()], self.top.strip_prefix(self.root()).unwrap().to_str().unwrap())
    }

    fn history(&self) -> (History, ProjectPast) {
        let remembered = self.read();
        assert_eq!(remembered.problems, []);
        remembered.history.unwrap()
    }
}

/// Runs git without user or system configuration.
fn git(folder: &Path, arguments: &[&str], author: &str, time: i64, input: &[u8]) -> String {
    use std::io::Write;
    let (name, address) = author.split_once(" <").unwrap();
    let address = address.trim_end_matches('>');
    let date = format!("@{time} +0000");
    let mut child = Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs([("GIT_AUTHOR_NAME", name), ("GIT_COMMITTER_NAME", name)])
        .envs([("GIT_AUTHOR_EMAIL", address), ("GIT_COMMITTER_EMAIL", address)])
        .envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Walks a folder of the first root.
fn tree_at(roots: &[PathBuf], path: &str) -> ProjectTree {
    let roots = ServedRoots::open(roots).unwrap();
    let top = roots.top().join(path).unwrap();
    let mut tree = ProjectTree::new(roots.clone(), top.clone());
    for entry in
        roots.walk_with(&top, WalkOptions { hidden: true, ..WalkOptions::default() }).flatten()
    {
        if entry.kind == PathKind::File {
            tree.add_file(entry.place.below(&top).unwrap(), entry.bytes, None);
        }
    }
    tree
}

fn read_at(roots: &[PathBuf], path: &str) -> HistoryOutcome {
    read_within(&tree_at(roots, path), &HashMap::new(), BOUNDS, &|| false)
}

fn only_problem(remembered: &HistoryOutcome) -> (&str, &str) {
    assert!(remembered.history.is_none(), "{:?}", remembered.history);
    let [problem] = remembered.problems.as_slice() else { panic!("{:?}", remembered.problems) };
    (&problem.path, &problem.reason)
}

fn on(day: i64) -> i64 {
    START + day * DAY_SECONDS
}

fn changed(days: &[i64]) -> FilePast {
    FilePast { changes: days.iter().map(|day| on(*day)).collect(), gone: false, renamed_to: None }
}

fn gone(days: &[i64], renamed_to: Option<&str>) -> FilePast {
    FilePast { gone: true, renamed_to: renamed_to.map(Into::into), ..changed(days) }
}

fn files(past: &[(&str, FilePast)]) -> HashMap<Box<str>, FilePast> {
    past.iter().map(|(path, past)| ((*path).into(), past.clone())).collect()
}

fn churn(path: &str, changes: u64, authors: u64, last_change: &str) -> Churn {
    Churn { path: path.into(), changes, authors, last_change: last_change.into() }
}

fn owner(name: &str, commits: u64, share: f64, last: &str) -> Owner {
    Owner { name: name.into(), commits, share, last: last.into() }
}

fn month(month: &str, commits: u64) -> Month {
    Month { month: month.into(), commits }
}

/// A side branch, a merge, a program, a mailmap, a removed file and two releases.
fn ordinary() -> Fixture {
    let fixture = Fixture::new();
    let mailmap = "Ada Lovelace <ada@example.com> <countess@example.com>\n";
    let first = [("src/a.rs", "1"), ("src/b.rs", "1"), ("README.md", "1"), (".mailmap", mailmap)];
    fixture.save(&first, ADA, 0);
    git(&fixture.top, &["tag", "-a", "-m", "x", "v0.1.0"], ADA, on(1), b"");
    fixture.git(&["branch", "side"]);
    fixture.save(&[("src/a.rs", "2")], "Countess <countess@example.com>", 10);
    fixture.git(&["checkout", "-q", "side"]);
    fixture.save(&[("src/b.rs", "2"), ("docs/guide.md", "1")], GRACE, 20);
    fixture.git(&["checkout", "-q", "main"]);
    git(&fixture.top, &["merge", "-q", "--no-ff", "-m", "x", "side"], ADA, on(30), b"");
    fixture.git(&["tag", "v0.2.0"]);
    fixture.git(&["tag", "nightly-2024-02-01"]);
    let bot = "dependabot[bot] <49699333+dependabot[bot]@users.example.com>";
    fixture.save(&[("Cargo.lock", "1")], bot, 40);
    fs::remove_file(fixture.top.join("README.md")).unwrap();
    fixture.save(&[("src/a.rs", "3")], ADA, 70);
    fixture.write(&[("untracked.rs", "1")]);
    fixture
}

#[test]
fn an_ordinary_repository_is_reported_completely() {
    let fixture = ordinary();
    let weight =
        |path: &str, complexity, lines| (path.into(), FileComplexity { complexity, lines });
    let weights = [weight("src/a.rs", 10, 100), weight("src/b.rs", 30, 50)].into();
    let tree = tree_at(&[fixture.root()], "");
    let remembered = read_within(&tree, &weights, BOUNDS, &|| false);
    assert_eq!(remembered.problems, []);
    let (history, past) = remembered.history.unwrap();
    let folder = |path: &str, changes, main_author: &str, share| FolderOwners {
        path: path.into(),
        changes,
        main_author: main_author.into(),
        share,
        bus_factor: 1,
    };
    let release = |tag: &str, date: &str| Release { tag: tag.into(), date: date.into() };
    let spot = |path: &str, changes, (complexity, lines), score| HotSpot {
        path: path.into(),
        changes,
        complexity,
        lines,
        score,
    };
    let want = History {
        commits: 6,
        truncated: false,
        shallow: false,
        branch: Some("main".into()),
        since: Some("2024-01-01".into()),
        until: Some("2024-03-11".into()),
        months: vec![month("2024-01", 4), month("2024-02", 1), month("2024-03", 1)],
        churn: vec![
            churn("src/a.rs", 3, 1, "2024-03-11"),
            churn("src/b.rs", 2, 2, "2024-01-21"),
            churn(".mailmap", 1, 1, "2024-01-01"),
            churn("Cargo.lock", 1, 0, "2024-02-10"),
            churn("docs/guide.md", 1, 1, "2024-01-21"),
        ],
        hot_spots: vec![spot("src/b.rs", 2, (30, 50), 100.0), spot("src/a.rs", 3, (10, 100), 50.0)],
        owners: vec![
            owner("Ada Lovelace", 4, 71.4, "2024-03-11"),
            owner("Grace Hopper", 1, 28.6, "2024-01-21"),
        ],
        author_count: 2,
        bus_factor: 1,
        folders: vec![
            folder("src/", 5, "Ada Lovelace", 80.0),
            folder("./", 1, "Ada Lovelace", 100.0),
            folder("docs/", 1, "Grace Hopper", 100.0),
        ],
        releases: Releases {
            count: 2,
            newest: vec![release("v0.2.0", "2024-01-31"), release("v0.1.0", "2024-01-02")],
            median_days: Some(29),
            commits_since: Some(2),
        },
        ages: Ages { month: 2, year: 3, three_years: 0, older: 0, median_days: Some(50) },
    };
    assert_eq!(history, want);
    let want = files(&[
        ("src/a.rs", changed(&[70, 10, 0])),
        ("src/b.rs", changed(&[20, 0])),
        (".mailmap", changed(&[0])),
        ("Cargo.lock", changed(&[40])),
        ("docs/guide.md", changed(&[20])),
        ("README.md", gone(&[70, 0], None)),
    ]);
    assert_eq!(past, ProjectPast { files: want, complete: true });
}

#[test]
fn packed_repositories_give_the_same_result() {
    let fixture = ordinary();
    let loose = fixture.history();
    fixture.git(&["gc", "-q", "--aggressive", "--prune=now"]);
    assert!(fs::read_dir(fixture.top.join(".git/objects/pack")).unwrap().count() > 0);
    assert_eq!(fixture.history(), loose);
}

#[test]
fn files_are_followed_when_they_move() {
    let fixture = Fixture::new();
    let text = |number| format!("{number}\n").repeat(30);
    fixture.save(&[("a.rs", &text(1)), ("x.rs", &text(9)), ("y.rs", &text(8))], GRACE, 0);
    fixture.save(&[("a.rs", &text(2))], GRACE, 1);
    fixture.git(&["mv", "a.rs", "b.rs"]);
    fixture.commit(ADA, 2);
    fs::create_dir(fixture.top.join("lib")).unwrap();
    fixture.git(&["mv", "b.rs", "lib/c.rs"]);
    fixture.commit(ADA, 3);
    fixture.save(&[("lib/c.rs", &text(3))], ADA, 4);
    // Moved away, created again, then removed.
    fixture.git(&["mv", "x.rs", "z.rs"]);
    fixture.commit(ADA, 5);
    fixture.save(&[("x.rs", "other")], ADA, 6);
    fs::remove_file(fixture.top.join("x.rs")).unwrap();
    fixture.commit(ADA, 7);
    // Moved, and removed under the new name.
    fixture.git(&["mv", "y.rs", "w.rs"]);
    fixture.commit(ADA, 8);
    fs::remove_file(fixture.top.join("w.rs")).unwrap();
    fixture.commit(ADA, 9);
    let (history, past) = fixture.history();
    let want = files(&[
        ("a.rs", gone(&[2, 1, 0], Some("lib/c.rs"))),
        ("b.rs", gone(&[3, 2], Some("lib/c.rs"))),
        ("lib/c.rs", changed(&[4, 3, 2, 1, 0])),
        ("x.rs", gone(&[7, 6, 5, 0], None)),
        ("z.rs", changed(&[5, 0])),
        ("y.rs", gone(&[8, 0], Some("w.rs"))),
        ("w.rs", gone(&[9, 8], None)),
    ]);
    assert_eq!(past, ProjectPast { files: want, complete: true });
    let want = [churn("lib/c.rs", 5, 2, "2024-01-05"), churn("z.rs", 2, 2, "2024-01-06")];
    assert_eq!(history.churn, want);
    // A file's author stays the same when another person moves it.
    let want = [
        owner("Ada Lovelace", 8, 57.1, "2024-01-10"),
        owner("Grace Hopper", 2, 42.9, "2024-01-02"),
    ];
    assert_eq!(history.owners, want);
}

#[test]
fn a_folder_of_a_repository_has_its_own_history() {
    let fixture = Fixture::at("work");
    fixture.save(&[("app/core/a.rs", "1"), ("other/b.rs", "1")], ADA, 0);
    fixture.git(&["tag", "1.0"]);
    fixture.save(&[("other/b.rs", "2")], GRACE, 10);
    fixture.save(&[("app/core/a.rs", "2"), ("app/core/in/c.rs", "1")], ADA, 20);
    fixture.save(&[("other/b.rs", "3")], GRACE, 100);
    let remembered = read_at(&[fixture.root()], "work/app/core");
    assert_eq!(remembered.problems, []);
    let (history, past) = remembered.history.unwrap();
    let want = files(&[("a.rs", changed(&[20, 0])), ("in/c.rs", changed(&[20]))]);
    assert_eq!(past, ProjectPast { files: want, complete: true });
    assert_eq!(history.commits, 2);
    assert_eq!(history.months, [month("2024-01", 2)]);
    assert_eq!(history.owners, [owner("Ada Lovelace", 2, 100.0, "2024-01-21")]);
    assert_eq!((history.author_count, history.bus_factor), (1, 1));
    assert_eq!(
        (history.since.as_deref(), history.until.as_deref()),
        (Some("2024-01-01"), Some("2024-04-10"))
    );
    assert_eq!(history.releases.commits_since, Some(1));
    assert_eq!(history.ages, Ages { year: 2, median_days: Some(80), ..Ages::default() });
    let paths: Vec<_> = history.folders.iter().map(|folder| folder.path.as_str()).collect();
    assert_eq!(paths, ["./", "in/"]);
}

#[test]
fn a_folder_that_git_does_not_track_is_a_problem() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.write(&[("new/b.rs", "1")]);
    let want = ("new", "is not tracked by the git repository at .git");
    assert_eq!(only_problem(&read_at(&[fixture.root()], "new")), want);
}

#[test]
fn no_git_is_not_a_problem() {
    let fixture = Fixture::new();
    fixture.save(&[("inner/a.rs", "1")], ADA, 0);
    let empty = tempfile::tempdir().unwrap();
    // Paths above a root are not checked.
    for root in [empty.path().to_owned(), fixture.top.join("inner")] {
        let remembered = read_at(&[root], "");
        assert!(remembered.history.is_none());
        assert_eq!(remembered.problems, []);
    }
}

#[test]
fn a_repository_without_commits() {
    let fixture = Fixture::new();
    fixture.write(&[("a.rs", "1")]);
    let (history, past) = fixture.history();
    assert_eq!(history, History { branch: Some("main".into()), ..History::default() });
    assert_eq!(past, ProjectPast { files: HashMap::new(), complete: true });
}

#[test]
fn a_history_may_start_with_nothing() {
    let fixture = Fixture::new();
    fixture.commit(ADA, 0);
    fixture.save(&[("a.rs", "1")], ADA, 1);
    fixture.git(&["rm", "-q", "a.rs"]);
    fixture.commit(ADA, 2);
    let (history, past) = fixture.history();
    assert_eq!((history.commits, history.bus_factor), (3, 0));
    assert_eq!(
        past,
        ProjectPast { files: files(&[("a.rs", gone(&[2, 1], None))]), complete: true }
    );
}

#[test]
fn a_detached_head_has_no_branch() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.save(&[("a.rs", "2")], ADA, 1);
    fixture.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    let (history, past) = fixture.history();
    assert_eq!((history.branch, history.commits), (None, 1));
    assert_eq!(past.files, files(&[("a.rs", changed(&[0]))]));
}

#[test]
fn the_edge_of_a_shallow_clone_adds_nothing() {
    let origin = Fixture::new();
    origin.save(&[("old.rs", "1"), ("a.rs", "1")], ADA, 0);
    origin.save(&[("a.rs", "2")], ADA, 1);
    origin.save(&[("a.rs", "3")], GRACE, 2);
    let clone = Fixture::new();
    let address = format!("file://{}", origin.top.display());
    clone.git(&["clone", "-q", "--depth", "2", &address, "copy"]);
    let remembered = read_at(&[clone.root()], "copy");
    assert_eq!(remembered.problems, []);
    let (history, past) = remembered.history.unwrap();
    assert_eq!((history.commits, history.shallow, history.truncated), (2, true, true));
    assert_eq!(history.churn, [churn("a.rs", 1, 1, "2024-01-03")]);
    assert_eq!(history.ages, Ages { month: 1, older: 1, median_days: Some(0), ..Ages::default() });
    let want = files(&[("a.rs", changed(&[2])), ("old.rs", changed(&[]))]);
    assert_eq!(past, ProjectPast { files: want, complete: false });
}

#[test]
fn a_bare_repository_has_the_files_of_its_newest_commit() {
    let origin = ordinary();
    origin.save(&[(".env", "secret")], ADA, 71);
    let (mut want, mut past) = origin.history();
    origin.git(&["clone", "-q", "--bare", ".", "bare.git"]);
    let remembered = read_at(&[origin.root()], "bare.git");
    let [problem] = remembered.problems.as_slice() else { panic!("{:?}", remembered.problems) };
    assert_eq!(problem.path, "bare.git");
    assert!(problem.reason.starts_with("is a bare git repository: "), "{problem}");
    let (history, bare_past) = remembered.history.unwrap();
    want.branch = Some("main".into());
    past.complete = true;
    assert_eq!(history, want);
    assert_eq!(bare_past, past);
}

#[test]
fn a_work_tree_beside_a_bare_repository_is_not_bare() {
    let fixture = Fixture::at("hub");
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.git(&["config", "core.bare", "true"]);
    fixture.git(&["worktree", "add", "-q", "../linked", "-b", "topic"]);
    let linked = read_at(&[fixture.root()], "linked");
    assert_eq!(linked.problems, []);
    assert_eq!(linked.history.unwrap().0.branch.as_deref(), Some("topic"));
    let hub = read_at(&[fixture.root()], "hub");
    assert_eq!(hub.problems.len(), 1);
    assert_eq!(hub.history.unwrap().0.churn, [churn("a.rs", 1, 1, "2024-01-01")]);
}

#[test]
fn a_linked_work_tree_is_followed_inside_the_roots() {
    let fixture = Fixture::at("main");
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.git(&["worktree", "add", "-q", "../linked", "-b", "topic"]);
    let (main, linked) = (fixture.root().join("main"), fixture.root().join("linked"));
    for (roots, path) in [(vec![fixture.root()], "linked"), (vec![linked.clone(), main], "")] {
        let remembered = read_at(&roots, path);
        assert_eq!(remembered.problems, []);
        let (history, past) = remembered.history.unwrap();
        assert_eq!((history.branch.as_deref(), history.commits), (Some("topic"), 1));
        assert_eq!(past.files, files(&[("a.rs", changed(&[0]))]));
    }
    assert_eq!(only_problem(&read_at(&[linked], "")), (".git", location::HISTORY_OUTSIDE_ROOTS));
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_roots() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::at("real");
    fixture.save(&[("a.rs", "1")], ADA, 0);
    let linked = fixture.root().join("linked");
    fs::create_dir(&linked).unwrap();
    fs::write(linked.join("a.rs"), "1").unwrap();
    symlink(fixture.top.join(".git"), linked.join(".git")).unwrap();
    let remembered = read_at(&[fixture.root()], "linked");
    assert_eq!(remembered.problems, []);
    assert_eq!(remembered.history.unwrap().0.commits, 1);
    assert_eq!(
        only_problem(&read_at(std::slice::from_ref(&linked), "")),
        (".git", location::HISTORY_OUTSIDE_ROOTS)
    );
    // Parts of a git directory may be elsewhere in a root.
    fs::rename(fixture.top.join(".git/objects"), fixture.root().join("objects")).unwrap();
    symlink("../../objects", fixture.top.join(".git/objects")).unwrap();
    assert_eq!(fixture.history().0.commits, 1);
    for path in ["objects", "refs", "HEAD", "packed-refs"] {
        let fixture = Fixture::new();
        fixture.save(&[("a.rs", "1")], ADA, 0);
        fixture.git(&["pack-refs", "--all"]);
        let elsewhere = tempfile::tempdir().unwrap();
        let (from, to) = (fixture.top.join(".git").join(path), elsewhere.path().join("moved"));
        fs::rename(&from, &to).unwrap();
        symlink(&to, &from).unwrap();
        let remembered = fixture.read();
        let (shown, reason) = only_problem(&remembered);
        assert_eq!(shown, ".git", "{path}");
        assert_eq!(reason, location::LINK_OUTSIDE_ROOTS, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_hold_up_the_call() {
    for path in ["HEAD", "config", "refs/heads/pipe", "objects/pack/pack-1.idx"] {
        let fixture = Fixture::new();
        fixture.save(&[("a.rs", "1")], ADA, 0);
        let path = format!(".git/{path}");
        let file = fixture.top.join(&path);
        drop(fs::remove_file(&file));
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        let want = "the history was not read, because this is not a regular file (named pipe)";
        assert_eq!(only_problem(&fixture.read()), (path.as_str(), want));
    }
}

/// The git library opens whatever HEAD names.
#[cfg(unix)]
#[test]
fn a_pipe_that_head_names_does_not_hold_up_the_call() {
    use std::os::unix::ffi::OsStrExt as _;
    let names: [&[u8]; 6] = [
        b"ORIG_HEAD",
        b"main-worktree/PIPE",
        b"worktrees/tree/PIPE",
        b"worktrees/tree/refs/bisect/pipe",
        b"refs/heads/id_rsa",
        b"refs/heads/caf\xe9",
    ];
    for name in names {
        let fixture = Fixture::new();
        fixture.save(&[("a.rs", "1")], ADA, 0);
        let git = fixture.top.join(".git");
        let file = name.strip_prefix(b"main-worktree/").unwrap_or(name);
        let file = git.join(std::ffi::OsStr::from_bytes(file));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        fs::write(git.join("HEAD"), [b"ref: ", name, b"\n"].concat()).unwrap();
        let remembered = fixture.read();
        let (_, reason) = only_problem(&remembered);
        let want = "the history was not read, because this is not a regular file (named pipe)";
        assert_eq!(reason, want, "{}", String::from_utf8_lossy(name));
    }
}

#[test]
fn borrowed_objects_are_used_inside_the_roots() {
    let fixture = Fixture::at("origin");
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.git(&["clone", "-q", "--shared", ".", "../clone"]);
    let remembered = read_at(&[fixture.root()], "clone");
    assert_eq!(remembered.problems, []);
    assert_eq!(remembered.history.unwrap().0.commits, 1);
    let alone = read_at(&[fixture.root().join("clone")], "");
    assert_eq!(only_problem(&alone), (".git", location::OBJECTS_OUTSIDE_ROOTS));
}

#[test]
fn a_broken_git_directory_is_a_problem() {
    type Break = fn(&Path);
    let cases: [(&str, Break, &str); 5] = [
        (
            "no HEAD",
            |git| fs::remove_file(git.join("HEAD")).unwrap(),
            location::NOT_A_GIT_DIRECTORY,
        ),
        ("garbage in HEAD", |git| fs::write(git.join("HEAD"), "garbage").unwrap(), "the git "),
        (
            "a file that names nothing",
            |git| pointer(git, "nothing"),
            "is a file that does not name a git directory",
        ),
        (
            "a file that names what is not there",
            |git| pointer(git, "gitdir: nowhere"),
            "names a git directory that does not exist",
        ),
        (
            "a file that leads out",
            |git| pointer(git, "gitdir: ../elsewhere"),
            location::HISTORY_OUTSIDE_ROOTS,
        ),
    ];
    for (case, broken, want) in cases {
        let fixture = Fixture::new();
        fixture.save(&[("a.rs", "1")], ADA, 0);
        broken(&fixture.top.join(".git"));
        let remembered = fixture.read();
        let (path, reason) = only_problem(&remembered);
        assert_eq!(path, ".git", "{case}");
        assert!(reason.starts_with(want), "{case}: {reason}");
    }
}

/// Puts a file in the place of a git directory.
fn pointer(git: &Path, text: &str) {
    fs::remove_dir_all(git).unwrap();
    fs::write(git, text).unwrap();
}

/// The file of a loose object.
fn object_file(fixture: &Fixture, name: &str) -> PathBuf {
    let id = fixture.git(&["rev-parse", name]);
    let (folder, file) = id.split_at(2);
    fixture.top.join(".git/objects").join(folder).join(file)
}

#[test]
fn damage_leaves_what_can_be_read() {
    type Case = (&'static str, fn(&Path), (u64, u64), (u64, bool), &'static [i64]);
    let remove: fn(&Path) = |file| fs::remove_file(file).unwrap();
    let spoil: fn(&Path) = |file| {
        fs::remove_file(file).unwrap();
        fs::write(file, "not zlib").unwrap();
    };
    let cases: [Case; 4] = [
        // A commit: its ancestors are unreachable, and so is its parent for comparison.
        ("HEAD~1", remove, (1, 0), (1, true), &[]),
        ("HEAD~1", spoil, (0, 1), (1, true), &[]),
        // A tree: two commits cannot be compared.
        ("HEAD~1^{tree}", remove, (2, 0), (4, false), &[1, 0]),
        ("HEAD~1^{tree}", spoil, (0, 2), (4, false), &[1, 0]),
    ];
    for (name, damage, (missing, damaged), seen, days) in cases {
        let fixture = Fixture::new();
        for day in 0..4 {
            fixture.save(&[("a.rs", &day.to_string())], ADA, day);
        }
        damage(&object_file(&fixture, name));
        let remembered = fixture.read();
        let [problem] = remembered.problems.as_slice() else { panic!("{:?}", remembered.problems) };
        assert_eq!(problem.path, ".git", "{name}");
        let want = format!(
            "the git history is incomplete: objects missing {missing}, damaged {damaged}; `git fsck` names them"
        );
        assert_eq!(problem.reason, want, "{name}");
        let (history, past) = remembered.history.unwrap();
        assert_eq!((history.commits, history.truncated), seen, "{name}");
        let want = ProjectPast { files: files(&[("a.rs", changed(days))]), complete: false };
        assert_eq!(past, want, "{name}");
    }
}

#[test]
fn without_the_newest_commit_there_is_no_history() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    let file = object_file(&fixture, "HEAD");
    fs::remove_file(&file).unwrap();
    let missing = fixture.read();
    fs::write(&file, "not zlib").unwrap();
    for remembered in [missing, fixture.read()] {
        let (path, reason) = only_problem(&remembered);
        assert_eq!(path, ".git");
        assert!(reason.starts_with("the git history "), "{reason}");
    }
}

#[test]
fn a_submodule_has_its_own_history() {
    let library = Fixture::new();
    library.save(&[("b.rs", "1")], GRACE, 5);
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.git(&["submodule", "--quiet", "add", library.top.to_str().unwrap(), "vendor/sub"]);
    fixture.commit(ADA, 6);
    assert!(fixture.top.join("vendor/sub/.git").is_file());
    let remembered = read_at(&[fixture.root()], "vendor/sub");
    assert_eq!(remembered.problems, []);
    let (history, past) = remembered.history.unwrap();
    assert_eq!(history.owners, [owner("Grace Hopper", 1, 100.0, "2024-01-06")]);
    assert_eq!(past.files, files(&[("b.rs", changed(&[5]))]));
}

#[cfg(unix)]
#[test]
fn secrets_are_not_quoted() {
    for path in ["HEAD", "config", "packed-refs", "refs/heads/main", "refs/tags/v1.0", "shallow"] {
        let fixture = Fixture::new();
        fixture.save(&[("a.rs", "1"), (".env", "[TOKEN = hush")], ADA, 0);
        let file = fixture.top.join(".git").join(path);
        drop(fs::remove_file(&file));
        std::os::unix::fs::symlink(fixture.top.join(".env"), &file).unwrap();
        let remembered = format!("{:?}", fixture.read());
        assert!(!remembered.contains("TOKEN") && !remembered.contains("hush"), "{remembered}");
    }
}

#[test]
fn submodules_are_no_files() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    let id = fixture.git(&["rev-parse", "HEAD"]);
    fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},vendor/sub")]);
    git(&fixture.top, &["commit", "-q", "-m", "x"], ADA, on(1), b"");
    let (history, past) = fixture.history();
    assert_eq!(history.commits, 2);
    assert_eq!(past.files, files(&[("a.rs", changed(&[0]))]));
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_tracked_and_not_gone() {
    let fixture = Fixture::new();
    fixture.write(&[("a.rs", "1")]);
    std::os::unix::fs::symlink("a.rs", fixture.top.join("link.rs")).unwrap();
    fixture.commit(ADA, 0);
    let (history, past) = fixture.history();
    assert_eq!(history.churn, [churn("a.rs", 1, 1, "2024-01-01")]);
    assert_eq!(past.files, files(&[("a.rs", changed(&[0])), ("link.rs", changed(&[0]))]));
}

#[test]
fn repositories_with_long_ids_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let fixture = Fixture { folder, top };
    fixture.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.git(&["tag", "-a", "-m", "x", "v1.0.0"]);
    let (history, past) = fixture.history();
    assert_eq!((history.commits, history.releases.count), (1, 1));
    assert_eq!(past.files, files(&[("a.rs", changed(&[0]))]));
}

#[test]
fn references_in_a_table_are_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let fixture = Fixture { folder, top };
    fixture.git(&["init", "-q", "-b", "main", "--ref-format=reftable"]);
    fixture.save(&[("a.rs", "1")], ADA, 0);
    let remembered = fixture.read();
    let (path, reason) = only_problem(&remembered);
    assert_eq!(path, ".git");
    assert!(reason.contains("reftable"), "{reason}");
}

#[test]
fn replacements_and_grafts_are_ignored() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.save(&[("a.rs", "2")], ADA, 1);
    fixture.save(&[("a.rs", "3")], ADA, 2);
    let want = fixture.history();
    fixture.git(&["replace", "--graft", "HEAD"]);
    assert_eq!(fixture.git(&["rev-list", "--count", "HEAD"]), "1");
    let head = fixture.git(&["rev-parse", "HEAD"]);
    fs::write(fixture.top.join(".git/info/grafts"), format!("{head}\n")).unwrap();
    assert_eq!(fixture.history(), want);
}

#[test]
fn configuration_is_not_obeyed() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    let want = fixture.history();
    let marker = fixture.root().join("executed");
    let run = format!("touch {}", marker.display());
    let configuration = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"{run}\"\n\tsshCommand = \"{run}\"\n\
         \tpager = \"{run}\"\n\thooksPath = .\n\tworktree = /\n[include]\n\tpath = /dev/zero\n\
         [mailmap]\n\tfile = /dev/zero\n\tblob = HEAD:a.rs\n[filter \"x\"]\n\tprocess = \"{run}\"\n"
    );
    fs::write(fixture.top.join(".git/config"), configuration).unwrap();
    assert_eq!(fixture.history(), want);
    assert!(!marker.exists());
}

#[test]
fn bounds_cut_the_history() {
    let fixture = Fixture::new();
    for day in 0..5 {
        fixture.save(&[("a.rs", &day.to_string())], ADA, day);
    }
    let tree = tree_at(&[fixture.root()], "");
    let bounded = |bounds, halt: HaltCheck<'_>| {
        let remembered = read_within(&tree, &HashMap::new(), bounds, halt);
        assert_eq!(remembered.problems, []);
        let (history, past) = remembered.history.unwrap();
        assert_eq!(past.complete, !history.truncated);
        let changes = past.files.get("a.rs").map(|past| past.changes.clone());
        (history.commits, history.truncated, history.since, changes)
    };
    let all = changed(&[4, 3, 2, 1, 0]).changes;
    assert_eq!(
        bounded(BOUNDS, &|| false),
        (5, false, Some("2024-01-01".into()), Some(all.clone()))
    );
    let five = HistoryLimits { commits: 5, ..BOUNDS };
    assert_eq!(bounded(five, &|| false), (5, false, Some("2024-01-01".into()), Some(all)));
    let two = HistoryLimits { commits: 2, ..BOUNDS };
    let newest = changed(&[4, 3]).changes;
    assert_eq!(bounded(two, &|| false), (2, true, Some("2024-01-04".into()), Some(newest)));
    let few = HistoryLimits { changes: 2, ..BOUNDS };
    let newest = changed(&[4, 3]).changes;
    assert_eq!(bounded(few, &|| false), (2, true, Some("2024-01-04".into()), Some(newest)));
    assert_eq!(bounded(BOUNDS, &|| true), (0, true, None, Some(Vec::new())));
}

#[test]
fn a_tree_that_repeats_itself_does_not_fill_the_memory() {
    let fixture = Fixture::new();
    fixture.save(&[("f", "1")], ADA, 0);
    let mut tree = fixture.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..9 {
        let entries: Vec<String> =
            (0..10).map(|number| format!("040000 tree {tree}\td{number}")).collect();
        tree = git(&fixture.top, &["mktree"], ADA, 0, entries.join("\n").as_bytes());
    }
    let commit =
        git(&fixture.top, &["commit-tree", "-p", "HEAD", "-m", "x", &tree], ADA, on(1), b"");
    fixture.git(&["update-ref", "refs/heads/main", &commit]);
    let tree = tree_at(&[fixture.root()], "");
    let bounds = HistoryLimits { changes: 1000, ..BOUNDS };
    let remembered = read_within(&tree, &HashMap::new(), bounds, &|| false);
    assert_eq!(remembered.problems, []);
    let (history, past) = remembered.history.unwrap();
    assert_eq!((history.commits, history.truncated), (1, true));
    assert_eq!(past, ProjectPast::default());
}

/// Makes a commit that git itself would not make, and puts the branch on it.
fn raw_commit(fixture: &Fixture, author: &[u8], committer: &[u8]) {
    let tree = fixture.git(&["rev-parse", "HEAD^{tree}"]);
    let parent = fixture.git(&["rev-parse", "HEAD"]);
    let mut commit = format!("tree {tree}\nparent {parent}\nauthor ").into_bytes();
    commit.extend_from_slice(author);
    commit.extend_from_slice(b"\ncommitter ");
    commit.extend_from_slice(committer);
    commit.extend_from_slice(b"\n\nx\n");
    let arguments = ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"];
    let id = git(&fixture.top, &arguments, ADA, 0, &commit);
    fixture.git(&["update-ref", "refs/heads/main", &id]);
}

#[test]
fn strange_authors_and_times_are_taken_as_they_come() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    let cases: [(&[u8], &[u8]); 8] = [
        (b"J\xf6rg <j@example.com> 1 +0000", b"x <x> 1704153600 +0000"),
        (b"Con\x1btrol <c@example.com> 1 +0000", b"x <x> 1704240000 +0000"),
        (b" <e@example.com> 1 +0000", b"x <x> 1704326400 +0000"),
        (b"Old <o@example.com> 1 +0000", b"x <x> -86400 +0000"),
        (b"Future <f@example.com> 1 +0000", b"x <x> 99999999999999 +0000"),
        (b"Huge <h@example.com> 1 +0000", b"x <x> 99999999999999999999999999 +0000"),
        (b"No time <n@example.com>", b"x <x>"),
        (b"no address at all", b"nobody"),
    ];
    for (author, committer) in cases {
        raw_commit(&fixture, author, committer);
    }
    let (history, past) = fixture.history();
    assert_eq!(history.commits, 9);
    assert_eq!(history.since.as_deref(), Some("1970-01-01"));
    assert_eq!(history.until.as_deref(), Some("2026-09-27"), "{LATEST} is the latest time allowed");
    assert_eq!(history.months.len(), 33);
    assert_eq!(history.months.first(), Some(&month("2024-01", 4)));
    assert_eq!(history.months.last(), Some(&month("2026-09", 1)));
    let mut names: Vec<_> = history.owners.iter().map(|owner| owner.name.as_str()).collect();
    names.sort_unstable();
    let want = [
        "(no name)",
        "(no name)",
        "Ada Lovelace",
        "Con trol",
        "Future",
        "Huge",
        "Jörg",
        "No time",
        "Old",
    ];
    assert_eq!(names, want);
    assert_eq!(past.files, files(&[("a.rs", changed(&[0]))]));
}

#[test]
fn strange_paths_are_kept_or_left_out() {
    let fixture = Fixture::new();
    fixture.save(&[("ü b/c\"d.rs", "1")], ADA, 0);
    let blob = fixture.git(&["rev-parse", "HEAD:ü b/c\"d.rs"]);
    let mut tree = Vec::new();
    for name in [b"..".as_slice(), b"\xff.rs", b"a\nb"] {
        tree.extend_from_slice(b"100644 ");
        tree.extend_from_slice(name);
        tree.push(0);
        let bytes = blob
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
        tree.extend(bytes);
    }
    let arguments = ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"];
    let id = git(&fixture.top, &arguments, ADA, 0, &tree);
    let commit = git(&fixture.top, &["commit-tree", "-p", "HEAD", "-m", "x", &id], ADA, on(1), b"");
    fixture.git(&["update-ref", "refs/heads/main", &commit]);
    let (history, past) = fixture.history();
    assert_eq!(history.commits, 2);
    // A file on disk is not deleted, even if the newest commit lacks it.
    let want = [("ü b/c\"d.rs", changed(&[1, 0])), ("..", changed(&[1])), ("a\nb", changed(&[1]))];
    assert_eq!(past.files, files(&want));
}

#[test]
fn releases_are_counted_from_the_newest_that_head_has() {
    let fixture = Fixture::new();
    fixture.save(&[("a.rs", "1")], ADA, 0);
    fixture.git(&["tag", "app-1.0.0"]);
    fixture.save(&[("a.rs", "2")], ADA, 10);
    fixture.git(&["tag", "app-1.1.0"]);
    fixture.git(&["tag", "lib-1.1.0"]);
    fixture.save(&[("a.rs", "3")], ADA, 40);
    // A release on another branch with nested tags, and tags of other objects.
    fixture.git(&["checkout", "-q", "-b", "old", "HEAD~2"]);
    fixture.save(&[("a.rs", "4")], ADA, 41);
    git(&fixture.top, &["tag", "-a", "-m", "x", "app-1.0.1"], ADA, on(60), b"");
    git(&fixture.top, &["tag", "-a", "-m", "x", "app-1.0.2", "app-1.0.1"], ADA, on(70), b"");
    fixture.git(&["tag", "v9.0", "HEAD^{tree}"]);
    fixture.git(&["tag", "v9.1", "HEAD:a.rs"]);
    fixture.git(&["checkout", "-q", "main"]);
    let (history, _) = fixture.history();
    let release = |tag: &str, date: &str| Release { tag: tag.into(), date: date.into() };
    let want = Releases {
        count: 5,
        newest: vec![
            release("app-1.0.2", "2024-03-11"),
            release("app-1.0.1", "2024-03-01"),
            release("lib-1.1.0", "2024-01-11"),
            release("app-1.1.0", "2024-01-11"),
            release("app-1.0.0", "2024-01-01"),
        ],
        median_days: Some(10),
        commits_since: Some(1),
    };
    assert_eq!(history.releases, want);
}
