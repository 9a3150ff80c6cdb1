//! Shows what a server answers with: text as it is, JSON laid out at a terminal, bytes as files, links as a list.

use super::{
    console::ShellConsole,
    pretty::pretty,
    saving::{decode_base64, extension, file_stem, save},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What is done with bytes that a person can't read.
#[derive(Debug, Clone)]
pub(crate) enum BinaryOutput {
    /// Files in this folder.
    Saved(PathBuf),
    /// Standard output, as they are.
    Printed,
    /// Nothing: what there is is told.
    Told,
}

impl BinaryOutput {
    /// `--save` wins; at a terminal the working directory gets them.
    pub(crate) fn choose(save: Option<&Path>, folder: &Path, console: &ShellConsole) -> Self {
        match save {
            Some(save) => Self::Saved(folder.join(save)),
            None if console.terminal.stdout => Self::Saved(folder.to_owned()),
            None => Self::Told,
        }
    }
}

/// Shows one answer, block by block.
pub(crate) struct ResultView<'a> {
    console: &'a ShellConsole,
    bytes: BinaryOutput,
    /// What files are called after.
    name: String,
    count: usize,
    /// Whether text was shown.
    pub(crate) has_text: bool,
    /// Whether something could not be shown.
    pub(crate) lost: bool,
}

impl<'a> ResultView<'a> {
    /// Files are called after `name`.
    pub(crate) fn new(console: &'a ShellConsole, bytes: BinaryOutput, name: &str) -> Self {
        let name = file_stem(name);
        Self { console, bytes, name, count: 0, has_text: false, lost: false }
    }

    /// Shows a block of `content`.
    pub(crate) fn block(&mut self, block: &Value) -> anyhow::Result<()> {
        let text = |key: &str| block.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => self.text(text("text").unwrap_or_default()),
            Some(kind @ ("image" | "audio")) => {
                let media = media(block).unwrap_or(kind);
                self.blob(text("data").unwrap_or_default(), media)
            }
            Some("resource") => self.contents(block.get("resource").unwrap_or(&Value::Null)),
            Some("resource_link") => self.link(block),
            // What is not known is shown as it came.
            _ => self.text(&block.to_string()),
        }
    }

    /// Shows the contents of a resource.
    pub(crate) fn contents(&mut self, contents: &Value) -> anyhow::Result<()> {
        let text = |key: &str| contents.get(key).and_then(Value::as_str);
        match (text("text"), text("blob")) {
            (Some(text), _) => self.text(text),
            (None, Some(blob)) => self.blob(blob, media(contents).unwrap_or_default()),
            (None, None) => self.link(contents),
        }
    }

    /// Shows text.
    pub(crate) fn text(&mut self, text: &str) -> anyhow::Result<()> {
        self.has_text = true;
        let laid_out = if self.console.terminal.stdout { pretty(text) } else { None };
        let shown = self.console.escape(laid_out.as_deref().unwrap_or(text));
        let end = if shown.ends_with('\n') || shown.is_empty() { "" } else { "\n" };
        self.console.print(&format!("{shown}{end}"))
    }

    fn link(&mut self, link: &Value) -> anyhow::Result<()> {
        self.has_text = true;
        let text = |key: &str| link.get(key).and_then(Value::as_str);
        let mut told = text("uri").unwrap_or("a resource without an address").to_owned();
        for more in [text("title").or(text("name")), text("description"), media(link)] {
            told.extend(more.map(|more| format!("  {more}")));
        }
        self.console.print(&format!("{}\n", docent_screen::one_line(&told)))
    }

    fn blob(&mut self, data: &str, media: &str) -> anyhow::Result<()> {
        self.count += 1;
        let kind = if media.is_empty() { "bytes of no stated type" } else { media };
        let Some(bytes) = decode_base64(data) else {
            self.lost = true;
            self.console.print_error(&format!("{kind}: is no base64, so that it can't be shown"));
            return Ok(());
        };
        match &self.bytes {
            BinaryOutput::Printed => self.console.print_bytes(&bytes)?,
            BinaryOutput::Told => self.console.print_error(&format!(
                "{kind}, {} bytes: not saved; give --save DIR, or --json for all of the answer",
                bytes.len()
            )),
            BinaryOutput::Saved(folder) => {
                let name = format!("{}-{}", self.name, self.count);
                match save(folder, &name, extension(media), &bytes) {
                    Ok(path) => {
                        self.console.print_error(&format!(
                            "saved {} ({kind}, {} bytes)",
                            path.display(),
                            bytes.len()
                        ));
                    }
                    Err(error) => {
                        self.lost = true;
                        self.console.print_error(&format!(
                            "{kind}: can't be saved in {}: {error}",
                            folder.display()
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The media type, in the spelling of old servers as well.
fn media(block: &Value) -> Option<&str> {
    block.get("mimeType").or_else(|| block.get("mime_type"))?.as_str()
}

/// Prints one JSON document.
pub(crate) fn print_json(console: &ShellConsole, value: &Value) -> anyhow::Result<()> {
    console.print(&console.escape(&format!("{value:#}\n")))
}
