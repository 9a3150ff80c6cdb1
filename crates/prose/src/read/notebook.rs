//! Jupyter notebooks: Markdown cells as Markdown, code cells as code with what they printed.

use super::markdown::{self, Anchors, HeadingPlacement};
use crate::{
    document::{DocumentWriter, ProseDocument},
    format::Unreadable,
};
use serde_json::Value;

/// Maximum lines kept of an output, which may be endless.
const MAX_OUTPUT_LINES: usize = 20;
/// Maximum characters of an output line.
const MAX_OUTPUT_LINE_CHARS: usize = 200;

/// Reads a notebook of format 3 or 4.
pub(crate) fn read(
    path: &str,
    text: &str,
    stopped: &dyn Fn() -> bool,
) -> Result<ProseDocument, Unreadable> {
    let damaged = |reason: String| Unreadable::Damaged { format: "a Jupyter notebook", reason };
    let notebook: Value = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    let sheets = notebook.get("worksheets").and_then(Value::as_array).into_iter().flatten();
    let sheets = sheets.filter_map(|sheet| sheet.get("cells"));
    let cells: Vec<&Vec<Value>> =
        notebook.get("cells").into_iter().chain(sheets).filter_map(Value::as_array).collect();
    if cells.is_empty() {
        return Err(damaged("it has no list of cells".into()));
    }
    let language = language(&notebook);
    let mut writer = DocumentWriter::default();
    let mut anchors = Anchors::default();
    for cell in cells.into_iter().flatten() {
        if stopped() {
            return Err(Unreadable::Stopped);
        }
        write(&mut writer, &mut anchors, cell, language);
    }
    let title = notebook.pointer("/metadata/title").and_then(Value::as_str);
    Ok(writer.finish(title.map(str::to_owned), path))
}

fn language(notebook: &Value) -> &str {
    let places =
        ["/metadata/language_info/name", "/metadata/kernelspec/language", "/metadata/language"];
    let found = places.iter().find_map(|place| notebook.pointer(place)?.as_str());
    let found = found.or_else(|| notebook.pointer("/metadata/kernelspec/name")?.as_str());
    match found {
        Some("ipython" | "python2" | "python3") | None => "python",
        Some("ir") => "r",
        Some(name) => name,
    }
}

fn write(writer: &mut DocumentWriter, anchors: &mut Anchors, cell: &Value, language: &str) {
    let source =
        cell.get("source").or_else(|| cell.get("input")).map(join_lines).unwrap_or_default();
    match cell.get("cell_type").and_then(Value::as_str) {
        Some("markdown") => markdown::write(writer, anchors, &source, HeadingPlacement::Sections),
        Some("heading") => {
            let level = cell.get("level").and_then(Value::as_u64).unwrap_or(1);
            let anchor = anchors.next_anchor(&source);
            writer.heading(u8::try_from(level).unwrap_or(6), &source, anchor);
        }
        Some("code") => {
            let own = cell.get("language").and_then(Value::as_str).unwrap_or(language);
            writer.code(magic(&source).unwrap_or(own), &source);
            let outputs = cell.get("outputs").and_then(Value::as_array);
            for output in outputs.into_iter().flatten() {
                writer.code("text", &truncate_output(&output_text(output)));
            }
        }
        Some("raw") => writer.code("", &source),
        _ => {}
    }
}

/// The language that a cell names in its first line, as `%%bash` does.
fn magic(source: &str) -> Option<&str> {
    let name = source.strip_prefix("%%")?.split_whitespace().next()?;
    Some(match name {
        "bash" | "sh" | "script" => "bash",
        "javascript" | "js" => "javascript",
        "html" | "HTML" => "html",
        "sql" => "sql",
        "R" => "r",
        "latex" => "latex",
        _ => return None,
    })
}

/// A text that is a string, or a list of its lines.
fn join_lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The text of an output; images and HTML have none.
fn output_text(output: &Value) -> String {
    if matches!(output.get("output_type").and_then(Value::as_str), Some("error" | "pyerr")) {
        let part = |name| output.get(name).and_then(Value::as_str).unwrap_or_default();
        return format!("{}: {}", part("ename"), part("evalue"));
    }
    let text = output.get("text").or_else(|| output.get("data")?.get("text/plain"));
    let text = text.map(join_lines).unwrap_or_default();
    // `<Figure size 640x480 with 1 Axes>` replaces an image.
    let trimmed = text.trim();
    let stands_in = trimmed.starts_with('<') && trimmed.ends_with('>') && !trimmed.contains('\n');
    if stands_in { String::new() } else { text }
}

fn truncate_output(text: &str) -> String {
    let text = strip_ansi_codes(text);
    let mut lines = text.lines();
    let mut kept: Vec<String> = lines.by_ref().take(MAX_OUTPUT_LINES).map(truncate_line).collect();
    let more = lines.count();
    if more > 0 {
        kept.push(format!("… {more} more lines"));
    }
    kept.join("\n")
}

/// Truncates a line, and drops text overwritten by a progress bar.
fn truncate_line(line: &str) -> String {
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    match line.char_indices().nth(MAX_OUTPUT_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// Removes terminal color sequences.
fn strip_ansi_codes(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |mut all, piece| {
        let end = piece.find(|c: char| c.is_ascii_alphabetic()).map_or(piece.len(), |at| at + 1);
        all.push_str(piece.get(end..).unwrap_or_default());
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(notebook: &str, want: &str) {
        let document = read("a/n.ipynb", notebook, &|| false).unwrap();
        assert_eq!(document.markdown(&|_| None), want, "{notebook}");
    }

    #[test]
    fn a_notebook_is_read_no_further_once_it_is_stopped() {
        let text = r#"{"cells": [{"cell_type": "raw", "source": "a"}, {"cell_type": "raw", "source": "b"}]}"#;
        let asked = std::cell::Cell::new(0);
        let stopped = || asked.replace(asked.get() + 1) == 1;
        assert_eq!(read("n", text, &stopped), Err(Unreadable::Stopped));
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn cells_of_both_formats_are_read() {
        check(
            r##"{"cells": [{"cell_type": "markdown", "source": ["# T\n", "text"]},
                {"cell_type": "code", "source": "%%bash\nls", "outputs": []},
                {"cell_type": "code", "source": "1+1", "outputs": [{"output_type": "execute_result",
                 "data": {"text/plain": ["2"], "text/html": "<b>2</b>", "image/png": "aGVsbG8="}}]}],
                "metadata": {"kernelspec": {"name": "julia-1.9", "language": "julia"}}, "nbformat": 4}"##,
            "# T\n\ntext\n\n```bash\n%%bash\nls\n```\n\n```julia\n1+1\n```\n\n```text\n2\n```",
        );
        check(
            r#"{"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": ["H"]},
                {"cell_type": "code", "input": ["x"], "language": "python", "outputs":
                [{"output_type": "pyerr", "ename": "NameError", "evalue": "x"}]}]}], "nbformat": 3}"#,
            "## H\n\n```python\nx\n```\n\n```text\nNameError: x\n```",
        );
    }

    #[test]
    fn outputs_are_short() {
        let long = truncate_output(&"\u{1b}[31mx\u{1b}[0m\n".repeat(100));
        assert_eq!(long.lines().count(), MAX_OUTPUT_LINES + 1);
        assert!(long.starts_with("x\n") && long.ends_with("80 more lines"), "{long}");
        assert_eq!(truncate_output(&"é".repeat(500)).chars().count(), MAX_OUTPUT_LINE_CHARS + 1);
        assert_eq!(truncate_output("10%\r50%\r100%"), "100%");
        let figure = serde_json::json!({"data": {"text/plain": "<Figure size 1x1>"}});
        assert_eq!(output_text(&figure), "");
    }

    #[test]
    fn a_file_that_is_not_a_notebook_is_reported() {
        let deep = "[".repeat(100_000);
        for text in
            ["", "{", "{}", "[]", r#"{"cells": 3}"#, deep.as_str(), "{\"cells\": [1, null, {}]"]
        {
            assert!(
                matches!(read("n", text, &|| false), Err(Unreadable::Damaged { .. })),
                "{text:.40}"
            );
        }
        check(r#"{"cells": [1, null, {}, {"cell_type": "code"}, {"cell_type": 7}]}"#, "");
    }
}
