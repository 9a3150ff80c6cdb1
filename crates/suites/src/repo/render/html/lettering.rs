//! Estimates text width in pictures, so that text fits. The reader's font is unknown.

/// Font size of most text in pictures.
pub(super) const TEXT_SIZE: f64 = 12.0;

/// Returns the width of a text in picture units.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Truncates a text at the end to fit.
pub(super) fn fit(text: &str, size: f64, room: f64) -> Option<String> {
    shorten(text, size, room, false)
}

/// Truncates a text at the start to fit: the end of a path is most useful.
pub(super) fn fit_end(text: &str, size: f64, room: f64) -> Option<String> {
    shorten(text, size, room, true)
}

/// Minimum number of characters of a useful label.
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

/// Returns the width of a character in ems, slightly overestimated.
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
