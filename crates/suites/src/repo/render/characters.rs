//! Characters that must not be displayed as they are.

/// Whether a character is invisible or changes text direction: file names may contain them.
pub(super) fn deceives(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
