//! MCP App pages: repository report, code map and search.
//!
//! Each page is one HTML document: its own script and two shared parts. `host.js` is the only part that talks to the
//! client, by MCP Apps (2026-01-26); `style.css` is the style. A page loads nothing from outside: it calls the tools of
//! this server through the client, and renders their answers only as text nodes.

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

/// Shows the result of `analyze_repository`.
pub(crate) const REPORT: App = App {
    uri: "ui://docent/report",
    name: "report",
    title: "Repository report",
    about: "Languages, dependencies, commands, documentation gaps and next steps of a repository",
    html: page!("Repository report", "report.js"),
};

/// Shows the results of `outline` and `analyze_code`.
pub(crate) const CODE_MAP: App = App {
    uri: "ui://docent/code-map",
    name: "code-map",
    title: "Code map",
    about: "Browse folders, files, definitions and dependencies",
    html: page!("Code map", "code_map.js"),
};

/// Shows the results of `query_annotations` and `search_documentation`.
pub(crate) const SEARCH: App = App {
    uri: "ui://docent/search",
    name: "search",
    title: "Search",
    about: "Search code and documentation",
    html: page!("Search", "search.js"),
};

#[cfg(test)]
mod tests;
