//! The page's files, embedded in the binary.

use flate2::{Compression, write::GzEncoder};
use std::{io::Write as _, sync::OnceLock};

/// One file of the page.
pub(crate) struct Asset {
    name: &'static str,
    /// Its MIME type.
    pub(crate) mime: &'static str,
    /// Uncompressed content.
    pub(crate) bytes: &'static [u8],
    packed: OnceLock<Vec<u8>>,
}

impl Asset {
    /// Compressed content, created on first use.
    pub(crate) fn gzipped(&self) -> &[u8] {
        self.packed.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to memory can't fail.
            encoder.write_all(self.bytes).unwrap_or_default();
            encoder.finish().unwrap_or_default()
        })
    }
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A test compares the list with the folder.
macro_rules! files {
    ($($name:literal $mime:ident),* $(,)?) => {
        static FILES: [Asset; [$($name),*].len()] = [$(Asset {
            name: $name,
            mime: $mime,
            bytes: include_bytes!(concat!("../assets/", $name)),
            packed: OnceLock::new(),
        }),*];
    };
}

files![
    "api.js" SCRIPT,
    "app.js" SCRIPT,
    "apps.js" SCRIPT,
    "arguments.js" SCRIPT,
    "bar.js" SCRIPT,
    "call.js" SCRIPT,
    "chart.js" SCRIPT,
    "codes.js" SCRIPT,
    "compare.js" SCRIPT,
    "complete.js" SCRIPT,
    "diff.js" SCRIPT,
    "dom.js" SCRIPT,
    "elicit.js" SCRIPT,
    "feed.js" SCRIPT,
    "form.js" SCRIPT,
    "frame.html" HTML,
    "graph.js" SCRIPT,
    "history.js" SCRIPT,
    "index.html" HTML,
    "jsonview.js" SCRIPT,
    "list.js" SCRIPT,
    "markdown.js" SCRIPT,
    "mcp.js" SCRIPT,
    "report.js" SCRIPT,
    "result.js" SCRIPT,
    "schema.js" SCRIPT,
    "shell.js" SCRIPT,
    "snippets.js" SCRIPT,
    "store.js" SCRIPT,
    "style.css" STYLE,
    "tabs.js" SCRIPT,
    "theme.js" SCRIPT,
    "tokens.js" SCRIPT,
    "treemap.js" SCRIPT,
    "uritemplate.js" SCRIPT,
    "views/errors.js" SCRIPT,
    "views/explore.css" STYLE,
    "views/health.js" SCRIPT,
    "views/lists.css" STYLE,
    "views/prompts.js" SCRIPT,
    "views/repository.js" SCRIPT,
    "views/resources.js" SCRIPT,
    "views/search.js" SCRIPT,
    "views/tools.css" STYLE,
    "views/tools.js" SCRIPT,
    "views/traffic.css" STYLE,
    "views/traffic.js" SCRIPT,
];

/// Finds a file by name.
pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    FILES.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::BTreeSet, fs, path::Path};

    /// Maximum compressed bytes of the whole page.
    const MAX_ASSETS_BYTES: usize = 200 * 1024;

    fn on_disk() -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let names = |inside: &str| {
            let all = fs::read_dir(folder.join(inside)).unwrap().map(|entry| entry.unwrap());
            let files = all.filter(|entry| entry.path().is_file());
            files
                .map(|entry| format!("{inside}{}", entry.file_name().to_string_lossy()))
                .collect::<Vec<_>>()
        };
        names("").into_iter().chain(names("views/")).collect()
    }

    #[test]
    fn every_file_is_served_and_all_of_them_are_small() {
        let served: BTreeSet<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(served, on_disk());
        let ending = |file: &Asset| file.name.rsplit('.').next().unwrap();
        let mimes = [("html", HTML), ("js", SCRIPT), ("css", STYLE)];
        assert!(FILES.iter().all(|file| mimes.contains(&(ending(file), file.mime))));
        let bytes: usize = FILES.iter().map(|file| file.gzipped().len()).sum();
        assert!(bytes <= MAX_ASSETS_BYTES, "{bytes} bytes");
    }

    /// Server data must never become markup or script: the page uses no API that could do so.
    #[test]
    fn nothing_in_the_page_parses_markup_or_runs_text() {
        for Asset { name, bytes, .. } in FILES.iter().filter(|file| file.mime == SCRIPT) {
            let text = std::str::from_utf8(bytes).unwrap();
            for way in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "DOMParser",
                "srcdoc",
                "createContextualFragment",
                "setTimeout('",
                "importScripts",
            ] {
                assert!(!text.contains(way), "{name} has {way}");
            }
        }
    }
}
