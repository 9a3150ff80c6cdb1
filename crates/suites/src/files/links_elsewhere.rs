//! Other systems don't report how many hard links a file has.

use super::denied::Rules;
use std::{
    fs::Metadata,
    path::{Path, PathBuf},
};

/// Detects nothing.
#[derive(Debug, Default)]
pub(super) struct Links;

impl Links {
    pub(super) fn to(_places: &[PathBuf]) -> Self {
        Self
    }

    pub(super) fn lead_to_denied<'a>(
        &self,
        _file: &Metadata,
        _roots: impl Iterator<Item = &'a Path>,
        _rules: &Rules,
    ) -> bool {
        false
    }
}

/// Open folders can't be removed on these systems.
pub(super) fn is_same(_one: &Metadata, _other: &cap_std::fs::Metadata) -> bool {
    true
}
