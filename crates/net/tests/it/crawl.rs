//! Pages stored by a crawl, and the effect of the next one.

use crate::server::{CrawlerReply, CrawlerRequest, CrawlerTestServer};
use docent_net::{
    CrawlEnd, CrawlError, CrawlObserver, CrawlReport, CrawlSite, FetchLimits, FolderPageStore,
    GuardedClient, NetworkPolicy, PAGES_FOLDER, PageStore, crawl,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;

/// Pages by path, which a test may change between two crawls. All of them have an `ETag`.
#[derive(Clone, Default)]
pub(crate) struct ServedPages(Arc<Mutex<BTreeMap<String, CrawlerReply>>>);

impl ServedPages {
    pub(crate) fn new<'a>(pages: impl IntoIterator<Item = (&'a str, CrawlerReply)>) -> Self {
        let new = Self::default();
        for (path, reply) in pages {
            new.set(path, reply);
        }
        new
    }

    pub(crate) fn set(&self, path: &str, reply: CrawlerReply) {
        self.0.lock().unwrap().insert(path.to_owned(), reply);
    }

    pub(crate) fn remove(&self, path: &str) {
        self.0.lock().unwrap().remove(path);
    }

    fn answer(&self, asked: &CrawlerRequest) -> CrawlerReply {
        let Some(reply) = self.0.lock().unwrap().get(&asked.path).cloned() else {
            return CrawlerReply::new(404);
        };
        let tag = format!("\"{:?}\"", reply.tag());
        if asked.header("if-none-match") == Some(tag.as_str()) {
            return CrawlerReply::new(304).with("etag", &tag);
        }
        reply.with("etag", &tag)
    }

    pub(crate) fn serve(&self) -> CrawlerTestServer {
        let pages = self.clone();
        CrawlerTestServer::start(move |asked| pages.answer(asked))
    }
}

/// A site, its store folder, and a client to crawl it.
pub(crate) struct Fixture {
    pub(crate) server: CrawlerTestServer,
    pub(crate) folder: TempDir,
    pub(crate) site: CrawlSite,
    pub(crate) client: GuardedClient,
}

impl Fixture {
    pub(crate) fn new(server: CrawlerTestServer) -> Self {
        let policy = NetworkPolicy::parse([server.rule().as_str()]).unwrap();
        let site = CrawlSite { delay: Duration::ZERO, ..CrawlSite::new(server.url("/docs/")) };
        let folder = tempfile::tempdir().unwrap();
        Self { server, folder, site, client: GuardedClient::new(policy, FetchLimits::default()) }
    }

    pub(crate) fn shelf(&self) -> FolderPageStore {
        FolderPageStore::new(self.folder.path())
    }

    pub(crate) fn crawl(&self) -> CrawlReport {
        self.crawl_into(&mut self.shelf()).unwrap()
    }

    pub(crate) fn crawl_into(&self, place: &mut dyn PageStore) -> Result<CrawlReport, CrawlError> {
        let watch = CrawlObserver { progress: &mut |_, _| {}, stop: &|| false };
        crawl(&self.client, &self.site, place, watch)
    }

    /// Paths of all listed pages; checks that each has its file.
    pub(crate) fn stored_files(&self) -> Vec<String> {
        let pages = self.shelf().pages().unwrap();
        let listed: BTreeSet<String> = pages.iter().map(|page| page.file.clone()).collect();
        assert_eq!(
            listed,
            files(&self.folder.path().join(PAGES_FOLDER)),
            "files are what is listed"
        );
        let path = |url: &str| url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap();
        pages.iter().map(|page| path(&page.url)).collect()
    }
}

fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.insert(name);
        }
    }
    found
}

/// Counts: fetched, unchanged, gone, refused, failed, skipped.
pub(crate) fn counts(crawled: &CrawlReport) -> [usize; 6] {
    let CrawlReport { fetched, unchanged, gone, refused, failed, skipped, .. } = *crawled;
    [fetched, unchanged, gone, refused, failed, skipped]
}

/// Three pages: the first leads to the second, and that to the third.
pub(crate) fn chain() -> ServedPages {
    ServedPages::new([
        ("/docs/", CrawlerReply::html("<a href=a>")),
        ("/docs/a", CrawlerReply::html("<a href=/docs/b.html#part>")),
        ("/docs/b.html", CrawlerReply::html("the end")),
    ])
}

#[test]
fn pages_are_kept_and_asked_for_with_their_validators() {
    let pages = chain();
    let fixture = Fixture::new(pages.serve());
    let first = fixture.crawl();
    assert_eq!((counts(&first), first.end), ([3, 0, 0, 0, 0, 0], CrawlEnd::Complete), "{first:?}");
    assert_eq!(fixture.server.paths(), ["/robots.txt", "/docs/", "/docs/a", "/docs/b.html"]);
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/a", "/docs/b.html"]);
    let read = |name: &str| std::fs::read_to_string(fixture.folder.path().join(name)).unwrap();
    assert_eq!(read("pages/docs/index.html"), "<a href=a>");
    assert_eq!(read("pages/docs/a.html"), "<a href=/docs/b.html#part>");
    assert_eq!(read("pages/docs/b.html"), "the end");

    pages.set("/docs/b.html", CrawlerReply::html("a new end"));
    let second = fixture.crawl();
    assert_eq!(counts(&second), [1, 2, 0, 0, 0, 0], "{second:?}");
    let asked = fixture.server.asked();
    let sent = asked.iter().skip(1).filter(|asked| asked.header("if-none-match").is_some());
    assert_eq!((asked.len(), sent.count()), (4, 3));
    assert_eq!(read("pages/docs/b.html"), "a new end");
    let left: BTreeSet<String> = files(fixture.folder.path());
    assert!(
        left.iter().all(|name| name == "crawl.json" || name.starts_with(PAGES_FOLDER)),
        "{left:?}"
    );
}

#[test]
fn links_of_unchanged_pages_are_followed() {
    let pages = chain();
    pages.set("/docs/b.html", CrawlerReply::new(500));
    let fixture = Fixture::new(pages.serve());
    assert_eq!(counts(&fixture.crawl()), [2, 0, 0, 0, 1, 0]);
    pages.set("/docs/b.html", CrawlerReply::html("the end"));
    assert_eq!(counts(&fixture.crawl()), [1, 2, 0, 0, 0, 0]);
}

#[test]
fn a_file_that_was_lost_is_fetched_again() {
    let fixture = Fixture::new(chain().serve());
    fixture.crawl();
    std::fs::remove_file(fixture.folder.path().join("pages/docs/a.html")).unwrap();
    assert_eq!(counts(&fixture.crawl()), [1, 2, 0, 0, 0, 0]);
    assert_eq!(fixture.stored_files().len(), 3);
}

#[test]
fn a_page_is_gone_after_410_or_after_two_404() {
    let pages = chain();
    let fixture = Fixture::new(pages.serve());
    fixture.crawl();
    pages.remove("/docs/b.html");
    let missed = fixture.crawl();
    assert_eq!(counts(&missed), [0, 2, 0, 0, 0, 1], "{missed:?}");
    assert_eq!(fixture.stored_files().len(), 3, "once is an accident");
    let gone = fixture.crawl();
    assert_eq!(counts(&gone), [0, 2, 1, 0, 0, 0], "{gone:?}");
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/a"]);
    pages.set("/docs/a", CrawlerReply::new(410));
    assert_eq!(counts(&fixture.crawl()), [0, 1, 1, 0, 0, 0]);
    assert_eq!(fixture.stored_files(), ["/docs/"]);
    pages.set("/docs/", CrawlerReply::new(500));
    assert_eq!(counts(&fixture.crawl()), [0, 0, 0, 0, 1, 0]);
    assert_eq!(fixture.stored_files(), ["/docs/"], "a server's trouble takes nothing away");
}

#[test]
fn a_narrower_scope_drops_what_is_outside() {
    let mut fixture = Fixture::new(chain().serve());
    fixture.crawl();
    fixture.site.exclude = vec!["**/*.html".to_owned()];
    fixture.server.asked();
    assert_eq!(counts(&fixture.crawl()), [0, 2, 1, 0, 0, 0]);
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/a"]);
    assert!(!fixture.server.paths().contains(&"/docs/b.html".to_owned()));
}

#[test]
fn only_the_scope_is_asked_for() {
    let other = CrawlerTestServer::start(|_| CrawlerReply::html("other"));
    let links = format!(
        "<a href=/other><a href=/docs-evil/a><a href='/docs/a?x=1'><a href='/docs/a?x=2#y'>\
         <a href=/docs/../c><a href=http://{}/docs/a><a href=mailto:a@b><a href=http://[><a href='in/d'>",
        other.address
    );
    let pages = ServedPages::new([
        ("/docs/", CrawlerReply::html(&links)),
        ("/docs/a", CrawlerReply::html("a")),
        ("/docs/in/d", CrawlerReply::html("<base href=/docs/deep/><a href=e>")),
        ("/docs/deep/e", CrawlerReply::html("e")),
    ]);
    let mut fixture = Fixture::new(pages.serve());
    assert_eq!(counts(&fixture.crawl()), [4, 0, 0, 0, 0, 0]);
    let asked = fixture.server.paths();
    assert_eq!(asked, ["/robots.txt", "/docs/", "/docs/a", "/docs/in/d", "/docs/deep/e"]);
    assert!(other.asked().is_empty());
    fixture.site.keep_query = true;
    fixture.site.start = fixture.server.url("/docs/?start");
    fixture.crawl();
    assert!(fixture.server.paths().contains(&"/docs/?start".to_owned()));
}

#[test]
fn other_kinds_of_answers_are_not_kept() {
    let typed =
        |kind: &str, body: &[u8]| CrawlerReply::new(200).with("content-type", kind).body(body);
    let pages = ServedPages::new([
        (
            "/docs/",
            CrawlerReply::html(
                "<a href=1><a href=2><a href=3.md><a href=4><a href=5.html><a href=6><a href=7.png>",
            ),
        ),
        ("/docs/1", typed("image/png", b"1")),
        ("/docs/2", typed("Application/PDF", b"2")),
        ("/docs/3.md", typed("text/plain", b"3")),
        ("/docs/4", typed("text/markdown; charset=utf-8", b"4")),
        ("/docs/5.html", CrawlerReply::new(200).body(b"5")),
        ("/docs/6", CrawlerReply::new(200).body(b"6")),
    ]);
    let fixture = Fixture::new(pages.serve());
    assert_eq!(counts(&fixture.crawl()), [5, 0, 0, 0, 0, 2]);
    assert!(!fixture.server.paths().contains(&"/docs/7.png".to_owned()));
    let listed = files(&fixture.folder.path().join(PAGES_FOLDER));
    let want = ["docs/2.pdf", "docs/3.md", "docs/4.md", "docs/5.html", "docs/index.html"];
    assert_eq!(listed, want.map(str::to_owned).into());
}

#[test]
fn pages_whose_files_would_meet_are_all_kept() {
    let names = ["a", "a.html", "a/", "A", "a/index.html", "a.html/b", "a%2Fb", "a/b"];
    let links = names.map(|name| format!("<a href='{name}'>")).concat();
    let pages = ServedPages::new([("/docs/", CrawlerReply::html(&links))]);
    for name in names {
        pages.set(&format!("/docs/{name}"), CrawlerReply::html(name));
    }
    let fixture = Fixture::new(pages.serve());
    assert_eq!(counts(&fixture.crawl()), [9, 0, 0, 0, 0, 0]);
    assert_eq!(fixture.stored_files().len(), 9);
    for page in fixture.shelf().pages().unwrap().iter().skip(1) {
        let kept =
            std::fs::read_to_string(fixture.folder.path().join(PAGES_FOLDER).join(&page.file));
        assert!(page.url.ends_with(&format!("/docs/{}", kept.unwrap())), "{page:?}");
    }
    assert_eq!(counts(&fixture.crawl()), [0, 9, 0, 0, 0, 0]);
}

#[test]
fn redirects_stay_in_the_site() {
    let other = CrawlerTestServer::start(|_| CrawlerReply::html("other"));
    let pages = ServedPages::new([
        (
            "/docs/",
            CrawlerReply::html("<a href=old><a href=out><a href=away><a href=round><a href=many0>"),
        ),
        ("/docs/old", CrawlerReply::to("new#part")),
        ("/docs/new", CrawlerReply::html("new")),
        ("/docs/out", CrawlerReply::to("/private/")),
        ("/private/", CrawlerReply::html("private")),
        ("/docs/away", CrawlerReply::to(&format!("http://{}/docs/", other.address))),
        ("/docs/round", CrawlerReply::to("round")),
    ]);
    for number in 0..9 {
        pages.set(&format!("/docs/many{number}"), CrawlerReply::to(&format!("many{}", number + 1)));
    }
    let fixture = Fixture::new(pages.serve());
    let crawled = fixture.crawl();
    assert_eq!(counts(&crawled), [2, 0, 0, 0, 0, 4 + 6], "{crawled:?}");
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/new"]);
    assert!(!fixture.server.paths().contains(&"/private/".to_owned()));
    assert!(other.asked().is_empty());
}

#[test]
fn a_page_that_moves_is_kept_in_its_new_place() {
    let pages = chain();
    let mut fixture = Fixture::new(pages.serve());
    fixture.crawl();
    pages.set("/docs/b.html", CrawlerReply::to("c"));
    pages.set("/docs/c", CrawlerReply::html("the end"));
    assert_eq!(counts(&fixture.crawl()), [1, 2, 0, 0, 0, 1]);
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/a", "/docs/c"]);
    pages.set("/docs/c", CrawlerReply::new(302).with("location", "/sign-in"));
    assert_eq!(counts(&fixture.crawl()), [0, 2, 0, 0, 0, 2]);
    assert_eq!(fixture.stored_files().len(), 3, "what moves for a while comes back");
    fixture.site.start = fixture.server.url("/docs/b.html");
    pages.set("/docs/b.html", CrawlerReply::to("https://elsewhere.test/"));
    let message = fixture.crawl().problems.first().cloned().unwrap();
    assert!(message.reason.contains("https://elsewhere.test/, outside the site"), "{message:?}");
}

#[test]
fn copies_are_kept_once_and_a_site_of_copies_ends() {
    let server = CrawlerTestServer::start(|asked| match asked.path.as_str() {
        "/robots.txt" => CrawlerReply::new(404),
        _ => CrawlerReply::html("always the same <a href='deeper/'>"),
    });
    let fixture = Fixture::new(server);
    let crawled = fixture.crawl();
    assert_eq!((counts(&crawled), crawled.end), ([1, 0, 0, 0, 0, 3], CrawlEnd::Complete));
    assert_eq!(fixture.stored_files(), ["/docs/"]);
}

#[test]
fn no_more_pages_than_wanted_are_asked_for() {
    let server = CrawlerTestServer::start(|asked| match asked.path.as_str() {
        "/robots.txt" => CrawlerReply::new(404),
        path => CrawlerReply::html(&format!("{path} <a href='x/'><a href='y/'>")),
    });
    let mut fixture = Fixture::new(server);
    fixture.site.most_pages = 7;
    let crawled = fixture.crawl();
    assert_eq!((counts(&crawled), crawled.end), ([7, 0, 0, 0, 0, 0], CrawlEnd::Full));
    assert_eq!(fixture.server.asked().len(), 8);
    assert_eq!(fixture.stored_files().len(), 7);
}

#[test]
fn sitemaps_lead_to_pages_without_links() {
    let pages = ServedPages::new([("/docs/", CrawlerReply::html("no links"))]);
    let fixture = Fixture::new(pages.serve());
    let at = |path: &str| fixture.server.url(path);
    let robots = format!("Sitemap: {}\nSitemap: /missing.xml", at("/index.xml"));
    pages.set("/robots.txt", CrawlerReply::new(200).body(robots.as_bytes()));
    let index = |inner: &str| {
        let text =
            format!("<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>", at(inner));
        CrawlerReply::new(200).body(text.as_bytes())
    };
    pages.set("/index.xml", index("/second.xml"));
    pages.set("/second.xml", index("/pages.xml.gz"));
    let list = format!(
        "<urlset><url><loc>{}</loc></url><url><loc>{}</loc></url></urlset>",
        at("/docs/alone"),
        at("/private/alone")
    );
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(list.as_bytes()).unwrap();
    pages.set("/pages.xml.gz", CrawlerReply::new(200).body(&packer.finish().unwrap()));
    pages.set("/docs/alone", CrawlerReply::html("alone"));
    let crawled = fixture.crawl();
    assert_eq!(counts(&crawled), [2, 0, 0, 0, 0, 0], "{crawled:?}");
    assert_eq!(fixture.stored_files(), ["/docs/", "/docs/alone"]);
    assert_eq!(crawled.problems.len(), 1);
    assert!(
        crawled.problems[0].reason.ends_with("/missing.xml returned status 404"),
        "{crawled:?}"
    );
}
