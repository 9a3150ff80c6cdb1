//! A minimal search program: every page is one document with a title and a text, found with tantivy's own query parser.
//! `index PAGES INDEX` rebuilds the index; `ask INDEX` answers each input line with a line of JSON, the names of the best
//! pages.

use std::{
    error::Error,
    fs,
    io::{BufRead as _, Write as _},
    path::{Path, PathBuf},
};
use tantivy::{
    Index, IndexWriter, TantivyDocument, collector::TopDocs, doc, query::QueryParser,
    schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value as _},
};

const MEMORY: usize = 100_000_000;
const HITS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["index", pages, index] => write(Path::new(pages), Path::new(index)),
        ["ask", index] => ask(Path::new(index)),
        _ => Err("usage: tantivy-peer index PAGES INDEX | ask INDEX".into()),
    }
}

fn write(pages: &Path, place: &Path) -> Result<(), Box<dyn Error>> {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("en_stem")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = TextOptions::default().set_indexing_options(indexing);
    let mut schema = Schema::builder();
    let path = schema.add_text_field("path", STRING | STORED);
    let title = schema.add_text_field("title", text.clone());
    let body = schema.add_text_field("body", text.set_stored());
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    let index = Index::create_in_dir(place, schema.build())?;
    let mut writer: IndexWriter = index.writer(MEMORY)?;
    let mut folders = vec![pages.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?.path();
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|ending| ending == "html") {
                let page = String::from_utf8_lossy(&fs::read(&entry)?).into_owned();
                writer.add_document(doc!(
                    path => name(pages, &entry),
                    title => heading(&page),
                    body => strip(&page),
                ))?;
            }
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

fn name(pages: &Path, page: &PathBuf) -> String {
    page.strip_prefix(pages).unwrap_or(page).display().to_string()
}

fn heading(page: &str) -> String {
    let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    title.map(|(title, _)| strip(title)).unwrap_or_default()
}

/// Extracts the text between tags, without scripts and styles.
fn strip(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let hidden = ["script", "style"].into_iter().find(|name| tag.starts_with(name));
        rest = match hidden.and_then(|name| tag.split_once(&format!("</{name}>"))) {
            Some((_, after)) => after,
            None => tag.split_once('>').map_or("", |(_, after)| after),
        };
    }
    text.push_str(rest);
    for (reference, letter) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", " "), ("&amp;", "&")] {
        text = text.replace(reference, letter);
    }
    text
}

fn ask(place: &Path) -> Result<(), Box<dyn Error>> {
    let index = Index::open_in_dir(place)?;
    let schema = index.schema();
    let (path, title, body) =
        (schema.get_field("path")?, schema.get_field("title")?, schema.get_field("body")?);
    let parser = QueryParser::for_index(&index, vec![title, body]);
    let searcher = index.reader()?.searcher();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let (query, _) = parser.parse_query_lenient(&line?);
        let mut pages = Vec::new();
        for (_, address) in searcher.search(&query, &TopDocs::with_limit(HITS).order_by_score())? {
            let page: TantivyDocument = searcher.doc(address)?;
            pages.extend(page.get_first(path).and_then(|value| value.as_str()).map(str::to_owned));
        }
        writeln!(output, "{}", serde_json::to_string(&pages)?)?;
        output.flush()?;
    }
    Ok(())
}
