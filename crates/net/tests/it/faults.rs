//! Each file operation of a crawl fails once; the next crawl has every page.

use crate::crawl::{Fixture, ServedPages, chain};
use crate::server::CrawlerReply;
use docent_files::{FileOperation, faults::FileFaults};
use docent_net::{CrawlEnd, PAGES_FOLDER};
use std::{fs, process::Command};

/// A site that was crawled, and has changed since: a page is new, one is different, and one is gone.
fn changed() -> Fixture {
    let pages: ServedPages = chain();
    let fixture = Fixture::new(pages.serve());
    fixture.crawl();
    pages.set("/docs/", CrawlerReply::html("<a href=a><a href=c/d.html>"));
    pages.set("/docs/c/d.html", CrawlerReply::html("new"));
    pages.set("/docs/a", CrawlerReply::new(410));
    pages.set("/docs/b.html", CrawlerReply::html("another end"));
    fixture
}

#[test]
#[ignore = "run by fault_injection_crawl in a process of its own"]
fn child_fails_each_operation() {
    let faults = FileFaults::begin();
    let dry = changed();
    let counts = faults.count(|| drop(dry.crawl()));
    for kind in [
        FileOperation::Open,
        FileOperation::Create,
        FileOperation::Write,
        FileOperation::Sync,
        FileOperation::Rename,
        FileOperation::Remove,
        FileOperation::MakeFolder,
    ] {
        assert!(counts.contains_key(&kind), "no {kind:?} in {counts:?}");
    }
    let expected = dry.stored_files();
    for n in 0..counts.values().sum() {
        let fixture = changed();
        let ended = faults.fail_nth(n, || fixture.crawl_into(&mut fixture.shelf()));
        if let Err(error) = &ended {
            let text = format!("{error:?}");
            assert!(text.contains("crawl.") || text.contains(PAGES_FOLDER), "{n}: {text}");
        }
        // Every listed page can be read.
        let left = fixture.shelf().pages().unwrap_or_else(|error| panic!("{n}: {error}"));
        assert!(!left.is_empty(), "{n}");
        let next = fixture.crawl();
        assert_eq!(next.end, CrawlEnd::Complete, "{n}: {next:?}");
        assert_eq!(fixture.stored_files(), expected, "{n} after {ended:?}");
        let read = |name: &str| fs::read_to_string(fixture.folder.path().join(name)).unwrap();
        assert_eq!(read("pages/docs/c/d.html"), "new", "{n}");
        assert_eq!(read("pages/docs/b.html"), "another end", "{n}");
    }
}

#[test]
fn fault_injection_crawl() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["faults::child_fails_each_operation", "--exact", "--ignored", "--nocapture"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}
