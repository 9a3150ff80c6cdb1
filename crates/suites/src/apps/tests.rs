use super::*;
use crate::{SuiteOptions, docs::CollectionSettings, files::ServedRoots, suites, test_index, web};
use docent_tool::ToolProvider;
use std::{collections::BTreeMap, sync::Arc};

const ALL: [App; 3] = [REPORT, CODE_MAP, SEARCH];

fn providers() -> (tempfile::TempDir, Vec<Arc<dyn ToolProvider>>) {
    let root = tempfile::tempdir().unwrap();
    let roots = ServedRoots::open(&[root.path().to_owned()]).unwrap();
    let collections = vec![CollectionSettings::new("manual", ".", "The manual")];
    let index = test_index(&root.path().join(".docent"));
    let (synonyms, web) = (Arc::default(), web::WebSettings::off());
    let options =
        SuiteOptions { roots, collections, synonyms, index, index_when_listed: false, web };
    (root, suites(options).providers)
}

#[test]
fn tools_name_pages_of_their_own_suite() {
    let (_root, all) = providers();
    let mut named = BTreeMap::new();
    for provider in &all {
        let pages: Vec<_> = provider.apps().iter().map(|app| app.uri).collect();
        for info in provider.tools().iter().map(|tool| tool.info()) {
            let Some(app) = info.app else { continue };
            assert!(pages.contains(&app), "{} names {app} of another suite", info.name);
            named.insert(info.name, app);
        }
    }
    let want = [
        ("analyze_code", CODE_MAP.uri),
        ("analyze_repository", REPORT.uri),
        ("outline", CODE_MAP.uri),
        ("query_annotations", SEARCH.uri),
        ("search_documentation", SEARCH.uri),
    ];
    assert_eq!(named, want.map(|(tool, app)| (tool.to_owned(), app)).into());
}

#[test]
fn a_page_is_one_document_that_asks_for_nothing_outside() {
    // URLs, APIs that load them, parse markup or evaluate code, and APIs missing in a sandbox.
    const NEVER: [&str; 27] = [
        "http:",
        "https:",
        "//cdn",
        "src=",
        "href",
        "url(",
        "@import",
        "import(",
        "import ",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "EventSource",
        "sendBeacon",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "srcdoc",
        "setHTML",
        "eval(",
        "Function(",
        "localStorage",
        "sessionStorage",
        "document.cookie",
        "h('form",
    ];
    for app in ALL {
        assert!(app.uri.starts_with("ui://docent/"), "{}", app.uri);
        assert!(app.html.starts_with("<!doctype html>\n"), "{}", app.uri);
        assert_eq!(app.html.matches("</script>").count(), 1, "{}", app.uri);
        assert!(app.html.contains(&format!("<title>{}</title>", app.title)), "{}", app.uri);
        assert!(app.html.len() < 24 * 1024, "{}: {} bytes", app.uri, app.html.len());
        for word in NEVER {
            assert!(!app.html.contains(word), "{} has {word}", app.uri);
        }
    }
}

#[test]
fn a_page_calls_only_tools_that_change_nothing() {
    let (_root, all) = providers();
    let tools: Vec<_> = all.iter().flat_map(|one| one.tools()).map(|tool| tool.info()).collect();
    for app in ALL {
        let called: Vec<&str> = app.html.split("call('").skip(1).collect();
        assert!(!called.is_empty(), "{} calls nothing", app.uri);
        for name in called.iter().filter_map(|rest| rest.split('\'').next()) {
            let tool = tools.iter().find(|tool| tool.name == name);
            let tool = tool.unwrap_or_else(|| panic!("{} calls {name}", app.uri));
            assert!(tool.hints.is_some_and(|hints| hints.read_only), "{name}");
        }
    }
}
