//! The active rules: built-in ones and a project's own.

use super::read::{CompiledRule, RuleDraft, RuleReadError, documents};
use crate::language::Language;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::OnceLock,
};

/// A document of a project's own rules that is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// The file.
    pub path: String,
    /// The first line of the document, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// The rules active in a project.
#[derive(Debug, Default)]
pub struct RuleSet {
    own: BTreeMap<Language, Vec<CompiledRule>>,
    /// Built-in rules that are off or replaced by a rule of the project.
    without: HashSet<(Language, String)>,
}

impl RuleSet {
    /// Only the built-in rules.
    pub fn built_in() -> &'static Self {
        static ALONE: OnceLock<RuleSet> = OnceLock::new();
        ALONE.get_or_init(Self::default)
    }

    /// The built-in rules and those of a project: `(path, YAML)` for each of its files. A rule with the id of a
    /// built-in one replaces it, one with `severity: off` turns it off. Invalid documents are reported, and the
    /// others are used.
    pub fn with(own: &[(String, String)]) -> (Self, Vec<RuleProblem>) {
        let (mut rules, mut problems) = (Self::default(), Vec::new());
        let mut from: HashMap<(Language, String), String> = HashMap::new();
        for (path, text) in own {
            for (line, document) in documents(text) {
                if let Err(reason) = rules.add(path, &document, &mut from) {
                    problems.push(RuleProblem { path: path.clone(), line, reason });
                }
            }
        }
        (rules, problems)
    }

    fn add(
        &mut self,
        path: &str,
        document: &str,
        from: &mut HashMap<(Language, String), String>,
    ) -> Result<(), String> {
        let draft = RuleDraft::read(document).map_err(|error| error.to_string())?;
        if draft.severity.is_none() {
            return self.turn_off(&draft);
        }
        let language = draft
            .language
            .ok_or_else(|| RuleReadError::NoLanguage(draft.id.clone()).to_string())?;
        let compile = |one: &Language| Ok((*one, draft.compile(*one)?));
        let compiled: Result<Vec<_>, RuleReadError> =
            dialects(language).iter().map(compile).collect();
        for (language, rule) in compiled.map_err(|error| error.to_string())? {
            let key = (language, draft.id.clone());
            if let Some(other) = from.get(&key) {
                return Err(format!("rule {}: {other} already has this id", draft.id));
            }
            from.insert(key.clone(), path.to_owned());
            self.without.insert(key);
            self.own.entry(language).or_default().extend(rule);
        }
        Ok(())
    }

    fn turn_off(&mut self, draft: &RuleDraft) -> Result<(), String> {
        let languages = draft.language.map_or(Language::ALL, dialects);
        let has = |one: &&Language| built_in(**one).iter().any(|rule| rule.id == draft.id);
        let off: Vec<_> =
            languages.iter().filter(has).map(|one| (*one, draft.id.clone())).collect();
        if off.is_empty() {
            return Err(format!(
                "rule {}: there is no built-in rule of this id to turn off",
                draft.id
            ));
        }
        self.without.extend(off);
        Ok(())
    }

    /// The rules active in a language.
    pub(super) fn of(&self, language: Language) -> impl Iterator<Item = &CompiledRule> {
        let holds = move |rule: &&CompiledRule| {
            self.without.is_empty() || !self.without.contains(&(language, rule.id.clone()))
        };
        built_in(language).iter().filter(holds).chain(self.own.get(&language).into_iter().flatten())
    }
}

/// The languages that a language's rules also apply to.
fn dialects(language: Language) -> &'static [Language] {
    match language {
        Language::JavaScript => &[Language::JavaScript, Language::TypeScript, Language::Tsx],
        Language::TypeScript => &[Language::TypeScript, Language::Tsx],
        Language::C => &[Language::C, Language::Cpp],
        other => {
            let at = Language::ALL.iter().position(|one| *one == other);
            at.map_or(&[], |at| std::slice::from_ref(&Language::ALL[at]))
        }
    }
}

/// A file of a pack.
macro_rules! rules_of {
    ($folder:literal) => {
        include_str!(concat!("../../../languages/", $folder, "/rules.yml"))
    };
}

/// The files with the rules of a language.
const FILES: &[(Language, &[&str])] = &[
    (Language::JavaScript, &[rules_of!("javascript")]),
    (Language::TypeScript, &[rules_of!("javascript"), rules_of!("typescript")]),
    (Language::Tsx, &[rules_of!("javascript"), rules_of!("typescript")]),
    (Language::Python, &[rules_of!("python")]),
    (Language::Rust, &[rules_of!("rust")]),
    (Language::Go, &[rules_of!("go")]),
    (Language::Java, &[rules_of!("java")]),
    (Language::C, &[rules_of!("c")]),
    (Language::Cpp, &[rules_of!("c"), rules_of!("cpp")]),
    (Language::CSharp, &[rules_of!("csharp")]),
    (Language::Php, &[rules_of!("php")]),
    (Language::Ruby, &[rules_of!("ruby")]),
];

/// The texts with the rules of a language.
pub(super) fn files(language: Language) -> &'static [&'static str] {
    FILES.iter().find(|(one, _)| *one == language).map_or(&[], |(_, files)| files)
}

/// The built-in rules of a language, compiled on first use.
fn built_in(language: Language) -> &'static [CompiledRule] {
    static ALL: [OnceLock<Vec<CompiledRule>>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    let at = Language::ALL.iter().position(|one| *one == language).unwrap_or_default();
    ALL[at].get_or_init(|| {
        let documents = files(language).iter().flat_map(|text| documents(text));
        let compile = |(line, document): (usize, String)| {
            let rule = RuleDraft::read(&document).and_then(|draft| draft.compile(language));
            rule.unwrap_or_else(|error| {
                panic!("a rule that is built in, {}, line {line}: {error}", language.name())
            })
        };
        documents.filter_map(compile).collect()
    })
}
