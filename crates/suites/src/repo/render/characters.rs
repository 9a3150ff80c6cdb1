//! Characters that no reader should meet as they are.

/// Characters that show nothing, or that turn the order of what follows: names of files may hold them.
pub(super) fn deceives(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
