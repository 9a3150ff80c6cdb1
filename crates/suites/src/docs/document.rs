//! A document as search and readers see it: a title, and sections under headings.

/// Longer sections are searched in pieces of about this many bytes, cut between paragraphs.
const PIECE: usize = 6000;

/// What stands under one heading, up to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Section {
    /// The headings above it and its own, outermost first; empty before the first heading.
    pub(crate) path: Vec<String>,
    /// 1 to 6; 0 before the first heading.
    pub(crate) level: u8,
    /// What links point to.
    pub(crate) anchor: Option<String>,
    /// Without the heading.
    pub(crate) text: String,
}

impl Section {
    /// Its own heading, where it has one.
    pub(crate) fn heading(&self) -> Option<&str> {
        self.path.last().map(String::as_str)
    }
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// For people.
    pub(crate) title: String,
    /// In order.
    pub(crate) sections: Vec<Section>,
    /// The whole as text or Markdown.
    pub(crate) text: String,
}

impl Document {
    /// Puts a document together from its sections, written as Markdown.
    pub(crate) fn of_sections(title: String, sections: Vec<Section>) -> Self {
        let whole: Vec<String> =
            sections.iter().map(markdown).filter(|text| !text.is_empty()).collect();
        Self { title, sections, text: whole.join("\n\n") }
    }

    /// The section that is called so by its heading, its path (`A > B`) or its anchor, with all below it; and where it is.
    pub(crate) fn section(&self, name: &str) -> Option<(usize, String)> {
        let wanted = name.trim().trim_start_matches('#').trim();
        let is = |text: &str| {
            text.eq_ignore_ascii_case(wanted) || text.to_lowercase() == wanted.to_lowercase()
        };
        let matches = |section: &Section| {
            section.heading().is_some_and(is)
                || section.anchor.as_deref() == Some(wanted)
                || is(&section.path.join(" > "))
        };
        let at = self.sections.iter().position(|section| section.level > 0 && matches(section))?;
        let level = self.sections[at].level;
        let below = self.sections[at + 1..].iter().take_while(|section| section.level > level);
        let parts: Vec<String> =
            std::iter::once(&self.sections[at]).chain(below).map(markdown).collect();
        Some((at, parts.join("\n\n")))
    }
}

fn markdown(section: &Section) -> String {
    let head =
        section.heading().map(|heading| format!("{} {heading}", "#".repeat(section.level.into())));
    let parts = [head.unwrap_or_default(), section.text.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Collects sections while a document is read from top to bottom.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    sections: Vec<Section>,
    open: Vec<(u8, String)>,
}

impl Outline {
    /// Starts the section of a heading.
    pub(crate) fn heading(&mut self, level: u8, heading: &str, anchor: Option<String>) {
        self.open.retain(|(outer, _)| *outer < level);
        self.open.push((level, heading.to_owned()));
        let path = self.open.iter().map(|(_, heading)| heading.clone()).collect();
        self.sections.push(Section { path, level, anchor, text: String::new() });
    }

    /// Adds to the section that is open.
    pub(crate) fn text(&mut self, text: &str) {
        let text = text.trim_matches(['\n', ' ']);
        if text.is_empty() {
            return;
        }
        if self.sections.is_empty() {
            self.sections.push(Section::default());
        }
        if let Some(section) = self.sections.last_mut() {
            if !section.text.is_empty() {
                section.text.push_str("\n\n");
            }
            section.text.push_str(text);
        }
    }

    /// The first heading, if there is one.
    pub(crate) fn first_heading(&self) -> Option<&str> {
        self.sections.iter().find_map(Section::heading)
    }

    /// Every section, in order.
    pub(crate) fn finish(self) -> Vec<Section> {
        self.sections
    }
}

/// A text in pieces that are short enough to be read as a hit. Never cuts inside a paragraph or a fenced block.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut piece = String::new();
    let mut fenced = false;
    for paragraph in text.split("\n\n") {
        if !fenced && !piece.is_empty() && piece.len() + paragraph.len() > PIECE {
            done.push(std::mem::take(&mut piece));
        }
        if !piece.is_empty() {
            piece.push_str("\n\n");
        }
        piece.push_str(paragraph);
        let marks = paragraph.lines().filter(|line| line.trim_start().starts_with("```")).count();
        fenced ^= marks % 2 == 1;
    }
    done.push(piece);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_nest_by_level() {
        let mut outline = Outline::default();
        outline.text("before");
        for (level, heading) in [(1, "A"), (3, "B"), (2, "C"), (2, "D"), (1, "E")] {
            outline.heading(level, heading, None);
        }
        outline.text("end");
        outline.text("more");
        let sections = outline.finish();
        let paths: Vec<String> = sections.iter().map(|section| section.path.join(" > ")).collect();
        assert_eq!(paths, ["", "A", "A > B", "A > C", "A > D", "E"]);
        assert_eq!(sections[5].text, "end\n\nmore");
    }

    #[test]
    fn a_section_is_found_by_heading_path_and_anchor_with_all_below() {
        let mut outline = Outline::default();
        outline.heading(1, "Top", None);
        outline.heading(2, "Größe", Some("size".into()));
        outline.text("how big");
        outline.heading(3, "Units", None);
        outline.text("bytes");
        outline.heading(2, "After", None);
        let document = Document::of_sections("t".into(), outline.finish());
        let want = Some((1, "## Größe\n\nhow big\n\n### Units\n\nbytes".to_owned()));
        for name in ["Größe", "GRÖSSE", "größe", " #size ", "size", "Top > Größe"] {
            let want = if name == "GRÖSSE" { None } else { want.clone() };
            assert_eq!(document.section(name), want, "{name}");
        }
        assert_eq!(document.section("none"), None);
        assert_eq!(document.section(""), None);
        assert_eq!(document.text, "# Top\n\n## Größe\n\nhow big\n\n### Units\n\nbytes\n\n## After");
    }

    #[test]
    fn long_texts_are_cut_between_paragraphs() {
        let paragraph = "word ".repeat(500);
        let text = [paragraph.as_str(); 6].join("\n\n");
        assert_eq!(pieces(&text).len(), 3);
        assert_eq!(pieces(&text).join("\n\n"), text);
        let fenced = format!("```\n{}\n```", [paragraph.as_str(); 6].join("\n\n"));
        assert_eq!(pieces(&fenced), [fenced]);
        assert_eq!(pieces("short"), ["short"]);
        assert_eq!(pieces(""), [""]);
    }
}
