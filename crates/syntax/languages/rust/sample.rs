//! A table of rows.

use std::collections::HashMap;
use std::fmt::{self, Display};

mod wire;
pub(crate) mod limits {
    /// How many rows fit.
    pub const MOST: usize = 1_000;
    pub(super) type Row = Vec<u8>;
}

/// Counts tables.
static TABLES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// A name for what may go wrong.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What may go wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// Nothing more fits.
    Full { most: usize },
    Missing(String),
}

/// Rows by key.
#[derive(Default)]
pub struct Table<K, V = String>
where
    K: Eq + std::hash::Hash,
{
    rows: HashMap<K, V>,
    /// Whether it may change.
    pub frozen: bool,
}

pub union Bits {
    whole: u32,
    parts: [u8; 4],
}

/// Something that can be stored.
pub trait Store<'a>: Send {
    /// What it stores.
    type Item;
    const NAME: &'static str = "store";

    /// Puts one in.
    fn put(&mut self, item: Self::Item) -> Result<()>;

    fn is_empty(&self) -> bool {
        true
    }
}

impl<K: Eq + std::hash::Hash, V> Table<K, V> {
    /// Makes an empty one.
    ///
    /// # Errors
    /// Never.
    #[must_use]
    pub const fn new(rows: HashMap<K, V>) -> Self {
        Self { rows, frozen: false }
    }

    /// The row of a key.
    #[inline]
    pub fn get<'t, Q>(&'t self, key: &Q, (low, high): (usize, usize)) -> Option<&'t V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Eq + std::hash::Hash + ?Sized,
    {
        if self.frozen && low < high { None } else { self.rows.get(key) }
    }

    pub(crate) async fn load(mut self, path: impl AsRef<std::path::Path>) -> Result<Self> {
        fn nested(count: usize) -> usize {
            count + 1
        }
        match nested(self.rows.len()) {
            0 => Err(Error::Missing("rows".into())),
            1..=9 => Ok(self),
            _ => Err(Error::Full { most: limits::MOST }),
        }
    }

    unsafe fn raw(&self) -> *const V {
        std::ptr::null()
    }
}

impl<K, V> Display for Table<K, V>
where
    K: Eq + std::hash::Hash,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows.len())
    }
}

/// Makes a table.
#[macro_export]
macro_rules! table {
    ($($key:expr => $value:expr),* $(,)?) => {{ 0 }};
}

extern "C" {
    fn getpid() -> i32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_empty() {
        assert!(Table::<u8, u8>::default().rows.is_empty());
    }
}
