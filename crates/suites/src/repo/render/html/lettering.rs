//! How wide text is in a picture, so that nothing is drawn where it does not fit. An estimate: the reader's font is unknown.

/// Size of most text in pictures.
pub(super) const TEXT_SIZE: f64 = 12.0;

/// Width of a text in units of the picture.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The text, or as much of its beginning as there is room for.
pub(super) fn fit(text: &str, size: f64, room: f64) -> Option<String> {
    shorten(text, size, room, false)
}

/// The text, or as much of its end as there is room for: the end of a path tells most.
pub(super) fn fit_end(text: &str, size: f64, room: f64) -> Option<String> {
    shorten(text, size, room, true)
}

/// Fewer characters than this say nothing.
const MIN_LABEL_CHARS: usize = 5;

fn shorten(text: &str, size: f64, room: f64, keep_end: bool) -> Option<String> {
    if text.is_empty() || room <= 0.0 {
        return None;
    }
    if width(text, size) <= room {
        return Some(text.to_owned());
    }
    let mut left = room - width("…", size);
    let mut taken = |character: &char| {
        left -= advance(*character) * size;
        left >= 0.0
    };
    let kept: Vec<char> = if keep_end {
        let mut kept: Vec<char> = text.chars().rev().take_while(&mut taken).collect();
        kept.reverse();
        kept
    } else {
        text.chars().take_while(&mut taken).collect()
    };
    if kept.len() < MIN_LABEL_CHARS {
        return None;
    }
    let kept: String = kept.into_iter().collect();
    Some(if keep_end { format!("…{kept}") } else { format!("{}…", kept.trim_end()) })
}

/// Width of a character in ems, a little on the wide side.
fn advance(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '.' | ',' | '\'' | '|' | ':' | ';' | '!' | ' ' | '/' | 'f' | 't'
        | 'r' | '(' | ')' => 0.34,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.92,
        'A'..='Z' | '_' | '+' | '=' | '<' | '>' => 0.7,
        _ if character >= '\u{1100}' => 1.05,
        _ => 0.58,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_where_there_is_no_room() {
        let cases = [
            (fit("crates", 10.0, 100.0), Some("crates")),
            (fit("crates/suites", 10.0, 40.0), Some("crates…")),
            (fit_end("crates/suites", 10.0, 40.0), Some("…suites")),
            (fit("crates/suites", 10.0, 12.0), None),
            (fit("", 10.0, 12.0), None),
            (fit("界界界界界界界", 10.0, 65.0), Some("界界界界界…")),
        ];
        for (got, want) in cases {
            assert_eq!(got.as_deref(), want);
        }
    }
}
