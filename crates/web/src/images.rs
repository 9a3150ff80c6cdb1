//! Describes the images of a page as Markdown, before the text is parsed.

use crate::{
    links,
    scan::{MarkupPiece, StartTag, pieces},
    text::{MAX_FACT_CHARS, fold, truncate},
};
use url::Url;

/// Maximum size of all descriptions: a nine-byte tag may yield two thousand bytes, and far less is shown.
const MAX_ADDED_BYTES: usize = 1 << 20;

/// Returns the page with each significant image described as `![text](url)`, up to a limit.
pub(crate) fn describe_images(page: &str, base: &Url) -> String {
    let mut out = String::with_capacity(page.len());
    let (mut from, mut kept, mut added) = (0, 0_usize, 0);
    for piece in pieces(page) {
        match piece {
            // Headings and code contain no images.
            MarkupPiece::Open(tag) if keeps_out(tag.name()) => kept += 1,
            MarkupPiece::Close(name) if keeps_out(name) => kept = kept.saturating_sub(1),
            MarkupPiece::Open(tag) if tag.is("img") && kept == 0 => {
                let Some(text) = image_markdown(&tag, base) else { continue };
                let text = htmlize::escape_attribute(&text);
                added += text.len();
                if added > MAX_ADDED_BYTES {
                    break;
                }
                let range = tag.range();
                out.push_str(page.get(from..range.start).unwrap_or_default());
                out.push_str("<img alt=\"");
                out.push_str(&text);
                out.push_str("\">");
                from = range.end;
            }
            _ => {}
        }
    }
    out.push_str(page.get(from..).unwrap_or_default());
    out
}

fn keeps_out(name: &str) -> bool {
    ["h1", "h2", "h3", "h4", "h5", "h6", "pre"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn image_markdown(tag: &StartTag<'_>, base: &Url) -> Option<String> {
    let tiny = |name| tag.get(name).is_some_and(|size| matches!(size.trim(), "0" | "1"));
    let alt = tag.get("alt");
    // An empty `alt` marks the image as decoration.
    if tiny("width") || tiny("height") || alt.as_ref().is_some_and(|alt| alt.trim().is_empty()) {
        return None;
    }
    let sources = ["src", "data-src", "data-lazy-src"];
    let url = sources.iter().find_map(|name| links::absolute(base, tag.get(name)?.trim()))?;
    let alt = truncate(&fold(&alt.unwrap_or_default().replace(['[', ']'], " ")), MAX_FACT_CHARS);
    Some(format!("![{alt}]({url})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_worth_a_look_are_described() {
        let base = Url::parse("https://a.test/x/").unwrap();
        for (page, want) in [
            (
                "a<img src=y.png alt='Old [lamp]'>b",
                "a<img alt=\"![Old lamp](https://a.test/x/y.png)\">b",
            ),
            ("<img src=y.png>", "<img alt=\"![](https://a.test/x/y.png)\">"),
            ("<img src=y.png alt=''>", "<img src=y.png alt=''>"),
            ("<img src=y.png width=1 height=1>", "<img src=y.png width=1 height=1>"),
            (
                "<img src='data:image/gif;base64,R0' alt=a>",
                "<img src='data:image/gif;base64,R0' alt=a>",
            ),
            (
                "<img src='data:x' data-src=/z.png alt='\"q\" &amp; <r>'>",
                "<img alt=\"![&quot;q&quot; &amp; &lt;r&gt;](https://a.test/z.png)\">",
            ),
            ("<h1><img src=logo.png alt=Logo>A</h1>", "<h1><img src=logo.png alt=Logo>A</h1>"),
            ("<script>'<img src=x>'</script>", "<script>'<img src=x>'</script>"),
        ] {
            assert_eq!(describe_images(page, &base), want, "{page}");
        }
    }

    #[test]
    fn descriptions_are_bounded_in_all() {
        let base = Url::parse(&format!("https://a.test/{}/", "a".repeat(1900))).unwrap();
        let page = "<img src>".repeat(2000);
        let got = describe_images(&page, &base);
        assert!(got.starts_with(&format!("<img alt=\"![]({base})\"><img alt=")));
        assert!(got.ends_with("<img src><img src>"), "the rest stays as it is");
        assert!(got.len() < page.len() + 2 * MAX_ADDED_BYTES, "{}", got.len());
    }
}
