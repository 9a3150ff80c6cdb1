//! Text laid out in pages, such as RFCs: drops footers and headers, joins paragraphs across page breaks.

/// The lines of a text, without page headers and footers.
pub(super) fn join_pages(text: &str) -> Vec<&str> {
    if !text.contains('\u{c}') {
        return text.lines().collect();
    }
    let mut lines: Vec<&str> = Vec::new();
    for page in text.split('\u{c}') {
        let mut page: Vec<&str> = page.lines().collect();
        let header = page.iter().position(|line| !line.trim().is_empty());
        // Only pages after the first have a header.
        if let Some(at) = header.filter(|_| !lines.is_empty()) {
            let blank_below = page.get(at + 1).is_none_or(|line| line.trim().is_empty());
            if at <= 2 && blank_below && is_header(page.get(at).copied().unwrap_or_default()) {
                page.drain(..=at);
            }
        }
        let last = page.iter().rposition(|line| !line.trim().is_empty());
        if let Some(at) = last.filter(|at| page.get(*at).copied().is_some_and(is_footer)) {
            page.truncate(at);
        }
        append(&mut lines, &page);
    }
    lines
}

/// `Fielding, et al.    Standards Track    [Page 12]`
fn is_footer(line: &str) -> bool {
    let line = line.trim();
    let number = line.rsplit_once("[Page ").and_then(|(_, rest)| rest.strip_suffix(']'));
    number.is_some_and(|number| !number.is_empty() && number.len() <= 5)
}

/// `RFC 2616    HTTP/1.1    June 1999`: at the left edge, in columns.
fn is_header(line: &str) -> bool {
    !line.starts_with(' ') && line.trim().contains("   ")
}

/// Adds a page, and continues a paragraph split by the page break.
fn append<'a>(lines: &mut Vec<&'a str>, page: &[&'a str]) {
    let start = page.iter().position(|line| !line.trim().is_empty()).unwrap_or(page.len());
    let page = page.get(start..).unwrap_or_default();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let (Some(before), Some(after)) = (lines.last(), page.first()) else {
        lines.extend_from_slice(page);
        return;
    };
    let goes_on = !before.trim_end().ends_with(['.', ':', ';', '!', '?'])
        && after.trim_start().starts_with(char::is_lowercase)
        && super::indent(before) == super::indent(after);
    if !goes_on {
        lines.push("");
    }
    lines.extend_from_slice(page);
}
