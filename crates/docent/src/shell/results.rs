//! Shows results: text as it is, JSON pretty-printed at a terminal, bytes as files, links as a list.

use super::{
    console::ShellConsole,
    pretty::pretty,
    saving::{decode_base64, extension, file_stem, save},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What to do with binary contents.
#[derive(Debug, Clone)]
pub(crate) enum BinaryOutput {
    /// Save them as files in this folder.
    Saved(PathBuf),
    /// Write them to standard output.
    Printed,
    /// Only report them.
    Reported,
}

impl BinaryOutput {
    /// `--save` takes precedence; at a terminal, files go to the working directory.
    pub(crate) fn choose(save: Option<&Path>, folder: &Path, console: &ShellConsole) -> Self {
        match save {
            Some(save) => Self::Saved(folder.join(save)),
            None if console.terminal.stdout => Self::Saved(folder.to_owned()),
            None => Self::Reported,
        }
    }
}

/// Shows one result, block by block.
pub(crate) struct ResultView<'a> {
    console: &'a ShellConsole,
    bytes: BinaryOutput,
    /// The base name of saved files.
    name: String,
    count: usize,
    /// Whether text was shown.
    pub(crate) has_text: bool,
    /// Whether something could not be shown.
    pub(crate) lost: bool,
}

impl<'a> ResultView<'a> {
    /// Creates a view that names files after `name`.
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
            // Unknown blocks are shown as JSON.
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
        let mut summary = text("uri").unwrap_or("a resource without a URI").to_owned();
        for more in [text("title").or(text("name")), text("description"), media(link)] {
            summary.extend(more.map(|more| format!("  {more}")));
        }
        self.console.print(&format!("{}\n", docent_screen::one_line(&summary)))
    }

    fn blob(&mut self, data: &str, media: &str) -> anyhow::Result<()> {
        self.count += 1;
        let kind = if media.is_empty() { "bytes of unknown type" } else { media };
        let Some(bytes) = decode_base64(data) else {
            self.lost = true;
            self.console.print_error(&format!("{kind}: invalid base64, cannot be shown"));
            return Ok(());
        };
        match &self.bytes {
            BinaryOutput::Printed => self.console.print_bytes(&bytes)?,
            BinaryOutput::Reported => self.console.print_error(&format!(
                "{kind}, {} bytes: not saved; use --save DIR, or --json for the whole result",
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
                            "{kind}: cannot save to {}: {error}",
                            folder.display()
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the media type, also in the spelling of older servers.
fn media(block: &Value) -> Option<&str> {
    block.get("mimeType").or_else(|| block.get("mime_type"))?.as_str()
}

/// Prints one JSON document.
pub(crate) fn print_json(console: &ShellConsole, value: &Value) -> anyhow::Result<()> {
    console.print(&console.escape(&format!("{value:#}\n")))
}
