//! Identifies common licenses by their exact text. Knows nothing of files, and no other licenses.
//!
//! A text is compared without spaces, punctuation and case, so wrapping, comment markers and typography do not matter.
//! Parts that differ between copies (names, numbering) lie between passages, each of which is compared by length and
//! hash.

use memchr::memmem;

/// Maximum distance of the rest of an official text from the compared passages: preambles, and how to apply it.
const MAX_FRAME_BYTES: usize = 3600;

/// The text of a license or exception.
struct LicenseText {
    id: &'static str,
    /// Start and end of the official text, if outside the passages.
    frame: (&'static str, &'static str),
    /// Passages in order.
    pieces: &'static [LicensePassage],
}

/// A passage that is the same in every copy.
struct LicensePassage {
    begin: &'static str,
    length: usize,
    /// [`hash`] of the whole passage.
    hash: u64,
    /// Maximum distance from the previous passage.
    within: usize,
}

const fn piece(begin: &'static str, length: usize, hash: u64, within: usize) -> LicensePassage {
    LicensePassage { begin, length, hash, within }
}

const LICENSE_TEXTS: &[LicenseText] = &[
    LicenseText {
        id: "MIT",
        frame: ("", ""),
        pieces: &[
            piece("permissionisherebygrantedfreeofchargetoa", 394, 0x03a1_3b86_b80e_70a4, 0),
            piece("shallbeincludedinallcopiesorsubstantial", 239, 0x6bf9_ad08_97fc_c005, 25),
            piece("beliableforanyclaim", 165, 0x2740_6ead_e4cd_bbf6, 80),
        ],
    },
    LicenseText {
        id: "MIT-0",
        frame: ("", ""),
        pieces: &[
            piece("permissionisherebygrantedfreeofchargetoa", 496, 0xf799_2bb8_dad1_c2fc, 0),
            piece("beliableforanyclaim", 165, 0x2740_6ead_e4cd_bbf6, 80),
        ],
    },
    LicenseText {
        id: "ISC",
        frame: ("", ""),
        pieces: &[
            piece("permissiontousecopymodifyand", 28, 0x57d2_228e_0fc8_eff2, 0),
            piece("distributethissoftwareforanypurpose", 169, 0x3568_fbac_b82a_69e6, 2),
            piece("disclaimsallwarranties", 116, 0x5eb6_13a8_aea8_e3bc, 60),
            piece("beliableforanyspecial", 235, 0x16db_13b2_fa4b_d719, 60),
        ],
    },
    LicenseText {
        id: "0BSD",
        frame: ("", ""),
        pieces: &[
            piece("permissiontousecopymodifyand", 28, 0x57d2_228e_0fc8_eff2, 0),
            piece("distributethissoftwareforanypurpose", 94, 0x619c_5ea3_bfc0_1ded, 2),
            piece("disclaimsallwarranties", 116, 0x5eb6_13a8_aea8_e3bc, 60),
            piece("beliableforanyspecial", 235, 0x16db_13b2_fa4b_d719, 60),
        ],
    },
    LicenseText {
        id: "BSD-2-Clause",
        frame: ("", ""),
        pieces: &[
            piece("redistributionanduseinsourceandbinaryfor", 119, 0xb49e_e4bf_ef07_f2aa, 0),
            piece("redistributionsofsourcecodemust", 105, 0x6e42_e824_8f01_52c4, 3),
            piece("redistributionsinbinaryformmust", 172, 0x44a2_c0d9_4a69_b437, 6),
            piece("thissoftwareisprovidedby", 24, 0x513a_25b0_c16d_f08a, 3),
            piece("asisandanyexpress", 155, 0x2bc3_3b0d_e1a0_ae70, 100),
            piece("beliableforanydirect", 369, 0x398a_e822_06c2_6839, 100),
        ],
    },
    LicenseText {
        id: "BSD-3-Clause",
        frame: ("", ""),
        pieces: &[
            piece("redistributionanduseinsourceandbinaryfor", 119, 0xb49e_e4bf_ef07_f2aa, 0),
            piece("redistributionsofsourcecodemust", 105, 0x6e42_e824_8f01_52c4, 3),
            piece("redistributionsinbinaryformmust", 172, 0x44a2_c0d9_4a69_b437, 6),
            piece("neitherthename", 14, 0xee4c_5320_36ef_7f08, 6),
            piece("maybeusedtoendorse", 95, 0x4225_009a_d9cb_bbe0, 150),
            piece("thissoftwareisprovidedby", 24, 0x513a_25b0_c16d_f08a, 3),
            piece("asisandanyexpress", 155, 0x2bc3_3b0d_e1a0_ae70, 100),
            piece("beliableforanydirect", 369, 0x398a_e822_06c2_6839, 100),
        ],
    },
    LicenseText {
        id: "Zlib",
        frame: ("", ""),
        pieces: &[
            piece("thissoftwareisprovidedasiswithoutanyexpr", 73, 0x307f_466e_8b2b_eda6, 0),
            piece("beheldliableforanydamages", 212, 0x5427_2343_2fe9_a997, 60),
            piece("theoriginofthissoftware", 134, 0x9f3c_b571_16eb_5d9b, 3),
            piece("mentintheproductdocumentation", 63, 0x4e1b_2a4d_e037_815d, 2),
            piece("alteredsourceversions", 98, 0x218a_8e78_c67e_8da6, 3),
            piece("thisnoticemaynotberemoved", 41, 0xf021_77dd_ad69_b43a, 3),
            piece("distribution", 12, 0xd697_825d_f336_228b, 6),
        ],
    },
    LicenseText {
        id: "Unlicense",
        frame: ("", "unlicenseorg"),
        pieces: &[piece("thisisfreeandunencumberedsoftwarerelease", 925, 0x9742_1864_9360_1417, 0)],
    },
    LicenseText {
        id: "BSL-1.0",
        frame: ("", ""),
        pieces: &[piece(
            "permissionisherebygrantedfreeofchargetoa",
            1038,
            0x8b7f_fb8e_a337_195d,
            0,
        )],
    },
    LicenseText {
        id: "Apache-2.0",
        frame: ("apachelicense", "limitationsunderthelicense"),
        pieces: &[piece(
            "termsandconditionsforusereproductionandd",
            7337,
            0xeeca_90e8_fb2a_e4c7,
            0,
        )],
    },
    LicenseText {
        id: "MPL-2.0",
        frame: ("mozillapubliclicense", "mozillapubliclicensev20"),
        pieces: &[piece(
            "meanseachindividualorlegalentitythatcrea",
            11279,
            0xff38_654f_0d66_4fcd,
            0,
        )],
    },
    LicenseText {
        id: "GPL-2.0",
        frame: ("gnugeneralpubliclicense", "presidentofvice"),
        pieces: &[
            piece("thelicensesformostsoftwarearedesignedtot", 1997, 0x8065_f674_9504_d3d0, 0),
            piece("termsandconditionsforcopyingdistribution", 9721, 0xee9f_7369_9246_874a, 60),
        ],
    },
    LicenseText {
        id: "GPL-3.0",
        frame: ("gnugeneralpubliclicense", "whynotlgplhtml"),
        pieces: &[piece(
            "thegnugeneralpubliclicenseisafreecopylef",
            25493,
            0x0bab_d904_0318_c487,
            0,
        )],
    },
    LicenseText {
        id: "LGPL-2.1",
        frame: ("gnulessergeneralpubliclicense", "thatsallthereistoit"),
        pieces: &[piece(
            "thelicensesformostsoftwarearedesignedtot",
            18907,
            0x6197_5985_e938_4ef3,
            0,
        )],
    },
    LicenseText {
        id: "LGPL-3.0",
        frame: ("gnulessergeneralpubliclicense", ""),
        pieces: &[piece(
            "thisversionofthegnulessergeneralpublicli",
            5707,
            0x00f7_a4aa_beca_593e,
            0,
        )],
    },
    LicenseText {
        id: "AGPL-3.0",
        frame: ("gnuafferogeneralpubliclicense", "gnuorglicenses"),
        pieces: &[piece(
            "thegnuafferogeneralpubliclicenseisafreec",
            25459,
            0xab5b_7616_ed2d_961c,
            0,
        )],
    },
    LicenseText {
        id: "CC0-1.0",
        frame: ("creativecommons", ""),
        pieces: &[piece(
            "thelawsofmostjurisdictionsthroughoutthew",
            5116,
            0xcbdb_a297_720f_d228,
            0,
        )],
    },
    LicenseText {
        id: "CC-BY-4.0",
        frame: ("attribution40international", "contactedatcreativecommonsorg"),
        pieces: &[piece("adaptedmaterialmeansmaterialsubjectto", 9871, 0xa2cd_2067_ce58_6b22, 0)],
    },
    LicenseText {
        id: "CC-BY-SA-4.0",
        frame: ("attributionsharealike40international", "contactedatcreativecommonsorg"),
        pieces: &[piece("adaptedmaterialmeansmaterialsubjectto", 10884, 0x7443_98d2_4784_742d, 0)],
    },
    LicenseText {
        id: "EPL-2.0",
        frame: ("eclipsepubliclicense", "noticesofcopyrightownership"),
        pieces: &[piece("contributionmeans", 10584, 0x5b57_b92f_74c2_f463, 0)],
    },
    LicenseText {
        id: "Unicode-3.0",
        frame: ("unicodelicense", ""),
        pieces: &[piece(
            "permissionisherebygrantedfreeofchargetoa",
            1255,
            0xde40_6b49_9fea_e163,
            0,
        )],
    },
    LicenseText {
        id: "WTFPL",
        frame: ("dowhatthe", ""),
        pieces: &[piece("everyoneispermittedtocopyanddistributeve", 248, 0x0235_2260_6706_f2df, 0)],
    },
    LicenseText {
        id: "OFL-1.1",
        frame: ("silopenfontlicense", ""),
        pieces: &[piece("thegoalsoftheopenfontlicense", 3174, 0x5bae_a4f0_e43f_d9ae, 0)],
    },
    LicenseText {
        id: "LLVM-exception",
        frame: ("llvmexceptionstotheapache", ""),
        pieces: &[piece("asanexceptionifasaresult", 666, 0xf27a_ff62_410e_93f4, 0)],
    },
    LicenseText {
        id: "Classpath-exception-2.0",
        frame: ("", ""),
        pieces: &[piece("linkingthislibrarystatically", 748, 0x650d_616e_dd2e_72cc, 0)],
    },
];

/// A license found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LicenseMatch {
    /// SPDX id; GNU licenses without `-only` or `-or-later`, which their text does not show.
    pub(super) id: &'static str,
    /// Its first and last byte, in the text.
    pub(super) span: (usize, usize),
}

/// Finds all known licenses and exceptions in a text, in text order.
pub(super) fn find(text: &str) -> Vec<LicenseMatch> {
    let (letters, places) = squeeze(text);
    let mut bodies: Vec<(&LicenseText, usize, usize)> = Vec::new();
    for known in LICENSE_TEXTS {
        let Some(first) = known.pieces.first() else { continue };
        for start in memmem::find_iter(&letters, first.begin) {
            bodies.extend(match_end(known, &letters, start).map(|end| (known, start, end)));
        }
    }
    bodies.sort_by_key(|(_, start, end)| (*start, usize::MAX - end));
    let mut covered = 0;
    // A match inside another one is part of it.
    bodies.retain(|(_, start, end)| {
        let apart = *start >= covered;
        covered = covered.max(*end);
        apart
    });
    let place = |at: usize| places.get(at).map_or(text.len(), |place| *place as usize);
    let mut found: Vec<LicenseMatch> = Vec::new();
    let mut before = 0;
    for (at, (known, start, end)) in bodies.iter().enumerate() {
        let after = bodies.get(at + 1).map_or(letters.len(), |(_, start, _)| *start);
        let (first, last) = extend_to_frame(known, &letters, before, *start, *end, after);
        before = last;
        found.push(LicenseMatch {
            id: known.id,
            span: (place(first), place(last.saturating_sub(1)) + 1),
        });
    }
    found
}

/// Whether a license is among the common ones.
pub(super) fn is_common_license(id: &str) -> bool {
    LICENSE_TEXTS.iter().any(|text| text.id == id)
}

/// Returns the end of a license text that starts here, if all passages match.
fn match_end(known: &LicenseText, letters: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    for piece in known.pieces {
        let window = letters.get(end..letters.len().min(end + piece.within + piece.begin.len()))?;
        let at = end + memmem::find(window, piece.begin.as_bytes())?;
        end = at + piece.length;
        if hash(letters.get(at..end)?) != piece.hash {
            return None;
        }
    }
    Some(end)
}

/// Extends the span to the whole official text, limited by its neighbors.
fn extend_to_frame(
    known: &LicenseText,
    letters: &[u8],
    from: usize,
    start: usize,
    end: usize,
    to: usize,
) -> (usize, usize) {
    let (first, last) = known.frame;
    let from = from.max(start.saturating_sub(MAX_FRAME_BYTES));
    let before = letters.get(from..start).filter(|_| !first.is_empty());
    let begin = before.and_then(|before| memmem::find(before, first.as_bytes()));
    let after = letters.get(end..to.min(end + MAX_FRAME_BYTES)).filter(|_| !last.is_empty());
    let close = after.and_then(|after| memmem::rfind(after, last.as_bytes()));
    (begin.map_or(start, |at| from + at), close.map_or(end, |at| end + at + last.len()))
}

/// Keeps lowercase letters and digits with their offsets. Drops list markers, which copies lose.
fn squeeze(text: &str) -> (Vec<u8>, Vec<u32>) {
    let (mut letters, mut places) =
        (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let bytes = text.as_bytes();
    let mut at = 0u32;
    for word in bytes.split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        if !is_mark(word) {
            let kept = word.iter().zip(at..).filter(|(byte, _)| byte.is_ascii_alphanumeric());
            kept.for_each(|(byte, place)| {
                letters.push(byte.to_ascii_lowercase());
                places.push(place);
            });
        }
        at = at.saturating_add(u32::try_from(word.len()).unwrap_or(u32::MAX)).saturating_add(1);
    }
    (letters, places)
}

/// Whether a word is a list marker: `1.`, `(a)`, `iv)`.
fn is_mark(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"(").unwrap_or(word);
    let Some((b'.' | b')', number)) = word.split_last() else { return false };
    match number {
        [one] => one.is_ascii_alphanumeric(),
        [one, two] if one.is_ascii_digit() => two.is_ascii_digit(),
        [_, ..] => number.len() <= 4 && number.iter().all(|byte| b"ivx".contains(byte)),
        [] => false,
    }
}

/// FNV-1a: the table above must not depend on the standard library's hashes.
fn hash(letters: &[u8]) -> u64 {
    letters.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<&'static str> {
        find(text).iter().map(|found| found.id).collect()
    }

    #[test]
    fn every_known_text_is_found_in_what_spdx_lists() {
        for known in LICENSE_TEXTS {
            let listed = spdx::license_id(known.id).map(spdx::LicenseId::text);
            let listed =
                listed.or_else(|| spdx::exception_id(known.id).map(spdx::ExceptionId::text));
            let found = find(listed.unwrap());
            assert_eq!(found.first().map(|found| found.id), Some(known.id), "{}", known.id);
        }
    }

    #[test]
    fn typography_makes_no_difference() {
        let isc = spdx::license_id("ISC").unwrap().text();
        let commented = isc.replace('\n', "\n// ").replace("and/or", "and").to_uppercase();
        assert_eq!(ids(&commented), ["ISC"]);
        let other_owner = isc.replace("THE AUTHOR", "ACME, INC.");
        assert_eq!(ids(&other_owner), ["ISC"]);
        let other_terms = isc.replace("with or without fee", "without fee");
        assert_eq!(ids(&other_terms), [""; 0]);
    }

    #[test]
    fn spans_cover_the_whole_official_text() {
        let apache = spdx::license_id("Apache-2.0").unwrap().text();
        let mit = spdx::license_id("MIT").unwrap().text();
        let text = format!("Ours\n\n{apache}\nand\n{mit}The end.");
        let [first, second] = find(&text)[..] else { panic!("two licences") };
        assert_eq!((first.id, second.id), ("Apache-2.0", "MIT"));
        let part = |from: usize, to: usize| text.get(from..to).unwrap();
        assert_eq!(part(0, first.span.0).trim(), "Ours");
        assert_eq!(part(first.span.1, second.span.0).lines().nth(2), Some("and"));
        assert_eq!(part(second.span.1, text.len()).trim(), ".\nThe end.");
    }

    #[test]
    fn list_markers_differ_from_words() {
        let cases = [
            ("1.", true),
            ("12)", true),
            ("(a)", true),
            ("iv.", true),
            ("(c)", true),
            ("2.0", false),
            ("so.", false),
            ("a", false),
            ("(the", false),
            (".", false),
        ];
        for (word, want) in cases {
            assert_eq!(is_mark(word.as_bytes()), want, "{word}");
        }
    }
}
