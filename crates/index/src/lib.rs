//! Text in, ranked hits out: analysis, lexical and vector retrieval, and how the two are put together.
//!
//! Knows nothing of languages, documents or protocols: whoever wants to be found hands over [`Source`]s of [`Unit`]s.

mod unit;

pub use unit::{Digest, Genre, Source, Span, Unit};
