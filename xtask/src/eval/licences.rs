//! Licenses of real packages, compared with what a person read in their license files. Each package is analyzed twice:
//! as it is, and with only its license files, so that no manifest states the license.

use super::{EvalContext, EvalReport, data};
use crate::{
    corpus::{self, CorpusPackage},
    docent::AnalyzeDepth,
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::{fs, path::Path};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LicenseExpectations {
    licence: Vec<ExpectedLicense>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedLicense {
    package: CorpusPackage,
    /// The package's SPDX expression.
    expected: String,
    /// Its license files.
    files: Vec<String>,
    /// The expression expected from these files alone, if different.
    #[serde(default)]
    by_text: Vec<String>,
}

pub(super) fn evaluate(context: &EvalContext<'_>, page: &mut EvalReport) -> Result<()> {
    let expectations: LicenseExpectations =
        corpus::expectations(context.workspace, &data("licences.toml"))?;
    page.line("\n### Licenses");
    page.table(&["package", "expected", "found", "from text only"]);
    let (mut all, mut wholes, mut texts) = (0, 0, 0);
    for licence in &expectations.licence {
        let Some(tree) = context.tree(&licence.package, page)? else { continue };
        let whole = found(context, &tree)?;
        let text =
            by_text(context, &tree, &licence.files).with_context(|| licence.package.to_string())?;
        let ExpectedLicense { package, expected, by_text, .. } = licence;
        let accepted = if by_text.is_empty() { std::slice::from_ref(expected) } else { by_text };
        let whole_right = whole.as_deref().is_some_and(|found| same(found, expected));
        let text_right =
            text.as_deref().is_some_and(|found| accepted.iter().any(|one| same(found, one)));
        all += 1;
        wholes += u32::from(whole_right);
        texts += u32::from(text_right);
        let shown = |found: Option<String>| found.unwrap_or_else(|| "none".to_owned());
        page.row(
            &[&package.to_string(), expected, &shown(whole), &shown(text)],
            whole_right && text_right,
        );
    }
    page.line(&format!("\nCorrect out of {all}: {wholes} as they are, {texts} from text only."));
    Ok(())
}

fn found(context: &EvalContext<'_>, tree: &Path) -> Result<Option<String>> {
    let report = context.docent.report(tree, AnalyzeDepth::Standard)?;
    Ok(report["presence"]["licenceId"].as_str().map(str::to_owned))
}

/// Returns the license that docent finds in a folder with only the license files.
fn by_text(context: &EvalContext<'_>, tree: &Path, files: &[String]) -> Result<Option<String>> {
    let folder = tempfile::tempdir()?;
    for file in files {
        fs::copy(tree.join(file), folder.path().join(file))
            .with_context(|| format!("copying {file}"))?;
    }
    found(context, folder.path())
}

/// Whether two expressions offer the same choices, in any order.
fn same(one: &str, other: &str) -> bool {
    let choices = |expression: &str| {
        let plain = expression.trim().trim_start_matches('(').trim_end_matches(')').to_owned();
        let mut choices: Vec<String> = plain.split(" OR ").map(|it| it.trim().to_owned()).collect();
        choices.sort();
        choices
    };
    choices(one) == choices(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_compared_as_choices() {
        for (one, other, expected) in [
            ("MIT", "MIT", true),
            ("MIT OR Apache-2.0", "Apache-2.0 OR MIT", true),
            ("(WTFPL OR MIT)", "WTFPL OR MIT", true),
            ("MIT AND Apache-2.0", "MIT OR Apache-2.0", false),
            ("MIT", "MIT-0", false),
            ("GPL-3.0-only", "GPL-3.0-or-later", false),
        ] {
            assert_eq!(same(one, other), expected, "{one} / {other}");
        }
    }
}
