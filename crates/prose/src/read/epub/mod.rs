//! EPUB 2 and 3: the chapters in reading order as sections of one document.

mod markup;

use super::{
    html,
    package::{OfficePackage, attribute, find, text_of},
};
use crate::{
    document::{DocumentSection, DocumentWriter, LinkedText, MAX_PIECES, ProseDocument, squeeze},
    format::Unreadable,
};
use docent_xml::Node;
use markup::expand_void_elements;
use std::collections::{HashMap, HashSet};

/// Maximum chapters read; more are an attack on time.
const MAX_CHAPTERS: usize = 10_000;
/// Maximum problems listed.
const MAX_LISTED_PROBLEMS: usize = 20;
const FORMAT_NAME: &str = "EPUB";

/// Reads a book.
pub(crate) fn read(
    path: &str,
    bytes: &[u8],
    stopped: &dyn Fn() -> bool,
) -> Result<ProseDocument, Unreadable> {
    let package = OfficePackage::open(FORMAT_NAME, bytes)?;
    let container = package.read_required("META-INF/container.xml")?;
    let container = package.xml("META-INF/container.xml", &container)?;
    let root = find(container.root(), "rootfile").and_then(|root| attribute(root, "full-path"));
    let root = root.ok_or_else(|| package.damaged("its container has no book"))?.to_owned();
    let text = package.read_required(&root)?;
    let xml = package.xml(&root, &text)?;
    let book = EpubBook::of(xml.root_element(), &root);
    if is_locked(&package, &book)? {
        return Err(Unreadable::Encrypted);
    }
    let contents = contents(&package, &book);
    let mut problems = Vec::new();
    let mut chapters = Vec::new();
    let mut pieces = 0;
    for file in book.chapters.iter().take(MAX_CHAPTERS) {
        if stopped() {
            return Err(Unreadable::Stopped);
        }
        if pieces > MAX_PIECES {
            break;
        }
        match chapter(&package, file) {
            Ok(Some(sections)) => {
                pieces += sections.iter().map(|section| 1 + section.blocks.len()).sum::<usize>();
                chapters.push((file.clone(), sections));
            }
            Ok(None) => problems.push(format!("{file}: missing from the book")),
            Err(error @ Unreadable::TooLarge { .. }) => return Err(error),
            Err(error) => problems.push(format!("{file}: {error}")),
        }
    }
    if chapters.is_empty() {
        let reason = problems.into_iter().next().unwrap_or("it has no chapters".to_owned());
        return Err(package.damaged(reason));
    }
    let mut document = join_chapters(chapters, &contents).finish(book.title, path);
    document.version = book.version;
    let more = problems.len().saturating_sub(MAX_LISTED_PROBLEMS);
    problems.truncate(MAX_LISTED_PROBLEMS);
    if more > 0 {
        problems.push(format!("{more} more chapters can't be read"));
    }
    document.problems.extend(problems);
    Ok(document)
}

/// The metadata of a book.
#[derive(Default)]
struct EpubBook {
    title: Option<String>,
    version: Option<String>,
    /// Files in reading order, without the page of contents.
    chapters: Vec<String>,
    nav: Option<String>,
    ncx: Option<String>,
}

impl EpubBook {
    fn of(root: Node<'_, '_>, path: &str) -> Self {
        let mut book = Self::default();
        let mut files = HashMap::new();
        let mut spine = Vec::new();
        for node in root.descendants() {
            match node.tag_name().name() {
                "title" if book.title.is_none() => book.title = Some(squeeze(&text_of(node))),
                "meta" if is_version(node) => {
                    let said = attribute(node, "content").map(str::to_owned);
                    book.version = Some(said.unwrap_or_else(|| squeeze(&text_of(node))));
                }
                "item" => {
                    let (Some(id), Some(href)) = (attribute(node, "id"), attribute(node, "href"))
                    else {
                        continue;
                    };
                    let file = resolve_reference(path, href).0;
                    let has = attribute(node, "properties").unwrap_or_default();
                    if has.split_whitespace().any(|property| property == "nav") {
                        book.nav = Some(file.clone());
                    }
                    let kind = attribute(node, "media-type").unwrap_or_default();
                    if kind == "application/x-dtbncx+xml" {
                        book.ncx = Some(file.clone());
                    }
                    files.insert(id, (file, kind));
                }
                "itemref" => spine.extend(attribute(node, "idref")),
                _ => {}
            }
        }
        let mut seen = HashSet::new();
        for (file, kind) in spine.iter().filter_map(|id| files.get(id)) {
            let text = kind.contains("html") || kind.contains("dtbook") || kind.is_empty();
            if text && book.nav.as_ref() != Some(file) && seen.insert(file) {
                book.chapters.push(file.clone());
            }
        }
        book
    }
}

fn is_version(node: Node<'_, '_>) -> bool {
    let names = ["schema:version", "schema:softwareVersion", "version"];
    let said = attribute(node, "property").or_else(|| attribute(node, "name"));
    said.is_some_and(|name| names.contains(&name))
}

/// Whether chapters are encrypted. Obfuscated fonts don't count.
fn is_locked(package: &OfficePackage<'_>, book: &EpubBook) -> Result<bool, Unreadable> {
    let name = "META-INF/encryption.xml";
    let Some(text) = package.text(name)? else { return Ok(false) };
    let xml = package.xml(name, &text)?;
    let locked = xml.descendants().filter(|node| node.tag_name().name() == "CipherReference");
    let mut locked = locked.filter_map(|node| attribute(node, "URI"));
    let files: HashSet<&String> = book.chapters.iter().collect();
    Ok(locked.any(|uri| files.contains(&resolve_reference("", uri).0)))
}

/// The title and depth, from 1, of each chapter in the table of contents.
fn contents(package: &OfficePackage<'_>, book: &EpubBook) -> HashMap<String, (u8, String)> {
    let mut titles = HashMap::new();
    for file in [&book.nav, &book.ncx].into_iter().flatten() {
        let Ok(Some(text)) = package.text(file) else { continue };
        let Ok(xml) = package.xml(file, &text) else { continue };
        for node in xml.descendants() {
            let (target, title, nests) = match node.tag_name().name() {
                "a" => (attribute(node, "href"), text_of(node), "ol"),
                "navPoint" => {
                    let target = find(node, "content").and_then(|node| attribute(node, "src"));
                    let title = find(node, "navLabel").map(text_of).unwrap_or_default();
                    (target, title, "navPoint")
                }
                _ => continue,
            };
            let depth = node.ancestors().take(100).filter(|node| node.tag_name().name() == nests);
            let depth = u8::try_from(depth.count()).unwrap_or(6).clamp(1, 6);
            let Some(target) = target else { continue };
            // The first entry of a file is the file's; later ones are of places within it.
            let (file, _) = resolve_reference(file, target);
            titles.entry(file).or_insert((depth, squeeze(&title)));
        }
    }
    titles
}

fn chapter(
    package: &OfficePackage<'_>,
    file: &str,
) -> Result<Option<Vec<DocumentSection>>, Unreadable> {
    let Some(text) = package.text(file)? else { return Ok(None) };
    Ok(Some(html::read(file, &expand_void_elements(&text)).sections))
}

/// Joins the sections of all chapters, with links between them.
fn join_chapters(
    mut chapters: Vec<(String, Vec<DocumentSection>)>,
    contents: &HashMap<String, (u8, String)>,
) -> DocumentWriter {
    for (file, sections) in &mut chapters {
        apply_depth(sections, contents.get(file));
    }
    let anchors = anchors(&mut chapters);
    let mut writer = DocumentWriter::default();
    for (file, sections) in chapters {
        for section in sections {
            if let Some(heading) = section.heading() {
                let own = section.anchor.clone().filter(|own| !own.is_empty());
                let anchor = own.and_then(|own| anchors.get(&(file.clone(), own)).cloned());
                writer.heading(section.level, heading, anchor);
            }
            for mut block in section.blocks {
                rewrite_links(&mut block.text, &file, &anchors);
                writer.block(block.kind, block.text);
            }
        }
    }
    writer
}

/// Adds a missing chapter heading, and applies the depth from the table of contents.
fn apply_depth(sections: &mut Vec<DocumentSection>, entry: Option<&(u8, String)>) {
    let Some((depth, title)) = entry else { return };
    let same = |section: &DocumentSection| {
        section.heading().is_some_and(|heading| squeeze(heading).eq_ignore_ascii_case(title))
    };
    // Text before the first heading, or no heading at all: the contents' title stands above it.
    let headless = sections.first().is_none_or(|section| section.level == 0);
    if headless && !title.is_empty() && !sections.iter().take(2).any(same) {
        let below = sections.iter().map(|section| section.level).filter(|level| *level > 0).min();
        let push = below.map_or(0, |level| (depth + 1).saturating_sub(level));
        for section in sections.iter_mut().filter(|section| section.level > 0) {
            section.level = section.level.saturating_add(push).min(6);
        }
        let path = vec![title.clone()];
        match sections.first_mut() {
            Some(first) => (first.level, first.path) = (*depth, path),
            None => {
                sections.push(DocumentSection {
                    path,
                    level: *depth,
                    ..DocumentSection::default()
                });
            }
        }
        return;
    }
    let Some(first) = sections.iter().map(|section| section.level).find(|level| *level > 0) else {
        return;
    };
    for section in sections.iter_mut().filter(|section| section.level > 0) {
        let level = i16::from(section.level) + i16::from(*depth) - i16::from(first);
        section.level = u8::try_from(level.clamp(1, 6)).unwrap_or(1);
    }
}

/// Unique anchors in the whole book, by file and local anchor; every file also has one.
fn anchors(chapters: &mut [(String, Vec<DocumentSection>)]) -> HashMap<(String, String), String> {
    let mut taken = HashSet::new();
    let mut anchors = HashMap::new();
    for (file, sections) in chapters {
        let stem = file.rsplit('/').next().unwrap_or(file);
        let stem = stem.split('.').next().unwrap_or(stem).to_owned();
        let mut first = None;
        for section in sections.iter_mut().filter(|section| section.level > 0) {
            let own = section
                .anchor
                .get_or_insert_with(|| if first.is_none() { stem.clone() } else { String::new() });
            // Of several places of one name, links lead to the first.
            if own.is_empty() || anchors.contains_key(&(file.clone(), own.clone())) {
                own.clear();
                continue;
            }
            let mut name = own.clone();
            if !taken.insert(name.clone()) {
                name = format!("{stem}-{own}");
                taken.insert(name.clone());
            }
            first.get_or_insert_with(|| name.clone());
            anchors.entry((file.clone(), own.clone())).or_insert(name);
        }
        if let Some(first) = first {
            anchors.entry((file.clone(), String::new())).or_insert(first);
        }
    }
    anchors
}

/// Rewrites links between chapters to links within the document.
fn rewrite_links(text: &mut LinkedText, file: &str, anchors: &HashMap<(String, String), String>) {
    for link in &mut text.links {
        if link.target.contains("://") || link.target.starts_with("mailto:") {
            continue;
        }
        let (target, anchor) = resolve_reference(file, &link.target);
        let place = anchors.get(&(target.clone(), anchor));
        // An anchor within a section is not known; the chapter that it is in is.
        if let Some(name) = place.or_else(|| anchors.get(&(target, String::new()))) {
            link.target = format!("#{name}");
        }
    }
}

/// Resolves a reference in a file to a file of the package and an anchor that may be empty.
fn resolve_reference(from: &str, reference: &str) -> (String, String) {
    let (path, anchor) = reference.split_once('#').unwrap_or((reference, ""));
    if path.is_empty() {
        return (from.to_owned(), anchor.to_owned());
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = markup::unescape(path);
    let all = if path.starts_with('/') { path } else { format!("{folder}/{path}") };
    let mut parts = Vec::new();
    for part in all.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    (parts.join("/"), anchor.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_within_the_book() {
        let cases = [
            ("a/b.xhtml", "c.xhtml#x", ("a/c.xhtml", "x")),
            ("a/b.xhtml", "../c%20d.xhtml", ("c d.xhtml", "")),
            ("a/b.xhtml", "#x", ("a/b.xhtml", "x")),
            ("a/b.xhtml", "/../../c.xhtml", ("c.xhtml", "")),
            ("", "./c.xhtml", ("c.xhtml", "")),
        ];
        for (from, reference, (path, anchor)) in cases {
            assert_eq!(
                resolve_reference(from, reference),
                (path.to_owned(), anchor.to_owned()),
                "{reference}"
            );
        }
    }

    #[test]
    fn links_between_chapters_lead_to_sections() {
        let section = |anchor: Option<&str>| DocumentSection {
            path: vec!["H".into()],
            level: 1,
            anchor: anchor.map(str::to_owned),
            ..DocumentSection::default()
        };
        let mut chapters = [
            ("t/one.xhtml".to_owned(), vec![section(Some("s")), section(None)]),
            ("t/two.xhtml".to_owned(), vec![section(None), section(Some("s"))]),
        ];
        let anchors = anchors(&mut chapters);
        let cases = [
            ("two.xhtml", "#two"),
            ("two.xhtml#s", "#two-s"),
            ("two.xhtml#within", "#two"),
            ("#s", "#s"),
            ("https://example.org/two.xhtml", "https://example.org/two.xhtml"),
            ("gone.xhtml", "gone.xhtml"),
        ];
        for (target, want) in cases {
            let mut text = LinkedText::default();
            text.link("label", target);
            rewrite_links(&mut text, "t/one.xhtml", &anchors);
            assert_eq!(text.links[0].target, want, "{target}");
        }
    }

    #[test]
    fn chapters_stand_where_the_contents_say() {
        let section = |level: u8, heading: &str| DocumentSection {
            path: (level > 0).then(|| heading.to_owned()).into_iter().collect(),
            level,
            ..DocumentSection::default()
        };
        let cases = [
            (vec![section(0, "")], vec![(2, "T")]),
            (vec![], vec![(2, "T")]),
            (vec![section(0, ""), section(1, "A")], vec![(2, "T"), (3, "A")]),
            (vec![section(1, "T"), section(2, "A")], vec![(2, "T"), (3, "A")]),
            (vec![section(4, "X"), section(3, "A")], vec![(2, "X"), (1, "A")]),
        ];
        for (mut sections, want) in cases {
            apply_depth(&mut sections, Some(&(2, "T".to_owned())));
            let got: Vec<(u8, &str)> =
                sections.iter().map(|s| (s.level, s.heading().unwrap_or_default())).collect();
            assert_eq!(got, want);
        }
    }
}
