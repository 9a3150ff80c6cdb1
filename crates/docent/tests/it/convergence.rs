//! Servers that are killed and started again while files change at random: once it is quiet, the index is the one that
//! a run from nothing makes.

use crate::TestHome;
use docent_index::{
    EmbeddedStore, EmbeddedStoreSettings, IndexQuery, IndexStore as _, embed::EmbeddingTable,
    search,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long files change; `DOCENT_TEST_SECONDS` makes it longer.
const CHANGE_SECONDS: u64 = 6;
const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Numbers that look random and are the same each time.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

struct SettlingServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl SettlingServer {
    fn start(place: &TestHome) -> Self {
        let mut command = place.command(&["serve", "--rate-limit", "100000"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, input, output, asked: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        server.request("initialize", &hello);
        server.ask("query_annotations", &json!({"query": "warm up"}));
        server
    }

    fn ask(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params});
        writeln!(self.input, "{request}").unwrap();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.asked {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }
}

impl Drop for SettlingServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One random change.
fn change(root: &Path, dice: &mut Lcg) {
    let path = |dice: &mut Lcg| {
        let (folder, file) = (dice.below(5), dice.below(12));
        let ending = ["py", "rs", "ts", "md"][usize::try_from(dice.below(4)).unwrap()];
        root.join(format!("part{folder}/file{file}.{ending}"))
    };
    let target = path(dice);
    match dice.below(10) {
        0 => drop(fs::remove_dir_all(target.parent().unwrap())),
        1 => drop(fs::remove_file(&target)),
        2 => {
            let other = path(dice);
            drop(fs::create_dir_all(other.parent().unwrap()));
            drop(fs::rename(&target, other));
        }
        3 => {
            let moved = root.join(format!("part{}", dice.below(5)));
            drop(fs::rename(target.parent().unwrap(), moved));
        }
        4 => fs::write(root.join(".gitignore"), format!("file{}.py\n", dice.below(12))).unwrap(),
        _ => {
            let n = dice.below(1_000_000);
            let text = match target.extension().and_then(|ending| ending.to_str()) {
                Some("py") => format!(
                    "def work_{n}(value):\n    \"\"\"Does job {n}.\"\"\"\n    return value\n"
                ),
                Some("rs") => format!("/// Does job {n}.\npub fn work_{n}() {{}}\n"),
                Some("ts") => format!("/** Does job {n}. */\nexport function work{n}() {{}}\n"),
                _ => format!("# Job {n}\n\nHow job {n} is done.\n"),
            };
            drop(fs::create_dir_all(target.parent().unwrap()));
            drop(fs::write(target, text));
        }
    }
}

/// What an index holds: digests by collection, kinds by file, and what some questions find.
fn contents(folder: &Path) -> Option<Value> {
    let embedder = EmbeddingTable::built_in();
    let store =
        EmbeddedStore::open(folder, embedder.clone(), EmbeddedStoreSettings::default()).ok()?;
    let mut all = BTreeMap::new();
    for collection in ["code", "docs"] {
        let digests = store.digests(collection).ok()?;
        let digests: BTreeMap<String, String> =
            digests.into_iter().map(|(path, digest)| (path, format!("{digest:?}"))).collect();
        let mut tallies: Vec<(String, BTreeMap<String, u32>)> = store
            .view()
            .ok()?
            .sources(collection)
            .ok()?
            .into_iter()
            .map(|tally| (tally.path, tally.kinds))
            .collect();
        tallies.sort();
        all.insert(collection, json!({"digests": digests, "tallies": tallies}));
    }
    let ask = |question: &str| {
        let query = IndexQuery { limit: 1000, ..IndexQuery::new(question) };
        let answer = search(&store, embedder.as_ref(), &query).unwrap();
        answer.hits.len()
    };
    Some(json!({"sources": all, "found": ask("does job")}))
}

#[test]
fn an_index_settles_after_chaos() {
    let place = TestHome::new();
    let root = place.project();
    let mut dice = Lcg(7);
    (0..80).for_each(|_| change(&root, &mut dice));
    let mut servers = [SettlingServer::start(&place), SettlingServer::start(&place)];
    #[expect(clippy::disallowed_methods, reason = "the duration of a test is not configuration")]
    let seconds = std::env::var("DOCENT_TEST_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(CHANGE_SECONDS));
    while Instant::now() < end {
        for _ in 0..dice.below(20) {
            change(&root, &mut dice);
        }
        let which = usize::try_from(dice.below(2)).unwrap();
        match dice.below(6) {
            0 => servers[which] = SettlingServer::start(&place),
            1 => drop(place.command(&["index"]).output().unwrap()),
            _ => {
                let arguments = json!({"query": "does job", "options": {"threshold": 0.0}});
                let result = servers[which].ask("query_annotations", &arguments);
                assert_eq!(result["isError"], false, "{result}");
            }
        }
        thread::sleep(Duration::from_millis(dice.below(60)));
    }
    // The remaining server updates the index by itself.
    let fresh = TestHome::new();
    // The servers still write to the index, so that its files can vanish while they are copied.
    let entries = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let sources = entries.filter(|path| !path.ends_with(".docent"));
    let mut copy = std::process::Command::new("cp");
    copy.arg("-r").args(sources).arg(fresh.project());
    assert!(copy.status().unwrap().success());
    fresh.run(&["index"]).ends(0);
    let want = contents(&fresh.index()).unwrap();
    let end = Instant::now() + SETTLE_TIMEOUT;
    loop {
        let found = contents(&place.index());
        if found.as_ref() == Some(&want) {
            break;
        }
        assert!(Instant::now() < end, "never settled:\nwant {want:#}\nfound {found:#?}");
        thread::sleep(Duration::from_millis(200));
    }
    let status = servers[0].ask("index_status", &json!({}));
    assert_eq!(status["structuredContent"]["freshness"], "inStep", "{status}");
}
