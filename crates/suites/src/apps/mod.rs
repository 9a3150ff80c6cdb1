//! Pages for clients that show them: the report of a repository, the map of code, the search.
//!
//! Each is one HTML document: a script of its own, and two parts that all share. `host.js` speaks with the client that
//! shows the page, by MCP Apps (2026-01-26), and is the only part that knows it; `style.css` is how they look. A page
//! asks for nothing outside itself: it calls the tools of this server through the client. What these answer becomes
//! text nodes and nothing else.

use docent_tool::App;

macro_rules! page {
    ($title:literal, $script:literal) => {
        concat!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
            $title,
            "</title>\n<style>\n",
            include_str!("style.css"),
            "</style>\n<main></main>\n<script>\n'use strict'\nconst TITLE = '",
            $title,
            "'\nconst VERSION = '",
            env!("CARGO_PKG_VERSION"),
            "'\n",
            include_str!("host.js"),
            include_str!($script),
            "</script>\n</html>\n",
        )
    };
}

/// Shows what `analyze_repository` answers.
pub(crate) const REPORT: App = App {
    uri: "ui://docent/report",
    name: "report",
    title: "Report of a repository",
    about: "Languages, dependencies, commands, documentation gaps and next steps of a repository",
    html: page!("Report of a repository", "report.js"),
};

/// Shows what `outline` and `analyze_code` answer.
pub(crate) const CODE_MAP: App = App {
    uri: "ui://docent/code-map",
    name: "code-map",
    title: "Map of code",
    about: "Folders, files, definitions and dependencies, walked from one to the next",
    html: page!("Map of code", "code_map.js"),
};

/// Shows what `query_annotations` and `search_documentation` find.
pub(crate) const SEARCH: App = App {
    uri: "ui://docent/search",
    name: "search",
    title: "Search",
    about: "A search box for code and documentation, and what was found",
    html: page!("Search", "search.js"),
};

#[cfg(test)]
mod tests;
