//! Picture frames: each picture is drawn twice, for a wide page and a phone, to keep the text size.

use super::markup::{MarkupBuffer, put, text};

/// Width of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PictureFrame {
    /// Width in units that are pixels at full page width.
    pub(super) width: f64,
    /// Whether it is for a phone.
    pub(super) narrow: bool,
}

/// Text width of a wide page.
pub(super) const WIDE_WIDTH: f64 = 860.0;
/// Width of a phone, without its margins.
const NARROW_WIDTH: f64 = 328.0;

/// A drawn picture.
#[derive(Debug)]
pub(super) struct Drawing {
    /// Height in the units of the frame's width.
    pub(super) height: f64,
    /// SVG elements.
    pub(super) body: MarkupBuffer,
}

/// Text alternative of a picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caption<'a> {
    /// Unique id in the page.
    pub(super) id: &'static str,
    /// Short title.
    pub(super) title: &'a str,
    /// Description of the contents.
    pub(super) description: &'a str,
}

/// Draws a full-width picture.
pub(super) fn show(
    out: &mut MarkupBuffer,
    caption: Caption<'_>,
    draw: impl Fn(PictureFrame) -> Drawing,
) {
    show_in(out, caption, WIDE_WIDTH, draw);
}

/// Draws a picture with this width on a wide page.
pub(super) fn show_in(
    out: &mut MarkupBuffer,
    caption: Caption<'_>,
    wide: f64,
    draw: impl Fn(PictureFrame) -> Drawing,
) {
    let Caption { id, title, description } = caption;
    put!(out, "<div class=\"picture\">");
    let frames = [
        (PictureFrame { width: wide, narrow: false }, "wide"),
        (PictureFrame { width: NARROW_WIDTH, narrow: true }, "narrow"),
    ];
    for (frame, name) in frames {
        let Drawing { height, body } = draw(frame);
        let PictureFrame { width, .. } = frame;
        put!(
            out,
            "<svg class=\"{name}\" viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:{width:.0}px\" role=\"img\" aria-labelledby=\"{id}-{name}-t {id}-{name}-d\">\
             <title id=\"{id}-{name}-t\">{}</title><desc id=\"{id}-{name}-d\">{}</desc>{body}</svg>",
            text(title),
            text(description),
        );
    }
    put!(out, "</div>");
}
