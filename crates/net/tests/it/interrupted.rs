//! An interrupted crawl resumes.

use crate::{
    crawl::{Fixture, ServedPages, counts},
    server::CrawlerReply,
};
use docent_net::{
    CrawlEnd, CrawlError, CrawlEvent, CrawlObserver, FolderPageStore, PageStore, PageStoreError,
    SavedCrawl, StoredPage, crawl,
};
use std::{cell::Cell, io};

/// Pages with links, a redirect, a refused page, and an image.
fn site() -> ServedPages {
    let pages = ServedPages::new([
        ("/robots.txt", CrawlerReply::new(200).body(b"User-agent: *\nDisallow: /docs/secret")),
        ("/docs/", CrawlerReply::html("<a href=0><a href=old><a href=secret><a href=picture>")),
        ("/docs/old", CrawlerReply::to("new")),
        ("/docs/new", CrawlerReply::html("new")),
        ("/docs/picture", CrawlerReply::new(200).with("content-type", "image/png").body(b"1")),
    ]);
    for number in 0..6 {
        let text = format!("{number} <a href='{}'>", number + 1);
        pages.set(&format!("/docs/{number}"), CrawlerReply::html(&text));
    }
    pages
}

/// Counts of a complete crawl.
const WHOLE: [usize; 6] = [8, 0, 0, 1, 0, 3];

/// A page store that fails after a number of steps, like a killed process.
struct FailingPageStore {
    shelf: FolderPageStore,
    left: usize,
}

impl FailingPageStore {
    fn step(&mut self) -> Result<&mut FolderPageStore, PageStoreError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| PageStoreError::Io {
            file: String::new(),
            source: io::Error::other("killed"),
        })?;
        Ok(&mut self.shelf)
    }
}

impl PageStore for FailingPageStore {
    fn load(&mut self) -> Result<SavedCrawl, PageStoreError> {
        self.step()?.load()
    }
    fn get(&mut self, file: &str) -> Result<Option<Vec<u8>>, PageStoreError> {
        self.step()?.get(file)
    }
    fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), PageStoreError> {
        self.step()?.put(file, bytes)
    }
    fn remove(&mut self, file: &str) -> Result<(), PageStoreError> {
        self.step()?.remove(file)
    }
    fn note(&mut self, event: &CrawlEvent) -> Result<(), PageStoreError> {
        self.step()?.note(event)
    }
    fn finish(&mut self, pages: &[StoredPage]) -> Result<(), PageStoreError> {
        self.step()?.finish(pages)
    }
}

#[test]
fn a_kill_at_any_step_costs_one_request_at_most() {
    let mut interrupted = 0;
    for steps in 0.. {
        let fixture = Fixture::new(site().serve());
        let mut shelf = FailingPageStore { shelf: fixture.shelf(), left: steps };
        let first = fixture.crawl_into(&mut shelf);
        let begun = matches!(
            fixture.shelf().load().unwrap().events.as_slice(),
            [_, CrawlEvent::Begun { .. }, ..]
        );
        let before: Vec<String> = fixture.server.paths();
        match first {
            Ok(crawled) => {
                assert_eq!(counts(&crawled), WHOLE);
                break;
            }
            Err(CrawlError::Shelf(_)) => {}
            Err(other) => panic!("{steps}: {other}"),
        }
        let crawled = fixture.crawl();
        assert_eq!((crawled.end, counts(&crawled)), (CrawlEnd::Complete, WHOLE), "{steps}");
        assert_eq!(fixture.stored_files().len(), 8, "{steps}");
        let mut asked: Vec<String> = before.into_iter().chain(fixture.server.paths()).collect();
        asked.retain(|path| path != "/robots.txt");
        // Eleven URLs are requested; only the one in flight is requested again.
        assert!(asked.len() <= 12, "{steps}: {asked:?}");
        interrupted += usize::from(begun);
    }
    assert!(interrupted > 20, "{interrupted}");
}

#[test]
fn a_crawl_stops_on_request_and_resumes_later() {
    let fixture = Fixture::new(site().serve());
    let seen = Cell::new((0, 0));
    let mut rounds = 0;
    loop {
        let from = seen.get().0;
        let watch = CrawlObserver {
            progress: &mut |done, known| seen.set((done, known)),
            stop: &|| seen.get().0 >= from + 2,
        };
        let crawled = crawl(&fixture.client, &fixture.site, &mut fixture.shelf(), watch).unwrap();
        rounds += 1;
        if crawled.end == CrawlEnd::Complete {
            assert_eq!(counts(&crawled), WHOLE);
            break;
        }
        assert_eq!(crawled.end, CrawlEnd::Stopped);
        assert_eq!(seen.get().0, from + 2);
        assert!(rounds < 20);
    }
    assert_eq!(seen.get(), (12, 12));
    assert_eq!(rounds, 6 + 1);
    let mut asked = fixture.server.paths();
    asked.retain(|path| path != "/robots.txt");
    assert_eq!(asked.len(), 11, "{asked:?}");
}

#[test]
fn an_unfinished_crawl_of_another_scope_is_not_gone_on_with() {
    let mut fixture = Fixture::new(site().serve());
    let watch = CrawlObserver { progress: &mut |_, _| {}, stop: &|| false };
    let mut shelf = FailingPageStore { shelf: fixture.shelf(), left: 25 };
    crawl(&fixture.client, &fixture.site, &mut shelf, watch).unwrap_err();
    let kept = fixture.stored_files().len();
    assert!(fixture.stored_files().contains(&"/docs/new".to_owned()));
    fixture.site.exclude = vec!["docs/new".to_owned()];
    let crawled = fixture.crawl();
    assert_eq!((crawled.unchanged, crawled.gone), (kept - 1, 1), "{crawled:?}");
    assert!(!fixture.stored_files().contains(&"/docs/new".to_owned()));
}

#[test]
fn an_unfinished_crawl_of_long_ago_is_not_gone_on_with() {
    for (age, fetched) in [(0, 0), (2 * 24 * 3_600, 8)] {
        let fixture = Fixture::new(site().serve());
        let mut shelf = fixture.shelf();
        let watch = CrawlObserver { progress: &mut |_, _| {}, stop: &|| true };
        crawl(&fixture.client, &fixture.site, &mut shelf, watch).unwrap();
        let events = shelf.load().unwrap().events;
        shelf.finish(&[]).unwrap();
        for event in events {
            // Everything was requested, so there is nothing to resume.
            if let CrawlEvent::Begun { site, at } = event {
                shelf.note(&CrawlEvent::Begun { site, at: at - age }).unwrap();
            }
        }
        assert_eq!(fixture.crawl().fetched, fetched, "{age}");
    }
}
