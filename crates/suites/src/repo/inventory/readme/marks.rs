//! Small checks on README contents: badges, placeholders, sentences.

use super::super::{
    outline::{OutlineContent, OutlinePart, count_words},
    wording,
};

/// Whether a part has content: more than a placeholder for later.
pub(super) fn is_informative(part: &OutlinePart, topic: &str) -> bool {
    const PROMISES: &str = "todo, tbd, tba, coming soon, to be done, to be written, \
        work in progress, wip, n a, none";
    match &part.matter {
        OutlineContent::Prose { text, .. } => {
            let plain = wording::plain(text);
            let promise = wording::each(PROMISES).any(|promise| promise == plain.trim());
            // A license name is one word.
            !promise && (topic == "licence" || count_words(text) >= 2)
        }
        OutlineContent::Code { text, .. } => !text.trim().is_empty(),
        OutlineContent::Link { .. } | OutlineContent::Picture { .. } => true,
    }
}

/// Whether a paragraph is about the README or news, not the project.
pub(super) fn is_aside(text: &str) -> bool {
    const STARTS: &str = "english, read this in, translations, note, warning, important, \
        you are reading, this readme, see also, looking for, click, watch, sponsor, sponsors, \
        sponsored by, supported by, follow us, join us";
    let plain = wording::plain(text);
    // A row of names with separators is not a sentence.
    let row = [" | ", " · ", " • "].iter().any(|mark| text.matches(mark).count() >= 2);
    row || wording::each(STARTS).any(|start| wording::after(&plain, start).is_some())
        || wording::has(&plain, "this readme")
}

/// Whether a heading is generic.
pub(super) fn is_generic(heading: &str) -> bool {
    const WORDS: &str = "contents, toc, sponsor, sponsors, backers, news, announcement, \
        announcements, translations, 目录, 目次, 목차, содержание, contenido, sommaire";
    let plain = wording::plain(heading);
    wording::each(WORDS).any(|word| wording::has(&plain, word))
}

/// Whether an image is a badge.
pub(super) fn is_badge(target: &str) -> bool {
    const PARTS: &str = "shields.io, badge, badgen.net, travis-ci, codecov.io, coveralls.io, \
        appveyor.com, circleci.com, status.svg, /workflows/, snyk.io/test, deps.rs, david-dm.org, \
        opencollective.com, packagist, goreportcard, godoc.org, buymeacoffee, ko-fi, \
        producthunt, repostatus.org, zenodo.org, gitter.im, nodei.co, packagephobia";
    wording::each(PARTS).any(|part| target.contains(part))
}

/// Whether an image is a screenshot.
pub(super) fn is_shot(text: &str, target: &str) -> bool {
    const MARKS: &str = "screenshot, screen, demo, .gif, preview, example, usage, terminal, shot";
    let both = format!("{text} {target}").to_ascii_lowercase();
    wording::each(MARKS).any(|mark| both.contains(mark))
}

/// Splits a paragraph into sentences.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split_inclusive(". ");
    parts.flat_map(|part| part.split_inclusive(['!', '?', '。', ';'])).map(str::trim)
}

/// Returns the sentence that contains a phrase.
pub(super) fn sentence_of<'a>(text: &'a str, phrase: &str) -> &'a str {
    let mut sentences = sentences(text);
    sentences.find(|sentence| wording::has(&wording::plain(sentence), phrase)).unwrap_or(text)
}

/// Truncates to 100 letters and makes the text safe between backticks.
pub(super) fn short(text: &str) -> String {
    let text = text.trim().replace('`', "'");
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text,
    }
}
