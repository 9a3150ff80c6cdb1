//! Reads documentation files and prints them as readable text.
//!
//! With `--time`, prints only the elapsed time. With `--outline`, prints only titles and headings.
#![expect(clippy::disallowed_methods, reason = "the example reads the files that it is given")]

use docent_prose::{ProseDocument, ProseFormat};
use std::{io::Write as _, time::Instant};

fn main() -> std::io::Result<()> {
    let (options, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let is = |option: &str| options.iter().any(|known| known == option);
    let mut out = std::io::stdout().lock();
    let (mut bytes, mut sections, mut boilerplate) = (0, 0, 0);
    let mut seconds = 0.0;
    for path in &paths {
        let Some(format) = ProseFormat::from_path(path) else { continue };
        let file = std::fs::read(path)?;
        let start = Instant::now();
        let document = format.read(path, &file);
        seconds += start.elapsed().as_secs_f64();
        bytes += file.len();
        match document {
            Ok(document) => {
                sections += document.sections.len();
                boilerplate += usize::from(document.is_boilerplate);
                if !is("--time") {
                    print(&mut out, path, &document, is("--outline"))?;
                }
            }
            Err(problem) => writeln!(out, "{path}: {problem}")?,
        }
    }
    if is("--time") {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = bytes as f64 / 1e6 / seconds;
        let files = paths.len();
        writeln!(
            out,
            "{files} files, {bytes} bytes, {sections} sections, {boilerplate} boilerplate: {seconds:.3} s, {rate:.1} MB/s"
        )?;
    }
    Ok(())
}

fn print(
    out: &mut impl std::io::Write,
    path: &str,
    document: &ProseDocument,
    outline: bool,
) -> std::io::Result<()> {
    writeln!(out, "path: {path}\ntitle: {}", document.title)?;
    writeln!(out, "generator: {}", document.generator.unwrap_or("-"))?;
    writeln!(out, "version: {}", document.version.as_deref().unwrap_or("-"))?;
    if document.is_boilerplate {
        writeln!(out, "boilerplate")?;
    }
    for problem in &document.problems {
        writeln!(out, "problem: {problem}")?;
    }
    for section in &document.sections {
        let marks = "#".repeat(section.level.into());
        let anchor =
            section.anchor.as_ref().map(|anchor| format!(" {{#{anchor}}}")).unwrap_or_default();
        writeln!(
            out,
            "\n{marks} {}{anchor}",
            section.heading().unwrap_or("(before the first heading)")
        )?;
        for block in section.blocks.iter().filter(|_| !outline) {
            writeln!(out, "\n[{:?}]", block.kind)?;
            writeln!(out, "{}", block.text.to_markdown(&|target| Some(target.to_owned())))?;
        }
    }
    writeln!(out)
}
