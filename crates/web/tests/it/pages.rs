//! Reading pages from a server: parsing, limits, refusals and errors.

use crate::{
    client, client_with,
    server::{ProviderReply, ProviderTestServer},
};
use docent_net::{FetchLimits, FetchRefusal, GuardedClient, GuardedFetchError, NetworkPolicy};
use docent_web::{FetchPageError, FetchedPage, PageLimits, fetch_page};
use std::time::Duration;

const ARTICLE: &str = r#"<!doctype html><html lang="en"><head><title>Oil lamps - The Lamp Site</title>
<link rel=canonical href="/lamps"><meta property="og:site_name" content="The Lamp Site">
<script type="application/ld+json">{"@type":"Article","author":[{"name":"Ada"},{"name":"Bob"}],"datePublished":"2025-01-02"}</script>
<script>var x = "<p>not text</p>";</script></head><body>
<nav><a href="/">Home</a><a href="/shop">Shop</a></nav>
<main><h1>Oil lamps</h1><p>A lamp <a href="parts.html#wick">burns oil</a> through a wick, and has done so for a very long time.</p>
<img src="/lamp.png" alt="A lamp"><img src="/pixel.gif" width=1 height=1>
<h2 id=parts>Parts</h2><ul><li>Wick<li>Font</ul>
<pre><code class="language-rust">fn light() {}</code></pre>
<h3 id=sizes>Sizes</h3><table><tr><th>Name<th>mm<tr><td>Small<td>10</table>
<h2>Care</h2><p>Trim the wick. See <a href="https://elsewhere.test/a_(b)">more</a> and <a href="javascript:alert(1)">this</a>.</p>
</main><footer>Imprint</footer></body></html>"#;

fn serve(reply: ProviderReply) -> ProviderTestServer {
    ProviderTestServer::start(move |_| reply.clone())
}

fn fetch(
    server: &ProviderTestServer,
    path: &str,
    section: Option<&str>,
) -> Result<FetchedPage, FetchPageError> {
    let url = server.url(path);
    fetch_page(url.as_str(), section, &client(&[server]), &PageLimits::default())
}

fn fetch_error(reply: ProviderReply) -> String {
    fetch(&serve(reply), "/x", None).unwrap_err().to_string()
}

#[test]
fn an_article_is_read_with_what_it_says_about_itself() {
    let server =
        serve(ProviderReply::html(ARTICLE).with("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT"));
    let page = fetch(&server, "/lamps/oil", None).unwrap();
    let at = format!("http://{}", server.address);
    let want = format!(
        "# Oil lamps\n\nA lamp [burns oil]({at}/lamps/parts.html#wick) through a wick, and has done so for a very long \
         time.\n\n![A lamp]({at}/lamp.png)\n\n## Parts\n\n- Wick\n- Font\n\n```rust\nfn light() {{}}\n```\n\n### Sizes\n\n\
         | Name | mm |\n| --- | --- |\n| Small | 10 |\n\n## Care\n\nTrim the wick. See \
         [more](https://elsewhere.test/a_%28b%29) and this."
    );
    assert_eq!(page.markdown, want);
    assert_eq!(page.title, "Oil lamps");
    assert_eq!(page.byline.as_deref(), Some("Ada, Bob"));
    assert_eq!(page.date.as_deref(), Some("2025-01-02"));
    assert_eq!(page.site.as_deref(), Some("The Lamp Site"));
    assert_eq!(page.language.as_deref(), Some("en"));
    assert_eq!(page.canonical, Some(format!("{at}/lamps")));
    assert_eq!((page.truncated, page.characters), (false, want.chars().count()));
    let headings: Vec<_> = page
        .sections
        .iter()
        .map(|one| (one.heading.as_str(), one.level, one.anchor.as_deref()))
        .collect();
    assert_eq!(
        headings,
        [
            ("Oil lamps", 1, None),
            ("Parts", 2, Some("parts")),
            ("Sizes", 3, Some("sizes")),
            ("Care", 2, None)
        ]
    );
    let links: Vec<_> = page.links.iter().map(|link| link.url.clone()).collect();
    assert_eq!(
        links,
        [format!("{at}/lamps/parts.html#wick"), "https://elsewhere.test/a_%28b%29".to_owned()]
    );
    assert_eq!(server.paths(), ["/lamps/oil"], "robots.txt is not asked for one page");
}

#[test]
fn a_section_is_found_by_heading_anchor_and_fragment() {
    let server = serve(ProviderReply::html(ARTICLE));
    let want = "## Parts\n\n- Wick\n- Font\n\n```rust\nfn light() {}\n```\n\n### Sizes\n\n\
                | Name | mm |\n| --- | --- |\n| Small | 10 |";
    for (path, section) in
        [("/", Some("parts")), ("/", Some("#parts")), ("/", Some("PARTS")), ("/#parts", None)]
    {
        let page = fetch(&server, path, section).unwrap();
        assert_eq!(page.markdown, want, "{path} {section:?}");
        assert_eq!(page.section.as_deref(), Some("Parts"));
        assert_eq!(page.sections.len(), 4, "the others can still be asked for");
    }
    let message = fetch(&server, "/", Some("Price")).unwrap_err().to_string();
    assert!(
        message.contains("no section \"Price\"; its sections are: Oil lamps; Parts; Sizes; Care"),
        "{message}"
    );
    let whole = fetch(&server, "/#nowhere", None).unwrap();
    assert!(whole.section.is_none() && whole.notes[0].contains("#nowhere"), "{:?}", whole.notes);
}

#[test]
fn a_long_page_is_cut_between_blocks_and_says_how_to_go_on() {
    let part = |n| format!("<h2 id=s{n}>Part {n}</h2><p>{}</p>", "word ".repeat(100));
    let body = (0..50).map(part).collect::<Vec<_>>().concat();
    let server =
        serve(ProviderReply::html(&format!("<html><body><main>{body}</main></body></html>")));
    let limits = PageLimits { characters: 2000, ..PageLimits::default() };
    let read = |section| {
        fetch_page(server.url("/").as_str(), section, &client(&[&server]), &limits).unwrap()
    };
    let page = read(None);
    assert!(page.truncated && page.markdown.chars().count() <= 2000);
    assert!(page.markdown.ends_with("word") && page.characters > 25_000);
    assert!(page.notes.last().unwrap().contains("request a section"), "{:?}", page.notes);
    assert_eq!(page.sections.len(), 50);
    let later = read(Some("s49"));
    assert!(later.markdown.starts_with("## Part 49") && !later.truncated);
    let link = |n| format!("<p>A <a href=/{n}>link {n}</a> in some text.</p>");
    let links = (0..300).map(link).collect::<Vec<_>>().concat();
    let server = serve(ProviderReply::html(&format!("<html><body>{links}</body></html>")));
    assert_eq!(fetch(&server, "/", None).unwrap().links.len(), 100);
}

/// Parsing a page takes many times its length, and most of it would not be shown.
#[test]
fn a_page_of_many_megabytes_is_read_in_part() {
    let text = format!("<html><body><h1>Ö</h1>{}</body></html>", "<p>ö ö ö ö</p>".repeat(300_000));
    let page = fetch(&serve(ProviderReply::html(&text)), "/", None).unwrap();
    assert_eq!(page.title, "Ö");
    assert!(page.notes[0].contains("longer than 4 MiB"), "{:?}", page.notes);
    // If cut inside a character, it would be taken for another encoding.
    assert!(page.markdown.starts_with("# Ö\n\nö ö ö ö\n\n"), "{:.60}", page.markdown);
    let json = |count: usize| {
        let body = format!("[{}0]", "[0],".repeat(count));
        let reply = ProviderReply::new(200).with("content-type", "application/json");
        fetch(&serve(reply.body(body.as_bytes())), "/", None).unwrap().markdown
    };
    assert!(json(10).starts_with("```json\n[\n  [\n    0\n"));
    assert!(json(300_000).starts_with("```json\n[[0],[0],"));
}

#[test]
fn an_anchor_that_is_not_a_name_is_left_out() {
    let body = format!("<h2 id={}>Long</h2><p>a</p><h2 id=s>Short</h2><p>b</p>", "x".repeat(201));
    let page =
        fetch(&serve(ProviderReply::html(&format!("<html><body>{body}</body></html>"))), "/", None);
    let anchors: Vec<_> = page.unwrap().sections.into_iter().map(|one| one.anchor).collect();
    assert_eq!(anchors, [None, Some("s".to_owned())]);
}

#[test]
fn other_formats_are_read_by_their_type() {
    let typed =
        |kind: &str, body: &[u8]| ProviderReply::new(200).with("content-type", kind).body(body);
    for (reply, path, want) in [
        (typed("text/markdown", b"# A\n\nb [c](/d)"), "/x", "# A\n\nb [c](AT/d)"),
        (typed("text/plain", b"just text"), "/x", "just text"),
        (typed("text/plain; charset=utf-8", b"# A\n\nb"), "/readme.md", "# A\n\nb"),
        (
            typed("application/json", b"{\"a\":[1]}"),
            "/x",
            "```json\n{\n  \"a\": [\n    1\n  ]\n}\n```",
        ),
        (typed("application/json", b"{\"a\":"), "/x", "```json\n{\"a\":\n```"),
        (typed("text/plain", b"fn main() {}\n"), "/main.rs", "```rs\nfn main() {}\n```"),
        (
            typed("text/html; charset=iso-8859-1", b"<p>caf\xe9 in the morning</p>"),
            "/x",
            "café in the morning",
        ),
        (typed("text/plain; charset=utf-16le", b"l\0a\0m\0p\0"), "/x", "lamp"),
        (typed("text/html; charset=iso-2022-jp", b"<p>\x1b$B%i%s%W\x1b(B</p>"), "/x", "ランプ"),
    ] {
        let server = serve(reply);
        let want = want.replace("AT", &format!("http://{}", server.address));
        assert_eq!(fetch(&server, path, None).unwrap().markdown, want, "{path}");
    }
}

/// Only text has an encoding, regardless of the declared one.
#[test]
fn other_formats_are_read_as_they_came() {
    for (kind, body) in [
        ("application/pdf", include_bytes!("../../../prose/fixtures/pdf/bookmarks.pdf").as_slice()),
        ("application/epub+zip", include_bytes!("../../../prose/fixtures/epub/book.epub")),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            include_bytes!("../../../prose/fixtures/docx/office.docx"),
        ),
        (
            "application/vnd.oasis.opendocument.text",
            include_bytes!("../../../prose/fixtures/docx/book.odt"),
        ),
    ] {
        let read = |kind: &str| {
            let server = serve(ProviderReply::new(200).with("content-type", kind).body(body));
            let page = fetch(&server, "/x", None);
            page.map(|page| page.markdown.replace(&server.address.to_string(), "AT"))
        };
        let encoded = read(&format!("{kind};charset=ISO-8859-1"));
        assert_eq!(encoded.unwrap(), read(kind).unwrap(), "{kind}");
    }
}

#[test]
fn what_is_not_a_page_is_reported() {
    let typed =
        |kind: &str, body: &[u8]| ProviderReply::new(200).with("content-type", kind).body(body);
    let app = "<html><head><script src=a.js></script></head><body><noscript>You need to enable JavaScript.</noscript>\
               <div id=root></div></body></html>";
    let login = "<html><body><h1>Sign in</h1><form><input name=u><input type=Password name=p></form></body></html>";
    for (name, reply, want) in [
        ("picture", typed("image/png", b"\x89PNG\0"), "is not text (image/png)"),
        ("archive", typed("application/zip", b"PK\x03\x04\0"), "(application/zip)"),
        ("bytes", typed("application/octet-stream", b"\x7fELF\0\0"), "(application/octet-stream)"),
        (
            "bytes that say they are a page",
            typed("text/html", &[0; 4000]),
            "text/html, but contains NUL bytes",
        ),
        ("empty", ProviderReply::html(""), ": it is empty"),
        ("broken pdf", typed("application/pdf", b"%PDF-1.7 nothing"), "as PDF"),
        ("app", ProviderReply::html(app), "without scripts, which are not run"),
        ("login", ProviderReply::html(login), "requires a login"),
        ("401", ProviderReply::new(401), "requires a login"),
        ("404", ProviderReply::new(404), "does not exist (status 404)"),
        ("429", ProviderReply::new(429).with("retry-after", "9"), "try again in 9 s"),
        ("500", ProviderReply::new(500), "status 500"),
        (
            "no text",
            ProviderReply::html("<html><body><div></div></body></html>"),
            "no text to read",
        ),
    ] {
        let message = fetch_error(reply);
        assert!(message.contains(want), "{name}: {message}");
    }
}

#[test]
fn redirects_are_followed_only_where_the_policy_leads() {
    let inside =
        ProviderTestServer::start(|_| ProviderReply::html("<p>the secrets of this machine</p>"));
    let place = inside.url("/latest/meta-data").to_string();
    let server = ProviderTestServer::start(move |_| ProviderReply::to(&place));
    let error = fetch(&server, "/", None).unwrap_err();
    let FetchPageError::NotAllowed { host, is_off: false, redirected_from: Some(_), .. } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!(*host, inside.rule());
    assert!(error.to_string().contains(&format!("adds \"{host}\" to the list")), "{error}");
    for place in [
        "http://169.254.169.254/",
        "http://[::ffff:127.0.0.1]/",
        "file:///etc/passwd",
        "http://10.0.0.1/",
    ] {
        let server = ProviderTestServer::start(move |_| ProviderReply::to(place));
        let error = fetch(&server, "/", None).unwrap_err();
        let refused =
            matches!(error, FetchPageError::NotAllowed { .. } | FetchPageError::Refused(_));
        assert!(refused, "{place}: {error:?}");
    }
    assert!(inside.asked().is_empty());
    let page = fetch_page(
        server.url("/").as_str(),
        None,
        &client(&[&server, &inside]),
        &PageLimits::default(),
    );
    assert_eq!(page.unwrap().url, inside.url("/latest/meta-data").as_str());
}

#[test]
fn the_network_is_off_until_the_policy_names_the_host() {
    let none = GuardedClient::new(NetworkPolicy::default(), FetchLimits::default());
    let limits = PageLimits::default();
    let ask = |url: &str| fetch_page(url, None, &none, &limits).unwrap_err();
    let message = ask("https://docs.example.com/x").to_string();
    for part in ["the network is off", "[policy.network]\nhosts = [\"docs.example.com\"]"] {
        assert!(message.contains(part), "{message}");
    }
    for url in ["", "x", "ftp://a.test/", "file:///etc/passwd", "javascript:x", "https://"] {
        assert!(matches!(ask(url), FetchPageError::BadUrl { .. }), "{url}");
    }
    let error = ask("http://u:hunter2@2130706433/");
    assert!(matches!(error, FetchPageError::Refused(FetchRefusal::Notation { .. })), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    let error = ask("https://u:hunter2@a.test/");
    assert!(
        matches!(error, FetchPageError::Refused(FetchRefusal::Credentials { .. })),
        "{error:?}"
    );
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[test]
fn bombs_endless_and_slow_pages_are_bounded() {
    let bomb = {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&vec![b'a'; 16 << 20]).unwrap();
        packer.finish().unwrap()
    };
    let packed = ProviderReply::html("").with("content-encoding", "gzip").body(&bomb);
    let endless = ProviderReply::html("").body(&vec![b'a'; 2 << 20]).chunked();
    let slow = ProviderReply::html("<html>").drip(Duration::from_hours(1));
    let limits = PageLimits { bytes: 1 << 20, ..PageLimits::default() };
    for (name, reply) in [("bomb", packed), ("endless", endless), ("slow", slow)] {
        let server = serve(reply);
        let whole =
            if name == "slow" { Duration::from_millis(300) } else { Duration::from_mins(1) };
        let client =
            client_with(&[&server], FetchLimits { total: whole, ..FetchLimits::default() });
        let error = fetch_page(server.url("/").as_str(), None, &client, &limits).unwrap_err();
        let bounded = match &error {
            FetchPageError::Fetch(GuardedFetchError::TooLarge { .. }) => name != "slow",
            FetchPageError::Fetch(GuardedFetchError::TimedOut { .. }) => name == "slow",
            _ => false,
        };
        assert!(bounded, "{name}: {error:?}");
    }
}

#[test]
fn hostile_markup_is_read_to_its_end() {
    for page in [
        "<div>".repeat(100_000),
        "<b><i><p>".repeat(50_000),
        format!("<p {}>x", "a ".repeat(200_000)),
        "<img src=x alt='".repeat(50_000),
        "<a href='".repeat(50_000),
        format!("<p>{}", "[](".repeat(50_000)),
        "<h1>".repeat(50_000),
        "\u{202e}<p>\u{0}</p>".repeat(1000),
    ] {
        let server = serve(ProviderReply::html(&page));
        if let Ok(page) = fetch(&server, "/", None) {
            assert!(page.markdown.chars().count() <= 60_004);
        }
    }
}
