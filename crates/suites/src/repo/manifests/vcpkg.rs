//! vcpkg: `vcpkg.json`, which locks versions with `overrides`.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    lock::LockedVersions,
    reading::{ManifestDraft, ManifestReader, RequestedDependency},
};
use serde_json::Value;

/// Version fields, by scheme.
const VERSIONS: [&str; 4] = ["version", "version-semver", "version-date", "version-string"];

/// Reads every `vcpkg.json`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    reading.each(PackageFileFormat::Vcpkg, |text, draft| {
        fill(&serde_json::from_str(text)?, draft);
        Ok(())
    });
}

/// Reads a string, or a list of lines.
fn text(value: Option<&Value>) -> Option<String> {
    let lines = value.and_then(Value::as_array);
    let lines: Vec<_> = lines.into_iter().flatten().filter_map(Value::as_str).collect();
    let whole = (!lines.is_empty()).then(|| lines.join(" "));
    value.and_then(Value::as_str).map(str::to_owned).or(whole)
}

fn fill(value: &Value, draft: &mut ManifestDraft) {
    let manifest = &mut draft.manifest;
    manifest.name = text(value.get("name"));
    manifest.version = VERSIONS.iter().find_map(|key| text(value.get(key)));
    manifest.description = text(value.get("description"));
    manifest.licence = text(value.get("license"));
    let mut fixed = LockedVersions::default();
    for entry in value.get("overrides").and_then(Value::as_array).into_iter().flatten() {
        let version = VERSIONS.iter().find_map(|key| text(entry.get(key)));
        if let (Some(name), Some(version)) = (text(entry.get("name")), version) {
            fixed.add(name, version);
        }
    }
    take(value.get("dependencies"), Purpose::Runtime, &fixed, draft);
    for feature in
        value.get("features").and_then(Value::as_object).into_iter().flat_map(|all| all.values())
    {
        take(feature.get("dependencies"), Purpose::Optional, &fixed, draft);
    }
}

fn take(list: Option<&Value>, purpose: Purpose, fixed: &LockedVersions, draft: &mut ManifestDraft) {
    for entry in list.and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = text(Some(entry)).or_else(|| text(entry.get("name"))) else { continue };
        let host = entry.get("host").and_then(Value::as_bool) == Some(true);
        let requirement = text(entry.get("version>=")).map(|version| format!(">={version}"));
        let purpose = if host { Purpose::Build } else { purpose };
        let mut wanted = RequestedDependency::new(&name, requirement, purpose);
        wanted.locked = fixed.version(&name, None).map(str::to_owned);
        draft.wanted.push(wanted);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn dependencies_features_and_overrides() {
        check(
            &[(
                "vcpkg.json",
                r#"{"name":"app","version-semver":"1.0.0","description":["Does","it."],"license":"MIT","dependencies":["fmt",{"name":"zlib","version>=":"1.2.13"},
                    {"name":"cmake-tool","host":true},7],"features":{"gui":{"description":"x","dependencies":["qt"]}},"overrides":[{"name":"fmt","version":"10.1.1"}]}"#,
            )],
            "vcpkg.json | vcpkg vcpkg | app 1.0.0 | Does it. | MIT | - | - | -
             + runtime fmt - 10.1.1
             + runtime zlib >=1.2.13 -
             + optional qt - -
             + build cmake-tool - -
             = 4 direct, 0 development, 0 locked",
        );
    }
}
