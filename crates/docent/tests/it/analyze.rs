//! `docent analyze`: every format, both exit codes, and what is said to those who use it wrongly.

use crate::TestHome;
use serde_json::Value;
use std::fs;

fn project() -> TestHome {
    let place = TestHome::new();
    fs::create_dir(place.project().join("src")).unwrap();
    place
        .write("README.md", "# Sample\n\nTells <b>samples</b> apart.\n\n[gone](docs/gone.md)\n")
        .write("package.json", r#"{"name": "sample", "scripts": {"test": "node --test"}}"#)
        .write("src/<script>alert(1)<.js", "/** Tells. */\nexport function tell() {}\n");
    place
}

/// Standard output of a run that ended with this code.
#[track_caller]
fn out(place: &TestHome, arguments: &[&str], code: i32) -> String {
    let ran = place.run(&[&["analyze"], arguments].concat());
    assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
    ran.out
}

/// Standard error of a run that ended with this code and printed nothing else.
#[track_caller]
fn error(place: &TestHome, arguments: &[&str], code: i32) -> String {
    let ran = place.run(&[&["analyze"], arguments].concat());
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{arguments:?}");
    ran.err
}

#[test]
fn a_report_is_printed_in_every_format() {
    let place = project();
    let text = out(&place, &[], 0);
    assert!(text.starts_with("# Repository ") && text.contains("npm test"), "{text}");
    let json: Value = serde_json::from_str(&out(&place, &["--json"], 0)).unwrap();
    assert_eq!(json["structure"]["files"], 3);
    assert_eq!(
        json,
        serde_json::from_str::<Value>(&out(&place, &["--format", "json"], 0)).unwrap()
    );
    let deep = out(&place, &["--depth", "deep", "--format", "markdown"], 0);
    assert!(deep.starts_with("# ") && deep.contains("docs/gone.md"), "{deep}");
    let page = out(&place, &[".", "--depth", "deep", "--format", "html"], 0);
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("<script>alert"), "names are text, not markup");
    let loads = ["src=\"http", "href=\"http", "url(http", "@import"];
    assert!(loads.iter().all(|load| !page.contains(load)), "the page asks other hosts");
    assert!(!place.project().join(".docent").exists(), "a look leaves nothing behind");
}

#[test]
fn a_file_takes_the_result() {
    let place = project();
    let said = out(&place, &["--format", "html", "--output", "report.html"], 0);
    assert_eq!(said, "wrote report.html\n");
    assert!(fs::read_to_string(place.project().join("report.html")).unwrap().contains("</html>"));
}

#[test]
fn findings_fail_the_run() {
    let place = project();
    let said = out(&place, &["--check", "--checks", "links"], 1);
    assert!(
        said.starts_with("README.md:5: medium: The link `docs/gone.md` points to a file"),
        "{said}"
    );
    assert!(said.ends_with("1 finding.\n"), "{said}");
    let sarif: Value = serde_json::from_str(&out(
        &place,
        &["--check", "--checks", "links", "--format", "sarif"],
        1,
    ))
    .unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "links/missing-file");
    let json: Value = serde_json::from_str(&out(&place, &["--check", "--json"], 1)).unwrap();
    assert!(json["findingCount"].as_u64().unwrap() > 1, "{json}");
    fs::create_dir(place.project().join("docs")).unwrap();
    fs::write(place.project().join("docs/gone.md"), "# Back\n").unwrap();
    assert_eq!(out(&place, &["--check", "--checks", "links"], 0), "No findings.\n");
}

#[test]
fn usage_errors_differ_from_failures() {
    let place = project();
    assert!(error(&place, &["--format", "sarif"], 2).contains("requires --check"));
    assert!(error(&place, &["--check", "--format", "html"], 2).contains("omit --check"));
    assert!(error(&place, &["--depth", "bottomless"], 2).contains("quick"));
    assert!(error(&place, &["--checks", "links"], 2).contains("--check"));
    let missing = error(&place, &["no/such/place"], 1);
    assert!(
        missing.contains("no/such/place") && missing.contains("name a folder that exists"),
        "{missing}"
    );
    let file = error(&place, &["README.md"], 1);
    assert!(file.contains("not a directory"), "{file}");
}
