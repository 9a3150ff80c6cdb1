//! Characters that legitimately occur next to invisible ones, by ranges of code points.

use std::ops::RangeInclusive;

type CodePointRanges = &'static [RangeInclusive<u32>];

/// Scripts that shape their letters with joiners: Arabic and related scripts, the Indic scripts, Tibetan, Mongolian.
const JOINED_SCRIPTS: CodePointRanges = &[
    0x0600..=0x0605,
    0x0610..=0x061B,
    0x061D..=0x08FF,
    0x0900..=0x0DFF,
    0x0F00..=0x0FFF,
    0x1000..=0x109F,
    0x1700..=0x17B3,
    0x17B6..=0x17FF,
    0x1800..=0x180A,
    0x1810..=0x18AF,
    0x1900..=0x1AAF,
    0x1B00..=0x1C4F,
    0x1CD0..=0x1CFF,
    0xA800..=0xA8FF,
    0xA900..=0xABFF,
    0xFB50..=0xFDFF,
    0xFE70..=0xFEFC,
    0x10A00..=0x10AFF,
    0x10D00..=0x10EFF,
    0x10F00..=0x10FFF,
    0x11000..=0x11FFF,
    0x1E900..=0x1E95F,
];

/// Scripts without spaces between words, where a zero-width space marks a possible line break.
const UNSPACED_SCRIPTS: CodePointRanges = &[
    0x0E00..=0x0EFF,
    0x0F00..=0x0FFF,
    0x1000..=0x109F,
    0x1780..=0x17B3,
    0x17B6..=0x17FF,
    0x1950..=0x19DF,
    0x1A20..=0x1AAF,
    0xA9E0..=0xA9FF,
    0xAA60..=0xAA7F,
];

/// Emoji, and characters that a variation selector turns into one.
const EMOJI: CodePointRanges = &[
    0x00A9..=0x00A9,
    0x00AE..=0x00AE,
    0x203C..=0x203C,
    0x2049..=0x2049,
    0x2100..=0x214F,
    0x2190..=0x27BF,
    0x2900..=0x297F,
    0x2B00..=0x2BFF,
    0x3030..=0x3030,
    0x303D..=0x303D,
    0x3297..=0x3299,
    0x1F000..=0x1FAFF,
];

/// Characters with variants: ideographs, mathematics, Myanmar, Mongolian, Phags-pa.
const VARIANT_SIGNS: CodePointRanges = &[
    0x1000..=0x109F,
    0x1800..=0x180A,
    0x1820..=0x18AF,
    0x2010..=0x2027,
    0x2200..=0x22FF,
    0x2A00..=0x2AFF,
    0x2E80..=0x2FDF,
    0x3000..=0x303F,
    0x3400..=0x4DBF,
    0x4E00..=0x9FFF,
    0xA840..=0xA87F,
    0xAA60..=0xAA7F,
    0xF900..=0xFAFF,
    0xFF00..=0xFF9F,
    0x20000..=0x3FFFD,
];

fn within(c: char, ranges: CodePointRanges) -> bool {
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}

/// Whether its script uses joiners between letters.
pub(crate) fn uses_joiners(c: char) -> bool {
    within(c, JOINED_SCRIPTS)
}

/// Whether its script uses zero-width spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    within(c, UNSPACED_SCRIPTS)
}

/// Whether it is, or can be, an emoji.
pub(crate) fn is_emoji(c: char) -> bool {
    within(c, EMOJI)
}

/// Whether a variation selector may follow it.
pub(crate) fn has_variants(c: char) -> bool {
    is_emoji(c) || within(c, VARIANT_SIGNS) || matches!(c, '0'..='9' | '#' | '*')
}

/// Whether it is an ideograph, which has registered variants.
pub(crate) fn is_ideograph(c: char) -> bool {
    within(
        c,
        &[0x2E80..=0x2FDF, 0x3400..=0x4DBF, 0x4E00..=0x9FFF, 0xF900..=0xFAFF, 0x20000..=0x3FFFD],
    )
}

/// Whether it is a Mongolian letter.
pub(crate) fn is_mongolian(c: char) -> bool {
    within(c, &[0x1800..=0x180A, 0x1810..=0x18AF])
}
