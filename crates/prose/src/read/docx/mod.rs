//! DOCX: the paragraphs of the main part as sections, lists, tables and code.

mod style;

use super::{
    flow::{Flow, append, bracketed, one_line},
    package::{OfficePackage, attribute, child, find, text_of},
};
use crate::{
    document::{BlockKind, LinkedText, ProseDocument, squeeze},
    format::Unreadable,
};
use docent_xml::Node;
use std::collections::HashMap;
use style::{DocxNumbering, ParagraphRole, Styles};

/// Maximum nesting; deeper documents are crafted.
const MAX_NESTING: usize = 60;
const FORMAT_NAME: &str = "DOCX";

/// Reads a document.
pub(crate) fn read(path: &str, bytes: &[u8]) -> Result<ProseDocument, Unreadable> {
    let package = OfficePackage::open(FORMAT_NAME, bytes)?;
    let main = main_part(&package)?;
    let (folder, file) = main.rsplit_once('/').unwrap_or(("", &main));
    let beside =
        |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    let text = package.read_required(&main)?;
    let xml = package.xml(&main, &text)?;
    let mut problems = Vec::new();
    let mut extra = |name: &str| match package.text(&beside(name)) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            problems.push(format!("{name}: {error}"));
            String::new()
        }
    };
    let styles = Styles::read(&extra("styles.xml"));
    let lists = DocxNumbering::read(&extra("numbering.xml"));
    let targets = relations(&extra(&format!("_rels/{file}.rels")));
    let mut notes = HashMap::new();
    for (name, kind) in [("footnotes.xml", "footnote"), ("endnotes.xml", "endnote")] {
        notes_of(kind, &extra(name), &mut notes);
    }
    let core = package.text("docProps/core.xml").ok().flatten().unwrap_or_default();
    let mut reader = DocxReader { styles, lists, targets, notes, ..DocxReader::default() };
    if let Some(body) = find(xml.root_element(), "body") {
        reader.blocks(body, 0);
    }
    let title = title_of(&core).or_else(|| reader.title.take());
    let mut document = reader.flow.finish(title, path);
    if reader.cut {
        problems.push(format!("content nested deeper than {MAX_NESTING} elements is skipped"));
    }
    document.problems.extend(problems);
    Ok(document)
}

/// Where the text is, as the package says, or where nearly all have it.
fn main_part(package: &OfficePackage<'_>) -> Result<String, Unreadable> {
    let relations = package.text("_rels/.rels")?.unwrap_or_default();
    let parsed = docent_xml::parse(&relations).ok();
    let target = parsed.as_ref().and_then(|xml| {
        let mut all = xml.descendants();
        let main = all.find(|node| {
            attribute(*node, "Type").is_some_and(|kind| kind.ends_with("/officeDocument"))
        })?;
        attribute(main, "Target")
    });
    Ok(target.unwrap_or("word/document.xml").trim_start_matches('/').to_owned())
}

/// What is linked to, by its id.
fn relations(text: &str) -> HashMap<String, String> {
    let Ok(xml) = docent_xml::parse(text) else { return HashMap::new() };
    let links = xml
        .descendants()
        .filter(|node| attribute(*node, "Type").is_some_and(|kind| kind.ends_with("/hyperlink")));
    let pair =
        |node| Some((attribute(node, "Id")?.to_owned(), attribute(node, "Target")?.to_owned()));
    links.filter_map(pair).collect()
}

/// The texts of notes, by their kind and id.
fn notes_of(kind: &'static str, text: &str, notes: &mut HashMap<(&'static str, String), String>) {
    let Ok(xml) = docent_xml::parse(text) else { return };
    for note in xml.root_element().children().filter(|node| node.tag_name().name() == kind) {
        // Separators are kept as notes with a type.
        if attribute(note, "type").is_some_and(|kind| kind != "normal") {
            continue;
        }
        let runs =
            note.descendants().filter(|node| matches!(node.tag_name().name(), "t" | "tab" | "p"));
        let words = runs.map(|run| match run.tag_name().name() {
            "t" => run.text().unwrap_or_default(),
            _ => " ",
        });
        let words = squeeze(&words.collect::<String>());
        if let Some(id) = attribute(note, "id").filter(|_| !words.is_empty()) {
            notes.insert((kind, id.to_owned()), words);
        }
    }
}

fn title_of(core: &str) -> Option<String> {
    let xml = docent_xml::parse(core).ok()?;
    Some(squeeze(&text_of(find(xml.root_element(), "title")?))).filter(|title| !title.is_empty())
}

/// The content of a paragraph.
#[derive(Default)]
struct DocxParagraph<'a, 'i> {
    text: LinkedText,
    notes: Vec<String>,
    anchor: Option<String>,
    boxes: Vec<Node<'a, 'i>>,
    /// Open fields: whether their instruction has ended, and its text.
    fields: Vec<(bool, String)>,
}

#[derive(Default)]
struct DocxReader {
    styles: Styles,
    lists: DocxNumbering,
    targets: HashMap<String, String>,
    notes: HashMap<(&'static str, String), String>,
    flow: Flow,
    title: Option<String>,
    cut: bool,
}

impl DocxReader {
    fn blocks(&mut self, parent: Node<'_, '_>, depth: usize) {
        if depth > MAX_NESTING {
            self.cut = true;
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "p" => self.paragraph(node, depth),
                "tbl" => {
                    let rows = self.rows(node, depth + 1);
                    self.flow.table(&rows);
                }
                "sdt" | "sdtContent" | "ins" | "moveTo" | "smartTag" | "customXml" => {
                    self.blocks(node, depth + 1);
                }
                "AlternateContent" => self.blocks(choose_alternative(node), depth + 1),
                _ => {}
            }
        }
    }

    fn paragraph(&mut self, node: Node<'_, '_>, depth: usize) {
        let properties = child(node, "pPr");
        let role = self.styles.role(properties);
        let mut paragraph = DocxParagraph::default();
        self.inline(node, &mut paragraph, depth + 1);
        let DocxParagraph { mut text, notes, anchor, boxes, .. } = paragraph;
        for note in notes {
            bracketed(&mut text, &note);
        }
        let line = squeeze(&text.plain);
        match role {
            ParagraphRole::Contents => {}
            ParagraphRole::Title if self.title.is_none() && !line.is_empty() => {
                self.title = Some(line);
            }
            ParagraphRole::Heading(level) => self.flow.heading(level, &line, anchor),
            ParagraphRole::Code => self.flow.code(&text.plain),
            ParagraphRole::Quote => self.flow.block(BlockKind::Quote, quote_text(&text)),
            ParagraphRole::Title | ParagraphRole::Text => match self.styles.list(properties) {
                Some((list, level)) => {
                    let numbered = self.lists.is_numbered(&list, level);
                    self.flow.item(&list, level, numbered, &text);
                }
                None => self.flow.block(BlockKind::Paragraph, one_line(&text)),
            },
        }
        for node in boxes {
            self.blocks(node, depth + 1);
        }
    }

    fn inline<'a, 'i>(
        &mut self,
        parent: Node<'a, 'i>,
        to: &mut DocxParagraph<'a, 'i>,
        depth: usize,
    ) {
        if depth > MAX_NESTING {
            self.cut = true;
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "r" if is_hidden(node) => {}
                "r" | "ins" | "moveTo" | "smartTag" | "sdt" | "sdtContent" | "fldSimple"
                | "customXml" | "drawing" | "pict" | "object" | "inline" | "anchor" | "graphic"
                | "graphicData" | "wsp" | "wgp" | "txbx" | "textbox" | "shape" | "group"
                | "rect" | "ruby" | "rubyBase" | "oMath" | "oMathPara" | "dir" | "bdo" => {
                    self.inline(node, to, depth + 1);
                }
                "AlternateContent" => self.inline(choose_alternative(node), to, depth + 1),
                "hyperlink" => self.link(node, to, depth),
                "txbxContent" => to.boxes.push(node),
                "bookmarkStart" => {
                    let name = attribute(node, "name").filter(|name| *name != "_GoBack");
                    to.anchor = to.anchor.take().or_else(|| name.map(str::to_owned));
                }
                kind @ ("footnoteReference" | "endnoteReference") => {
                    let kind = if kind == "endnoteReference" { "endnote" } else { "footnote" };
                    let id = attribute(node, "id").unwrap_or_default().to_owned();
                    to.notes.extend(self.notes.get(&(kind, id)).cloned());
                }
                "fldChar" => to.field(attribute(node, "fldCharType").unwrap_or_default()),
                "instrText" => {
                    if let Some((_, instruction)) = to.fields.last_mut() {
                        instruction.push_str(node.text().unwrap_or_default());
                    }
                }
                // Mathematics has its own element for text of the same name.
                "t" => to.add(node.text().unwrap_or_default()),
                "tab" if parent.tag_name().name() == "r" => to.add("\t"),
                "br" | "cr" => to.add("\n"),
                "noBreakHyphen" => to.add("-"),
                _ if parent.tag_name().name() == "oMath" || is_math(node) => {
                    self.inline(node, to, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn link<'a, 'i>(&mut self, node: Node<'a, 'i>, to: &mut DocxParagraph<'a, 'i>, depth: usize) {
        let address = attribute(node, "id").and_then(|id| self.targets.get(id)).cloned();
        let anchor = attribute(node, "anchor").map(|anchor| format!("#{anchor}"));
        let target = match (address, anchor) {
            (Some(address), Some(anchor)) => Some(address + &anchor),
            (address, anchor) => address.or(anchor),
        };
        let mut label = DocxParagraph::default();
        self.inline(node, &mut label, depth + 1);
        match target {
            Some(target) => to.text.link(&label.text.plain, target),
            None => append(&mut to.text, &label.text),
        }
        to.notes.append(&mut label.notes);
        to.boxes.append(&mut label.boxes);
    }

    fn rows(&mut self, table: Node<'_, '_>, depth: usize) -> Vec<Vec<LinkedText>> {
        let rows = table
            .descendants()
            .filter(|node| node.tag_name().name() == "tr" && nearest(*node, "tbl") == Some(table));
        rows.map(|row| self.cells(row, depth)).collect()
    }

    fn cells(&mut self, row: Node<'_, '_>, depth: usize) -> Vec<LinkedText> {
        let mut cells = Vec::new();
        let own = row
            .descendants()
            .filter(|node| node.tag_name().name() == "tc" && nearest(*node, "tr") == Some(row));
        for cell in own {
            let mut all = LinkedText::default();
            for node in cell.descendants().filter(|node| node.tag_name().name() == "p") {
                let mut paragraph = DocxParagraph::default();
                self.inline(node, &mut paragraph, depth + 1);
                if !all.plain.is_empty() {
                    all.plain.push(' ');
                }
                append(&mut all, &paragraph.text);
                for note in paragraph.notes {
                    bracketed(&mut all, &note);
                }
            }
            cells.push(all);
            let span = child(cell, "tcPr").and_then(|properties| child(properties, "gridSpan"));
            let span = span.and_then(|span| attribute(span, "val")?.parse::<usize>().ok());
            cells.resize(cells.len() + span.unwrap_or(1).clamp(1, 64) - 1, LinkedText::default());
        }
        cells
    }
}

impl DocxParagraph<'_, '_> {
    /// Adds text outside of field instructions; the label of a hyperlink field becomes a link.
    fn add(&mut self, text: &str) {
        if self.fields.iter().any(|(over, _)| !over) {
            return;
        }
        let target = self.fields.iter().find_map(|(_, instruction)| {
            let rest = instruction.trim().strip_prefix("HYPERLINK")?;
            let (mark, quoted) = rest.split_once('"')?;
            let target = quoted.split('"').next().filter(|target| !target.is_empty())?;
            let local = mark.contains("\\l");
            Some(if local { format!("#{target}") } else { target.to_owned() })
        });
        match target {
            Some(target) => self.text.link(text, target),
            None => self.text.plain.push_str(text),
        }
    }

    fn field(&mut self, kind: &str) {
        match kind {
            "begin" => self.fields.push((false, String::new())),
            "separate" => {
                if let Some((over, _)) = self.fields.last_mut() {
                    *over = true;
                }
            }
            _ => {
                self.fields.pop();
            }
        }
    }
}

/// What a row or a cell is of, not looked for without end.
fn nearest<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.ancestors().skip(1).take(8).find(|node| node.tag_name().name() == name)
}

/// Chooses the first of two alternative contents.
fn choose_alternative<'a, 'i>(node: Node<'a, 'i>) -> Node<'a, 'i> {
    child(node, "Choice").or_else(|| child(node, "Fallback")).unwrap_or(node)
}

fn is_hidden(run: Node<'_, '_>) -> bool {
    let vanish = child(run, "rPr").and_then(|properties| child(properties, "vanish"));
    vanish.is_some_and(|mark| !matches!(attribute(mark, "val"), Some("0" | "false")))
}

fn is_math(node: Node<'_, '_>) -> bool {
    node.tag_name().namespace().is_some_and(|space| space.ends_with("/math"))
}

fn quote_text(text: &LinkedText) -> LinkedText {
    let mut quote = LinkedText::new("> ");
    append(&mut quote, &one_line(text));
    quote
}
