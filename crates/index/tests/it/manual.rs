//! Queries on a manual: names in headings, misspelled words, synonyms, several sources.

use crate::project::{open, source, unit, write};
use docent_index::{
    EmbeddedStore, Genre, IndexQuery, IndexSearchResults, IndexUnit, IndexedSource, StoreChange,
    Synonyms, UnitFilter, embed::EmbeddingTable, search,
};
use std::sync::Arc;
use tempfile::TempDir;

fn section(title: &str, headings: &str, body: &str) -> IndexUnit {
    let id = format!("{headings}:{}", body.len());
    let (name, signature) = (title.into(), headings.into());
    IndexUnit { id, name, signature, ..unit("section", title, "", body) }
}

fn page(collection: &str, path: &str, units: Vec<IndexUnit>) -> StoreChange {
    StoreChange::Put(IndexedSource { genre: Genre::Prose, ..source(collection, path, units) })
}

fn manual(pages: Vec<StoreChange>) -> (TempDir, EmbeddedStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    write(&store, pages);
    (folder, store)
}

fn ask(store: &EmbeddedStore, query: &IndexQuery) -> IndexSearchResults {
    let answer = search(store, EmbeddingTable::built_in().as_ref(), query).unwrap();
    let falling = answer.hits.windows(2).all(|two| two[0].similarity >= two[1].similarity);
    assert!(falling, "{}: similarities rise down the list", query.text);
    answer
}

fn headings(answer: &IndexSearchResults) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.found.unit.signature.as_str()).collect()
}

/// Names to search for, each with its own heading, among pages that mention them far more often.
const NAMES: &[&str] = &[
    "max_connections",
    "--no-verify",
    "--verify",
    "-Wall",
    "-w",
    "-W",
    "--all",
    "E0308",
    "42P01",
    "ORA-00001",
    "ERR_MODULE_NOT_FOUND",
    "pg_stat_activity",
    "os.path.join",
    "std::vec::Vec",
    "@decorator",
    "CVE-2024-1234",
];

fn reference() -> Vec<StoreChange> {
    let own = |name: &&str| section("Reference", &format!("Reference > {name}"), "See there.");
    let mut pages = vec![page("manual", "reference.html", NAMES.iter().map(own).collect())];
    let said = NAMES.join(" ").repeat(8);
    for n in 0..300 {
        let body = format!("How to configure and verify {said} all path join vec wall decorator.");
        let title = format!("Guide {n} to verify connections, walls, all paths and decorators");
        let heading = format!("{title} > Configure max connections, verify, join path, vec {n}");
        pages.push(page(
            "manual",
            &format!("guide{n}.html"),
            vec![section(&title, &heading, &body)],
        ));
    }
    pages
}

#[test]
fn a_heading_that_is_the_name_is_always_first() {
    let (_folder, store) = manual(reference());
    for name in NAMES {
        for text in [
            (*name).to_owned(),
            format!("How do I configure {name}?"),
            format!("verify and configure all connections, walls and paths with {name}, please"),
        ] {
            let answer = ask(&store, &IndexQuery { threshold: 0.5, ..IndexQuery::new(&text) });
            let found = headings(&answer);
            let want = format!("Reference > {name}");
            assert_eq!(found.first().copied(), Some(want.as_str()), "{text}: {found:?}");
        }
    }
}

#[test]
fn more_of_the_names_come_first_and_the_nearer_heading_before_the_longer() {
    let (_folder, store) = manual(vec![
        page(
            "manual",
            "a.html",
            vec![
                section("Settings", "Settings > work_mem", "Memory of a sort."),
                section(
                    "Settings",
                    "Settings > Notes on work_mem and other things one may set",
                    "work_mem work_mem",
                ),
                section(
                    "Settings",
                    "Settings > max_connections and work_mem",
                    "How both go together.",
                ),
            ],
        ),
        page(
            "manual",
            "b.html",
            vec![section(
                "Memory",
                "Memory > Sorting",
                "work_mem is memory for sorts. max_connections is not.",
            )],
        ),
    ]);
    let both = ask(&store, &IndexQuery::new("work_mem with max_connections"));
    assert_eq!(headings(&both)[0], "Settings > max_connections and work_mem");
    assert_eq!(headings(&both).last(), Some(&"Memory > Sorting"));
    let one = ask(&store, &IndexQuery::new("work_mem"));
    assert_eq!(headings(&one)[0], "Settings > work_mem");
    assert_eq!(headings(&one).last(), Some(&"Memory > Sorting"));
}

fn spelling() -> Vec<StoreChange> {
    let code = unit("function", "replicatr", "", "fn replicatr() { zebra() }");
    vec![
        page(
            "manual",
            "a.html",
            vec![
                section("Pool", "Pool > Connections", "The number of connections is bounded."),
                section("Pool", "Pool > Tables", "A label on a table of labels."),
                section("Copies", "Copies > Replication", "Replication sends changes to replicas."),
            ],
        ),
        page("manual", "l.html", vec![section("Lights", "Lights > In the lane", "A lamp.")]),
        page("other", "b.html", vec![section("Birds", "Birds > Penguins", "Penguins and zebras.")]),
        StoreChange::Put(source("code", "a.rs", vec![code])),
    ]
}

#[test]
fn a_misspelt_word_is_searched_for_as_it_was_meant() {
    let (_folder, store) = manual(spelling());
    let cases = [
        (
            "bounded conections",
            "manual",
            "Pool > Connections",
            &["No match for \"conections\"; searched for \"connections\" instead."][..],
        ),
        (
            "how does replicaton work?",
            "manual",
            "Copies > Replication",
            &["No match for \"replicaton\"; searched for \"replication\" instead."],
        ),
        (
            "a tabel",
            "manual",
            "Pool > Tables",
            &["No match for \"tabel\"; searched for \"table\" instead."],
        ),
        (
            "lame",
            "manual",
            "Lights > In the lane",
            &["No match for \"lame\"; searched for \"lamp\" and \"lane\" instead."],
        ),
        // It has holders, if few.
        ("labels", "manual", "Pool > Tables", &[]),
        // Only another collection has what is near.
        ("connections of pengiuns", "manual", "Pool > Connections", &[]),
        // Only code has what is near.
        ("replicatrs", "code", "fn replicatr()", &[]),
        // Too short to be sure.
        ("connections of tbl", "manual", "Pool > Connections", &[]),
    ];
    for (text, collection, first, notes) in cases {
        let filter = UnitFilter { collections: vec![collection.into()], ..UnitFilter::default() };
        let answer = ask(&store, &IndexQuery { filter, ..IndexQuery::new(text) });
        assert_eq!(headings(&answer)[0], first, "{text}");
        assert_eq!(answer.notes, notes, "{text}");
    }
    ask(&store, &IndexQuery::new("xqzjk ".repeat(3_000)));
    ask(&store, &IndexQuery::new("é".repeat(3_000)));
}

#[test]
fn a_synonym_counts_a_little_less_than_the_word() {
    let filler = (0..40).map(|n| section("Notes", &format!("Notes > Note {n}"), "Something else."));
    let (_folder, store) = manual(vec![
        page(
            "manual",
            "k.html",
            vec![section("Clusters", "Clusters > Upgrades", "Kubernetes is brought up to date.")],
        ),
        page(
            "manual",
            "v.html",
            vec![section("Upkeep", "Upkeep > Cleaning", "The vacuum daemon runs at night.")],
        ),
        page(
            "manual",
            "w.html",
            vec![section("Other", "Other > Apart", "A daemon. Later we vacuum.")],
        ),
        page("manual", "n.html", filler.collect()),
    ]);
    let groups = [["k8s", "Kubernetes"], ["autovacuum", "vacuum daemon"]];
    let groups: Vec<Vec<String>> =
        groups.iter().map(|group| group.iter().map(|&word| word.to_owned()).collect()).collect();
    let synonyms = Arc::new(Synonyms::parse(&groups).unwrap());
    for (text, want) in [("k8s", "Clusters > Upgrades"), ("autovacuum", "Upkeep > Cleaning")] {
        let with =
            ask(&store, &IndexQuery { synonyms: Arc::clone(&synonyms), ..IndexQuery::new(text) });
        let hit = &with.hits[0];
        assert_eq!(hit.found.unit.signature, want, "{text}");
        assert!((0.5..1.0).contains(&hit.parts.words), "{text}: {:?}", hit.parts);
        assert_eq!(hit.matched.len(), 1, "{text}: {:?}", hit.matched);
        assert_eq!(with.notes, Vec::<String>::new(), "{text}");
        let without = ask(&store, &IndexQuery::new(text));
        assert!(without.hits.iter().all(|hit| hit.parts.words == 0.0), "{text}");
    }
    let plain = ask(&store, &IndexQuery::new("vacuum daemon"));
    let with = ask(&store, &IndexQuery { synonyms, ..IndexQuery::new("vacuum daemon") });
    assert_eq!(headings(&plain)[0], headings(&with)[0]);
}

#[test]
fn one_source_does_not_fill_the_answer() {
    let many = (0..8)
        .map(|n| section("Locks", &format!("Locks > Lock {n}"), &"Locks are held. ".repeat(n + 1)));
    let few = |n: usize| {
        let unit =
            section(&format!("Page {n}"), &format!("Page {n} > Of locks"), "A lock is held, too.");
        page("manual", &format!("page{n}.html"), vec![unit])
    };
    let mut pages = vec![page("manual", "locks.html", many.collect())];
    pages.extend((0..3).map(few));
    let (_folder, store) = manual(pages);
    let paths = |per_source, limit, offset| -> Vec<String> {
        let query =
            IndexQuery { per_source, limit, offset, ..IndexQuery::new("how are locks held") };
        ask(&store, &query).hits.into_iter().map(|hit| hit.found.path).collect()
    };
    let of_one = |paths: &[String]| paths.iter().filter(|path| *path == "locks.html").count();
    assert_eq!(of_one(&paths(None, 5, 0)), 5, "{:?}", paths(None, 5, 0));
    assert_eq!(of_one(&paths(Some(2), 5, 0)), 2);
    assert_eq!(of_one(&paths(Some(1), 4, 0)), 1);
    // Where the others are all there, the rest follow; and pages follow each other.
    let all = paths(Some(2), 20, 0);
    assert_eq!((all.len(), of_one(&all), of_one(&all[5..])), (11, 8, 6));
    let by_pages: Vec<String> = (0..11).flat_map(|n| paths(Some(2), 1, n)).collect();
    assert_eq!(by_pages, all);
    assert_eq!(paths(Some(0), 20, 0).len(), 11);
}

#[test]
fn a_list_of_headings_does_not_outrank_what_it_lists() {
    let list = "- Recovery targets\n- Recovery target time\n- Recovery target name\n- Recovery target action";
    let (_folder, store) = manual(vec![page(
        "manual",
        "wal.html",
        vec![
            section("Archiving", "Archiving", list),
            section("Archiving", "Archiving > Recovery targets", "It stops there."),
            section("Archiving", "Archiving > Archive command", "The command copies a segment."),
        ],
    )]);
    let answer = ask(&store, &IndexQuery::new("archiving recovery targets"));
    assert_eq!(headings(&answer)[..2], ["Archiving > Recovery targets", "Archiving"]);
}
