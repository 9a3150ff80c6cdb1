//! The graph of files: cycles, dependents, what is needed most, folders.

use super::*;

/// `a: b, c +d` as a graph, `+` for what is declared, `!` for a package.
fn graph(text: &str) -> (DependencyGraph, Vec<(String, Vec<Import>)>) {
    let import = |name: &str| {
        let declares = name.starts_with('+');
        let package = name.strip_prefix('!').map(|name| External {
            name: name.to_owned(),
            version: None,
            standard: false,
        });
        let file = package.is_none().then(|| name.trim_start_matches('+').to_owned());
        Import {
            module: name.to_owned(),
            names: Vec::new(),
            line: 1,
            local: file.is_some(),
            file,
            files: Vec::new(),
            package,
            type_only: false,
            declares,
        }
    };
    let read = |line: &str| {
        let (file, needs) = line.split_once(':').unwrap();
        (file.trim().to_owned(), needs.split_whitespace().map(import).collect())
    };
    let files: Vec<(String, Vec<Import>)> =
        text.lines().filter(|line| line.contains(':')).map(read).collect();
    let graph = DependencyGraph::new(
        files.iter().map(|(path, imports)| (path.as_str(), imports.as_slice())),
    );
    (graph, files)
}

fn cycles(text: &str) -> Vec<String> {
    let (graph, _) = graph(text);
    graph.cycles().iter().map(|one| format!("{} ({})", one.path.join(" "), one.size)).collect()
}

#[test]
fn circles_are_found_with_a_shortest_way_round() {
    assert!(cycles("a: b c\nb: c\nc:").is_empty());
    assert_eq!(cycles("a: b\nb: a"), ["a b a (2)"]);
    assert_eq!(cycles("a: b\nb: c\nc: d a\nd: c\nx: y\ny: x a"), ["c d c (4)", "x y x (2)"]);
    assert_eq!(cycles("a: b\nb: c\nc: d\nd: e b\ne: a"), ["b c d b (5)"]);
    assert!(cycles("a: a").is_empty(), "a file does not need itself");
    assert!(cycles("a: +b\nb: a").is_empty(), "a part may need its whole");
    assert_eq!(cycles("a: +b b\nb: a"), ["a b a (2)"]);
}

#[test]
fn circles_through_a_file_go_through_it() {
    let (graph, _) = graph("a: b\nb: c\nc: d a\nd: c\nz: a");
    assert_eq!(graph.cycle_through("a").unwrap().path, ["a", "b", "c", "a"]);
    assert_eq!(graph.cycle_through("d").unwrap().path, ["d", "c", "d"]);
    assert_eq!(graph.cycle_through("z"), None);
    assert_eq!(graph.cycle_through("none"), None);
    assert_eq!(graph.entangled("a"), ["b", "c", "d"]);
}

#[test]
fn long_chains_do_not_overflow() {
    let line = |at: usize| format!("f{at:06}: f{:06}\n", (at + 1) % 30_000);
    let text: String = (0..30_000).map(line).collect();
    let found = graph(&text).0.cycles();
    assert_eq!((found.len(), found[0].size, found[0].path.len()), (1, 30_000, 30_001));
}

#[test]
fn a_file_has_its_dependents() {
    let (graph, mut files) = graph("a: b c !p\nb: c\nc: a");
    assert_eq!(graph.needs("a"), ["b", "c"]);
    let summary = of_file(&graph, "c", files.remove(2).1);
    assert_eq!(summary.dependents, ["a", "b"]);
    assert_eq!(summary.cycle.unwrap().path, ["c", "a", "c"]);
    let most = graph.most_needed(1);
    assert_eq!((most[0].file.as_str(), most[0].dependents), ("c", 2));
    let edges: Vec<String> = graph.edges().map(|one| format!("{}>{}", one.from, one.to)).collect();
    assert_eq!(edges, ["a>b", "a>c", "b>c", "c>a"]);
}

#[test]
fn a_folder_has_its_parts_and_neighbors() {
    let text = "src/a/one: src/b/two src/a/three lib/x !p !q
src/a/three: !p
src/b/two: src/a/one src/top
src/top: other
app/deep/main: src/a/one src/a/three
srcs/near: src/top";
    let summary = of_folder(&graph(text).0, "src");
    assert_eq!((summary.files, summary.edges), (4, 4));
    let parts: Vec<String> =
        summary.parts.iter().map(|one| format!("{}>{} {}", one.from, one.to, one.edges)).collect();
    assert_eq!(parts, ["src/a>src/b 1", "src/b>src 1", "src/b>src/a 1"]);
    let sides = |all: &[Neighbour]| -> Vec<String> {
        all.iter().map(|one| format!("{} {}", one.path, one.edges)).collect()
    };
    assert_eq!(sides(&summary.incoming), ["app 2", "srcs 1"]);
    assert_eq!(sides(&summary.outgoing), ["lib 1", "other 1"]);
    let packages: Vec<(&str, usize)> =
        summary.packages.iter().map(|one| (one.package.name.as_str(), one.files)).collect();
    assert_eq!(packages, [("p", 2), ("q", 1)]);
    assert_eq!(summary.cycles[0].path, ["src/a/one", "src/b/two", "src/a/one"]);
    assert_eq!(summary.part_cycles[0].path, ["src/a", "src/b", "src/a"]);
    assert_eq!(summary.most_needed[0].file, "src/a/one");
    let inner = of_folder(&graph(text).0, "src/a");
    assert_eq!(sides(&inner.incoming), ["app 2", "src/b 1"]);
    assert!(inner.cycles.is_empty(), "the circle leaves this folder");
    let spanning = "p/a: p/b q/x\np/b: p/c\np/c: p/a\nq/x: p/a";
    let summary = of_folder(&graph(spanning).0, "p");
    assert_eq!(
        summary.cycles[0].path,
        ["p/a", "p/b", "p/c", "p/a"],
        "a shorter one leaves the folder"
    );
    assert_eq!(summary.cycles[0].size, 3);
    let whole = of_folder(&graph(text).0, "");
    assert_eq!((whole.files, whole.incoming.len()), (8, 0));
}
