//! The built-in tools for repositories, code, documentation and the web.
//!
//! Knows tools, files and parsers; must not know the wire format, sessions or transports.
#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make their own files"))]

mod apps;
pub mod code;
pub mod docs;
pub mod file_resources;
pub mod files;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod indexing;
pub mod prompts;
pub mod repo;
pub mod watch;
pub mod web;
mod worker_pools;

pub use code::{DocumentationRange, code_units, documentation};
pub use docs::prose_units;

use docent_index::Synonyms;
use docent_tool::ToolProvider;
use files::ServedRoots;
use std::sync::Arc;

/// Inputs of the built-in tools.
pub struct SuiteOptions {
    /// Folders that the tools may read.
    pub roots: ServedRoots,
    /// Document collections, in the order in which they are listed.
    pub collections: Vec<docs::CollectionSettings>,
    /// Synonyms for searching them.
    pub synonyms: Arc<Synonyms>,
    /// Opens the search index on first use.
    pub index: indexing::StoreOpener,
    /// Whether listing the source files starts building the index; for servers, which notify clients when it is ready.
    pub index_when_listed: bool,
    /// Search providers and network access for the web tools.
    pub web: web::WebSettings,
}

/// The built-in tools.
pub struct Suites {
    /// Every provider: `repo`, `code`, `docs`, `web`, `file`, `prompts`.
    pub providers: Vec<Arc<dyn ToolProvider>>,
    /// The documentation suite, whose collections can change.
    pub docs: docs::DocsSuite,
    /// The web suite, whose policy can change.
    pub web: web::WebSuite,
}

/// Creates every built-in provider. Reads nothing until a tool is called.
pub fn suites(options: SuiteOptions) -> Suites {
    let SuiteOptions { roots, collections, synonyms, index, index_when_listed, web } = options;
    let index = indexing::once(index);
    let shelved = docs::collection_places(&roots, &collections);
    let live = indexing::BackgroundIndex::new(
        roots.clone().with_collection_places(shelved),
        Arc::clone(&index),
    );
    let names = collections.iter().map(|collection| collection.name.clone()).collect();
    let docs = docs::DocsSuite::new(roots.clone(), collections, index).with_synonyms(synonyms);
    let web = web::WebSuite::new(web);
    let mut code = code::CodeSuite::new(roots.clone(), live);
    code.index_when_listed = index_when_listed;
    let mut providers: Vec<Arc<dyn ToolProvider>> = vec![
        Arc::new(repo::RepoSuite::new(roots.clone())),
        Arc::new(code),
        Arc::new(docs.clone()),
        Arc::new(web.clone()),
        Arc::new(file_resources::FileSuite::new(roots.clone())),
    ];
    let prompts = prompts::PromptSuite::new(roots, names, &providers);
    providers.push(Arc::new(prompts));
    Suites { providers, docs, web }
}

/// An index in its own folder, for tests.
#[cfg(test)]
fn test_index(folder: &std::path::Path) -> indexing::StoreOpener {
    use docent_index::{EmbeddedStore, EmbeddedStoreSettings, embed::EmbeddingTable};
    let folder = folder.to_owned();
    Arc::new(move || {
        let embedder = EmbeddingTable::built_in();
        let store = EmbeddedStore::open(
            &folder,
            Arc::clone(&embedder) as _,
            EmbeddedStoreSettings::default(),
        )?;
        Ok(indexing::OpenedStore { store: Arc::new(store), embedder })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_tool::{AnswerBlock, AnyTool, CompletionRequest, CompletionTarget, no_client};
    use serde_json::json;
    use std::fs;

    fn fixture() -> (tempfile::TempDir, Vec<Arc<dyn ToolProvider>>) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("manual")).unwrap();
        fs::write(root.path().join("manual/vacuum.md"), "# Vacuum\n\nVACUUM reclaims storage.\n")
            .unwrap();
        let roots = ServedRoots::open(&[root.path().to_owned()]).unwrap();
        let collections = vec![docs::CollectionSettings::new("manual", "manual", "The manual")];
        let index = test_index(&root.path().join(".docent"));
        let (synonyms, web) = (Arc::default(), web::WebSettings::off());
        let options =
            SuiteOptions { roots, collections, synonyms, index, index_when_listed: false, web };
        (root, suites(options).providers)
    }

    #[tokio::test]
    async fn every_suite_is_offered_under_its_key() {
        let (_root, all) = fixture();
        let keys: Vec<_> = all.iter().map(|provider| provider.key()).collect();
        assert_eq!(keys, ["repo", "code", "docs", "web", "file", "prompts"]);
        let named = |tool: Arc<dyn AnyTool>| {
            assert_eq!(tool.name(), tool.info().name);
            tool.name().to_owned()
        };
        let mut tools: Vec<_> = all.iter().flat_map(|p| p.tools()).map(named).collect();
        tools.sort();
        let want = [
            "analyze_code",
            "analyze_repository",
            "check_documentation",
            "fetch_page",
            "find_references",
            "get_document",
            "index_status",
            "list_collections",
            "outline",
            "parse_files",
            "query_annotations",
            "read_symbol",
            "search_documentation",
            "web_search",
        ];
        assert_eq!(tools, want);
    }

    #[tokio::test]
    async fn a_prompt_answers_from_real_documents() {
        let (_root, all) = fixture();
        let prompts = all.last().unwrap();
        let arguments = json!({"question": "what reclaims storage?", "collection": "manual"});
        // On a busy machine the documents may still be read, and it says so.
        let text = loop {
            let answer = prompts
                .prompt("answer_from_docs", arguments.as_object().unwrap(), &no_client())
                .await
                .unwrap();
            let AnswerBlock::Text { text, .. } = &answer.messages[1].content else {
                panic!("{answer:?}")
            };
            if !text.contains("Ask again in a moment") {
                break text.clone();
            }
        };
        assert!(
            text.contains("VACUUM reclaims storage") && text.contains("manual/vacuum.md"),
            "{text}"
        );
        let target = CompletionTarget::Prompt("answer_from_docs".into());
        assert_eq!(
            prompts.complete(&CompletionRequest::new(target, "collection", "man")).await.values,
            ["manual"]
        );
    }
}
