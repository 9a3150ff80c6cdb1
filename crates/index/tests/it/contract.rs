//! The contract of every store. A store passes by providing a way to open itself twice at the same location.

use crate::project::{hits, names, project, source, unit, write};
use docent_index::{
    Genre, IndexQuery, IndexStore, IndexUnit, IndexedSource, NearbyTerms, PathPatterns,
    StoreChange, UnitFilter,
    embed::{EmbedError, Embedder, EmbeddingInput, EmbeddingTable, ModelIdentity, Vector},
    search, units_named,
};
use std::{collections::BTreeSet, sync::Arc};

/// A location where a store can be opened several times at once.
pub(crate) trait StoreLocation {
    /// Opens a store there.
    fn open(&self, embedder: Arc<dyn Embedder>) -> Box<dyn IndexStore>;
}

/// Runs every contract test for a store.
macro_rules! store_contract {
    ($place:expr) => {
        $crate::contract::statements! { $place =>
            a_second_put_replaces_the_first,
            what_is_removed_is_gone,
            digests_are_by_collection_and_path,
            a_write_that_fails_changes_nothing,
            nothing_to_write_makes_no_generation,
            a_view_stays_as_it_is,
            another_handle_sees_what_was_written,
            filters_leave_in_what_they_name,
            pages_follow_each_other,
            names_are_found_whole_and_by_parts,
            words_are_found_by_their_stems,
            hits_say_why,
            copies_are_folded,
            nothing_that_answers_is_said_with_the_nearest,
            any_text_can_be_asked_and_kept,
            the_last_of_two_puts_counts,
            another_model_recomputes_vectors,
            a_model_that_is_away_leaves_words,
            a_word_is_as_rare_as_in_its_collection,
            sources_are_listed_with_their_kinds,
            a_name_is_found_exactly,
            terms_are_found_with_similar_ones,
        }
    };
}
macro_rules! statements {
    ($place:expr => $($name:ident,)*) => {
        $(#[test]
        fn $name() {
            $crate::contract::$name(&$place);
        })*
    };
}
pub(crate) use {statements, store_contract};

fn open(place: &dyn StoreLocation) -> Box<dyn IndexStore> {
    place.open(EmbeddingTable::built_in())
}

fn filled_store(place: &dyn StoreLocation) -> Box<dyn IndexStore> {
    let store = open(place);
    write(store.as_ref(), project());
    store
}

fn remove(collection: &str, path: &str) -> StoreChange {
    StoreChange::Remove { collection: collection.into(), path: path.into() }
}

pub(crate) fn a_second_put_replaces_the_first(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let before = store.status().unwrap();
    let new =
        source("app", "src/retry.rs", vec![unit("function", "give_up", "", "fn give_up() {}")]);
    write(store.as_ref(), vec![StoreChange::Put(new)]);
    assert!(!names(store.as_ref(), "retry with backoff").contains(&"retry_with_backoff".into()));
    assert_eq!(names(store.as_ref(), "give up")[0], "give_up");
    let after = store.status().unwrap();
    assert_eq!((after.units, after.sources), (before.units, before.sources));
    assert!(after.generation > before.generation);
}

pub(crate) fn what_is_removed_is_gone(place: &dyn StoreLocation) {
    let store = filled_store(place);
    write(store.as_ref(), vec![remove("app", "src/login.rs"), remove("app", "src/none.rs")]);
    let left = names(store.as_ref(), "authenticate a user with a password token");
    assert!(!left.iter().any(|name| name.contains("login") || name.contains("token")), "{left:?}");
    let status = store.status().unwrap();
    assert_eq!((status.units, status.sources), (4, 3));
    write(store.as_ref(), project());
    assert_eq!(names(store.as_ref(), "authenticate a user with a password")[0], "login_user");
}

pub(crate) fn digests_are_by_collection_and_path(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let empty = source("app", "src/empty.rs", Vec::new());
    write(store.as_ref(), vec![StoreChange::Put(empty.clone()), remove("app", "src/retry.rs")]);
    let digests = store.digests("app").unwrap();
    let paths: Vec<&str> = digests.keys().map(String::as_str).collect();
    assert_eq!(paths, ["src/draw/logo.rs", "src/empty.rs", "src/login.rs"]);
    assert_eq!(digests["src/empty.rs"], empty.digest);
    let lib = store.digests("lib").unwrap();
    assert_eq!(lib.len(), 1);
    let collections = || store.collections().unwrap().into_iter().collect::<Vec<_>>();
    assert_eq!(collections(), ["app", "lib"]);
    write(store.as_ref(), lib.keys().map(|path| remove("lib", path)).collect());
    assert_eq!(collections(), ["app"]);
    assert_eq!(store.digests("none").unwrap().len(), 0);
}

/// Fails on units that request it.
#[derive(Debug)]
struct FailingEmbedder(Arc<EmbeddingTable>);

impl Embedder for FailingEmbedder {
    fn identity(&self) -> &ModelIdentity {
        self.0.identity()
    }

    fn documents(&self, documents: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError> {
        if documents.iter().any(|document| document.unit.name == "broken") {
            return Err(endpoint_unavailable());
        }
        self.0.documents(documents)
    }

    fn query(&self, _: &str) -> Result<Vector, EmbedError> {
        Err(endpoint_unavailable())
    }
}

fn endpoint_unavailable() -> EmbedError {
    EmbedError::Unexpected { url: "http://nowhere".into(), reason: "it is a test".into() }
}

pub(crate) fn a_write_that_fails_changes_nothing(place: &dyn StoreLocation) {
    let store = place.open(Arc::new(FailingEmbedder(EmbeddingTable::built_in())));
    write(store.as_ref(), project());
    let before = (store.status().unwrap(), store.digests("app").unwrap());
    let mut changes = vec![remove("app", "src/login.rs")];
    for n in 0..6_000 {
        let name = if n == 5_999 { "broken" } else { "fine" };
        let one = source("app", &format!("f{n}"), vec![unit("function", name, "", "x")]);
        changes.push(StoreChange::Put(one));
    }
    let error = store.write(&mut changes.into_iter()).unwrap_err();
    assert!(error.to_string().contains("it is a test"), "{error}");
    assert_eq!((store.status().unwrap(), store.digests("app").unwrap()), before);
    write(store.as_ref(), vec![remove("lib", "src/parse.rs")]);
    assert_eq!(store.status().unwrap().units, before.0.units - 1);
}

pub(crate) fn nothing_to_write_makes_no_generation(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let before = store.status().unwrap();
    write(store.as_ref(), Vec::new());
    assert_eq!(store.status().unwrap(), before);
}

pub(crate) fn a_view_stays_as_it_is(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let (view, before) = (store.view().unwrap(), store.status().unwrap());
    for path in ["src/login.rs", "src/retry.rs", "src/draw/logo.rs"] {
        write(store.as_ref(), vec![remove("app", path)]);
    }
    assert_eq!(view.status(), before);
    assert_eq!(store.status().unwrap().units, 1);
    let table = EmbeddingTable::built_in();
    let query = IndexQuery::new("authenticate a user");
    let (_, found) = docent_index::rank::candidates(&view, table.as_ref(), &query).unwrap();
    let names: Vec<String> = found.rows().map(|row| view.unit(row).unwrap().unit.name).collect();
    assert!(names.contains(&"login_user".into()), "{names:?}");
}

pub(crate) fn another_handle_sees_what_was_written(place: &dyn StoreLocation) {
    let (first, second) = (open(place), open(place));
    assert_eq!(second.status().unwrap().units, 0);
    write(first.as_ref(), project());
    assert_eq!(names(second.as_ref(), "draw the logo")[0], "draw_logo");
    write(second.as_ref(), vec![remove("app", "src/draw/logo.rs")]);
    assert!(!names(first.as_ref(), "draw the logo").contains(&"draw_logo".into()));
    write(first.as_ref(), vec![remove("app", "src/login.rs")]);
    assert_eq!(second.status().unwrap().units, 2);
}

pub(crate) fn filters_leave_in_what_they_name(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let mut page =
        source("manual", "login.md", vec![unit("section", "Login", "", "How a user logs in.")]);
    page.units[0].language = "en".into();
    page.genre = Genre::Prose;
    write(store.as_ref(), vec![StoreChange::Put(page)]);
    let all = UnitFilter::default();
    let one = |text: &str| vec![text.to_owned()];
    let paths = |patterns: &[&str]| {
        PathPatterns::parse(&patterns.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
            .unwrap()
    };
    let cases: Vec<(UnitFilter, &[&str])> = vec![
        (UnitFilter { kinds: one("struct"), ..all.clone() }, &["Canvas"]),
        (UnitFilter { collections: one("lib"), ..all.clone() }, &["parseHTTPResponse"]),
        (UnitFilter { languages: one("en"), ..all.clone() }, &["Login"]),
        (UnitFilter { paths: paths(&["src/draw/**"]), ..all.clone() }, &["Canvas", "draw_logo"]),
        (
            UnitFilter { paths: paths(&["**/retry.rs", "*.md"]), ..all.clone() },
            &["Login", "retry_with_backoff"],
        ),
        (UnitFilter { kinds: one("struct"), collections: one("lib"), ..all.clone() }, &[]),
    ];
    for (filter, want) in cases {
        let query = IndexQuery {
            filter: filter.clone(),
            ..IndexQuery::new("user logo paint retry parse login")
        };
        let got: BTreeSet<String> =
            hits(store.as_ref(), &query).into_iter().map(|hit| hit.found.unit.name).collect();
        assert_eq!(got, want.iter().map(|name| (*name).to_owned()).collect(), "{filter:?}");
    }
    let error = PathPatterns::parse(&one("src/[")).unwrap_err().to_string();
    assert_eq!(error, "invalid path pattern src/[");
}

pub(crate) fn pages_follow_each_other(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let ask = |offset, limit| {
        let query = IndexQuery { offset, limit, ..IndexQuery::new("fn user logo token") };
        hits(store.as_ref(), &query)
    };
    let all = ask(0, 100);
    assert!(all.len() >= 4, "{}", all.len());
    assert!(all.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
    assert!(all.iter().all(|hit| (0.0..=1.0).contains(&hit.similarity)));
    let ids = |hits: &[docent_index::IndexHit]| -> Vec<String> {
        hits.iter().map(|hit| hit.found.unit.id.clone()).collect()
    };
    let pages: Vec<String> = (0..all.len()).flat_map(|n| ids(&ask(n, 1))).collect();
    assert_eq!(pages, ids(&all));
    assert_eq!(ask(100, 10).len(), 0);
    assert_eq!(ask(0, 0).len(), 0);
}

pub(crate) fn names_are_found_whole_and_by_parts(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let asked =
        ["parseHTTPResponse", "parse_http_response", "parse-http-response", "http response"];
    for text in asked {
        assert_eq!(names(store.as_ref(), text)[0], "parseHTTPResponse", "{text}");
    }
    assert_eq!(names(store.as_ref(), "RETRY_WITH_BACKOFF")[0], "retry_with_backoff");
}

pub(crate) fn words_are_found_by_their_stems(place: &dyn StoreLocation) {
    let store = filled_store(place);
    assert_eq!(names(store.as_ref(), "authenticating users by their passwords")[0], "login_user");
    assert_eq!(names(store.as_ref(), "drawing logos")[0], "draw_logo");
}

pub(crate) fn hits_say_why(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let hit = &hits(store.as_ref(), &IndexQuery::new("verify the password of a user"))[0];
    assert_eq!(hit.found.path, "src/login.rs");
    assert_eq!(hit.found.collection, "app");
    let StoreChange::Put(login) = project().remove(0) else {
        panic!("the project starts with a put")
    };
    assert_eq!(hit.found.unit, login.units[0]);
    let fields = |word: &str| {
        let matched = hit.matched.iter().find(|matched| matched.word == word);
        matched.map(|matched| matched.fields.clone())
    };
    assert_eq!(fields("user"), Some(vec!["name", "signature", "doc", "body"]));
    assert_eq!(fields("password"), Some(vec!["doc", "body"]));
    assert_eq!(fields("logo"), None);
    assert!(hit.snippet.text.contains("verify_password(user)"), "{:?}", hit.snippet);
    assert_eq!(hit.snippet.first, 10);
    assert!(hit.parts.words > 0.5 && hit.parts.meaning > 0.0, "{:?}", hit.parts);
}

pub(crate) fn copies_are_folded(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let StoreChange::Put(login) = project().remove(0) else {
        panic!("the project starts with a put")
    };
    let copy = IndexedSource { path: "vendor/copy/login.rs".into(), ..login };
    write(store.as_ref(), vec![StoreChange::Put(copy)]);
    let found = hits(store.as_ref(), &IndexQuery::new("authenticate a user with email"));
    let logins: Vec<_> = found.iter().filter(|hit| hit.found.unit.name == "login_user").collect();
    assert_eq!(logins.len(), 1);
    assert_eq!(logins[0].alike.len(), 1);
    let both = [logins[0].found.path.as_str(), logins[0].alike[0].path.as_str()];
    assert_eq!(BTreeSet::from(both), BTreeSet::from(["src/login.rs", "vendor/copy/login.rs"]));
}

pub(crate) fn nothing_that_answers_is_said_with_the_nearest(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let ask = |text: &str| {
        let query = IndexQuery { threshold: 0.7, ..IndexQuery::new(text) };
        search(store.as_ref(), EmbeddingTable::built_in().as_ref(), &query).unwrap()
    };
    let nothing = ask("migratory habits of antarctic penguins");
    assert_eq!(nothing.hits.len(), 0);
    assert!(!nothing.below.is_empty() && nothing.below.len() <= 3, "{}", nothing.below.len());
    let good = ask("authenticate a user with email and password");
    assert_eq!(good.hits[0].found.unit.name, "login_user");
    assert!(good.below.is_empty());
    assert!(good.hits.len() <= 2, "{}", good.hits.len());
    assert_eq!(good.generation, store.status().unwrap().generation);
}

pub(crate) fn any_text_can_be_asked_and_kept(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let odd = ["", " ", "\0", "!!!", "the of and", "é", "日本語の検索", "\u{202e}x", "a\"b:c^2*"];
    for (n, text) in odd.iter().enumerate() {
        let kept = IndexUnit { id: String::new(), ..unit("function", text, text, text) };
        write(
            store.as_ref(),
            vec![StoreChange::Put(source("odd", &format!("{text}{n}"), vec![kept]))],
        );
        hits(store.as_ref(), &IndexQuery::new(*text));
    }
    hits(store.as_ref(), &IndexQuery::new("word ".repeat(5_000)));
    assert_eq!(names(store.as_ref(), "日本語の検索")[0], "日本語の検索");
    assert_eq!(names(&*open(place), "draw the logo")[0], "draw_logo");
}

pub(crate) fn the_last_of_two_puts_counts(place: &dyn StoreLocation) {
    let store = open(place);
    let put = |name: &str| {
        StoreChange::Put(source("app", "a.rs", vec![unit("function", name, "", "body")]))
    };
    write(store.as_ref(), vec![put("first"), put("second"), put("third")]);
    assert_eq!(names(store.as_ref(), "first second third body"), ["third"]);
    let status = store.status().unwrap();
    assert_eq!((status.units, status.sources), (1, 1));
    write(store.as_ref(), vec![put("fourth"), remove("app", "a.rs")]);
    assert_eq!(store.status().unwrap().units, 0);
    assert_eq!(store.digests("app").unwrap().len(), 0);
}

/// Two dimensions: letters of the first and of the second half of the alphabet.
#[derive(Debug)]
struct LetterEmbedder(ModelIdentity);

impl LetterEmbedder {
    fn vector(text: &str) -> Vector {
        let (mut early, mut late) = (0.0, 0.0);
        for letter in text.chars().filter(char::is_ascii_alphabetic) {
            *(if letter.to_ascii_lowercase() < 'n' { &mut early } else { &mut late }) += 1.0;
        }
        Vector::new(&[early, late])
    }
}

impl Embedder for LetterEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.0
    }

    fn documents(&self, documents: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError> {
        Ok(documents.iter().map(|document| Self::vector(&document.unit.name)).collect())
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        Ok(Self::vector(text))
    }
}

pub(crate) fn another_model_recomputes_vectors(place: &dyn StoreLocation) {
    drop(filled_store(place));
    let letters =
        Arc::new(LetterEmbedder(ModelIdentity { model: "letters".into(), dimensions: 2 }));
    let store = place.open(Arc::clone(&letters) as Arc<dyn Embedder>);
    let before = search(store.as_ref(), letters.as_ref(), &IndexQuery::new("abc")).unwrap();
    assert!(before.notes[0].starts_with("Searched by words only"), "{:?}", before.notes);
    let repairs = store.repair().unwrap();
    assert_eq!(repairs.reembedded, Some(EmbeddingTable::built_in().identity().clone()));
    assert_eq!(repairs.rebuilt, None);
    assert_eq!(store.status().unwrap().identity.model, "letters");
    assert_eq!(store.status().unwrap().units, 6);
    let found = search(store.as_ref(), letters.as_ref(), &IndexQuery::new("abc")).unwrap();
    assert_eq!(found.notes, Vec::<String>::new());
    let nearest = found.hits.iter().max_by(|a, b| a.parts.meaning.total_cmp(&b.parts.meaning));
    assert_eq!(nearest.unwrap().found.unit.name, "validate_token");
    assert_eq!(store.repair().unwrap(), docent_index::StoreRepairs::default());
    drop(store);
    // And back, with only a write.
    let store = open(place);
    write(store.as_ref(), vec![remove("lib", "src/parse.rs")]);
    assert_eq!(store.status().unwrap().identity, *EmbeddingTable::built_in().identity());
    assert_eq!(names(store.as_ref(), "authenticate a user")[0], "login_user");
}

pub(crate) fn a_model_that_is_away_leaves_words(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let fragile = FailingEmbedder(EmbeddingTable::built_in());
    let answer = search(store.as_ref(), &fragile, &IndexQuery::new("draw the logo")).unwrap();
    assert_eq!(answer.hits[0].found.unit.name, "draw_logo");
    assert!(answer.notes[0].contains("it is a test"), "{:?}", answer.notes);
}

pub(crate) fn a_word_is_as_rare_as_in_its_collection(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let ask = || {
        let filter = UnitFilter { collections: vec!["app".into()], ..UnitFilter::default() };
        let query = IndexQuery { filter, ..IndexQuery::new("user token") };
        let answer = search(store.as_ref(), EmbeddingTable::built_in().as_ref(), &query).unwrap();
        let pair =
            |hit: &docent_index::IndexHit| (hit.found.unit.id.clone(), hit.parts.words.to_bits());
        answer.hits.iter().map(pair).collect::<Vec<_>>()
    };
    let before = ask();
    assert!(!before.is_empty());
    let page = |n: u32| unit("section", &format!("Page {n}"), "", "token token of the manual");
    let manual = source("manual", "page.md", (0..200).map(page).collect());
    write(store.as_ref(), vec![StoreChange::Put(manual)]);
    assert_eq!(ask(), before, "another collection changed what is rare in this one");
}

pub(crate) fn sources_are_listed_with_their_kinds(place: &dyn StoreLocation) {
    let store = filled_store(place);
    write(store.as_ref(), vec![remove("app", "src/retry.rs")]);
    let mut summary: Vec<(String, u32)> = store
        .view()
        .unwrap()
        .sources("app")
        .unwrap()
        .into_iter()
        .map(|one| (one.path, one.kinds.values().sum()))
        .collect();
    summary.sort();
    let units: u32 = summary.iter().map(|(_, units)| units).sum();
    assert_eq!(
        summary.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["src/draw/logo.rs", "src/login.rs"]
    );
    let others = store.view().unwrap().sources("lib").unwrap();
    let elsewhere: u32 = others.iter().flat_map(|one| one.kinds.values()).sum();
    assert_eq!(u64::from(units + elsewhere), store.status().unwrap().units);
    assert!(store.view().unwrap().sources("none").unwrap().is_empty());
}

pub(crate) fn a_name_is_found_exactly(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let view = store.view().unwrap();
    let found = units_named(view.as_ref(), "login_user", &UnitFilter::default(), 50).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].path.as_str(), found[0].unit.name.as_str()),
        ("src/login.rs", "login_user")
    );
    assert!(units_named(view.as_ref(), "login", &UnitFilter::default(), 50).unwrap().is_empty());
}

pub(crate) fn terms_are_found_with_similar_ones(place: &dyn StoreLocation) {
    let store = filled_store(place);
    let page = unit("section", "Painting", "", "How a canvas is painted.");
    let page = IndexedSource { genre: Genre::Prose, ..source("manual", "a.md", vec![page]) };
    write(store.as_ref(), vec![StoreChange::Put(page)]);
    let view = store.view().unwrap();
    let of = |names: &[&str]| {
        let collections = names.iter().map(|&name| name.to_owned()).collect();
        UnitFilter { collections, ..UnitFilter::default() }
    };
    let cases: &[(&str, Option<Genre>, &[&str], bool)] = &[
        ("canva", None, &[], true),
        ("canva", Some(Genre::Prose), &["app", "manual"], true),
        ("canva", Some(Genre::Prose), &["app"], false),
        ("logo", None, &["manual"], false),
        ("logo", None, &["app"], true),
        ("zebra", None, &[], false),
        ("", None, &[], false),
    ];
    for (term, genre, collections, want) in cases {
        assert_eq!(view.has(term, *genre, &of(collections)).unwrap(), *want, "{term}");
    }
    assert!(
        view.has_genre(Genre::Prose, &of(&[])) && view.has_genre(Genre::Prose, &of(&["manual"]))
    );
    assert!(!view.has_genre(Genre::Prose, &of(&["app"])));
    let near = |term, distance, same_first, most| {
        let near = NearbyTerms { term, distance, same_first, most };
        let mut near = view.vocabulary(&near).unwrap();
        near.sort();
        near
    };
    assert_eq!(near("cavna", 1, true, 10), [("canva".to_owned(), 3)]);
    assert_eq!(near("ganva", 1, false, 10), [("canva".to_owned(), 3)]);
    assert_eq!(near("ganva", 1, true, 10), []);
    assert_eq!(near("cavna", 0, true, 10), []);
    assert_eq!(near("", 0, true, 10), []);
    assert_eq!(near("src", 2, false, 1).len(), 1);
    write(store.as_ref(), vec![remove("manual", "a.md")]);
    assert!(!store.view().unwrap().has("paint", Some(Genre::Prose), &of(&[])).unwrap());
}
