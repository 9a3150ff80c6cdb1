//! PHP: `composer.json` and `composer.lock`.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    reading::{ManifestDraft, ManifestError, ManifestReader},
};
use serde::Deserialize;
use serde_json::Value;

/// Reads every `composer.json`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    reading.each(PackageFileFormat::Composer, |text, draft| {
        fill(&serde_json::from_str(text)?, draft);
        Ok(())
    });
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn fill(value: &Value, draft: &mut ManifestDraft) {
    let manifest = &mut draft.manifest;
    manifest.name = text(value.get("name"));
    manifest.version = text(value.get("version"));
    manifest.description = text(value.get("description"));
    let licences = value.get("license").and_then(Value::as_array).into_iter().flatten();
    let licences: Vec<_> = licences.filter_map(Value::as_str).collect();
    let several = (!licences.is_empty()).then(|| licences.join(" OR "));
    manifest.licence = text(value.get("license")).or(several);
    for (list, purpose) in [("require", Purpose::Runtime), ("require-dev", Purpose::Development)] {
        let entries = value.get(list).and_then(Value::as_object).into_iter().flatten();
        for (name, wanted) in entries.filter(|(name, _)| is_package(name)) {
            draft.want(name, text(Some(wanted)), purpose);
        }
    }
}

/// Whether a name is a package: every package has a vendor; `php`, `ext-json` and similar names are parts of the
/// platform.
fn is_package(name: &str) -> bool {
    name.contains('/')
}

#[derive(Deserialize)]
struct ComposerLockFile {
    #[serde(default)]
    packages: Vec<ComposerLockedPackage>,
    #[serde(default, rename = "packages-dev")]
    development: Vec<ComposerLockedPackage>,
}

#[derive(Deserialize)]
struct ComposerLockedPackage {
    name: String,
    version: String,
}

/// Parses `composer.lock`.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: ComposerLockFile = serde_json::from_str(text)?;
    let mut fixed = LockedVersions::default();
    for ComposerLockedPackage { name, version } in file.packages.into_iter().chain(file.development)
    {
        fixed.add(name.to_lowercase(), version);
    }
    Ok(ParsedLockFile::single_version(fixed, str::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn packages_and_lock_file() {
        check(
            &[
                (
                    "composer.json",
                    r#"{"name":"f/f","version":"1.2","description":"Does f.","license":["MIT","GPL-2.0"],
                        "require":{"php":">=8","ext-json":"*","Symfony/Console":"^6","f/part":"*"},"require-dev":{"phpunit/phpunit":"^11"}}"#,
                ),
                ("part/composer.json", r#"{"name":"f/part","license":"MIT","require":{"symfony/console":"^5"}}"#),
                ("composer.lock", r#"{"packages":[{"name":"symfony/console","version":"v6.4.1"}],"packages-dev":[{"name":"phpunit/phpunit","version":"11.0.0"}]}"#),
            ],
            "composer.json | PHP composer | f/f 1.2 | Does f. | MIT OR GPL-2.0 | - | - | composer.lock
             + runtime Symfony/Console ^6 v6.4.1
             + runtime f/part * -
             + development phpunit/phpunit ^11 11.0.0
             part/composer.json | PHP composer | f/part - | - | MIT | - | - | -
             + runtime symfony/console ^5 -
             = 1 direct, 1 development, 2 locked
             = composer.json > part/composer.json
             = Symfony/Console of PHP by 2
             = composer.lock of PHP with 2",
        );
    }
}
