//! The fuzz targets listed in the manifest of `fuzz/`.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// A fuzz target.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FuzzTarget {
    pub(super) name: String,
    #[serde(default)]
    required_features: Vec<String>,
}

impl FuzzTarget {
    pub(super) fn features(&self) -> impl Iterator<Item = &str> {
        self.required_features.iter().map(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn with_name(name: &str) -> Self {
        Self { name: name.to_owned(), required_features: Vec::new() }
    }
}

#[derive(Deserialize)]
struct FuzzManifest {
    bin: Vec<FuzzTarget>,
}

/// Returns the named targets, or all if none is named.
pub(super) fn select_targets(manifest: &str, names: &[String]) -> Result<Vec<FuzzTarget>> {
    let FuzzManifest { mut bin } = toml::from_str(manifest).context("reading fuzz/Cargo.toml")?;
    if let Some(unknown) = names.iter().find(|name| bin.iter().all(|target| target.name != **name))
    {
        let known: Vec<&str> = bin.iter().map(|target| target.name.as_str()).collect();
        bail!("unknown target `{unknown}`; expected one of: {}", known.join(", "));
    }
    bin.retain(|target| names.is_empty() || names.contains(&target.name));
    Ok(bin)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "
[package]
name = 'x'
[[bin]]
name = 'frames'
path = 'targets/frames.rs'
[[bin]]
name = 'tokens'
required-features = ['auth']
";

    #[test]
    fn targets_are_chosen_by_name() {
        let names = |chosen: &[&str]| {
            let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            select_targets(MANIFEST, &chosen)
        };
        let all = names(&[]).unwrap();
        assert_eq!(all.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["frames", "tokens"]);
        let tokens = names(&["tokens"]).unwrap();
        assert_eq!(tokens.iter().flat_map(FuzzTarget::features).collect::<Vec<_>>(), ["auth"]);
        let said = names(&["token"]).unwrap_err().to_string();
        assert!(said.contains("`token`") && said.contains("frames, tokens"), "{said}");
    }
}
