//! The frame of a picture: drawn twice, for a wide page and for a phone, so that text keeps its size on both.

use super::markup::{MarkupBuffer, put, text};

/// How wide a picture is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PictureFrame {
    /// In units that are pixels where the page has its full width.
    pub(super) width: f64,
    /// Whether it is for a phone.
    pub(super) narrow: bool,
}

/// Width of the text of a wide page.
pub(super) const WIDE_WIDTH: f64 = 860.0;
/// Width of a phone, without its margins.
const NARROW_WIDTH: f64 = 328.0;

/// What is drawn.
#[derive(Debug)]
pub(super) struct Drawing {
    /// In the same units as the frame's width.
    pub(super) height: f64,
    /// Elements of SVG.
    pub(super) body: MarkupBuffer,
}

/// What a picture shows, for those who don't see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caption<'a> {
    /// Names it in the page; one of its kind.
    pub(super) id: &'static str,
    /// In a few words.
    pub(super) title: &'a str,
    /// What there is to see.
    pub(super) description: &'a str,
}

/// Draws a picture that takes the whole width.
pub(super) fn show(out: &mut MarkupBuffer, caption: Caption<'_>, draw: impl Fn(PictureFrame) -> Drawing) {
    show_in(out, caption, WIDE_WIDTH, draw);
}

/// Draws a picture that is so wide on a wide page.
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
