use super::{read::RuleDraft, read::documents, set::files, *};
use crate::{language::Language, parse};
use std::collections::HashSet;

fn found_with(
    rules: &RuleSet,
    language: Language,
    analysis: RuleAnalysis,
    text: &str,
) -> Vec<RuleFinding> {
    let tree = parse::tree(language, text, &|| false).unwrap();
    check_with(rules, &AnalyzedSource { path: "f", language, text, tree: &tree }, analysis, &|| {
        false
    })
}

fn found(language: Language, analysis: RuleAnalysis, text: &str) -> Vec<RuleFinding> {
    found_with(RuleSet::built_in(), language, analysis, text)
}

/// Example texts of a rule.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleExamples {
    bad: Vec<String>,
    good: Vec<String>,
}

#[derive(serde::Deserialize)]
struct WithExamples {
    #[serde(default)]
    examples: RuleExamples,
}

fn drafts(language: Language) -> Vec<(RuleDraft, RuleExamples)> {
    let read = |(line, text): (usize, String)| {
        let draft = RuleDraft::read(&text);
        let draft = draft.unwrap_or_else(|error| panic!("{language:?}, line {line}: {error}"));
        let with: WithExamples = ast_grep_config::from_str(&text).unwrap();
        (draft, with.examples)
    };
    files(language).iter().flat_map(|text| documents(text)).map(read).collect()
}

/// Problems of a rule, by its own examples and required fields.
fn faults(language: Language, draft: &RuleDraft, examples: &RuleExamples) -> Vec<String> {
    let rule = match draft.compile(language) {
        Ok(rule) => rule.expect("a built-in rule is not off"),
        Err(error) => return vec![error.to_string()],
    };
    let about = &rule.about;
    let mut faults = Vec::new();
    let is_security = about.analysis == RuleAnalysis::Security;
    let has_cwe = about.cwe.as_deref().and_then(|cwe| cwe.strip_prefix("CWE-"));
    if has_cwe.is_none_or(|number| number.parse::<u16>().is_err()) && is_security {
        faults.push("no CWE".into());
    }
    if about.fix.is_empty() || about.category == "own" || rule.message == rule.id {
        faults.push("no fix, category or message".into());
    }
    if !rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        faults.push("id is not in kebab case".into());
    }
    if examples.bad.is_empty() || examples.good.is_empty() {
        faults.push("no bad or no good example".into());
    }
    for (texts, want) in [(&examples.bad, true), (&examples.good, false)] {
        for text in texts {
            let tree = parse::tree(language, text, &|| false).unwrap();
            if let Some(line) = parse::first_error(&tree) {
                faults.push(format!("syntax error in line {line} of {text:?}"));
            }
            let source = AnalyzedSource { path: "f", language, text, tree: &tree };
            if engine::search(&source, &[&rule], &|| false).is_empty() == want {
                let verb = if want { "misses" } else { "hits" };
                faults.push(format!("{verb} {text:?}"));
            }
        }
    }
    faults
}

#[test]
fn every_rule_does_what_its_examples_say() {
    let mut wrong = Vec::new();
    for language in Language::ALL.iter().copied() {
        let mut ids = HashSet::new();
        for (draft, examples) in drafts(language) {
            if !ids.insert(draft.id.clone()) {
                wrong.push(format!("{language:?} {}: twice", draft.id));
            }
            let faults = faults(language, &draft, &examples);
            wrong.extend(faults.iter().map(|fault| format!("{language:?} {}: {fault}", draft.id)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn an_invalid_rule_is_reported() {
    let document = "id: Bad_Id\nmessage: m\nseverity: error\nrule: {kind: call}\n";
    let examples = RuleExamples { bad: vec!["a".into()], good: vec!["a()".into(), "a(".into()] };
    let found = faults(Language::Python, &RuleDraft::read(document).unwrap(), &examples);
    let want = [
        "no CWE",
        "no fix, category or message",
        "id is not in kebab case",
        "misses \"a\"",
        "hits \"a()\"",
        "syntax error in line 1 of \"a(\"",
    ];
    assert_eq!(found, want);
    let none =
        faults(Language::Python, &RuleDraft::read(document).unwrap(), &RuleExamples::default());
    assert!(none.contains(&"no bad or no good example".to_owned()), "{none:?}");
}

#[test]
fn there_are_rules_for_every_language_that_is_promised() {
    let security = |language: Language| {
        let all = RuleSet::built_in().of(language);
        all.filter(|rule| rule.about.analysis == RuleAnalysis::Security).count()
    };
    let least = [
        (Language::Python, 45),
        (Language::JavaScript, 30),
        (Language::TypeScript, 30),
        (Language::Tsx, 30),
        (Language::Java, 18),
        (Language::Go, 15),
        (Language::Rust, 8),
        (Language::C, 18),
        (Language::Cpp, 18),
        (Language::Php, 14),
        (Language::Ruby, 12),
        (Language::CSharp, 12),
    ];
    for (language, least) in least {
        assert!(security(language) >= least, "{language:?} has {}", security(language));
    }
}

#[test]
fn every_field_of_a_finding() {
    let text = "\n\nAPI_KEY = 'sk-1234567890'\neval(\n  x)\nhashlib.md5(b)\n";
    let all = found(Language::Python, RuleAnalysis::Security, text);
    assert_eq!(
        all[0],
        RuleFinding {
            rule: "hard-coded-secret".into(),
            category: "secrets".into(),
            cwe: Some("CWE-798".into()),
            severity: RuleSeverity::High,
            confidence: Confidence::Medium,
            line: 3,
            end_line: 3,
            message: "hard-coded secret".into(),
            evidence: "API_KEY = '…'".into(),
            fix: "read it from the environment or a secret store, and rotate the exposed one"
                .into(),
        }
    );
    let order: Vec<_> = all.iter().map(|one| (one.rule.as_str(), one.line, one.end_line)).collect();
    assert_eq!(order, [("hard-coded-secret", 3, 3), ("eval", 4, 5), ("weak-hash", 6, 6)]);
    let value = serde_json::to_value(&all[1]).unwrap();
    assert_eq!((&value["endLine"], &value["cwe"]), (&5.into(), &"CWE-95".into()));
}

#[test]
fn a_secret_is_in_no_evidence() {
    let cases = [
        (
            Language::Python,
            RuleAnalysis::Security,
            "requests.get(u, verify=False, password='hunter2hunter2')",
        ),
        (Language::JavaScript, RuleAnalysis::Patterns, "var password = 'hunter2hunter2'"),
        (
            Language::JavaScript,
            RuleAnalysis::Security,
            "eval(login({ password: 'hunter2hunter2' }))",
        ),
    ];
    for (language, analysis, text) in cases {
        let all = found(language, analysis, text);
        assert!(!all.is_empty(), "{text}");
        for one in all {
            assert!(!one.evidence.contains("hunter2") && one.evidence.contains('…'), "{one:?}");
        }
    }
}

#[test]
fn names_are_matched_as_they_were_imported() {
    let rules = |language, text| -> Vec<String> {
        found(language, RuleAnalysis::Security, text).into_iter().map(|one| one.rule).collect()
    };
    assert_eq!(rules(Language::Python, "from hashlib import md5 as m\nm(b)"), ["weak-hash"]);
    assert!(rules(Language::Python, "from mine import md5 as m\nm(b)").is_empty());
    assert!(rules(Language::Python, "from os import system\nx.system(b)").is_empty());
    let script =
        "import * as c from 'node:child_process';\nc.exec(`ls ${a}`);\nd.exec(`ls ${a}`);\n";
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        assert_eq!(rules(language, script), ["shell-command-built"], "{language:?}");
    }
    let element = "const a = <div dangerouslySetInnerHTML={{ __html: text }} />;";
    assert_eq!(rules(Language::JavaScript, element), ["react-inner-html"]);
    assert_eq!(rules(Language::Tsx, element), ["react-inner-html"]);
}

fn own(text: &str) -> (RuleSet, Vec<RuleProblem>) {
    RuleSet::with(&[(".docent/rules/a.yml".into(), text.into())])
}

#[test]
fn a_project_adds_replaces_and_turns_off() {
    let (rules, problems) = own(
        "id: print\nlanguage: python\nseverity: info\nnote: log it\nrule:\n  pattern: print($$$)\n---\n\
        id: eval\nlanguage: Python\nmessage: not here\nseverity: warning\nmetadata: {analysis: security, cwe: CWE-95}\nrule:\n  pattern: eval($CODE)\n---\n\
        # nothing in this one\n---\nid: weak-hash\nseverity: off\n---\n\
        id: no-alert\nlanguage: javascript\nmetadata: {analysis: patterns}\nrule: {pattern: alert($MESSAGE)}\n",
    );
    assert_eq!(problems, []);
    let text = "print(a)\neval(b)\nexec(c)\nhashlib.md5(d)\nos.system(e)\n";
    let all = found_with(&rules, Language::Python, RuleAnalysis::Security, text);
    let seen: Vec<_> = all.iter().map(|one| (one.rule.as_str(), one.line, one.severity)).collect();
    let want = [
        ("os-system", 5, RuleSeverity::High),
        ("eval", 2, RuleSeverity::Medium),
        ("print", 1, RuleSeverity::Low),
    ];
    assert_eq!(seen, want);
    assert_eq!((all[1].message.as_str(), all[2].message.as_str()), ("not here", "print"));
    assert_eq!(
        (all[2].fix.as_str(), &all[2].cwe, all[2].category.as_str()),
        ("log it", &None, "own")
    );
    for language in [Language::JavaScript, Language::TypeScript, Language::Tsx] {
        let all = found_with(&rules, language, RuleAnalysis::Patterns, "alert(a)");
        assert_eq!(all.len(), 1, "{language:?}");
        assert!(
            found_with(&rules, language, RuleAnalysis::Security, "crypto.createHash('md5')")
                .is_empty()
        );
    }
    assert_eq!(found(Language::Python, RuleAnalysis::Security, text).len(), 4);
}

#[test]
fn patterns_of_a_project_work_in_every_language() {
    let cases = [
        (Language::Python, "f($A)", "f(1)"),
        (Language::JavaScript, "f($$$ARGS, 1)", "f(2, 1)"),
        (Language::Rust, "f($A)", "fn g() { f(1); }"),
        (Language::Go, "f($A)", "package p\nfunc g() { f(1) }"),
        (Language::Java, "f($A)", "class A { void g() { f(1); } }"),
        (Language::CSharp, "F($A)", "class A { void G() { F(1); } }"),
        (Language::Ruby, "f($A)", "f(1)"),
    ];
    for (language, pattern, text) in cases {
        let yaml = format!(
            "id: f\nlanguage: {}\nseverity: error\nrule: {{pattern: '{pattern}'}}\n",
            language.word()
        );
        let (rules, problems) = own(&yaml);
        assert_eq!(problems, [], "{language:?}");
        let all = found_with(&rules, language, RuleAnalysis::Security, text);
        assert_eq!(all.iter().filter(|one| one.rule == "f").count(), 1, "{language:?}: {all:?}");
    }
}

#[test]
fn a_broken_document_is_reported_and_the_rest_is_used() {
    let (rules, problems) = own("id: a\nlanguage: python\nrule: {kind: no_such_kind}\n---\n\
        id: b\nlanguage: python\nseverity: error\nrule: {kind: call}\n---\n\
        {{{\n---\n\
        language: python\nrule: {kind: call}\n---\n\
        id: c\nrule: {kind: call}\n---\n\
        id: d\nlanguage: python\nrule: {regex: a}\n---\n\
        id: e\nlanguage: python\nrule: {kind: call}\nfile: x\n---\n\
        id: b\nlanguage: python\nrule: {kind: call}\n---\n\
        id: no-such-rule\nseverity: off\n---\n\
        id: g\nlanguage: klingon\nrule: {kind: call}\n");
    let lines: Vec<usize> = problems.iter().map(|one| one.line).collect();
    let reasons: Vec<&str> = problems.iter().map(|one| one.reason.as_str()).collect();
    assert_eq!(lines, [1, 10, 12, 15, 18, 22, 27, 31, 34], "{reasons:#?}");
    let parts = [
        "no_such_kind",
        "not a rule",
        "`id` is missing",
        "`language` is missing",
        "`kind` or a `pattern`",
        "unknown field",
        "already has this id",
        "no built-in rule",
        "no language is called klingon",
    ];
    for (reason, part) in reasons.iter().zip(parts) {
        assert!(reason.contains(part) && !reason.contains('\n'), "{part}: {reason}");
    }
    assert!(problems.iter().all(|one| one.path == ".docent/rules/a.yml"));
    assert_eq!(found_with(&rules, Language::Python, RuleAnalysis::Security, "f()").len(), 1);
}

#[test]
fn deep_input_neither_hangs_nor_overflows() {
    let (rules, problems) = own("id: same\nlanguage: python\nrule: {pattern: $A + $A}\n---\n\
        id: below\nlanguage: python\nrule: {kind: parenthesized_expression, has: {kind: call, stopBy: {kind: string}}}\n");
    assert_eq!(problems, []);
    let side = format!("{}a(){}", "(".repeat(20_000), ")".repeat(20_000));
    let deep = format!("eval(x)\n{side} + {side}\n");
    let all = found_with(&rules, Language::Python, RuleAnalysis::Security, &deep);
    assert_eq!(all.iter().map(|one| one.rule.as_str()).collect::<Vec<_>>(), ["eval"]);
    let shallow = found_with(&rules, Language::Python, RuleAnalysis::Security, "(a()) + (a())\n");
    assert_eq!(shallow.len(), 2, "{shallow:?}");
}

#[test]
fn a_search_that_is_stopped_ends() {
    let text = "eval(x)\n".repeat(1000);
    let tree = parse::tree(Language::Python, &text, &|| false).unwrap();
    let source = AnalyzedSource { path: "f", language: Language::Python, text: &text, tree: &tree };
    assert!(check(&source, RuleAnalysis::Security, &|| true).len() < 100);
    assert_eq!(check(&source, RuleAnalysis::Security, &|| false).len(), 1000);
}
