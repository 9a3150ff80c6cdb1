use super::*;

fn finding(rule: &str, file: &str, line: Option<u64>, message: &str) -> Finding {
    Finding {
        rule: rule.into(),
        check: Check::Links,
        file: file.into(),
        line,
        severity: Severity::Medium,
        message: message.into(),
        fix: "Mend it".into(),
    }
}

fn sample() -> Findings {
    Findings {
        path: "site".into(),
        checks: vec![Check::Links, Check::Readme],
        findings: vec![
            Finding {
                severity: Severity::High,
                ..finding("links/missing-file", "docs/a b/é#1.md", Some(12), "`x.md` is not there")
            },
            finding("links/missing-anchor", "docs/a.md", Some(4), "no heading {n} in [a](b.md)"),
            Finding {
                check: Check::Readme,
                severity: Severity::Low,
                ..finding("readme/help", "README.md", None, "It does not say where to ask.")
            },
            Finding {
                check: Check::Drift,
                ..finding("drift/new-rule", "c:d.md", Some(0), "strange")
            },
        ],
        finding_count: 1004,
        missing: vec!["drift".into()],
        problems: vec![Trouble { path: "docs/bad.md".into(), reason: "is not UTF-8".into() }],
        problem_count: 3,
    }
}

#[test]
fn results_name_rule_place_and_fix() {
    let log = sarif(&sample());
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(
        (&driver["name"], &driver["version"]),
        (&json!("docent"), &json!(env!("CARGO_PKG_VERSION")))
    );
    let want = [
        (
            "links/missing-file",
            "error",
            "`x.md` is not there. Mend it.",
            "docs/a%20b/%C3%A9%231.md",
            json!({ "startLine": 12 }),
        ),
        (
            "links/missing-anchor",
            "warning",
            "no heading {{n}} in \\[a\\](b.md). Mend it.",
            "docs/a.md",
            json!({ "startLine": 4 }),
        ),
        ("readme/help", "note", "It does not say where to ask. Mend it.", "README.md", Value::Null),
        ("drift/new-rule", "warning", "strange. Mend it.", "c%3Ad.md", Value::Null),
    ];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), want.len());
    for (result, (rule, level, message, uri, region)) in results.iter().zip(want) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(result["ruleId"], rule);
        assert_eq!(driver["rules"][index]["id"], rule);
        assert_eq!(result["level"], level, "{rule}");
        assert_eq!(result["message"]["text"], message, "{rule}");
        assert_eq!(
            place["artifactLocation"],
            json!({ "uri": uri, "uriBaseId": "SRCROOT" }),
            "{rule}"
        );
        assert_eq!(place["region"], region, "{rule}");
    }
}

#[test]
fn rules_of_every_check_that_ran_are_described() {
    let log = sarif(&sample());
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: Vec<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(ids.iter().filter(|id| id.starts_with("links/")).count(), 5);
    assert_eq!(ids.iter().filter(|id| id.starts_with("readme/")).count(), 14);
    assert!(!ids.contains(&"coverage/undocumented"), "{ids:?}");
    for rule in rules {
        for part in ["shortDescription", "fullDescription", "help"] {
            assert!(rule[part]["text"].as_str().unwrap().ends_with('.'), "{rule}");
        }
        assert!(rule["defaultConfiguration"]["level"].is_string(), "{rule}");
    }
    assert_eq!(rules[0]["name"], "DriftCommand");
}

#[test]
fn omissions_are_reported() {
    let log = sarif(&sample());
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let listed: Vec<(&str, &str)> = invocation["toolExecutionNotifications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (one["descriptor"]["id"].as_str().unwrap(), one["message"]["text"].as_str().unwrap())
        })
        .collect();
    let want = [
        ("docent/unreadable", "docs/bad.md is not UTF-8."),
        ("docent/unreadable", "2 more items could not be read."),
        ("docent/stopped", "The call was stopped before this was done: drift."),
        (
            "docent/left-out",
            "1000 more findings are not in this log; fix these first, then check again.",
        ),
    ];
    assert_eq!(listed, want);
    let quiet = sarif(&Findings::default());
    assert_eq!(quiet["runs"][0]["results"], json!([]));
    assert_eq!(
        quiet["runs"][0]["invocations"],
        json!([{ "executionSuccessful": true, "toolExecutionNotifications": [] }])
    );
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let base = finding(
        "links/missing-file",
        "a.md",
        Some(3),
        "`x.md` named at b.md:12 and line 7 is not there",
    );
    let moved = Finding {
        line: Some(90),
        message: "`x.md` named at b.md:340 and line 99 is not there".into(),
        ..base.clone()
    };
    let of = |finding: &Finding| Fingerprints::default().of(finding);
    assert_eq!(of(&base), "0e6d2cb760ba6b76:1");
    assert_eq!(of(&base), of(&moved));
    let others = [
        Finding { rule: "links/outside".into(), ..base.clone() },
        Finding { file: "b.md".into(), ..base.clone() },
        Finding { message: "`y.md` is not there".into(), ..base.clone() },
    ];
    for other in &others {
        assert_ne!(of(&base), of(other), "{other:?}");
    }
    let mut fingerprints = Fingerprints::default();
    let (one, two) = (fingerprints.of(&base), fingerprints.of(&base));
    assert!(one.ends_with(":1") && two.ends_with(":2"), "{one} {two}");
}
