//! `check_documentation`: findings in order, with fixes.

use super::*;
use crate::repo::findings::{Check, Findings};

async fn check(root: &TempDir, checks: &[Check], format: Format) -> ToolAnswer<Findings> {
    let roots = ServedRoots::open(&[root.path().to_owned()]).unwrap();
    let args = CheckArgs { path: ".".into(), checks: checks.to_vec(), format };
    CheckDocumentation { roots }.call(args, &no_client()).await.unwrap()
}

fn text(answer: &ToolAnswer<Findings>) -> &str {
    match answer.content.as_slice() {
        [AnswerBlock::Text { text, .. }] => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_check_has_its_findings() {
    let root = library();
    let answer = check(&root, &[], Format::Text).await;
    let found = &answer.structured;
    assert_eq!(found.checks, [Check::Links, Check::Coverage, Check::Drift, Check::Readme]);
    let rules: Vec<_> =
        found.findings.iter().map(|one| (one.rule.as_str(), one.file.as_str(), one.line)).collect();
    for want in [
        ("links/missing-file", "README.md", Some(13)),
        ("links/missing-anchor", "README.md", Some(13)),
        ("coverage/undocumented", "src/lib.rs", Some(6)),
        ("readme/installation", "README.md", None),
        ("drift/file", "README.md", Some(11)),
    ] {
        assert!(rules.contains(&want), "{want:?} is not in {rules:?}");
    }
    assert!(found.findings.is_sorted_by_key(|one| one.severity));
    assert!(found.findings.iter().all(|one| !one.message.is_empty() && !one.fix.is_empty()));
    assert_eq!(found.finding_count, found.findings.len() as u64);
    let output = text(&answer);
    assert!(
        output.contains("README.md:13: medium: The link `docs/gone.md#x` points to a file"),
        "{output}"
    );
}

#[tokio::test]
async fn only_the_checks_that_were_asked_for_are_made() {
    let root = library();
    let cases = [(Check::Links, "links/", 2), (Check::Coverage, "coverage/", 2)];
    for (asked, start, count) in cases {
        let found = check(&root, &[asked, asked], Format::Text).await.structured;
        assert_eq!(found.checks, [asked]);
        assert_eq!(found.findings.len(), count, "{found:?}");
        assert!(found.findings.iter().all(|one| one.check == asked && one.rule.starts_with(start)));
    }
}

#[tokio::test]
async fn a_project_without_a_readme_is_one_finding() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a.py", "x = 1\n");
    let answer = check(&root, &[Check::Readme], Format::Text).await;
    assert_eq!(answer.structured.findings[0].rule, "readme/missing");
    let none = check(&root, &[Check::Links], Format::Text).await;
    assert_eq!((none.structured.finding_count, text(&none)), (0, "No findings.\n"));
}

#[tokio::test]
async fn programs_read_the_text_as_they_like() {
    let root = library();
    let json = check(&root, &[Check::Links], Format::Json).await;
    assert_eq!(serde_json::from_str::<Findings>(text(&json)).unwrap(), json.structured);
    let sarif = check(&root, &[Check::Links], Format::Sarif).await;
    let log: Value = serde_json::from_str(text(&sarif)).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 2);
}
