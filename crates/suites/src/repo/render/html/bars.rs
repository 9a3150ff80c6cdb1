//! Bar charts: one line per bar, with its name before and its figures after it.

use super::markup::{EscapedText, MarkupBuffer, put, text};

/// One bar.
#[derive(Debug)]
pub(super) struct Bar<'a> {
    /// Name before the bar.
    pub(super) name: &'a str,
    /// Segments from the left, each from 0 to 1, with their tint class.
    pub(super) parts: Vec<(f64, &'static str)>,
    /// Figure after the bar.
    pub(super) value: String,
    /// Additional note.
    pub(super) note: String,
}

/// Draws the legend of the tints.
pub(super) fn legend(out: &mut MarkupBuffer, entries: &[(&'static str, &str)]) {
    put!(out, "<ul class=\"legend\">");
    for (tint, meaning) in entries {
        put!(
            out,
            "<li><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><rect class=\"{tint}\" width=\"10\" height=\"10\" rx=\"2\"/></svg>{}</li>",
            text(meaning)
        );
    }
    put!(out, "</ul>");
}

/// Draws the bars, one below the other.
pub(super) fn bars(out: &mut MarkupBuffer, label: EscapedText<'_>, all: &[Bar<'_>]) {
    put!(out, "<ul class=\"bars\" aria-label=\"{label}\">");
    for bar in all {
        put!(out, "<li><span class=\"name\">{}</span>", text(bar.name));
        put!(
            out,
            "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"track\" width=\"100%\" height=\"100%\"/>"
        );
        let mut from = 0.0;
        for (share, tint) in &bar.parts {
            let wide = share.clamp(0.0, 1.0 - from);
            if wide > 0.0 {
                // Even the smallest share stays visible.
                let shown = (wide * 100.0).max(0.4);
                put!(
                    out,
                    "<rect class=\"{tint}\" x=\"{:.2}%\" width=\"{shown:.2}%\" height=\"100%\"/>",
                    from * 100.0
                );
            }
            from += wide;
        }
        put!(
            out,
            "</svg><span class=\"value\">{}</span><span class=\"note\">{}</span></li>",
            text(&bar.value),
            text(&bar.note)
        );
    }
    put!(out, "</ul>");
}
