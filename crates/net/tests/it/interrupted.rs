//! An interrupted crawl resumes.

use crate::{
    crawl::{Fixture, Pages, counts},
    server::Reply,
};
use docent_net::{
    CrawlError, End, Event, FolderShelf, Page, Saved, Shelf, ShelfError, Watch, crawl,
};
use std::{cell::Cell, io};

/// Pages with links, a redirect, a refused page, and an image.
fn site() -> Pages {
    let pages = Pages::new([
        ("/robots.txt", Reply::new(200).body(b"User-agent: *\nDisallow: /docs/secret")),
        ("/docs/", Reply::html("<a href=0><a href=old><a href=secret><a href=picture>")),
        ("/docs/old", Reply::to("new")),
        ("/docs/new", Reply::html("new")),
        ("/docs/picture", Reply::new(200).with("content-type", "image/png").body(b"1")),
    ]);
    for number in 0..6 {
        let text = format!("{number} <a href='{}'>", number + 1);
        pages.set(&format!("/docs/{number}"), Reply::html(&text));
    }
    pages
}

/// Counts of a complete crawl.
const WHOLE: [usize; 6] = [8, 0, 0, 1, 0, 3];

/// A page store that fails after a number of steps, like a killed process.
struct Breaks {
    shelf: FolderShelf,
    left: usize,
}

impl Breaks {
    fn step(&mut self) -> Result<&mut FolderShelf, ShelfError> {
        self.left = self.left.checked_sub(1).ok_or_else(|| ShelfError::Io {
            file: String::new(),
            source: io::Error::other("killed"),
        })?;
        Ok(&mut self.shelf)
    }
}

impl Shelf for Breaks {
    fn saved(&mut self) -> Result<Saved, ShelfError> {
        self.step()?.saved()
    }
    fn get(&mut self, file: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        self.step()?.get(file)
    }
    fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        self.step()?.put(file, bytes)
    }
    fn remove(&mut self, file: &str) -> Result<(), ShelfError> {
        self.step()?.remove(file)
    }
    fn note(&mut self, event: &Event) -> Result<(), ShelfError> {
        self.step()?.note(event)
    }
    fn finish(&mut self, pages: &[Page]) -> Result<(), ShelfError> {
        self.step()?.finish(pages)
    }
}

#[test]
fn a_kill_at_any_step_costs_one_request_at_most() {
    let mut interrupted = 0;
    for steps in 0.. {
        let fixture = Fixture::new(site().serve());
        let mut shelf = Breaks { shelf: fixture.shelf(), left: steps };
        let first = fixture.onto(&mut shelf);
        let begun = matches!(
            fixture.shelf().saved().unwrap().events.as_slice(),
            [_, Event::Begun { .. }, ..]
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
        assert_eq!((crawled.end, counts(&crawled)), (End::Complete, WHOLE), "{steps}");
        assert_eq!(fixture.kept().len(), 8, "{steps}");
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
        let watch = Watch {
            progress: &mut |done, known| seen.set((done, known)),
            stop: &|| seen.get().0 >= from + 2,
        };
        let crawled = crawl(&fixture.client, &fixture.site, &mut fixture.shelf(), watch).unwrap();
        rounds += 1;
        if crawled.end == End::Complete {
            assert_eq!(counts(&crawled), WHOLE);
            break;
        }
        assert_eq!(crawled.end, End::Stopped);
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
    let watch = Watch { progress: &mut |_, _| {}, stop: &|| false };
    let mut shelf = Breaks { shelf: fixture.shelf(), left: 25 };
    crawl(&fixture.client, &fixture.site, &mut shelf, watch).unwrap_err();
    let kept = fixture.kept().len();
    assert!(fixture.kept().contains(&"/docs/new".to_owned()));
    fixture.site.exclude = vec!["docs/new".to_owned()];
    let crawled = fixture.crawl();
    assert_eq!((crawled.unchanged, crawled.gone), (kept - 1, 1), "{crawled:?}");
    assert!(!fixture.kept().contains(&"/docs/new".to_owned()));
}

#[test]
fn an_unfinished_crawl_of_long_ago_is_not_gone_on_with() {
    for (age, fetched) in [(0, 0), (2 * 24 * 3_600, 8)] {
        let fixture = Fixture::new(site().serve());
        let mut shelf = fixture.shelf();
        let watch = Watch { progress: &mut |_, _| {}, stop: &|| true };
        crawl(&fixture.client, &fixture.site, &mut shelf, watch).unwrap();
        let events = shelf.saved().unwrap().events;
        shelf.finish(&[]).unwrap();
        for event in events {
            // Everything was requested, so there is nothing to resume.
            if let Event::Begun { site, at } = event {
                shelf.note(&Event::Begun { site, at: at - age }).unwrap();
            }
        }
        assert_eq!(fixture.crawl().fetched, fetched, "{age}");
    }
}
