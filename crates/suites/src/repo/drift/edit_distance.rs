//! Suggestions for names that do not exist.

use super::step_budget::StepBudget;

/// Maximum number of edits for a suggestion, by name length.
fn max_edits(name: &str) -> usize {
    match name.chars().count() {
        0..=3 => 0,
        4..=7 => 1,
        8..=12 => 2,
        _ => 3,
    }
}

/// Returns the name that another one is a typo of: one letter added, missing, wrong or misplaced.
pub(super) fn slip<'a>(
    effort: &StepBudget<'_>,
    name: &str,
    others: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let near = |other: &&str| other.len().abs_diff(name.len()) < 2;
    others
        .take_while(|_| effort.spend(1))
        .filter(near)
        .take_while(|other| effort.spend(name.len() * other.len()))
        .filter(|other| strsim::osa_distance(name, other) == 1)
        .min()
}

/// Returns the most similar name, ignoring case, if one is close enough; ties go to the first in alphabetical order.
pub(super) fn nearest<'a>(
    effort: &StepBudget<'_>,
    name: &str,
    others: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let reach = max_edits(name);
    let near = |other: &&str| other.len().abs_diff(name.len()) <= reach && *other != name;
    let name_lower = name.to_lowercase();
    let distance = |other: &str| strsim::osa_distance(&name_lower, &other.to_lowercase());
    let distances = others
        .take_while(|_| effort.spend(1))
        .filter(near)
        .take_while(|other| effort.spend(name.len() * other.len()))
        .map(|other| (distance(other), other));
    distances.filter(|(distance, _)| *distance <= reach).min().map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_offered() {
        let others = ["build", "build:docs", "test", "lint", "start_server", "tset"];
        let cases = [
            ("biuld", Some("build")),
            ("build:doc", Some("build:docs")),
            ("start_servers", Some("start_server")),
            ("tests", Some("test")),
            ("deploy", None),
            ("lin", None),
            ("BUILD", Some("build")),
            ("build", None),
        ];
        for (name, want) in cases {
            let effort = StepBudget::new(&|| false);
            assert_eq!(nearest(&effort, name, others.into_iter()), want, "{name}");
        }
    }

    #[test]
    fn a_name_is_compared_with_as_many_as_there_is_effort_for() {
        let effort = StepBudget::new(&|| false);
        effort.start(0);
        let names: Vec<String> = (0..1_000_000).map(|n| format!("some_name_{n:07}")).collect();
        let others = || names.iter().map(String::as_str);
        assert_eq!(nearest(&effort, "other_name_999999", others()), None);
        let spent = effort.spent();
        assert!(spent <= 4 << 20, "{spent}");
        assert_eq!(nearest(&effort, "some_name_000000x", others()), None, "nothing is left");
        assert!(effort.spent() <= 4 << 20);
    }
}
