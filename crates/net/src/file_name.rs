//! Derives the file name of a page from its URL: safe on every system, and distinct per page.

use crate::{media, url_encoding};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use url::Url;

/// Maximum length of a part, before its unique suffix.
const MAX_PART_BYTES: usize = 60;
/// Maximum length of a path; systems allow a few hundred bytes, including the folder before it.
const MAX_PATH_BYTES: usize = 200;
/// Maximum number of folders above the file.
const MAX_PATH_DEPTH: usize = 16;
/// Device names reserved on some systems.
const WINDOWS_DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// The path of a page's file. With a salt, it differs from that of any other page.
pub(crate) fn file_name(url: &Url, ending: &str, salted: bool) -> String {
    let mut parts: Vec<&str> = url.path().trim_start_matches('/').split('/').collect();
    let last = parts.pop().filter(|last| !last.is_empty()).unwrap_or("index");
    let mut folders: Vec<String> = parts.into_iter().map(folder).collect();
    let mut marks = String::new();
    if let Some(query) = url.query() {
        marks = format!("-{}", digest(query.as_bytes(), 4));
    }
    if salted {
        marks = format!("-{}", digest(url.as_str().as_bytes(), 8));
    }
    let mut file = name(last, ending, &marks);
    let length = folders.iter().map(|part| part.len() + 1).sum::<usize>() + file.len();
    if folders.len() > MAX_PATH_DEPTH || length > MAX_PATH_BYTES {
        folders = vec!["long".to_owned()];
        file = name(last, ending, &format!("-{}", digest(url.as_str().as_bytes(), 8)));
    }
    folders.push(file);
    folders.join("/")
}

/// The last part: stem, marks, and an extension for its format.
fn name(part: &str, ending: &str, marks: &str) -> String {
    let clean = clean(part);
    match clean.rsplit_once('.').filter(|_| media::ends_so(&clean, ending)) {
        Some((stem, own)) => format!("{stem}{marks}.{own}"),
        None => format!("{clean}{marks}.{ending}"),
    }
}

/// A folder never has the extension of a page: `guide.html` and `guide.html/more` can both be stored.
fn folder(part: &str) -> String {
    let clean = clean(part);
    if media::is_page(&clean) { mark_shortened(&clean, part) } else { clean }
}

/// A part in portable characters. A changed part gets a mark, so that it stays distinct.
fn clean(part: &str) -> String {
    let plain = url_encoding::plain(part);
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.+@~=,".contains(letter);
    let mut clean: String =
        plain.chars().map(|letter| if safe(letter) { letter } else { '_' }).collect();
    if clean.starts_with('.') {
        clean.replace_range(..1, "_");
    }
    if clean.is_empty() || clean.ends_with('.') {
        clean.push('_');
    }
    if clean.len() > MAX_PART_BYTES {
        // The extension stays last.
        let ending = clean.rsplit_once('.').map(|it| it.1.to_owned()).filter(|it| it.len() <= 8);
        clean.truncate(MAX_PART_BYTES);
        if let Some(ending) = ending {
            clean.push('.');
            clean.push_str(&ending);
        }
    }
    let stem = clean.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let device =
        WINDOWS_DEVICES.contains(&stem.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    if clean == plain && !device { clean } else { mark_shortened(&clean, part) }
}

/// Adds the mark before the extension of a page, or else at the end.
fn mark_shortened(clean: &str, part: &str) -> String {
    let mark = digest(part.as_bytes(), 4);
    format!("{}-{mark}", clean.replace('.', "_"))
}

/// The first bytes of a digest, as text.
pub(crate) fn digest(bytes: &[u8], length: usize) -> String {
    Sha256::digest(bytes).iter().take(length).fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Component, Path};

    fn of(path: &str, ending: &str) -> String {
        file_name(&Url::parse("https://a.test").unwrap().join(path).unwrap(), ending, false)
    }

    #[test]
    fn names_follow_the_path() {
        for (path, ending, want) in [
            ("/", "html", "index.html"),
            ("/docs/", "html", "docs/index.html"),
            ("/docs/guide", "html", "docs/guide.html"),
            ("/docs/guide.html", "html", "docs/guide.html"),
            ("/docs/guide.HTM", "html", "docs/guide.HTM"),
            ("/docs/v1.2", "html", "docs/v1.2.html"),
            ("/docs/guide.php", "html", "docs/guide.php.html"),
            ("/a.md", "md", "a.md"),
            ("/a.md", "html", "a.md.html"),
            ("/docs/", "md", "docs/index.md"),
            ("/a.html/b", "html", "a_html-7aa267cf/b.html"),
            ("/a?x=1", "html", "a-1f206b11.html"),
            ("/%C3%A9", "html", "_-606b3248.html"),
            ("/nul", "html", "nul-99e62427.html"),
        ] {
            assert_eq!(of(path, ending), want, "{path}");
        }
    }

    #[test]
    fn names_stay_inside_and_apart() {
        let long = format!("/{}", "a".repeat(3_000));
        let longer = format!("/{}b", "a".repeat(3_000));
        let deep = "/a".repeat(900);
        let deeper = "/a".repeat(901);
        let paths = [
            "/a",
            "/a/",
            "/a.html/",
            "/a.html/b",
            "/a/b",
            "/..%2f..%2fetc",
            "/%2e%2e%2f",
            "/.git/config",
            "/%00",
            "/a%5Cb",
            "/c:",
            "/a//b",
            "//b",
            "/a%2Fb",
            "/con",
            "/aux.html",
            "/lpt1",
            "/a.",
            "/a%20",
            "/%F0%9F%92%A9",
            "/%FF",
            "/...",
            "/~",
            "/-rf",
            "/a?b",
            "/a?c",
            &long,
            &longer,
            &deep,
            &deeper,
        ];
        let mut seen = std::collections::HashMap::new();
        for path in paths {
            let name = of(&format!("https://a.test{path}"), "html");
            assert!(name.len() <= MAX_PATH_BYTES, "{path}: {name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_graphic()), "{path}: {name}");
            let inside = |part| matches!(part, Component::Normal(_));
            assert!(Path::new(&name).components().all(inside), "{path}: {name}");
            assert!(name.split('/').all(|part| !part.starts_with('.')), "{path}: {name}");
            assert!(media::ends_so(&name, "html"), "{path}: {name}");
            assert_eq!(seen.insert(name.to_lowercase(), path), None, "{path}: {name}");
        }
    }

    #[test]
    fn salt_sets_apart() {
        let url = Url::parse("https://a.test/docs/").unwrap();
        assert_ne!(file_name(&url, "html", false), file_name(&url, "html", true));
    }
}
