//! A small project to search, and stores to search it in.

use docent_index::{
    Digest, EmbeddedStore, EmbeddedStoreSettings, Genre, IndexHit, IndexQuery, IndexStore,
    IndexUnit, IndexedSource, LineSpan, StoreChange,
    embed::{Embedder, EmbeddingTable},
    search,
};
use std::{path::Path, sync::Arc, time::Duration};

/// A unit of code.
pub(crate) fn unit(kind: &str, name: &str, doc: &str, body: &str) -> IndexUnit {
    IndexUnit {
        id: format!("{kind}:{name}"),
        kind: kind.into(),
        language: "rust".into(),
        name: name.into(),
        signature: format!("fn {name}()"),
        doc: doc.into(),
        body: body.into(),
        span: LineSpan { first: 10, last: 10 + u32::try_from(body.lines().count()).unwrap() },
        extra: format!("extra of {name}"),
    }
}

/// A source whose digest is that of its text.
pub(crate) fn source(collection: &str, path: &str, units: Vec<IndexUnit>) -> IndexedSource {
    let text = serde_json::to_string(&units).unwrap();
    let digest = Digest::of(&[text.as_bytes()]);
    IndexedSource {
        collection: collection.into(),
        path: path.into(),
        genre: Genre::Code,
        digest,
        units,
    }
}

/// Three files of one project and one of another.
pub(crate) fn project() -> Vec<StoreChange> {
    let files = [
        source(
            "app",
            "src/login.rs",
            vec![
                unit(
                    "function",
                    "login_user",
                    "Authenticates a user with email and password.",
                    "fn login_user() {\n    let user = find(email);\n    verify_password(user)\n}",
                ),
                unit(
                    "function",
                    "validate_token",
                    "Checks an authentication token.",
                    "fn validate_token() {\n    decode(token)\n}",
                ),
            ],
        ),
        source(
            "app",
            "src/draw/logo.rs",
            vec![
                unit(
                    "function",
                    "draw_logo",
                    "Draws the logo of the company.",
                    "fn draw_logo() {\n    canvas.paint(LOGO)\n}",
                ),
                unit("struct", "Canvas", "Something to paint on.", "struct Canvas { width: u32 }"),
            ],
        ),
        source(
            "app",
            "src/retry.rs",
            vec![unit(
                "function",
                "retry_with_backoff",
                "",
                "fn retry_with_backoff() {\n    sleep(delay);\n    delay *= 2;\n}",
            )],
        ),
        source(
            "lib",
            "src/parse.rs",
            vec![unit(
                "function",
                "parseHTTPResponse",
                "Reads the status line and the headers.",
                "fn parseHTTPResponse() {}",
            )],
        ),
    ];
    files.into_iter().map(StoreChange::Put).collect()
}

/// A store in a folder, with the built-in table.
pub(crate) fn open(folder: &Path) -> EmbeddedStore {
    open_with(folder, EmbeddingTable::built_in())
}

pub(crate) fn open_with(folder: &Path, embedder: Arc<dyn Embedder>) -> EmbeddedStore {
    let settings = EmbeddedStoreSettings {
        lock_timeout: Duration::from_secs(30),
        ..EmbeddedStoreSettings::default()
    };
    EmbeddedStore::open(folder, embedder, settings).unwrap()
}

/// Writes changes as one generation.
pub(crate) fn write(store: &dyn IndexStore, changes: Vec<StoreChange>) {
    store.write(&mut changes.into_iter()).unwrap();
}

/// The hits of a query, with the built-in table.
pub(crate) fn hits(store: &dyn IndexStore, query: &IndexQuery) -> Vec<IndexHit> {
    search(store, EmbeddingTable::built_in().as_ref(), query).unwrap().hits
}

/// The names of the hits, best first.
pub(crate) fn names(store: &dyn IndexStore, text: &str) -> Vec<String> {
    hits(store, &IndexQuery::new(text)).into_iter().map(|hit| hit.found.unit.name).collect()
}
